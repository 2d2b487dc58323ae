//! A run that a test lets grow, step by step, as a training would.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use whetstone_record::event::{Event, Outcome, TimedEvent, now_ms};
use whetstone_record::journal::Journal;
use whetstone_record::run_dir::RunDir;

/// What is asked in every step.
const TASKS: [&str; 2] = ["x/0", "x/1"];

/// A run that is being written.
pub(crate) struct GrowingRun {
    run: RunDir,
    rollouts: Journal,
}

impl GrowingRun {
    /// Begins a run of two tasks. It has no step yet, and no journal of rollouts with anything in it.
    pub(crate) fn begin(root: &Path, name: &str) -> Self {
        let run = RunDir::create(root, name, "seed = 1\n", now_ms()).expect("a run");
        let tasks = TASKS.map(|id| {
            let tests = json!({"kind": "asserts", "visible": [], "hidden": ["assert f(1) == 2"]});
            json!({"id": id, "statement": format!("Solve {id}."), "tests": tests}).to_string()
        });
        std::fs::write(run.view().dir().join("train.jsonl"), tasks.join("\n")).expect("a file");
        let path = run.view().rollouts_dir().join("rollouts.jsonl");
        let (rollouts, _) = Journal::open(&path).expect("a journal");
        let mut new = Self { run, rollouts };
        let (command, version) = ("whet".to_owned(), "0".to_owned());
        new.happens(Event::RunStarted { command, version, seed: 1 });
        new
    }

    /// Records an event.
    pub(crate) fn happens(&mut self, event: Event) {
        self.run.append_event(&TimedEvent { time_ms: now_ms(), event }).expect("an event");
    }

    /// Records one completion.
    pub(crate) fn says(&mut self, step: u64, task: usize, sample: u64, text: &str) {
        self.rollouts.append(&line(step, TASKS[task], sample, text)).expect("a line");
    }

    /// Records a step: two samples of each task, all of which say the same, and what was measured.
    pub(crate) fn steps(&mut self, step: u64, text: &str) {
        for task in 0..TASKS.len() {
            for sample in 0..2 {
                self.says(step, task, sample, text);
            }
        }
        self.measures(step);
    }

    /// Records what was measured in a step.
    pub(crate) fn measures(&mut self, step: u64) {
        let reward = f64::from(u32::try_from(step).expect("few steps")) / 10.0;
        let values = BTreeMap::from([("grpo/mean_reward".to_owned(), reward)]);
        self.happens(Event::Metrics { stage: "grpo".to_owned(), step, values });
    }

    /// Ends the run.
    pub(crate) fn ends(mut self) {
        let (outcome, message) = (Outcome::Completed, String::new());
        self.happens(Event::RunFinished { outcome, message });
    }
}

/// The first sample of a task passes, the others do not.
fn line(step: u64, task: &str, sample: u64, text: &str) -> Value {
    let passes = sample == 0;
    let verdict = if passes {
        json!({"verdict": "pass", "tests_passed": 1, "tests_total": 1, "cpu_ms": 1.0, "isolation": "full"})
    } else {
        json!({"verdict": "wrong", "test": 0, "tests_passed": 0, "tests_total": 1, "cpu_ms": 1.0, "isolation": "full"})
    };
    let total = if passes { 1.0 } else { 0.0 };
    json!({
        "step": step, "prompt_id": task, "group_id": sample, "text": text, "meta": {"tokens": 3},
        "validation": verdict, "advantage": total - 0.5,
        "reward": {"total": total, "terms": {"tests": total}, "gates": {}},
    })
}
