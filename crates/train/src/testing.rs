//! Rollouts and a tiny student, for tests of this crate.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;
use whetstone_core::completion::{Completion, Finish, SampledTokens};
use whetstone_core::config::Config;
use whetstone_core::judgement::{Counts, Held, Infrastructure, Isolation, Judgement};
use whetstone_core::reward::{Reward, Term};
use whetstone_core::task::{Task, TaskId};
use whetstone_core::verdict::Verdict;
use whetstone_core::wire::Wire;
use whetstone_env::environment::Outcome;
use whetstone_kernels::Device;
use whetstone_model::create::{Recipe, Sizes, SystemMessages, create};
use whetstone_model::tokenizer::{LEAST_TOKENS, Trainer};
use whetstone_model::weights::Dtype;
use whetstone_rollout::collect::{Dropped, End, Group, Rollout, Turn};

use crate::student::Student;

/// A task, of some difficulty.
pub(crate) fn task(id: &str, difficulty: &str) -> Task {
    let line = format!(
        r#"{{"id":"{id}","statement":"s","difficulty":"{difficulty}","tests":{{"kind":"asserts","hidden":["a"]}}}}"#
    );
    Task::from_object(serde_json::from_str(&line).unwrap()).unwrap()
}

/// A rollout that said these tokens after the prompt `[1, 2]`: 1 passes both tests, less none.
pub(crate) fn rollout(sample: usize, ids: &[u32], worth: f64) -> Rollout {
    let verdict = if worth >= 1.0 { Verdict::Pass } else { Verdict::Wrong { test: 0 } };
    rollout_as(sample, Said { ids, finish: Finish::Stop, verdict, worth })
}

/// What a rollout said, how it ended and what it was found to be.
pub(crate) struct Said<'a> {
    pub(crate) ids: &'a [u32],
    pub(crate) finish: Finish,
    pub(crate) verdict: Verdict,
    pub(crate) worth: f64,
}

/// A rollout after the prompt `[1, 2]`.
pub(crate) fn rollout_as(sample: usize, said: Said<'_>) -> Rollout {
    let Said { ids, finish, verdict, worth } = said;
    let tokens = SampledTokens::new(ids.to_vec(), vec![-0.5; ids.len()]).unwrap();
    let completion =
        Completion { text: format!("{ids:?}"), reasoning: None, finish, tokens: Some(tokens) };
    let turn = Turn { prompt: Arc::from([1, 2]), asked: Arc::from([]), completion };
    let held = Held { cpu_ms: 1.0, isolation: Isolation::Full };
    let passed = if verdict.is_pass() { 2 } else { 0 };
    let judgement = match verdict {
        Verdict::NoCode | Verdict::SyntaxError => Judgement::of_reply(verdict, 2).unwrap(),
        verdict => Judgement::of_run(verdict, Counts { passed, total: 2 }, held).unwrap(),
    };
    let terms = BTreeMap::from([("tests".to_owned(), Term { value: worth, weight: 1.0 })]);
    let reward = Reward::new(terms, BTreeMap::new()).unwrap();
    Rollout {
        sample,
        turns: vec![turn],
        outcome: Outcome::of_program(judgement, reward),
        end: End::Done,
    }
}

/// A group of rollouts of a task.
pub(crate) fn group(task: &str, rollouts: Vec<Rollout>) -> Group {
    Group { task: TaskId::try_from(task.to_owned()).unwrap(), rollouts, dropped: Vec::new() }
}

/// A rollout that could not be judged.
pub(crate) fn dropped(sample: usize) -> Dropped {
    Dropped { sample, turns: Vec::new(), reason: Infrastructure("broken".to_owned()) }
}

/// A student of a few numbers, and where it is.
pub(crate) fn student(config: &Config) -> (TempDir, Student) {
    let dir = tempfile::tempdir().unwrap();
    let student = student_in(&dir.path().join("model"), config);
    (dir, student)
}

fn student_in(path: &Path, config: &Config) -> Student {
    let device = Device::cpu(1).unwrap();
    let mut trainer = Trainer::new().unwrap();
    trainer.add("user assistant").unwrap();
    let tokenizer = trainer.train(LEAST_TOKENS).unwrap();
    let sizes = Sizes { width: 8, layers: 1, heads: 2, kv_heads: 1, ffn: 8, positions: 32 };
    let recipe = Recipe { sizes, seed: 3, dtype: Dtype::F32, system: SystemMessages::Kept };
    create(&device, &tokenizer, &recipe, path).unwrap();
    Student::open(path, &device, config, None).unwrap()
}

/// Settings that fit it.
pub(crate) fn settings() -> Config {
    let mut config = Config::default();
    config.lora.rank = 2;
    config.training.max_length = 32;
    config
}
