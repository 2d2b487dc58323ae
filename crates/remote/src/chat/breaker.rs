//! When every thread fails, all of them stop together.
//!
//! ```text
//!            K failures in a row          pause over: one goes
//!   Closed ─────────────────────► Open ─────────────────────► Probing
//!     ▲  ▲         any success     │  ▲     it failed too        │
//!     │  └─────────────────────────┘  └──────────────────────────┤
//!     └───────────────────── it succeeded ───────────────────────┤
//!                                     no probe left: Dead ◄──────┘
//! ```
//!
//! A server that restarts costs a pause and each request a few of its tries; one that is gone costs
//! a few probes, and then every thread gets the same error at once, including threads that are
//! sleeping.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::error::{ChatError, Failure, FailureKind};
use super::settings::Settings;

#[derive(Debug)]
pub(super) struct Breaker {
    url: String,
    most_failures: u32,
    pause: Duration,
    longest_pause: Duration,
    probes: u32,
    limited_probes: u32,
    state: Mutex<BreakerState>,
    changed: Condvar,
    /// Threads that wait for a change, which is where tests want them.
    #[cfg(test)]
    waiting: std::sync::atomic::AtomicU32,
}

#[derive(Debug)]
struct BreakerState {
    phase: Phase,
    /// Failed tries since the last success, probes included.
    failures: u32,
}

#[derive(Debug)]
enum Phase {
    Closed,
    Open { until: Instant, probes_left: u32 },
    Probing { probes_left: u32 },
    Dead { failures: u32, last: Failure },
    Stopped,
}

/// The right to send one request; what came of it is reported back.
#[derive(Debug)]
pub(super) struct Pass<'a> {
    breaker: &'a Breaker,
    is_probe: bool,
}

impl Breaker {
    pub(super) fn new(url: String, settings: &Settings) -> Self {
        Self {
            url,
            most_failures: settings.breaker_failures.max(1),
            pause: settings.breaker_pause,
            longest_pause: settings.retry_after_limit,
            probes: settings.breaker_probes.max(1),
            limited_probes: settings.limited_probes.max(settings.breaker_probes).max(1),
            state: Mutex::new(BreakerState { phase: Phase::Closed, failures: 0 }),
            changed: Condvar::new(),
            #[cfg(test)]
            waiting: 0.into(),
        }
    }

    /// Waits until a request may be sent.
    pub(super) fn enter(&self) -> Result<Pass<'_>, ChatError> {
        let mut state = self.lock();
        loop {
            let wait = match state.phase {
                Phase::Closed => return Ok(Pass { breaker: self, is_probe: false }),
                Phase::Open { until, probes_left } => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        state.phase = Phase::Probing { probes_left };
                        return Ok(Pass { breaker: self, is_probe: true });
                    }
                    left
                }
                // The probing thread wakes us.
                Phase::Probing { .. } => Duration::from_hours(1),
                Phase::Dead { .. } | Phase::Stopped => return Err(self.end(&state)),
            };
            state = self.wait(state, wait);
        }
    }

    /// The time until a request may be sent again, as far as it is known.
    pub(super) fn open_for(&self) -> Result<Duration, ChatError> {
        let state = self.lock();
        match state.phase {
            Phase::Open { until, .. } => Ok(until.saturating_duration_since(Instant::now())),
            Phase::Closed | Phase::Probing { .. } => Ok(Duration::ZERO),
            Phase::Dead { .. } | Phase::Stopped => Err(self.end(&state)),
        }
    }

    /// Sleeps, unless everything stops meanwhile.
    pub(super) fn sleep(&self, pause: Duration) -> Result<(), ChatError> {
        let end = Instant::now() + pause;
        let mut state = self.lock();
        loop {
            if matches!(state.phase, Phase::Dead { .. } | Phase::Stopped) {
                return Err(self.end(&state));
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            state = self.wait(state, left);
        }
    }

    /// Stops all requests, on behalf of the caller.
    pub(super) fn stop(&self) {
        self.lock().phase = Phase::Stopped;
        self.changed.notify_all();
    }

    fn succeeded(&self) {
        let mut state = self.lock();
        state.failures = 0;
        if matches!(state.phase, Phase::Open { .. } | Phase::Probing { .. }) {
            state.phase = Phase::Closed;
            self.changed.notify_all();
        }
    }

    fn failed(&self, is_probe: bool, failure: &Failure) {
        let mut state = self.lock();
        state.failures = state.failures.saturating_add(1);
        // A server that limits requests is there: it is asked for longer.
        let probes = match failure.kind {
            FailureKind::RateLimited => self.limited_probes,
            _ => self.probes,
        };
        let probes_left = match state.phase {
            Phase::Closed if state.failures >= self.most_failures => probes,
            Phase::Probing { probes_left } if is_probe => (probes_left - 1).min(probes),
            // Sent before all paused: its failure says nothing new.
            _ => return,
        };
        state.phase = match probes_left {
            0 => Phase::Dead { failures: state.failures, last: failure.clone() },
            _ => Phase::Open { until: Instant::now() + self.pause_after(failure), probes_left },
        };
        self.changed.notify_all();
    }

    fn pause_after(&self, failure: &Failure) -> Duration {
        failure.retry_after.unwrap_or_default().min(self.longest_pause).max(self.pause)
    }

    fn end(&self, state: &BreakerState) -> ChatError {
        match &state.phase {
            Phase::Dead { failures, last } => {
                ChatError::Gone { url: self.url.clone(), failures: *failures, last: last.clone() }
            }
            _ => ChatError::Stopped,
        }
    }

    fn lock(&self) -> MutexGuard<'_, BreakerState> {
        // No code that can panic runs under the lock, so the state is whole even then.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(
        &self,
        state: MutexGuard<'a, BreakerState>,
        wait: Duration,
    ) -> MutexGuard<'a, BreakerState> {
        #[cfg(test)]
        self.waiting.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let (state, _) =
            self.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner);
        #[cfg(test)]
        self.waiting.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
        state
    }
}

