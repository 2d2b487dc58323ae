//! A tiny student, tasks, an environment that pays for any text by a rule, and runs of both loops.
// size: what every test of the loops starts from, read from top to bottom

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};

use tempfile::TempDir;
use whetstone_core::config::Config;
use whetstone_core::extract::Reply;
use whetstone_core::judgement::Infrastructure;
use whetstone_core::message::Message;
use whetstone_core::metric;
use whetstone_core::reward::{Reward, Term};
use whetstone_core::seed::Seed;
use whetstone_core::task::Task;
use whetstone_core::wire::Wire;
use whetstone_env::environment::{EnvError, Environment, Episode, Next, Outcome};
use whetstone_env::registry::ENVIRONMENTS;
use whetstone_infer::Limits;
use whetstone_kernels::Device;
use whetstone_model::create::{Recipe, Sizes, SystemMessages, create};
use whetstone_model::decoder::{Decoder, LoadOptions, WeightFormat};
use whetstone_model::open;
use whetstone_model::tokenizer::{LEAST_TOKENS, Trainer};
use whetstone_model::weights::Dtype;
use whetstone_record::event::Event;
use whetstone_record::run_dir::RunDir;
use whetstone_train::TaskWithTraces;
use whetstone_train::grpo::{self, Grpo, grpo};
use whetstone_train::ppo::{self, Ppo, ppo};
use whetstone_train::recorded::Recorded;
use whetstone_train::session::{RunLocation, RunStart, Session};
use whetstone_train::sft::{self, Sft, sft};
use whetstone_train::teacher::TokenTeacher;
use whetstone_train::watch::{Ended, Watch};
use whetstone_train::watchdog::Watchdog;
use whetstone_train::{Example, Student, TrainError};

/// The length of the tiny student's context.
const POSITIONS: usize = 128;

/// What a reply is worth, by the task's name; 1 passes.
pub(crate) type Worth = dyn Fn(&str, &str) -> Result<f64, Infrastructure> + Send + Sync;

