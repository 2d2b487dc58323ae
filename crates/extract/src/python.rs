//! Whether a text without any fence is a Python program.
//!
//! "Parses as Python" alone is too little: `Yes`, `Answer: 42` and `not sure` all parse. A program
//! also does something, so at least one statement must define, import, assign, branch, loop or
//! call.
//!
//! Ruff's parser and the dropping of its tree recurse, and a stack overflow aborts the process.
//! So the parse runs on a stack that is as large as the text could need: 8 KiB for each byte of a
//! text capped at 64 KiB. Every nesting tried stays below half of that, and a stack is only
//! committed as it is used.

use ruff_python_ast::{Expr, Stmt};
use ruff_python_parser::parse_module;

/// Longest text that is considered.
const MAX_BYTES: usize = 64 << 10;
const STACK_BYTES_PER_BYTE: usize = 8 << 10;
const LEAST_STACK_BYTES: usize = 256 << 10;

/// Whether `text` is a Python program that does something.
pub(crate) fn is_program(text: &str) -> bool {
    if text.len() > MAX_BYTES || text.trim().is_empty() {
        return false;
    }
    let stack_bytes = (text.len() * STACK_BYTES_PER_BYTE).max(LEAST_STACK_BYTES);
    stacker::maybe_grow(stack_bytes, stack_bytes, || {
        parse_module(text).is_ok_and(|module| module.suite().iter().any(acts))
    })
}

fn acts(statement: &Stmt) -> bool {
    match statement {
        Stmt::FunctionDef(_)
        | Stmt::ClassDef(_)
        | Stmt::Import(_)
        | Stmt::ImportFrom(_)
        | Stmt::Assign(_)
        | Stmt::AugAssign(_)
        | Stmt::For(_)
        | Stmt::While(_)
        | Stmt::If(_)
        | Stmt::With(_)
        | Stmt::Match(_)
        | Stmt::Try(_) => true,
        // `Note: this` parses as a declaration; with a value it is an assignment.
        Stmt::AnnAssign(declaration) => declaration.value.is_some(),
        Stmt::Expr(expression) => matches!(*expression.value, Expr::Call(_)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_programs() {
        for text in ["x = 1", "print(input())", "def f(): pass", "import os", "x: int = 3"] {
            assert!(is_program(text), "{text}");
        }
    }

    #[test]
    fn prose_that_happens_to_parse_is_none() {
        for text in ["Yes", "Answer: 42", "not sure", "Done; thanks", "...", "\"quoted\"", "", "1"]
        {
            assert!(!is_program(text), "{text}");
        }
    }

    #[test]
    fn text_that_does_not_parse_is_none() {
        for text in ["I cannot do that.", "def f(:", "x = = 1", "int main() { return 0; }"] {
            assert!(!is_program(text), "{text}");
        }
    }

    #[test]
    fn nesting_as_deep_as_the_cap_allows_does_not_overflow() {
        for piece in ["(", "[", "-", "not ", "lambda:", "f(", "{0:", "a.", "a()", "x if y else "] {
            let text = piece.repeat(MAX_BYTES / piece.len());
            assert!(!is_program(&text), "{piece:?} without its end");
        }
        for piece in ["-", "not ", "lambda:", "x**", "a if b else "] {
            let text = format!("x={}1", piece.repeat((MAX_BYTES - 3) / piece.len()));
            assert!(is_program(&text), "{piece:?} with its end");
        }
        for piece in [".a", "()", "[0]"] {
            let text = format!("x=y{}", piece.repeat((MAX_BYTES - 3) / piece.len()));
            assert!(is_program(&text), "{piece:?} behind a name");
        }
    }

    #[test]
    fn a_text_beyond_the_cap_is_not_considered() {
        let text = format!("x = 1\n{}", "# comment\n".repeat(MAX_BYTES / 10 + 1));
        assert!(text.len() > MAX_BYTES && !is_program(&text));
    }
}
