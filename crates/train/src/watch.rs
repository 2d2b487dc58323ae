//! Progress reports of a training, and the flag that stops it.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use whetstone_rollout::collect::check_stop;

use crate::alarms::Alarm;
pub use crate::phase::{Part, Phase};
use crate::watchdog::{PhaseProgress, Watchdog};

/// A step that is done.
#[derive(Debug, Clone, PartialEq)]
pub struct StepReport {
    /// Its number, from 1.
    pub step: u64,
    /// Of how many.
    pub steps: u64,
    /// Its duration.
    pub took: Duration,
    /// Metrics by name.
    pub values: BTreeMap<String, f64>,
    /// Warnings, beside alarms.
    pub warnings: Vec<Warning>,
    /// Whether it was computed again, since the run was killed after it.
    pub again: bool,
}

/// Something about a step that a person should look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// A stable name to search and count by.
    pub code: String,
    /// The observation, as a sentence.
    pub message: String,
}

/// Receives the progress of a training, and tells it to stop.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// A phase begins, or goes on.
    pub on_phase: &'a dyn Fn(Phase, Part),
    /// A step is done.
    pub on_step: &'a dyn Fn(&StepReport),
    /// An alarm rings.
    pub on_alarm: &'a dyn Fn(&Alarm),
    /// Set by whoever wants the training to stop: it saves and leaves.
    pub stop: &'a AtomicBool,
    /// Speaks when nothing was heard for too long.
    pub dog: &'a Watchdog<'a>,
}

impl Watch<'_> {
    pub(crate) fn phase(&self, phase: Phase) {
        self.part(phase, Part::default());
    }

    /// A phase goes on.
    pub fn part(&self, phase: Phase, part: Part) {
        self.tell(PhaseProgress { phase, part, waits_for: None });
    }

    pub(crate) fn tell(&self, at: PhaseProgress) {
        (self.on_phase)(at.phase, at.part);
        self.dog.hear(at);
    }

    /// Reports progress; `Break` if the training is to stop.
    pub(crate) fn go_on(&self, at: PhaseProgress) -> ControlFlow<()> {
        self.tell(at);
        check_stop(self.stop)
    }

    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// The end of a training that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It did all its steps.
    Done,
    /// It ended after this many steps, for a reason that its rules have.
    Because {
        /// Steps that were done.
        step: u64,
        /// The reason.
        reason: &'static str,
    },
    /// It was told to stop after this many steps.
    Stopped(u64),
}
