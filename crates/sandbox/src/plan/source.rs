//! Python source of a task, parsed within bounds.
//!
//! A parser recurses with what it reads, so source is looked over once before: brackets inside one
//! another, and operators in a row, are counted and refused where no honest test has so many. Line
//! ends become `\n` first, as `CPython` reads them.

use ruff_python_ast::token::TokenKind;
use ruff_python_ast::{ModModule, PythonVersion};
use ruff_python_parser::{Mode, ParseOptions, Parsed, parse};
use ruff_text_size::Ranged as _;

/// The maximum length of a test or a setup.
pub const MAX_SOURCE_BYTES: usize = 64 << 10;

/// The maximum nesting depth of brackets.
const MAX_BRACKETS: usize = 200;

/// How many operators may wait for one another: `1 + 1 + …`, `not not …`, `f()()…`.
const MAX_CHAIN: usize = 1000;

/// Why source cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// Longer than a test has any need to be.
    #[error("it has {0} bytes, and {MAX_SOURCE_BYTES} are the limit")]
    Long(usize),
    /// Deeper than a parser can be trusted with.
    #[error("line {0}: too many brackets inside one another, or operators in a row")]
    Deep(usize),
    /// Not Python.
    #[error("it is not valid Python: line {line}, column {column}: {problem}")]
    Syntax {
        /// From 1.
        line: usize,
        /// From 1, in characters.
        column: usize,
        /// The parser's message.
        problem: String,
    },
    /// Python, but not at the top of a module.
    #[error("it is not valid Python: `return`, `yield` or `await` outside of a function")]
    Outside,
    /// More than can be followed in a time that is known.
    #[error("too many names stand for too many values: write it as several tests, or shorter")]
    Tangled,
    /// The program would be asked whether its own answer is right.
    #[error(
        "line {line}: neither Python nor the setup has `{name}`, so it would be the program that \
         says whether its own answer is right; define or import it in the setup"
    )]
    SelfJudged {
        /// From 1.
        line: usize,
        /// The function, or the module.
        name: String,
    },
    /// The same, by a helper of the setup.
    #[error(
        "line {line} of the setup: neither Python nor the setup has `{name}`, so it would be the \
         program that says whether its own answer is right; define or import it in the setup"
    )]
    SelfJudgedInSetup {
        /// From 1.
        line: usize,
        /// The function, or the module.
        name: String,
    },
}

/// Source with the tree that it is.
pub(super) struct ParsedSource {
    pub(super) text: String,
    pub(super) tree: Parsed<ModModule>,
}

impl ParsedSource {
    /// Parses a module.
    pub(super) fn parse(text: &str) -> Result<Self, SourceError> {
        if text.len() > MAX_SOURCE_BYTES {
            return Err(SourceError::Long(text.len()));
        }
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        survey(&text)?;
        let options = ParseOptions::from(Mode::Module).with_target_version(PythonVersion::latest());
        let parsed = parse(&text, options).map_err(|err| {
            let problem = err.error.to_string();
            syntax(&text, err.location.start().to_usize(), problem)
        })?;
        let tree =
            parsed.try_into_module().ok_or_else(|| syntax(&text, 0, "no module".to_owned()))?;
        let text = without_comments(&text, &tree);
        Ok(Self { text, tree })
    }
}

