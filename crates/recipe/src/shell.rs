//! Commands that a user can paste into a shell.

/// A word as a shell takes it.
#[must_use]
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    if !word.contains(char::is_control) {
        return format!("'{}'", word.replace('\'', r"'\''"));
    }
    // The name of a file may hold what a terminal would obey: bash and zsh read it from its numbers.
    let safe = word.chars().map(|c| match c {
        '\'' | '\\' => format!("\\{c}"),
        c if c.is_control() => format!("\\u{:04x}", u32::from(c)),
        c => c.to_string(),
    });
    format!("$'{}'", safe.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_one_word_for_a_shell() {
        assert_eq!(quoted("runs/grpo-1"), "runs/grpo-1");
        assert_eq!(quoted("my runs"), "'my runs'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("a\u{1b}[31m'b"), r"$'a\u001b[31m\'b'", "nothing that a terminal obeys");
    }
}
