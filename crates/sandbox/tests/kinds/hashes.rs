//! The order of a set of strings is a judge's setting, and the same in all its programs.

use serde_json::json;
use whetstone_core::program::{Language, Program};
use whetstone_sandbox::job::{Job, Judging, Limits};
use whetstone_sandbox::{Judge, Options};

/// Sixteen bits of Python's hashes, each found out by a program of its own.
fn hashes(hash_seed: u32) -> Vec<bool> {
    let options = Options::new(vec![env!("CARGO_BIN_EXE_whet-judge").to_owned()]);
    let judge = Judge::start(&Options { hash_seed, ..options }).expect("programs can be held here");
    let source = "def f(i):\n    return hash(str(i)) % 2\n".to_owned();
    let program = Program { language: Language::Python, source, truncated: false };
    let bit = |i: u32| {
        let tests = json!({"kind": "asserts", "hidden": [format!("assert f({i}) == 1")]});
        let tests = serde_json::from_value(tests).expect("tests of a task");
        let job = Job { program: &program, setup: "", tests: &tests, limits: Limits::default() };
        judge.judge(job).expect("the machine works").verdict().is_pass()
    };
    (0..16).map(bit).collect()
}

#[test]
fn the_seed_of_hashes_decides_them() {
    let first = hashes(0);
    assert_eq!(hashes(0), first);
    assert_ne!(hashes(1), first);
}
