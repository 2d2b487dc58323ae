//! Indentation with tabs, as `CPython`'s tokenizer measures it.
//!
//! `CPython` measures each indentation twice, with tabs of 8 columns and of 1, and refuses a line that
//! the two would place differently. Ruff's lexer measures with other widths, so a program may look
//! consistent to it that `CPython` refuses. Only programs with a tab or a form feed are looked at.

use ruff_python_ast::ModModule;
use ruff_python_ast::token::TokenKind;
use ruff_python_parser::Parsed;
use ruff_text_size::Ranged;

use super::Problem;

/// An indentation with wide tabs and with narrow ones.
type Columns = (usize, usize);

/// Checks every line that begins a statement.
pub(super) fn check(parsed: &Parsed<ModModule>, source: &str) -> Result<(), Problem> {
    if !source.bytes().any(|byte| matches!(byte, b'\t' | 0x0c)) {
        return Ok(());
    }
    let mut levels: Vec<Columns> = vec![(0, 0)];
    let mut at_start = true;
    for token in parsed.tokens() {
        match token.kind() {
            TokenKind::Newline => at_start = true,
            TokenKind::Comment
            | TokenKind::NonLogicalNewline
            | TokenKind::Indent
            | TokenKind::Dedent
            | TokenKind::EndOfFile => {}
            _ if at_start => {
                at_start = false;
                let columns = columns(source, token.start().to_usize());
                if !place(&mut levels, columns) {
                    let message = "inconsistent use of tabs and spaces in indentation".to_owned();
                    return Err(Problem { at: token.start(), message });
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn columns(source: &str, token: usize) -> Columns {
    let start = source[..token].rfind(['\n', '\r']).map_or(0, |newline| newline + 1);
    source[start..token].bytes().fold((0, 0), |(wide, narrow), byte| match byte {
        b'\t' => ((wide / 8 + 1) * 8, narrow + 1),
        0x0c => (0, 0),
        _ => (wide + 1, narrow + 1),
    })
}

/// Moves to the level of a line; `false` if there is no such level or the two widths disagree.
fn place(levels: &mut Vec<Columns>, line: Columns) -> bool {
    let top = levels.last().copied().unwrap_or((0, 0));
    if line.0 > top.0 {
        levels.push(line);
        return line.1 > top.1;
    }
    levels.retain(|level| level.0 <= line.0);
    levels.last() == Some(&line)
}
