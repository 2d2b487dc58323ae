//! One line as a code fence.
//!
//! CommonMark's fences (at least three backticks or tildes, an info string, the same or more to
//! close), widened to what models write: any indentation, and a closing fence with prose or a
//! special token glued to it. A fence with the name of a language inside a block opens a block
//! within it; any other closes.

use crate::program::Language;

/// Bytes of a line with nothing but the name of a language and blanks around it, at most.
const MAX_NAME_LINE: usize = 64;

/// An opening fence, or a closing one if it has no info.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fence<'a> {
    mark: u8,
    length: usize,
    /// White space before it, in bytes.
    pub(crate) indent: usize,
    info: &'a str,
}

/// The effect of a fence inside a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Inside {
    /// Nothing: it is part of the content.
    Content,
    /// It opens a block within the block.
    Opens,
    /// It closes the block.
    Closes,
}

/// Reads a line that starts with a fence.
pub(crate) fn fence(line: &str) -> Option<Fence<'_>> {
    let indent = line.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let trimmed = &line[indent..];
    let mark = *trimmed.as_bytes().first().filter(|byte| matches!(byte, b'`' | b'~'))?;
    let length = trimmed.bytes().take_while(|&byte| byte == mark).count();
    let info = trimmed[length..].trim();
    // Backticks behind backticks are inline code, not a fence.
    let inline = mark == b'`' && memchr::memchr(b'`', info.as_bytes()).is_some();
    (length >= 3 && !inline).then_some(Fence { mark, length, indent, info })
}

/// Reads a fence at the end of a line of prose, as in ``Here it is: ```python``.
///
/// Only with the name of a language, so that three backticks in prose open nothing.
pub(crate) fn fence_behind_prose(line: &str) -> Option<Fence<'_>> {
    let line = line.trim_end();
    // No name of a language is longer; a long line is not searched for its last backtick.
    let near_end = line.len().saturating_sub(40);
    let start = near_end + memchr::memrchr(b'`', &line.as_bytes()[near_end..])? + 1;
    let info = &line[start..];
    let length = line[..start].bytes().rev().take_while(|&byte| byte == b'`').count();
    let alone = !line[..start - length].contains('`');
    (length >= 3 && alone && is_language(info)).then_some(Fence {
        mark: b'`',
        length,
        indent: 0,
        info,
    })
}

/// The code of a block that is opened and closed on one line: ` ```python print(1)``` `.
pub(crate) fn one_line(line: &str) -> Option<(&str, &str)> {
    let inner = line.trim().strip_prefix("```")?.strip_suffix("```")?;
    let (info, code) = inner.split_once([' ', '\t'])?;
    (is_language(info) && !code.contains('`')).then_some((info, code.trim()))
}

impl Fence<'_> {
    /// Whether its info names `language`.
    pub(crate) fn is_in(&self, language: Language) -> bool {
        is_in(self.info, language)
    }

    /// The effect of `other`, a fence inside the block that this one opened.
    pub(crate) fn meets(&self, other: &Fence<'_>) -> Inside {
        if other.mark != self.mark || other.length < self.length || other.indent > self.indent + 3 {
            Inside::Content
        } else if !other.info.is_empty() && is_language(other.info) {
            Inside::Opens
        } else {
            Inside::Closes
        }
    }

    /// The content behind the line below the fence, where a fence without info has the name of `language`
    /// alone there: models write three backticks and `python` on two lines. As a program, such a line
    /// would only raise.
    pub(crate) fn behind_language_below<'a>(
        &self,
        content: &'a str,
        language: Language,
    ) -> Option<&'a str> {
        let near = &content.as_bytes()[..content.len().min(MAX_NAME_LINE)];
        let end =
            memchr::memchr(b'\n', near).or((near.len() == content.len()).then_some(near.len()))?;
        let is_name = self.info.is_empty() && is_name(content[..end].trim(), language);
        is_name.then(|| content.get(end + 1..).unwrap_or_default())
    }

    /// Whether its info names a language that no program is asked for in.
    pub(crate) fn is_in_other_language(&self) -> bool {
        is_other_language(self.info)
    }

    /// `content` of an unclosed block without what its end has of a closing fence, and whether
    /// that was all of it.
    pub(crate) fn without_end<'a>(&self, content: &'a str) -> (&'a str, bool) {
        let trimmed = content.trim_end();
        let open = trimmed.trim_end_matches(char::from(self.mark));
        let marks = trimmed.len() - open.len();
        if marks >= self.length {
            return (open, true);
        }
        // Fewer marks are the start of a fence only on a line of their own.
        if marks > 0 && (open.is_empty() || open.ends_with('\n')) {
            return (open, false);
        }
        (content, false)
    }
}

/// Whether the info string `info` names `language`.
pub(crate) fn is_in(info: &str, language: Language) -> bool {
    is_name(first_word(info), language)
}

