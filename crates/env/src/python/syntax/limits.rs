//! What `CPython` refuses for its depth: brackets, indentation, long integers.
//!
//! Figures of `CPython`: `MAXLEVEL` 200 and `MAXINDENT` 100 of its tokenizer (the first level of
//! indentation is the empty one), and 4,300 digits of a decimal integer. Nested blocks and the depth
//! of the tree are counted in [`super::semantic`].

use ruff_python_ast::ModModule;
use ruff_python_ast::token::TokenKind;
use ruff_python_parser::lexer::lex;
use ruff_python_parser::{Mode, Parsed};
use ruff_text_size::{Ranged, TextSize};

use super::Problem;

const BRACKETS: u32 = 200;
const INDENTS: u32 = 99;
const DIGITS: usize = 4300;

/// `MAXFSTRINGLEVEL` of `CPython` 3.12; older ones cannot come near it.
const STRINGS: u32 = 150;

/// Refuses f-strings inside f-strings beyond all measure, before anything is parsed.
///
/// The time that the parser takes for these grows with the square of their depth: seconds for the
/// longest source. So a source with many of them is cut into tokens first, which takes no longer
/// than its length.
pub(super) fn nested_strings(source: &str) -> Result<(), Problem> {
    let prefixed =
        |pair: &[u8]| matches!(pair, [b'f' | b'F' | b't' | b'T' | b'r' | b'R', b'\'' | b'"']);
    let strings = source.as_bytes().windows(2).filter(|pair| prefixed(pair)).count();
    if strings <= STRINGS as usize {
        return Ok(());
    }
    let mut lexer = lex(source, Mode::Module);
    let mut depth = 0_u32;
    loop {
        match lexer.next_token() {
            TokenKind::FStringStart | TokenKind::TStringStart => depth += 1,
            TokenKind::FStringEnd | TokenKind::TStringEnd => depth = depth.saturating_sub(1),
            TokenKind::EndOfFile => return Ok(()),
            _ => {}
        }
        if depth > STRINGS {
            let message = "too many nested f-strings".to_owned();
            return Err(Problem { at: TextSize::new(0), message });
        }
    }
}

/// Looks at every token.
pub(super) fn check(parsed: &Parsed<ModModule>, source: &str) -> Result<(), Problem> {
    let (mut brackets, mut indents) = (0_u32, 0_u32);
    for token in parsed.tokens() {
        let problem = match token.kind() {
            TokenKind::Lpar | TokenKind::Lsqb | TokenKind::Lbrace => {
                brackets += 1;
                (brackets > BRACKETS).then_some("too many nested parentheses")
            }
            TokenKind::Rpar | TokenKind::Rsqb | TokenKind::Rbrace => {
                brackets = brackets.saturating_sub(1);
                None
            }
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
