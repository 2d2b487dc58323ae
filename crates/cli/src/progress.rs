//! Progress of a long command: its phase, the seconds per step, and the time left.
//!
//! The time left is the mean time of the steps that are finished, times the number of those that are not. Before
//! the first one is finished nothing is known, and `—` is shown. Steps that an earlier process finished
//! count as done and not in the mean. Where a model on this machine samples, the time left is that of its
//! [`Headway`], which is known once prompts were read.
//!
//! On a terminal it is one line that changes. Elsewhere a line is written now and then: the first when
//! [`FIRST_LINE`] has passed, later ones further apart, so that the log of a night stays readable. All of
//! it goes to standard error.

use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use whetstone_infer::Headway;
use whetstone_recipe::observer;
use whetstone_recipe::text::{counted, duration};

use crate::printer::{Printer, suspend};

/// When the first line is written where no line can change.
const FIRST_LINE: Duration = Duration::from_secs(5);

/// Shows how far a command is.
pub(crate) struct Progress {
    printer: Printer,
    bar: ProgressBar,
    began: Instant,
    state: Mutex<LineState>,
}

/// The state of the work.
#[derive(Debug, Default)]
struct LineState {
    /// The unit of work: `step`, `sample`, `task`.
    unit: &'static str,
    /// The present phase and its progress: `sampling 12/32`.
    phase: String,
    /// Figures of the last step.
    words: String,
    done: u64,
    all: u64,
    /// Steps that were finished before this process began, and when that was seen.
    before: Option<(u64, Duration)>,
    /// Estimated time left, where it is known better than by the mean.
    left: Option<Duration>,
    /// Steps that the mean is of, and their time.
    finished: u64,
    spent: Duration,
    /// When the last line was written, since the beginning.
    last_line: Option<Duration>,
}

impl Progress {
    /// Of steps that are called `unit`.
    pub(crate) fn new(printer: Printer, unit: &'static str) -> Self {
        let state = Mutex::new(LineState { unit, ..LineState::default() });
        Self { printer, bar: printer.line(), began: Instant::now(), state }
    }

    /// Reports a step that took `took`; `words` are its figures. Returns whether the caller should
    /// print a line.
    pub(crate) fn step(&self, done: u64, all: u64, took: Duration, words: String) -> bool {
        let mut state = self.lock();
        state.step(done, all, took);
        state.words = words;
        let is_first = state.finished == 1;
        drop(state);
        let is_due = self.show_or_tell(is_first || done == all);
        is_due && !self.printer.is_watched()
    }

    /// Seconds of a step and the time left, as they are shown.
    pub(crate) fn times(&self) -> String {
        self.lock().times()
    }

    /// Changes the line on a terminal; elsewhere writes one if it is time to.
    fn show(&self) {
        let text = self.lock().text();
        if self.show_or_tell(false) && !self.printer.is_watched() {
            self.printer.note(text);
        }
    }

    /// Changes the line; says whether one is due where none can change.
    fn show_or_tell(&self, now_at_least: bool) -> bool {
        let mut state = self.lock();
        self.bar.set_message(state.text());
        let now = self.began.elapsed();
        let is_due = now_at_least || state.is_line_due(now);
        if is_due {
            state.last_line = Some(now);
        }
        is_due
    }

    fn lock(&self) -> MutexGuard<'_, LineState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl observer::Progress for Progress {
    fn phase(&self, name: &str, done: usize, all: usize) {
        let part = if all > 0 { format!(" {done}/{all}") } else { String::new() };
        self.lock().phase(name, &part);
        self.show();
    }

    fn reach(&self, done: u64, all: u64) {
        self.lock().reach(done, all, self.began.elapsed());
        self.show();
    }

    fn add_one(&self) {
        let mut state = self.lock();
        let (done, all) = (state.done + 1, state.all);
        state.reach(done, all, self.began.elapsed());
        drop(state);
        self.show();
    }

    fn headway(&self, now: &Headway) {
        self.lock().headway(now);
        self.show();
    }

    fn suspend(&self, work: &mut dyn FnMut()) {
        suspend(&self.bar, work);
    }

