//! The judge says of programs what plain `CPython` says: of the reference solutions of MBPP and
//! HumanEval, of mutants of them, and of whole programs that read and write.
//!
//! Judged is a part of them; with `WHETSTONE_FULL=1` it is every reference and 5,000 mutants, which
//! takes minutes: `WHETSTONE_FULL=1 cargo test --release -p whetstone-sandbox --test agreement --
//! --nocapture --test-threads 1`. The data sets are not part of the repository; where they are not
//! found beside it, the tests say so and judge nothing.

mod agree;
mod case;

use std::path::PathBuf;

use agree::Counts;
use case::ask;
use whetstone_core::verdict::Verdict;
use whetstone_sandbox::{Judge, Options};

const SKIPPED: &str = "SKIPPED: the data sets are not beside the repository";

fn judge() -> Judge {
    let options = Options::new(vec![env!("CARGO_BIN_EXE_whet-judge").to_owned()]);
    Judge::start(&options).expect("programs can be held here")
}

fn data() -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    path.exists().then_some(path)
}

fn is_full() -> bool {
    std::env::var_os("WHETSTONE_FULL").is_some_and(|value| value == "1")
}

/// `some`, or `all` in a full run.
fn of<T>(some: T, all: T) -> T {
    if is_full() { all } else { some }
}

#[test]
fn every_reference_is_judged_as_plain_python_judges_it() {
    let Some(data) = data() else { return println!("{SKIPPED}") };
    let judged = ask(&judge(), &data, ("references", of(400, 0), 3.0));
    let counts = Counts::of(&judged);
    println!("references: {counts}");
    counts.must_agree();
    // One of MBPP, which is in both sets, runs for many seconds; all others are right.
    for (case, ours) in judged.cases.iter().zip(&judged.ours) {
        let is_slow = ["mbpp/123", "sanitized/123"].contains(&case.id.as_str());
        let expected = if is_slow { Verdict::Timeout } else { Verdict::Pass };
        assert_eq!(ours.as_ref().unwrap().verdict(), &expected, "{}", case.id);
    }
    assert!(counts.total >= of(390, 974 + 427 + 164));
}

#[test]
fn every_mutant_is_judged_as_plain_python_judges_it() {
    let Some(data) = data() else { return println!("{SKIPPED}") };
    let judged = ask(&judge(), &data, ("mutants", of(500, 5000), of(0.3, 1.5)));
    let counts = Counts::of(&judged);
    println!("mutants: {counts}");
    counts.must_agree();
    // Neither all right nor all wrong: the comparison is of something.
    assert!(counts.passes * 50 > counts.total && counts.passes * 2 < counts.total);
    assert!(counts.borderline.len() * 50 < counts.total);
}

#[test]
fn every_solution_that_reads_and_writes_is_judged_as_plain_python_judges_it() {
    let Some(data) = data() else { return println!("{SKIPPED}") };
    let judged = ask(&judge(), &data, ("apps", of(12, 0), 10.0));
    let counts = Counts::of(&judged);
    println!("whole programs: {counts}");
    counts.must_agree();
    // A few problems have several right outputs, or lines broken elsewhere, where the data names
    // one: plain Python then writes another, and that is wrong for both.
    assert!(counts.passes * 10 >= counts.total * 9);
}
