//! The completed phases of a quickstart: a file in its run, written after each phase.
//!
//! A resumed run reads it and skips completed phases. Each phase keeps its time, so the times of an
//! interrupted run add up like those of an uninterrupted one.

#![expect(missing_docs, reason = "fields are the keys of `phases.json`")]

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use serde::{Deserialize, Serialize};
use whetstone_core::config::Config;
use whetstone_core::metric::{self, Metric};
use whetstone_eval::{Decoding, Measured};
use whetstone_record::atomic;
use whetstone_record::event::Event;
use whetstone_record::plain_file::read_plain;
use whetstone_record::run_dir::RunView;
use whetstone_train::TrainError;
use whetstone_train::grpo::STAGE;

const FILE: &str = "phases.json";
const VERSION: u64 = 1;
const LIMIT_BYTES: u64 = 1 << 20;

/// The completed phases.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phases {
    v: u64,
    pub tasks: Option<Prepared>,
    pub traces: Option<Taught>,
    pub before: Option<Measured>,
    /// At the temperatures beside `eval.temperature`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub before_further: BTreeMap<Decoding, Measured>,
    pub training: Option<Trained>,
    pub after: Option<Measured>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub after_further: BTreeMap<Decoding, Measured>,
}

/// When a measurement is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    Before,
    After,
}

/// Tasks that were made.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prepared {
    pub train: usize,
    pub held_out: usize,
    pub seconds: f64,
}

/// Traces that were judged.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Taught {
    pub traces: u64,
    pub passing: u64,
    pub seconds: f64,
}

/// A training that is done.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trained {
    pub steps: u64,
    pub rollouts: u64,
    pub sampled_tokens: u64,
    /// The part of rollouts that passed in the first quarter of the steps, and in the last.
    pub pass_rate: [f64; 2],
    pub seconds: f64,
    /// Of these, seconds in which rollouts were sampled and judged.
    pub sampling_seconds: f64,
}

/// The decoding of `eval.temperature`.
pub(crate) fn own_decoding(config: &Config) -> Decoding {
    Decoding::at(config.eval.temperature).unwrap_or(Decoding::GREEDY)
}

impl Phases {
    /// What was measured, by temperature; `own` is that of `eval.temperature`.
    pub fn measured(&self, when: When, own: Decoding) -> BTreeMap<Decoding, &Measured> {
        let (first, further) = match when {
            When::Before => (&self.before, &self.before_further),
            When::After => (&self.after, &self.after_further),
        };
        let first = first.iter().map(|found| (own, found));
        further.iter().map(|(&decoding, found)| (decoding, found)).chain(first).collect()
    }

    /// Keeps a measurement: at a further temperature, or at that of `eval.temperature`.
    pub fn keep(&mut self, when: When, further: Option<Decoding>, found: Measured) {
        let (first, others) = match when {
            When::Before => (&mut self.before, &mut self.before_further),
            When::After => (&mut self.after, &mut self.after_further),
        };
        match further {
            Some(decoding) => drop(others.insert(decoding, found)),
            None => *first = Some(found),
        }
    }

    /// Reads the completed phases; `None` if there is no file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or is not of a quickstart.
    pub fn load(dir: &Path) -> Result<Option<Self>, TrainError> {
        let path = dir.join(FILE);
        let refuse = |problem: String| TrainError::OtherRun { path: path.clone(), problem };
        let text = match read_plain(&path, LIMIT_BYTES) {
            Ok(text) => text,
            Err(err) if err.kind() == ErrorKind::NotFound => return Ok(None),
            Err(err) => return Err(refuse(err.to_string())),
        };
        let phases: Self = serde_json::from_slice(&text).map_err(|err| refuse(err.to_string()))?;
        if phases.v != VERSION {
            return Err(refuse(format!("it has version {}", phases.v)));
        }
        Ok(Some(phases))
    }

    /// Writes the completed phases.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    ///
    /// # Panics
    ///
    /// Never: the phases are plain data.
    pub fn save(&mut self, dir: &Path) -> Result<(), TrainError> {
        self.v = VERSION;
        let mut text = serde_json::to_vec_pretty(self).expect("plain data");
        text.push(b'\n');
        Ok(atomic::replace(&dir.join(FILE), &text)?)
    }
}

