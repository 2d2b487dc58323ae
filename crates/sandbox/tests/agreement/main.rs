//! The judge says of programs what plain `CPython` says: of the reference solutions of MBPP and
//! HumanEval, of mutants of them, and of whole programs that read and write.
//!
//! `WHETSTONE_FULL=1` judges every reference and 5,000 mutants; without it a part of them. The data
//! sets are not part of the repository; where they are not found beside it, nothing is judged.

mod agree;
mod case;

use std::path::PathBuf;

use agree::Counts;
use case::{Judged, ask};
use whetstone_core::verdict::Verdict;
use whetstone_sandbox::{Judge, Options};

/// A count, and what it is in a full run.
fn of(some: usize, all: usize) -> usize {
    if is_full() { all } else { some }
}

fn is_full() -> bool {
    std::env::var_os("WHETSTONE_FULL").is_some_and(|value| value == "1")
}

fn judge() -> Judge {
    let options = Options::new(vec![env!("CARGO_BIN_EXE_whet-judge").to_owned()]);
    Judge::start(&options).expect("programs can be held here")
}

fn data() -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    if path.exists() {
        return Some(path);
    }
    println!("skipped: the data sets are not beside the repository");
    None
}

#[track_caller]
fn check(what: &str, judged: &Judged) -> Counts {
    let counts = Counts::of(judged);
    let Counts { total, passes, timeouts, borderline, different } = &counts;
    let rate = judged.ours.len() as f64 / judged.took.as_secs_f64();
    println!(
        "{what}: {total} judged at {rate:.0}/s, {passes} pass, {timeouts} run out of time, {} \
         different, {} borderline: {borderline:?}",
        different.len(),
        borderline.len()
    );
    assert!(different.is_empty(), "{}", different.join("\n"));
    counts
}

#[test]
fn every_reference_is_judged_as_plain_python_judges_it() {
    let Some(data) = data() else { return };
    let judged = ask(&judge(), &data, ("references", of(400, 0), 6.0));
    let counts = check("references", &judged);
    // One of MBPP runs for longer than ten seconds; all others are right.
    for (case, ours) in judged.cases.iter().zip(&judged.ours) {
        let expected = if case.id == "mbpp/123" { Verdict::Timeout } else { Verdict::Pass };
        assert_eq!(ours.as_ref().unwrap().verdict(), &expected, "{}", case.id);
    }
    assert!(counts.total >= 300 && (!is_full() || counts.total == 974 + 427 + 164));
}

#[test]
fn every_mutant_is_judged_as_plain_python_judges_it() {
    let Some(data) = data() else { return };
    let limit = if is_full() { 1.5 } else { 0.3 };
    let judged = ask(&judge(), &data, ("mutants", of(500, 5000), limit));
    let counts = check("mutants", &judged);
    // Neither all right nor all wrong: the comparison is of something.
    assert!(counts.passes * 50 > counts.total && counts.passes * 2 < counts.total);
    assert!(counts.borderline.len() * 50 < counts.total);
}

#[test]
fn every_solution_that_reads_and_writes_is_judged_as_plain_python_judges_it() {
    let Some(data) = data() else { return };
    let judged = ask(&judge(), &data, ("apps", of(12, 0), 10.0));
    let counts = check("whole programs", &judged);
    assert_eq!(counts.passes, counts.total);
}
