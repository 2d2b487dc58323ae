//! Says when nothing has been heard of a training for too long, and where it stands.
//!
//! Whoever works tells where it is; a thread looks whether anything was told. It ends nothing: behind
//! a silence may be a judge that hangs, a disk that is gone, or a model that is slow. What it says
//! goes to whoever looks on at once, because work that hangs records nothing any more; the loop
//! records it when it goes on.
//!
//! A silence is told of when it is as long as the limit, and again whenever it has doubled.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::phase::{Part, Phase};

/// Warns when a training has not reported progress for too long.
pub struct Watchdog<'a> {
    /// 0 turns it off.
    limit: Duration,
    on_silence: &'a (dyn Fn(&str) + Sync),
    began: Instant,
    heard: Mutex<WatchState>,
    over: Condvar,
}

/// The phase a training is in, and its progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PhaseProgress {
    pub(crate) phase: Phase,
    pub(crate) part: Part,
    /// The name of the task and sample that is waited for.
    pub(crate) waits_for: Option<String>,
}

/// The last report of a training, and the watchdog's state.
#[derive(Debug, Default)]
struct WatchState {
    /// The last report, and when it came.
    last: Option<(PhaseProgress, Duration)>,
    /// The length of a silence at which the next warning is due.
    patience: Duration,
    said: Vec<String>,
    is_over: bool,
}

impl<'a> Watchdog<'a> {
    /// A watchdog that warns after `limit_s` seconds of silence; with 0 it never does.
    pub fn new(limit_s: u32, on_silence: &'a (dyn Fn(&str) + Sync)) -> Self {
        Self {
            limit: Duration::from_secs(limit_s.into()),
            on_silence,
            began: Instant::now(),
            heard: Mutex::default(),
            over: Condvar::new(),
        }
    }

    /// Records a report of progress.
    pub(crate) fn hear(&self, at: PhaseProgress) {
        let (now, limit) = (self.began.elapsed(), self.limit);
        self.lock().hear(at, now, limit);
    }

