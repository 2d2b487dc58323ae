//! The page itself: a fixed template, and chunks of data behind it.
//!
//! The policy in the head: nothing is loaded from anywhere (`default-src 'none'`), and only the
//! inline style and scripts with these hashes are allowed. With `'unsafe-inline'`, a text that
//! slipped into the markup could run; with a hash it cannot, and neither can a handler in an
//! attribute. Data elements have a type that is not executable, so the policy does not apply to
//! them.
//!
//! A live page has one more script, which polls for updates, and a policy that allows requests to
//! its own server only (`connect-src 'self'`).

use std::io::{self, Write};

use super::chunk::{pack, policy_hash};

const TEMPLATE: &str = include_str!("../../../../assets/report/page.html");
const STYLE: &str = include_str!("../../../../assets/report/style.css");

/// The scripts in the order of the page.
const SCRIPTS: [&str; 17] = [
    include_str!("../../../../assets/report/dom.js"),
    include_str!("../../../../assets/report/data.js"),
    include_str!("../../../../assets/report/scale.js"),
    include_str!("../../../../assets/report/shapes.js"),
    include_str!("../../../../assets/report/chart.js"),
    include_str!("../../../../assets/report/catalogue.js"),
    include_str!("../../../../assets/report/lines.js"),
    include_str!("../../../../assets/report/alarms.js"),
    include_str!("../../../../assets/report/overview.js"),
    include_str!("../../../../assets/report/evaluation.js"),
    include_str!("../../../../assets/report/episode.js"),
    include_str!("../../../../assets/report/drawing.js"),
    include_str!("../../../../assets/report/game.js"),
    include_str!("../../../../assets/report/samples.js"),
    include_str!("../../../../assets/report/find.js"),
    include_str!("../../../../assets/report/browser.js"),
    include_str!("../../../../assets/report/start.js"),
];

/// Additional scripts of a live page.
const LIVE_SCRIPTS: [&str; 2] = [
    include_str!("../../../../assets/report/extend.js"),
    include_str!("../../../../assets/report/live.js"),
];
const LIVE_STYLE: &str = include_str!("../../../../assets/report/live.css");

/// The kind of page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageForm {
    /// A file that loads nothing.
    File,
    /// Served during the run; polls for updates.
    Live,
}

/// Placeholders of the template.
const POLICY_MARK: &str = "@policy@";
const STYLE_MARK: &str = "@style@";
const DATA_MARK: &str = "@data@";

/// A page that is being written.
pub(super) struct Page<'a> {
    out: &'a mut dyn Write,
    form: PageForm,
}

impl<'a> Page<'a> {
    /// Writes everything up to the data.
    pub(super) fn begin(out: &'a mut dyn Write, form: PageForm) -> io::Result<Self> {
        let (head, _) = halves();
        let head = head.replace(POLICY_MARK, &form.policy()).replace(STYLE_MARK, &form.style());
        out.write_all(head.as_bytes())?;
        Ok(Self { out, form })
    }

    /// Writes the page's scripts: the data before them is drawn immediately.
    pub(super) fn scripts(&mut self) -> io::Result<()> {
        writeln!(self.out, "<script>{}</script>", self.form.script())
    }

    /// Writes a chunk of data under a name.
    pub(super) fn chunk(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let packed = pack(bytes)?;
        writeln!(
            self.out,
            r#"<script type="application/octet-stream" id="{name}">{packed}</script>"#
        )
    }

    /// Writes the end of the page, after the data.
    pub(super) fn end(self) -> io::Result<()> {
        self.out.write_all(halves().1.as_bytes())
    }
}

fn halves() -> (&'static str, &'static str) {
    TEMPLATE.split_once(DATA_MARK).unwrap_or((TEMPLATE, ""))
}

impl PageForm {
    /// The content security policy of the page.
    pub(super) fn policy(self) -> String {
        let connect = match self {
            Self::File => "",
            Self::Live => " connect-src 'self';",
        };
        format!(
            "default-src 'none'; script-src {}; style-src {};{connect} base-uri 'none'; form-action 'none'",
            policy_hash(&self.script()),
            policy_hash(&self.style())
        )
    }

    fn script(self) -> String {
        let live: &[&str] = match self {
            Self::File => &[],
            Self::Live => &LIVE_SCRIPTS,
        };
        let all = [&SCRIPTS, live].concat().join("\n");
        format!("(() => {{\n\"use strict\";\n{all}}})();\n")
    }

    fn style(self) -> String {
        match self {
            Self::File => STYLE.to_owned(),
            Self::Live => format!("{STYLE}{LIVE_STYLE}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(form: PageForm) -> String {
        let mut out = Vec::new();
        let mut page = Page::begin(&mut out, form).unwrap();
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
        for form in [PageForm::File, PageForm::Live] {
            check_policy(&written(form));
        }
    }

    #[track_caller]
    fn check_policy(page: &str) {
        let policy = between(page, "http-equiv=\"Content-Security-Policy\" content=\"", "\"");
        assert!(policy.starts_with("default-src 'none';"), "{policy}");
        let script = between(page, "<script>", "</script>");
        assert!(policy.contains(&format!("script-src {};", policy_hash(script))), "{policy}");
        let style = between(page, "<style>", "</style>");
        assert!(policy.contains(&format!("style-src {};", policy_hash(style))), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
    }

    #[test]
    fn only_a_page_that_is_served_may_ask_and_only_whoever_served_it() {
        let [file, live] =
            [PageForm::File, PageForm::Live].map(|form| (form.policy(), written(form)));
        assert!(live.0.contains(" connect-src 'self';") && live.1.contains("fetch("));
        assert!(!file.0.contains("connect-src") && !file.1.contains("fetch("));
    }

    #[test]
    fn every_mark_is_filled_in_and_nothing_is_fetched() {
        let page = written(PageForm::File);
        for mark in [POLICY_MARK, STYLE_MARK, DATA_MARK] {
            assert!(TEMPLATE.contains(mark) && !page.contains(mark), "{mark}");
        }
        for way in ["src=", "href=\"http", "@import", "url(", "innerHTML", "eval(", " onclick="] {
            assert!(!page.contains(way), "{way}");
        }
        assert!(page.ends_with("</html>\n"));
    }
}
