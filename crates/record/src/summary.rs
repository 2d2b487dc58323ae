//! The figures of a training: how its measurements moved, what was measured on held-out data, which alarms it has.
//!
//! Everything comes from the run's events, where each step is recorded once, so a run that was killed and resumed has
//! the same summary as one that was not. Only [`Summary::seconds`] depends on a clock: it adds up the recorded
//! durations of steps, without the time in which no process ran.

use std::collections::BTreeMap;

use serde::Serialize;
use whetstone_core::metric::{self, Metric};

use crate::error::ReadError;
use crate::event::Event;
use crate::overview::each_event;
use crate::run_dir::RunView;

/// Measurements of training data, whose first and last quarter are compared.
const TRENDS: [Metric; 12] = [
    metric::GRPO_MEAN_REWARD,
    metric::GRPO_PASS_RATE,
    metric::PPO_MEAN_REWARD,
    metric::PPO_PASS_RATE,
    metric::SFT_LOSS,
    metric::RM_LOSS,
    metric::RM_ACCURACY,
    metric::DPO_LOSS,
    metric::DPO_ACCURACY,
    metric::DPO_CHOSEN_REWARD,
    metric::PRM_LOSS,
    metric::PRM_ACCURACY,
];

/// Measurements of held-out data, whose first and last value are compared.
const HELD_OUT: [Metric; 6] = [
    metric::HELD_OUT_PASS_RATE,
    metric::RM_HELD_OUT_ACCURACY,
    metric::RM_HELD_OUT_CALIBRATION_ERROR,
    metric::DPO_HELD_OUT_ACCURACY,
    metric::PRM_HELD_OUT_AUC,
    metric::PRM_HELD_OUT_CALIBRATION_ERROR,
];

/// Measurements of replies without code, each with the pass rate of the same replies.
const CODE: [[Metric; 2]; 3] = [
    [metric::CODE_NO_CODE, metric::GRPO_PASS_RATE],
    [metric::CODE_NO_CODE, metric::PPO_PASS_RATE],
    [metric::HELD_OUT_NO_CODE, metric::HELD_OUT_PASS_RATE],
];

/// The figures of a training.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Summary {
    /// Steps that are recorded.
    pub steps: u64,
    /// Means of the first and of the last quarter of the steps.
    pub training: Vec<Trend>,
    /// First and last measurement on held-out data.
    pub held_out: Vec<HeldOut>,
    /// Replies with code at the start and at the end, of training data and of held-out data.
    pub code: Vec<CodeChange>,
    /// Alarms by their code.
    pub alarms: BTreeMap<String, u64>,
    /// Seconds that its steps took.
    pub seconds: f64,
}

/// A measurement of training data over a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Trend {
    /// Its name in the events.
    pub metric: &'static str,
    /// The mean over the first quarter of the steps.
    pub first_quarter: f64,
    /// The mean over the last quarter of the steps.
    pub last_quarter: f64,
}

/// A measurement of held-out data over a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct HeldOut {
    /// Its name in the events.
    pub metric: &'static str,
    /// The step of the first measurement, and its value.
    pub first_step: u64,
    /// See `first_step`.
    pub first: f64,
    /// The step of the last measurement, and its value.
    pub last_step: u64,
    /// See `last_step`.
    pub last: f64,
    /// Whether the last value was measured after its step, when the training was done; all others are of the
    /// model before theirs.
    pub after_last: bool,
    /// Tasks of the last measurement, where they are counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<u64>,
    /// The difference of both values, task by task, where that was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gain: Option<Gain>,
}

/// A mean difference of pass rates over tasks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Gain {
    /// The mean.
    pub mean: f64,
    /// Its standard error; none for a single task, and where the differences of all tasks are equal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
}

/// Replies with code, and those that pass, at the start of a training and at its end.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CodeChange {
    /// The name of the share of replies without code in the events.
    pub metric: &'static str,
    /// Before the first update.
    pub first: RepliesWithCode,
    /// On training data the mean over the last quarter of the steps, on held-out data the last measurement.
    pub last: RepliesWithCode,
}

/// Replies with code at one time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RepliesWithCode {
    /// The share of replies with code.
    pub code_rate: f64,
    /// The share of all replies that pass.
    pub pass_rate: f64,
}

/// The measurements of a step.
struct Step {
    number: u64,
    values: BTreeMap<String, f64>,
}

impl Step {
    /// A finite value: a NaN says nothing about a trend.
    fn finite(&self, metric: Metric) -> Option<f64> {
        self.values.get(metric.name).copied().filter(|value| value.is_finite())
    }
}

