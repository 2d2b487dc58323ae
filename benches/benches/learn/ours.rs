//! Our side: a random model, a trivial reward or a real program for each completion, and the loop that
//! `whet train grpo` runs.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value};
use whetstone_core::config::{Config, LrScheduler, Trained};
use whetstone_core::extract::Reply;
use whetstone_core::judgement::{Infrastructure, Judgement};
use whetstone_core::message::Message;
use whetstone_core::program::{Language, Program};
use whetstone_core::reward::{Reward, Term};
use whetstone_core::seed::Seed;
use whetstone_core::task::Task;
use whetstone_env::environment::{EnvError, Environment, Episode, Next, Outcome};
use whetstone_infer::Limits;
use whetstone_kernels::Device;
use whetstone_model::config::Config as Shape;
use whetstone_model::decoder::Decoder;
use whetstone_model::{ExportOptions, Tokenizer};
use whetstone_sandbox::job::{Job, Judging, Limits as JobLimits};
use whetstone_sandbox::{Judge, Options};
use whetstone_train::Student;
use whetstone_train::TaskWithTraces;
use whetstone_train::grpo::{Grpo, STAGE, Source, grpo};
use whetstone_train::session::{RunLocation, RunStart, Session};
use whetstone_train::watch::{StepReport, Watch};
use whetstone_train::watchdog::Watchdog;

const STEPS: u32 = 6;
const THREADS: usize = 2;
const TEMPLATE: &str = "{{ messages[0]['content'] }}";
const CONFIG: &str = r#"{"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "vocab_size": 6400,
    "hidden_size": 256, "intermediate_size": 768, "num_hidden_layers": 6, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 64, "tie_word_embeddings": true, "hidden_act": "silu",
    "max_position_embeddings": 1024, "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "eos_token_id": 2}"#;

/// Seconds of every step.
pub(crate) fn steps(tokenizer: &Path, judged: bool) -> Result<Vec<f64>, Box<dyn Error>> {
    let command = vec!["/proc/self/exe".to_owned(), super::JUDGE.to_owned()];
    let judge = if judged { Some(Judge::start(&Options::new(command))?) } else { None };
    let dir = tempfile::tempdir()?;
    let device = Device::cpu(THREADS)?;
    let model = dir.path().join("model");
    make(&device, tokenizer, &model)?;
    let config = config(&model);
    let mut student = Student::open(&model, &device, &config, None)?;
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

/// Writes the model that the peer makes.
fn make(device: &Device, tokenizer: &Path, to: &Path) -> Result<(), Box<dyn Error>> {
    let tokenizer = Tokenizer::from_file(tokenizer)?;
    let object: Map<String, Value> = serde_json::from_str(CONFIG)?;
    let shape = Shape::from_object(Path::new("config.json"), &object)?;
    let decoder = Decoder::new(device, &shape, 1, 1024);
    Ok(decoder.export_new(&tokenizer, Some(TEMPLATE), to, ExportOptions::default())?)
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

/// Pays for the letters of a reply; with a judge, runs a program for each.
struct Letters {
    judge: Option<Arc<Judge>>,
}

struct Reading {
    judge: Option<Arc<Judge>>,
    task: Task,
    messages: Vec<Message>,
}

impl Environment for Letters {
    fn max_turns(&self, _: &Task) -> usize {
        1
    }

    fn open(&self, task: &Task, _seed: Seed) -> Result<Box<dyn Episode>, EnvError> {
        let ask = "Write a python function that returns the sum of the squares of the even numbers in \
                   a list. ";
        let messages = vec![Message::user(format!("{}{}", ask.repeat(2), task.id))];
        Ok(Box::new(Reading { judge: self.judge.clone(), task: task.clone(), messages }))
    }
}

impl Reading {
    /// The task's own reference stands for what a student would have written; none without a judge.
    fn judged(&self) -> Result<Option<Judgement>, EnvError> {
        let Some(judge) = &self.judge else { return Ok(None) };
        let source = self.task.reference.clone().unwrap_or_default();
        let program = Program { language: Language::Python, source, truncated: false };
        let (setup, tests) = (&self.task.setup, &self.task.tests);
        let job = Job { program: &program, setup, tests, limits: JobLimits::default() };
        Ok(Some(judge.judge(job).map_err(Infrastructure::from)?))
    }
}

impl Episode for Reading {
    fn messages(&self) -> &[Message] {
        &self.messages
    }

    fn reply(&mut self, reply: Reply<'_>) -> Result<Next, EnvError> {
        let text = reply.text;
        let judgement = self.judged()?;
        let letters = text.chars().collect::<BTreeSet<char>>().len() % 7;
        let value = f64::from(u8::try_from(letters).unwrap_or(0)) / 6.0;
        let terms = BTreeMap::from([("letters".to_owned(), Term { value, weight: 1.0 })]);
        let reward = Reward::new(terms, BTreeMap::new()).expect("a number in its bounds");
        Ok(Next::Done(match judgement {
            Some(judgement) => Outcome::of_program(judgement, reward),
            None => Outcome::observed("letters", false, reward),
        }))
    }

    fn cut_short(&mut self) -> Result<Outcome, EnvError> {
        Err(EnvError::Over)
    }
}
