//! What a run will do, counted before it begins.

use whetstone_algo::schedule::{Schedule, Shape, warmup_steps};
use whetstone_core::config::{Config, LrScheduler};

use crate::error::TrainError;

/// Steps and what they are made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// Tasks, or rows.
    pub items: u64,
    /// Sequences made of each.
    pub samples: u64,
    /// Sequences of a micro-batch.
    pub micro_batch: u64,
    /// Micro-batches of a step.
    pub accumulation: u64,
    /// Passes over all items; it is not used if the steps are given.
    pub epochs: u64,
    /// Items that a step takes.
    pub items_per_step: u64,
    /// Optimizer steps.
    pub steps: u64,
    /// Updates that each step makes of its rollouts.
    pub iterations: u64,
    /// The learning rate of every update.
    pub schedule: Schedule,
}

impl Plan {
    /// A step learns from as many rows as its micro-batches have.
    ///
    /// # Errors
    ///
    /// If there are none.
    pub fn sft(config: &Config, rows: usize) -> Result<Self, TrainError> {
        if rows == 0 {
            return Err(TrainError::NoRows);
        }
        Self::new(config, (rows as u64, 1, 1))
    }

    /// A step takes as many tasks as its micro-batches have groups.
    ///
    /// # Errors
    ///
    /// If there are none, or a step has no whole groups.
    pub fn grpo(config: &Config, tasks: usize) -> Result<Self, TrainError> {
        if tasks == 0 {
            return Err(TrainError::NoTasks);
        }
        let samples = u64::from(config.grpo.num_samples_per_prompt);
        Self::new(config, (tasks as u64, samples, u64::from(config.grpo.num_iterations)))
    }

    fn new(
        config: &Config,
        (items, samples, iterations): (u64, u64, u64),
    ) -> Result<Self, TrainError> {
        let training = &config.training;
        let micro_batch = u64::from(training.per_device_train_batch_size);
        let accumulation = u64::from(training.gradient_accumulation_steps);
        let sequences = micro_batch * accumulation;
        if !sequences.is_multiple_of(samples) {
            return Err(TrainError::Settings(format!(
                "a step has {micro_batch} × {accumulation} = {sequences} sequences, which are no \
                 whole groups of {samples}: make `training.per_device_train_batch_size` × \
                 `training.gradient_accumulation_steps` a multiple of `grpo.num_samples_per_prompt`"
            )));
        }
        let items_per_step = sequences / samples;
        let epochs = u64::from(training.num_train_epochs);
        let steps = match u64::from(training.max_steps) {
            0 => (items * epochs).div_ceil(items_per_step),
            steps => steps,
        };
        let total_steps = steps * iterations;
        let schedule = Schedule {
            peak: training.learning_rate,
            shape: match training.lr_scheduler_type {
                LrScheduler::Constant => Shape::Constant,
                LrScheduler::Linear => Shape::Linear,
                LrScheduler::Cosine => Shape::Cosine,
            },
            warmup_steps: warmup_steps(training.warmup_ratio, total_steps)?,
            warmup_start: training.warmup_start,
            total_steps,
        };
        Ok(Self {
            items,
            samples,
            micro_batch,
            accumulation,
            epochs,
            items_per_step,
            steps,
            iterations,
            schedule,
        })
    }

    /// The arithmetic in one line; `what` is what an item is called.
    pub fn arithmetic(&self, what: &str, by_epochs: bool) -> String {
        let Self { items, samples, micro_batch, accumulation, epochs, steps, .. } = self;
        if by_epochs {
            format!(
                "{items} {what} × {samples} samples × {epochs} epochs ÷ ({micro_batch} micro-batch × \
                 {accumulation} accumulation) = {steps} optimizer steps"
            )
        } else {
            format!(
                "{steps} optimizer steps × ({micro_batch} micro-batch × {accumulation} accumulation) \
                 ÷ {samples} samples = {} of {items} {what}",
                steps * self.items_per_step
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_make_four_groups_a_step() {
        let plan = Plan::grpo(&Config::default(), 100).unwrap();
        assert_eq!((plan.items_per_step, plan.steps), (4, 75));
        assert_eq!(
            plan.arithmetic("tasks", true),
            "100 tasks × 4 samples × 3 epochs ÷ (2 micro-batch × 8 accumulation) = 75 optimizer steps"
        );
        assert_eq!(
            Plan::sft(&Config::default(), 100).unwrap().steps,
            19,
            "300 rows of 16, rounded up"
        );
    }

    #[test]
    fn of_nothing_there_is_no_plan() {
        let config = Config::default();
        assert!(matches!(Plan::grpo(&config, 0), Err(TrainError::NoTasks)));
        assert!(matches!(Plan::sft(&config, 0), Err(TrainError::NoRows)));
    }

    #[test]
    fn steps_that_are_given_need_no_epochs() {
        let mut config = Config::default();
        config.training.max_steps = 5;
        config.grpo.num_iterations = 2;
        let plan = Plan::grpo(&config, 100).unwrap();
        assert_eq!((plan.steps, plan.schedule.total_steps), (5, 10));
        assert!(plan.arithmetic("tasks", false).ends_with("÷ 4 samples = 20 of 100 tasks"));
    }

    #[test]
    fn the_learning_rate_begins_where_the_settings_say() {
        let mut config = Config::default();
        config.training.warmup_ratio = 0.5;
        let first = |config: &Config| Plan::grpo(config, 100).unwrap().schedule.rate(0).unwrap();
        assert!((first(&config) / 5e-6 - 1.0).abs() < 1e-12, "{}", first(&config));
        config.training.warmup_start = 0.0;
        assert_eq!(first(&config).to_bits(), 0.0_f64.to_bits());
    }

    #[test]
    fn a_step_is_made_of_whole_groups() {
        let mut config = Config::default();
        config.grpo.num_samples_per_prompt = 6;
        let err = Plan::grpo(&config, 100).unwrap_err().to_string();
        assert!(err.contains("2 × 8 = 16 sequences, which are no whole groups of 6"), "{err}");
    }
}
