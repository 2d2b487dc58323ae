//! How many calls of a command are made at the same time.

use std::sync::{Condvar, Mutex, PoisonError};

/// Counts the calls that are being made.
#[derive(Debug, Default)]
pub(super) struct Permits {
    taken: Mutex<usize>,
    given_back: Condvar,
}

/// The right to make a call; given back when it is dropped.
pub(super) struct Permit<'a>(&'a Permits);

impl Permits {
    /// Waits until fewer than `most` calls are being made.
    pub(super) fn take(&self, most: usize) -> Permit<'_> {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let free = self.given_back.wait_while(taken, |taken| *taken >= most.max(1));
        *free.unwrap_or_else(PoisonError::into_inner) += 1;
        Permit(self)
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        *self.0.taken.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.given_back.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn no_more_calls_than_allowed_are_made_at_a_time() {
        let (permits, now, most) = (Permits::default(), AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..12 {
                scope.spawn(|| {
                    let _permit = permits.take(3);
                    let beside = now.fetch_add(1, Ordering::SeqCst) + 1;
                    most.fetch_max(beside, Ordering::SeqCst);
                    thread::yield_now();
                    now.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        let most = most.into_inner();
        assert!((1..=3).contains(&most), "{most}");
        assert_eq!(*permits.taken.lock().unwrap(), 0);
    }
}
