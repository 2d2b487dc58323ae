//! Half surrogate pairs in JSON text, made readable.
//!
//! `"\ud800"` is JSON by its grammar, and Python's `json.dumps` writes it for a string that holds half a
//! pair; but it stands for no character, and a strict reader refuses the whole text. Models do write
//! such replies. Where text of a model is read, each half without its other half is read as U+FFFD,
//! the replacement character, so that the reply is judged and not rejected.
//!
//! Only escapes are changed: a backslash stands in JSON inside of strings alone, and bytes that are no
//! UTF-8 never get here. An escape has the same length before and after.

use std::borrow::Cow;

/// Bytes of `\uXXXX`.
const ESCAPE_BYTES: usize = 6;

/// JSON text in which every escaped surrogate without its other half is `\ufffd`.
pub fn mend(json: &str) -> Cow<'_, str> {
    let mut mended = String::new();
    let (mut copied, mut at) = (0, 0);
    let bytes = json.as_bytes();
    while let Some(found) = memchr::memchr(b'\\', &bytes[at..]) {
        at += found;
        match unit(bytes, at) {
            None => at += 2,
            Some(0xd800..0xdc00) if is_low(bytes, at + ESCAPE_BYTES) => at += 2 * ESCAPE_BYTES,
            Some(0xd800..0xe000) => {
                mended.push_str(&json[copied..at]);
                mended.push_str("\\ufffd");
                at += ESCAPE_BYTES;
                copied = at;
            }
            Some(_) => at += ESCAPE_BYTES,
        }
        if at >= bytes.len() {
            break;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(json);
    }
    mended.push_str(&json[copied..]);
    Cow::Owned(mended)
}

fn is_low(bytes: &[u8], at: usize) -> bool {
    matches!(unit(bytes, at), Some(0xdc00..0xe000))
}

/// The number that is escaped as `\uXXXX` at a place.
fn unit(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = bytes.get(at..at + ESCAPE_BYTES)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |number, &digit| Some(number * 16 + char::from(digit).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(json: &str, read: &str) {
        assert_eq!(serde_json::from_str::<String>(&mend(json)).unwrap(), read, "{json}");
    }

    #[test]
    fn a_half_is_replaced_and_a_pair_is_kept() {
        check(r#""\ud800""#, "\u{fffd}");
        check(r#""a\uDFFFb""#, "a\u{fffd}b");
        check(r#""\ud83d\ude00""#, "\u{1f600}");
        check(r#""\ud83d\ud83d\ude00""#, "\u{fffd}\u{1f600}");
        check(r#""\ude00\ud83d""#, "\u{fffd}\u{fffd}");
        check(r#""\ud83dx\ude00""#, "\u{fffd}x\u{fffd}");
        check(r#""\ud83d\n\ude00""#, "\u{fffd}\n\u{fffd}");
    }

    #[test]
    fn an_escaped_backslash_is_no_escape_of_what_follows() {
        check(r#""\\ud800""#, r"\ud800");
        check(r#""\\\ud800""#, "\\\u{fffd}");
        check(r#""\ud83d\\ude00""#, "\u{fffd}\\ude00");
        check(r#""\\\\ud800\"\ud800""#, "\\\\ud800\"\u{fffd}");
    }

    #[test]
    fn text_without_halves_is_not_even_copied() {
        for json in
            [r#""\ud83d\ude00 \u0041 \\ud800""#, "", "\\", r"\u", r"\ud8", "{}", r"\ud83d\ude0"]
        {
            let is_same = matches!(mend(json), Cow::Borrowed(same) if same == json);
            assert!(is_same || json == r"\ud83d\ude0", "{json}");
        }
    }

    /// Code units of a text that may hold halves, as Python's `json.dumps` escapes it.
    fn escaped(units: &[u16]) -> String {
        let body: Vec<String> = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
        format!("\"{}\"", body.concat())
    }

    proptest! {
        #[test]
        fn any_code_units_are_read_as_a_lossy_decoder_reads_them(
            units in proptest::collection::vec(
                prop_oneof![any::<u16>(), 0xd7f0_u16..0xe010], 0..40)
        ) {
            let json = escaped(&units);
            let read: String = serde_json::from_str(&mend(&json)).unwrap();
            prop_assert_eq!(read, String::from_utf16_lossy(&units));
        }

        #[test]
        fn what_a_strict_reader_reads_is_left_as_it_is(text in any::<String>()) {
            let json = serde_json::to_string(&text).unwrap();
            prop_assert!(matches!(mend(&json), Cow::Borrowed(_)));
        }

        #[test]
        fn any_text_keeps_its_length_and_mending_again_changes_nothing(
            text in r#"([\\u"dD8-9a-fA-F0-3{}\n]|\\u[dD][89a-fA-F][0-9a-f]{2}){0,60}"#
        ) {
            let once = mend(&text).into_owned();
            prop_assert_eq!(once.len(), text.len());
            prop_assert_eq!(mend(&once).into_owned(), once.clone());
            // Where the strict reader reads the text as it is, it reads the same afterwards.
            if let Ok(read) = serde_json::from_str::<serde_json::Value>(&text) {
                prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&once).unwrap(), read);
            }
        }
    }
}
