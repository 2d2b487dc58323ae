//! The settings of a scoring: the first record of its journal.
//!
//! Only a run that was asked the same may go on with the journal of another. What decides the
//! bytes of the output beside these (how advantages are taken) is computed anew each time.

use serde::{Deserialize, Serialize};

use super::records::VERSION;
use crate::cache::Identity;

/// Settings of a scoring. Every field decides a verdict or a reward.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Header {
    /// Version of the journal.
    pub(super) scoring: u64,
    /// Digest of the rollouts.
    pub(super) rollouts: String,
    /// Digest of the tasks.
    pub(super) tasks: String,
    /// How replies are read and paid: every setting of the rules, as text to compare.
    pub(super) rules: String,
    /// CPU time of a program, in microseconds.
    pub(super) cpu_us: u64,
    /// Memory of a program, in bytes.
    pub(super) memory_bytes: u64,
    /// Who judges; nobody with `--skip-runtime`.
    pub(super) judge: Option<Identity>,
}

/// Just enough to tell a journal of ours from another file's.
#[derive(Debug, Deserialize)]
struct Version {
    scoring: u64,
}

impl Header {
    /// What is different in a journal that begins with `json`, in words; empty if nothing is.
    ///
    /// `None` if that is not the head of a scoring's journal.
    pub(super) fn differences(&self, json: &str) -> Option<Vec<String>> {
        let version: Version = serde_json::from_str(json).ok()?;
        if version.scoring != VERSION {
            return Some(vec!["the version of whet".to_owned()]);
        }
        let theirs: Self = serde_json::from_str(json).ok()?;
        let parts = [
            (self.rollouts == theirs.rollouts, "the rollouts"),
            (self.tasks == theirs.tasks, "the tasks"),
            (self.rules == theirs.rules, "the rules of rewards"),
            (
                (self.cpu_us, self.memory_bytes) == (theirs.cpu_us, theirs.memory_bytes),
                "the limits of programs",
            ),
            (self.judge.is_some() == theirs.judge.is_some(), "`--skip-runtime`"),
            (
                self.judge == theirs.judge || self.judge.is_some() != theirs.judge.is_some(),
                "the judge, its interpreter or its isolation",
            ),
        ];
        Some(parts.into_iter().filter(|(same, _)| !same).map(|(_, what)| what.to_owned()).collect())
    }
}

#[cfg(test)]
mod tests {
    use whetstone_core::judgement::Isolation;

    use super::*;

    fn header() -> Header {
        Header {
            scoring: VERSION,
            rollouts: "aa".to_owned(),
            tasks: "bb".to_owned(),
            rules: "cc".to_owned(),
            cpu_us: 5_000_000,
            memory_bytes: 1 << 29,
            judge: Some(Identity {
                judge: "1".to_owned(),
                interpreter: "3".to_owned(),
                isolation: Isolation::Full,
            }),
        }
    }

    #[track_caller]
    fn check(change: impl FnOnce(&mut Header), expected: &[&str]) {
        let mut other = header();
        change(&mut other);
        let json = serde_json::to_string(&other).unwrap();
        assert_eq!(header().differences(&json).unwrap(), expected);
    }

    #[test]
    fn every_difference_is_named() {
        check(|_| {}, &[]);
        check(|h| h.rollouts.push('x'), &["the rollouts"]);
        check(|h| h.tasks.push('x'), &["the tasks"]);
        check(|h| h.rules.push('x'), &["the rules of rewards"]);
        check(|h| h.cpu_us = 1, &["the limits of programs"]);
        check(|h| h.memory_bytes = 1, &["the limits of programs"]);
        check(|h| h.judge = None, &["`--skip-runtime`"]);
        let judge = "the judge, its interpreter or its isolation";
        check(|h| h.judge.as_mut().unwrap().judge.push('x'), &[judge]);
        check(|h| h.scoring = 2, &["the version of whet"]);
        check(
            |h| {
                h.rollouts.push('x');
                h.cpu_us = 1;
            },
            &["the rollouts", "the limits of programs"],
        );
    }

    #[test]
    fn another_journal_is_told_apart() {
        assert_eq!(header().differences(r#"{"line":1}"#), None);
    }
}
