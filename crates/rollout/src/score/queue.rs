//! Work for the callers of the judge, in bounded amounts.
//!
//! One thread reads lines and offers them; many take them. A line is *open* from the moment it is
//! offered until it is finished, which may be long after it was taken: it may wait for another line
//! with the same program. The reader waits while too many lines or bytes are queued, or while the
//! oldest open line is too far behind: that bounds how far results can be out of order, and so what
//! the second pass has to hold.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Lines waiting to be taken.
const QUEUED_LINES: usize = 256;
/// Bytes of them; one line more may be taken in, however long.
const QUEUED_BYTES: usize = 32 << 20;
/// How far the newest line may be ahead of the oldest open one. A program that uses all of its
/// five seconds holds up the others only after as many lines as are judged in that time.
pub(super) const WINDOW: u64 = 8192;

/// A queue of lines.
#[derive(Debug)]
pub(super) struct Queue<T> {
    state: Mutex<State<T>>,
    work: Condvar,
    room: Condvar,
}

#[derive(Debug)]
struct State<T> {
    waiting: VecDeque<(T, usize)>,
    bytes: usize,
    open: BTreeSet<u64>,
    closed: bool,
    stopped: bool,
    idle: usize,
    reader_waits: bool,
}

impl<T> Queue<T> {
    pub(super) fn new() -> Self {
        let state = State {
            waiting: VecDeque::new(),
            bytes: 0,
            open: BTreeSet::new(),
            closed: false,
            stopped: false,
            idle: 0,
            reader_waits: false,
        };
        Self { state: Mutex::new(state), work: Condvar::new(), room: Condvar::new() }
    }

    /// Offers line `at`, of so many bytes; waits for room. `false` if the work was stopped.
    pub(super) fn offer(&self, at: u64, bytes: usize, work: T) -> bool {
        let mut state = self.lock();
        while !state.stopped && !state.has_room(at) {
            state.reader_waits = true;
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.open.insert(at);
        state.bytes += bytes;
        state.waiting.push_back((work, bytes));
        if state.idle > 0 {
            self.work.notify_one();
        }
        !state.stopped
    }

    /// Puts an open line back, to be taken before the others.
    pub(super) fn again(&self, work: T) {
        let mut state = self.lock();
        state.waiting.push_front((work, 0));
        if state.idle > 0 {
            self.work.notify_one();
        }
    }

    /// Takes the next line; waits for one. `None` when all work is done or stopped.
    pub(super) fn take(&self) -> Option<T> {
        let mut state = self.lock();
        loop {
            if state.stopped {
                return None;
            }
            if let Some((work, bytes)) = state.waiting.pop_front() {
                state.bytes -= bytes;
                self.call_reader(&mut state);
                return Some(work);
            }
            if state.closed && state.open.is_empty() {
                return None;
            }
            state.idle += 1;
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }

    /// Closes line `at`: its result is known.
    pub(super) fn finished(&self, at: u64) {
        let mut state = self.lock();
        state.open.remove(&at);
        self.call_reader(&mut state);
        if state.closed && state.open.is_empty() {
            self.work.notify_all();
        }
    }

    /// No more lines will be offered.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.work.notify_all();
    }

    /// Lets everyone go, whatever is still open.
    pub(super) fn stop(&self) {
        self.lock().stopped = true;
        self.work.notify_all();
        self.room.notify_all();
    }

    /// Wakes the reader, once there is room for more than a line.
    fn call_reader(&self, state: &mut State<T>) {
        if state.reader_waits && state.waiting.len() <= QUEUED_LINES / 2 {
            state.reader_waits = false;
            self.room.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> State<T> {
    fn has_room(&self, at: u64) -> bool {
        self.waiting.len() < QUEUED_LINES
            && self.bytes < QUEUED_BYTES
            && self.open.first().is_none_or(|oldest| at - oldest < WINDOW)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn every_line_is_taken_once_also_those_that_come_back() {
        let queue = Queue::new();
        let taken = AtomicU64::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while let Some((at, back)) = queue.take() {
                        if back && at % 3 == 0 {
                            queue.again((at, false));
                        } else {
                            taken.fetch_add(at, Ordering::Relaxed);
                            queue.finished(at);
                        }
                    }
                });
            }
            for at in 0..20_000 {
                assert!(queue.offer(at, 1, (at, true)));
            }
            queue.close();
        });
        assert_eq!(taken.into_inner(), 20_000 * 19_999 / 2);
    }

    #[test]
    fn the_reader_waits_for_the_oldest_line_and_a_stop_frees_it() {
        let queue = Queue::new();
        let offered = AtomicU64::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                for at in 0..WINDOW + 10 {
                    if !queue.offer(at, 0, at) {
                        return;
                    }
                    offered.fetch_add(1, Ordering::Relaxed);
                }
            });
            // Finish all but the first line: the reader comes as far as the window and no further.
            let first = queue.take();
            assert_eq!(first, Some(0));
            for _ in 1..WINDOW {
                let at = queue.take().unwrap();
                queue.finished(at);
            }
            queue.stop();
            assert_eq!(queue.take(), None);
        });
        assert_eq!(offered.into_inner(), WINDOW);
    }
}
