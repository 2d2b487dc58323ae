//! Layout: what only the text shows. Comments are not looked at: a line ends where its code does.

use ruff_python_ast::token::TokenKind;
use ruff_text_size::{Ranged, TextRange};

use super::fade;
use crate::python::syntax::Module;

/// The longest line of code that does not count as long, in characters.
const LINE: usize = 100;

pub(super) fn score(module: &Module<'_>) -> f64 {
    let mut lines = Lines { source: module.source, points: 0, start: 0, seen: 0, counted: false };
    let mut header = false;
    let mut at_start = true;
    let mut ended_header = false;
    let mut width = Vec::new();
    for token in module.parsed.tokens() {
        let kind = token.kind();
        match kind {
            TokenKind::Comment | TokenKind::NonLogicalNewline => continue,
            TokenKind::Indent => {
                let column = module.source[token.range()].chars().count();
                let outer = width.last().copied().unwrap_or(0);
                width.push(column);
                let tab = module.source[token.range()].contains('\t');
                lines.points += u32::from(tab || column != outer + 4);
                ended_header = false;
                continue;
            }
            TokenKind::Dedent => {
                width.pop();
                continue;
            }
            TokenKind::Semi => lines.points += 1,
            _ => {}
        }
        // A header whose body follows on its own line.
        lines.points += u32::from(std::mem::take(&mut ended_header));
        if kind == TokenKind::Newline {
            (at_start, ended_header) = (true, header);
        } else {
            if at_start {
                header = opens_block(kind);
            }
            at_start = false;
            lines.code(token.range());
        }
    }
    fade(lines.points, 4)
}

fn opens_block(kind: TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::If
            | TokenKind::Elif
            | TokenKind::Else
            | TokenKind::For
            | TokenKind::While
            | TokenKind::With
            | TokenKind::Try
            | TokenKind::Except
            | TokenKind::Finally
            | TokenKind::Def
            | TokenKind::Class
    )
}

struct Lines<'s> {
    source: &'s str,
    points: u32,
    /// Where the current line begins.
    start: usize,
    /// Where the last token ended.
    seen: usize,
    /// The current line has its point.
    counted: bool,
}

impl Lines<'_> {
    /// Looks at how far into its last line a token reaches; one point for a line.
    fn code(&mut self, token: TextRange) {
        let end = token.end().to_usize();
        if let Some(newline) = self.source[self.seen..end].rfind('\n') {
            self.start = self.seen + newline + 1;
            self.counted = false;
        }
        self.seen = end;
        if !self.counted && end - self.start > LINE {
            let long = self.source[self.start..end].chars().count() > LINE;
            self.points += u32::from(long);
            self.counted = long;
        }
    }
}
