//! Panics of a library on invalid files, caught and reported as a broken file.
//!
//! The program's panic hook prints a panic before it can be caught, so catching alone leaves
//! confusing lines on the terminal. A library must not replace that hook; so a thread declares here
//! that it will catch, and the hook, which the program owns, checks this. Panics of other threads
//! are printed as usual.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static CATCHING: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread will be caught and reported as a finding: then the hook prints
/// nothing.
pub fn panic_is_caught() -> bool {
    CATCHING.get()
}

/// Calls `work`; `None` if it panics. Its inputs must not be used again in that case.
pub(super) fn caught<T>(work: impl FnOnce() -> T) -> Option<T> {
    let before = CATCHING.replace(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    CATCHING.set(before);
    result.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_caught_and_only_meanwhile_said_to_be() {
        assert!(!panic_is_caught());
        assert_eq!(caught(panic_is_caught), Some(true));
        assert!(!panic_is_caught());
        assert_eq!(
            caught(|| -> u32 { panic!("this line of the test's output is expected") }),
            None
        );
        assert!(!panic_is_caught(), "and not after a panic");
        assert_eq!(caught(|| (caught(|| 1), panic_is_caught())), Some((Some(1), true)));
        assert_eq!(caught(|| std::thread::spawn(panic_is_caught).join().unwrap()), Some(false));
    }
}
