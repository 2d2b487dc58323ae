//! Runs for the board to show.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use whetstone_record::event::{Event, TimedEvent};
use whetstone_record::journal::Journal;
use whetstone_record::run_dir::{RunDir, RunView};

/// Text that must not be readable without access to the run.
pub(crate) const SECRET: &str = "the-secret-of-this-test";

/// A run of one step with one completion, which says the secret.
pub(crate) fn run(root: &Path, name: &str) -> RunView {
    let mut run = RunDir::create(root, name, &format!("# {SECRET}\n"), 1).unwrap();
    let values = BTreeMap::from([("grpo/mean_reward".to_owned(), 0.5)]);
    let event = Event::Metrics { stage: SECRET.to_owned(), step: 1, values };
    run.append_event(&TimedEvent { time_ms: 1, event }).unwrap();
    append(run.view());
    run.view().clone()
}

/// One completion more.
pub(crate) fn append(view: &RunView) {
    let (mut journal, _) = Journal::open(&view.rollouts_dir().join("rollouts.jsonl")).unwrap();
    journal.append(&completion()).unwrap();
}

fn completion() -> Value {
    json!({"step": 1, "prompt_id": "x", "group_id": 0, "text": SECRET, "meta": {}})
}
