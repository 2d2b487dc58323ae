//! Panics of code that reads hostile text become failures of one item.

use std::panic::{AssertUnwindSafe, catch_unwind};

use whetstone_core::judgement::Infrastructure;

/// Calls `call` and turns a panic into an infrastructure failure of this one item; the others go on.
/// The failure names `what` panicked.
///
/// Nothing of what it was called with is used again after a panic.
pub fn catch_panic<T>(what: &str, call: impl FnOnce() -> T) -> Result<T, Infrastructure> {
    catch_unwind(AssertUnwindSafe(call))
        .map_err(|_| Infrastructure(format!("a bug: {what} panicked")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_of_the_machine() {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let result = catch_panic("reading the reply", || -> u32 { panic!("deep") });
        std::panic::set_hook(hook);
        assert_eq!(result.unwrap_err().0, "a bug: reading the reply panicked");
        assert_eq!(catch_panic("nothing", || 3), Ok(3));
    }
}
