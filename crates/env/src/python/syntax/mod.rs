//! Whether `CPython` would compile a program, without asking `CPython`.
//!
//! Ruff's parser decides the grammar; Ruff's semantic checker, driven by [`semantic`], what
//! `compile()` refuses after parsing; [`scopes`] what the symbol table refuses; [`limits`] what is
//! too deep, [`indentation`] what tabs and spaces mean. `tests/agreement.rs` compares the answer with `CPython`'s own over the standard library
//! and thousands of broken programs, and lists what is left.
//!
//! Not the same as `CPython`, on purpose: source over 64 KiB is refused here.

mod context;
mod indentation;
mod limits;
mod patterns;
mod scopes;
mod semantic;
mod statements;

use ruff_python_ast::{ModModule, PythonVersion};
use ruff_python_parser::{Mode, ParseOptions, Parsed, parse_unchecked};
use ruff_text_size::TextSize;

use crate::stack::BigStack;

/// The longest program that is read: deeper nesting than this allows cannot overflow a big stack.
pub const MAX_SOURCE_BYTES: usize = 64 << 10;

/// A program that compiles.
#[derive(Debug)]
pub struct Module<'s> {
    /// Its source, without a byte order mark.
    pub source: &'s str,
    /// Its tree and tokens.
    pub parsed: Parsed<ModModule>,
}

/// Why a program does not compile. Lines and columns count from 1, columns in characters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct SyntaxError {
    /// The line of the first problem.
    pub line: usize,
    /// The column of the first problem.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

/// What is wrong, and where in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Problem {
    at: TextSize,
    message: String,
}

/// Reads a program as `CPython` of `version` would.
pub fn check<'s>(
    source: &'s str,
    version: PythonVersion,
    stack: &BigStack,
) -> Result<Module<'s>, SyntaxError> {
    if source.len() > MAX_SOURCE_BYTES {
        let message = format!("{} bytes are more than {MAX_SOURCE_BYTES}", source.len());
        return Err(SyntaxError { line: 1, column: 1, message });
    }
    check_any_length(source, version, stack)
}

/// [`check`] for source whose length somebody else has bounded, such as files of a library.
pub fn check_any_length<'s>(
    source: &'s str,
    version: PythonVersion,
    _stack: &BigStack,
) -> Result<Module<'s>, SyntaxError> {
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    let parsed = parse(source, version).map_err(|problem| problem.placed(source))?;
    Ok(Module { source, parsed })
}

fn parse(source: &str, version: PythonVersion) -> Result<Parsed<ModModule>, Problem> {
    if let Some(at) = source.find('\0') {
        return Err(Problem::at(at, "source code cannot contain null bytes"));
    }
    if source.starts_with('\u{feff}') {
        return Err(Problem::at(0, "invalid non-printable character U+FEFF"));
    }
    limits::nesting(source)?;
    let options = ParseOptions::from(Mode::Module).with_target_version(version);
    let parsed = parse_unchecked(source, options).try_into_module();
    let Some(parsed) = parsed else { return Err(Problem::at(0, "not a module")) };
    limits::check(&parsed, source)?;
    indentation::check(&parsed, source)?;
    if let Some(error) = parsed.errors().first() {
        return Err(Problem { at: error.location.start(), message: error.error.to_string() });
    }
    if let Some(error) = parsed.unsupported_syntax_errors().first() {
        return Err(Problem { at: error.range.start(), message: error.to_string() });
    }
    semantic::check(parsed.syntax(), source, version)?;
    Ok(parsed)
}

impl Problem {
    fn at(offset: usize, message: &str) -> Self {
        let at = TextSize::new(u32::try_from(offset).unwrap_or(u32::MAX));
        Self { at, message: message.to_owned() }
    }

