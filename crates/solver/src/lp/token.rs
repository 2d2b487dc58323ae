//! The words of an LP file.

use crate::format::{FormatError, check_name, shown};

/// A word with the line it is on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Word<'a> {
    pub(super) token: Token<'a>,
    pub(super) line: usize,
    /// Whether it is the first of its line.
    pub(super) is_first: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token<'a> {
    Number(f64),
    Name(&'a str),
    Plus,
    Minus,
    Colon,
    /// `<`, `<=` or `=<`.
    AtMost,
    /// `>`, `>=` or `=>`.
    AtLeast,
    Equal,
}

/// Splits a text into its words.
pub(super) fn words(text: &str) -> Result<Vec<Word<'_>>, FormatError> {
    let mut words = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.split_once('\\').map_or(line, |(before, _)| before);
        let mut rest = line.trim_start();
        let mut is_first = true;
        while !rest.is_empty() {
            let (token, length) = next(rest, index + 1)?;
            words.push(Word { token, line: index + 1, is_first });
            is_first = false;
            rest = rest[length..].trim_start();
        }
    }
    Ok(words)
}

/// The first token of a text that is not empty, and its length in bytes.
fn next(text: &str, line: usize) -> Result<(Token<'_>, usize), FormatError> {
    let mut characters = text.chars();
    let first = characters.next().unwrap_or(' ');
    let second = characters.next();
    match (first, second) {
        ('<', Some('=')) | ('=', Some('<')) => Ok((Token::AtMost, 2)),
        ('>', Some('=')) | ('=', Some('>')) => Ok((Token::AtLeast, 2)),
        ('<', _) => Ok((Token::AtMost, 1)),
        ('>', _) => Ok((Token::AtLeast, 1)),
        ('=', _) => Ok((Token::Equal, 1)),
        ('+', _) => Ok((Token::Plus, 1)),
        ('-', _) => Ok((Token::Minus, 1)),
        (':', _) => Ok((Token::Colon, 1)),
        ('0'..='9' | '.', _) => number(text, line),
        _ if is_name(first) => name(text, line),
        _ => {
            let problem = format!("character `{}`", first.escape_debug());
            let hint = "expected a linear expression; quadratic terms and special ordered sets are not read";
            Err(FormatError::new(line, problem, hint))
        }
    }
}

/// Whether a character may stand in a name.
pub(super) fn is_name(character: char) -> bool {
    character.is_alphanumeric() || "!\"#$%&(),.;?@_'`{}~/|".contains(character)
}

fn number(text: &str, line: usize) -> Result<(Token<'_>, usize), FormatError> {
    let digits = |from: usize| text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let mut length = digits(0);
    if text[length..].starts_with('.') {
        length += 1;
        length += digits(length);
    }
    let exponent = text[length..].strip_prefix(['e', 'E']);
    if let Some(exponent) = exponent {
        let sign = usize::from(exponent.starts_with(['+', '-']));
        let count = digits(length + 1 + sign);
        if count > 0 {
            length += 1 + sign + count;
        }
    }
    if let Ok(value) = text[..length].parse() {
        Ok((Token::Number(value), length))
    } else {
        let problem = format!("`{}`, expected a number", shown(text));
        Err(FormatError::new(
            line,
            problem,
            "write it as 12, 0.5 or 1e-3; no name begins with a dot",
        ))
    }
}

fn name(text: &str, line: usize) -> Result<(Token<'_>, usize), FormatError> {
    let length = text.find(|character| !is_name(character)).unwrap_or(text.len());
    let name = &text[..length];
    check_name(name, line)?;
    Ok((Token::Name(name), length))
}
