//! Each kind of test, and each verdict that a run can have, on small programs.
//!
//! A row is a program, the task's tests as JSON, and what the judge must say: the verdict with its
//! details, and how many tests passed.

mod asserts;
mod exact;
mod got;
mod hashes;
mod others;
mod program;
mod verdicts;

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Value, json};
use whetstone_core::judgement::Judgement;
use whetstone_core::program::{Language, Program};
use whetstone_core::tests::Tests;
use whetstone_core::verdict::Verdict;
use whetstone_sandbox::job::{Job, Judging, Limits, Unjudged};
use whetstone_sandbox::{Judge, Options};

/// A judge, with limits that keep the tests short.
pub(crate) struct Bench {
    judge: Judge,
    limits: Limits,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let limits = Limits { cpu: Duration::from_secs(4), memory: 128 << 20 };
        let options = Options::new(vec![env!("CARGO_BIN_EXE_whet-judge").to_owned()]);
        let judge = Judge::start(&options).expect("programs can be held here");
        Self { judge, limits }
    }

    #[track_caller]
    pub(crate) fn asserts(&self, program: &str, setup: &str, tests: &[&str], said: &str) {
        self.check(program, setup, &json!({"kind": "asserts", "hidden": tests}), said);
    }

    #[track_caller]
    pub(crate) fn call(&self, program: &str, entry_point: &str, call: &Value, said: &str) {
        let tests = json!({"kind": "calls", "entry_point": entry_point, "hidden": [call]});
        self.check(program, "", &tests, said);
    }

    #[track_caller]
    pub(crate) fn script(&self, program: &str, test: &str, said: &str) {
        let tests = json!({"kind": "script", "entry_point": "f", "hidden": [test]});
        self.check(program, "", &tests, said);
    }

    #[track_caller]
    pub(crate) fn stdio(&self, program: &str, io: &Value, said: &str) {
        self.check(program, "", &json!({"kind": "stdio", "hidden": [io]}), said);
    }

    #[track_caller]
    pub(crate) fn check(&self, program: &str, setup: &str, tests: &Value, said: &str) {
        assert_eq!(self.says(program, setup, tests), said, "{program}\n{tests:#}");
    }

    pub(crate) fn judgement(&self, program: &str, setup: &str, tests: &Value) -> Judgement {
        self.judged(program, setup, tests).expect("it can be judged")
    }

    fn judged(&self, program: &str, setup: &str, tests: &Value) -> Result<Judgement, Unjudged> {
        let tests: Tests = serde_json::from_value(tests.clone()).expect("tests of a task");
        let source = program.to_owned();
        let program = Program { language: Language::Python, source, truncated: false };
        self.judge.judge(Job { program: &program, setup, tests: &tests, limits: self.limits })
    }

    pub(crate) fn says(&self, program: &str, setup: &str, tests: &Value) -> String {
        match self.judged(program, setup, tests) {
            Ok(judgement) => {
                let counts = judgement.counts();
                let verdict = words(judgement.verdict());
                format!("{verdict}, {} of {}", counts.passed, counts.total)
            }
            // Every machine here is whole: what cannot be judged has bad tests.
            Err(problem @ Unjudged::BrokenTests(_)) => problem.to_string(),
            Err(Unjudged::Machine(problem)) => panic!("{problem}"),
        }
    }
}

fn words(verdict: &Verdict) -> String {
    let mut words = verdict.name().to_owned();
    let _ = match verdict {
        Verdict::Wrong { test } | Verdict::Unserialisable { test } => write!(words, " {test}"),
        Verdict::Raised { test, kind } => write!(words, " {test} {kind}"),
        Verdict::Crashed { signal } => write!(words, " {signal}"),
        Verdict::LoadError { kind } => write!(words, " {kind}"),
        _ => Ok(()),
    };
    words
}
