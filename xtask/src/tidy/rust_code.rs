//! Rust source without its comments and literals, so that a word can be looked for in code alone.
//!
//! Not a lexer: it knows just enough (nested comments, raw strings, lifetimes) not to lose its
//! place.

/// Replaces every comment, string and character literal by a space; lines keep their numbers.
pub(crate) fn code_of(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = comment(rest).or_else(|| literal(rest));
        let (taken, after) = rest.split_at(length.unwrap_or(first.len_utf8()));
        if length.is_some() {
            code.push(' ');
            code.extend(taken.chars().filter(|c| *c == '\n'));
        } else {
            code.push(first);
        }
        rest = after;
    }
    code
}

/// Whether `word` stands in `line` with no letter, digit or underscore on either side.
pub(crate) fn has_word(line: &str, word: &str) -> bool {
    let joins = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    line.match_indices(word).any(|(at, _)| {
        let after = &line[at + word.len()..];
        !joins(line[..at].chars().next_back()) && !joins(after.chars().next())
    })
}

/// Length of the comment that `text` begins with.
fn comment(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    if !text.starts_with("/*") {
        return None;
    }
    let (mut at, mut depth) = (2, 1);
    while depth > 0 {
        let next = at + text[at..].find(['/', '*'])?;
        let step = text.get(next..next + 2).unwrap_or_default();
        depth = if step == "/*" { depth + 1 } else { depth - i32::from(step == "*/") };
        at = next + if matches!(step, "/*" | "*/") { 2 } else { 1 };
    }
    Some(at)
}

/// Length of the string or character literal that `text` begins with.
fn literal(text: &str) -> Option<usize> {
    match text.chars().next()? {
        '"' => escaped(text, '"'),
        'r' => raw_string(text),
        '\'' if is_character(&text[1..]) => escaped(text, '\''),
        _ => None,
    }
}

/// `r"…"`, `r#"…"#` and so on; `r#name` is an identifier.
fn raw_string(text: &str) -> Option<usize> {
    let inner = text[1..].trim_start_matches('#');
    let hashes = text.len() - 1 - inner.len();
    let body = inner.strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    Some(1 + hashes + 1 + body.find(&close)? + close.len())
}

/// Length up to and with the next `quote` that no backslash escapes.
fn escaped(text: &str, quote: char) -> Option<usize> {
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            c if c == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// Tells `'a'` and `'\n'` from the lifetime `'a`, given what follows the first quote.
fn is_character(after: &str) -> bool {
    let mut chars = after.chars();
    chars.next() == Some('\\') || chars.next() == Some('\'')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, code: &str) {
        assert_eq!(code_of(source), code);
    }

    #[test]
    fn comments_are_gone_and_lines_stay() {
        check("a // b\nc", "a  \nc");
        check("a /* b /* c */\n d */ e", "a  \n e");
    }

    #[test]
    fn literals_are_gone_whatever_they_hold() {
        check(r#"f("a \" // b", 1)"#, "f( , 1)");
        check(r##"f(br#"a " b"#)"##, "f(b )");
        check(r"f('\'', '/', 'é')", "f( ,  ,  )");
    }

    #[test]
    fn lifetimes_and_raw_names_are_code() {
        check("fn f<'a>(r#type: &'a str, b: char)", "fn f<'a>(r#type: &'a str, b: char)");
    }

    #[test]
    fn a_word_is_not_part_of_another() {
        assert!(has_word("if so { go }", "go"));
        assert!(!has_word("ergo, going, go_on", "go"));
    }
}
