//! The report of a validation, for people and for scripts.

use std::collections::BTreeMap;

use serde::Serialize;

use super::finding::{Dropped, Reason};

/// Tasks that are named; the rest are counted.
const NAMED: usize = 200;

/// The report of a validation.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ProofSummary {
    /// The version of this report.
    pub v: u32,
    /// Everything together.
    #[serde(flatten)]
    pub total: Counts,
    /// The same counts by the source of the tasks.
    pub by_source: BTreeMap<String, Counts>,
    /// The first dropped tasks, in the order of the lines.
    pub dropped_tasks: Vec<DroppedTask>,
    /// Doubts about proven tasks, in the order of the lines, the first of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// Why programs could not be judged, and how many tasks were not for it.
    pub errors: BTreeMap<String, u64>,
    /// Programs that were judged now.
    pub programs: u64,
    /// Programs that an earlier run had judged.
    pub resumed: u64,
    /// Seconds that it took.
    pub wall_seconds: f64,
}

/// Counts of tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Lines that are not blank.
    pub tasks: u64,
    /// The reference passes and no trivial answer does.
    pub proven: u64,
    /// The reference passes, whether a trivial answer does or not.
    pub reference_passes: u64,
    /// Not proven.
    pub dropped: u64,
    /// Could not be judged: neither proven nor dropped.
    pub failed: u64,
    /// Why those that were dropped were.
    pub reasons: BTreeMap<Reason, u64>,
}

/// A task that was dropped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DroppedTask {
    /// Its id; `None` if the line is not a task.
    pub id: Option<String>,
    /// Its source.
    pub source: String,
    /// Why.
    #[serde(flatten)]
    pub dropped: Dropped,
}

/// A doubt about a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// The task's id.
    pub id: Option<String>,
    /// The doubt, as text.
    pub detail: String,
}

/// The result of one task.
pub(super) enum Came<'a> {
    Proven,
    Dropped(DroppedTask),
    Failed(&'a str),
}

impl ProofSummary {
    /// Keeps a doubt about a task.
    pub(super) fn warn(&mut self, id: Option<String>, detail: String) {
        if self.warnings.len() < NAMED {
            self.warnings.push(Warning { id, detail });
        }
    }

    /// Counts one task.
    pub(super) fn count(&mut self, source: &str, came: Came<'_>) {
        self.total.count(&came);
        self.by_source.entry(source.to_owned()).or_default().count(&came);
        match came {
            Came::Dropped(dropped) if self.dropped_tasks.len() < NAMED => {
                self.dropped_tasks.push(dropped);
            }
            Came::Proven | Came::Dropped(_) => {}
            Came::Failed(error) => *self.errors.entry(error.to_owned()).or_default() += 1,
        }
    }
}

impl Counts {
    fn count(&mut self, came: &Came<'_>) {
        self.tasks += 1;
        match came {
            Came::Proven => {
                self.proven += 1;
                self.reference_passes += 1;
            }
            Came::Dropped(DroppedTask { dropped, .. }) => {
                self.dropped += 1;
                self.reference_passes += u64::from(dropped.reason.reference_passes());
                *self.reasons.entry(dropped.reason).or_default() += 1;
            }
            Came::Failed(_) => self.failed += 1,
        }
    }
}
