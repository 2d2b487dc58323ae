//! A program from its text, scanned and not parsed: for programs that do not compile, and for JavaScript.
//!
//! Every name that is not a keyword is written as how recently it was used, since nobody knows which of them
//! the program binds; one behind a dot, such as a method, keeps its spelling. Comments, layout, semicolons,
//! kinds of quotes and strings that are a whole line (docstrings) are left out.

use whetstone_core::program::Language;
use whetstone_core::string_literal::string_length;

use super::grams::{Token, token};
use super::recency::Recency;

/// Kinds of tokens.
const WORD: u8 = b'w';
const STRING: u8 = b's';
const SIGN: u8 = b'.';

/// Words of Python and of JavaScript that are no names.
const KEYWORDS: [&str; 61] = [
    "False",
    "None",
    "True",
    "and",
    "as",
    "assert",
    "async",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "def",
    "default",
    "del",
    "delete",
    "do",
    "elif",
    "else",
    "except",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "from",
    "function",
    "global",
    "if",
    "import",
    "in",
    "instanceof",
    "is",
    "lambda",
    "let",
    "match",
    "new",
    "nonlocal",
    "not",
    "null",
    "of",
    "or",
    "pass",
    "raise",
    "return",
    "static",
    "super",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "undefined",
    "var",
    "void",
    "while",
    "with",
    "yield",
];

/// The tokens of a program's text.
pub(super) fn tokens(source: &str, language: Language) -> Vec<Token> {
    let mut scan =
        Scan { language, tokens: Vec::new(), names: Recency::new(), line_start: true, dot: false };
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let length = scan.length(rest, first);
        let (piece, after) = rest.split_at(length);
        scan.take(piece, after, first);
        rest = after;
    }
    scan.tokens
}

struct Scan<'a> {
    language: Language,
    tokens: Vec<Token>,
    names: Recency<&'a str>,
    /// Nothing but blanks stands before on this line.
    line_start: bool,
    /// A dot stands before.
    dot: bool,
}

impl<'a> Scan<'a> {
    /// Bytes of the piece that `rest` starts with.
    fn length(&self, rest: &str, first: char) -> usize {
        if let Some(length) = self.comment(rest) {
            return length;
        }
        match first {
            '"' | '\'' => string_length(rest),
            '`' if self.language == Language::Javascript => string_length(rest),
            first if is_word(first) => rest.find(|letter| !is_word(letter)).unwrap_or(rest.len()),
            first => first.len_utf8(),
        }
    }

    fn comment(&self, rest: &str) -> Option<usize> {
        let to = |end: &str, more: usize| rest.find(end).map_or(rest.len(), |at| at + more);
        match self.language {
            Language::Python => rest.starts_with('#').then(|| to("\n", 0)),
            Language::Javascript if rest.starts_with("//") => Some(to("\n", 0)),
            Language::Javascript => rest.starts_with("/*").then(|| to("*/", 2)),
        }
    }

    fn take(&mut self, piece: &'a str, after: &str, first: char) {
        if first.is_whitespace() {
            self.line_start |= first == '\n';
            return;
        }
        if self.comment(piece).is_some() || first == ';' {
            return;
        }
        let starts_line = std::mem::replace(&mut self.line_start, false);
        let after_dot = std::mem::replace(&mut self.dot, first == '.');
        if is_word(first) {
            let is_text = after_dot || first.is_numeric() || KEYWORDS.binary_search(&piece).is_ok();
            let found = if is_text { token(WORD, piece) } else { self.names.use_of(piece) };
            self.tokens.push(found);
        } else if matches!(first, '"' | '\'' | '`') {
            let ends_line = after.trim_start_matches([' ', '\t', '\r']).starts_with('\n');
            let is_docstring = self.language == Language::Python && starts_line && ends_line;
            if !is_docstring {
                self.tokens.push(token(STRING, piece.trim_matches(first)));
            }
        } else {
            self.tokens.push(token(SIGN, piece));
        }
    }
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '$'
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn same(one: &str, other: &str, language: Language) {
        assert_eq!(tokens(one, language), tokens(other, language), "{one:?} {other:?}");
    }

    #[test]
    fn keywords_are_sorted() {
        assert!(KEYWORDS.is_sorted());
    }

    #[test]
    fn names_comments_layout_and_quotes_do_not_matter() {
        let python = "def f(a, b:\n    # add\n    'adds'\n    return a + len('x')\n";
        same(python, "def g(x , y :\n  return x+size(\"x\")", Language::Python);
        let script = "/* add\n */ const f = (a) => { return a.map(b => b + 1); } // end";
        same(script, "const g=(x)=>{\nreturn x.map(y=>y+1)}", Language::Javascript);
    }

    #[test]
    fn what_is_called_and_in_which_order_matters() {
        let differ = |one, other| {
            assert_ne!(tokens(one, Language::Python), tokens(other, Language::Python));
        };
        differ("a.append(b", "a.pop(b");
        differ("def f(a, b): a - b", "def f(a, b): b - a");
        differ("x = 1", "x = 2");
        differ("x = 'a'", "x = 'b'");
    }

    proptest! {
        #[test]
        fn any_text_is_scanned(text in ".{0,200}") {
            for language in [Language::Python, Language::Javascript] {
                prop_assert!(tokens(&text, language).len() <= text.len());
            }
        }
    }
}
