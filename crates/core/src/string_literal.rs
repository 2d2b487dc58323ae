//! Where a string literal of a program ends.

/// The length of the string literal that `text` starts with: to its closing quotes, or to the end of the line
/// where a single quote is never closed. A backtick closes on any line.
///
/// # Panics
///
/// If `text` does not start with a quote.
pub fn string_length(text: &str) -> usize {
    let quote = &text[..1];
    let long = quote.repeat(3);
    let close = if text.starts_with(&long) { long.as_str() } else { quote };
    let spans_lines = close.len() == 3 || quote == "`";
    let mut at = close.len();
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(close.as_bytes()) {
            return at + close.len();
        }
        match rest[0] {
            b'\\' => at += 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8),
            b'\n' if !spans_lines => return at,
            _ => at += 1,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_at_its_own_quotes_or_with_its_line() {
        for (text, literal) in [
            ("'a' + b", "'a'"),
            ("\"it's\" b", "\"it's\""),
            (r"'a\'b' c", r"'a\'b'"),
            (r"'\\' c", r"'\\'"),
            ("'never\nclosed'", "'never"),
            ("'''two\nlines''' c", "'''two\nlines'''"),
            ("`two\nlines` c", "`two\nlines`"),
            ("'\\é' c", "'\\é'"),
            ("'", "'"),
            ("'\\", "'\\"),
        ] {
            assert_eq!(&text[..string_length(text)], literal, "{text:?}");
        }
    }
}
