//! As much HTML as the check of the built site needs: tags with their attributes.
//!
//! It reads what mdBook writes, not what anybody writes: attributes are quoted. The text of scripts and styles is
//! not markup, and comments are nothing.

/// An attribute of a tag.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Attribute {
    /// The name of its tag.
    pub(super) tag: String,
    /// Its name.
    pub(super) name: String,
    /// Its value, with entities replaced.
    pub(super) value: String,
}

/// Every attribute of every tag that has a value.
pub(super) fn attributes(html: &str) -> Vec<Attribute> {
    let mut all = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        if let Some(comment) = rest.strip_prefix("!--") {
            rest = comment.split_once("-->").map_or("", |(_, rest)| rest);
            continue;
        }
        let name_end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let tag = rest[..name_end].to_ascii_lowercase();
        if tag.is_empty() {
            continue;
        }
        rest = read_tag(&tag, &rest[name_end..], &mut all);
        if tag == "script" || tag == "style" {
            rest = rest.split_once(&format!("</{tag}")).map_or("", |(_, rest)| rest);
        }
    }
    all
}

/// Reads the attributes of one tag and returns what follows it.
fn read_tag<'a>(tag: &str, mut rest: &'a str, all: &mut Vec<Attribute>) -> &'a str {
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            return rest;
        }
        if let Some(after) = rest.strip_prefix('>') {
            return after;
        }
        let end = rest.find(|c: char| c.is_whitespace() || matches!(c, '=' | '>' | '/'));
        let end = end.unwrap_or(rest.len()).max(1).min(rest.len());
        let Some(name) = rest.get(..end) else { return "" };
        rest = &rest[end..];
        let Some(value) = rest.strip_prefix('=') else { continue };
        let (value, after) = quoted(value);
        rest = after;
        all.push(Attribute {
            tag: tag.to_owned(),
            name: name.to_ascii_lowercase(),
            value: plain(value),
        });
    }
}

fn quoted(text: &str) -> (&str, &str) {
    for quote in ['"', '\''] {
        if let Some(inside) = text.strip_prefix(quote) {
            return inside.split_once(quote).unwrap_or((inside, ""));
        }
    }
    text.split_at(text.find(|c: char| c.is_whitespace() || c == '>').unwrap_or(text.len()))
}

fn plain(value: &str) -> String {
    [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&#x27;", "'"),
        ("&amp;", "&"),
    ]
    .iter()
    .fold(value.to_owned(), |text, (entity, letter)| text.replace(entity, letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_read_wherever_they_stand() {
        let html = "<!doctype html><p class=a>1 < 2<img alt='<b>' src=\"c&amp;d\" hidden/>\
            <!-- <a href=\"no\"> --><script>x = '<a href=\"no\">'</script><A\nHREF='e'>";
        let found = attributes(html);
        let found: Vec<(&str, &str, &str)> =
            found.iter().map(|a| (a.tag.as_str(), a.name.as_str(), a.value.as_str())).collect();
        assert_eq!(
            found,
            [("p", "class", "a"), ("img", "alt", "<b>"), ("img", "src", "c&d"), ("a", "href", "e")]
        );
    }

    #[test]
    fn markup_that_does_not_end_is_read_to_its_end() {
        for html in ["<a href=\"b", "<a href=", "<a =", "<!-- a", "<script>", "<é", "<a é/"] {
            assert!(attributes(html).len() <= 1, "{html}");
        }
    }
}
