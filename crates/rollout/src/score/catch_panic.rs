//! Panics of code that reads hostile text become errors.

use std::panic::{AssertUnwindSafe, catch_unwind};

use whetstone_core::judgement::Infrastructure;

/// Calls `call` and turns a panic into an infrastructure failure of this one line; the others go on.
///
/// Nothing of what it was called with is used again after a panic.
pub(crate) fn catch_panic<T>(call: impl FnOnce() -> T) -> Result<T, Infrastructure> {
    catch_panic_in("reading the reply", call)
}

/// [`catch_panic`] for a call of another kind, which the failure names.
pub(crate) fn catch_panic_in<T>(what: &str, call: impl FnOnce() -> T) -> Result<T, Infrastructure> {
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
        let result = catch_panic(|| -> u32 { panic!("deep") });
        std::panic::set_hook(hook);
        assert!(result.unwrap_err().0.contains("panicked"));
        assert_eq!(catch_panic(|| 3), Ok(3));
    }
}
