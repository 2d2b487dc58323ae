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
//! | `term_rises_alone` | one term of the reward rises, and neither another nor the pass rate does |
//! | `gain_is_format` | most of the gain since the start is more replies with code |
//! | `rm_length_bias` | a reward model's scores of held-out pairs follow the length of replies |
//! | `critic_explains_nothing` | a critic's baseline is worse than the mean of the returns |
//! | `mini_batches_skipped` | more than half of the mini-batches are left out |
//! | `rm_at_chance` | a reward model orders held-out pairs no better than chance, five times in a row |
//!
//! Not here: what stops a training. Non-finite values do, and `grpo.patience_steps`.

mod critic;
mod format;
mod history;
mod reward_model;
mod rules;

use std::collections::BTreeMap;

use whetstone_core::config::Config;
use whetstone_record::event::Suspect;

use self::history::History;
use self::rules::{DueAlarm, Rules, Trainer};
use crate::ppo::STAGE as PPO;

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
    rules: Rules,
    /// The step at which each was due last, by what it is about.
    due: BTreeMap<String, u64>,
}

impl Alarms {
    /// Those of a training with this name.
    pub(crate) fn new(config: &Config, stage: &str) -> Self {
        let is_ppo = stage == PPO;
        let (trainer, curriculum) = if is_ppo {
            (Trainer::Ppo, config.ppo.curriculum)
        } else {
            (Trainer::Grpo, config.grpo.curriculum)
        };
        let rules = Rules {
            trainer,
            curriculum,
            kl_budget: config.dual_source.kl_budget,
            has_partial_credit: !config.reward.needs_all_tests(),
            is_distilled: !is_ppo && config.dual_source.distill_weight > 0.0,
        };
        Self { rules, history: History::default(), due: BTreeMap::new() }
    }

    /// Takes in the measurements of a step; returns the alarms that ring.
    pub(crate) fn see(
        &mut self,
        step: u64,
        values: &BTreeMap<String, f64>,
        suspects: Suspects<'_>,
    ) -> Vec<Alarm> {
        self.history.add(step, values);
        let found = rules::all(&self.history, &self.rules);
        let of_reward_model = reward_model::all(&self.history).into_iter().flatten();
        found
            .into_iter()
            .chain(of_reward_model)
            .chain(format::gain_is_format(&self.history))
            .chain(critic::all(&self.history).into_iter().flatten())
            .filter_map(|found| self.ring(step, found, suspects))
            .collect()
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

#[cfg(test)]
mod curriculum_tests;
#[cfg(test)]
mod ppo_tests;
#[cfg(test)]
mod tests;
