//! Links in Markdown: where they stand in the text, and which anchors a page has.
//!
//! As much as our pages use: `[text](target)`, `![text](target)`, and the attributes `href`, `src` and `srcset` of
//! inline HTML. Code is not read. An anchor is a heading in lower case without punctuation, as GitHub and mdBook
//! make it, with `-1`, `-2`, … where a heading stands more than once.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A link, an image or an attribute of inline HTML.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Link {
    /// Its line, from one.
    pub(crate) line: usize,
    /// The bytes of all of it.
    pub(crate) whole: Range<usize>,
    /// The bytes between its brackets; empty for an attribute.
    pub(crate) text: Range<usize>,
    /// The bytes of its target.
    pub(crate) target: Range<usize>,
}

const ATTRIBUTES: [&str; 3] = [" href=\"", " src=\"", " srcset=\""];

/// Every link, in the order of the text.
pub(crate) fn links(text: &str) -> Vec<Link> {
    let prose = without_code(text);
    let mut all = bracketed(&prose);
    for name in ATTRIBUTES {
        all.extend(prose.match_indices(name).filter_map(|(at, _)| {
            let start = at + name.len();
            let end = start + prose[start..].find('"')?;
            Some(Link { line: 0, whole: start..end, text: start..start, target: start..end })
        }));
    }
    all.sort_by_key(|link| link.target.start);
    for link in &mut all {
        link.line = 1 + text[..link.target.start].matches('\n').count();
    }
    all
}

/// Whether a target is a page of somebody else.
pub(crate) fn is_outside(target: &str) -> bool {
    ["https://", "http://", "mailto:"].iter().any(|scheme| target.starts_with(scheme))
}

/// The path from the root that a target of `page` names, and its anchor; `None` if it leads out of the root.
pub(crate) fn resolve<'a>(page: &str, target: &'a str) -> Option<(String, Option<&'a str>)> {
    let (path, anchor) = match target.split_once('#') {
        Some((path, anchor)) => (path, Some(anchor)),
        None => (target, None),
    };
    if path.is_empty() {
        return Some((page.to_owned(), anchor));
    }
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some((parts.join("/"), anchor))
}

/// Every anchor of a page.
pub(crate) fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut all = BTreeSet::new();
    for heading in headings(text) {
        let anchor = anchor(heading);
        let count = seen.entry(anchor.clone()).or_default();
        all.insert(if *count == 0 { anchor } else { format!("{anchor}-{count}") });
        *count += 1;
    }
    let prose = without_code(text);
    let explicit = prose
        .match_indices(" id=\"")
        .filter_map(|(at, name)| Some(prose[at + name.len()..].split_once('"')?.0.to_owned()));
    all.extend(explicit);
    all
}

/// The text of the first heading, without marks.
pub(crate) fn title(text: &str) -> Option<String> {
    headings(text).next().map(|heading| heading.replace('`', ""))
}

fn headings(text: &str) -> impl Iterator<Item = &str> {
    let blocks = fenced(text);
    let mut at = 0;
    text.split_inclusive('\n').filter_map(move |line| {
        let start = at;
        at += line.len();
        let rest = line.trim_start_matches('#');
        let is_heading = rest.len() < line.len() && rest.starts_with(' ');
        let in_block = blocks.iter().any(|block| block.contains(&start));
        (is_heading && !in_block).then(|| rest.trim())
    })
}

fn anchor(heading: &str) -> String {
    let mut shown = heading.to_owned();
    // Of a link, its text is shown.
    while let Some(link) = bracketed(&shown).pop() {
        let text = shown[link.text].to_owned();
        shown.replace_range(link.whole, &text);
    }
    let letter = |c: char| match c {
        ' ' => Some('-'),
        '-' | '_' => Some(c),
        _ => c.is_alphanumeric().then_some(c),
    };
    shown.to_lowercase().chars().filter_map(letter).collect()
}

fn bracketed(prose: &str) -> Vec<Link> {
    let found = prose.match_indices("](").filter_map(|(close, _)| {
        let start = close + 2;
        let end = start + prose[start..].find([')', '\n'])?;
        let open = opening(&prose[..close])?;
        let image = usize::from(prose[..open].ends_with('!'));
        let (whole, text) = (open - image..end + 1, open + 1..close);
        (prose[end..].starts_with(')')).then_some(Link { line: 0, whole, text, target: start..end })
    });
    found.collect()
}