/// What looks at replies.
pub(crate) type Replied = dyn Fn(Reply<'_>) + Send + Sync;

/// A folder with a model, tasks, and a place for runs.
pub(crate) struct School {
    pub(crate) dir: TempDir,
    pub(crate) config: Config,
    pub(crate) tasks: Vec<Task>,
    /// The rows of each task.
    pub(crate) rows: Vec<Vec<Example>>,
    /// Tasks to measure by.
    pub(crate) held_out: Vec<Task>,
    pub(crate) worth: Arc<Worth>,
    /// The environment in the place of the one that pays by `worth`.
    pub(crate) environment: Option<Box<dyn Environment>>,
    /// Told every reply as the environment gets it.
    pub(crate) replied: Arc<Replied>,
    pub(crate) threads: usize,
    /// The directory of a process reward model that pays in GRPO and PPO.
    pub(crate) process_model: Option<PathBuf>,
    /// The teacher of distillation.
    pub(crate) teacher: Option<Box<dyn TokenTeacher>>,
    /// What computes instead of the CPU.
    pub(crate) gpu: Option<Device>,
}

impl School {
    /// Eight tasks, and settings under which a step takes a moment.
    pub(crate) fn new() -> Self {
        Self::with_model(5)
    }

    /// The same with the model of another seed.
    pub(crate) fn with_model(seed: u64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        model(&dir.path().join("model"), seed);
        let tasks: Vec<Task> = (0..8).map(|at| task(&format!("t/{at}"))).collect();
        let rows = (0..8).map(|at| vec![row(at), row(at + 8)]).collect();
        let worth = Arc::new(|_: &str, reply: &str| Ok(parity(reply)));
        Self {
            dir,
            config: settings(),
            tasks,
            rows,
            held_out: Vec::new(),
            worth,
            environment: None,
            replied: Arc::new(|_| ()),
            threads: 1,
            process_model: None,
            teacher: None,
            gpu: None,
        }
    }

    pub(crate) fn student(&self, checkpoint: Option<&Path>) -> Result<Student, TrainError> {
        let cpu = || Device::cpu(self.threads).unwrap();
        let device = self.gpu.clone().unwrap_or_else(cpu);
        Student::open(&self.dir.path().join("model"), &device, &self.config, checkpoint)
    }

    /// A model as a frozen decoder.
    pub(crate) fn decoder(&self, path: &Path) -> Decoder {
        let model = open(path).unwrap();
        let options = LoadOptions { weights: WeightFormat::Frozen, positions: POSITIONS };
        let device = Device::cpu(self.threads).unwrap();
        Decoder::load(&device, &model.config, model.weights.as_ref(), options).unwrap()
    }

    fn place<'a>(&'a self, name: &'a str) -> RunLocation<'a> {
        RunLocation { root: self.dir.path(), name }
    }

    pub(crate) fn create(&self, name: &str, stage: &'static str) -> Session {
        Session::create(
            self.place(name),
            stage,
            RunStart { config: &self.config, config_text: "", command: "whet train" },
        )
        .unwrap()
    }

    pub(crate) fn resume(
        &self,
        name: &str,
        stage: &'static str,
    ) -> Result<(Session, Option<PathBuf>), TrainError> {
        Session::resume(self.place(name), stage, &self.config)
    }

    /// Trains in a new run.
    pub(crate) fn grpo(&self, name: &str) -> Result<Ended, TrainError> {
        self.grpo_on(self.create(name, grpo::STAGE), None, nobody())
    }

    /// Goes on with a run.
    pub(crate) fn grpo_again(&self, name: &str) -> Result<Ended, TrainError> {
        let (session, checkpoint) = self.resume(name, grpo::STAGE)?;
        self.grpo_on(session, checkpoint.as_deref(), nobody())
    }

    /// Trains in a run, with whoever looks on.
    pub(crate) fn grpo_on(
        &self,
        mut session: Session,
        checkpoint: Option<&Path>,
        watch: Watch<'_>,
    ) -> Result<Ended, TrainError> {
        let mut student = self.student(checkpoint)?;
        let tasks: Vec<TaskWithTraces<'_>> = self
            .tasks
            .iter()
            .zip(&self.rows)
            .map(|(task, rows)| TaskWithTraces { task, rows })
            .collect();
        let pays = Pays { worth: Arc::clone(&self.worth), replied: Arc::clone(&self.replied) };
        let training = Grpo {
            reward_model: None,
            process_model: self.process_model.as_deref(),
            teacher: self.teacher.as_deref(),
            config: &self.config,
            source: grpo::Source::Tasks(&tasks),
            held_out: &self.held_out,
            environment: self.environment.as_deref().unwrap_or(&pays),
            judges: 2,
            limits: Limits::default(),
            checkpoint,
            watch,
        };
        grpo(&mut student, &mut session, &training)
    }

    /// Learns from a file of rollouts in a run, with whoever looks on.
    pub(crate) fn recorded_on(
        &self,
        mut session: Session,
        checkpoint: Option<&Path>,
        file: &Path,
        watch: Watch<'_>,
    ) -> Result<Ended, TrainError> {
        let mut student = self.student(checkpoint)?;
        let recorded = Recorded::read(file, &student, &self.config, &self.tasks)?;
        let training = Grpo {
            reward_model: None,
            process_model: None,
            teacher: self.teacher.as_deref(),
            config: &self.config,
            source: grpo::Source::Recorded(&recorded),
            held_out: &[],
            environment: &Pays {
                worth: Arc::clone(&self.worth),
                replied: Arc::clone(&self.replied),
            },
            judges: 1,
            limits: Limits::default(),
            checkpoint,
            watch,
        };
        grpo(&mut student, &mut session, &training)
    }

    /// Learns all rows by heart, in a new run.
    pub(crate) fn sft(&self, name: &str) -> Result<Ended, TrainError> {
        self.sft_on(self.create(name, sft::STAGE), None)
    }

    pub(crate) fn sft_on(
        &self,
        mut session: Session,
        checkpoint: Option<&Path>,
    ) -> Result<Ended, TrainError> {
        let mut student = self.student(checkpoint)?;
        let rows = self.rows.concat();
        let training = Sft { config: &self.config, rows: &rows, checkpoint, watch: nobody() };
        sft(&mut student, &mut session, &training)
    }

    /// A file of a run.
    pub(crate) fn path(&self, run: &str, file: &str) -> PathBuf {
        self.dir.path().join(run).join(file)
    }

    /// Everything of a directory of a run and of its folders, by path, but model cards: a card has the settings and
    /// the input files, in which runs that learn the same may differ. Cards of resumed runs are compared where
    /// `whet` is killed.
    pub(crate) fn files(&self, run: &str, dir: &str) -> BTreeMap<String, Vec<u8>> {
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(self.path(run, dir)).unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            if entry.file_type().unwrap().is_dir() {
                let inner = self.files(run, &format!("{dir}/{name}"));
                files.extend(inner.into_iter().map(|(of, bytes)| (format!("{name}/{of}"), bytes)));
            } else if name != "README.md" {
                files.insert(name, fs::read(entry.path()).unwrap());
            }
        }
        files
    }

    /// Trains with PPO in a new run, from an adapter and with a reward model if there are any.
    pub(crate) fn ppo(&self, name: &str, models: PpoModels<'_>) -> Result<Ended, TrainError> {
        self.ppo_on(self.create(name, ppo::STAGE), None, models, nobody())
    }

    /// Goes on with a run of PPO.
    pub(crate) fn ppo_again(&self, name: &str, models: PpoModels<'_>) -> Result<Ended, TrainError> {
        let (session, checkpoint) = self.resume(name, ppo::STAGE)?;
        self.ppo_on(session, checkpoint.as_deref(), models, nobody())
    }

    /// Trains with PPO in a run, with whoever looks on.
    pub(crate) fn ppo_on(
        &self,
        mut session: Session,
        checkpoint: Option<&Path>,
        models: PpoModels<'_>,
        watch: Watch<'_>,
    ) -> Result<Ended, TrainError> {
        let mut student = self.student(checkpoint.or(models.initial))?;
        let pays = Pays { worth: Arc::clone(&self.worth), replied: Arc::clone(&self.replied) };
        let training = Ppo {
            config: &self.config,
            tasks: &self.tasks,
            held_out: &self.held_out,
            environment: self.environment.as_deref().unwrap_or(&pays),
            judges: 2,
            limits: Limits::default(),
            initial: models.initial,
            reward_model: models.reward_model,
            process_model: self.process_model.as_deref(),
            checkpoint,
            watch,
        };
        ppo(&mut student, &mut session, &training)
    }

    /// The events of a run.
    pub(crate) fn events(&self, run: &str) -> Vec<Event> {
        let view = RunDir::open_read_only(self.dir.path(), run).unwrap();
        view.events().unwrap().map(|event| event.unwrap().1.event).collect()
    }

    /// The measurements of every step, in the order in which they are recorded. Each has its name in the
    /// table of metrics, or that of an environment.
    pub(crate) fn metrics(&self, run: &str) -> Vec<(u64, BTreeMap<String, f64>)> {
        let of_environment = |name: &str| {
            let kind = name.split_once('/').map(|(kind, _)| kind);
            ENVIRONMENTS.iter().any(|known| Some(known.kind) == kind)
        };
        let is_known = |name: &String| {
            metric::find(name).is_some()
                || name.starts_with(metric::REWARD_TERMS)
                || name.starts_with(metric::REWARD_TERMS_OF_FAILING)
                || of_environment(name)
        };
        let of = |event| match event {
            Event::Metrics { step, values, .. } => {
                assert!(values.keys().all(is_known), "{values:?}");
                Some((step, values))
            }
            _ => None,
        };
        self.events(run).into_iter().filter_map(of).collect()
    }
}

