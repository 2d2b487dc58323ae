//! Brackets that are nested beyond all measure, found before anything is parsed.
//!
//! A parser recurses with every bracket, and where it cannot tell an arrow function from an
//! expression it may read the inside more than once. So the depth is bounded first, in one pass over
//! the bytes. Strings and comments are passed over where they are plain to see; a regular expression
//! or a template is not taken apart, so brackets in those count too.

/// Deeper than this no honest program goes; the engine itself gives up at a few thousand.
pub const MAX_DEPTH: usize = 500;

/// Whether brackets are nested deeper than [`MAX_DEPTH`].
pub fn is_too_deep(source: &str) -> bool {
    let bytes = source.as_bytes();
    deepest(bytes.iter().copied()) > MAX_DEPTH && deepest(code(bytes)) > MAX_DEPTH
}

fn deepest(bytes: impl Iterator<Item = u8>) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for byte in bytes {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// The bytes outside of quoted strings and comments.
fn code(bytes: &[u8]) -> impl Iterator<Item = u8> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = bytes.get(at..)?;
            let skipped = match rest {
                [] => return None,
                [quote @ (b'"' | b'\''), inside @ ..] => 1 + quoted(inside, *quote),
                [b'/', b'/', ..] => rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len()),
                [b'/', b'*', inside @ ..] => {
                    inside.windows(2).position(|pair| pair == b"*/").map_or(rest.len(), |n| n + 4)
                }
                [byte, ..] => {
                    at += 1;
                    return Some(*byte);
                }
            };
            at += skipped;
        }
    })
}

/// Bytes up to and with the closing quote; a string ends at its line.
fn quoted(inside: &[u8], quote: u8) -> usize {
    let mut at = 0;
    while let Some(&byte) = inside.get(at) {
        at += match byte {
            b'\\' => 2,
            b'\n' => return at,
            byte if byte == quote => return at + 1,
            _ => 1,
        };
    }
    inside.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_counts_in_code_and_not_in_strings_and_comments() {
        let deep = "(".repeat(MAX_DEPTH + 1);
        assert!(is_too_deep(&deep));
        assert!(!is_too_deep(&deep[1..]));
        for source in [
            format!("const s = \"{deep}\";"),
            format!("const s = 'it\\'s {deep}';"),
            format!("// {deep}\nf()"),
            format!("/* {deep} */ f()"),
            "()".repeat(MAX_DEPTH * 2),
        ] {
            assert!(!is_too_deep(&source), "{source}");
        }
        for source in [
            format!("'a\n{deep}"),
            format!("\"a\\\"\"{deep}"),
            format!("/**/{deep}"),
            "[{(".repeat(MAX_DEPTH),
        ] {
            assert!(is_too_deep(&source), "{source}");
        }
    }

    #[test]
    fn text_that_ends_early_ends_the_pass() {
        for source in ["'", "\"\\", "/*", "//", "/", "\\", "'a\\"] {
            assert!(!is_too_deep(source), "{source}");
            assert!(!is_too_deep(&format!("{}{source}", "(".repeat(MAX_DEPTH))), "{source}");
        }
    }
}
