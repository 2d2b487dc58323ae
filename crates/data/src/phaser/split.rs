//! Seeds in two halves without overlap, drawn by a seed of randomness.
//!
//! A family stays in one half: seeds of one family differ only in their numbers, and would measure what was trained on.

use std::collections::BTreeMap;

use whetstone_core::Seed;

use super::error::PromptError;
use super::seed::PromptSeed;
use crate::random::Random;

/// Seeds that are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SplitCounts {
    /// To train on.
    pub train: usize,
    /// To evaluate on.
    pub eval: usize,
}

/// Two halves.
#[derive(Debug, Clone, PartialEq)]
pub struct Split {
    /// To train on.
    pub train: Vec<PromptSeed>,
    /// To evaluate on.
    pub eval: Vec<PromptSeed>,
}

/// Draws two halves.
pub fn split(seeds: &[PromptSeed], counts: SplitCounts, seed: Seed) -> Result<Split, PromptError> {
    let SplitCounts { train, eval } = counts;
    if seeds.len() < train.saturating_add(eval) {
        return Err(PromptError::TooFewSeeds { seeds: seeds.len(), train, eval });
    }
    let mut random = Random::new(seed.derive("phaser-prompts", 0));
    let mut families = families(seeds);
    shuffle(&mut families, &mut random);
    let for_eval = families_for_eval(&families, counts).ok_or(PromptError::Families {
        seeds: seeds.len(),
        families: families.len(),
        train,
        eval,
    })?;
    let for_train = families.split_off(for_eval);
    Ok(Split {
        train: draw(for_train, train, &mut random),
        eval: draw(families, eval, &mut random),
    })
}

/// The seeds of each family, in the order of their names.
fn families(seeds: &[PromptSeed]) -> Vec<Vec<&PromptSeed>> {
    let mut by_name: BTreeMap<&str, Vec<&PromptSeed>> = BTreeMap::new();
    for seed in seeds {
        by_name.entry(seed.family()).or_default().push(seed);
    }
    by_name.into_values().collect()
}

/// How many of the first families are for evaluation: their part of all seeds, or the nearest number that leaves both
/// halves large enough.
fn families_for_eval(families: &[Vec<&PromptSeed>], counts: SplitCounts) -> Option<usize> {
    let all = (counts.train + counts.eval).max(1);
    let wanted = (families.len() * counts.eval).div_ceil(all);
    let total: usize = families.iter().map(Vec::len).sum();
    let mut taken = 0;
    let mut fitting = Vec::new();
    for count in 0..=families.len() {
        if taken >= counts.eval && total - taken >= counts.train {
            fitting.push(count);
        }
        taken += families.get(count).map_or(0, Vec::len);
    }
    fitting.into_iter().min_by_key(|count| count.abs_diff(wanted))
}

fn draw(families: Vec<Vec<&PromptSeed>>, count: usize, random: &mut Random) -> Vec<PromptSeed> {
    let mut seeds: Vec<&PromptSeed> = families.into_iter().flatten().collect();
    shuffle(&mut seeds, random);
    seeds.into_iter().take(count).cloned().collect()
}

/// Puts items in a random order.
pub(super) fn shuffle<T>(items: &mut [T], random: &mut Random) {
    for last in (1..items.len()).rev() {
        items.swap(last, random.below(last + 1));
    }
}