impl Pass<'_> {
    /// The server answered.
    pub(super) fn succeeded(mut self) {
        self.is_probe = false;
        self.breaker.succeeded();
    }

    /// It did not.
    pub(super) fn failed(mut self, failure: &Failure) {
        let is_probe = std::mem::take(&mut self.is_probe);
        self.breaker.failed(is_probe, failure);
    }
}

impl Drop for Pass<'_> {
    /// A probe that was given up, by a panic, lets the next one go.
    fn drop(&mut self) {
        let mut state = self.breaker.lock();
        if let (true, Phase::Probing { probes_left }) = (self.is_probe, &state.phase) {
            state.phase = Phase::Open { until: Instant::now(), probes_left: *probes_left };
            self.breaker.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;
    use std::thread;

    use super::*;

    fn breaker(most_failures: u32, probes: u32) -> Breaker {
        let settings = Settings {
            breaker_failures: most_failures,
            breaker_pause: Duration::ZERO,
            breaker_probes: probes,
            ..Settings::default()
        };
        Breaker::new("http://x".to_owned(), &settings)
    }

    fn failure(message: &str) -> Failure {
        Failure {
            kind: FailureKind::Connection,
            status: None,
            message: message.to_owned(),
            retry_after: None,
        }
    }

    fn fail(breaker: &Breaker, times: usize) {
        for _ in 0..times {
            breaker.enter().unwrap().failed(&failure("refused"));
        }
    }

    /// Waits until `threads` threads are waiting: they do nothing else under the lock.
    fn wait_for(breaker: &Breaker, threads: u32) {
        let waiting = || {
            let _state = breaker.lock();
            breaker.waiting.load(Ordering::SeqCst)
        };
        while waiting() < threads {
            thread::yield_now();
        }
    }

    #[test]
    fn a_success_in_between_starts_the_count_anew() {
        let breaker = breaker(3, 1);
        fail(&breaker, 2);
        breaker.enter().unwrap().succeeded();
        fail(&breaker, 2);
        assert!(!breaker.enter().unwrap().is_probe);
    }

    #[test]
    fn after_a_row_of_failures_one_probe_goes_and_its_success_opens_the_way() {
        let breaker = breaker(3, 1);
        fail(&breaker, 3);
        let probe = breaker.enter().unwrap();
        assert!(probe.is_probe);
        probe.succeeded();
        fail(&breaker, 2);
        assert!(!breaker.enter().unwrap().is_probe);
    }

    #[test]
    fn while_a_probe_is_out_the_others_wait_for_what_comes_of_it() {
        let breaker = breaker(1, 1);
        fail(&breaker, 1);
        let probe = breaker.enter().unwrap();
        thread::scope(|scope| {
            let others: Vec<_> = (0..4).map(|_| scope.spawn(|| breaker.enter())).collect();
            wait_for(&breaker, 4);
            probe.succeeded();
            for other in others {
                assert!(!other.join().unwrap().unwrap().is_probe);
            }
        });
    }

    #[test]
    fn when_the_last_probe_fails_everyone_hears_the_same() {
        let breaker = breaker(2, 2);
        fail(&breaker, 2);
        fail(&breaker, 1);
        let late = Pass { breaker: &breaker, is_probe: false };
        breaker.enter().unwrap().failed(&failure("still refused"));
        late.failed(&failure("late"));
        let expected = "no completion from the server at `http://x`: 4 requests in a row failed; the \
                        last error: still refused";
        assert_eq!(breaker.enter().unwrap_err().to_string(), expected);
        assert_eq!(breaker.sleep(Duration::from_hours(1)).unwrap_err().to_string(), expected);
    }

    #[test]
    fn a_server_that_limits_requests_is_asked_for_longer() {
        let settings = Settings {
            breaker_failures: 1,
            breaker_pause: Duration::ZERO,
            breaker_probes: 1,
            limited_probes: 3,
            ..Settings::default()
        };
        let limited = Failure { kind: FailureKind::RateLimited, ..failure("429") };
        let breaker = Breaker::new("http://x".to_owned(), &settings);
        for _ in 0..3 {
            breaker.enter().unwrap().failed(&limited);
        }
        assert!(breaker.enter().is_ok(), "it was asked once, and twice after a pause");
        breaker.enter().unwrap().failed(&limited);
        assert!(matches!(breaker.enter(), Err(ChatError::Gone { failures: 4, .. })));

        let breaker = Breaker::new("http://x".to_owned(), &settings);
        breaker.enter().unwrap().failed(&limited);
        for _ in 0..2 {
            breaker.enter().unwrap().failed(&failure("refused"));
        }
        assert!(breaker.enter().is_err(), "one that is gone is not");
    }

    #[test]
    fn a_late_failure_of_an_ordinary_request_is_not_the_probes() {
        let breaker = breaker(1, 1);
        let late = breaker.enter().unwrap();
        fail(&breaker, 1);
        let probe = breaker.enter().unwrap();
        late.failed(&failure("late"));
        probe.succeeded();
        assert!(!breaker.enter().unwrap().is_probe);
    }

    #[test]
    fn a_late_success_opens_the_way_too() {
        let breaker = breaker(1, 1);
        let late = breaker.enter().unwrap();
        fail(&breaker, 1);
        late.succeeded();
        assert!(!breaker.enter().unwrap().is_probe);
    }

    #[test]
    fn a_pause_of_all_is_known_until_it_is_over_and_so_is_their_end() {
        let settings = Settings {
            breaker_failures: 1,
            breaker_pause: Duration::from_mins(5),
            breaker_probes: 1,
            ..Settings::default()
        };
        let breaker = Breaker::new("http://x".to_owned(), &settings);
        assert_eq!(breaker.open_for().unwrap(), Duration::ZERO);
        fail(&breaker, 1);
        let left = breaker.open_for().unwrap();
        assert!(left > Duration::from_mins(4) && left <= Duration::from_mins(5), "{left:?}");
        breaker.stop();
        assert!(matches!(breaker.open_for(), Err(ChatError::Stopped)));
    }

    #[test]
    fn a_probe_that_is_given_up_lets_another_go() {
        let breaker = breaker(1, 1);
        fail(&breaker, 1);
        drop(breaker.enter().unwrap());
        assert!(breaker.enter().unwrap().is_probe);
    }

    #[test]
    fn the_pause_is_what_the_server_asks_for_if_that_is_longer() {
        let breaker = breaker(1, 1);
        let asked = Failure { retry_after: Some(Duration::from_secs(9)), ..failure("429") };
        assert_eq!(breaker.pause_after(&asked), Duration::from_secs(9));
        let forever = Failure { retry_after: Some(Duration::MAX), ..failure("429") };
        assert_eq!(breaker.pause_after(&forever), Settings::default().retry_after_limit);
    }

    #[test]
    fn stopping_wakes_those_who_sleep_and_those_who_wait() {
        let breaker = breaker(1, 1);
        fail(&breaker, 1);
        let probe = breaker.enter().unwrap();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| breaker.enter().map(drop));
            let sleeping = scope.spawn(|| breaker.sleep(Duration::from_hours(1)));
            wait_for(&breaker, 2);
            breaker.stop();
            assert!(matches!(waiting.join().unwrap(), Err(ChatError::Stopped)));
            assert!(matches!(sleeping.join().unwrap(), Err(ChatError::Stopped)));
        });
        probe.succeeded();
        assert!(matches!(breaker.enter(), Err(ChatError::Stopped)));
    }
}
