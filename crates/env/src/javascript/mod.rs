//! JavaScript programs: whether one parses, and whether it names what its tests call.
//!
//! Oxc's parser decides the grammar, as a module and then as a script; a program that is neither is
//! a `syntax_error`. It does not look for early errors such as a `let` that stands twice: the engine
//! does when it loads the program, and the gate `loads` caps those.
//!
//! Quality is not measured here, and so earns nothing.

use oxc_allocator::Allocator;
use oxc_parser::Parser;
use oxc_span::SourceType;
use whetstone_core::nesting;
use whetstone_core::tests::Tests;

use crate::stack::BigStack;

/// The longest program that is read; together with [`nesting`] it bounds the time and the stack that
/// the parser takes.
pub const MAX_SOURCE_BYTES: usize = 64 << 10;

/// Through any of these a program can be reached under a name that does not stand in it.
const INDIRECT: [&str; 7] =
    ["Solution", "exports", "globalThis", "global", "this", "eval", "Function"];

/// Why a program is not read as JavaScript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxError {
    /// It is too long.
    #[error("{0} bytes are more than {MAX_SOURCE_BYTES}")]
    TooLong(usize),
    /// It is nested too deeply.
    #[error("nested more than {} levels deep", nesting::MAX_DEPTH)]
    TooDeep,
    /// It parses neither as a module nor as a script.
    #[error("it parses neither as a module nor as a script")]
    Grammar,
}

/// Reads a program as an engine would.
pub fn check(source: &str, _stack: &BigStack) -> Result<(), SyntaxError> {
    if source.len() > MAX_SOURCE_BYTES {
        return Err(SyntaxError::TooLong(source.len()));
    }
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    if nesting::is_too_deep(source) {
        return Err(SyntaxError::TooDeep);
    }
    let parses = |goal| {
        let arena = Allocator::default();
        let parsed = Parser::new(&arena, source, goal).parse();
        !parsed.panicked && parsed.diagnostics.is_empty()
    };
    if parses(SourceType::mjs()) || parses(SourceType::script()) {
        Ok(())
    } else {
        Err(SyntaxError::Grammar)
    }
}

/// Whether a program may define what `tests` call.
///
/// It looks for the name as a word, or for a way to define it out of sight: it says no only where
/// a call cannot find anything.
pub fn may_define_entry_point(source: &str, tests: &Tests) -> bool {
    let Some(entry_point) = tests.entry_point() else { return true };
    let name = entry_point.split('.').next().unwrap_or(entry_point);
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    source.split(|c: char| !is_part(c)).any(|word| word == name || INDIRECT.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::on_big_stack;

    fn said(source: &str) -> Result<(), SyntaxError> {
        on_big_stack(|stack| check(source, stack)).unwrap()
    }

    #[test]
    fn programs_parse_as_modules_or_as_scripts() {
        for source in [
            "",
            "\u{feff}const f = (a) => a + 1;",
            "#!/usr/bin/env node\nconsole.log(1)",
            "import fs from 'fs'; export const f = async () => { await 1; };",
            "with (a) { b = 010; }",
            "const { a = 1, ...rest } = b ?? {}; class A { #x = 1; static { } get y() { return this.#x } }",
            "for await (const x of y) {}",
            "var yield_ = function* () { yield* [1n, 2_000n] }; label: for (;;) break label;",
            "/(?<year>\\d{4})/u.exec(`a${`b${c}`}`) // comment",
        ] {
            assert_eq!(said(source), Ok(()), "{source}");
        }
    }

    #[test]
    fn what_is_no_javascript_is_refused() {
        for source in [
            "I do not know the answer, sorry.",
            "def f(x):\n    return x\n",
            "function f( {",
            "const = 1;",
            "return return",
            "let x = ;",
            "f(1, 2",
            "const f = (x: number): number => x;",
            "`${",
            "/unclosed",
            "\"a\nb\"",
            "a b c",
        ] {
            assert_eq!(said(source), Err(SyntaxError::Grammar), "{source}");
        }
    }

    #[test]
    fn source_over_64_kib_is_refused_by_its_length() {
        let long = "/".repeat(MAX_SOURCE_BYTES + 1);
        assert_eq!(said(&long), Err(SyntaxError::TooLong(MAX_SOURCE_BYTES + 1)));
        assert_eq!(said(&long[1..]), Ok(()));
    }

    #[test]
    fn a_program_without_the_name_that_tests_call_is_told_apart() {
        let tests = |entry: &str| {
            let line = format!(
                r#"{{"kind":"calls","entry_point":"{entry}","hidden":[{{"expected":1}}]}}"#
            );
            serde_json::from_str::<Tests>(&line).unwrap()
        };
        for source in [
            "function add() {}",
            "exports.x = 1",
            "module.exports = () => 1",
            "class Solution { add() {} }",
            "this['a' + 'dd'] = 1",
        ] {
            assert!(may_define_entry_point(source, &tests("add")), "{source}");
        }
        for source in ["", "function addAll() {}", "const plus = (a, b) => a + b"] {
            assert!(!may_define_entry_point(source, &tests("add")), "{source}");
        }
        assert!(may_define_entry_point("class Queue {}", &tests("Queue.push")));
        assert!(!may_define_entry_point("class Stack { push() {} }", &tests("Queue.push")));
        let stdio: Tests =
            serde_json::from_str(r#"{"kind":"stdio","hidden":[{"input":"","output":"1"}]}"#)
                .unwrap();
        assert!(may_define_entry_point("", &stdio));
    }
}