impl Summary {
    /// Reads the events of a run.
    ///
    /// # Errors
    ///
    /// If they cannot be read.
    pub fn read(view: &RunView) -> Result<Self, ReadError> {
        let (mut steps, mut alarms) = (Vec::new(), BTreeMap::new());
        each_event(view, |timed| match timed.event {
            Event::Metrics { step, values, .. } => steps.push(Step { number: step, values }),
            Event::Alarm { code, .. } => *alarms.entry(code).or_default() += 1,
            _ => {}
        })?;
        let seconds = steps.iter().filter_map(|step| step.finite(metric::TIME_STEP_S)).sum();
        Ok(Self {
            steps: steps.len() as u64,
            training: TRENDS.iter().filter_map(|&metric| trend(metric, &steps)).collect(),
            held_out: HELD_OUT.iter().filter_map(|&metric| held_out(metric, &steps)).collect(),
            code: CODE.iter().filter_map(|&metrics| code_change(metrics, &steps)).collect(),
            alarms,
            seconds,
        })
    }

    /// The number of alarms.
    pub fn alarm_count(&self) -> u64 {
        self.alarms.values().sum()
    }
}

fn trend(metric: Metric, steps: &[Step]) -> Option<Trend> {
    let quarter = steps.len().div_ceil(4);
    let first_quarter = mean(metric, steps.get(..quarter)?)?;
    let last_quarter = mean(metric, &steps[steps.len() - quarter..])?;
    Some(Trend { metric: metric.name, first_quarter, last_quarter })
}

