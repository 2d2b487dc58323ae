//! One pass over a reply: which parts are thinking, and which blocks of code there are.
//!
//! The text is in one of three states. *Thinking* runs to its closing tag and knows no fences, so
//! that code inside it is never found. *Outside*, line by line, a fence opens a block and a tag
//! opens thinking. *Inside a block*, a tag is content: programs may hold the tags in strings.
//!
//! A closing tag that nothing opened, if it is the first tag of its kind, closes thinking that the
//! chat template opened: all before it was thinking, blocks too. Inside a block it counts only at
//! the start of a line and before any thinking: a string literal would hardly put it there, but a
//! draft that was abandoned in the thinking leaves it there.
//!
//! Each byte is looked at a bounded number of times: positions only move forward, and a search for
//! a closing tag that fails is not made again.

use std::ops::Range;

use super::fence::{self, Fence, Inside};
use super::tag::{self, Tag, TagMatch};
use crate::program::Language;

/// Blocks within blocks that are told apart; a fence deeper than that is content.
const MAX_DEPTH: usize = 32;

/// Rounds of thinking that are told apart; later ones are joined, with what stands between them.
const MAX_SECTIONS: usize = 64;

/// The parts of a reply.
#[derive(Debug, Default)]
pub(crate) struct Scan<'a> {
    /// Thinking, in order.
    pub(crate) sections: Vec<Section>,
    /// The last closed block in the wanted language after the thinking, if it holds anything.
    pub(crate) wanted: Option<CodeBlock<'a>>,
    /// The last closed block outside the thinking that holds anything.
    pub(crate) last: Option<CodeBlock<'a>>,
    /// The block that is still open at the end.
    pub(crate) unclosed: Option<OpenBlock<'a>>,
    /// Whether any fence stands outside the thinking.
    pub(crate) has_fences: bool,
}

/// A part of the text that is thinking.
#[derive(Debug, Clone)]
pub(crate) struct Section {
    pub(crate) tag: Tag,
    /// Between the tags.
    pub(crate) inner: Range<usize>,
    /// Behind the closing tag.
    pub(crate) end: usize,
    pub(crate) closed: bool,
}

/// A closed block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CodeBlock<'a> {
    pub(crate) content: &'a str,
    pub(crate) indent: usize,
    /// Its info string names a language that no program is asked for in.
    pub(crate) is_in_other_language: bool,
}

/// A block that is still open.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenBlock<'a> {
    pub(crate) fence: Fence<'a>,
    content: usize,
}

impl OpenBlock<'_> {
    /// Its content so far.
    pub(crate) fn content<'a>(&self, text: &'a str) -> &'a str {
        &text[self.content.min(text.len())..]
    }
}

/// The options of a scan.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScanOptions {
    pub(crate) tags: &'static [Tag],
    pub(crate) language: Language,
    /// The text starts inside this tag.
    pub(crate) opened: Option<Tag>,
}

/// Scans `text`.
pub(crate) fn scan(text: &str, wanted: ScanOptions) -> Scan<'_> {
    let mut scanner = Scanner::new(text, wanted);
    scanner.run();
    scanner.out.unclosed = scanner.open.pop();
    scanner.out
}

/// The start of thinking that the prompt opened; the model may open it a second time.
fn skip_repeated_open(text: &str, tag: Tag) -> usize {
    let start = text.len() - text.trim_start().len();
    if text[start..].starts_with(tag.open) { start + tag.open.len() } else { 0 }
}

struct Scanner<'a> {
    text: &'a str,
    wanted: ScanOptions,
    out: Scan<'a>,
    /// Open blocks, the innermost last.
    open: Vec<OpenBlock<'a>>,
    /// Tags that are not closed anywhere in the rest of the text.
    unclosed_tags: Vec<Tag>,
    /// The last line that was looked at; before the first one, none.
    line: Option<LineBreak>,
}

/// The end of a line.
#[derive(Clone, Copy)]
struct LineBreak {
    /// Before the blanks at its end.
    text: usize,
    /// At its newline.
    newline: usize,
}

impl<'a> Scanner<'a> {
    fn new(text: &'a str, wanted: ScanOptions) -> Self {
        let (out, open, unclosed_tags) = (Scan::default(), Vec::new(), Vec::new());
        Self { text, wanted, out, open, unclosed_tags, line: None }
    }

    fn run(&mut self) {
        let mut at = 0;
        if let Some(tag) = self.wanted.opened {
            at = self.think(tag, skip_repeated_open(self.text, tag));
        }
        while at < self.text.len() {
            at = self.line(at);
        }
    }

    /// Takes in the line that starts at `at`, or what thinking starts in it; returns where to continue.
    fn line(&mut self, at: usize) -> usize {
        let LineBreak { text: end, newline } = self.line_end(at);
        let (line, next_line) = (&self.text[at..end], newline + 1);
        if let Some(&open) = self.open.last() {
            return self.line_in_block(at, line, open).unwrap_or(next_line);
        }
        if let Some(fence) = fence::fence(line) {
            self.push(fence, next_line);
        } else if let Some(next) = self.tags_in(at, end) {
            return next;
        } else if let Some((info, code)) = fence::one_line(line) {
            self.out.has_fences = true;
            let wanted = fence::is_in(info, self.wanted.language);
            let is_in_other_language = fence::is_other_language(info);
            self.keep(CodeBlock { content: code, indent: 0, is_in_other_language }, wanted);
        } else if let Some(fence) = fence::fence_behind_prose(line) {
            self.push(fence, next_line);
        }
        next_line
    }

