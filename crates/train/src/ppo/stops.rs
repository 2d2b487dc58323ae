//! When a run ends: the requirements' three reasons, and what each check says otherwise.

use whetstone_core::config::PpoConfig;

use super::progress::PpoProgress;

/// The KL of updates stays above `ppo.target_kl`, although mini-batches were left out.
pub const KL_TOO_LARGE: &str = "KL divergence too large";
/// The best of the last ten mean rewards is not enough above the best of the ten before.
pub const REWARD_STALLED: &str = "Reward improvement too small";
/// All passes over the tasks are done.
pub const EPOCHS_DONE: &str = "Maximum epochs reached";
/// None of these.
pub const CONTINUE: &str = "Continue training";

/// Rewards that are compared with as many before them.
const WINDOW: usize = 10;

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
    if improvement(&progress.rewards()).is_some_and(|found| found < config.min_improvement) {
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

/// The best of the last ten rewards less the best of the ten before, of which one is enough.
fn improvement(rewards: &[f64]) -> Option<f64> {
    let last = rewards.len().checked_sub(WINDOW).filter(|&before| before > 0)?;
    let best = |part: &[f64]| part.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let before = &rewards[last.saturating_sub(WINDOW)..last];
    Some(best(&rewards[last..]) - best(before))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> PpoConfig {
        PpoConfig { min_improvement: 0.01, kl_patience: 2, ..PpoConfig::default() }
    }

    /// Checks steps with these rewards, and gives the reason of the last.
    fn after(rewards: &[f64]) -> &'static str {
        let mut progress = PpoProgress::new(&config());
        let mut reason = "";
        for &reward in rewards {
            let step = StepFigures { kl: Some(0.001), reward: Some(reward), is_last: false };
            reason = check(&config(), &mut progress, step).reason;
        }
        reason
    }

    #[test]
    fn ten_rewards_are_not_enough_and_eleven_are() {
        assert_eq!(after(&[0.5; 10]), CONTINUE);
        assert_eq!(after(&[0.5; 11]), REWARD_STALLED);
    }

    #[test]
    fn the_best_of_ten_are_compared() {
        let mut rewards = vec![0.5; 10];
        rewards.push(0.515);
        assert_eq!(after(&rewards), CONTINUE, "better by more than 0.01");
        rewards[10] = 0.505;
        assert_eq!(after(&rewards), REWARD_STALLED);
        // The best of the last ten stands for them, wherever among them it is.
        let mut rewards = vec![0.1; 10];
        rewards.push(0.9);
        rewards.extend([0.2; 9]);
        assert_eq!(after(&rewards), CONTINUE);
        rewards.push(0.2);
        assert_eq!(after(&rewards), REWARD_STALLED, "now it is among the ten before");
        // What lies further back than twenty counts no more.
        let mut rewards = vec![0.9];
        rewards.extend([0.1; 10]);
        rewards.extend([0.2; 10]);
        assert_eq!(after(&rewards), CONTINUE);
    }

    #[test]
    fn a_divergence_must_stay_too_large() {
        let mut progress = PpoProgress::new(&config());
        let mut step = |kl| {
            let step = StepFigures { kl: Some(kl), reward: None, is_last: false };
            check(&config(), &mut progress, step)
        };
        assert_eq!(step(0.02).reason, CONTINUE);
        assert_eq!(step(0.01).reason, CONTINUE, "at the target is not above it");
        assert_eq!(step(0.02).reason, CONTINUE);
        assert_eq!(step(0.011), Check { stops: true, reason: KL_TOO_LARGE });
    }

    #[test]
    fn the_last_step_says_so_and_the_divergence_comes_first() {
        let mut progress = PpoProgress::new(&config());
        let last = StepFigures { kl: None, reward: Some(0.0), is_last: true };
        assert_eq!(check(&config(), &mut progress, last).reason, EPOCHS_DONE);
        progress.kl_above = 1;
        let last = StepFigures { kl: Some(1.0), ..last };
        assert_eq!(check(&config(), &mut progress, last).reason, KL_TOO_LARGE);
    }
}
