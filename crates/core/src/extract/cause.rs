//! Why a reply got a verdict that is about its form: derived from the reply and the verdict, and stored nowhere.
//!
//! | verdict | causes |
//! |---|---|
//! | `no_code` | `empty`, `cut_off`, `in_thinking`, `thinking_unclosed`, `unfenced`, `prose` |
//! | `syntax_error` | `cut_off`, `other_language` |
//! | `load_error` | `own_test_failed`, or the name of the exception |
//!
//! Other verdicts are about what the program does, and have no cause. The names are stable: they stand in results and
//! reports.
//!
//! The language that was asked for is not needed: thinking is looked for in the tags of either form.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};

use super::Form;
use super::extraction::{Reply, chosen, outside_thinking};
use super::scan::{Scan, ScanOptions, Section, scan};
use super::{python, tag};
use crate::completion::Finish;
use crate::program::Language;
use crate::verdict::Verdict;

/// The cause of a verdict that is about the form of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// Nothing was said.
    Empty,
    /// The limit on tokens ended the reply before its program, or inside it.
    CutOff,
    /// The only code stands in the thinking.
    InThinking,
    /// The thinking was not closed, and holds no code.
    ThinkingUnclosed,
    /// A function stands in the prose, in no fence.
    Unfenced,
    /// There is no code at all.
    Prose,
    /// The only block names a language that no program is asked for in.
    OtherLanguage,
    /// An assertion of the program's own failed while it was loaded, before any hidden test.
    OwnTest,
    /// This exception was raised while the program was loaded.
    Exception(&'static str),
}

/// How often each cause was found, by the names of the verdict and of the cause:
/// `{"no_code":{"in_thinking":410,"prose":2}}`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CauseCounts(BTreeMap<String, BTreeMap<String, u64>>);

/// One of [`CauseCounts`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CauseCount<'a> {
    /// The verdict's name.
    pub verdict: &'a str,
    /// The cause's name.
    pub cause: &'a str,
    /// How often.
    pub count: u64,
}

/// Exceptions that are told apart. A program may raise one of any name.
const EXCEPTIONS: [&str; 18] = [
    "AttributeError",
    "EOFError",
    "FileNotFoundError",
    "ImportError",
    "IndexError",
    "KeyError",
    "ModuleNotFoundError",
    "NameError",
    "NotImplementedError",
    "OSError",
    "PermissionError",
    "RecursionError",
    "RuntimeError",
    "SystemExit",
    "TypeError",
    "UnboundLocalError",
    "ValueError",
    "ZeroDivisionError",
];

/// Any other exception, or an end without one.
const OTHER_EXCEPTION: &str = "another exception";

impl Cause {
    /// Whether a verdict is about the form of a reply, and so may have a cause.
    pub fn is_of_form(verdict: &Verdict) -> bool {
        !verdict.ran() || verdict.is_load_error()
    }

    /// The cause of a verdict on a reply, which ended like this if that is known.
    ///
    /// # Example
    ///
    /// ```
    /// use whetstone_core::extract::{Cause, Reply};
    /// use whetstone_core::verdict::Verdict;
    /// let reply = Reply::text("<think>\n```python\nx = 1\n```\n</think>\nDone.");
    /// assert_eq!(Cause::of(&Verdict::NoCode, reply, None), Some(Cause::InThinking));
    /// ```
    pub fn of(verdict: &Verdict, reply: Reply<'_>, finish: Option<Finish>) -> Option<Self> {
        match verdict {
            Verdict::NoCode => Some(of_no_code(reply, finish)),
            Verdict::SyntaxError => of_syntax_error(reply, finish),
            other => Self::of_load_error(other),
        }
    }

    /// The cause of a verdict that a program did not load, which needs no reply.
    ///
    /// Loading a program runs nothing of its tests, so an assertion that fails then is its own.
    pub fn of_load_error(verdict: &Verdict) -> Option<Self> {
        let Verdict::LoadError { kind } = verdict else { return None };
        if kind == "AssertionError" {
            return Some(Self::OwnTest);
        }
        let known = EXCEPTIONS.into_iter().find(|known| known == kind);
        Some(Self::Exception(known.unwrap_or(OTHER_EXCEPTION)))
    }

