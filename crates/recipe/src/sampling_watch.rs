//! Progress of a model on this machine between two completions, and the end of its work on a signal.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use whetstone_infer::Headway;
use whetstone_rollout::collect::check_stop;

use crate::observer::Progress;

/// The least time between two looks at the headway; a step of a GPU takes a millisecond.
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);

/// Looks at a generator between its steps.
pub(crate) struct SamplingWatch<'a> {
    progress: &'a dyn Progress,
    stop: &'a AtomicBool,
    last: Cell<Option<Instant>>,
}

impl<'a> SamplingWatch<'a> {
    /// Shows the headway until `stop` is set.
    pub(crate) fn new(progress: &'a dyn Progress, stop: &'a AtomicBool) -> Self {
        Self { progress, stop, last: Cell::new(None) }
    }

    /// A `Break` once the work is to end.
    pub(crate) fn look(&self, headway: &dyn Fn() -> Headway) -> ControlFlow<()> {
        if self.last.get().is_none_or(|last| last.elapsed() >= BETWEEN_LOOKS) {
            self.last.set(Some(Instant::now()));
            self.progress.headway(&headway());
        }
        check_stop(self.stop)
    }
}
