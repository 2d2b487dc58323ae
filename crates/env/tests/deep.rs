//! Source that is nested as deep as 64 KiB allow is read, walked and dropped without overflowing.
//!
//! A stack overflow is no panic: it ends the process. So the assertion here is that the test lives.

use ruff_python_ast::PythonVersion;
use whetstone_env::python::syntax::{MAX_SOURCE_BYTES, check};
use whetstone_env::python::{may_vary, quality};
use whetstone_env::stack::{BigStack, on_big_stack};

/// Text around a piece that is repeated until the source is full.
const PATTERNS: [(&str, &str, &str); 30] = [
    ("", "(", ""),
    ("", "[", ""),
    ("", "{", ""),
    ("", "-", "1"),
    ("", "~", "1"),
    ("", "not ", "1"),
    ("", "lambda:", "1"),
    ("", "lambda x=", "1"),
    ("a", ".a", ""),
    ("a", "()", ""),
    ("a", "[0]", ""),
    ("", "a if b else ", "c"),
    ("", "a if ", "b"),
    ("1", "**1", ""),
    ("1", "+1", ""),
    ("1", " and not 1", ""),
    ("a", "<a", ""),
    ("async def f():\n    return ", "await ", "x"),
    ("", "f'{", ""),
    ("", "f\"{f'{", ""),
    ("", "f'{a:{", ""),
    ("", "@a\n", "def f(): pass"),
    ("", "if a: pass\nelse:\n if b: pass\n", ""),
    ("if a: pass\n", "elif a: pass\n", ""),
    ("", "a=", "1"),
    ("x = [1", " for a in b", "]"),
    ("x = ", "yield ", "1"),
    ("", "*", "a"),
    ("match x:\n case ", "a|", "b: pass"),
    ("", "a:", "b"),
];

fn full(start: &str, piece: &str, end: &str) -> String {
    let times = (MAX_SOURCE_BYTES - start.len() - end.len()) / piece.len();
    format!("{start}{}{end}", piece.repeat(times))
}

/// Definitions inside definitions, each a blank deeper.
fn stairs(head: &str) -> String {
    let mut source = String::new();
    for level in 0.. {
        let line = format!("{}{head}\n", " ".repeat(level));
        if source.len() + line.len() + level + 8 > MAX_SOURCE_BYTES {
            return source + &" ".repeat(level) + "pass\n";
        }
        source += &line;
    }
    source
}

/// Everything that is done with a program; `true` if it compiles.
fn read(source: &str, version: PythonVersion, stack: &BigStack) -> bool {
    assert!(source.len() <= MAX_SOURCE_BYTES);
    let Ok(module) = check(source, version, stack) else { return false };
    let report = quality::report(&module, &["f"], stack);
    assert!((0.0..=1.0).contains(&report.cognitive), "{report:?}");
    may_vary(&module, stack);
    true
}

#[test]
fn deep_source_is_read_to_its_end() {
    let heads = ["def f():", "class C:", "if a:", "for a in b:", "while a:", "with a:", "try:"];
    let mut sources: Vec<String> = PATTERNS.map(|(a, b, c)| full(a, b, c)).into();
    sources.extend(heads.map(stairs));
    for version in [PythonVersion::PY311, PythonVersion::PY314] {
        let read =
            |stack: &BigStack| sources.iter().filter(|source| read(source, version, stack)).count();
        let compiled = on_big_stack(read).unwrap();
        // Flat repetitions compile: comparisons, decorators, assignments, `and`, `|`, ...
        assert!((3..20).contains(&compiled), "{compiled} under {version}");
    }
}

#[test]
fn nesting_that_is_allowed_is_walked_to_its_end() {
    for (start, piece, end, times) in
        [("", "-", "1", 2_900), ("a", ".a", "", 2_900), ("", "(", ")", 200), ("", "[", "]", 200)]
    {
        let closing = if end.len() == 1 && end != "1" { end.repeat(times) } else { end.to_owned() };
        let source = format!("x = {start}{}{closing}", piece.repeat(times));
        let compiled = on_big_stack(|stack| read(&source, PythonVersion::PY311, stack)).unwrap();
        assert!(compiled, "{piece}");
    }
}
