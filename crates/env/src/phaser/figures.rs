//! Figures of many replies: how far games came, how they failed, and which names models invent.
//!
//! Read from `validation` as it stands in scored lines, so that lines of an earlier run count like those of this one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Invented names that are listed.
const LISTED: usize = 10;
/// Different invented names that are counted; a name that comes later is not.
const COUNTED: usize = 10_000;

/// Figures of many replies.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PhaserFigures {
    /// Replies.
    pub lines: u64,
    /// Replies with a program that parses.
    pub parsed: u64,
    /// Programs that parse and were not run.
    pub not_run: u64,
    /// The terms and gates that their rewards lack.
    pub not_run_terms: Vec<String>,
    /// How far the others came.
    pub stages: BTreeMap<String, u64>,
    /// How they failed, by class.
    pub failures: BTreeMap<String, u64>,
    /// What came of the tasks' checks.
    pub checks: BTreeMap<String, u64>,
    /// The names invented most often, at most ten.
    pub unknown_names: Vec<InventedName>,
    #[serde(skip)]
    names: BTreeMap<String, InventedName>,
}

/// A name that Phaser does not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InventedName {
    /// The name, with the declaration that lacks it.
    pub name: String,
    /// The name there that is spelt most alike.
    pub nearest: Option<String>,
    /// Its uses.
    pub count: u64,
}

/// What a reply came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountedReply {
    /// Its program parses and was not run: nothing is known of whether it solves the task.
    pub not_run: bool,
    /// It passed a check.
    pub passed: bool,
}

#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    facts: Facts,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Facts {
    parse: Parse,
    api: Api,
    runtime: Option<Runtime>,
    task: Vec<Check>,
    not_run: Vec<String>,
}

#[derive(Default, Deserialize)]
struct Parse {
    ok: bool,
}

#[derive(Default, Deserialize)]
struct Api {
    unknown: Vec<Unknown>,
}

#[derive(Deserialize)]
struct Unknown {
    what: String,
    nearest: Option<String>,
}

#[derive(Deserialize)]
struct Runtime {
    stage: String,
    class: Option<String>,
}

#[derive(Deserialize)]
struct Check {
    outcome: String,
}

impl PhaserFigures {
    /// Counts a reply by its `validation`.
    ///
    /// # Errors
    ///
    /// If it is not the validation of a reply to a Phaser task.
    pub fn count(&mut self, validation: &str) -> Result<CountedReply, serde_json::Error> {
        let Facts { parse, api, runtime, task, not_run } =
            serde_json::from_str::<Line>(validation)?.facts;
        self.lines += 1;
        self.parsed += u64::from(parse.ok);
        if let Some(Runtime { stage, class }) = runtime {
            add(&mut self.stages, stage);
            if let Some(class) = class {
                add(&mut self.failures, class);
            }
        }
        let passed = task.iter().any(|check| check.outcome == "passed");
        for check in task {
            add(&mut self.checks, check.outcome);
        }
        api.unknown.into_iter().for_each(|unknown| self.count_unknown(unknown));
        let counted = CountedReply { not_run: !not_run.is_empty(), passed };
        if counted.not_run {
            self.not_run += 1;
            self.not_run_terms = not_run;
        }
        Ok(counted)
    }

    /// Lists the names invented most often; of equally frequent ones the first by the alphabet.
    pub fn list_names(&mut self) {
        let mut all: Vec<&InventedName> = self.names.values().collect();
        all.sort_by_key(|name| std::cmp::Reverse(name.count));
        self.unknown_names = all.into_iter().take(LISTED).cloned().collect();
    }

    fn count_unknown(&mut self, unknown: Unknown) {
        let Unknown { what, nearest } = unknown;
        if let Some(known) = self.names.get_mut(&what) {
            known.count += 1;
        } else if self.names.len() < COUNTED {
            let name = InventedName { name: what.clone(), nearest, count: 1 };
            self.names.insert(what, name);
        }
    }
}

fn add(counts: &mut BTreeMap<String, u64>, name: String) {
    *counts.entry(name).or_default() += 1;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(pairs: &[(&str, u64)]) -> BTreeMap<String, u64> {
        pairs.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    }

    #[test]
    fn replies_are_counted_by_stage_failure_check_and_invented_name() {
        let facts = |facts: &str| format!(r#"{{"kind":"phaser","solved":false,"facts":{facts}}}"#);
        let wobble = r#"{"line":1,"column":2,"what":"Camera.wobble","nearest":"zoom"}"#;
        let orb = r#"{"line":1,"column":2,"what":"Factory.orb","nearest":null}"#;
        let lines = [
            format!(
                r#"{{"parse":{{"ok":true}},"api":{{"unknown":[{wobble},{orb}]}},
                "runtime":{{"stage":"done","class":null}},
                "task":[{{"outcome":"passed"}},{{"outcome":"failed"}}]}}"#
            ),
            format!(
                r#"{{"parse":{{"ok":true}},"api":{{"unknown":[{orb}]}},
                "runtime":{{"stage":"boot","class":"fault"}},"task":[{{"outcome":"failed"}}]}}"#
            ),
            r#"{"parse":{"ok":true},"api":{"unknown":[]},"not_run":["runtime","task"]}"#.to_owned(),
            r#"{"parse":{"ok":false},"api":{"unknown":[]}}"#.to_owned(),
        ];
        let mut figures = PhaserFigures::default();
        let seen: Vec<CountedReply> =
            lines.iter().map(|line| figures.count(&facts(line)).expect("facts")).collect();
        let reply = |not_run, passed| CountedReply { not_run, passed };
        let expected =
            [reply(false, true), reply(false, false), reply(true, false), reply(false, false)];
        assert_eq!(seen, expected);
        figures.list_names();
        assert_eq!((figures.lines, figures.parsed, figures.not_run), (4, 3, 1));
        assert_eq!(figures.not_run_terms, ["runtime", "task"]);
        assert_eq!(figures.stages, counts(&[("boot", 1), ("done", 1)]));
        assert_eq!(figures.failures, counts(&[("fault", 1)]));
        assert_eq!(figures.checks, counts(&[("failed", 2), ("passed", 1)]));
        let named: Vec<_> =
            figures.unknown_names.iter().map(|name| (name.name.as_str(), name.count)).collect();
        assert_eq!(named, [("Factory.orb", 2), ("Camera.wobble", 1)]);
    }

    #[test]
    fn ten_names_are_listed_of_however_many() {
        let mut figures = PhaserFigures::default();
        for number in 0..30_000_u32 {
            let what = format!("N{:05}", if number % 2 == 0 { 7 } else { number });
            figures.count_unknown(Unknown { what, nearest: None });
        }
        figures.list_names();
        assert_eq!((figures.unknown_names.len(), figures.names.len()), (LISTED, COUNTED));
        assert_eq!(
            (figures.unknown_names[0].name.as_str(), figures.unknown_names[0].count),
            ("N00007", 15_001)
        );
    }
}
