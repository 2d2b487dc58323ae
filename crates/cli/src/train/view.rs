//! What is seen of a training while it runs: one line that changes, or one line a step.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use whetstone_record::event::Suspect;
use whetstone_train::alarms::Alarm;
use whetstone_train::watch::{Phase, StepReport};

use crate::failure::counted;
use crate::figures::plain;
use crate::printer::{Printer, Tone};

/// How often a line is written where no line can change.
const BETWEEN_LINES: Duration = Duration::from_secs(5);

/// A line on the terminal.
pub(crate) struct View {
    printer: Printer,
    bar: ProgressBar,
    shown: &'static [(&'static str, &'static str)],
    last: Mutex<Option<Instant>>,
    alarms: AtomicUsize,
}

impl View {
    /// `shown` are the metrics on the line, with what they are called there.
    pub(crate) fn new(
        printer: Printer,
        steps: u64,
        shown: &'static [(&'static str, &'static str)],
    ) -> Self {
        Self {
            printer,
            bar: printer.progress_with_rate(steps, "steps"),
            shown,
            last: Mutex::default(),
            alarms: AtomicUsize::default(),
        }
    }

    /// A phase begins or goes on.
    pub(crate) fn phase(&self, phase: Phase, (done, all): (usize, usize)) {
        let part = if all > 0 { format!(" {done}/{all}") } else { String::new() };
        self.bar.set_prefix(format!("{}{part}", phase.name()));
    }

    /// A step is done.
    pub(crate) fn step(&self, report: &StepReport) {
        self.bar.set_length(report.steps);
        self.bar.set_position(report.step);
        let words = line(&report.values, self.shown);
        self.bar.set_message(format!("steps, {words}"));
        if self.bar.is_hidden() && self.is_due(report) {
            let StepReport { step, steps, took, again, .. } = report;
            let again = if *again { " (again)" } else { "" };
            let took = took.as_secs_f64();
            self.printer.note(format_args!("step {step}/{steps}{again}: {words}, {took:.2} s"));
        }
    }

    /// The first, the last, and one every few seconds.
    fn is_due(&self, report: &StepReport) -> bool {
        if std::io::stderr().is_terminal() {
            return false;
        }
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let due = report.step == report.steps || last.is_none_or(|at| at.elapsed() > BETWEEN_LINES);
        if due {
            *last = Some(Instant::now());
        }
        due
    }

    /// Nothing was heard for too long.
    pub(crate) fn silence(&self, sentence: &str) {
        let word = self.printer.toned_talk("warning", Tone::Doubtful);
        self.bar.suspend(|| self.printer.talk(format_args!("{word}: {sentence}")));
    }

    /// An alarm rings.
    pub(crate) fn alarm(&self, alarm: &Alarm) {
        let word = self.printer.toned_talk("alarm", Tone::Bad);
        let (Alarm { step, message, suspects, .. }, printer) = (alarm, self.printer);
        self.alarms.fetch_add(1, Ordering::Relaxed);
        self.bar.suspend(|| {
            printer.talk(format_args!("{word} at step {step}: {message}"));
            for Suspect { prompt_id, group_id } in suspects {
                printer.talk(format_args!("    {}, sample {group_id}", plain(prompt_id, 100)));
            }
        });
    }

    /// Takes the line away, and says whether anything is to be looked at.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
        let alarms = self.alarms.load(Ordering::Relaxed);
        if alarms > 0 {
            let rang = counted(alarms, "alarm");
            self.printer
                .note(format_args!("{rang}, see above; `whet report` shows the completions"));
        }
    }
}

/// The metrics that are shown, in words.
fn line(values: &BTreeMap<String, f64>, shown: &[(&str, &str)]) -> String {
    let known = shown.iter().filter_map(|(key, name)| Some((name, values.get(*key)?)));
    known.map(|(name, value)| format!("{name} {}", short(*value))).collect::<Vec<_>>().join(", ")
}

fn short(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size < 0.001 => format!("{value:.1e}"),
        size if size < 10.0 => format!("{value:.3}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_that_are_not_there_are_left_out() {
        let values = BTreeMap::from([("a".to_owned(), 0.5), ("b".to_owned(), 2e-5)]);
        let shown = [("a", "loss"), ("c", "kl"), ("b", "lr")];
        assert_eq!(line(&values, &shown), "loss 0.500, lr 2.0e-5");
        assert_eq!(
            (short(0.0), short(1234.5), short(f64::NAN)),
            ("0".into(), "1234".into(), "NaN".into())
        );
    }
}
