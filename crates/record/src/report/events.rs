//! The feed: one JSON record a line, all that a page draws.
//!
//! Events have the form of their journal. In addition there are records that only pages have: `run`
//! (its name and settings), `rollouts` (statistics of a step) and `figures` (pass@k).

use serde::Serialize;

use super::limits::{self, MAX_FEED_BYTES, MAX_STEPS};
use super::survey::Survey;
use crate::error::ViewError;
use crate::event::Event;
use crate::journal::Position;
use crate::overview::{each_event, each_event_from};
use crate::run_dir::RunView;

/// Settings that are shown, in bytes.
const MAX_CONFIG_BYTES: usize = 64 << 10;
/// Warnings, checkpoints and starts that are shown.
const MAX_OTHER_EVENTS: usize = 2_000;

/// A feed that is being written.
#[derive(Debug)]
pub(super) struct Feed {
    text: Vec<u8>,
}

#[derive(Serialize)]
struct RunEvents<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'a str,
    config: &'a str,
}

impl Feed {
    /// Begins with the run's name and its settings.
    pub(super) fn new(view: &RunView) -> Result<Self, ViewError> {
        let config = view.config_text()?;
        let name = view.dir().file_name().unwrap_or_default().to_string_lossy();
        Ok(Self::of(&name, &config))
    }

    /// Begins with a name and settings that are not of a run.
    pub(super) fn of(name: &str, settings: &str) -> Self {
        let (config, _) = limits::cut(settings, MAX_CONFIG_BYTES);
        let mut feed = Self { text: Vec::new() };
        feed.record(&RunEvents { kind: "run", name, config });
        feed
    }

    /// Adds the events of a run; returns the place behind them.
    pub(super) fn events(&mut self, view: &RunView) -> Result<Position, ViewError> {
        let mut measured = 0_usize;
        each_event(view, |event| measured += usize::from(is_metrics(&event.event)))?;
        let stride = measured.div_ceil(MAX_STEPS).max(1);
        let (mut steps, mut others) = (0_usize, 0_usize);
        let end = each_event_from(view, Position::default(), |event| {
            let keep = if is_metrics(&event.event) {
                steps += 1;
                (steps - 1).is_multiple_of(stride) || steps == measured
            } else if matches!(event.event, Event::StopCheck { stops: false, .. }) {
                // There is one for each step, and it says that nothing happened.
                false
            } else {
                others += 1;
                others <= MAX_OTHER_EVENTS || matches!(event.event, Event::RunFinished { .. })
            };
            // One more than fits is enough to know that there is too much.
            if keep && self.text.len() <= MAX_FEED_BYTES {
                self.record(&event);
            }
        })?;
        self.check_size(view)?;
        Ok(end)
    }

    fn check_size(&self, view: &RunView) -> Result<(), ViewError> {
        if self.text.len() <= MAX_FEED_BYTES {
            return Ok(());
        }
        let limit = format!("{} MiB of events", MAX_FEED_BYTES >> 20);
        Err(ViewError::TooLarge { path: view.events_path(), limit })
    }

    /// Adds the rollout statistics of every step.
    pub(super) fn steps(&mut self, survey: &Survey) {
        survey.records().for_each(|step| self.record(&step));
    }

    /// Adds one record. All of ours can be JSON; one that could not would be missing.
    pub(super) fn record(&mut self, record: &impl Serialize) {
        if let Ok(line) = serde_json::to_vec(record) {
            self.text.extend_from_slice(&line);
            self.text.push(b'\n');
        }
    }

    /// The feed's text.
    pub(super) fn finish(self) -> Vec<u8> {
        self.text
    }
}

fn is_metrics(event: &Event) -> bool {
    matches!(event, Event::Metrics { .. })
}
