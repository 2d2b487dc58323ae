//! Random choices of words, numbers and steps.

use whetstone_core::{Seed, SplitMix};

/// A stream of random choices.
#[derive(Debug, Clone)]
pub(crate) struct Random(SplitMix);

impl Random {
    pub(crate) fn new(seed: Seed) -> Self {
        Self(SplitMix::new(seed))
    }

    /// A number below `bound`, which is not 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0.below(bound)
    }

    /// A number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: i64, high: i64) -> i64 {
        let span = usize::try_from(high - low + 1).unwrap_or(1);
        low + i64::try_from(self.below(span)).unwrap_or(0)
    }

    /// True in `percent` of all cases.
    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of these, which are not none.
    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// One of these texts, which are not none.
    pub(crate) fn phrase(&mut self, phrases: &[&'static str]) -> &'static str {
        self.pick::<&'static str>(phrases)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_a_range_are_drawn_and_nothing_else() {
        let mut random = Random::new(Seed::new(1));
        let mut seen = [0; 4];
        for _ in 0..400 {
            seen[usize::try_from(random.between(-1, 2) + 1).unwrap()] += 1;
        }
        assert!(seen.iter().all(|&count| (60..140).contains(&count)), "{seen:?}");
    }
}
