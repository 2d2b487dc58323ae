//! The tags that wrap thinking, and finding them in a text.
//!
//! A tag that is only *mentioned*, in quotes or backticks, is not a tag. An opening tag right
//! behind a quote is taken for a mention; a closing tag only when the same quote stands on both
//! sides, because thinking often ends in a quoted word directly before its closing tag.

use memchr::memchr2_iter;

/// A pair of tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) open: &'static str,
    pub(crate) close: &'static str,
}

/// The tag that reasoning models use.
pub(crate) const THINK: Tag = Tag { open: "<think>", close: "</think>" };

/// The tag of plans for whole programs.
pub(crate) const PLAN: Tag = Tag { open: "[PLAN]", close: "[/PLAN]" };

/// A tag found in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TagMatch {
    pub(crate) tag: Tag,
    pub(crate) opens: bool,
    /// Offset of its first byte.
    pub(crate) at: usize,
    /// Offset behind its last byte.
    pub(crate) end: usize,
}

/// The first tag of `tags` in `text[from..to]` that is more than a mention.
pub(crate) fn next_tag(text: &str, from: usize, to: usize, tags: &[Tag]) -> Option<TagMatch> {
    memchr2_iter(b'<', b'[', &text.as_bytes()[from..to])
        .map(|at| from + at)
        .find_map(|at| tags.iter().find_map(|&tag| tag_at(text, at, to, tag)))
}

/// The closing tag of the thinking that starts at `from`.
pub(crate) fn next_close(text: &str, from: usize, tag: Tag) -> Option<TagMatch> {
    let first = tag.close.as_bytes()[0];
    memchr::memchr_iter(first, &text.as_bytes()[from..])
        .filter_map(|at| tag_at(text, from + at, text.len(), tag))
        .find(|found| !found.opens)
}

/// `text` without the beginning of a closing tag that it breaks off in.
pub(crate) fn without_partial_close(text: &str, tag: Tag) -> &str {
    let partial = (1..tag.close.len()).rev().find(|&n| text.ends_with(&tag.close[..n]));
    &text[..text.len() - partial.unwrap_or(0)]
}

fn tag_at(text: &str, at: usize, to: usize, tag: Tag) -> Option<TagMatch> {
    let rest = &text.as_bytes()[at..to];
    let before = at.checked_sub(1).map(|at| text.as_bytes()[at]).filter(|b| is_quote(*b));
    if rest.starts_with(tag.open.as_bytes()) {
        let end = at + tag.open.len();
        return before.is_none().then_some(TagMatch { tag, opens: true, at, end });
    }
    if rest.starts_with(tag.close.as_bytes()) {
        let end = at + tag.close.len();
        let mentioned = before.is_some() && text.as_bytes().get(end).copied() == before;
        return (!mentioned).then_some(TagMatch { tag, opens: false, at, end });
    }
    None
}

fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<(usize, bool)>) {
        let found = next_tag(text, 0, text.len(), &[THINK, PLAN]);
        assert_eq!(found.map(|found| (found.at, found.opens)), expected, "{text}");
    }

    #[test]
    fn tags_are_found_wherever_they_stand() {
        check("a <think> b", Some((2, true)));
        check("a</think>", Some((1, false)));
        check("[x] < [PLAN]", Some((6, true)));
        check("<thin </thinking> [PLAN", None);
    }

    #[test]
    fn a_mention_is_no_tag() {
        check("the `<think>` tag", None);
        check("print('</think>')", None);
        check("\"</think>\" and </think>", Some((15, false)));
    }

    #[test]
    fn a_quoted_word_may_end_the_thinking() {
        check("so it prints \"abc\"</think>\n", Some((18, false)));
    }

    #[test]
    fn the_beginning_of_a_closing_tag_is_cut_off() {
        assert_eq!(without_partial_close("so</thi", THINK), "so");
        assert_eq!(without_partial_close("a <", THINK), "a ");
        assert_eq!(without_partial_close("a < b", THINK), "a < b");
    }
}
