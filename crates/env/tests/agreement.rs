//! Whether our answer to "does it compile?" is `CPython`'s.
//!
//! Over the standard library of the `python3` that is there, and over programs that were broken on
//! purpose. By default a sample; all of the library and 5,000 broken programs with
//! `WHETSTONE_FULL=1`.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests")]

use crate::support::corpus;
use crate::support::cpython::Python;
use crate::support::mutate::{Dice, mutate};
use ruff_python_ast::PythonVersion;
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

/// Programs that we read otherwise than `CPython` does, and why we let that be.
const KNOWN: [(&str, &str); 15] = [
    ("f'{a!r }'", "before 3.12 no blank may follow the conversion; Ruff allows it"),
    ("class A:\n def f(_A__x, __x): pass", "names are not mangled here"),
    ("class A:\n def f(self):\n  __x = 1\n  global _A__x", "names are not mangled here"),
    ("def f():\n type X = x\n global x", "the value of an alias has no scope of its own here"),
    ("x = 1\nfrom .__future__ import division", "3.13 tells it from `__future__`; Ruff does not"),
    ("'\\ud800'", "3.13.0 cannot compile a docstring with a surrogate"),
    ("'\\udc00'", "3.13.0 cannot compile a docstring with a surrogate"),
    ("match *a,:\n case 1: pass", "3.9 has no `match`; Ruff does not mark this one"),
    ("a[b:=1]", "not in 3.9; Ruff does not mark it"),
    ("a[b:=1, c]", "not in 3.9; Ruff does not mark it"),
    ("if x:\n    pass\n  \\\n    pass", "3.9 measures a continued blank line as one"),
    ("from __future__ import annotations\ndef f(a: (yield)): pass", "3.9 does not look"),
    ("from __future__ import annotations\nx: (await y)", "3.9 does not look"),
    ("from __future__ import annotations\ndef f() -> (x := 1): pass", "3.9 does not look"),
    ("\u{feff}x", "a byte order mark is taken off here; CPython does so for bytes, not for `str`"),
];

/// Compares both answers, prints the disagreements and returns how many programs `CPython` refuses.
fn compare(what: &str, python: &Python, programs: &[String]) -> usize {
    let theirs = python.compile(programs);
    let ours = ours(programs, python.minor);
    let mut disagreements = 0;
    for ((program, ours), theirs) in programs.iter().zip(&ours).zip(&theirs) {
        if (ours == "ok") != (theirs == "ok") && KNOWN.iter().all(|(known, _)| program != known) {
            disagreements += 1;
            println!("disagree: we say {ours:?}, CPython {theirs:?}");
            println!("{:?}\n", near(program, if ours == "ok" { theirs } else { ours }));
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

/// Programs at the edges of the language, a JSON string a line.
const ODD: &str = include_str!("testdata/odd_programs.jsonl");

/// The lines of `text`, `level` blanks in.
fn indented(text: &str, level: usize) -> String {
    let lines: Vec<_> = text.lines().map(|line| " ".repeat(level) + line + "\n").collect();
    lines.concat()
}

/// `depth` of these heads, each inside the one before, around a `pass`.
fn nested(head: &str, depth: usize) -> String {
    let heads: Vec<_> = (0..depth).map(|level| indented(head, level)).collect();
    heads.concat() + &indented("pass", depth)
}

/// `depth` of `try`, each inside the one before, which end in `tail`.
fn nested_before(tail: &str, depth: usize) -> String {
    let tails: Vec<_> = (0..depth).rev().map(|level| indented(tail, level)).collect();
    nested("try:", depth) + &tails.concat()
}

fn deep_programs() -> Vec<String> {
    let mut programs = Vec::new();
    let blocks = [
        "for x in y:",
        "while x:",
        "with x:",
        "try: pass\nexcept:",
        "try: pass\nexcept A as b:",
        "try: pass\nexcept* A:",
        "try: pass\nexcept: pass\nelse:",
    ];
    let before = ["except: pass", "finally: pass", "except: pass\nfinally: pass"];
    for depth in [6, 7, 9, 10, 11, 19, 20, 21, 22, 39, 40, 41] {
        programs.extend(blocks.iter().map(|head| nested(head, depth)));
        programs.extend(before.iter().map(|tail| nested_before(tail, depth)));
        programs.push(format!("with {}: pass", vec!["a"; depth].join(", ")));
    }
    for depth in [98, 99, 100, 101] {
        programs.extend(["if x:", "def f():", "class C:"].map(|head| nested(head, depth)));
    }
    for depth in [199, 200, 201] {
        for (open, inner, close) in
            [("(", "", ")"), ("[", "", "]"), ("{", "", "}"), ("f(", "1", ")")]
        {
            programs.push(format!("{}{inner}{}", open.repeat(depth), close.repeat(depth)));
        }
    }
    for (deep, times) in [("-", 2900), ("-", 10_000), ("not ", 10_000), ("1 + ", 2900)] {
        programs.push(format!("{}1", deep.repeat(times)));
    }
    programs.push("1".repeat(4300));
    programs.push("1".repeat(4301));
    programs.push(format!("{}1", "1_".repeat(4300)));
    programs.push(format!("0x{}", "1".repeat(5000)));
    programs.push(format!("{}.0", "1".repeat(5000)));
    programs
}

#[test]
fn odd_programs_are_read_as_cpython_reads_them() {
    let Some(python) = Python::find() else { return };
    let mut programs: Vec<String> =
        ODD.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    programs.extend(deep_programs());
    compare("odd programs", &python, &programs);
}