/// The mean over the steps that measured it.
#[expect(clippy::cast_precision_loss, reason = "a number of steps")]
fn mean(metric: Metric, steps: &[Step]) -> Option<f64> {
    let values: Vec<f64> = steps.iter().filter_map(|step| step.finite(metric)).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The first measurement of both metrics, and the last. Means of the first steps would hide a student that learns to
/// write code within them.
fn code_change([no_code, pass_rate]: [Metric; 2], steps: &[Step]) -> Option<CodeChange> {
    let rates =
        |no_code: f64, pass_rate: f64| RepliesWithCode { code_rate: 1.0 - no_code, pass_rate };
    let of = |step: &Step| Some(rates(step.finite(no_code)?, step.finite(pass_rate)?));
    let first = steps.iter().find_map(of)?;
    let last = if no_code == metric::HELD_OUT_NO_CODE {
        steps.iter().rev().find_map(of)?
    } else {
        let quarter = &steps[steps.len() - steps.len().div_ceil(4)..];
        rates(mean(no_code, quarter)?, mean(pass_rate, quarter)?)
    };
    Some(CodeChange { metric: no_code.name, first, last })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
fn held_out(metric: Metric, steps: &[Step]) -> Option<HeldOut> {
    let measured = || steps.iter().filter_map(|step| Some((step, step.finite(metric)?)));
    let ((first_at, first), (last_at, last)) = (measured().next()?, measured().next_back()?);
    let is_counted = metric == metric::HELD_OUT_PASS_RATE;
    let after = |step: &Step| step.finite(metric::HELD_OUT_FINAL_PASS_RATE);
    let after = steps.last().filter(|_| is_counted).and_then(|step| Some((step, after(step)?)));
    let after_last = after.is_some();
    let (last_at, last) = after.unwrap_or((last_at, last));
    let tasks = last_at.finite(metric::HELD_OUT_TASKS).filter(|_| is_counted);
    let gain = last_at.finite(metric::HELD_OUT_GAIN).filter(|_| is_counted);
    let error = last_at.finite(metric::HELD_OUT_GAIN_ERROR);
    Some(HeldOut {
        metric: metric.name,
        first_step: first_at.number,
        first,
        last_step: last_at.number,
        last,
        after_last,
        tasks: tasks.map(|tasks| tasks as u64),
        gain: gain.map(|mean| Gain { mean, error }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::TimedEvent;
    use crate::run_dir::RunDir;

    fn metrics(step: u64, values: &[(&str, f64)]) -> Event {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        Event::Metrics { stage: "grpo".to_owned(), step, values }
    }

    #[test]
    fn quarters_held_out_data_alarms_and_times_are_those_of_the_events() {
        let root = tempfile::tempdir().unwrap();
        let mut run = RunDir::create(root.path(), "a", "", 1).unwrap();
        let mut put = |event| run.append_event(&TimedEvent { time_ms: 1, event }).unwrap();
        // Five steps: a quarter is rounded up to two.
        for (step, reward) in [(1, 0.1), (2, f64::NAN), (3, 9.0), (4, 0.5), (5, 0.7)] {
            let mut values = vec![("grpo/mean_reward", reward), ("time/step_s", 2.0)];
            if step != 3 {
                values.extend([("held_out/pass_rate", reward / 2.0), ("held_out/tasks", 10.0)]);
            }
            put(metrics(step, &values));
        }
        for code in ["reward_drop", "entropy_collapse", "reward_drop"] {
            let (code, message) = (code.to_owned(), String::new());
            put(Event::Alarm { step: 5, code, message, suspects: Vec::new() });
        }
        let found = Summary::read(run.view()).unwrap();
        let [Trend { metric, first_quarter, last_quarter }] = found.training[..] else {
            panic!("{found:?}")
        };
        assert_eq!(metric, "grpo/mean_reward");
        assert!((first_quarter - 0.1).abs() < 1e-12, "NaN is left out: {first_quarter}");
        assert!((last_quarter - 0.6).abs() < 1e-12, "{last_quarter}");
        let [held_out] = found.held_out[..] else { panic!("{found:?}") };
        assert_eq!((held_out.first_step, held_out.last_step, held_out.tasks), (1, 5, Some(10)));
        assert_eq!(
            (held_out.first.to_bits(), held_out.last.to_bits()),
            (0.05_f64.to_bits(), 0.35_f64.to_bits())
        );
        assert_eq!(
            found.alarms,
            [("entropy_collapse".into(), 1), ("reward_drop".into(), 2)].into()
        );
        assert_eq!(
            (found.steps, found.alarm_count(), found.seconds.to_bits()),
            (5, 3, 10.0_f64.to_bits())
        );
    }

    #[test]
    fn what_is_measured_after_the_last_step_is_the_last_value_and_has_its_gain() {
        let step = |number, values: &[(&str, f64)]| {
            let values = values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
            Step { number, values }
        };
        let first = [("held_out/pass_rate", 0.25), ("held_out/tasks", 100.0)];
        let second =
            [("held_out/pass_rate", 0.5), ("held_out/tasks", 99.0), ("held_out/gain", 0.2)];
        let last = [
            ("held_out/final_pass_rate", 0.75),
            ("held_out/tasks", 98.0),
            ("held_out/gain", 0.5),
            ("held_out/gain_error", 0.125),
        ];
        let steps = [step(1, &first), step(21, &second), step(30, &last)];
        let found = held_out(metric::HELD_OUT_PASS_RATE, &steps).unwrap();
        let gain = Some(Gain { mean: 0.5, error: Some(0.125) });
        assert_eq!((found.first_step, found.last_step, found.after_last), (1, 30, true));
        assert_eq!(found.last.to_bits(), 0.75_f64.to_bits());
        assert_eq!((found.tasks, found.gain), (Some(98), gain));
        // Stopped before that.
        let found = held_out(metric::HELD_OUT_PASS_RATE, &steps[..2]).unwrap();
        assert_eq!((found.last_step, found.after_last, found.tasks), (21, false, Some(99)));
        assert_eq!(found.gain, Some(Gain { mean: 0.2, error: None }));
    }

    #[test]
    fn replies_with_code_are_those_of_the_first_step_and_of_the_end() {
        let step = |(number, no_code, pass_rate): (u64, f64, f64)| {
            let mut values = vec![("code/no_code", no_code), ("ppo/pass_rate", pass_rate)];
            if number != 2 {
                values.extend([("held_out/no_code", 0.5), ("held_out/pass_rate", pass_rate)]);
            }
            let values = values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            Step { number, values }
        };
        let steps = [(1, 0.75, 0.1), (2, 0.1, 0.2), (3, 0.1, 0.3), (4, 0.0, 0.5), (5, 0.25, 0.4)];
        let steps = steps.map(step);
        let at = |code_rate, pass_rate| RepliesWithCode { code_rate, pass_rate };
        let found: Vec<CodeChange> =
            CODE.iter().filter_map(|&metrics| code_change(metrics, &steps)).collect();
        let training =
            CodeChange { metric: "code/no_code", first: at(0.25, 0.1), last: at(0.875, 0.45) };
        let held_out =
            CodeChange { metric: "held_out/no_code", first: at(0.5, 0.1), last: at(0.5, 0.4) };
        assert_eq!(found, [training, held_out], "the last quarter of five steps has two");
    }

    #[test]
    fn a_run_without_steps_has_no_figures() {
        let root = tempfile::tempdir().unwrap();
        let run = RunDir::create(root.path(), "a", "", 1).unwrap();
        assert_eq!(Summary::read(run.view()).unwrap(), Summary::default());
    }
}
