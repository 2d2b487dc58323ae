//! Policy, critic, reference and reward model: adapters and heads on one base, which is in memory once.
//!
//! | model | adapter | head |
//! |---|---|---|
//! | policy | trained | – |
//! | critic | its own, trained; or the policy's (`ppo.critic`) | values |
//! | reference | that which the policy began with; none if it began with a new one | – |
//! | reward model, of replies or of processes | frozen | score |
//!
//! A checkpoint has each of them in a folder of its own.

use std::path::Path;

use whetstone_core::config::{Critic, Trained};
use whetstone_core::seed::Seed;
use whetstone_model::decoder::{AdapterId, ParameterId};

use super::Ppo;
use crate::error::{CheckpointError, TrainError};
use crate::rollouts::paid::RewardAdapter;
use crate::rollouts::process::ProcessAdapter;
use crate::side_adapter::{Origin, add_adapter, add_reference};
use crate::student::Student;

/// The folder of the critic in a checkpoint.
const CRITIC: &str = "critic";

/// The models of a training, as adapters of the student's decoder.
#[derive(Debug)]
pub(super) struct Models {
    pub(super) policy: AdapterId,
    /// None if the value head is on the policy's adapter.
    pub(super) critic: Option<AdapterId>,
    /// None if it is the base itself.
    pub(super) reference: Option<AdapterId>,
    pub(super) reward_model: Option<RewardAdapter>,
    pub(super) process_model: Option<ProcessAdapter>,
}

impl Models {
    /// Puts all of them on the student's base. The policy is there, and is active afterwards.
    pub(super) fn open(student: &mut Student, ppo: &Ppo<'_>) -> Result<Self, TrainError> {
        let config = ppo.config;
        if config.training.train == Trained::Full {
            return Err(TrainError::Settings(
                "PPO trains an adapter, so that policy, critic, reference and reward model share one \
                 base: set `training.train=lora`"
                    .to_owned(),
            ));
        }
        let policy = student.decoder.active_adapter();
        let folder = |name| ppo.checkpoint.map(|dir: &Path| dir.join(name));
        let critic = match config.ppo.critic {
            Critic::Head => {
                add_value_head(student, ppo.checkpoint)?;
                None
            }
            Critic::Adapter => {
                let saved = folder(CRITIC);
                let from = saved.as_deref().or(ppo.initial);
                let seed = Seed::new(config.seed).derive("critic", 0);
                let id = add_adapter(student, CRITIC, from, seed)?;
                add_value_head(student, saved.as_deref())?;
                Some(id)
            }
        };
        student.decoder.activate(policy);
        let reference = if config.ppo.kl_coef > 0.0 {
            let Ppo { checkpoint, initial, .. } = *ppo;
            add_reference(student, Origin { checkpoint, initial })?
        } else {
            None
        };
        let reward_model = RewardAdapter::open(student, config, ppo.reward_model, ppo.checkpoint)?;
        let process_model =
            ProcessAdapter::open(student, config, ppo.process_model, ppo.checkpoint)?;
        Ok(Self { policy, critic, reference, reward_model, process_model })
    }
}

impl Models {
    /// Everything that the critic trains and the policy does not.
    pub(super) fn critic_parameters(&self, student: &Student) -> Vec<ParameterId> {
        match self.critic {
            Some(critic) => student.decoder.tensors_of(critic).to_vec(),
            None => student.decoder.value_head_parameters().into_iter().flatten().collect(),
        }
    }

    /// Does something while an adapter is active, or while the policy is if there is none.
    pub(super) fn with<T>(
        &self,
        student: &mut Student,
        adapter: Option<AdapterId>,
        work: impl FnOnce(&Student) -> T,
    ) -> T {
        student.decoder.activate(adapter.unwrap_or(self.policy));
        let done = work(student);
        student.decoder.activate(self.policy);
        done
    }
}

/// Gives the active adapter the value head of a checkpoint, or a new one.
fn add_value_head(student: &mut Student, saved: Option<&Path>) -> Result<(), TrainError> {
    match saved {
        None => student.decoder.add_value_head(),
        Some(dir) => {
            let read = student.decoder.load_value_head(dir);
            read.map_err(|err| TrainError::damaged(dir, CheckpointError::Weights(err)))?;
        }
    }
    Ok(())
}
