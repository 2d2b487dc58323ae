//! Steps, epochs and the learning rate schedule of a run, computed before it begins.
// size: the plans of all trainings, with the lines of arithmetic that show them

use whetstone_algo::schedule::{Schedule, warmup_steps};
use whetstone_core::config::{Config, DpoConfig, PrmConfig, RmConfig};

use crate::error::TrainError;
use crate::recorded::RecordedCounts;

const NO_PAIR: &str = "there is no preference pair to learn from";

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
    /// Updates that each step makes of its rollouts, at most.
    pub iterations: u64,
    /// The learning rate of every update.
    pub schedule: Schedule,
}

/// Counts that a plan is computed from.
#[derive(Clone, Copy)]
struct Items {
    count: u64,
    samples: u64,
    /// Items of a step.
    each_step: u64,
    iterations: u64,
}

/// Items with a batch size, epochs and a learning rate of their own.
#[derive(Clone, Copy)]
struct ScoredItems {
    count: u64,
    batch_size: u32,
    epochs: u32,
    learning_rate: f64,
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
        Self::new(config, rows as u64, 1, 1)
    }

    /// A step learns from `rm.batch_size` pairs, or from all of them if there are fewer.
    ///
    /// # Errors
    ///
    /// If there are none.
    pub fn rm(config: &Config, pairs: usize) -> Result<Self, TrainError> {
        if pairs == 0 {
            return Err(TrainError::Settings(NO_PAIR.to_owned()));
        }
        let RmConfig { batch_size, epochs, learning_rate, .. } = config.rm;
        Self::scored(config, ScoredItems { count: pairs as u64, batch_size, epochs, learning_rate })
    }

    /// A step learns from `dpo.batch_size` pairs, or from all of them if there are fewer.
    ///
    /// # Errors
    ///
    /// If there are none.
    pub fn dpo(config: &Config, pairs: usize) -> Result<Self, TrainError> {
        if pairs == 0 {
            return Err(TrainError::Settings(NO_PAIR.to_owned()));
        }
        let DpoConfig { batch_size, epochs, learning_rate, .. } = config.dpo;
        Self::scored(config, ScoredItems { count: pairs as u64, batch_size, epochs, learning_rate })
    }

    /// A step learns from `prm.batch_size` transitions, or from all of them if there are fewer.
    ///
    /// # Errors
    ///
    /// If there are none.
    pub fn prm(config: &Config, transitions: usize) -> Result<Self, TrainError> {
        if transitions == 0 {
            let problem = "there is no transition to learn from".to_owned();
            return Err(TrainError::Settings(problem));
        }
        let PrmConfig { batch_size, epochs, learning_rate, .. } = config.prm;
        let count = transitions as u64;
        Self::scored(config, ScoredItems { count, batch_size, epochs, learning_rate })
    }

    /// The plan of a training on such items.
    fn scored(config: &Config, of: ScoredItems) -> Result<Self, TrainError> {
        let ScoredItems { count, batch_size, epochs, learning_rate } = of;
        let micro_batch = u64::from(config.training.per_device_train_batch_size);
        let each_step = u64::from(batch_size).min(count);
        let epochs = u64::from(epochs);
        let steps = match u64::from(config.training.max_steps) {
            0 => (count * epochs).div_ceil(each_step),
            steps => steps,
        };
        let plan = Self::of(config, Items { count, samples: 1, each_step, iterations: 1 })?;
        let warmup = warmup_steps(config.training.warmup_ratio, steps)?;
        let schedule = Schedule {
            peak: learning_rate,
            warmup_steps: warmup,
            total_steps: steps,
            ..plan.schedule
        };
        Ok(Self { epochs, steps, accumulation: each_step.div_ceil(micro_batch), schedule, ..plan })
    }

    /// The arithmetic of a training on such items, in one line; `what` they are.
    pub fn scored_arithmetic(&self, what: &str, by_epochs: bool) -> String {
        let Self { items, epochs, items_per_step, steps, .. } = self;
        if by_epochs {
            format!(
                "{items} {what} × {epochs} epochs ÷ {items_per_step} {what} a step = {steps} optimizer steps"
            )
        } else {
            let drawn = steps * items_per_step;
            format!(
                "{steps} optimizer steps × {items_per_step} {what} a step = {drawn} {what} drawn from {items}"
            )
        }
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
        Self::new(config, tasks as u64, samples, config.grpo.updates_per_step())
    }

    /// A step takes as many tasks as fill its batch, and makes an update of each mini-batch in each pass.
    ///
    /// # Errors
    ///
    /// If there are none.
    pub fn ppo(config: &Config, tasks: usize) -> Result<Self, TrainError> {
        if tasks == 0 {
            return Err(TrainError::NoTasks);
        }
        let ppo = &config.ppo;
        let (items, samples) = (tasks as u64, u64::from(ppo.num_samples_per_prompt));
        let items_per_step = (u64::from(ppo.batch_size) / samples).max(1);
        let epochs = u64::from(ppo.max_epochs);
        let steps = match u64::from(config.training.max_steps) {
            0 => (items * epochs).div_ceil(items_per_step),
            steps => steps,
        };
        let iterations = ppo.updates_per_step();
        let total_steps = steps * iterations;
        let schedule = Schedule {
            peak: ppo.learning_rate,
            shape: ppo.lr_scheduler_type,
            warmup_steps: warmup_steps(ppo.warmup_ratio, total_steps)?,
            warmup_start: ppo.warmup_start,
            total_steps,
        };
        let micro_batch = u64::from(config.training.per_device_train_batch_size);
        let accumulation = u64::from(ppo.mini_batch_size).div_ceil(micro_batch);
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

    /// The arithmetic of a training with PPO, in one line.
    pub fn ppo_arithmetic(&self, config: &Config) -> String {
        let Self { items, samples, items_per_step, steps, iterations, epochs, .. } = self;
        let ppo = &config.ppo;
        let batch = items_per_step * samples;
        let updates = format!(
            "each {batch} completions ÷ {} a mini-batch × {} passes = {iterations} updates",
            ppo.mini_batch_size, ppo.ppo_epochs
        );
        if config.training.max_steps == 0 {
            format!(
                "{items} tasks × {samples} completions × {epochs} epochs ÷ {batch} a step = {steps} \
                 steps, {updates}"
            )
        } else {
            format!("{steps} steps on {items} tasks, {updates}")
        }
    }

    /// A step takes as many groups of a file as fill its micro-batches, at least one.
    ///
    /// # Errors
    ///
    /// If there are none, or rollouts would be used again by an algorithm that does not clip.
    pub fn recorded(config: &Config, counts: &RecordedCounts) -> Result<Self, TrainError> {
        if counts.groups == 0 {
            return Err(TrainError::NoTasks);
        }
        let training = &config.training;
        let sequences = u64::from(training.per_device_train_batch_size)
            * u64::from(training.gradient_accumulation_steps);
        let largest = counts.largest.max(1) as u64;
        let items_per_step = (sequences / largest).clamp(1, counts.groups as u64);
        let iterations = config.grpo.updates_per_step();
        let plan = Self::of(
            config,
            Items {
                count: counts.groups as u64,
                samples: largest,
                each_step: items_per_step,
                iterations,
            },
        )?;
        let is_used_again =
            plan.steps > plan.items.div_ceil(items_per_step) || config.grpo.num_iterations > 1;
        if is_used_again && !config.grpo.clips() {
            return Err(TrainError::Settings(format!(
                "{} steps of {items_per_step} groups use the {} groups of the file more than once, and \
                 `{}` does not clip: a rollout that the policy has moved away from would pull as hard as \
                 a new one. Set `training.num_train_epochs=1`, `training.max_steps=0` and \
                 `grpo.num_iterations=1`, or another `grpo.algorithm`",
                plan.steps,
                plan.items,
                config.grpo.algorithm.name()
            )));
        }
        Ok(plan)
    }

    fn new(config: &Config, items: u64, samples: u64, iterations: u64) -> Result<Self, TrainError> {
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
        Self::of(
            config,
            Items { count: items, samples, each_step: sequences / samples, iterations },
        )
    }

    fn of(config: &Config, of: Items) -> Result<Self, TrainError> {
        let Items { count: items, samples, each_step: items_per_step, iterations } = of;
        let training = &config.training;
        let micro_batch = u64::from(training.per_device_train_batch_size);
        let accumulation = u64::from(training.gradient_accumulation_steps);
        let epochs = u64::from(training.num_train_epochs);
        let steps = match u64::from(training.max_steps) {
            0 => (items * epochs).div_ceil(items_per_step),
            steps => steps,
        };
        let total_steps = steps * iterations;
        let schedule = Schedule {
            peak: training.learning_rate,
            shape: training.lr_scheduler_type,
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

    /// The arithmetic of a training on recorded groups, in one line.
    pub fn recorded_arithmetic(&self) -> String {
        let Self { items, samples, items_per_step, steps, iterations, .. } = self;
        #[expect(clippy::cast_precision_loss, reason = "groups of a file")]
        let epochs = (steps * items_per_step) as f64 / *items as f64;
        let updates = updates(*iterations);
        format!(
            "{items} groups of up to {samples} rollouts, {items_per_step} a step: {steps} optimizer \
             steps{updates}, {epochs:.1} times through the file"
        )
    }

    /// The arithmetic in one line; `what` is what an item is called.
    pub fn arithmetic(&self, what: &str, by_epochs: bool) -> String {
        let Self { items, samples, micro_batch, accumulation, epochs, steps, iterations, .. } =
            self;
        let updates = updates(*iterations);
        if by_epochs {
            format!(
                "{items} {what} × {samples} samples × {epochs} epochs ÷ ({micro_batch} micro-batch × \
                 {accumulation} accumulation) = {steps} optimizer steps{updates}"
            )
        } else {
            let unit = if *samples > 1 { "groups" } else { "sequences" };
            let (drawn, passes) = drawn(steps * self.items_per_step, *items);
            format!(
                "{steps} optimizer steps × ({micro_batch} micro-batch × {accumulation} accumulation) \
                 ÷ {samples} samples = {drawn} {unit} from {items} {what}{passes}{updates}"
            )
        }
    }
}

/// The updates of a step, where there are several.
fn updates(of_step: u64) -> String {
    if of_step > 1 { format!(", {of_step} updates each") } else { String::new() }
}

/// What is drawn, and how often each item is where that is more than once.
fn drawn(drawn: u64, items: u64) -> (u64, String) {
    let tenths = (drawn * 10 + items / 2) / items.max(1);
    let passes = format!(", each {}.{} times", tenths / 10, tenths % 10);
    (drawn, if drawn > items { passes } else { String::new() })
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
        let rows = Plan::sft(&Config::default(), 100).unwrap();
        assert_eq!(rows.steps, 19, "300 rows of 16, rounded up");
    }

    #[test]
    fn of_nothing_there_is_no_plan() {
        let config = Config::default();
        assert!(matches!(Plan::grpo(&config, 0), Err(TrainError::NoTasks)));
        assert!(matches!(Plan::sft(&config, 0), Err(TrainError::NoRows)));
    }

    #[test]
    fn a_reward_model_has_its_own_batch_epochs_and_rate() {
        let mut config = Config::default();
        config.rm.epochs = 2;
        let plan = Plan::rm(&config, 100).unwrap();
        assert_eq!((plan.items_per_step, plan.steps, plan.accumulation), (16, 13, 8));
        assert_eq!(plan.schedule.peak.to_bits(), 1e-4_f64.to_bits());
        assert_eq!(plan.schedule.total_steps, 13);
        let expected = "100 pairs × 2 epochs ÷ 16 pairs a step = 13 optimizer steps";
        assert_eq!(plan.scored_arithmetic("pairs", true), expected);
        assert_eq!(Plan::rm(&config, 5).unwrap().items_per_step, 5);
        config.training.max_steps = 7;
        let plan = Plan::rm(&config, 100).unwrap();
        assert_eq!((plan.steps, plan.schedule.total_steps), (7, 7));
        assert!(matches!(Plan::rm(&config, 0), Err(TrainError::Settings(_))));
    }

    #[test]
    fn so_has_a_policy_on_preference_pairs() {
        let mut config = Config::default();
        config.dpo.epochs = 3;
        let plan = Plan::dpo(&config, 100).unwrap();
        assert_eq!((plan.items_per_step, plan.steps, plan.accumulation), (32, 10, 16));
        assert_eq!(plan.schedule.peak.to_bits(), 1e-5_f64.to_bits());
        assert!(matches!(Plan::dpo(&config, 0), Err(TrainError::Settings(_))));
    }

    #[test]
    fn steps_that_are_given_need_no_epochs() {
        let mut config = Config::default();
        (config.training.max_steps, config.grpo.num_iterations) = (5, 2);
        let grpo = |tasks| Plan::grpo(&config, tasks).unwrap();
        assert_eq!((grpo(100).steps, grpo(100).schedule.total_steps), (5, 10));
        let ends = |plan: &Plan, end| assert!(plan.arithmetic("tasks", false).ends_with(end));
        ends(&grpo(100), "= 20 groups from 100 tasks, 2 updates each");
        ends(&grpo(7), "= 20 groups from 7 tasks, each 2.9 times, 2 updates each");
        ends(&Plan::sft(&config, 30).unwrap(), "= 80 sequences from 30 tasks, each 2.7 times");
        config.grpo.mini_batches = 4;
        assert_eq!(Plan::grpo(&config, 100).unwrap().schedule.total_steps, 40, "5 · 2 · 4");
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
