//! Which tasks or prompts are held out of a training.

use std::collections::{BTreeMap, BTreeSet};

use whetstone_core::seed::Seed;

/// How many items are held out, and under which name they are drawn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HoldOut<'a> {
    pub(crate) seed: Seed,
    /// The name of the draw.
    pub(crate) name: &'a str,
    /// The fraction of all items.
    pub(crate) fraction: f64,
}

impl HoldOut<'_> {
    /// Draws keys, each with all its items, until they have the wanted fraction of them; one key at least,
    /// and never all. Which ones depends on the seed and their names, not on an order.
    pub(crate) fn draw(self, by_key: &BTreeMap<String, usize>) -> BTreeSet<String> {
        let Self { seed, name, fraction } = self;
        let mut drawn: Vec<(u64, &String, usize)> = by_key
            .iter()
            .map(|(key, &count)| (seed.derive(&format!("{name} {key}"), 0).get(), key, count))
            .collect();
        drawn.sort_unstable();
        // One is left to learn from, whatever the fraction.
        drawn.pop();
        #[expect(clippy::cast_precision_loss, reason = "items of a file")]
        let wanted = fraction * by_key.values().sum::<usize>() as f64;
        let (mut chosen, mut count) = (BTreeSet::new(), 0_u32);
        for (_, key, items) in drawn {
            if !chosen.is_empty() && f64::from(count) >= wanted {
                break;
            }
            chosen.insert(key.clone());
            count = count.saturating_add(u32::try_from(items).unwrap_or(u32::MAX));
        }
        chosen
    }
}
