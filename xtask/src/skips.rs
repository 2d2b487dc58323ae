//! Tests that lack something: data, a model, a browser, a GPU, a kernel feature.
//!
//! Such a test prints `SKIPPED: ` and its reason, and passes. cargo-nextest keeps the output of every test in a
//! `JUnit` file (`.config/nextest.toml`, profile `ci`); the reasons are counted from there, so that the last lines
//! of CI say what was not tested here.

use std::collections::BTreeMap;
use std::env;
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What a test that is skipped prints before its reason.
const MARK: &str = "SKIPPED: ";

/// Where cargo-nextest leaves the output of tests.
fn file(root: &Path) -> PathBuf {
    let target =
        env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    root.join(target).join("nextest/ci/junit.xml")
}

/// How many tests passed, and the reasons of those that were skipped.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Skips {
    passed: usize,
    reasons: BTreeMap<String, usize>,
}

impl Skips {
    /// Reads what the last run of the tests left; `None` where nothing was left.
    pub fn read(root: &Path) -> Option<Self> {
        fs::read_to_string(file(root)).ok().map(|text| Self::of(&text))
    }

    /// Whether no test was skipped.
    pub fn is_empty(&self) -> bool {
        self.reasons.is_empty()
    }

    fn of(junit: &str) -> Self {
        let mut skips = Self::default();
        for test in junit.split("<testcase ").skip(1) {
            match test.split_once(MARK) {
                Some((_, rest)) => {
                    let reason = rest.lines().next().unwrap_or_default();
                    let reason = plain(reason.split('<').next().unwrap_or_default().trim());
                    *skips.reasons.entry(reason).or_default() += 1;
                }
                None if test.contains("<failure") || test.contains("<error") => {}
                None => skips.passed += 1,
            }
        }
        skips
    }

    /// One line with the counts, and one for each reason, the most frequent first.
    pub fn summary(&self) -> String {
        let count: usize = self.reasons.values().sum();
        let mut text = format!("{} tests passed, {count} skipped\n", self.passed);
        let mut reasons: Vec<_> = self.reasons.iter().collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        for (reason, count) in reasons {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{count:>6}  {reason}");
        }
        text
    }
}

/// Removes what an earlier run left, so that its skips are not taken for those of this one.
pub fn forget(root: &Path) -> io::Result<()> {
    match fs::remove_file(file(root)) {
        Err(err) if err.kind() != io::ErrorKind::NotFound => Err(err),
        _ => Ok(()),
    }
}

/// Text of an XML file as it was before it was escaped.
fn plain(text: &str) -> String {
    let named = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    named.iter().fold(text.to_owned(), |text, (name, sign)| text.replace(name, sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    const JUNIT: &str = "<testsuite name=\"a\">\
        <testcase name=\"one\"><system-out>running\nok</system-out></testcase>\
        <testcase name=\"two\"><system-out>SKIPPED: no GPU\nok</system-out></testcase>\
        <testcase name=\"three\"><system-err>SKIPPED: no &quot;a&quot; &amp; b</system-err></testcase>\
        <testcase name=\"four\"><system-err>\nSKIPPED: no GPU\nSKIPPED: no GPU</system-err></testcase>\
        <testcase name=\"five\"><failure type=\"x\">no</failure></testcase></testsuite>";

    #[test]
    fn tests_are_counted_by_their_reason() {
        let skips = Skips::of(JUNIT);
        assert_eq!(
            skips.summary(),
            "1 tests passed, 3 skipped\n     2  no GPU\n     1  no \"a\" & b\n"
        );
        assert!(!skips.is_empty() && Skips::of("<testsuite/>").is_empty());
    }

    #[test]
    fn an_earlier_run_is_forgotten() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(Skips::read(root.path()), None);
        forget(root.path()).unwrap();
        let file = super::file(root.path());
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, JUNIT).unwrap();
        assert_eq!(Skips::read(root.path()), Some(Skips::of(JUNIT)));
        forget(root.path()).unwrap();
        assert_eq!(Skips::read(root.path()), None);
    }
}
