//! Our side of PPO: the loop that `whet train ppo` runs, on a random model with a trivial reward.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use whetstone_core::config::{Config, Critic, DiscountBy, LrScheduler};
use whetstone_core::metric::{self, Metric};
use whetstone_core::seed::Seed;
use whetstone_core::task::Task;
use whetstone_infer::Limits;
use whetstone_kernels::Device;
use whetstone_train::Student;
use whetstone_train::ppo::{Ppo, STAGE, ppo};
use whetstone_train::session::{RunLocation, RunStart, Session};
use whetstone_train::watch::{Phase, StepReport, Watch};
use whetstone_train::watchdog::Watchdog;

use super::{
    ALPHA, BATCH, COMPLETION_TOKENS, EPOCHS, KL_COEF, LEARNING_RATE, MINI_BATCH, Parts, Prompts,
    RANK, STEP, STEPS,
};
use crate::letters::Letters;
use crate::model;

/// The parts of every step.
pub(super) fn steps(tokenizer: &Path, prompts: &Prompts) -> Result<Vec<Parts>, Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let device = Device::cpu(model::THREADS)?;
    let path = dir.path().join("model");
    model::write(&device, &model::shape(None), tokenizer, &path)?;
    let config = config(&path);
    let mut student = Student::open(&path, &device, &config, None)?;
    let start = RunStart { config: &config, config_text: "", command: "bench" };
    let place = RunLocation { root: dir.path(), name: "run" };
    let mut session = Session::create(place, STAGE, start)?;
    let tasks = tasks(prompts)?;
    let clock = Mutex::new(Clock::default());
    let on_phase = |phase, _| clock.lock().expect("no panic").hear(phase);
    let on_step = |report: &StepReport| clock.lock().expect("no panic").end(report);
    let stop = AtomicBool::new(false);
    let watch = Watch {
        on_phase: &on_phase,
        on_step: &on_step,
        on_alarm: &|_| (),
        stop: &stop,
        dog: &Watchdog::new(0, &|_| ()),
    };
    let training = Ppo {
        config: &config,
        tasks: &tasks,
        held_out: &[],
        environment: &Letters { judge: None },
        judges: 1,
        limits: Limits::default(),
        initial: None,
        reward_model: None,
        process_model: None,
        checkpoint: None,
        watch,
    };
    ppo(&mut student, &mut session, &training)?;
    let clock = clock.into_inner().expect("no panic");
    match clock.problem {
        Some(problem) => Err(problem.into()),
        None => Ok(clock.steps),
    }
}

/// Takes the time of the parts that no metric tells apart.
#[derive(Default)]
struct Clock {
    steps: Vec<Parts>,
    /// When the first phase after sampling began, which is the critic's values.
    values: Option<Instant>,
    reference: Option<Instant>,
    /// The first step that was not what is to be measured.
    problem: Option<String>,
}

impl Clock {
    fn hear(&mut self, phase: Phase) {
        match phase {
            Phase::Sampling => (self.values, self.reference) = (None, None),
            Phase::Learning if self.values.is_none() => self.values = Some(Instant::now()),
            Phase::Reference if self.reference.is_none() => self.reference = Some(Instant::now()),
            _ => {}
        }
    }

    fn end(&mut self, report: &StepReport) {
        let value = |metric: Metric| report.values.get(metric.name).copied().unwrap_or(f64::NAN);
        let between = self.values.zip(self.reference);
        let values =
            between.map_or(f64::NAN, |(values, reference)| (reference - values).as_secs_f64());
        self.steps.push(BTreeMap::from([
            (STEP.to_owned(), report.took.as_secs_f64()),
            ("sampling_s".to_owned(), value(metric::TIME_SAMPLING_S)),
            ("values_s".to_owned(), values),
            // With advantages, which take a few milliseconds.
            ("reference_s".to_owned(), value(metric::TIME_REFERENCE_S) - values),
            ("learning_s".to_owned(), value(metric::TIME_LEARNING_S)),
        ]));
        let expected = [
            (metric::ROLLOUT_MEAN_TOKENS, f64::from(COMPLETION_TOKENS)),
            (metric::PPO_UPDATES, f64::from(EPOCHS * BATCH.div_ceil(MINI_BATCH))),
            (metric::TRAIN_SKIPPED_UPDATES, 0.0),
        ];
        for (metric, expected) in expected {
            let found = value(metric);
            if (found - expected).abs() > 1e-9 || found.is_nan() {
                let problem = format!("{} is {found} instead of {expected}", metric.name);
                self.problem.get_or_insert(problem);
            }
        }
    }
}

/// Tasks of which the names alone are used.
fn tasks(prompts: &Prompts) -> Result<Vec<Task>, Box<dyn Error>> {
    let made = whetstone_data::embedded::generate(Seed::new(1), prompts.names.len());
    let mut tasks: Vec<Task> = made.into_iter().map(|made| made.task).collect();
    for (task, name) in tasks.iter_mut().zip(&prompts.names) {
        task.id = name.clone().try_into()?;
    }
    Ok(tasks)
}

fn config(model: &Path) -> Config {
    let mut config = Config::default();
    config.student.model_name = model.display().to_string();
    (config.lora.rank, config.lora.alpha) = (RANK, ALPHA);
    let training = &mut config.training;
    training.max_length = 256;
    training.max_steps = STEPS;
    training.per_device_train_batch_size = 16;
    training.save_steps = 0;
    let ppo = &mut config.ppo;
    ppo.critic = Critic::Adapter;
    (ppo.batch_size, ppo.mini_batch_size, ppo.ppo_epochs) = (BATCH, MINI_BATCH, EPOCHS);
    ppo.num_samples_per_prompt = 1;
    ppo.max_completion_length = COMPLETION_TOKENS;
    ppo.learning_rate = LEARNING_RATE;
    (ppo.lr_scheduler_type, ppo.warmup_ratio) = (LrScheduler::Linear, 0.0);
    ppo.kl_coef = KL_COEF;
    // As TRL's: a token is a step, values are clipped, no update is left out.
    (ppo.discount_by, ppo.gamma, ppo.gae_lambda) = (DiscountBy::Token, 1.0, 0.95);
    (ppo.value_clip_range, ppo.value_loss_coef) = (0.2, 0.1);
    (ppo.target_kl, ppo.kl_patience) = (0.0, 0);
    config
}