    /// Its name in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::CutOff => "cut_off",
            Self::InThinking => "in_thinking",
            Self::ThinkingUnclosed => "thinking_unclosed",
            Self::Unfenced => "unfenced",
            Self::Prose => "prose",
            Self::OtherLanguage => "other_language",
            Self::OwnTest => "own_test_failed",
            Self::Exception(name) => name,
        }
    }
}

impl Serialize for Cause {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl CauseCounts {
    /// Counts one.
    pub fn add(&mut self, verdict: &Verdict, cause: Cause) {
        let causes = self.0.entry(verdict.name().to_owned()).or_default();
        *causes.entry(cause.name().to_owned()).or_default() += 1;
    }

    /// Whether none was counted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How often a verdict of this name had this cause.
    pub fn count(&self, verdict: &str, cause: &str) -> u64 {
        self.0.get(verdict).and_then(|causes| causes.get(cause)).copied().unwrap_or(0)
    }

    /// Every count, by verdict and cause.
    pub fn iter(&self) -> impl Iterator<Item = CauseCount<'_>> {
        self.0.iter().flat_map(|(verdict, causes)| {
            causes.iter().map(|(cause, &count)| CauseCount { verdict, cause, count })
        })
    }
}

fn of_no_code(reply: Reply<'_>, finish: Option<Finish>) -> Cause {
    let reasoning = reply.reasoning.unwrap_or_default();
    if reply.text.trim().is_empty() && reasoning.trim().is_empty() {
        return Cause::Empty;
    }
    if finish == Some(Finish::Length) {
        return Cause::CutOff;
    }
    let sections = scan_reply(reply).sections;
    let inner = |section: &Section| &reply.text[section.inner.clone()];
    if sections.iter().map(inner).chain([reasoning]).any(has_code) {
        return Cause::InThinking;
    }
    if sections.iter().any(|section| !section.closed) {
        return Cause::ThinkingUnclosed;
    }
    if has_function(&outside_thinking(reply)) { Cause::Unfenced } else { Cause::Prose }
}

fn of_syntax_error(reply: Reply<'_>, finish: Option<Finish>) -> Option<Cause> {
    let scan = scan_reply(reply);
    let block = chosen(&scan.wanted, Language::Python).copied().or(scan.last);
    match block {
        None if scan.unclosed.is_some() && finish != Some(Finish::Stop) => Some(Cause::CutOff),
        Some(block) if block.is_in_other_language => Some(Cause::OtherLanguage),
        _ => None,
    }
}

