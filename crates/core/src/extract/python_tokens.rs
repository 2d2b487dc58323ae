//! The tokens of a text that may be Python, by logical line.
//!
//! Only as much of Python's lexer as telling code from prose needs: strings with their prefixes,
//! comments, brackets that join lines, continued lines, names, numbers and marks. One pass.

/// A line as Python counts them: brackets and backslashes join several of the text's.
#[derive(Debug, Default)]
pub(super) struct LogicalLine<'a> {
    /// Blanks before it.
    pub(super) indent: usize,
    pub(super) tokens: Vec<PythonToken<'a>>,
}

/// A token.
#[derive(Debug, Clone, Copy)]
pub(super) struct PythonToken<'a> {
    pub(super) kind: TokenKind,
    pub(super) text: &'a str,
    /// It stands outside all brackets.
    pub(super) outside: bool,
}

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A name or a keyword.
    Name,
    /// A number.
    Number,
    /// A string.
    Text,
    /// Anything else.
    Mark,
}

/// Python's own bound on nested brackets.
const MAX_BRACKETS: usize = 200;

/// Operators of more than one character, longer ones first.
const MARKS: &[&str] = &[
    "**=", "//=", ">>=", "<<=", "...", "==", "!=", "<=", ">=", "->", ":=", "+=", "-=", "*=", "/=",
    "%=", "&=", "|=", "^=", "@=", "**", "//", "<<", ">>",
];

/// The logical lines of `text` that hold anything; `None` if a string or a bracket is not closed,
/// or a character stands where Python has no use for it.
pub(super) fn tokens(text: &str) -> Option<Vec<LogicalLine<'_>>> {
    let mut lexer = Lexer { text, at: 0, brackets: Vec::new(), lines: Vec::new(), line: None };
    while lexer.at < text.len() {
        lexer.step()?;
    }
    lexer.end_line();
    lexer.brackets.is_empty().then_some(lexer.lines)
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    brackets: Vec<u8>,
    lines: Vec<LogicalLine<'a>>,
    /// The line being read; `None` before its first token.
    line: Option<LogicalLine<'a>>,
}

impl Lexer<'_> {
    fn step(&mut self) -> Option<()> {
        let rest = &self.text[self.at..];
        let first = rest.chars().next()?;
        match first {
            '\n' | '\r' => {
                self.at += 1;
                if self.brackets.is_empty() {
                    self.end_line();
                }
            }
            ' ' | '\t' | '\u{c}' => self.at += 1,
            '#' => self.at += rest.find('\n').unwrap_or(rest.len()),
            '\\' => self.at += continuation(rest)?,
            '"' | '\'' => self.string(0)?,
            '0'..='9' => self.take(TokenKind::Number, number(rest)),
            _ if first == '_' || first.is_alphabetic() => self.name()?,
            _ => self.mark(first)?,
        }
        Some(())
    }

    /// A name, or the prefix of a string.
    fn name(&mut self) -> Option<()> {
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(rest.len());
        let quoted = rest[end..].starts_with(['"', '\'']);
        if quoted && end <= 2 && rest[..end].chars().all(|c| "rbfutRBFUT".contains(c)) {
            return self.string(end);
        }
        self.take(TokenKind::Name, end);
        Some(())
    }

    /// A string whose prefix has `prefix` bytes.
    fn string(&mut self, prefix: usize) -> Option<()> {
        let rest = &self.text[self.at + prefix..];
        let quote = &rest[..1];
        let long = rest.len() >= 3 && rest[..].starts_with(&quote.repeat(3));
        let (open, close) = if long { (3, quote.repeat(3)) } else { (1, quote.to_owned()) };
        let mut at = open;
        loop {
            let tail = &rest[at..];
            if tail.starts_with(&close) {
                self.take(TokenKind::Text, prefix + at + close.len());
                return Some(());
            }
            let next = tail.chars().next()?;
            if !long && matches!(next, '\n' | '\r') {
                return None;
            }
            at += next.len_utf8();
            if next == '\\' {
                at += rest[at..].chars().next()?.len_utf8();
            }
        }
    }

    fn mark(&mut self, first: char) -> Option<()> {
        let rest = &self.text[self.at..];
        match first {
            '(' | '[' | '{' if self.brackets.len() < MAX_BRACKETS => {
                self.take(TokenKind::Mark, 1);
                self.brackets.push(rest.as_bytes()[0]);
            }
            ')' | ']' | '}' => {
                let open = self.brackets.pop()?;
                if !matches!((open, first), (b'(', ')') | (b'[', ']') | (b'{', '}')) {
                    return None;
                }
                self.take(TokenKind::Mark, 1);
            }
            ';' if self.brackets.is_empty() => self.take(TokenKind::Mark, 1),
            _ => {
                let long = MARKS.iter().find(|mark| rest.starts_with(**mark));
                if long.is_none() && !"+-*/%@&|^~<>=.,:".contains(first) {
                    return None;
                }
                self.take(TokenKind::Mark, long.map_or(1, |mark| mark.len()));
            }
        }
        Some(())
    }

    /// Takes in a token of `length` bytes.
    fn take(&mut self, kind: TokenKind, length: usize) {
        let (start, outside) = (self.at, self.brackets.is_empty());
        let text = &self.text[start..start + length];
        let line_start = || self.text[..start].rfind(['\n', '\r']).map_or(0, |at| at + 1);
        let line = self.line.get_or_insert_with(|| LogicalLine {
            indent: start - line_start(),
            tokens: Vec::new(),
        });
        line.tokens.push(PythonToken { kind, text, outside });
        self.at += length;
    }

    fn end_line(&mut self) {
        self.lines.extend(self.line.take());
    }
}

/// The length of a backslash with its newline; nothing else may follow one.
fn continuation(rest: &str) -> Option<usize> {
    ["\\\r\n", "\\\n", "\\\r"]
        .iter()
        .find(|joint| rest.starts_with(**joint))
        .map(|joint| joint.len())
}

/// The length of a number: digits, letters, dots, and the sign of an exponent.
fn number(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let belongs = |at: usize| {
        let sign = matches!(bytes[at], b'+' | b'-')
            && matches!(bytes[at - 1], b'e' | b'E')
            && !rest.starts_with("0x");
        sign || bytes[at].is_ascii_alphanumeric() || matches!(bytes[at], b'.' | b'_')
    };
    (1..bytes.len()).find(|&at| !belongs(at)).unwrap_or(bytes.len())
}
