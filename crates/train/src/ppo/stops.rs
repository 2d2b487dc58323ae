//! When a run ends: the requirements' three reasons, and what each check says otherwise.
//!
//! The rule for rewards is off by default (`ppo.min_improvement = 0`). The requirements compare the best of the last
//! ten steps with the best of the ten before; two maxima of noise differ by less than any small number sooner or
//! later, also where the student learns. What is compared here are means, with the standard error of their
//! difference.

use whetstone_core::config::PpoConfig;

use super::progress::{KEPT, PpoProgress};

/// The KL of updates stays above `ppo.target_kl`, although mini-batches were left out.
pub const KL_TOO_LARGE: &str = "KL divergence too large";
/// The mean reward of the last twenty steps is not enough above that of the twenty before.
pub const REWARD_STALLED: &str = "Reward improvement too small";
/// All passes over the tasks are done.
pub const EPOCHS_DONE: &str = "Maximum epochs reached";
/// None of these.
pub const CONTINUE: &str = "Continue training";

/// Steps that are compared with as many before them.
const WINDOW: usize = KEPT / 2;
/// Standard errors by which an improvement must be too small.
const CLEAR: f64 = 2.0;

/// What a check found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Check {
    pub(super) stops: bool,
    pub(super) reason: &'static str,
}

/// Looks at a step: its KL(old ‖ new) after its updates, its mean reward, and whether it is the last of
/// the last epoch. In this order, as the requirements have it.
pub(super) fn check(config: &PpoConfig, progress: &mut PpoProgress, step: StepFigures) -> Check {
    let StepFigures { kl, reward, is_last } = step;
    let is_above = config.target_kl > 0.0 && kl.is_some_and(|kl| kl > config.target_kl);
    progress.kl_above = if is_above { progress.kl_above + 1 } else { 0 };
    progress.remember(reward);
    let stops = |reason| Check { stops: true, reason };
    let patience = u64::from(config.kl_patience);
    if patience > 0 && progress.kl_above >= patience {
        return stops(KL_TOO_LARGE);
    }
    let least = config.min_improvement;
    if least > 0.0 && largest_improvement(&progress.rewards()).is_some_and(|most| most < least) {
        return stops(REWARD_STALLED);
    }
    if is_last { stops(EPOCHS_DONE) } else { Check { stops: false, reason: CONTINUE } }
}

/// The figures of a step that decide.
#[derive(Debug, Clone, Copy)]
pub(super) struct StepFigures {
    pub(super) kl: Option<f64>,
    pub(super) reward: Option<f64>,
    pub(super) is_last: bool,
}

/// The mean of the last rewards less that of as many before, and two standard errors more.
fn largest_improvement(rewards: &[f64]) -> Option<f64> {
    let (before, last) = rewards.split_at_checked(rewards.len().checked_sub(WINDOW)?)?;
    let before = before.last_chunk::<WINDOW>()?;
    let ([was, was_squared], [is, is_squared]) = (mean_and_error(before), mean_and_error(last));
    Some(is - was + CLEAR * (was_squared + is_squared).sqrt())
}

/// The mean of a window, and the square of its standard error.
fn mean_and_error(window: &[f64]) -> [f64; 2] {
    #[expect(clippy::cast_precision_loss, reason = "a few steps")]
    let count = window.len() as f64;
    let mean = window.iter().sum::<f64>() / count;
    let squares: f64 = window.iter().map(|reward| (reward - mean).powi(2)).sum();
    [mean, squares / (count - 1.0) / count]
}

#[cfg(test)]
mod tests {
    use whetstone_core::seed::Seed;

    use super::*;

    fn config(min_improvement: f64) -> PpoConfig {
        PpoConfig { min_improvement, kl_patience: 2, ..PpoConfig::default() }
    }

    /// The step that these rewards end a run at, and why.
    fn ended(config: &PpoConfig, rewards: impl Iterator<Item = f64>) -> Option<usize> {
        let mut progress = PpoProgress::new(config);
        for (step, reward) in (1..).zip(rewards) {
            let figures = StepFigures { kl: Some(0.001), reward: Some(reward), is_last: false };
            let check = check(config, &mut progress, figures);
            if check.stops {
                assert_eq!(check.reason, REWARD_STALLED);
                return Some(step);
            }
        }
        None
    }

