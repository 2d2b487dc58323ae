//! Thinking and code out of a reply: the one function that every stage uses.

use std::borrow::Cow;

use super::Form;
use super::python;
use super::scan::{CodeBlock, Scan, ScanOptions, scan};
use super::tag::{self, Tag};
use crate::completion::{Completion, Finish};
use crate::program::{Language, Program};

/// How a line that defines something begins.
const DEFINITIONS: [&str; 3] = ["def ", "class ", "async def "];

/// A model's answer and what is known of how it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply<'a> {
    /// The text of the completion.
    pub text: &'a str,
    /// Thinking that the server sent in a field of its own.
    pub reasoning: Option<&'a str>,
    /// The prompt ended inside the thinking tag: the text starts with thinking.
    pub opened: bool,
}

/// The parts of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extraction<'a> {
    /// The thinking, without its tags; empty for an empty pair of tags.
    pub thinking: Option<Cow<'a, str>>,
    /// The plan, in the form that has one.
    pub plan: Option<Cow<'a, str>>,
    /// The reply broke off before its thinking or plan was closed.
    pub unclosed: bool,
    /// The program.
    pub code: Option<Code<'a>>,
}

/// A program in a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code<'a> {
    /// Its source: line ends are `\n`, the fence's indentation is taken off, all else is as
    /// written.
    pub source: Cow<'a, str>,
    /// The rule that found it.
    pub origin: Origin,
}

/// The rule that found a program, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// A closed block in the wanted language after the thinking: the last one that defines a function or a class, or
    /// else the last one.
    Tagged,
    /// The last other closed block.
    Other,
    /// A block that was not closed: the program is truncated.
    Unclosed,
    /// Text without any fence that is Python.
    Plain,
}

/// Takes thinking and code out of a reply.
///
/// # Example
///
/// ```
/// use whetstone_core::extract::{Form, Reply, extract};
/// let text = "<think>\nAdd them.\n</think>\n\n```python\ndef add(a, b):\n    return a + b\n```\n";
/// let found = extract(Reply::text(text), Form::ThinkPython);
/// assert_eq!(found.thinking.as_deref(), Some("Add them."));
/// assert_eq!(found.code.unwrap().source, "def add(a, b):\n    return a + b");
/// ```
pub fn extract(reply: Reply<'_>, form: Form) -> Extraction<'_> {
    let opened = reply.opened.then_some(tag::THINK);
    let wanted = ScanOptions { tags: form.tags(), language: form.language(), opened };
    let scan = scan(reply.text, wanted);
    let thinking = section(reply.text, &scan, tag::THINK);
    let plan = form.tags().contains(&tag::PLAN).then(|| section(reply.text, &scan, tag::PLAN));
    Extraction {
        thinking: with_reasoning(reply.reasoning, thinking),
        plan: plan.flatten(),
        unclosed: scan.sections.iter().any(|section| !section.closed),
        code: code(reply.text, &scan, form),
    }
}

/// Every closed block in the wanted language after the thinking, in order. For an evaluation that looks for a name in
/// them.
pub fn blocks(reply: Reply<'_>, form: Form) -> Vec<Cow<'_, str>> {
    let opened = reply.opened.then_some(tag::THINK);
    let wanted = ScanOptions { tags: form.tags(), language: form.language(), opened };
    let blocks = scan(reply.text, wanted).wanted;
    blocks.into_iter().map(|block| dedented(block.content, block.indent)).collect()
}

/// What a reply says outside its thinking, in one text. Thinking that was not closed reaches to the end.
pub fn outside_thinking(reply: Reply<'_>) -> String {
    let opened = reply.opened.then_some(tag::THINK);
    let wanted =
        ScanOptions { tags: &[tag::THINK], language: Form::ThinkPython.language(), opened };
    let mut outside = String::new();
    let mut from = 0;
    for section in scan(reply.text, wanted).sections {
        let begin = section.inner.start.saturating_sub(tag::THINK.open.len()).max(from);
        outside.push_str(&reply.text[from..begin]);
        outside.push('\n');
        from = section.end.max(from);
    }
    outside.push_str(&reply.text[from..]);
    outside
}

impl<'a> Reply<'a> {
    /// A reply of which nothing but its text is known.
    pub fn text(text: &'a str) -> Self {
        Self { text, reasoning: None, opened: false }
    }

    /// A model's completion.
    pub fn of(completion: &'a Completion) -> Self {
        Self { text: &completion.text, reasoning: completion.reasoning.as_deref(), opened: false }
    }

    /// The same after a prompt that did or did not end inside the thinking tag.
    #[must_use]
    pub fn after(self, opened: bool) -> Self {
        Self { opened, ..self }
    }
}

/// Whether a rendered prompt ends inside the thinking tag, as templates of models that always think
/// write it: the completion then begins with thinking and has no opening tag.
pub fn opens_thinking(prompt: &str) -> bool {
    prompt.trim_end().ends_with(tag::THINK.open)
}

/// Whether all of a completion may be thinking that its prompt opened: the limit on tokens cut it off, and
/// neither a tag nor a field of its own says where thinking begins or ends.
pub fn may_be_all_thinking(completion: &Completion) -> bool {
    let text = &completion.text;
    completion.finish == Finish::Length
        && completion.reasoning.is_none()
        && tag::next_tag(text, 0, text.len(), &[tag::THINK]).is_none()
}

impl Code<'_> {
    /// Whether its end is missing.
    pub fn is_truncated(&self) -> bool {
        self.origin == Origin::Unclosed
    }

    /// The program to judge.
    pub fn program(&self, form: Form) -> Program {
        Program {
            language: form.language(),
            source: self.source.clone().into_owned(),
            truncated: self.is_truncated(),
        }
    }
}

/// All that stands in sections of one tag.
fn section<'a>(text: &'a str, scan: &Scan<'_>, tag: Tag) -> Option<Cow<'a, str>> {
    let inner = scan.sections.iter().filter(|section| section.tag == tag).map(|section| {
        let inner = &text[section.inner.clone()];
        let inner = if section.closed { inner } else { tag::without_partial_close(inner, tag) };
        inner.trim()
    });
    join(inner)
}

fn with_reasoning<'a>(
    reasoning: Option<&'a str>,
    thinking: Option<Cow<'a, str>>,
) -> Option<Cow<'a, str>> {
    let Some(reasoning) = reasoning.map(str::trim) else { return thinking };
    match thinking {
        Some(thinking) if !thinking.is_empty() && !reasoning.is_empty() => {
            Some(Cow::Owned(format!("{reasoning}\n\n{thinking}")))
        }
        Some(thinking) if reasoning.is_empty() => Some(thinking),
        _ => Some(Cow::Borrowed(reasoning)),
    }
}

