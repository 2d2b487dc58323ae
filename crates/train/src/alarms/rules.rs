//! When the alarms of the policy are due. Thresholds are where runs that went well stay far below: see
//! `docs/guides/alarms.md`.

use whetstone_core::config::Curriculum;

use super::due::{CLEAR, DueAlarm, any_of, due, percent};
use super::history::{CLAMPED, ENTROPY, Ends, GAP, History, KL, Level, PASS};
use super::settings::{Settings, Trainer};

/// Entropy that is left, of what there was, when samples are all alike.
const COLLAPSED: f64 = 0.2;
/// Entropy as a multiple of what there was, when samples become noise.
const EXPLODED: f64 = 2.0;
/// Sampler and trainer are one code: what is left is rounding, below 1e-4 in every run seen.
const GAP_LIMIT: f64 = 1e-3;
/// Single tokens that the reference held for nearly impossible occur in healthy runs: 1 of 70,000 was seen.
const CLAMPED_LIMIT: f64 = 1e-4;
/// The fall of the pass rate from which an alarm is due.
const FEWER_PASSES: f64 = 0.1;

/// Everything that is due after the last step.
pub(super) fn all(history: &History, settings: &Settings) -> [Option<DueAlarm>; 6] {
    let is_shuffled = settings.curriculum() == Curriculum::Shuffled;
    [
        kl_over_budget(history, settings),
        entropy_collapse(history, settings),
        entropy_rises(history, settings),
        sampler_gap(history),
        ratios_clamped(history, settings),
        passes_fall(history, settings).filter(|_| is_shuffled),
    ]
}

fn kl_over_budget(history: &History, settings: &Settings) -> Option<DueAlarm> {
    let Level { mean, .. } = history.last(KL)?;
    let budget = settings.config.dual_source.kl_budget;
    (budget > 0.0 && mean > budget).then_some(())?;
    let held_back = match settings.trainer {
        Trainer::Grpo => ": the weights of traces are held back",
        Trainer::Ppo => "",
    };
    let message = format!(
        "the student is {mean:.3} nats a token away from its reference, past the budget of {budget} \
         (`dual_source.kl_budget`){held_back}. Lower `{}`, or raise `{}.kl_coef`",
        settings.learning_rate(),
        settings.section()
    );
    Some(due("kl_over_budget", message))
}

fn entropy_collapse(history: &History, settings: &Settings) -> Option<DueAlarm> {
    let Ends { first, last } = history.ends(ENTROPY)?;
    (last.mean < COLLAPSED * first.mean).then_some(())?;
    let message = format!(
        "entropy fell from {:.3} to {:.4} nats a token: the samples of a group are nearly all alike, \
         and there is little left to choose from. Lower `{}`, raise `{}.temperature`, or stop here",
        first.mean,
        last.mean,
        settings.learning_rate(),
        settings.section()
    );
    Some(due("entropy_collapse", message))
}

/// The student forgets what it was sure of: its samples turn into noise, often ever longer.
fn entropy_rises(history: &History, settings: &Settings) -> Option<DueAlarm> {
    let ends = history.ends(ENTROPY)?;
    let Level { mean, error } = ends.rise();
    (ends.last.mean > EXPLODED * ends.first.mean && mean > CLEAR * error).then_some(())?;
    let has_bonus = settings.trainer == Trainer::Ppo && settings.config.ppo.entropy_coef > 0.0;
    let bonus = if has_bonus { " or `ppo.entropy_coef`" } else { "" };
    let message = format!(
        "entropy rose from {:.3} to {:.3} nats a token: samples become noise. Read some, take a checkpoint from \
         before, and lower `{}`{bonus}, or raise `{}.kl_coef`",
        ends.first.mean,
        ends.last.mean,
        settings.learning_rate(),
        settings.section()
    );
    Some(due("entropy_rises", message))
}

fn sampler_gap(history: &History) -> Option<DueAlarm> {
    let gap = history.newest(GAP).filter(|&gap| gap > GAP_LIMIT)?;
    let message = format!(
        "a log-probability differs by {gap:.2e} between sampler and trainer, where rounding is below \
         1e-4: the update is not that of what was sampled. This is a defect of whet or of the \
         machine; `whet doctor` looks at the latter"
    );
    Some(due("sampler_gap", message))
}

fn ratios_clamped(history: &History, settings: &Settings) -> Option<DueAlarm> {
    let fraction = history.newest(CLAMPED).filter(|&fraction| fraction > CLAMPED_LIMIT)?;
    let message = format!(
        "{:.2} % of the tokens have a ratio or a divergence so far off that it was clamped, and these \
         tokens are not learnt from: the student has moved far from the policy that sampled, or from its \
         reference. Lower {}, or raise `{}.kl_coef`",
        100.0 * fraction,
        any_of(&settings.smaller_updates()),
        settings.section()
    );
    Some(due("ratios_clamped", message))
}

/// The student gets worse at what it is trained on.
fn passes_fall(history: &History, settings: &Settings) -> Option<DueAlarm> {
    let ends = history.ends(PASS)?;
    let Level { mean, error } = ends.rise();
    (-mean > FEWER_PASSES && -mean > CLEAR * error).then_some(())?;
    let message = format!(
        "{} of the rollouts of the last steps pass, {} did in the beginning: the student gets worse, or \
         its tasks harder. Take a checkpoint from before, and lower `{}` or raise `{}.kl_coef`",
        percent(ends.last.mean),
        percent(ends.first.mean),
        settings.learning_rate(),
        settings.section()
    );
    Some(due("passes_fall", message))
}