    /// Where the line that `at` stands in ends; looked for once a line, however often it is begun.
    fn line_end(&mut self, at: usize) -> LineBreak {
        let known = self.line.filter(|line| at <= line.newline);
        let LineBreak { text, newline } = known.unwrap_or_else(|| {
            let newline = memchr::memchr(b'\n', &self.text.as_bytes()[at..]);
            let newline = newline.map_or(self.text.len(), |newline| at + newline);
            LineBreak { text: at + self.text[at..newline].trim_end().len(), newline }
        });
        self.line = Some(LineBreak { text, newline });
        // What is left of a line may be nothing but its last blanks.
        LineBreak { text: text.max(at), newline }
    }

    /// Takes in a line that starts at `at`; returns where to continue if not at the next line.
    fn line_in_block(&mut self, at: usize, line: &'a str, open: OpenBlock<'a>) -> Option<usize> {
        if let Some(fence) = fence::fence(line) {
            match open.fence.meets(&fence) {
                Inside::Content => {}
                Inside::Opens => {
                    let LineBreak { newline, .. } = self.line_end(at);
                    self.push(fence, newline + 1);
                }
                Inside::Closes => self.close(at),
            }
            return None;
        }
        if !self.out.sections.is_empty() {
            return None;
        }
        let indent = line.len() - line.trim_start().len();
        let tag = *self.wanted.tags.iter().find(|tag| line[indent..].starts_with(tag.close))?;
        let at = at + indent;
        Some(self.all_was_thinking(TagMatch { tag, opens: false, at, end: at + tag.close.len() }))
    }

    fn push(&mut self, fence: Fence<'a>, content: usize) {
        self.out.has_fences = true;
        if self.open.len() < MAX_DEPTH {
            self.open.push(OpenBlock { fence, content });
        }
    }

    /// Closes the innermost block before the line at `line`.
    fn close(&mut self, line: usize) {
        if let Some(open) = self.open.pop() {
            // The newline before the closing fence belongs to the fence.
            let content = &self.text[open.content.min(line)..line];
            let content = content.strip_suffix('\n').unwrap_or(content);
            let content = content.strip_suffix('\r').unwrap_or(content);
            let Fence { indent, .. } = open.fence;
            let below = open.fence.behind_language_below(content, self.wanted.language);
            let wanted = below.is_some() || open.fence.is_in(self.wanted.language);
            let is_in_other_language = open.fence.is_in_other_language();
            let content = below.unwrap_or(content);
            self.keep(CodeBlock { content, indent, is_in_other_language }, wanted);
        }
    }

    fn keep(&mut self, block: CodeBlock<'a>, wanted: bool) {
        if block.content.trim_start().is_empty() {
            return;
        }
        self.out.last = Some(block);
        if wanted {
            self.out.wanted = Some(block);
        }
    }

    /// Acts on the first tag in a line outside blocks; returns where to continue if there was one.
    fn tags_in(&mut self, from: usize, end: usize) -> Option<usize> {
        let line = &self.text[from..end];
        let first = from + (line.len() - line.trim_start().len());
        let mut at = first;
        while let Some(found) = tag::next_tag(self.text, at, end, self.wanted.tags) {
            if !found.opens && !self.seen(found.tag) {
                return Some(self.all_was_thinking(found));
            }
            let starts_line = found.at == first;
            if found.opens && (starts_line || self.is_closed(found)) {
                return Some(self.think(found.tag, found.end));
            }
            at = found.end;
        }
        None
    }

    /// Takes in thinking from `from` to its closing tag or the end; returns where to continue.
    fn think(&mut self, tag: Tag, from: usize) -> usize {
        let close = tag::next_close(self.text, from, tag);
        let inner = from..close.map_or(self.text.len(), |close| close.at);
        let end = close.map_or(self.text.len(), |close| close.end);
        let closed = close.is_some();
        let full = self.out.sections.len() >= MAX_SECTIONS;
        match self.out.sections.last_mut().filter(|last| full && last.tag == tag) {
            Some(last) => {
                (last.inner.end, last.end, last.closed) = (inner.end, end, closed);
            }
            None => self.out.sections.push(Section { tag, inner, end, closed }),
        }
        // What came before is no longer after the thinking.
        self.out.wanted = None;
        end
    }

    /// All before `close` was thinking that the template opened.
    fn all_was_thinking(&mut self, close: TagMatch) -> usize {
        self.open.clear();
        self.out = Scan::default();
        let section = Section { tag: close.tag, inner: 0..close.at, end: close.end, closed: true };
        self.out.sections.push(section);
        close.end
    }

    fn seen(&self, tag: Tag) -> bool {
        self.out.sections.iter().any(|section| section.tag == tag)
    }

    /// Whether thinking that `open` starts is ever closed; a search that fails is remembered.
    fn is_closed(&mut self, open: TagMatch) -> bool {
        if self.unclosed_tags.contains(&open.tag) {
            return false;
        }
        let closed = tag::next_close(self.text, open.end, open.tag).is_some();
        if !closed {
            self.unclosed_tags.push(open.tag);
        }
        closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: ScanOptions =
        ScanOptions { tags: &[tag::THINK], language: Language::Python, opened: None };

    #[test]
    fn blocks_within_blocks_take_bounded_memory() {
        let text = "```python\n".repeat(1000);
        let mut scanner = Scanner::new(&text, WANTED);
        scanner.run();
        assert_eq!(scanner.open.len(), MAX_DEPTH);
    }

    #[test]
    fn rounds_of_thinking_take_bounded_memory_and_none_is_lost() {
        let text = "<think>a</think>b\n".repeat(1000);
        let scan = scan(&text, WANTED);
        assert_eq!(scan.sections.len(), MAX_SECTIONS);
        let last = scan.sections.last().unwrap();
        assert_eq!(last.end, text.len() - "b\n".len());
        assert_eq!(last.inner.end, last.end - tag::THINK.close.len());
    }
}
