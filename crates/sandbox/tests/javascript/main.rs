//! JavaScript programs, judged: honest ones, what counts as an answer, and hostile ones.

mod honest;
mod hostile;
mod levels;
mod stdio;
mod values;

use std::time::Duration;

use whetstone_core::program::{Language, Program};
use whetstone_core::tests::Tests;
use whetstone_core::verdict::Verdict;
use whetstone_sandbox::job::{Job, Judging, Limits};
use whetstone_sandbox::{Judge, Options};

thread_local! {
    /// One for each test, and so for the thread that it runs on: it ends with the test, and nothing
    /// of it is left when the process ends.
    static JUDGE: Judge = {
        let command = vec![env!("CARGO_BIN_EXE_whet-judge").to_owned()];
        let options = Options { workers: 1, ..Options::new(command) };
        Judge::start(&options).expect("the judge starts")
    };
}

fn judge(source: &str, tests: &Tests, setup: &str) -> Verdict {
    JUDGE.with(|judge| judge_with(judge, source, tests, setup))
}

fn judge_with(judge: &Judge, source: &str, tests: &Tests, setup: &str) -> Verdict {
    ask(judge, &Asked { source, tests, setup, cpu: Duration::from_secs(2) })
}

/// The same with another limit, for programs that would end by themselves or reach another one.
fn judge_within(source: &str, tests: &Tests, cpu: Duration) -> Verdict {
    JUDGE.with(|judge| ask(judge, &Asked { source, tests, setup: "", cpu }))
}

/// One program, and what is asked of it.
struct Asked<'a> {
    source: &'a str,
    tests: &'a Tests,
    setup: &'a str,
    cpu: Duration,
}

fn ask(judge: &Judge, asked: &Asked<'_>) -> Verdict {
    let Asked { source, tests, setup, cpu } = *asked;
    let program =
        Program { language: Language::Javascript, source: source.to_owned(), truncated: false };
    let limits = Limits { cpu, memory: 256 << 20 };
    let job = Job { program: &program, setup, tests, limits };
    judge.judge(job).expect("nothing is broken").verdict().clone()
}

fn tests(json: &str) -> Tests {
    serde_json::from_str(json).expect("tests")
}

/// Calls of `f` with these arguments, which must return these values: JSON.
fn calls(entry_point: &str, calls: &[(&str, &str)]) -> Tests {
    let calls: Vec<String> = calls
        .iter()
        .map(|(args, expected)| format!(r#"{{"args":{args},"expected":{expected}}}"#))
        .collect();
    let calls = calls.join(",");
    tests(&format!(r#"{{"kind":"calls","entry_point":"{entry_point}","hidden":[{calls}]}}"#))
}

/// The task of the hostile programs.
fn add() -> Tests {
    calls("add", &[("[2,3]", "5"), ("[-1,1]", "0"), ("[10,20]", "30")])
}

fn raised(kind: &str) -> Verdict {
    Verdict::Raised { test: 0, kind: kind.to_owned() }
}

fn load_error(kind: &str) -> Verdict {
    Verdict::LoadError { kind: kind.to_owned() }
}
