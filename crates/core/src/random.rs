//! A small random number generator: `SplitMix64` (Steele, Lea and Flood, OOPSLA 2014).
//!
//! It serves where the same seed must give the same bits on every machine and in every version: made
//! tasks and the resamples of intervals. Sampling tokens has a counter-based generator of its own, in `kernels`.

use crate::Seed;

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub struct SplitMix(u64);

impl SplitMix {
    /// The stream of a seed.
    pub fn new(seed: Seed) -> Self {
        Self(seed.get())
    }

    /// The next 64 bits, each as likely 0 as 1.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is not 0; the bias is at most `bound` / 2^64.
    pub fn below(&mut self, bound: usize) -> usize {
        let scaled = u128::from(self.next_u64()) * bound as u128;
        usize::try_from(scaled >> 64).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs from state 0 as its authors publish them, and from 1234567 as Rosetta Code has them.
    #[test]
    fn the_generator_is_the_published_one() {
        let first = |seed: u64| {
            let mut random = SplitMix::new(Seed::new(seed));
            [random.next_u64(), random.next_u64(), random.next_u64()]
        };
        assert_eq!(first(0), [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f]);
        let expected =
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(first(1_234_567), expected);
    }
}
