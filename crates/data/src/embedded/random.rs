//! A small generator of random numbers: `SplitMix64`, the same bits on every machine.
//!
//! Quality is not at stake here, stability is: a recorded seed must give the same tasks in ten
//! years, so no library's generator is used that may change with a version.

use whetstone_core::Seed;

/// A stream of random choices.
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: Seed) -> Self {
        Self(seed.get())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is not 0. The bias is below 2^-50 for the bounds used here.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        let wide = u128::from(self.next()) * (bound as u128);
        usize::try_from(wide >> 64).unwrap_or(0)
    }

    /// A number from `low` to `high`, both included.
    pub(super) fn between(&mut self, low: i64, high: i64) -> i64 {
        let span = usize::try_from(high - low + 1).unwrap_or(1);
        low + i64::try_from(self.below(span)).unwrap_or(0)
    }

    /// True in `percent` of all cases.
    pub(super) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of these, which are not none.
    pub(super) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// One of these texts, which are not none.
    pub(super) fn phrase(&mut self, phrases: &[&'static str]) -> &'static str {
        self.pick::<&'static str>(phrases)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs of `SplitMix64` from state 0, as its authors publish them.
    #[test]
    fn the_stream_never_changes() {
        let mut random = Random(0);
        let first = [random.next(), random.next(), random.next()];
        assert_eq!(first, [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f]);
    }

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