/// The same text with blanks for comments: they may say what is expected, and parts of the text go to the
/// program.
fn without_comments(text: &str, tree: &Parsed<ModModule>) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for token in tree.tokens().iter().filter(|token| token.kind() == TokenKind::Comment) {
        let range = token.range();
        if let Some(comment) = bytes.get_mut(range.start().to_usize()..range.end().to_usize()) {
            comment.fill(b' ');
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

fn syntax(text: &str, at: usize, problem: String) -> SourceError {
    let before = text.get(..at).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.matches('\n').count() + 1;
    SourceError::Syntax { line, column: before[start..].chars().count() + 1, problem }
}

/// Refuses what would make a parser recurse too deep.
fn survey(text: &str) -> Result<(), SourceError> {
    let mut survey = NestingSurvey::new(text, Strings::Skipped);
    let mut ending = survey.run();
    if ending == Ending::Interpolated {
        survey = NestingSurvey::new(text, Strings::Counted);
        ending = survey.run();
    }
    match ending {
        Ending::Deep => {
            let newlines = survey.bytes[..survey.at].iter().filter(|byte| **byte == b'\n');
            Err(SourceError::Deep(newlines.count() + 1))
        }
        Ending::Source | Ending::Interpolated => Ok(()),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Strings {
    Skipped,
    Counted,
}

#[derive(PartialEq, Eq)]
enum Ending {
    /// The source's own.
    Source,
    /// A string that holds expressions has no simple end: everything is to be counted as code.
    Interpolated,
    /// Too deep.
    Deep,
}

/// The pending operators at one depth of brackets.
#[derive(Default)]
struct BracketLevel {
    chain: usize,
    /// The part of it that a comma does not end.
    lambdas: usize,
}

struct NestingSurvey<'a> {
    bytes: &'a [u8],
    strings: Strings,
    at: usize,
    /// The pending operators at all depths.
    waiting: usize,
    level: BracketLevel,
    outer: Vec<BracketLevel>,
}

impl<'a> NestingSurvey<'a> {
    fn new(text: &'a str, strings: Strings) -> Self {
        let (level, outer) = (BracketLevel::default(), Vec::new());
        Self { bytes: text.as_bytes(), strings, at: 0, waiting: 0, level, outer }
    }

    fn run(&mut self) -> Ending {
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b'#' if self.strings == Strings::Skipped => self.comment(),
                b'"' | b'\'' if self.strings == Strings::Skipped => {
                    if self.is_interpolated() {
                        return Ending::Interpolated;
                    }
                    self.string(byte);
                }
                b'a'..=b'z' | b'A'..=b'Z' | b'_' | 0x80.. => self.word(),
                _ => {
                    self.sign(byte);
                    self.at += 1;
                }
            }
            if self.waiting > MAX_CHAIN || self.outer.len() > MAX_BRACKETS {
                return Ending::Deep;
            }
        }
        Ending::Source
    }

    fn sign(&mut self, byte: u8) {
        match byte {
            b'(' | b'[' | b'{' => self.outer.push(std::mem::take(&mut self.level)),
            b')' | b']' | b'}' => {
                self.waiting -= self.level.chain;
                self.level = self.outer.pop().unwrap_or_default();
                self.link();
            }
            b',' | b';' => {
                self.waiting -= self.level.chain - self.level.lambdas;
                self.level.chain = self.level.lambdas;
            }
            b'\n' if self.outer.is_empty() && !self.bytes[..self.at].ends_with(b"\\") => {
                self.waiting = 0;
                self.level = BracketLevel::default();
            }
            _ if b"+-*/%@&|^~<>=!.".contains(&byte) => self.link(),
            _ => {}
        }
    }

    fn link(&mut self) {
        self.level.chain += 1;
        self.waiting += 1;
    }

    fn word(&mut self) {
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|byte| !is_word(byte)).unwrap_or(rest.len());
        match &rest[..length] {
            b"lambda" => {
                self.link();
                self.level.lambdas += 1;
            }
            b"not" | b"if" | b"else" | b"await" | b"yield" | b"and" | b"or" | b"in" | b"is" => {
                self.link();
            }
            _ => {}
        }
        self.at += length;
    }

    fn comment(&mut self) {
        let rest = &self.bytes[self.at..];
        self.at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    }

    /// Whether the quote here opens a string that may hold expressions: `f"`, `rt'`.
    fn is_interpolated(&self) -> bool {
        let before = self.bytes[..self.at].iter().rev();
        let letters = before.take_while(|byte| byte.is_ascii_alphabetic());
        letters.take(3).any(|byte| matches!(byte, b'f' | b'F' | b't' | b'T'))
    }

    /// Skips a string; a short one ends with its line at the latest, as a mistake.
    fn string(&mut self, quote: u8) {
        let triple = [quote; 3];
        let is_long = self.bytes[self.at..].starts_with(&triple);
        let end = if is_long { &triple[..] } else { &triple[..1] };
        self.at += end.len();
        while let Some(&byte) = self.bytes.get(self.at) {
            if self.bytes[self.at..].starts_with(end) {
                self.at += end.len();
                return;
            }
            match byte {
                b'\n' if !is_long => return,
                b'\\' => self.at = (self.at + 2).min(self.bytes.len()),
                _ => self.at += 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a small stack, so that a limit that is too high shows.
    fn parse(text: &str) -> Result<(), SourceError> {
        let text = text.to_owned();
        let small = std::thread::Builder::new().stack_size(2 << 20);
        small.spawn(move || ParsedSource::parse(&text).map(drop)).unwrap().join().unwrap()
    }

    #[test]
    fn an_error_names_line_and_column() {
        let err = parse("x = 1\r\nassert (ß == = 2)\r\n").unwrap_err();
        let SourceError::Syntax { line, column, .. } = &err else { panic!("{err}") };
        assert_eq!((*line, *column), (2, 14), "{err}");
        assert!(
            err.to_string().starts_with("it is not valid Python: line 2, column 14: "),
            "{err}"
        );
    }

    #[test]
    fn what_is_too_long_is_not_parsed() {
        let text = " ".repeat(MAX_SOURCE_BYTES + 1);
        assert_eq!(parse(&text), Err(SourceError::Long(MAX_SOURCE_BYTES + 1)));
    }

    #[track_caller]
    fn deep(open: &str, close: &str, fits: usize, too_many: usize) {
        let nested =
            |count: usize| format!("x = 1\n{}x{}", open.repeat(count), close.repeat(count));
        assert_eq!(parse(&nested(fits)), Ok(()), "{open}{close}");
        let refused = parse(&nested(too_many));
        assert!(matches!(refused, Err(SourceError::Deep(2..))), "{open}{close}: {refused:?}");
    }

    #[test]
    fn as_deep_as_the_limits_is_parsed_and_deeper_is_refused() {
        for (open, close) in [("(", ")"), ("[", "]"), ("{1:", "}"), ("f(", ")"), ("-(", ")")] {
            deep(open, close, MAX_BRACKETS, MAX_BRACKETS + 1);
        }
        for (open, close) in [("not ", ""), ("-", ""), ("1 + ", ""), ("", ".a"), ("", "()")] {
            deep(open, close, MAX_CHAIN, MAX_CHAIN + 1);
        }
        for (open, close) in [("lambda a, b: ", ""), ("", "[0]"), ("", "\\\n+1")] {
            deep(open, close, MAX_CHAIN, MAX_CHAIN + 1);
        }
        for (open, close) in [("1 if 1 else ", ""), ("1**", "")] {
            deep(open, close, MAX_CHAIN / 2, MAX_CHAIN / 2 + 1);
        }
        let both = format!("{}{}", "-(".repeat(MAX_BRACKETS), "-".repeat(MAX_CHAIN));
        assert_eq!(parse(&both), Err(SourceError::Deep(1)));
    }

    #[test]
    fn what_stands_in_strings_and_comments_is_not_counted_unless_it_may_be_code() {
        let many = "([{-".repeat(1000);
        assert_eq!(parse(&format!("f('{many}')")), Ok(()));
        assert_eq!(parse(&format!(r#"f(r'\'', "\"{many}", '''\'{many}''')"#)), Ok(()));
        assert_eq!(parse(&format!("x = 1  # {many}")), Ok(()));
        assert_eq!(parse(&format!("f('left', '{many}')")), Ok(()));
        assert_eq!(parse(&format!("f'{{{many}'")), Err(SourceError::Deep(1)));
        assert_eq!(parse(&format!(r"rF'\'' '{many}'")), Err(SourceError::Deep(1)));
    }

    #[test]
    fn long_lists_are_not_deep() {
        assert_eq!(parse(&format!("x = [{}]", "(-1.5, +2), ".repeat(4000))), Ok(()));
        assert_eq!(parse(&"x = -1.5\n".repeat(4000)), Ok(()));
        assert_eq!(parse(&"x = -1.5; ".repeat(4000)), Ok(()));
    }
}
