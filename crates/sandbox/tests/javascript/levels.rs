//! The same judgements however programs are held, and beside programs in Python.

use whetstone_core::judgement::Isolation;
use whetstone_core::program::{Language, Program};
use whetstone_core::tests::Tests;
use whetstone_core::verdict::Verdict;
use whetstone_sandbox::job::{Job, Judging, Limits};
use whetstone_sandbox::{Judge, Options};

use crate::{add, judge_with, tests};

fn judge_at(ceiling: Isolation) -> Judge {
    let command = vec![env!("CARGO_BIN_EXE_whet-judge").to_owned()];
    let minimum = Isolation::Rlimit;
    let options = Options { workers: 1, ceiling, minimum, ..Options::new(command) };
    Judge::start(&options).expect("the judge starts")
}

#[test]
fn programs_are_judged_alike_at_every_level() {
    let echo: Tests = tests(r#"{"kind":"stdio","hidden":[{"input":"5","output":"5"}]}"#);
    for level in [Isolation::Full, Isolation::Landlock, Isolation::Rlimit] {
        let judge = judge_at(level);
        let verdict = |source: &str| judge_with(&judge, source, &add(), "");
        assert_eq!(verdict("const add = (a, b) => a + b;"), Verdict::Pass, "{level:?}");
        assert_eq!(verdict("const add = () => 4;"), Verdict::Wrong { test: 0 }, "{level:?}");
        let bomb = "const x = []; for (;;) x.push(new ArrayBuffer(64 << 20));";
        assert_eq!(verdict(bomb), Verdict::Memory, "{level:?}");
        let source = "process.stdin.on('data', (chunk) => console.log(`${chunk}`));";
        assert_eq!(judge_with(&judge, source, &echo, ""), Verdict::Pass, "{level:?}");
    }
}

#[test]
fn one_judge_takes_both_languages_in_turn() {
    let judge = judge_at(Isolation::Full);
    let python = Program {
        language: Language::Python,
        source: "def add(a, b): return a + b".to_owned(),
        truncated: false,
    };
    for _ in 0..3 {
        let source = "function add(a, b) { return a + b }";
        assert_eq!(judge_with(&judge, source, &add(), ""), Verdict::Pass);
        let job = Job { program: &python, setup: "", tests: &add(), limits: Limits::default() };
        assert_eq!(judge.judge(job).expect("nothing is broken").verdict(), &Verdict::Pass);
    }
}
