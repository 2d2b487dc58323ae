//! What a user sees while a recipe works: notes, warnings and progress.
//!
//! A recipe says what happens through an [`Observer`] and never prints. The command line shows it on a
//! terminal; [`Silent`] shows nothing.

use std::fmt::Display;
use std::time::Duration;

use whetstone_infer::Headway;
use whetstone_train::alarms::Alarm;
use whetstone_train::watch::{Part, Phase, StepReport};

/// A metric on the line of a training, with its label.
pub type Shown = &'static [(&'static str, &'static str)];

/// Shows what a recipe does.
pub trait Observer: Sync {
    /// Something that the user did not ask for but may want to know.
    fn note(&self, line: &dyn Display);

    /// Something that makes the results doubtful.
    fn warning(&self, line: &dyn Display);

    /// Like [`Self::note`], for notes that outlive the call.
    fn notes(&self) -> Box<dyn Fn(&str) + Send + Sync>;

    /// The progress of work that is counted in `unit`s.
    fn progress(&self, unit: &'static str) -> Box<dyn Progress + '_>;

    /// The progress of a download: bytes that are here, and of the whole file.
    fn download(&self) -> Box<dyn Fn(u64, u64) + '_>;

    /// The progress of a training with so many steps.
    fn training(&self, steps: u64, shown: Shown) -> Box<dyn TrainingView + '_>;
}

/// The progress of work in pieces that may overlap.
pub trait Progress: Sync {
    /// Sets the phase: `done` of `all`, which is 0 if it is not counted.
    fn phase(&self, name: &str, done: usize, all: usize);

    /// `done` pieces of `all`; those of the first call were done before.
    fn reach(&self, done: u64, all: u64);

    /// One piece more is done.
    fn add_one(&self);

    /// A model on this machine is so far with the pieces that it samples.
    fn headway(&self, now: &Headway);

    /// Writes something while the progress is out of the way.
    fn suspend(&self, work: &mut dyn FnMut());

    /// The time of all pieces that this process finished.
    fn spent(&self) -> Duration;

    /// The work is over.
    fn finish(&self);
}

/// The progress of a training.
pub trait TrainingView: Sync {
    /// Sets the phase of the present step.
    fn phase(&self, phase: Phase, part: Part);

    /// A step is done.
    fn step(&self, report: &StepReport);

    /// An alarm fires.
    fn alarm(&self, alarm: &Alarm);

    /// Something is worth a look, and is not an alarm.
    fn warning(&self, sentence: &str);

    /// The training is over.
    fn finish(&self);
}

/// Shows nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {
    fn note(&self, _: &dyn Display) {}

    fn warning(&self, _: &dyn Display) {}

    fn notes(&self) -> Box<dyn Fn(&str) + Send + Sync> {
        Box::new(|_| ())
    }

    fn progress(&self, _: &'static str) -> Box<dyn Progress + '_> {
        Box::new(Self)
    }

    fn download(&self) -> Box<dyn Fn(u64, u64) + '_> {
        Box::new(|_, _| ())
    }

    fn training(&self, _: u64, _: Shown) -> Box<dyn TrainingView + '_> {
        Box::new(Self)
    }
}

impl Progress for Silent {
    fn phase(&self, _: &str, _: usize, _: usize) {}

    fn reach(&self, _: u64, _: u64) {}

    fn add_one(&self) {}

    fn headway(&self, _: &Headway) {}

    fn suspend(&self, work: &mut dyn FnMut()) {
        work();
    }

    fn spent(&self) -> Duration {
        Duration::ZERO
    }

    fn finish(&self) {}
}

impl TrainingView for Silent {
    fn phase(&self, _: Phase, _: Part) {}

    fn step(&self, _: &StepReport) {}

    fn alarm(&self, _: &Alarm) {}

    fn warning(&self, _: &str) {}

    fn finish(&self) {}
}
