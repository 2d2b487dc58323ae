//! The first record of a batch's journal: which work it is, and every setting that decides a result.
//!
//! ```text
//! {"scoring":1,"rollouts":"…","tasks":"…",…}      the kind of work with its version, then settings
//! ```

use std::collections::{BTreeMap, BTreeSet};

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

/// The kind, the version and the settings of a batch. A journal with another head is not resumed.
#[derive(Debug, Clone, PartialEq)]
pub struct Head {
    kind: &'static str,
    version: u64,
    settings: Vec<Setting>,
}

#[derive(Debug, Clone, PartialEq)]
struct Setting {
    key: &'static str,
    value: Value,
    compared: Compared,
}

/// How a setting is compared with that of a journal, and what a difference is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compared {
    /// By its value.
    Whole(&'static str),
    /// By its value; that one side has none has a name of its own.
    Optional { other: &'static str, absent: &'static str },
    /// Entry by entry, each under its own name.
    Entries,
    /// Not at all: it decides nothing this time.
    Ignored,
}

impl Head {
    /// A head without settings.
    pub fn new(kind: &'static str, version: u64) -> Self {
        Self { kind, version, settings: Vec::new() }
    }

    /// Adds a setting, called `name` where it differs.
    #[must_use]
    pub fn with(self, key: &'static str, name: &'static str, value: impl Into<Value>) -> Self {
        self.and(key, value.into(), Compared::Whole(name))
    }

    /// Names the case that only one side has the setting added last.
    #[must_use]
    pub fn or_absent(mut self, absent: &'static str) -> Self {
        if let Some(setting) = self.settings.last_mut()
            && let Compared::Whole(other) = setting.compared
        {
            setting.compared = Compared::Optional { other, absent };
        }
        self
    }

    /// Adds named settings as one object.
    #[must_use]
    pub fn with_entries(self, key: &'static str, entries: &BTreeMap<String, String>) -> Self {
        let entries = entries.iter().map(|(name, value)| (name.clone(), value.clone().into()));
        self.and(key, Value::Object(entries.collect()), Compared::Entries)
    }

    /// Does not compare these settings: they decide no result of this batch.
    #[must_use]
    pub fn ignoring(mut self, keys: &[&str]) -> Self {
        for setting in self.settings.iter_mut().filter(|setting| keys.contains(&setting.key)) {
            setting.compared = Compared::Ignored;
        }
        self
    }

    /// The names of the settings that differ in the head `json`; empty if the work may resume, `None`
    /// if it is not a head of this kind of work.
    pub(super) fn differences(&self, json: &str) -> Option<Vec<String>> {
        let theirs: Map<String, Value> = serde_json::from_str(json).ok()?;
        if theirs.get(self.kind)?.as_u64()? != self.version {
            return Some(vec!["the version of whet".to_owned()]);
        }
        let mut names = Vec::new();
        for setting in &self.settings {
            for name in setting.differences(theirs.get(setting.key).unwrap_or(&Value::Null)) {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        Some(names)
    }

    fn and(mut self, key: &'static str, value: Value, compared: Compared) -> Self {
        self.settings.push(Setting { key, value, compared });
        self
    }
}

impl Setting {
    fn differences(&self, theirs: &Value) -> Vec<String> {
        let named = |name: &str| vec![name.to_owned()];
        match self.compared {
            Compared::Ignored => Vec::new(),
            _ if self.value == *theirs => Vec::new(),
            Compared::Whole(name) => named(name),
            Compared::Optional { other, absent } => {
                let one_only = self.value.is_null() != theirs.is_null();
                named(if one_only { absent } else { other })
            }
            Compared::Entries => {
                let entries = |value: &Value| value.as_object().cloned().unwrap_or_default();
                let (ours, theirs) = (entries(&self.value), entries(theirs));
                let names: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
                let differs = |name: &&&String| ours.get(**name) != theirs.get(**name);
                names.iter().filter(differs).map(|name| format!("`{name}`")).collect()
            }
        }
    }
}

impl Serialize for Head {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.settings.len() + 1))?;
        map.serialize_entry(self.kind, &self.version)?;
        for setting in &self.settings {
            map.serialize_entry(setting.key, &setting.value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn head() -> Head {
        let entries =
            [("a", "1"), ("b", "2")].map(|(key, value)| (key.to_owned(), value.to_owned()));
        Head::new("scoring", 1)
            .with("tasks", "the tasks", "aa")
            .with("cpu_us", "the limits", 5)
            .with("memory_bytes", "the limits", 7)
            .with("judge", "the judge", json!({"python": "3.12"}))
            .or_absent("`--skip`")
            .with_entries("settings", &entries.into())
    }

    #[track_caller]
    fn check(pairs: &[(&str, &str)], expected: Option<&[&str]>) {
        let mut text = serde_json::to_string(&head()).unwrap();
        for (from, to) in pairs {
            assert!(text.contains(from), "{text}");
            text = text.replace(from, to);
        }
        assert_eq!(
            head().differences(&text).as_deref(),
            expected
                .map(|names| { names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>() })
                .as_deref()
        );
    }

    #[test]
    fn settings_stand_behind_the_kind_in_their_order() {
        let expected = r#"{"scoring":1,"tasks":"aa","cpu_us":5,"memory_bytes":7,"judge":{"python":"3.12"},"settings":{"a":"1","b":"2"}}"#;
        assert_eq!(serde_json::to_string(&head()).unwrap(), expected);
    }

    #[test]
    fn every_difference_is_named_once() {
        check(&[], Some(&[]));
        check(&[(r#""aa""#, r#""ab""#)], Some(&["the tasks"]));
        check(&[(":5,", ":6,"), (":7,", ":8,")], Some(&["the limits"]));
        check(&[("3.12", "3.13")], Some(&["the judge"]));
        check(&[(r#"{"python":"3.12"}"#, "null")], Some(&["`--skip`"]));
        check(&[(r#""a":"1""#, r#""c":"1""#), (r#""2""#, r#""3""#)], Some(&["`a`", "`b`", "`c`"]));
        check(&[(r#""scoring":1"#, r#""scoring":2"#)], Some(&["the version of whet"]));
        check(&[(r#""scoring":1"#, r#""teaching":1"#)], None);
        let other = serde_json::to_string(&head()).unwrap().replace("aa", "ab");
        assert_eq!(head().ignoring(&["tasks"]).differences(&other), Some(Vec::new()));
    }
}
