//! What rules know of the settings: which section a message names, and what can still be set.
//!
//! An alarm never advises a setting that has that value already.

use whetstone_core::config::{Config, Critic, Curriculum, NormaliserBy, ThinkingMode};

use crate::ppo::STAGE as PPO;

/// The training whose settings a message names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trainer {
    Grpo,
    Ppo,
}

/// The settings of a training.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) trainer: Trainer,
    pub(super) config: Config,
}

impl Settings {
    /// Those of a training with this name. What is no PPO has the settings of GRPO where it has any.
    pub(super) fn new(config: &Config, stage: &str) -> Self {
        let trainer = if stage == PPO { Trainer::Ppo } else { Trainer::Grpo };
        Self { trainer, config: config.clone() }
    }

    /// In an order that is not shuffled, later tasks are others than the first: fewer programs pass, as they
    /// should, and by pass rate the tasks that teach nothing come last.
    pub(super) fn curriculum(&self) -> Curriculum {
        match self.trainer {
            Trainer::Grpo => self.config.grpo.curriculum,
            Trainer::Ppo => self.config.ppo.curriculum,
        }
    }

    pub(super) fn learning_rate(&self) -> &'static str {
        match self.trainer {
            Trainer::Grpo => "training.learning_rate",
            Trainer::Ppo => "ppo.learning_rate",
        }
    }

    /// The section of its other settings.
    pub(super) fn section(&self) -> &'static str {
        match self.trainer {
            Trainer::Grpo => "grpo",
            Trainer::Ppo => "ppo",
        }
    }

    /// Several updates are made of one step's rollouts.
    pub(super) fn has_several_updates(&self) -> bool {
        match self.trainer {
            Trainer::Grpo => self.config.grpo.updates_per_step() > 1,
            Trainer::Ppo => self.config.ppo.updates_per_step() > 1,
        }
    }

    /// What makes the updates of a step move the policy less: the learning rate, and fewer of them where there are
    /// several. Each begins with the name of a setting that can be lowered.
    pub(super) fn smaller_updates(&self) -> Vec<String> {
        let Config { grpo, ppo, .. } = &self.config;
        let counts: &[(&str, u32)] = match self.trainer {
            Trainer::Grpo => &[
                ("grpo.num_iterations", grpo.num_iterations),
                ("grpo.mini_batches", grpo.mini_batches),
            ],
            Trainer::Ppo => &[("ppo.ppo_epochs", ppo.ppo_epochs)],
        };
        let fewer = counts.iter().filter(|(_, count)| *count > 1).map(|(name, _)| *name);
        [self.learning_rate()].into_iter().chain(fewer).map(|name| format!("`{name}`")).collect()
    }

    /// Ways to groups whose rollouts differ that are not in use.
    pub(super) fn livelier_groups(&self) -> Vec<String> {
        let grpo = &self.config.grpo;
        let mut ways = Vec::new();
        if grpo.dynamic_sampling_rounds == 0 {
            ways.push("set `grpo.dynamic_sampling_rounds`".to_owned());
        }
        if grpo.curriculum == Curriculum::Shuffled {
            ways.push("set `grpo.curriculum = \"pass_rate\"`".to_owned());
        }
        ways.push("take tasks that the student sometimes solves".to_owned());
        ways.push(format!(
            "sample more of each (`grpo.num_samples_per_prompt`, now {})",
            grpo.num_samples_per_prompt
        ));
        ways
    }

    /// The student may think, so that its thinking can be turned off.
    pub(super) fn may_think(&self) -> bool {
        self.config.prompt.thinking != ThinkingMode::Off
    }

    /// The loss of a completion is divided by its own length.
    pub(super) fn averages_sequences(&self) -> bool {
        self.trainer == Trainer::Grpo && self.config.grpo.normaliser == NormaliserBy::SequenceMean
    }

    /// The critic has an adapter of its own.
    pub(super) fn has_critic_adapter(&self) -> bool {
        self.config.ppo.critic == Critic::Adapter
    }

    /// A teacher teaches in dead groups, too.
    pub(super) fn is_distilled(&self) -> bool {
        self.trainer == Trainer::Grpo && self.config.dual_source.distill_weight > 0.0
    }

    /// Programs that pass some tests are paid for them.
    pub(super) fn has_partial_credit(&self) -> bool {
        !self.config.reward.needs_all_tests()
    }
}
