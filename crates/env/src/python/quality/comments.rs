//! Comments: which of them say something about the code.
//!
//! A good one has three words or more, is not there twice, shares a word with a name of the program,
//! and is not code. All others are junk.

use std::collections::HashSet;

use ruff_python_ast::token::TokenKind;
use ruff_text_size::{Ranged, TextRange};

use super::live::Live;
use super::words::{self, Words};
use crate::python::syntax::Module;

/// How many comments there are of each kind.
#[derive(Debug, Default)]
pub(super) struct Comments {
    pub(super) good: u32,
    pub(super) junk: u32,
    pub(super) words: u32,
}

impl Comments {
    /// Those that do not stand in code that is never reached.
    pub(super) fn of(module: &Module<'_>, live: &Live<'_>, names: &Words) -> Self {
        let mut comments = Self::default();
        let mut seen = HashSet::new();
        for token in module.parsed.tokens() {
            if token.kind() != TokenKind::Comment || is_unreached(token.range(), live) {
                continue;
            }
            let text = module.source[token.range()].trim_start_matches('#').trim();
            let said = words::text(text);
            comments.words = comments.words.saturating_add(super::count(said.len()));
            let about = said.len() >= 3 && said.iter().any(|word| names.contains(word));
            if about && !is_code(text) && seen.insert(said) {
                comments.good += 1;
            } else {
                comments.junk += 1;
            }
        }
        comments
    }
}

fn is_unreached(range: TextRange, live: &Live<'_>) -> bool {
    live.body.iter().filter(|stmt| stmt.range().contains_range(range)).any(|stmt| {
        let is_live = |name: &str, start| {
            live.definitions
                .iter()
                .any(|d| d.name() == name && d.body().first().map(Ranged::start) == start)
        };
        match stmt {
            ruff_python_ast::Stmt::FunctionDef(function) => {
                !is_live(&function.name, function.body.first().map(Ranged::start))
            }
            ruff_python_ast::Stmt::ClassDef(class) => {
                !is_live(&class.name, class.body.first().map(Ranged::start))
            }
            _ => false,
        }
    })
}

/// A longer comment is not taken for code. The parser's time grows faster than the nesting of its
/// input, and a comment is not held to the limits of a program.
const MAX_CODE_BYTES: usize = 200;

/// Prose seldom has these, and prose that has them seldom parses.
fn is_code(text: &str) -> bool {
    if text.len() > MAX_CODE_BYTES {
        return false;
    }
    let marks = text.contains(['=', '(', '[', '+', '*', '%'])
        || ["return ", "import ", "for ", "if ", "print ", "pass", "del ", "not ", "while "]
            .iter()
            .any(|word| text.starts_with(word));
    let body = text.trim_end_matches(':');
    marks
        && (ruff_python_parser::parse_module(text).is_ok()
            || ruff_python_parser::parse_module(&format!("{body}: pass")).is_ok())
}
