//! The page itself: a fixed template, and chunks of data behind it.
//!
//! The policy in the head: nothing is loaded from anywhere (`default-src 'none'`), and of the inline
//! style and script only those with these hashes count. With `'unsafe-inline'` a text that slipped
//! into the markup could run; with a hash it cannot, and no handler in an attribute can either.
//! Elements of data are no scripts (their type is no script's), so the policy does not ask for them.

use std::io::{self, Write};

use super::chunk::{pack, policy_hash};

const TEMPLATE: &str = include_str!("../../../../assets/report/page.html");
const STYLE: &str = include_str!("../../../../assets/report/style.css");

/// The scripts in the order in which they stand in the page.
const SCRIPTS: [&str; 13] = [
    include_str!("../../../../assets/report/dom.js"),
    include_str!("../../../../assets/report/data.js"),
    include_str!("../../../../assets/report/scale.js"),
    include_str!("../../../../assets/report/shapes.js"),
    include_str!("../../../../assets/report/chart.js"),
    include_str!("../../../../assets/report/catalogue.js"),
    include_str!("../../../../assets/report/lines.js"),
    include_str!("../../../../assets/report/alarms.js"),
    include_str!("../../../../assets/report/overview.js"),
    include_str!("../../../../assets/report/samples.js"),
    include_str!("../../../../assets/report/find.js"),
    include_str!("../../../../assets/report/browser.js"),
    include_str!("../../../../assets/report/start.js"),
];

/// Where the template is filled in.
const POLICY_MARK: &str = "@policy@";
const STYLE_MARK: &str = "@style@";
const DATA_MARK: &str = "@data@";

/// A page that is being written.
pub(super) struct Page<'a> {
    out: &'a mut dyn Write,
}

impl<'a> Page<'a> {
    /// Writes everything up to the data.
    pub(super) fn begin(out: &'a mut dyn Write) -> io::Result<Self> {
        let (head, _) = halves();
        let head = head.replace(POLICY_MARK, &policy()).replace(STYLE_MARK, STYLE);
        out.write_all(head.as_bytes())?;
        Ok(Self { out })
    }

    /// Writes the page's scripts: what stands before them is drawn at once.
    pub(super) fn scripts(&mut self) -> io::Result<()> {
        writeln!(self.out, "<script>{}</script>", script())
    }

    /// Writes a chunk of data under a name.
    pub(super) fn chunk(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let packed = pack(bytes)?;
        writeln!(
            self.out,
            r#"<script type="application/octet-stream" id="{name}">{packed}</script>"#
        )
    }

    /// Writes what stands behind the data.
    pub(super) fn end(self) -> io::Result<()> {
        self.out.write_all(halves().1.as_bytes())
    }
}

fn halves() -> (&'static str, &'static str) {
    TEMPLATE.split_once(DATA_MARK).unwrap_or((TEMPLATE, ""))
}

fn script() -> String {
    format!("(() => {{\n\"use strict\";\n{}}})();\n", SCRIPTS.join("\n"))
}

fn policy() -> String {
    format!(
        "default-src 'none'; script-src {}; style-src {}; base-uri 'none'; form-action 'none'",
        policy_hash(&script()),
        policy_hash(STYLE)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written() -> String {
        let mut out = Vec::new();
        let mut page = Page::begin(&mut out).unwrap();
        page.chunk("feed", b"{}").unwrap();
        page.scripts().unwrap();
        page.end().unwrap();
        String::from_utf8(out).unwrap()
    }

    fn between<'a>(text: &'a str, open: &str, close: &str) -> &'a str {
        text.split_once(open).unwrap().1.split_once(close).unwrap().0
    }

    #[test]
    fn the_policy_names_the_style_and_the_script_that_are_in_the_page() {
        let page = written();
        let policy = between(&page, "http-equiv=\"Content-Security-Policy\" content=\"", "\"");
        assert!(policy.starts_with("default-src 'none';"), "{policy}");
        let script = between(&page, "<script>", "</script>");
        assert!(policy.contains(&format!("script-src {};", policy_hash(script))), "{policy}");
        let style = between(&page, "<style>", "</style>");
        assert!(policy.contains(&format!("style-src {};", policy_hash(style))), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
    }

    #[test]
    fn every_mark_is_filled_in_and_nothing_is_fetched() {
        let page = written();
        for mark in [POLICY_MARK, STYLE_MARK, DATA_MARK] {
            assert!(TEMPLATE.contains(mark) && !page.contains(mark), "{mark}");
        }
        for way in ["src=", "href=\"http", "@import", "url(", "innerHTML", "eval(", " onclick="] {
            assert!(!page.contains(way), "{way}");
        }
        assert!(page.ends_with("</html>\n"));
    }
}
