//! Text of users in Markdown and YAML: names of models and files may hold anything.

use std::fmt::Write;

/// Characters of a name that are shown.
const LONGEST: usize = 200;

/// Whether a character is shown as it is: no control character, no line break, nothing that turns the direction of
/// text or has no width.
fn is_plain(c: char) -> bool {
    c == ' ' || c.is_ascii_graphic() || c.is_alphanumeric()
}

/// A text with everything else written as `\u{…}`, shortened.
fn visible(text: &str) -> String {
    let mut shown = String::new();
    for c in text.chars().take(LONGEST) {
        if is_plain(c) {
            shown.push(c);
        } else {
            let _ = write!(shown, "\\u{{{:x}}}", u32::from(c));
        }
    }
    if text.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    shown
}

/// A text as code within a line of Markdown. Neither Markdown nor HTML has a meaning in it.
pub(super) fn code(text: &str) -> String {
    let shown = visible(text);
    let fence = "`".repeat(longest_run(&shown) + 1);
    // A space inside keeps backticks at the ends apart, and is not shown.
    if shown.starts_with('`') || shown.ends_with('`') || shown.trim().is_empty() {
        format!("{fence} {shown} {fence}")
    } else {
        format!("{fence}{shown}{fence}")
    }
}

/// Lines of code as a block of Markdown, in a fence that they cannot close.
pub(super) fn block(language: &str, lines: &[String]) -> String {
    let fence =
        "`".repeat(lines.iter().map(|line| longest_run(line)).max().unwrap_or(0).max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}\n", lines.join("\n"))
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// A text as a string of TOML. Everything but plain characters is escaped.
pub(super) fn toml_string(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            c if is_plain(c) => quoted.push(c),
            c => {
                let _ = write!(quoted, "\\U{:08X}", u32::from(c));
            }
        }
    }
    quoted.push('"');
    quoted
}

/// A word of a command line, quoted for a shell.
pub(super) fn word(text: &str) -> String {
    let shown: String = text.chars().map(|c| if is_plain(c) { c } else { '?' }).collect();
    let needs_none = |c: char| c.is_ascii_alphanumeric() || "-_./=:".contains(c);
    if !shown.is_empty() && shown.chars().all(needs_none) {
        return shown;
    }
    format!("'{}'", shown.replace('\'', r"'\''"))
}

/// Whether a text is the name of a model on the hub, `owner/name`.
pub(super) fn is_hub_name(text: &str) -> bool {
    let is_part = |part: &str| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        (1..=96).contains(&part.len())
            && part.bytes().all(allowed)
            && part.starts_with(|c: char| c.is_ascii_alphanumeric())
    };
    text.split_once('/').is_some_and(|(owner, name)| is_part(owner) && is_part(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_cannot_be_left() {
        assert_eq!(code("models/a b"), "`models/a b`");
        assert_eq!(code("a`b``c"), "```a`b``c```");
        assert_eq!(code("`"), "`` ` ``");
        assert_eq!(code(""), "`  `");
        assert_eq!(code("a\n---\n<b>\u{202e}"), "`a\\u{a}---\\u{a}<b>\\u{202e}`");
        assert_eq!(code(&"x".repeat(300)).chars().count(), 203);
        let fenced = block("toml", &["a = \"````\"".to_owned()]);
        assert_eq!(fenced, "`````toml\na = \"````\"\n`````\n");
    }

    #[test]
    fn a_string_of_toml_is_one_line() {
        assert_eq!(toml_string("a\"\\\n```é\u{7f}"), "\"a\\\"\\\\\\U0000000A```é\\U0000007F\"");
        assert_eq!(word("it's\n$(x)"), r"'it'\''s?$(x)'");
    }

    #[test]
    fn a_name_on_the_hub_has_two_plain_parts() {
        for name in ["Qwen/Qwen3-1.7B", "a/b", "HuggingFaceTB/SmolLM2-135M-Instruct"] {
            assert!(is_hub_name(name), "{name}");
        }
        for other in [
            "student",
            "/tmp/a",
            "a/b/c",
            "../a",
            "a/.b",
            "a/b\nlicense: mit",
            "a/",
            "a/b c",
            "é/b",
        ] {
            assert!(!is_hub_name(other), "{other}");
        }
    }
}
