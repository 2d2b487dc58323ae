//! Items for the workers of a batch, in bounded amounts.
//!
//! One or more threads offer items; many take them. An item is *open* from the moment it is offered
//! until it is finished. A thread that offers waits while too many items or bytes are queued, or while the
//! oldest open item is too far behind: that bounds how far results can be out of order, and so what
//! is lost of an interrupted batch.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Items waiting to be taken.
const QUEUED_ITEMS: usize = 256;
/// Bytes of them; one item more may be taken in, however long.
const QUEUED_BYTES: usize = 32 << 20;
/// How far the newest item may be ahead of the oldest open one. A program that uses all of its
/// five seconds holds up the others only after as many items as are judged in that time.
const WINDOW: u64 = 8192;

/// A queue of items.
#[derive(Debug)]
pub struct Queue<T> {
    state: Mutex<QueueState<T>>,
    work: Condvar,
    room: Condvar,
}

#[derive(Debug)]
struct QueueState<T> {
    waiting: VecDeque<Waiting<T>>,
    bytes: usize,
    /// Items that were offered.
    offered: u64,
    open: BTreeSet<u64>,
    closed: bool,
    stopped: bool,
    idle: usize,
    offerers_waiting: bool,
}

#[derive(Debug)]
struct Waiting<T> {
    number: u64,
    bytes: usize,
    item: T,
}

/// An item that was taken, with its number.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Taken<T> {
    pub(super) number: u64,
    pub(super) item: T,
}

impl<T> Queue<T> {
    pub(super) fn new() -> Self {
        let state = QueueState {
            waiting: VecDeque::new(),
            bytes: 0,
            offered: 0,
            open: BTreeSet::new(),
            closed: false,
            stopped: false,
            idle: 0,
            offerers_waiting: false,
        };
        Self { state: Mutex::new(state), work: Condvar::new(), room: Condvar::new() }
    }

    /// Offers an item of `bytes` bytes; waits for room. `false` if the work was stopped: nothing more
    /// is taken.
    pub fn offer(&self, bytes: usize, item: T) -> bool {
        let mut state = self.lock();
        while !state.stopped && !state.has_room() {
            state.offerers_waiting = true;
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let number = state.offered;
        state.offered += 1;
        state.open.insert(number);
        state.bytes += bytes;
        state.waiting.push_back(Waiting { number, bytes, item });
        if state.idle > 0 {
            self.work.notify_one();
        }
        !state.stopped
    }

    /// Takes the next item; waits for one. `None` when all work is done or stopped.
    pub(super) fn take(&self) -> Option<Taken<T>> {
        let mut state = self.lock();
        loop {
            if state.stopped {
                return None;
            }
            if let Some(Waiting { number, bytes, item }) = state.waiting.pop_front() {
                state.bytes -= bytes;
                self.call_offerers(&mut state);
                return Some(Taken { number, item });
            }
            if state.closed {
                return None;
            }
            state.idle += 1;
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }

    /// Closes an item: its result is known.
    pub(super) fn finished(&self, number: u64) {
        let mut state = self.lock();
        state.open.remove(&number);
        self.call_offerers(&mut state);
    }

    /// No more items will be offered.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.work.notify_all();
    }

    /// Lets everyone go, whatever is still open.
    pub fn stop(&self) {
        self.lock().stopped = true;
        self.work.notify_all();
        self.room.notify_all();
    }

    /// Wakes those who offer, once there is room for more than one item.
    fn call_offerers(&self, state: &mut QueueState<T>) {
        if state.offerers_waiting && state.waiting.len() <= QUEUED_ITEMS / 2 {
            state.offerers_waiting = false;
            self.room.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, QueueState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> QueueState<T> {
    fn has_room(&self) -> bool {
        self.waiting.len() < QUEUED_ITEMS
            && self.bytes < QUEUED_BYTES
            && self.open.first().is_none_or(|oldest| self.offered - oldest < WINDOW)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn every_item_is_taken_once_whichever_thread_offers_it() {
        let queue = Queue::new();
        let taken = AtomicU64::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while let Some(Taken { number, item }) = queue.take() {
                        taken.fetch_add(item, Ordering::Relaxed);
                        queue.finished(number);
                    }
                });
            }
            thread::scope(|offering| {
                for part in 0..2 {
                    let queue = &queue;
                    offering.spawn(move || {
                        assert!((0..10_000).all(|n| queue.offer(1, 2 * n + part)));
                    });
                }
            });
            queue.close();
        });
        assert_eq!(taken.into_inner(), 20_000 * 19_999 / 2);
    }

    #[test]
    fn an_offer_waits_for_the_oldest_item_and_a_stop_frees_it() {
        let queue = Queue::new();
        let offered = AtomicU64::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                for item in 0..WINDOW + 10 {
                    if !queue.offer(0, item) {
                        return;
                    }
                    offered.fetch_add(1, Ordering::Relaxed);
                }
            });
            // Finish all but the first: as many are offered as the window has, and no more.
            assert_eq!(queue.take().map(|taken| taken.item), Some(0));
            for _ in 1..WINDOW {
                let taken = queue.take().unwrap();
                queue.finished(taken.number);
            }
            queue.stop();
            assert_eq!(queue.take(), None);
        });
        assert_eq!(offered.into_inner(), WINDOW);
    }
}
