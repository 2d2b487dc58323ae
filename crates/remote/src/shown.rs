//! Text from another machine, made fit for a message.

use crate::secret::Secret;

/// Characters of a foreign text that a message shows.
const SHOWN_CHARS: usize = 300;

/// The beginning of a foreign text: one line, no control characters, no key.
pub(crate) fn beginning(bytes: &[u8], secret: Option<&Secret>) -> String {
    let text = String::from_utf8_lossy(bytes);
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = secret.map_or_else(|| line.clone(), |secret| secret.hide_in(&line));
    match line.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// An address without its query, where signatures and keys are; and without our own key, which a
/// server may have put into its path.
pub(crate) fn address(url: &str, secret: Option<&Secret>) -> String {
    let bare = url.split(['?', '#']).next().unwrap_or(url);
    beginning(bare.as_bytes(), secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_foreign_text_becomes_one_short_line_without_control_characters() {
        assert_eq!(beginning(b"a\r\n\x1b[31m b\xff", None), "a [31m b\u{fffd}");
        let long = beginning("ä".repeat(400).as_bytes(), None);
        assert_eq!(long.chars().count(), SHOWN_CHARS + 1);
        assert!(long.ends_with("ä…"), "{long}");
    }

    #[test]
    fn a_key_is_hidden_before_the_text_is_cut() {
        let secret = Secret::new("sk-0123456789").unwrap();
        let text = format!("{} sk-0123456789", "x".repeat(SHOWN_CHARS - 4));
        let shown = beginning(text.as_bytes(), secret.as_ref());
        assert!(!shown.contains("sk-"), "{shown}");
    }

    #[test]
    fn an_address_is_shown_without_its_query_and_without_the_key() {
        assert_eq!(address("https://cdn/x?Signature=abc#y", None), "https://cdn/x");
        let secret = Secret::new("sk-0123456789").unwrap();
        let shown = address("https://cdn/sk-0123456789/x?y", secret.as_ref());
        assert_eq!(shown, "https://cdn/[key]/x");
    }
}
