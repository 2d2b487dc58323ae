//! The progress display of a training: its phase, and the metrics of its steps.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use whetstone_recipe::observer::{Progress as _, Shown, TrainingView};
use whetstone_recipe::text::plain;
use whetstone_record::event::Suspect;
use whetstone_train::alarms::Alarm;
use whetstone_train::watch::{Part, Phase, StepReport};

use crate::printer::{Printer, Tone};
use crate::progress::Progress;

/// A training, watched.
pub(crate) struct View {
    printer: Printer,
    progress: Progress,
    shown: Shown,
    has_alarms: AtomicBool,
}

impl View {
    /// `shown` are the metrics on the line, with their labels.
    pub(crate) fn new(printer: Printer, steps: u64, shown: Shown) -> Self {
        let progress = Progress::new(printer, "step");
        progress.reach(0, steps);
        Self { printer, progress, shown, has_alarms: AtomicBool::default() }
    }
}

impl TrainingView for View {
    fn phase(&self, phase: Phase, part: Part) {
        self.progress.phase(phase.name(), part.done, part.all);
    }

    fn step(&self, report: &StepReport) {
        let words = line(&report.values, self.shown);
        let StepReport { step, steps, took, again, .. } = report;
        if self.progress.step(*step, *steps, *took, words.clone()) {
            let (again, times) = (if *again { " (again)" } else { "" }, self.progress.times());
            self.printer.note(format_args!("step {step}/{steps}{again}: {words}; {times}"));
        }
        for warning in &report.warnings {
            self.warning(&warning.message);
        }
    }

    fn warning(&self, sentence: &str) {
        self.progress.suspend(&mut || self.printer.warning(sentence));
    }

    fn alarm(&self, alarm: &Alarm) {
        let word = self.printer.toned_talk("alarm", Tone::Bad);
        let (Alarm { step, message, suspects, .. }, printer) = (alarm, self.printer);
        self.has_alarms.store(true, Ordering::Relaxed);
        self.progress.suspend(&mut || {
            printer.talk(format_args!("{word} at step {step}: {message}"));
            for Suspect { prompt_id, group_id } in suspects {
                printer.talk(format_args!(
                    "    {}, sample {}",
                    plain(prompt_id, 100),
                    group_id + 1
                ));
            }
        });
    }

    fn finish(&self) {
        self.progress.finish();
        if self.has_alarms.load(Ordering::Relaxed) {
            self.printer.note("`whet report` shows the completions of the alarms above");
        }
    }
}

/// The shown metrics, as text.
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
