//! Going on with the journal of a run that was ended early.
//!
//! A copy of the journal, taken after each line, is what a kill would have left; real kills are in
//! `kill.rs`.

use std::fs;
use std::sync::Mutex;

use crate::common::{Asked, Bench, Fake, rollout};
use whetstone_core::judgement::{Infrastructure, Judgement};
use whetstone_record::journal::Journal;
use whetstone_rollout::score::Earlier;
use whetstone_sandbox::job::{Job, Judging, Unjudged};

/// A judge that fails on every program with an even number in it.
#[derive(Clone)]
struct Flaky(Fake);

impl Judging for Flaky {
    fn judge(&self, job: Job<'_>) -> Result<Judgement, Unjudged> {
        let digit = job.program.source.chars().rfind(char::is_ascii_digit);
        if digit.is_some_and(|digit| "02468".contains(digit)) {
            return Err(Infrastructure("gone".to_owned()).into());
        }
        self.0.judge(job)
    }
}

#[test]
fn a_journal_of_another_scoring_is_named_and_forgotten_on_demand() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), &rollout(0, "a", "PASS").repeat(3));
    let journal = bench.path("out.jsonl.journal");
    let judge = Fake::default();
    // A copy of the journal is what a kill just before the end would have left.
    let copy: Mutex<Vec<u8>> = Mutex::default();
    let on_line = || *copy.lock().unwrap() = fs::read(&journal).unwrap();
    let asked = Asked { judge: Some(&judge), on_line: Some(&on_line), ..Asked::default() };
    bench.score("out.jsonl", &asked).unwrap();
    let asked = Asked { on_line: None, ..asked };
    let whole = bench.read("out.jsonl");

    fs::write(&journal, &*copy.lock().unwrap()).unwrap();
    bench.limits.memory += 1;
    fs::write(bench.path("rollouts.jsonl"), rollout(0, "a", "wrong")).unwrap();
    let err = bench.score("out.jsonl", &asked).unwrap_err();
    let message = err.to_string();
    assert!(message.ends_with("the rollouts, the limits of programs changed"), "{message}");
    assert!(err.is_usage() && err.hint().unwrap().contains("--fresh"));
    assert_eq!(bench.read("out.jsonl"), whole, "nothing was touched");

    let fresh = Asked { earlier: Earlier::Forget, ..asked };
    let report = bench.score("out.jsonl", &fresh).unwrap();
    assert_eq!((report.resumed, report.scored), (0, 1));
}

#[test]
fn a_journal_in_the_form_of_earlier_versions_is_resumed() {
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::new(dir.path(), &[rollout(0, "a", "PASS"), rollout(0, "a", "x")].concat());
    let judge = Fake::default();
    let asked = Asked { judge: Some(&judge), ..Asked::default() };
    bench.score("whole.jsonl", &asked).unwrap();
    let digest = |name: &str| blake3::hash(bench.read(name).as_bytes()).to_hex().to_string();
    let rules = serde_json::to_string(&format!("{:?}", bench.rules)).unwrap();
    let header = format!(
        r#"{{"scoring":2,"rollouts":"{}","tasks":"{}","rules":{rules},"cpu_us":5000000,"memory_bytes":536870912,"judge":{{"judge":"a stand-in","interpreter":"none","isolation":"full"}}}}"#,
        digest("rollouts.jsonl"),
        digest("tasks.jsonl"),
    );
    let whole = bench.read("whole.jsonl");
    let second: serde_json::Value = serde_json::from_str(whole.lines().nth(1).unwrap()).unwrap();
    let done = serde_json::json!({
        "line": 1, "cpu_ms": 1.93, "cached": false,
        "validation": second["validation"], "reward": second["reward"],
    });
    let failed = serde_json::json!({"line": 0, "error": "the zygote died twice"});
    let (mut journal, _) = Journal::open(&bench.path("out.jsonl.journal")).unwrap();
    let header: Box<serde_json::value::RawValue> = serde_json::from_str(&header).unwrap();
    journal.append(&header).unwrap();
    journal.append(&failed).unwrap();
    journal.append(&done).unwrap();
    drop(journal);
    let again = Fake::default();
    let report =
        bench.score("out.jsonl", &Asked { judge: Some(&again), ..Asked::default() }).unwrap();
    assert_eq!((again.calls(), report.resumed, report.scored), (1, 1, 2));
    let values = |text: &str| -> Vec<serde_json::Value> {
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    assert_eq!(values(&bench.read("out.jsonl")), values(&whole));
}

#[test]
fn a_run_ended_after_judging_only_has_to_write() {
    let dir = tempfile::tempdir().unwrap();
    let lines: Vec<_> = (0..50).map(|n| rollout(n / 5, "b", &format!("w{n}"))).collect();
    let bench = Bench::new(dir.path(), &(lines.concat() + "bad\n"));
    let journal = bench.path("out.jsonl.journal");
    let copy: Mutex<Vec<u8>> = Mutex::default();
    let on_line = || {
        let mut copy = copy.lock().unwrap();
        *copy = fs::read(&journal).unwrap();
    };
    let first = Fake::default();
    let asked = Asked { judge: Some(&first), on_line: Some(&on_line), ..Asked::default() };
    bench.score("out.jsonl", &asked).unwrap();
    let whole = bench.read("out.jsonl");
    fs::remove_file(bench.path("out.jsonl")).unwrap();
    fs::write(&journal, &*copy.lock().unwrap()).unwrap();
    let second = Fake::default();
    let report =
        bench.score("out.jsonl", &Asked { judge: Some(&second), ..Asked::default() }).unwrap();
    assert_eq!((second.calls(), report.resumed, report.scored, report.rejected), (0, 50, 50, 1));
    assert_eq!(bench.read("out.jsonl"), whole);
}

#[test]
fn lines_that_failed_are_tried_again_by_the_next_run() {
    let dir = tempfile::tempdir().unwrap();
    let lines: Vec<_> = (0..20).map(|n| rollout(0, "b", &format!("PASS {n}"))).collect();
    let bench = Bench::new(dir.path(), &lines.concat());
    let journal = bench.path("out.jsonl.journal");
    let whole = Fake::default();
    bench.score("whole.jsonl", &Asked { judge: Some(&whole), ..Asked::default() }).unwrap();

    let copy: Mutex<Vec<u8>> = Mutex::default();
    let on_line = || {
        let mut copy = copy.lock().unwrap();
        *copy = fs::read(&journal).unwrap();
    };
    // The first run loses its judge for a while.
    let broken = Flaky(Fake::default());
    let asked = Asked { judge: Some(&broken), on_line: Some(&on_line), ..Asked::default() };
    let report = bench.score("out.jsonl", &asked).unwrap();
    assert_eq!(report.failed, 10);
    fs::write(&journal, &*copy.lock().unwrap()).unwrap();
    let again = Fake::default();
    let report =
        bench.score("out.jsonl", &Asked { judge: Some(&again), ..Asked::default() }).unwrap();
    assert_eq!((again.calls(), report.resumed, report.failed), (10, 10, 0));
    assert_eq!(bench.read("out.jsonl"), bench.read("whole.jsonl"));
}
