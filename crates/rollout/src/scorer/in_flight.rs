//! Programs that are being judged: a second caller with the same one waits for its verdict.

use std::collections::HashSet;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::cache::Key;

/// Programs that are being judged.
#[derive(Debug)]
pub(super) struct InFlight {
    state: Mutex<InFlightState>,
    left: Condvar,
    /// Callers that may wait; more judge for themselves, so that some always go on.
    most_waiting: usize,
}

#[derive(Debug, Default)]
struct InFlightState {
    keys: HashSet<Key>,
    waiting: usize,
}

/// The turn of a caller with a program that is not known.
#[derive(Debug)]
pub(super) enum Turn<'a> {
    /// Judge it: others may come to wait until this is dropped.
    First(#[expect(dead_code, reason = "it is held to be dropped")] Judged<'a>),
    /// It was waited for: its verdict may be known now.
    Waited,
    /// Judge it for itself: too many wait already.
    Alone,
}

/// The program is judged once this is dropped.
#[derive(Debug)]
pub(super) struct Judged<'a> {
    all: &'a InFlight,
    key: Key,
}

impl InFlight {
    pub(super) fn new(most_waiting: usize) -> Self {
        Self { state: Mutex::default(), left: Condvar::new(), most_waiting }
    }

    /// Comes with a program that is not known; waits while another caller judges it.
    pub(super) fn enter(&self, key: Key) -> Turn<'_> {
        let mut state = self.lock();
        if state.keys.insert(key) {
            return Turn::First(Judged { all: self, key });
        }
        if state.waiting >= self.most_waiting {
            return Turn::Alone;
        }
        state.waiting += 1;
        while state.keys.contains(&key) {
            state = self.left.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.waiting -= 1;
        Turn::Waited
    }

    fn lock(&self) -> MutexGuard<'_, InFlightState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Judged<'_> {
    fn drop(&mut self) {
        self.all.lock().keys.remove(&self.key);
        self.all.left.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const A: Key = Key([1; 32]);

    #[test]
    fn the_first_judges_others_wait_for_it_and_the_next_is_first_again() {
        let all = InFlight::new(2);
        let first = all.enter(A);
        assert!(matches!(first, Turn::First(_)));
        assert!(matches!(all.enter(Key([2; 32])), Turn::First(_)), "another program");
        thread::scope(|scope| {
            let waiting = [0, 1].map(|_| scope.spawn(|| matches!(all.enter(A), Turn::Waited)));
            while all.lock().waiting < 2 {
                thread::yield_now();
            }
            assert!(matches!(all.enter(A), Turn::Alone), "two may wait, and no more");
            drop(first);
            assert!(waiting.into_iter().all(|waited| waited.join().unwrap()));
        });
        assert_eq!(all.lock().waiting, 0);
        assert!(matches!(all.enter(A), Turn::First(_)));
    }
}
