//! The figures of a training in words.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;
use whetstone_core::metric::{self, Unit};
use whetstone_record::summary::{CodeChange, Gain, HeldOut, Summary, Trend};

use super::escape::code;

/// A line for each figure. `facts` is the file beside a reward model.
pub(super) fn lines(summary: &Summary, facts: Option<&[u8]>) -> Vec<String> {
    let mut lines = vec![format!("steps: {}", summary.steps)];
    lines.extend(summary.training.iter().map(trend));
    lines.extend(summary.held_out.iter().map(held_out));
    lines.extend(summary.code.iter().map(with_code));
    lines.extend(facts.iter().flat_map(|facts| measured(facts)));
    lines.push(alarms(&summary.alarms));
    lines
}

fn trend(Trend { metric, first_quarter, last_quarter }: &Trend) -> String {
    let [first, last] = [first_quarter, last_quarter].map(|value| number(metric, *value));
    format!("{}: {first} in the first quarter of the steps, {last} in the last", code(metric))
}

fn held_out(found: &HeldOut) -> String {
    let HeldOut { metric, first_step, first, last_step, last, after_last, tasks, gain } = found;
    let [first, last_value] = [first, last].map(|value| number(metric, *value));
    let at = if *after_last { "after" } else { "at" };
    let mut line = format!(
        "{}: {first} at step {first_step}, {last_value} {at} step {last_step}",
        code(metric)
    );
    if let Some(tasks) = tasks.filter(|&tasks| tasks > 0) {
        let (low, high) = wilson(*last, tasks);
        let _ = write!(
            line,
            " (95 % interval {:.1} to {:.1} %: Wilson's, with each of the {tasks} tasks as one observation)",
            100.0 * low,
            100.0 * high
        );
    }
    if let Some(Gain { mean, error }) = gain {
        let _ = write!(line, "; {:+.1} points task by task", 100.0 * mean);
        if let Some(error) = error {
            let _ = write!(line, " (standard error {:.1})", 100.0 * error);
        }
    }
    line
}

/// The first step is that of the base: a mean over the first steps would hide how fast it learnt to write code.
fn with_code(CodeChange { metric, first, last }: &CodeChange) -> String {
    let [before, after] = [first, last].map(|found| number(metric, 1.0 - found.code_rate));
    format!("{}: {before} at the first step, {after} at the end", code(metric))
}

fn alarms(alarms: &BTreeMap<String, u64>) -> String {
    if alarms.is_empty() {
        return "alarms: none".to_owned();
    }
    let codes = alarms.iter().map(|(name, count)| format!("{} {count}", code(name)));
    format!("alarms: {}", codes.collect::<Vec<_>>().join(", "))
}

/// A fraction in percent, and any other number with three digits.
fn number(metric: &str, value: f64) -> String {
    match metric::find(metric).map(|metric| metric.unit) {
        Some(Unit::Fraction) => format!("{:.1} %", 100.0 * value),
        _ => format!("{value:.3}"),
    }
}

/// Wilson's 95 % interval of a share of `count` observations.
#[expect(clippy::cast_precision_loss, reason = "a number of tasks")]
fn wilson(share: f64, count: u64) -> (f64, f64) {
    let (n, z) = (count as f64, 1.959_963_984_540_054_f64);
    let share = share.clamp(0.0, 1.0);
    let middle = (share + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half = z / (1.0 + z * z / n) * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    ((middle - half).max(0.0), (middle + half).min(1.0))
}

/// What was measured on all held-out pairs or transitions at the end, with intervals.
fn measured(facts: &[u8]) -> Vec<String> {
    let facts: Value = serde_json::from_slice(facts).unwrap_or_default();
    let held_out = &facts["held_out"];
    let figure = |(key, name): (&str, &str)| {
        let part = |end: &str| held_out[key][end].as_f64();
        let value = part("value")?;
        let interval = match part("low").zip(part("high")) {
            Some((low, high)) => format!("95 % interval {low:.3} to {high:.3}"),
            None => "one task: no interval".to_owned(),
        };
        Some(format!("{name} on all held-out data: {value:.3} ({interval})"))
    };
    let figures = [
        ("accuracy", "accuracy"),
        ("auc", "AUC"),
        ("calibration_error", "calibration error"),
        ("brier", "Brier score"),
    ];
    figures.into_iter().filter_map(figure).collect()
}

#[cfg(test)]
mod tests {
    use whetstone_record::summary::RepliesWithCode;

    use super::*;

    #[test]
    fn figures_are_said_with_their_intervals() {
        let summary = Summary {
            steps: 8,
            training: vec![
                Trend { metric: "grpo/mean_reward", first_quarter: 0.25, last_quarter: 0.5 },
                Trend { metric: "grpo/pass_rate", first_quarter: 0.1, last_quarter: 0.2 },
            ],
            held_out: vec![HeldOut {
                metric: "held_out/pass_rate",
                first_step: 1,
                first: 0.0,
                last_step: 7,
                last: 0.5,
                after_last: true,
                tasks: Some(10),
                gain: Some(Gain { mean: 0.5, error: Some(0.125) }),
            }],
            code: vec![CodeChange {
                metric: "code/no_code",
                first: RepliesWithCode { code_rate: 0.4, pass_rate: 0.1 },
                last: RepliesWithCode { code_rate: 0.9, pass_rate: 0.2 },
            }],
            alarms: BTreeMap::from([("reward_drop".to_owned(), 2)]),
            seconds: 12.5,
        };
        let facts = br#"{"held_out":{"accuracy":{"value":0.75,"low":0.5,"high":0.9},"pairs":4,
            "brier":{"value":0.25,"low":null,"high":null}}}"#;
        assert_eq!(
            lines(&summary, Some(facts)),
            [
                "steps: 8",
                "`grpo/mean_reward`: 0.250 in the first quarter of the steps, 0.500 in the last",
                "`grpo/pass_rate`: 10.0 % in the first quarter of the steps, 20.0 % in the last",
                // Wilson's interval of 5 of 10: 0.2366 to 0.7634.
                "`held_out/pass_rate`: 0.0 % at step 1, 50.0 % after step 7 (95 % interval 23.7 to 76.3 %: Wilson's, \
                 with each of the 10 tasks as one observation); +50.0 points task by task (standard error 12.5)",
                "`code/no_code`: 60.0 % at the first step, 10.0 % at the end",
                "accuracy on all held-out data: 0.750 (95 % interval 0.500 to 0.900)",
                "Brier score on all held-out data: 0.250 (one task: no interval)",
                "alarms: `reward_drop` 2",
            ]
        );
    }
}