/// The directories that a training with PPO begins with.
#[derive(Clone, Copy, Default)]
pub(crate) struct PpoModels<'a> {
    pub(crate) initial: Option<&'a Path>,
    pub(crate) reward_model: Option<&'a Path>,
}

/// Nobody looks on, and nobody stops anything.
pub(crate) fn nobody() -> Watch<'static> {
    static NEVER: AtomicBool = AtomicBool::new(false);
    static ASLEEP: LazyLock<Watchdog<'static>> = LazyLock::new(|| Watchdog::new(0, &|_| ()));
    Watch { on_phase: &|_, _| (), on_step: &|_| (), on_alarm: &|_| (), stop: &NEVER, dog: &ASLEEP }
}

/// Pays for a reply by a rule.
struct Pays {
    worth: Arc<Worth>,
    replied: Arc<Replied>,
}

struct Paid {
    worth: Arc<Worth>,
    replied: Arc<Replied>,
    task: String,
    messages: Vec<Message>,
}

impl Environment for Pays {
    fn max_turns(&self, _: &Task) -> usize {
        1
    }

    fn open(&self, task: &Task, _: Seed) -> Result<Box<dyn Episode>, EnvError> {
        let (worth, replied) = (Arc::clone(&self.worth), Arc::clone(&self.replied));
        let task = task.id.to_string();
        let messages = vec![Message::user(&task)];
        Ok(Box::new(Paid { worth, replied, task, messages }))
    }
}