fn scan_reply(reply: Reply<'_>) -> Scan<'_> {
    let tags = Form::PlanJavascript.tags();
    let opened = reply.opened.then_some(tag::THINK);
    scan(reply.text, ScanOptions { tags, language: Language::Python, opened })
}

/// Whether a text would be taken for code outside thinking, or has a function in no fence.
fn has_code(text: &str) -> bool {
    let found = scan(text, ScanOptions { tags: &[], language: Language::Python, opened: None });
    let is_open = || found.unclosed.is_some_and(|open| !open.content(text).trim().is_empty());
    found.last.is_some() || is_open() || python::is_program(text.trim()) || has_function(text)
}

/// Whether a line begins a function as Python or JavaScript writes it.
fn has_function(text: &str) -> bool {
    text.lines().any(|line| {
        let name = line.strip_prefix("def ").or_else(|| line.strip_prefix("function "));
        name.is_some_and(|name| name.contains('('))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn no_code(reply: Reply<'_>, finish: Option<Finish>) -> &'static str {
        Cause::of(&Verdict::NoCode, reply, finish).unwrap().name()
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(no_code(Reply::text(text), Some(Finish::Stop)), expected, "{text:?}");
    }

    #[test]
    fn a_reply_without_code_has_one_cause() {
        check(" \n", "empty");
        check("I am sorry.", "prose");
        check("Use `x = 1` here.", "prose");
        check("```python\n\n```", "prose");
        check("Here:\n\ndef f(x):\n    return x\n\nDone.", "unfenced");
        check("<think>\nLet me see.", "thinking_unclosed");
        check("<think>\nAdd them.\n</think>\nDone.", "prose");
    }

    #[test]
    fn code_in_the_thinking_is_named_wherever_the_thinking_ends() {
        check("<think>\n```python\nx = 1\n```\n</think>\nDone.", "in_thinking");
        check("<think>\n```python\nx = 1\n```\n", "in_thinking");
        check("<think>\n```\nx = 1", "in_thinking");
        check("<think>\nSo:\ndef f(x):\n    return x\n</think>", "in_thinking");
        check("<think>x = 1</think>", "in_thinking");
        check("[PLAN]\n```js\nlet x\n```\n[/PLAN]", "in_thinking");
        let opened = Reply::text("So:\n```python\nx = 1\n```\n").after(true);
        assert_eq!(no_code(opened, Some(Finish::Stop)), "in_thinking");
        let apart = Reply { reasoning: Some("```python\nx = 1\n```"), ..Reply::text("") };
        assert_eq!(no_code(apart, None), "in_thinking");
    }

    /// More tokens might have brought the code, so that comes before what the thinking holds.
    #[test]
    fn a_reply_that_the_limit_ended_is_cut_off() {
        let cut = Some(Finish::Length);
        for text in ["<think>\nLet me see", "<think>\n```python\nx = 1\n```\nBut", "I think"] {
            assert_eq!(no_code(Reply::text(text), cut), "cut_off", "{text}");
        }
        assert_eq!(no_code(Reply::text(""), cut), "empty");
    }

    #[test]
    fn causes_are_counted_by_verdict() {
        let mut counts = CauseCounts::default();
        let load = Verdict::LoadError { kind: "AssertionError".to_owned() };
        for cause in [Cause::Prose, Cause::InThinking, Cause::Prose] {
            counts.add(&Verdict::NoCode, cause);
        }
        counts.add(&load, Cause::OwnTest);
        let text = r#"{"load_error":{"own_test_failed":1},"no_code":{"in_thinking":1,"prose":2}}"#;
        assert_eq!(serde_json::to_string(&counts).unwrap(), text);
        assert_eq!(serde_json::from_str::<CauseCounts>(text).unwrap(), counts);
        let all: Vec<_> =
            counts.iter().map(|found| (found.verdict, found.cause, found.count)).collect();
        let expected = [
            ("load_error", "own_test_failed", 1),
            ("no_code", "in_thinking", 1),
            ("no_code", "prose", 2),
        ];
        assert_eq!(all, expected);
        assert_eq!((counts.count("no_code", "prose"), counts.count("wrong", "prose")), (2, 0));
    }

    #[track_caller]
    fn check_syntax(text: &str, finish: Option<Finish>, expected: Option<Cause>) {
        assert_eq!(Cause::of(&Verdict::SyntaxError, Reply::text(text), finish), expected, "{text}");
    }

    #[test]
    fn a_program_that_does_not_parse_is_cut_off_or_in_another_language_or_just_wrong() {
        let (stop, cut) = (Some(Finish::Stop), Some(Finish::Length));
        check_syntax("```python\ndef f(", cut, Some(Cause::CutOff));
        check_syntax("```python\ndef f(", None, Some(Cause::CutOff));
        check_syntax("```python\ndef f(", stop, None);
        check_syntax("```python\ndef f(\n```\nSo", cut, None);
        check_syntax("```java\nint x;\n```", stop, Some(Cause::OtherLanguage));
        check_syntax("```bash pip install x```", stop, Some(Cause::OtherLanguage));
        check_syntax("```python\nx =\n```\n```bash\nls\n```", stop, None);
        check_syntax("```js\nlet x =\n```", stop, None);
        check_syntax("```\nx =\n```", stop, None);
    }

    #[test]
    fn an_assertion_while_loading_is_the_programs_own_and_others_go_by_their_names() {
        let of = |kind: &str| {
            let verdict = Verdict::LoadError { kind: kind.to_owned() };
            Cause::of(&verdict, Reply::text(""), None).unwrap().name()
        };
        assert_eq!(of("AssertionError"), "own_test_failed");
        assert_eq!(of("ModuleNotFoundError"), "ModuleNotFoundError");
        assert_eq!(of("MyError<script>"), "another exception");
        let other = Verdict::Wrong { test: 0 };
        assert_eq!(Cause::of(&other, Reply::text("prose"), Some(Finish::Length)), None);
    }
}