/// Whether `word` is a name of `language`.
fn is_name(word: &str, language: Language) -> bool {
    let names: &[&str] = match language {
        Language::Python => &["python", "python3", "python2", "py", "py3", "ipython"],
        Language::Javascript => &["javascript", "js", "mjs", "node", "nodejs", "jsx"],
    };
    names.iter().any(|name| name.eq_ignore_ascii_case(word))
}

/// Whether the info string names a language that no program is asked for in.
pub(crate) fn is_other_language(info: &str) -> bool {
    let asked = [Language::Python, Language::Javascript];
    is_language(info) && !asked.into_iter().any(|language| is_in(info, language))
}

/// Whether `info` starts with the name of a language that blocks are written in.
fn is_language(info: &str) -> bool {
    const OTHERS: &[&str] = &[
        "bash",
        "sh",
        "shell",
        "zsh",
        "console",
        "terminal",
        "text",
        "txt",
        "plaintext",
        "json",
        "c",
        "cpp",
        "c++",
        "java",
        "typescript",
        "ts",
        "tsx",
        "markdown",
        "md",
        "html",
        "css",
        "xml",
        "yaml",
        "yml",
        "toml",
        "sql",
        "go",
        "rust",
        "ruby",
        "output",
        "input",
        "diff",
        "pycon",
    ];
    let word = first_word(info);
    is_in(word, Language::Python)
        || is_in(word, Language::Javascript)
        || OTHERS.iter().any(|name| name.eq_ignore_ascii_case(word))
}

/// The language of an info string such as `python`, `{.python}`, `python:main.py` or `py title=x`.
fn first_word(info: &str) -> &str {
    let info = info.trim_start_matches(['{', '.', ' ', '\t']);
    let end = info.find(|c: char| c.is_whitespace() || ":,{}=".contains(c));
    &info[..end.unwrap_or(info.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_needs_three_marks_and_no_backtick_behind() {
        assert!(fence("``").is_none());
        assert!(fence("```").is_some());
        assert!(fence("  ~~~~ python").is_some());
        assert!(fence("```python print(1)```").is_none());
        assert!(fence("x ```").is_none());
        assert!(fence("~~~ a`b").is_some());
    }

    #[test]
    fn a_language_is_known_in_any_case_and_dress() {
        for info in ["python", "Python", "PYTHON3", "py", "{.python}", "python:main.py", "py a=b"] {
            assert!(is_in(info, Language::Python), "{info}");
        }
        for info in ["", "pythonic", "javascript", "text python"] {
            assert!(!is_in(info, Language::Python), "{info}");
        }
    }

    #[track_caller]
    fn check(opener: &str, line: &str, expected: Inside) {
        assert_eq!(fence(opener).unwrap().meets(&fence(line).unwrap()), expected, "{line}");
    }

    #[test]
    fn a_block_is_closed_by_a_fence_of_its_own_kind() {
        check("```python", "```", Inside::Closes);
        check("```python", "````", Inside::Closes);
        check("```python", "   ```", Inside::Closes);
        check("```python", "    ```", Inside::Content);
        check("    ```python", "```", Inside::Closes);
        check("````python", "```", Inside::Content);
        check("```python", "~~~", Inside::Content);
    }

    #[test]
    fn the_language_may_stand_on_the_line_below_a_bare_fence() {
        let behind = |line: &str, content: &'static str| {
            fence(line).unwrap().behind_language_below(content, Language::Python)
        };
        for content in ["python\nx", "Python \nx", "  py\r\nx", "python3\nx"] {
            assert_eq!(behind("```", content), Some("x"), "{content:?}");
        }
        assert_eq!(behind("~~~", "python\n\nx"), Some("\nx"));
        assert_eq!(behind("```", "python"), Some(""));
        for content in
            ["", "\npython\nx", "python x\ny", "javascript\nx", "x\npython\n", "pythonic\n"]
        {
            assert_eq!(behind("```", content), None, "{content:?}");
        }
        assert_eq!(behind("```python", "python\nx"), None, "the info string comes first");
        let wide: &str = Box::leak(format!("{}python\nx", "ä".repeat(99)).into_boxed_str());
        assert_eq!(behind("```", wide), None);
    }

    #[test]
    fn inside_a_block_a_language_opens_and_prose_closes() {
        check("```python", "```python", Inside::Opens);
        check("```markdown", "```JS", Inside::Opens);
        check("```python", "``` This adds two numbers.", Inside::Closes);
        check("```python", "```<|im_end|>", Inside::Closes);
    }

    #[test]
    fn prose_may_stand_before_a_fence_with_a_language() {
        assert!(fence_behind_prose("Here it is: ```python").is_some());
        assert!(fence_behind_prose("Here it is: ```").is_none());
        assert!(fence_behind_prose("use ``` and ```python").is_none());
        assert!(fence_behind_prose("a `python").is_none());
    }

    #[test]
    fn a_block_may_be_one_line() {
        assert_eq!(one_line("```python print(1)```"), Some(("python", "print(1)")));
        assert_eq!(one_line("```print(1)```"), None);
    }
}
