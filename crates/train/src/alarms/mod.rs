//! What a person should look at before they believe a training's figures.
//!
//! A rule looks at the measurements so far, never at the clock: the same steps ring the same alarms,
//! also where a killed run goes on. An alarm rings once, and again only after it was silent for
//! [`QUIET_STEPS`] steps. It stops nothing.
//!
//! | code | rings when |
//! |---|---|
//! | `held_out_falls` | held-out tasks are solved less often than before, while rewards rose |
//! | `kl_over_budget` | the divergence from the reference is past `dual_source.kl_budget` |
//! | `entropy_collapse` | entropy is below a fifth of what it was |
//! | `entropy_rises` | entropy is above twice what it was |
//! | `sampler_gap` | a log-probability differs between sampler and trainer by more than rounding |
//! | `ratios_clamped` | a log-ratio or an estimate of the divergence was so far off that it was clamped |
//! | `dead_groups` | more than four in five groups have nothing to learn from |
//! | `timeouts` | more programs run out of time than in the beginning |
//! | `passes_fall` | fewer programs pass than in the beginning |
//! | `cut_off` | more completions are cut off by the limit on tokens than in the beginning |
//! | `no_code` | most replies have no code outside their thinking |
//! | `reward_model_follows_length` | a reward model pays for long, or for short, completions |
//! | `term_rises_alone` | most of the reward's rise is a term that pays more to rollouts that do not pass |
//! | `gain_is_format` | most of the gain since the start is more replies with code |
//! | `rm_length_bias` | a reward model's scores of held-out pairs follow the length of replies |
//! | `critic_explains_nothing` | a critic's baseline is worse than the mean of the returns |
//! | `mini_batches_skipped` | more than half of the mini-batches are left out |
//! | `pass_at_n_falls` | fewer held-out tasks have a sample that passes, while more samples pass |
//! | `no_policy_gradient` | half of the steps have no group that is alive |
//! | `sft_dominates` | the cross-entropies' gradient is five times as long as that of the rollouts |
//! | `effective_sample_small` | recorded rollouts count for less than three tenths of their tokens |
//! | `gradient_spike` | a gradient is five times as long as usual |
//! | `update_kl_high` | the updates of a step move the policy by more than 0.02 nats a token |
//! | `clip_fraction_high` | more than three tenths of the ratios are clipped |
//! | `lengths_diverge` | completions that fail and those that pass grow apart in length |
//! | `repetition` | more than a tenth of the completions end in a loop |
//! | `judge_fails` | more than two in a hundred rollouts could not be judged |
//! | `chosen_logp_falls` | preference training makes chosen replies less likely, and rejected ones even less |
//! | `rm_at_chance` | a reward model orders held-out pairs no better than chance, five times in a row |
//!
//! Not here: what stops a training. Non-finite values do, and `grpo.patience_steps`.

mod critic;
mod due;
mod format;
mod held_out;
mod history;
mod preference;
mod reward_model;
mod rules;
mod samples;
mod settings;
mod signal;
mod terms;
mod updates;

use std::collections::BTreeMap;

use whetstone_core::config::Config;
use whetstone_record::event::Suspect;

use self::due::DueAlarm;
use self::history::History;
use self::settings::Settings;

/// Steps for which an alarm must not have been due before it rings again.
pub const QUIET_STEPS: u64 = 50;

/// An alarm that rings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alarm {
    /// The step after which it was seen.
    pub step: u64,
    /// Its stable name.
    pub code: &'static str,
    /// The observation, and where to look.
    pub message: String,
    /// Completions of the step to look at.
    pub suspects: Vec<Suspect>,
}

/// Finds completions of a step that gain by a term of the reward without passing.
pub(crate) type Suspects<'a> = &'a dyn Fn(&str) -> Vec<Suspect>;

/// [`Suspects`] of a training without rewards: none.
pub(crate) fn no_suspects(_term: &str) -> Vec<Suspect> {
    Vec::new()
}

/// The alarms of one training.
#[derive(Debug)]
pub(crate) struct Alarms {
    history: History,
    settings: Settings,
    /// The step at which each was due last, by what it is about.
    due: BTreeMap<String, u64>,
}

impl Alarms {
    /// Those of a training with this name.
    pub(crate) fn new(config: &Config, stage: &str) -> Self {
        let settings = Settings::new(config, stage);
        Self { settings, history: History::default(), due: BTreeMap::new() }
    }

    /// Takes in the measurements of a step; returns the alarms that ring.
    pub(crate) fn see(
        &mut self,
        step: u64,
        values: &BTreeMap<String, f64>,
        suspects: Suspects<'_>,
    ) -> Vec<Alarm> {
        self.history.add(step, values);
        let found = due_after(&self.history, &self.settings);
        found.into_iter().filter_map(|found| self.ring(step, found, suspects)).collect()
    }

    fn ring(&mut self, step: u64, due: DueAlarm, suspects: Suspects<'_>) -> Option<Alarm> {
        let DueAlarm { code, message, term } = due;
        let about = format!("{code} {}", term.as_deref().unwrap_or_default());
        let before = self.due.insert(about, step);
        if before.is_some_and(|before| step <= before + QUIET_STEPS) {
            return None;
        }
        let suspects = term.as_deref().map(suspects).unwrap_or_default();
        Some(Alarm { step, code, message, suspects })
    }
}

/// Everything that is due after the last step.
fn due_after(history: &History, settings: &Settings) -> Vec<DueAlarm> {
    let of_samples = samples::all(history, settings).into_iter().flatten();
    held_out::all(history, settings)
        .into_iter()
        .chain(rules::all(history, settings))
        .chain(signal::all(history, settings))
        .chain(updates::all(history, settings))
        .flatten()
        .chain(of_samples)
        .chain(terms::all(history, settings))
        .chain(reward_model::all(history).into_iter().flatten())
        .chain(format::gain_is_format(history, settings))
        .chain(critic::all(history, settings).into_iter().flatten())
        .chain(preference::chosen_logp_falls(history, settings.config.dpo.loss))
        .collect()
}

#[cfg(test)]
mod curriculum_tests;
#[cfg(test)]
mod planted_tests;
#[cfg(test)]
mod ppo_tests;
#[cfg(test)]
mod terms_tests;
#[cfg(test)]
mod tests;
