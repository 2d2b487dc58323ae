//! Policy, critic, reference and reward model: adapters and heads on one base, which is in memory once.
//!
//! | model | adapter | head |
//! |---|---|---|
//! | policy | trained | – |
//! | critic | its own, trained; or the policy's (`ppo.critic`) | values |
//! | reference | that which the policy began with; none if it began with a new one | – |
//! | reward model | frozen | score |
//!
//! A checkpoint has each of them in a folder of its own.

use std::path::{Path, PathBuf};

use whetstone_core::config::{Config, Critic, Trained};
use whetstone_core::seed::Seed;
use whetstone_model::adapter::AdapterSettings;
use whetstone_model::decoder::AdapterId;
use whetstone_record::plain_file::read_plain;

use super::Ppo;
use crate::error::{CheckpointError, TrainError};
use crate::reward_model::RewardModel;
use crate::rollouts::paid::{Paid, Scorer, pay};
use crate::rollouts::tasks::StepRollouts;
use crate::student::{Companion, REWARD_MODEL_FILE, Student};

/// Bytes of `reward_model.json`, at most.
const FACTS_LIMIT_BYTES: u64 = 1 << 20;

/// Folders of a checkpoint.
const CRITIC: &str = "critic";
const REFERENCE: &str = "reference";
const REWARD_MODEL: &str = "reward_model";

/// The models of a training, as adapters of the student's decoder.
#[derive(Debug)]
pub(super) struct Models {
    pub(super) policy: AdapterId,
    /// None if the value head is on the policy's adapter.
    pub(super) critic: Option<AdapterId>,
    /// None if it is the base itself.
    pub(super) reference: Option<AdapterId>,
    pub(super) reward_model: Option<(AdapterId, RewardModel)>,
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
                let id = add(student, CRITIC, from, seed)?;
                add_value_head(student, saved.as_deref())?;
                Some(id)
            }
        };
        let saved: Option<PathBuf> = folder(REFERENCE).filter(|dir| dir.is_dir());
        let begins = if ppo.checkpoint.is_some() { saved.as_deref() } else { ppo.initial };
        let reference = match begins.filter(|_| config.ppo.kl_coef > 0.0) {
            None => None,
            Some(dir) => {
                let id = add(student, REFERENCE, Some(dir), Seed::new(0))?;
                student.decoder.train_adapter(id, false);
                Some(id)
            }
        };
        let saved = folder(REWARD_MODEL).filter(|dir| dir.is_dir());
        let reward_model = match saved.as_deref().or(ppo.reward_model) {
            None => None,
            Some(dir) => Some(add_reward_model(student, config.student.model_name.as_str(), dir)?),
        };
        student.decoder.activate(policy);
        Ok(Self { policy, critic, reference, reward_model })
    }
}

impl Models {
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

    /// Adds what the reward model pays to the rewards of a step.
    pub(super) fn pay(
        &self,
        student: &mut Student,
        config: &Config,
        step_rollouts: &mut StepRollouts,
    ) -> Result<Option<Paid>, TrainError> {
        let Some((adapter, model)) = &self.reward_model else { return Ok(None) };
        let micro_batch = config.training.per_device_train_batch_size as usize;
        self.with(student, Some(*adapter), |student| {
            pay(
                Scorer { model, decoder: &student.decoder, micro_batch },
                &config.reward,
                step_rollouts,
            )
            .map(Some)
        })
    }
}

/// Adds an adapter: that of a directory, or a new one.
fn add(
    student: &mut Student,
    name: &'static str,
    from: Option<&Path>,
    seed: Seed,
) -> Result<AdapterId, TrainError> {
    let id = student.decoder.new_adapter(name);
    let settings = student.adapter_settings().clone();
    let settings = match from {
        None => {
            student.decoder.add_adapter_like(&settings, seed.get());
            settings
        }
        Some(dir) => {
            let found = student.decoder.load_adapter(dir);
            let found =
                found.map_err(|err| TrainError::damaged(dir, CheckpointError::Adapter(err)))?;
            AdapterSettings { base: settings.base, ..found }
        }
    };
    student.companions.push(Companion { folder: name, adapter: id, settings, facts: None });
    Ok(id)
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

fn add_reward_model(
    student: &mut Student,
    base: &str,
    dir: &Path,
) -> Result<(AdapterId, RewardModel), TrainError> {
    let model = RewardModel::open(dir, &student.model, base)?;
    let id = student.decoder.new_adapter(REWARD_MODEL);
    model.load(&mut student.decoder)?;
    student.decoder.train_adapter(id, false);
    let settings = AdapterSettings::of_dir(dir)
        .map_err(|err| TrainError::damaged(dir, CheckpointError::Adapter(err)))?;
    // As it stands there: a number that is read and written again may differ in its last bit.
    let path = dir.join(REWARD_MODEL_FILE);
    let facts = read_plain(&path, FACTS_LIMIT_BYTES)
        .map_err(|err| TrainError::damaged(dir, CheckpointError::Read(err)))?;
    let companion = Companion { folder: REWARD_MODEL, adapter: id, settings, facts: Some(facts) };
    student.companions.push(companion);
    Ok((id, model))
}
