//! What `CPython` refuses for its depth: brackets, indentation, long integers.
//!
//! Figures of `CPython`: `MAXLEVEL` 200 and `MAXINDENT` 100 of its tokenizer (the first level of
//! indentation is the empty one), and 4,300 digits of a decimal integer. Nested blocks and the depth
//! of the tree are counted in [`super::semantic`].

use ruff_python_ast::ModModule;
use ruff_python_ast::token::TokenKind;
use ruff_python_parser::lexer::lex;
use ruff_python_parser::{Mode, Parsed};
use ruff_text_size::Ranged;

use super::Problem;

const BRACKETS: usize = 200;
const INDENTS: u32 = 99;
const DIGITS: usize = 4300;

/// `MAXFSTRINGLEVEL` of `CPython` 3.12; older ones cannot come near it.
const STRINGS: usize = 150;

/// Refuses brackets and f-strings that are nested beyond all measure, before anything is parsed.
///
/// The time that the parser takes for these grows faster than their depth: seconds for the longest
/// source. So a source that has enough of them is cut into tokens first, which takes no longer than
/// its length.
pub(super) fn nesting(source: &str) -> Result<(), Problem> {
    let bytes = source.as_bytes();
    let opening = bytes.iter().filter(|byte| matches!(byte, b'(' | b'[' | b'{')).count();
    let prefixed =
        |pair: &[u8]| matches!(pair, [b'f' | b'F' | b't' | b'T' | b'r' | b'R', b'\'' | b'"']);
    let strings = bytes.windows(2).filter(|pair| prefixed(pair)).count();
    if opening <= BRACKETS && strings <= STRINGS {
        return Ok(());
    }
    let mut lexer = lex(source, Mode::Module);
    let (mut brackets, mut strings) = (0_usize, 0_usize);
    loop {
        match lexer.next_token() {
            TokenKind::Lpar | TokenKind::Lsqb | TokenKind::Lbrace => brackets += 1,
            TokenKind::Rpar | TokenKind::Rsqb | TokenKind::Rbrace => {
                brackets = brackets.saturating_sub(1);
            }
            TokenKind::FStringStart | TokenKind::TStringStart => strings += 1,
            TokenKind::FStringEnd | TokenKind::TStringEnd => strings = strings.saturating_sub(1),
            TokenKind::EndOfFile => return Ok(()),
            _ => {}
        }
        if brackets > BRACKETS {
            return Err(Problem::at(0, "too many nested parentheses"));
        }
        if strings > STRINGS {
            return Err(Problem::at(0, "too many nested f-strings"));
        }
    }
}

/// Looks at the tokens of what was parsed.
pub(super) fn check(parsed: &Parsed<ModModule>, source: &str) -> Result<(), Problem> {
    let mut indents = 0_u32;
    for token in parsed.tokens() {
        let problem = match token.kind() {
            TokenKind::Indent => {
                indents += 1;
                (indents > INDENTS).then_some("too many levels of indentation")
            }
            TokenKind::Dedent => {
                indents = indents.saturating_sub(1);
                None
            }
            TokenKind::Int => {
                too_long(&source[token.range()]).then_some("an integer of more than 4300 digits")
            }
            _ => None,
        };
        if let Some(message) = problem {
            return Err(Problem { at: token.start(), message: message.to_owned() });
        }
    }
    Ok(())
}

/// Only decimal integers: the other bases convert in linear time and have no limit.
fn too_long(literal: &str) -> bool {
    literal.len() > DIGITS
        && literal.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_')
        && literal.bytes().filter(u8::is_ascii_digit).count() > DIGITS
}