    /// Takes the warnings since the last call.
    pub(crate) fn said(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().said)
    }

    /// Watches while `work` runs.
    pub(crate) fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        if self.limit.is_zero() {
            return work();
        }
        *self.lock() = WatchState::default();
        thread::scope(|scope| {
            let _end = End(self);
            let thread = thread::Builder::new().name("watchdog".to_owned());
            // Without a thread nobody watches; the work is the same.
            drop(thread.spawn_scoped(scope, || self.watch()));
            work()
        })
    }

    fn watch(&self) {
        let mut heard = self.lock();
        while !heard.is_over {
            let now = self.began.elapsed();
            if let Some(sentence) = heard.look(now) {
                heard.said.push(sentence.clone());
                drop(heard);
                (self.on_silence)(&sentence);
                heard = self.lock();
            } else {
                let wait = heard.left(now).unwrap_or(self.limit);
                let woken = self.over.wait_timeout(heard, wait);
                heard = woken.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, WatchState> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the watching thread, also when the work panics.
struct End<'a>(&'a Watchdog<'a>);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.lock().is_over = true;
        self.0.over.notify_all();
    }
}

impl WatchState {
    fn hear(&mut self, at: PhaseProgress, now: Duration, limit: Duration) {
        self.last = Some((at, now));
        self.patience = limit;
    }

    /// The warning that is due now, if any.
    fn look(&mut self, now: Duration) -> Option<String> {
        let (at, since) = self.last.as_ref()?;
        let silence = now.saturating_sub(*since);
        if silence < self.patience {
            return None;
        }
        self.patience = silence * 2;
        Some(at.sentence(silence))
    }

    /// The time until the next warning is due.
    fn left(&self, now: Duration) -> Option<Duration> {
        let (_, since) = self.last.as_ref()?;
        Some((*since + self.patience).saturating_sub(now))
    }
}

impl PhaseProgress {
    fn sentence(&self, silence: Duration) -> String {
        let (phase, seconds) = (self.phase.name(), silence.as_secs());
        let waits_for =
            self.waits_for.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
        match self.part {
            Part { all: 0, .. } => format!("{phase} has been going on for {seconds} s{waits_for}"),
            Part { done, all } => {
                format!("{phase} has been at {done} of {all} for {seconds} s{waits_for}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    const LIMIT: Duration = Duration::from_mins(5);

    fn at(phase: Phase, done: usize, all: usize) -> PhaseProgress {
        PhaseProgress { phase, part: Part { done, all }, waits_for: None }
    }

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    fn heard(at: PhaseProgress, now: u64) -> WatchState {
        let mut heard = WatchState::default();
        heard.hear(at, seconds(now), LIMIT);
        heard
    }

    #[test]
    fn the_phase_the_count_and_the_sample_are_named() {
        let waits_for = Some("task embedded/3, sample 2".to_owned());
        let mut heard = heard(PhaseProgress { waits_for, ..at(Phase::Sampling, 37, 64) }, 10);
        assert_eq!(
            heard.look(seconds(310)).unwrap(),
            "sampling has been at 37 of 64 for 300 s (task embedded/3, sample 2)"
        );
        let mut saving = super::tests::heard(at(Phase::Saving, 0, 0), 0);
        assert_eq!(saving.look(seconds(301)).unwrap(), "saving has been going on for 301 s");
    }

    #[test]
    fn nothing_is_said_before_the_limit_or_before_anything_was_heard() {
        let mut heard = heard(at(Phase::Learning, 1, 2), 10);
        assert_eq!(heard.look(seconds(309)), None);
        assert_eq!(heard.left(seconds(309)), Some(seconds(1)));
        let mut deaf = WatchState::default();
        assert_eq!((deaf.look(seconds(1000)), deaf.left(seconds(1000))), (None, None));
    }

    #[test]
    fn a_silence_is_told_of_again_when_it_has_doubled() {
        let mut heard = heard(at(Phase::Learning, 1, 2), 0);
        let told = (0..=1300).filter(|&now| heard.look(seconds(now)).is_some());
        assert_eq!(told.collect::<Vec<_>>(), [300, 600, 1200]);
        assert_eq!(heard.left(seconds(1300)), Some(seconds(1100)));
    }

    #[test]
    fn whoever_speaks_is_given_the_whole_limit_again() {
        let mut heard = heard(at(Phase::Learning, 1, 2), 0);
        assert!(heard.look(seconds(300)).is_some());
        heard.hear(at(Phase::Learning, 2, 2), seconds(301), LIMIT);
        assert_eq!(heard.look(seconds(600)), None);
        let said = heard.look(seconds(601)).unwrap();
        assert_eq!(said, "learning has been at 2 of 2 for 300 s");
    }

    #[test]
    fn it_speaks_to_whoever_looks_on_and_keeps_what_it_said() {
        let (speak, listen) = channel();
        let on_silence = |sentence: &str| speak.send(sentence.to_owned()).unwrap();
        let mut dog = Watchdog::new(1, &on_silence);
        dog.limit = Duration::from_millis(1);
        // The work ends when the dog has spoken.
        let spoken = dog.during(|| {
            dog.hear(at(Phase::Judging, 3, 4));
            listen.recv_timeout(seconds(30)).unwrap()
        });
        assert_eq!(spoken, "judging has been at 3 of 4 for 0 s");
        assert_eq!(dog.said().first(), Some(&spoken));
        assert!(dog.said().is_empty(), "told once");
    }

    #[test]
    fn one_that_sleeps_starts_no_thread() {
        let dog = Watchdog::new(0, &|_| panic!("it sleeps"));
        let same = dog.during(|| {
            dog.hear(at(Phase::Judging, 3, 4));
            thread::current().id()
        });
        assert_eq!(same, thread::current().id());
        assert!(dog.said().is_empty());
    }
}