/// The bracket that the end of `before` is inside of.
fn opening(before: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in before.char_indices().rev() {
        match c {
            ']' => depth += 1,
            '[' if depth == 0 => return Some(at),
            '[' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The text with a space in place of every byte of code.
fn without_code(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let blocks = fenced(text);
    let mut at = 0;
    while let Some(tick) = text[at..].find('`').map(|offset| at + offset) {
        if let Some(block) = blocks.iter().find(|block| block.contains(&tick)) {
            at = block.end;
            continue;
        }
        let length = text[tick..].bytes().take_while(|&byte| byte == b'`').count();
        let inside = tick + length;
        at = inside;
        if let Some(end) = closing(&text[inside..], length) {
            bytes[inside..inside + end].fill(b' ');
            at = inside + end + length;
        }
    }
    for block in blocks {
        let lines = bytes[block].iter_mut().filter(|byte| **byte != b'\n');
        lines.for_each(|byte| *byte = b' ');
    }
    // Whole runs between ASCII marks are blanked, so what is left is text; if not, nothing is a link.
    String::from_utf8(bytes).unwrap_or_default()
}

/// Where the next run of exactly `length` backticks begins, in the same paragraph.
fn closing(text: &str, length: usize) -> Option<usize> {
    let paragraph = text.split("\n\n").next().unwrap_or(text);
    let mut at = 0;
    while let Some(tick) = paragraph[at..].find('`').map(|offset| at + offset) {
        let run = paragraph[tick..].bytes().take_while(|&byte| byte == b'`').count();
        if run == length {
            return Some(tick);
        }
        at = tick + run;
    }
    None
}

/// The bytes of every fenced block, with its fences.
fn fenced(text: &str) -> Vec<Range<usize>> {
    let mut blocks = Vec::new();
    let (mut at, mut open) = (0, None);
    for line in text.split_inclusive('\n') {
        let fence = fence(line);
        match open {
            None if !fence.is_empty() => open = Some((at, fence)),
            Some((start, first)) if fence.starts_with(first) && line.trim() == fence => {
                blocks.push(start..at + line.len());
                open = None;
            }
            _ => {}
        }
        at += line.len();
    }
    blocks.extend(open.map(|(start, _)| start..text.len()));
    blocks
}

/// The backticks or tildes that open or close a block, empty if this line has none.
fn fence(line: &str) -> &str {
    let line = line.trim();
    let rest = line.trim_start_matches(if line.starts_with('~') { '~' } else { '`' });
    let length = line.len() - rest.len();
    if length < 3 { "" } else { &line[..length] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(text: &str) -> Vec<(usize, &str, &str)> {
        let all = links(text);
        all.iter().map(|l| (l.line, &text[l.text.clone()], &text[l.target.clone()])).collect()
    }

    #[test]
    fn links_images_and_attributes_have_their_line() {
        let text = "# One\nSee [a `b`](c.md#d), ![e](f.png) and\n<img src=\"g.png\" alt=\"\">\n[h\ni](j)\n";
        let expected =
            [(2, "a `b`", "c.md#d"), (2, "e", "f.png"), (3, "", "g.png"), (5, "h\ni", "j")];
        assert_eq!(targets(text), expected);
        assert_eq!(&text[links(text)[1].whole.clone()], "![e](f.png)");
    }

    #[test]
    fn code_has_no_links() {
        let text = "`[a](b)` and ``[`c`](d)``\n\n```md\n[e](f)\n```\n~~~\n[g](h)\n~~~\n`[i\nj](k)` [l](m)\n";
        assert_eq!(targets(text), [(10, "l", "m")]);
        assert_eq!(
            targets("One ` and [é](o), in another paragraph\n\n` [p](q)"),
            [(1, "é", "o"), (3, "p", "q")]
        );
    }

    #[test]
    fn targets_are_resolved_from_the_folder_of_their_page() {
        let resolved = |page, target| resolve(page, target);
        let page = "docs/guides/a.md";
        assert_eq!(resolved(page, "b.md#c"), Some(("docs/guides/b.md".to_owned(), Some("c"))));
        assert_eq!(resolved(page, "../../README.md"), Some(("README.md".to_owned(), None)));
        assert_eq!(resolved(page, "#c"), Some((page.to_owned(), Some("c"))));
        assert_eq!(resolved(page, "../../../etc/passwd"), None);
    }

    #[test]
    fn anchors_are_those_of_github() {
        let text = "# `a.b` and C-d_e\n```\n# no\n```\n## What, [then](x.md)?\n## 测 试\n## 测 试\n<a id=\"own\"></a>\n";
        let all: Vec<String> = anchors(text).into_iter().collect();
        assert_eq!(all, ["ab-and-c-d_e", "own", "what-then", "测-试", "测-试-1"]);
        assert_eq!(title(text).as_deref(), Some("a.b and C-d_e"));
    }
}
