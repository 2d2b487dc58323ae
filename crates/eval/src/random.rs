//! Random numbers for resampling: `SplitMix64` (Steele, Lea and Flood, OOPSLA 2014).
//!
//! All seeds are constants, so that a figure is a function of its counts: an interval cannot be
//! improved by trying seeds.

use whetstone_core::Seed;

/// The seed of every resample.
const SEED: Seed = Seed::new(0);

/// A stream of random numbers.
pub(crate) struct SplitMix(u64);

impl SplitMix {
    /// The stream number `index` for `purpose`.
    pub(crate) fn of(purpose: &str, index: u64) -> Self {
        Self(SEED.derive(purpose, index).get())
    }

    /// 64 bits, each as likely 0 as 1.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A uniform number below `bound`, with a bias of at most `bound` / 2^64.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let scaled = u128::from(self.next()) * bound as u128;
        usize::try_from(scaled >> 64).expect("less than the bound")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of the authors' program for the seed 1234567, as Rosetta Code has them.
    #[test]
    fn the_generator_is_the_published_one() {
        let mut random = SplitMix(1_234_567);
        let drawn = [random.next(), random.next(), random.next()];
        let expected =
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(drawn, expected);
    }
}