    /// The mean rewards of 100 steps of 256 completions, each passing with a chance that rises from 0.4.
    fn simulated(gain: f64, run: u64) -> Vec<f64> {
        let mut state = Seed::new(7).derive("simulated run", run).get();
        let mut draw = || {
            // SplitMix64 (Steele, Lea and Flood, 2014); the upper half is enough.
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            f64::from(u32::try_from((mixed ^ (mixed >> 31)) >> 32).unwrap()) / 2.0_f64.powi(32)
        };
        let mut step = |step: u32| {
            let chance = 0.4 + gain * f64::from(step) / 100.0;
            let passed: u32 = (0..256).map(|_| u32::from(draw() < chance)).sum();
            f64::from(passed) / 256.0
        };
        (0..100).map(&mut step).collect()
    }

    fn share_ended(config: &PpoConfig, gain: f64) -> usize {
        let runs = 0..200;
        runs.filter(|&run| ended(config, simulated(gain, run).into_iter()).is_some()).count()
    }

    #[test]
    fn runs_that_learn_are_not_ended_and_runs_that_do_not_are() {
        assert_eq!(share_ended(&PpoConfig::default(), 0.2), 0);
        assert_eq!(share_ended(&PpoConfig::default(), 0.0), 0, "off by default");
        for min_improvement in [0.001, 0.01] {
            assert_eq!(share_ended(&config(min_improvement), 0.2), 0, "{min_improvement}");
        }
        let stalled = share_ended(&config(0.03), 0.0);
        assert!(stalled >= 190, "{stalled} of 200");
    }

    /// Ten rewards of 0.4 and ten of 0.6 have the mean 0.5, and a standard error with the square
    /// (20 · 0.01 / 19) / 20 = 1 / 1900; that of a difference is the root of 2 / 1900, 0.0324.
    #[test]
    fn the_error_of_the_difference_counts() {
        let wave =
            |middle: f64| (0..20).map(move |step| middle + if step % 2 == 0 { 0.1 } else { -0.1 });
        let rewards = |rise: f64| wave(0.5).chain(wave(0.5 + rise));
        // 0.02 + 2 · 0.0324 is 0.0849.
        assert_eq!(ended(&config(0.08), rewards(0.02)), None);
        assert_eq!(ended(&config(0.09), rewards(0.02)), Some(40));
        assert_eq!(ended(&config(0.09), rewards(0.02).take(39)), None, "forty steps are needed");
    }

    #[test]
    fn what_lies_further_back_than_forty_steps_counts_no_more() {
        let equal = || std::iter::repeat_n(0.5, 60);
        assert_eq!(ended(&config(0.01), equal()), Some(40));
        let jump = std::iter::repeat_n(0.1, 39).chain(equal());
        assert_eq!(ended(&config(0.01), jump), Some(79), "the last 0.1 is the 39th step's");
        assert_eq!(ended(&config(0.0), equal()), None, "it is off");
        assert_eq!(ended(&config(-1.0), equal()), None, "and so it is");
    }

    #[test]
    fn a_divergence_must_stay_too_large() {
        let mut progress = PpoProgress::new(&config(0.0));
        let mut step = |kl| {
            let step = StepFigures { kl: Some(kl), reward: None, is_last: false };
            check(&config(0.0), &mut progress, step)
        };
        assert_eq!(step(0.02).reason, CONTINUE);
        assert_eq!(step(0.01).reason, CONTINUE, "at the target is not above it");
        assert_eq!(step(0.02).reason, CONTINUE);
        assert_eq!(step(0.011), Check { stops: true, reason: KL_TOO_LARGE });
    }

    #[test]
    fn the_last_step_says_so_and_the_divergence_comes_first() {
        let mut progress = PpoProgress::new(&config(0.0));
        let last = StepFigures { kl: None, reward: Some(0.0), is_last: true };
        assert_eq!(check(&config(0.0), &mut progress, last).reason, EPOCHS_DONE);
        progress.kl_above = 1;
        let last = StepFigures { kl: Some(1.0), ..last };
        assert_eq!(check(&config(0.0), &mut progress, last).reason, KL_TOO_LARGE);
    }
}
