//! Texts and programs as lists of tokens, with what does not matter left out.
//!
//! A statement's tokens are its words in lower case and the signs of arithmetic (`n + 1` is not
//! `n - 1`); its punctuation and layout are left out. A program's tokens are names, numbers, whole
//! string literals and single signs; comments to the end of a line and layout are left out. Scripts
//! that write no spaces have a token for each character.
//!
//! A token is its 64-bit FNV-1a hash, the same on every machine. Programs are scanned, not parsed: a
//! reference that does not parse is compared all the same.

use whetstone_core::program::Language;
use whetstone_core::string_literal::string_length;

/// Signs that change the meaning of a statement.
const SIGNS: &str = "+-*/%<>=^&|~@!";
/// The first character of scripts without spaces.
const IDEOGRAPHS: char = '\u{2e80}';

/// The tokens of a statement.
pub(super) fn statement(text: &str) -> Vec<u64> {
    pieces(text, |c| SIGNS.contains(c)).map(|piece| hash(&piece.to_lowercase())).collect()
}

/// The words of a statement, in lower case.
pub(super) fn words(text: &str) -> Vec<String> {
    pieces(text, |_| false).map(str::to_lowercase).collect()
}

/// The tokens of a program.
pub(super) fn program(code: &str, language: Language) -> Vec<u64> {
    let mut tokens = Vec::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            c if c.is_whitespace() => {
                rest = &rest[c.len_utf8()..];
                continue;
            }
            _ if is_comment(rest, language) => {
                rest = rest.find('\n').map_or("", |end| &rest[end..]);
                continue;
            }
            '"' | '\'' => string_length(rest),
            c if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        tokens.push(hash(token));
        rest = after;
    }
    tokens
}

/// Runs of letters and digits, and single signs.
fn pieces(text: &str, is_sign: impl Fn(char) -> bool) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric() && !is_sign(c));
        let first = rest.chars().next()?;
        let length = if !first.is_alphanumeric() || first >= IDEOGRAPHS {
            first.len_utf8()
        } else {
            let ends = |c: char| !c.is_alphanumeric() || c >= IDEOGRAPHS;
            rest.find(ends).unwrap_or(rest.len())
        };
        let (piece, after) = rest.split_at(length);
        rest = after;
        Some(piece)
    })
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_comment(rest: &str, language: Language) -> bool {
    rest.starts_with(match language {
        Language::Python => "#",
        Language::Javascript => "//",
    })
}

fn hash(token: &str) -> u64 {
    token.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_hash_is_the_published_one() {
        // Vectors of the FNV authors.
        assert_eq!(hash(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(hash("foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn layout_case_and_punctuation_do_not_matter_and_signs_do() {
        assert_eq!(
            statement("Write, a  `Function`!x"),
            statement("write a function!\nX."[..].trim_end_matches('.'))
        );
        assert_ne!(statement("return n + 1"), statement("return n - 1"));
        assert_eq!(statement("求和 sum").len(), 3);
        assert_eq!(words("Don't, n+1!"), ["don", "t", "n", "1"]);
    }

    #[test]
    fn comments_and_layout_of_a_program_do_not_matter_and_strings_do() {
        let python = |code| program(code, Language::Python);
        assert_eq!(python("def f(x):\n  return x # same"), python("def f( x ) :\n\n\treturn x"));
        assert_ne!(python("s = 'a b'"), python("s = 'a  b'"));
        assert_eq!(python("s = '#'"), python("s='#'#"));
        assert_eq!(python("\"\"\"a\n'b\"\"\" x").len(), 2);
        assert_eq!(python(r"s = 'it\'s' + x").len(), 5);
        let script = |code| program(code, Language::Javascript);
        assert_eq!(script("f(x) // a"), script("f( x )"));
    }

    proptest! {
        #[test]
        fn any_text_has_tokens_and_spaces_between_them_change_nothing(text in "\\PC{0,40}") {
            let python = program(&text, Language::Python);
            prop_assert!(python.len() <= text.chars().count());
            let padded = format!(" \n{text}\n ");
            if !text.contains(['\'', '"']) {
                prop_assert_eq!(program(&padded, Language::Python), python);
            }
            prop_assert_eq!(statement(&padded), statement(&text));
        }
    }
}
