//! The threads of a batch: one feeds the queue, the others take items until the queue is closed and empty.

use std::sync::{Mutex, PoisonError};
use std::thread;

use whetstone_core::stack::{self, BigStack};

use super::Queue;
use super::queue::Taken;
use crate::error::BatchError;

/// Calls `work` with every item that `feed` offers, on `workers` threads with a big stack.
///
/// The first error stops everyone and is returned: items in hand are finished, those in the queue
/// are left. A panic stops all workers too, and is resumed in the caller.
pub fn run<T: Send, E: From<BatchError> + Send>(
    workers: usize,
    feed: impl FnOnce(&Queue<T>) -> Result<(), E>,
    work: impl Fn(T, &BigStack) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let queue = Queue::new();
    let trouble = Mutex::new(None);
    let drain = |stack: &BigStack| {
        let _guard = StopOnPanic(&queue);
        while let Some(Taken { number, item }) = queue.take() {
            if let Err(err) = work(item, stack) {
                trouble.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(err);
                queue.stop();
            }
            queue.finished(number);
        }
    };
    let fed = thread::scope(|scope| {
        let _guard = StopOnPanic(&queue);
        for _ in 0..workers.max(1) {
            if let Err(err) = stack::spawn(scope, drain) {
                queue.stop();
                return Err(BatchError::Threads(err).into());
            }
        }
        let fed = feed(&queue);
        if fed.is_err() {
            queue.stop();
        }
        queue.close();
        fed
    });
    match trouble.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(err) => Err(err),
        None => fed,
    }
}

/// Stops the queue when its thread panics: the others must not wait for it.
struct StopOnPanic<'a, T>(&'a Queue<T>);

impl<T> Drop for StopOnPanic<'_, T> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    /// More than the queue holds: whoever stops must free this thread.
    fn offer_many(queue: &Queue<u32>) {
        let _ = (0..100_000).all(|item| queue.offer(1, item));
    }

    #[test]
    fn every_item_is_worked_on() {
        let sum = AtomicU32::new(0);
        let feed = |queue: &Queue<u32>| {
            assert!((0..1000).all(|item| queue.offer(1, item)));
            Ok::<_, BatchError>(())
        };
        run(3, feed, |item, _| {
            sum.fetch_add(item, Ordering::Relaxed);
            Ok(())
        })
        .unwrap();
        assert_eq!(sum.into_inner(), 999 * 500);
    }

    #[test]
    fn the_first_error_stops_the_others_and_the_feeder() {
        let done = AtomicU32::new(0);
        let feed = |queue: &Queue<u32>| {
            offer_many(queue);
            Ok(())
        };
        let err = run(2, feed, |item, _| {
            done.fetch_add(1, Ordering::Relaxed);
            if item == 7 { Err(BatchError::Lost { item: "item 7".to_owned() }) } else { Ok(()) }
        })
        .unwrap_err();
        assert!(err.to_string().contains("item 7"), "{err}");
        assert!(done.into_inner() < 100_000);
    }

    #[test]
    fn an_error_of_the_feeder_is_returned() {
        let feed = |_: &Queue<u32>| Err(BatchError::Changed { noun: "tasks" });
        let err = run(2, feed, |_, _| Ok(())).unwrap_err();
        assert!(matches!(err, BatchError::Changed { .. }), "{err}");
    }

    #[test]
    fn a_panic_of_a_worker_frees_the_feeder_and_reaches_the_caller() {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let caught = std::panic::catch_unwind(|| {
            let feed = |queue: &Queue<u32>| {
                offer_many(queue);
                Ok::<_, BatchError>(())
            };
            run(2, feed, |item, _| {
                assert_ne!(item, 7);
                Ok(())
            })
        });
        std::panic::set_hook(hook);
        assert!(caught.is_err());
    }
}