    fn placed(self, source: &str) -> SyntaxError {
        let at = source.floor_char_boundary(self.at.to_usize());
        let before = &source[..at];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let column = before[line_start..].chars().count() + 1;
        let line = before.matches('\n').count() + 1;
        SyntaxError { line, column, message: self.message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::on_big_stack;

    /// What is said of `source` under Python 3.`minor`: `ok`, or the error.
    fn said(source: &str, minor: u8) -> String {
        on_big_stack(|stack| match check(source, PythonVersion { major: 3, minor }, stack) {
            Ok(_) => "ok".to_owned(),
            Err(error) => error.to_string(),
        })
        .unwrap()
    }

    #[track_caller]
    fn refused(source: &str, part: &str) {
        let said = said(source, 11);
        assert!(said.contains(part), "{source:?}: {said}");
    }

    #[track_caller]
    fn fine(source: &str) {
        assert_eq!(said(source, 11), "ok", "{source:?}");
    }

    #[test]
    fn an_error_has_a_line_and_a_column_in_characters() {
        assert!(said("x = 1\ny = 'ä' 2\n", 11).starts_with("line 2, column 9: "));
        assert_eq!(said("a\0b", 11), "line 1, column 2: source code cannot contain null bytes");
    }

    #[test]
    fn a_leading_byte_order_mark_is_passed_over_and_a_second_is_not() {
        fine("\u{feff}x = 1");
        refused("\u{feff}\u{feff}x = 1", "line 1, column 1");
    }

    #[test]
    fn what_belongs_into_a_function_or_loop_is_refused_outside() {
        refused("return 1", "`return` statement outside of a function");
        refused("class C:\n    yield 1", "`yield`");
        refused("def f():\n    await x", "`await`");
        refused("break", "`break` outside loop");
        refused("for x in y:\n    pass\nelse:\n    continue", "`continue` outside loop");
        refused("for x in y:\n    def f():\n        break", "`break` outside loop");
        refused("[(yield 1) for x in y]", "`yield`");
        fine("def f():\n    return [x for x in (yield)]");
        fine("def f():\n    return (await x for x in y)");
        fine("for x in y:\n    for z in x: pass\n    else:\n        break");
    }

    #[test]
    fn global_and_nonlocal_names_follow_the_symbol_table() {
        refused("def f(a):\n    global a", "parameter");
        refused("def f():\n    x = 1\n    global x", "before its global declaration");
        refused("print(x)\nglobal x", "before its global declaration");
        refused("def f():\n    global x\n    nonlocal x", "nonlocal and global");
        refused("def f():\n    global x\n    x: int = 1", "annotated");
        refused("nonlocal x", "module level");
        refused("x = 1\ndef f():\n    nonlocal x", "no binding for nonlocal `x`");
        refused("def f():\n    global x\n    def g():\n        nonlocal x", "no binding");
        refused("class C:\n    x = 1\n    def f(self):\n        nonlocal x", "no binding");
        fine("def f():\n    def g():\n        nonlocal x\n        x = 2\n    x = 1");
        fine("class C:\n    def f(self):\n        nonlocal __class__");
        fine("global x\nx: int = 1");
        refused("def f():\n    [y := 1 for z in w]\n    nonlocal y", "before its nonlocal");
    }

    #[test]
    fn a_star_stands_only_where_things_are_unpacked() {
        for bad in ["*a", "x = *a", "x += *a", "x: int = *a", "f'{*a}'", "for x in *a: pass"] {
            assert_ne!(said(bad, 12), "ok", "{bad}");
        }
        for good in ["*a, b = c", "f(*a)", "[*a]", "x[*a]", "class C(*a): pass", "print(*a, b)"] {
            fine(good);
        }
        fine("def f(*args: *Ts): pass");
    }

    #[test]
    fn futures_come_first_and_must_exist() {
        refused("x = 1\nfrom __future__ import annotations", "__future__");
        refused("from __future__ import braces", "braces");
        refused("from __future__ import annotations\nx: (y := 1)", "annotation");
        fine("'doc'\nfrom __future__ import annotations, division");
    }

    #[test]
    fn syntax_of_a_later_version_is_refused() {
        assert_ne!(said("match x:\n    case 1: pass", 9), "ok");
        assert_eq!(said("match x:\n    case 1: pass", 10), "ok");
        assert_ne!(said("f'{\"a\" + f\"{1}\"}' f\"{\"b\"}\"", 11), "ok");
        assert_eq!(said("f\"{\"b\"}\"", 12), "ok");
        assert_ne!(said("type X = int", 11), "ok");
    }

    #[test]
    fn source_over_64_kib_is_refused_by_its_length() {
        let long = "#".repeat(MAX_SOURCE_BYTES + 1);
        refused(&long, "65537 bytes are more than 65536");
        fine(&long[1..]);
    }
}
