//! Text out of a stranger's file, made fit for a message.

/// Characters of a foreign text that a message shows.
const SHOWN_CHARS: usize = 120;

/// The beginning of a foreign text, without control characters.
pub(crate) fn beginning(text: &str) -> String {
    let printable = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    let mut line: String = text.chars().take(SHOWN_CHARS).map(printable).collect();
    if text.chars().nth(SHOWN_CHARS).is_some() {
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_foreign_text_is_shortened_and_harmless() {
        assert_eq!(beginning("a\u{1b}[31m\nb"), "a\u{fffd}[31m\u{fffd}b");
        let long = beginning(&"ä".repeat(500));
        assert_eq!(long.chars().count(), SHOWN_CHARS + 1);
    }
}