/// The parts that are not empty, in paragraphs; `None` if there are no parts at all.
fn join<'a>(parts: impl Iterator<Item = &'a str>) -> Option<Cow<'a, str>> {
    let parts: Vec<_> = parts.collect();
    let filled: Vec<_> = parts.iter().copied().filter(|part| !part.is_empty()).collect();
    match filled.as_slice() {
        [] => parts.first().map(|_| Cow::Borrowed("")),
        [one] => Some(Cow::Borrowed(one)),
        _ => Some(Cow::Owned(filled.join("\n\n"))),
    }
}

fn code<'a>(text: &'a str, scan: &Scan<'a>, form: Form) -> Option<Code<'a>> {
    if let Some(block) = chosen(&scan.wanted, form.language()) {
        return Some(Code {
            source: dedented(block.content, block.indent),
            origin: Origin::Tagged,
        });
    }
    if let Some(block) = scan.last {
        return Some(Code { source: dedented(block.content, block.indent), origin: Origin::Other });
    }
    if let Some(open) = scan.unclosed {
        let (content, closed) = open.fence.without_end(open.content(text));
        let below = open.fence.behind_language_below(content, form.language());
        return unclosed(below.unwrap_or(content), closed, open.fence.indent);
    }
    let thought = scan.sections.last().map_or(0, |section| section.end);
    let plain = text[thought..].trim_start_matches('\u{feff}').trim();
    let is_code = form == Form::ThinkPython && !scan.has_fences && python::is_program(plain);
    is_code.then(|| Code { source: with_newlines(plain), origin: Origin::Plain })
}

/// The block that is the program. Replies often end with an example of a call in a block of its own: of Python
/// blocks the last one that defines something is taken.
pub(super) fn chosen<'b, 'a>(
    blocks: &'b [CodeBlock<'a>],
    language: Language,
) -> Option<&'b CodeBlock<'a>> {
    let is_python = language == Language::Python;
    let mut defining = blocks.iter().rev().filter(|block| is_python && defines(block));
    defining.next().or(blocks.last())
}

/// Whether a function or a class is defined at the top of a block.
fn defines(block: &CodeBlock<'_>) -> bool {
    block.content.lines().any(|line| {
        let is_top = leading_blanks(line) <= block.indent;
        is_top && DEFINITIONS.iter().any(|word| line.trim_start().starts_with(word))
    })
}

fn unclosed(content: &str, closed: bool, indent: usize) -> Option<Code<'_>> {
    let content = content.trim_end();
    if content.trim().is_empty() {
        return None;
    }
    let origin = if closed { Origin::Other } else { Origin::Unclosed };
    Some(Code { source: dedented(content, indent), origin })
}

/// `content` with the fence's indentation taken off, as far as all its lines have it, and `\n`
/// line ends.
fn dedented(content: &str, indent: usize) -> Cow<'_, str> {
    let text = with_newlines(content);
    if indent == 0 {
        return text;
    }
    let full_lines = text.split('\n').filter(|line| !line.trim().is_empty());
    let indent = full_lines.map(leading_blanks).min().unwrap_or(0).min(indent);
    let shorter = |line: &'_ str| line[indent.min(leading_blanks(line))..].to_owned();
    Cow::Owned(text.split('\n').map(shorter).collect::<Vec<_>>().join("\n"))
}

fn leading_blanks(line: &str) -> usize {
    line.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// `text` with the line ends of Windows and of old Macs made `\n`, as Python reads them.
pub(crate) fn with_newlines(text: &str) -> Cow<'_, str> {
    if memchr::memchr(b'\r', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
}