impl Trained {
    /// Reads what the events of a run tell of its training.
    ///
    /// # Errors
    ///
    /// If the events cannot be read.
    pub fn read(view: &RunView) -> Result<Self, TrainError> {
        let mut steps = Vec::new();
        for event in view.events()? {
            if let Event::Metrics { stage, values, .. } = event?.1.event
                && stage == STAGE
            {
                steps.push(values);
            }
        }
        Ok(Self::of(&steps))
    }

    fn of(steps: &[BTreeMap<String, f64>]) -> Self {
        let value = |values: &BTreeMap<String, f64>, metric: Metric| {
            values.get(metric.name).copied().unwrap_or_default()
        };
        let mut trained = Self { steps: steps.len() as u64, ..Self::default() };
        for values in steps {
            let sampling = value(values, metric::TIME_SAMPLING_S)
                + value(values, metric::TIME_JUDGING_AFTER_SAMPLING_S);
            trained.seconds += value(values, metric::TIME_STEP_S);
            trained.sampling_seconds += sampling;
            trained.rollouts += count(value(values, metric::SPEED_PROGRAMS_PER_S) * sampling);
            trained.sampled_tokens +=
                count(value(values, metric::SPEED_SAMPLED_TOKENS_PER_S) * sampling);
        }
        let rate = |steps: &[BTreeMap<String, f64>]| {
            let sum: f64 = steps.iter().map(|values| value(values, metric::GRPO_PASS_RATE)).sum();
            sum / crate::number(steps.len().max(1) as u64)
        };
        let quarter = steps.len().div_ceil(4);
        trained.pass_rate = [rate(&steps[..quarter]), rate(&steps[steps.len() - quarter..])];
        trained
    }
}

/// A count that was divided by seconds and multiplied by them again.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts of a step")]
fn count(value: f64) -> u64 {
    value.round().max(0.0) as u64
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn step(pass_rate: f64, seconds: f64) -> BTreeMap<String, f64> {
        let values = [
            ("grpo/pass_rate", pass_rate),
            ("time/step_s", seconds),
            ("time/sampling_s", 0.3),
            ("time/judging_after_sampling_s", 0.1),
            ("speed/programs_per_s", 64.0 / 0.4),
            ("speed/sampled_tokens_per_s", 6401.0 / 0.4),
        ];
        values.map(|(name, value)| (name.to_owned(), value)).into()
    }

    #[test]
    fn steps_add_up_and_quarters_are_compared() {
        let steps = [(0.0, 1.0), (0.5, 2.0), (0.5, 1.0), (0.5, 1.0), (0.75, 1.0), (0.25, 1.0)];
        let steps = steps.map(|(rate, seconds)| step(rate, seconds));
        let found = Trained::of(&steps);
        assert_eq!((found.steps, found.rollouts, found.sampled_tokens), (6, 6 * 64, 6 * 6401));
        assert_eq!(found.pass_rate.map(f64::to_bits), [0.25_f64, 0.5].map(f64::to_bits));
        assert!((found.seconds - 7.0).abs() < 1e-9 && (found.sampling_seconds - 2.4).abs() < 1e-9);
        assert_eq!(Trained::of(&[]), Trained::default());
    }

    #[test]
    fn what_was_saved_is_read_again_and_another_version_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Phases::load(dir.path()).unwrap(), None);
        let tasks = Some(Prepared { train: 3, held_out: 2, seconds: 0.5 });
        let mut phases = Phases { tasks, ..Phases::default() };
        phases.keep(When::After, Some(Decoding::GREEDY), Measured::default());
        phases.keep(When::After, None, Measured::default());
        phases.save(dir.path()).unwrap();
        assert_eq!(Phases::load(dir.path()).unwrap(), Some(phases.clone()));
        let of = |when| -> Vec<String> {
            let own = Decoding::at(1.0).unwrap();
            phases.measured(when, own).keys().map(Decoding::to_string).collect()
        };
        assert_eq!(
            (of(When::Before).len(), of(When::After)),
            (0, vec!["T=1".into(), "greedy".into()])
        );
        let text = serde_json::to_string(&Phases { v: 2, ..phases }).unwrap();
        fs::write(dir.path().join(FILE), text).unwrap();
        let err = Phases::load(dir.path()).unwrap_err().to_string();
        assert!(
            err.starts_with("cannot resume `") && err.ends_with("phases.json`: it has version 2"),
            "{err}"
        );
    }
}
