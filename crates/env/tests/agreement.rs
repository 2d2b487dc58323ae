//! Whether our answer to "does it compile?" is CPython's.
//!
//! Over the standard library of the `python3` that is there, and over programs that were broken on
//! purpose. By default a sample; all of the library and 5,000 broken programs with
//! `WHETSTONE_FULL=1`.

mod support;

use ruff_python_ast::PythonVersion;
use support::corpus;
use support::cpython::Python;
use support::mutate::{Dice, mutate};
use whetstone_env::python::syntax::check_any_length;
use whetstone_env::stack::on_big_stack;

/// The least share of programs on which both must agree.
const AGREEMENT: f64 = 0.999;

fn everything() -> bool {
    std::env::var_os("WHETSTONE_FULL").is_some_and(|value| value == "1")
}

/// What we say of each: `ok`, or the error.
fn ours(programs: &[String], minor: u8) -> Vec<String> {
    let version = PythonVersion { major: 3, minor };
    let said = |source: &String, stack: &_| match check_any_length(source, version, stack) {
        Ok(_) => "ok".to_owned(),
        Err(error) => error.to_string(),
    };
    on_big_stack(|stack| programs.iter().map(|source| said(source, stack)).collect()).unwrap()
}

/// Compares both answers, prints the disagreements and returns how many programs CPython refuses.
fn compare(what: &str, python: &Python, programs: &[String]) -> usize {
    let theirs = python.compile(programs);
    let ours = ours(programs, python.minor);
    let mut disagreements = 0;
    for ((program, ours), theirs) in programs.iter().zip(&ours).zip(&theirs) {
        if (ours == "ok") != (theirs == "ok") {
            disagreements += 1;
            println!("disagree: we say {ours:?}, CPython {theirs:?}");
            println!("{}\n", near(program, if ours == "ok" { theirs } else { ours }));
        }
    }
    let refused = theirs.iter().filter(|answer| *answer != "ok").count();
    let agreed = share(programs.len() - disagreements, programs.len());
    println!(
        "{what}: {} programs, {refused} of them refused by CPython 3.{}: {:.3} % agreement",
        programs.len(),
        python.minor,
        100.0 * agreed,
    );
    assert!(agreed >= AGREEMENT, "{what}: {disagreements} disagreements");
    refused
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

/// The line that an error names, with its neighbours.
fn near(program: &str, error: &str) -> String {
    let after = error.split_once("line ").map_or("", |(_, after)| after);
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    let line: usize = digits.parse().unwrap_or(1);
    let first = line.saturating_sub(3);
    program.lines().skip(first).take(5).collect::<Vec<_>>().join("\n")
}

/// Files that are UTF-8; the others are the business of whoever decodes them.
fn library(python: &Python) -> Vec<String> {
    let files = corpus::python_files(&python.stdlib);
    let texts: Vec<_> =
        files.iter().filter_map(|path| std::fs::read_to_string(path).ok()).collect();
    println!("{} files, {} of them not UTF-8", files.len(), files.len() - texts.len());
    texts.into_iter().map(|text| text.trim_start_matches('\u{feff}').to_owned()).collect()
}

fn every_nth(programs: Vec<String>, wanted: usize) -> Vec<String> {
    let step = programs.len().div_ceil(wanted).max(1);
    programs.into_iter().step_by(step).collect()
}

#[test]
fn the_standard_library_compiles_as_cpython_says() {
    let Some(python) = Python::find() else { return };
    let files = library(&python);
    let files = if everything() { files } else { every_nth(files, 300) };
    compare("standard library", &python, &files);
}

#[test]
fn broken_programs_are_refused_as_cpython_says() {
    let Some(python) = Python::find() else { return };
    let mut sources: Vec<_> = corpus::mbpp().into_iter().map(|problem| problem.code).collect();
    let short = library(&python).into_iter().filter(|text| text.len() < 12_000);
    sources.extend(every_nth(short.collect(), 1000));
    let count = if everything() { 8_500 } else { 1_500 };
    let mutants: Vec<String> = (0..count)
        .map(|index| {
            let mut dice = Dice::new("mutant", index);
            let source = dice.below(sources.len());
            mutate(&sources[source], &mut dice)
        })
        .collect();
    let broken = compare("mutants", &python, &mutants);
    assert!(!everything() || broken >= 5_000, "only {broken} of the mutants are broken");
}