    fn spent(&self) -> Duration {
        self.lock().spent
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl LineState {
    fn phase(&mut self, name: &str, part: &str) {
        if !self.phase.starts_with(name) {
            // Those of sampling mean nothing while others are judged.
            (self.left, self.words) = (None, String::new());
        }
        self.phase = format!("{name}{part}");
    }

    fn headway(&mut self, now: &Headway) {
        let known = now.active.saturating_add(now.waiting) as u64;
        let more = self.all.saturating_sub(self.done).saturating_sub(known);
        self.left = now.left(usize::try_from(more).unwrap_or(usize::MAX));
        let tokens = counted(now.usage.sampled, "token");
        self.words = if now.usage.steps == 0 {
            format!("{} of prompts read", counted(now.usage.prefilled, "token"))
        } else {
            format!("{} in flight, {tokens} sampled", now.active)
        };
    }

    fn reach(&mut self, done: u64, all: u64, now: Duration) {
        (self.done, self.all) = (done, all);
        let (before, since) = *self.before.get_or_insert((done, now));
        let finished = done.saturating_sub(before);
        if finished > self.finished {
            (self.finished, self.spent) = (finished, now.saturating_sub(since));
        }
    }

    fn step(&mut self, done: u64, all: u64, took: Duration) {
        (self.done, self.all) = (done, all);
        self.finished += 1;
        self.spent += took;
    }

    /// Mean seconds of a finished step.
    fn seconds(&self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "counts of steps")]
        let finished = self.finished as f64;
        (self.finished > 0).then(|| self.spent.as_secs_f64() / finished)
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of steps")]
    fn times(&self) -> String {
        let left = self.all.saturating_sub(self.done) as f64;
        match (self.seconds(), self.left) {
            (rate, Some(left)) => {
                let rate = rate.map_or_else(|| "—".to_owned(), short_seconds);
                format!("{rate} s/{}, {} left", self.unit, duration(left.as_secs_f64()))
            }
            (None, None) => format!("— s/{}, — left", self.unit),
            (Some(seconds), None) => {
                let (rate, left) = (short_seconds(seconds), duration(seconds * left));
                format!("{rate} s/{}, {left} left", self.unit)
            }
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        if !self.phase.is_empty() {
            let _ = write!(text, "{}; ", self.phase);
        }
        if self.all > 0 {
            let _ = write!(text, "{}/{} {}s, ", self.done, self.all, self.unit);
        }
        text.push_str(&self.times());
        if !self.words.is_empty() {
            let _ = write!(text, "; {}", self.words);
        }
        text
    }

    fn is_line_due(&self, now: Duration) -> bool {
        let last = self.last_line.unwrap_or_default();
        now.saturating_sub(last) >= between_lines(now)
    }
}

/// The interval between lines after this time.
fn between_lines(now: Duration) -> Duration {
    match now.as_secs() {
        0..60 => FIRST_LINE,
        60..3600 => Duration::from_secs(30),
        _ => Duration::from_mins(2),
    }
}

/// Seconds with three digits or so.
fn short_seconds(seconds: f64) -> String {
    match seconds {
        100.0.. => format!("{seconds:.0}"),
        10.0.. => format!("{seconds:.1}"),
        1.0.. => format!("{seconds:.2}"),
        _ => format!("{seconds:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use whetstone_infer::Usage;

    use super::*;

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    #[test]
    fn nothing_is_known_before_the_first_step_is_finished() {
        let mut state = LineState { unit: "step", all: 100, ..LineState::default() };
        state.phase = "sampling 12/32".to_owned();
        assert_eq!(state.text(), "sampling 12/32; 0/100 steps, — s/step, — left");
        state.step(1, 100, seconds(41));
        assert_eq!(state.text(), "sampling 12/32; 1/100 steps, 41.0 s/step, 68 min left");
    }

    #[test]
    fn the_time_left_is_the_mean_of_finished_steps_and_does_not_move_inside_one() {
        let mut state = LineState { unit: "step", ..LineState::default() };
        state.step(1, 4, seconds(50));
        state.step(2, 4, seconds(30));
        let told = state.text();
        assert_eq!(told, "2/4 steps, 40.0 s/step, 80 s left");
        state.reach(2, 4, seconds(9000));
        assert_eq!(state.text(), told, "no step was finished");
    }

    #[test]
    fn what_an_earlier_process_did_is_done_and_not_in_the_mean() {
        let mut state = LineState { unit: "sample", ..LineState::default() };
        state.reach(60, 64, seconds(1));
        assert_eq!(state.text(), "60/64 samples, — s/sample, — left");
        state.reach(62, 64, seconds(10));
        assert_eq!(state.text(), "62/64 samples, 4.50 s/sample, 9 s left");
    }

    #[test]
    fn while_a_model_samples_the_time_left_is_that_of_its_steps() {
        let mut state = LineState { unit: "sample", ..LineState::default() };
        state.reach(0, 12, seconds(0));
        state.phase("sampling", " 0/12");
        let usage = Usage { prefilled: 80, ..Usage::default() };
        let begun = Headway { usage, active: 4, waiting: 4, rows: 4, ..Headway::default() };
        state.headway(&begun);
        let told = "sampling 0/12; 0/12 samples, — s/sample, 0 s left; 80 tokens of prompts read";
        assert_eq!(state.text(), told);
        // 10 steps of 2 s: 4 rows have 20 tokens left, 4 wait and 4 come later, 30 tokens each.
        let usage = Usage { sampled: 40, steps: 10, widest: 4, decode_time: seconds(20), ..usage };
        let (longest_left, max_tokens) = (20, 30);
        let now = Headway {
            usage,
            active: 4,
            waiting: 4,
            longest_left,
            max_tokens,
            ..Headway::default()
        };
        state.headway(&now);
        let told =
            "sampling 0/12; 0/12 samples, — s/sample, 3 min left; 4 in flight, 40 tokens sampled";
        assert_eq!(state.text(), told);
        state.phase("judging", " 0/12");
        assert_eq!(state.text(), "judging 0/12; 0/12 samples, — s/sample, — left");
    }

    #[test]
    fn lines_come_after_a_while_and_then_further_apart() {
        let mut state = LineState::default();
        let mut told = Vec::new();
        for now in 0..4000 {
            if state.is_line_due(seconds(now)) {
                state.last_line = Some(seconds(now));
                told.push(now);
            }
        }
        assert_eq!(told[..3], [5, 10, 15]);
        assert!(told.contains(&85) && !told.contains(&70), "{told:?}");
        let hours: Vec<u64> = told.iter().copied().filter(|&now| now > 3600).collect();
        assert!(hours.windows(2).all(|two| two[1] - two[0] == 120), "{hours:?}");
    }

    #[test]
    fn only_the_first_step_and_the_last_are_told_of_at_once() {
        let progress = Progress::new(Printer::new(false), "step");
        let told = [1, 2, 3].map(|at| progress.step(at, 3, seconds(1), String::new()));
        let watched = Printer::new(false).is_watched();
        assert_eq!(told, [true, false, true].map(|due| due && !watched));
        assert_eq!(progress.times(), "1.00 s/step, 0 s left");
    }
}
