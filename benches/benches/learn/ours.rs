//! Our side of GRPO: a random model, a trivial reward or a real program for each completion, and the loop
//! that `whet train grpo` runs.

use std::error::Error;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use whetstone_core::config::{Config, LrScheduler, Trained};
use whetstone_core::seed::Seed;
use whetstone_core::task::Task;
use whetstone_infer::Limits;
use whetstone_kernels::Device;
use whetstone_sandbox::{Judge, Options};
use whetstone_train::Student;
use whetstone_train::TaskWithTraces;
use whetstone_train::grpo::{Grpo, STAGE, Source, grpo};
use whetstone_train::session::{RunLocation, RunStart, Session};
use whetstone_train::watch::{StepReport, Watch};
use whetstone_train::watchdog::Watchdog;

use crate::letters::Letters;
use crate::model;

const STEPS: u32 = 6;

/// Seconds of every step.
pub(crate) fn steps(tokenizer: &Path, judged: bool) -> Result<Vec<f64>, Box<dyn Error>> {
    let command = vec!["/proc/self/exe".to_owned(), super::JUDGE.to_owned()];
    let judge = if judged { Some(Judge::start(&Options::new(command))?) } else { None };
    let dir = tempfile::tempdir()?;
    let device = Device::cpu(model::THREADS)?;
    let path = dir.path().join("model");
    model::write(&device, &model::shape(Some(2)), tokenizer, &path)?;
    let config = config(&path);
    let mut student = Student::open(&path, &device, &config, None)?;
    let place = RunLocation { root: dir.path(), name: "run" };
    let mut session = Session::create(
        place,
        STAGE,
        RunStart { config: &config, config_text: "", command: "bench" },
    )?;
    let programs = whetstone_data::embedded::generate(Seed::new(1), 64);
    // Called by their numbers, which end the prompts as they end the peer's.
    let mut tasks: Vec<Task> = programs.into_iter().map(|made| made.task).collect();
    for (at, task) in tasks.iter_mut().enumerate() {
        task.id = at.to_string().try_into()?;
    }
    let environment = Letters { judge: judge.map(Arc::new) };
    let with_traces: Vec<TaskWithTraces<'_>> =
        tasks.iter().map(|task| TaskWithTraces { task, rows: &[] }).collect();
    let took = Mutex::new(Vec::new());
    let stop = AtomicBool::new(false);
    let on_step = |report: &StepReport| {
        took.lock().expect("no panic").push(report.took.as_secs_f64());
    };
    grpo(
        &mut student,
        &mut session,
        &Grpo {
            reward_model: None,
            process_model: None,
            teacher: None,
            config: &config,
            source: Source::Tasks(&with_traces),
            held_out: &[],
            environment: &environment,
            judges: 4,
            limits: Limits::default(),
            checkpoint: None,
            watch: Watch {
                on_phase: &|_, _| (),
                on_step: &on_step,
                on_alarm: &|_| (),
                stop: &stop,
                dog: &Watchdog::new(0, &|_| ()),
            },
        },
    )?;
    Ok(took.into_inner().expect("no panic"))
}

/// 8 tasks, 8 completions each, at most 128 tokens; no reference, every weight trained.
fn config(model: &Path) -> Config {
    let mut config = Config::default();
    config.student.model_name = model.display().to_string();
    config.grpo.kl_coef = 0.0;
    config.grpo.num_samples_per_prompt = 8;
    config.grpo.max_completion_length = 128;
    config.dual_source.teacher_sft_weight = 0.0;
    config.dual_source.self_sft_weight = 0.0;
    config.training.train = Trained::Full;
    config.training.learning_rate = 1e-4;
    config.training.lr_scheduler_type = LrScheduler::Constant;
    config.training.warmup_ratio = 0.0;
    config.training.max_length = 1024;
    config.training.max_steps = STEPS;
    config.training.per_device_train_batch_size = 16;
    config.training.gradient_accumulation_steps = 4;
    config.training.save_steps = 0;
    config
}
