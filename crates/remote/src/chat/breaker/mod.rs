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
mod tests;