impl Episode for Paid {
    fn messages(&self) -> &[Message] {
        &self.messages
    }

    fn reply(&mut self, reply: Reply<'_>) -> Result<Next, EnvError> {
        (self.replied)(reply);
        Ok(Next::Done(outcome((self.worth)(&self.task, reply.text)?)))
    }

    fn cut_short(&mut self) -> Result<Outcome, EnvError> {
        Err(EnvError::Over)
    }
}

/// What is worth so much: it is solved if that is 1.
fn outcome(worth: f64) -> Outcome {
    let term = Term { value: worth, weight: 1.0 };
    let terms = BTreeMap::from([("tests".to_owned(), term)]);
    Outcome::observed("pays", worth >= 1.0, Reward::new(terms, BTreeMap::new()).unwrap())
}

/// 1 for a text of an even number of characters, else 0.
pub(crate) fn parity(reply: &str) -> f64 {
    if reply.chars().count().is_multiple_of(2) { 1.0 } else { 0.0 }
}

/// A task with this name.
pub(crate) fn task(id: &str) -> Task {
    let line = format!(
        r#"{{"id":"{id}","statement":"{id}","tests":{{"kind":"asserts","hidden":["a","b"]}}}}"#
    );
    Task::from_object(serde_json::from_str(&line).unwrap()).unwrap()
}

/// A row of some letters, of any length.
fn row(at: u32) -> Example {
    let prompt: Vec<u32> = (0..5 + at % 4).map(|n| 70 + (at * 7 + n * 3) % 20).collect();
    let response: Vec<u32> = (0..3 + at % 7).map(|n| 65 + (at * 5 + n * 11) % 26).collect();
    Example::new(&prompt, &response)
}

/// Groups of four for four tasks, two steps of which are one epoch.
fn settings() -> Config {
    let mut config = Config::default();
    config.lora.rank = 4;
    config.lora.alpha = 8.0;
    config.grpo.max_completion_length = 10;
    config.training.max_length = 64;
    config.training.max_steps = 3;
    config.training.learning_rate = 1e-2;
    config.training.save_steps = 0;
    config.ppo.max_completion_length = 10;
    config.ppo.batch_size = 16;
    config.ppo.mini_batch_size = 4;
    config.ppo.ppo_epochs = 2;
    config.ppo.learning_rate = 1e-3;
    config
}

/// Writes a tiny model: bytes are its tokens.
fn model(to: &Path, seed: u64) {
    let mut trainer = Trainer::new().unwrap();
    trainer.add("user assistant").unwrap();
    let tokenizer = trainer.train(LEAST_TOKENS).unwrap();
    let sizes =
        Sizes { width: 16, layers: 2, heads: 2, kv_heads: 1, ffn: 24, positions: POSITIONS };
    let recipe = Recipe { sizes, seed, dtype: Dtype::F32, system: SystemMessages::Kept };
    create(&Device::cpu(1).unwrap(), &tokenizer, &recipe, to).unwrap();
}
