//! As much Markdown as the rules need: headings, fenced blocks, inline code, tables.

/// One fenced block.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Block<'a> {
    /// The word after the opening fence, e.g. `sh`; may be empty.
    pub(super) language: &'a str,
    /// Text of the nearest heading above.
    pub(super) under: &'a str,
    /// What stands between the fences.
    pub(super) lines: Vec<&'a str>,
}

/// One table: cells without their padding.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Table<'a> {
    /// The cells of the first row.
    pub(super) header: Vec<&'a str>,
    /// The cells of every row below the dashes.
    pub(super) rows: Vec<Vec<&'a str>>,
}

/// What a line is, once fences are understood.
enum Line<'a> {
    Prose(&'a str),
    Open(&'a str),
    Code(&'a str),
    Close,
}

/// Level and text of every heading.
pub(super) fn headings(text: &str) -> Vec<(usize, &str)> {
    prose(text).filter_map(|(_, line)| heading(line)).collect()
}

/// Every fenced block.
pub(super) fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let mut under = "";
    for line in lines(text) {
        match (line, blocks.last_mut()) {
            (Line::Prose(line), _) => under = heading(line).map_or(under, |(_, text)| text),
            (Line::Open(language), _) => blocks.push(Block { language, under, lines: vec![] }),
            (Line::Code(line), Some(block)) => block.lines.push(line),
            (Line::Code(_) | Line::Close, _) => {}
        }
    }
    blocks
}

/// Line number and text of every piece of inline code outside fenced blocks.
pub(super) fn spans(text: &str) -> Vec<(usize, &str)> {
    let numbered = |(number, line)| inline_code(line).map(move |span| (number, span));
    prose(text).flat_map(numbered).collect()
}

/// Every piece of inline code in one line: what stands between two backticks.
pub(super) fn inline_code(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// Every table.
pub(super) fn tables(text: &str) -> Vec<Table<'_>> {
    let mut tables: Vec<Table<'_>> = Vec::new();
    let mut previous = 0;
    for (number, line) in prose(text) {
        let Some(cells) = cells(line) else { continue };
        match tables.last_mut() {
            Some(table) if number == previous + 1 => table.rows.push(cells),
            _ => tables.push(Table { header: cells, rows: vec![] }),
        }
        previous = number;
    }
    for table in &mut tables {
        table.rows.retain(|row| !row.iter().all(|cell| is_dashes(cell)));
    }
    tables
}

fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut open = "";
    text.lines().map(move |line| {
        let fence = fence(line);
        if open.is_empty() && !fence.is_empty() {
            open = fence;
            return Line::Open(line.trim().trim_start_matches(fence).trim());
        }
        if !open.is_empty() && fence.starts_with(open) && line.trim() == fence {
            open = "";
            return Line::Close;
        }
        if open.is_empty() { Line::Prose(line) } else { Line::Code(line) }
    })
}

/// The backticks or tildes that open or close a block, empty if this line has none.
fn fence(line: &str) -> &str {
    let line = line.trim();
    let rest = line.trim_start_matches(if line.starts_with('~') { '~' } else { '`' });
    let length = line.len() - rest.len();
    if length < 3 { "" } else { &line[..length] }
}

/// Lines outside fenced blocks, numbered from one.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    lines(text).enumerate().filter_map(|(at, line)| match line {
        Line::Prose(line) => Some((at + 1, line)),
        _ => None,
    })
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    (level > 0 && rest.starts_with(' ')).then(|| (level, rest.trim()))
}

fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('|')?;
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    Some(inner.split('|').map(str::trim).collect())
}

fn is_dashes(cell: &str) -> bool {
    cell.contains('-') && cell.chars().all(|c| matches!(c, '-' | ':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
# One
Say `a` and `b c`.

| x | y |
|---|:-:|
| `p` | – |

## Two
````text
```sh
# not a heading, not `code`
```
````
```sh
run
```
";

    #[test]
    fn a_comment_in_a_block_is_no_heading() {
        assert_eq!(headings(PAGE), [(1, "One"), (2, "Two")]);
    }

    #[test]
    fn a_shorter_fence_inside_a_block_is_text() {
        let blocks = blocks(PAGE);
        let short: Vec<_> = blocks.iter().map(|b| (b.language, b.lines.len(), b.under)).collect();
        assert_eq!(short, [("text", 3, "Two"), ("sh", 1, "Two")]);
    }

    #[test]
    fn inline_code_has_its_line_and_blocks_have_none() {
        assert_eq!(spans(PAGE), [(2, "a"), (2, "b c"), (6, "p")]);
    }

    #[test]
    fn a_table_has_a_header_and_rows_without_the_dashes() {
        let table = Table { header: vec!["x", "y"], rows: vec![vec!["`p`", "–"]] };
        assert_eq!(tables(PAGE), [table]);
    }
}
