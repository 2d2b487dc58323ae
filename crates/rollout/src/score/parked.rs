//! Lines that wait for the verdict of the same program, without holding a thread.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::cache::Key;

/// Lines that may wait, each with its program; more are judged by themselves.
const MOST: usize = 512;

/// Lines that wait, by their programs.
#[derive(Debug)]
pub(super) struct Parked<W>(Mutex<State<W>>);

/// The turn of a line with a program among lines with the same program.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Role<W> {
    /// Judge it; others may come to wait for it, until [`Parked::leave`].
    First(W),
    /// Judge it for itself: too many wait already.
    Alone(W),
    /// Nothing: it waits.
    Waits,
}

#[derive(Debug)]
struct State<W> {
    by_key: HashMap<Key, Vec<W>>,
    count: usize,
}

impl<W> Parked<W> {
    pub(super) fn new() -> Self {
        Self(Mutex::new(State { by_key: HashMap::new(), count: 0 }))
    }

    /// Comes with a program that is not known.
    pub(super) fn enter(&self, key: Key, line: W) -> Role<W> {
        let mut state = self.lock();
        let full = state.count >= MOST;
        match state.by_key.get_mut(&key) {
            None => {
                state.by_key.insert(key, Vec::new());
                Role::First(line)
            }
            Some(_) if full => Role::Alone(line),
            Some(waiting) => {
                waiting.push(line);
                state.count += 1;
                Role::Waits
            }
        }
    }

    /// Ends what [`Role::First`] began; returns those who waited for it.
    pub(super) fn leave(&self, key: &Key) -> Vec<W> {
        let mut state = self.lock();
        let waiting = state.by_key.remove(key).unwrap_or_default();
        state.count -= waiting.len();
        waiting
    }

    fn lock(&self) -> MutexGuard<'_, State<W>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_judges_the_others_wait_and_the_next_is_first_again() {
        let parked = Parked::new();
        let (a, b) = (Key([1; 32]), Key([2; 32]));
        assert_eq!(parked.enter(a, 1), Role::First(1));
        assert_eq!(parked.enter(a, 2), Role::Waits);
        assert_eq!(parked.enter(b, 3), Role::First(3));
        assert_eq!(parked.enter(a, 4), Role::Waits);
        assert_eq!(parked.leave(&a), [2, 4]);
        assert!(parked.leave(&b).is_empty());
        assert_eq!(parked.enter(a, 5), Role::First(5));
    }

    #[test]
    fn only_so_many_wait() {
        let parked = Parked::new();
        let key = Key([1; 32]);
        assert_eq!(parked.enter(key, 0), Role::First(0));
        assert!((0..MOST).all(|at| parked.enter(key, at) == Role::Waits));
        assert_eq!(parked.enter(key, 7), Role::Alone(7));
        assert_eq!(parked.leave(&key).len(), MOST);
    }
}
