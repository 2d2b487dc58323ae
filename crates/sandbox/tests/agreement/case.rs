//! Programs with their tests, and what plain `CPython` says of them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde::Deserialize;
use whetstone_core::judgement::Judgement;
use whetstone_core::program::{Language, Program};
use whetstone_core::tests::Tests;
use whetstone_sandbox::Judge;
use whetstone_sandbox::job::{Job, Limits, Unjudged};

/// One program with its tests: a line of `cases.py`.
#[derive(Debug, Deserialize)]
pub(crate) struct Case {
    /// Which task, and for a mutant which change.
    pub(crate) id: String,
    /// The source.
    pub(crate) program: String,
    setup: String,
    /// As a task has them.
    pub(crate) tests: Tests,
    /// The limit of the judge, in seconds.
    pub(crate) cpu_s: f64,
}

/// What plain `CPython` says of a case: a line of `plain.py`.
#[derive(Debug, Deserialize)]
pub(crate) struct Plain {
    /// Of which case.
    pub(crate) id: String,
    /// For each test that ended `pass`, or the name of an exception.
    pub(crate) tests: Vec<String>,
    /// `done`, `load NAME`, `timeout`, `signal N` or `exit`.
    pub(crate) end: String,
    /// CPU time in seconds; of the longest test where each is a run of its own.
    pub(crate) cpu_s: f64,
}

/// Cases with what both say of them.
pub(crate) struct Judged {
    /// The cases.
    pub(crate) cases: Vec<Case>,
    /// What plain `CPython` says of each.
    pub(crate) plain: Vec<Plain>,
    /// What the judge says of each.
    pub(crate) ours: Vec<Result<Judgement, Unjudged>>,
    /// How long the judge took for all.
    pub(crate) took: Duration,
}

/// Asks both about `count` cases of a kind of `cases.py`; 0 means all of them.
pub(crate) fn ask(judge: &Judge, data: &Path, (kind, count, cpu_s): (&str, usize, f64)) -> Judged {
    let folder = tempfile::tempdir().expect("a folder for the oracle");
    let mut command = script(judge, "cases.py");
    command.arg(data).args([kind, &count.to_string(), &cpu_s.to_string()]);
    let output = command.output().expect("the interpreter starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (questions, answers) = (folder.path().join("cases"), folder.path().join("plain"));
    std::fs::write(&questions, &output.stdout).expect("room for the cases");
    let mut command = script(judge, "plain.py");
    command.arg(&questions).arg(&answers).arg(judge.about().workers.to_string());
    assert!(command.status().expect("the interpreter starts").success());

    let cases: Vec<Case> = rows(&output.stdout);
    let plain = rows(&std::fs::read(&answers).expect("the oracle answers"));
    let began = Instant::now();
    let tickets: Vec<_> = cases.iter().map(|case| case.submit(judge)).collect();
    let ours = tickets.into_iter().map(whetstone_sandbox::Ticket::wait).collect();
    Judged { cases, plain, ours, took: began.elapsed() }
}

fn rows<T: for<'de> Deserialize<'de>>(text: &[u8]) -> Vec<T> {
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).expect("a line of JSON")).collect()
}

impl Case {
    fn submit(&self, judge: &Judge) -> whetstone_sandbox::Ticket {
        let program =
            Program { language: Language::Python, source: self.program.clone(), truncated: false };
        let limits = Limits { cpu: Duration::from_secs_f64(self.cpu_s), ..Limits::default() };
        judge.submit(Job { program: &program, setup: &self.setup, tests: &self.tests, limits })
    }
}

/// A script of `testdata`, run by the interpreter that also judges.
fn script(judge: &Judge, name: &str) -> Command {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/testdata").join(name);
    let mut command = Command::new(&judge.about().python);
    // The oracle's programs must see sets in the order in which the judge's see them.
    command.arg("-B").arg(path).env("PYTHONHASHSEED", "0");
    command
}
