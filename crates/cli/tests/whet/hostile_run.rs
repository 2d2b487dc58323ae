//! A run whose every text is hostile: a model says what it likes, and so may a file.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use whetstone_record::event::{Event, Outcome, TimedEvent};
use whetstone_record::journal::Journal;
use whetstone_record::run_dir::RunDir;

/// Runs as soon as anything treats it as markup.
pub(crate) const MARKUP: &str = "</script><script>window.owned = 1</script>\
    <img src=\"http://127.0.0.1:9/x\" onerror=\"window.owned = 2\"><svg onload=\"window.owned = 3\">\
    <iframe src=\"javascript:parent.owned = 4\"></iframe>]]>--><style>*{display:none}</style>";

/// Colours a terminal, names its window, moves its cursor; then turns text around and hides some.
pub(crate) const ESCAPES: &str =
    "\u{1b}[31mred\u{1b}]0;owned\u{7}\u{1b}[2J\u{8}\u{9b}31m\u{0}\u{202e}desrever\u{202c}\u{200b}";

/// What the four samples say: markup, escapes, what broken UTF-8 becomes, and a line of a megabyte.
pub(crate) fn texts() -> [String; 4] {
    let broken = String::from_utf8_lossy(b"\xff\xfe\xc0\x80 \xed\xa0\x80 caf\xe9").into_owned();
    [MARKUP.to_owned(), ESCAPES.to_owned(), broken, "x".repeat(1 << 20)]
}

/// Makes the run in `dir`, with its tasks.
pub(crate) fn hostile_run(dir: &Path) -> PathBuf {
    let config = format!("# {MARKUP}\n");
    let mut run = RunDir::create(dir, "hostile", &config, 1).expect("a run");
    let (command, version) = (MARKUP.to_owned(), ESCAPES.to_owned());
    let values = BTreeMap::from([(MARKUP.to_owned(), 1.0), ("grpo/entropy".to_owned(), f64::NAN)]);
    let events = [
        Event::RunStarted { command, version, seed: 1 },
        Event::Metrics { stage: MARKUP.to_owned(), step: 1, values },
        Event::Warning { code: MARKUP.to_owned(), message: ESCAPES.to_owned() },
        Event::RunFinished { outcome: Outcome::Failed, message: MARKUP.to_owned() },
    ];
    for event in events {
        run.append_event(&TimedEvent { time_ms: 1, event }).expect("an event");
    }
    let journal = run.view().rollouts_dir().join("rollouts.jsonl");
    let (mut journal, _) = Journal::open(&journal).expect("a journal");
    for (sample, text) in texts().iter().enumerate() {
        journal.append(&line(sample, text)).expect("a line");
    }
    let task = json!({"id": task_id(), "statement": MARKUP,
        "tests": {"kind": "asserts", "visible": [MARKUP], "hidden": [MARKUP, ESCAPES]}});
    fs::write(run.view().dir().join("train.jsonl"), task.to_string()).expect("a file");
    run.view().dir().to_owned()
}

fn task_id() -> &'static str {
    &MARKUP[..120]
}

fn line(sample: usize, text: &str) -> Value {
    let validation = json!({"verdict": "raised", "test": 1, "kind": MARKUP, "tests_passed": 1,
        "tests_total": 2, "cpu_ms": 1.0, "isolation": "full"});
    json!({
        "step": 1, "prompt_id": task_id(), "group_id": sample, "text": text,
        "meta": {"tokens": 3, "finish": MARKUP, "turns": [{"text": MARKUP}]},
        "validation": validation, "advantage": 0.0,
        "reward": {"total": 0.0, "terms": {MARKUP: 0.0}, "gates": {ESCAPES: {"passed": false, "cap": 0.0}}},
    })
}
