//! Panics of a library that are caught, and told as what they are: a file that lies about itself.
//!
//! A panic is told by the program's hook before anybody can catch it, so catching alone leaves lines
//! on the terminal that frighten and say nothing. A library must not change that hook; so a thread
//! says here that it will catch, and the program, which owns the hook, asks. Panics of other threads
//! are told as ever.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static CATCHING: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread will be caught and told as a finding: then a hook says nothing.
pub fn panic_is_caught() -> bool {
    CATCHING.get()
}

/// Calls `work`; `None` if it panics. What it was called with is not to be used again then.
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
