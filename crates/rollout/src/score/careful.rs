//! Calling code that walks hostile text.

use std::panic::{AssertUnwindSafe, catch_unwind};

use whetstone_core::judgement::Infrastructure;

/// Calls `call`. If it panics, that line could not be judged; the others can.
///
/// Nothing of what it was called with is used again after a panic.
pub(crate) fn carefully<T>(call: impl FnOnce() -> T) -> Result<T, Infrastructure> {
    caught("reading the reply", call)
}

/// The same for a call of another kind, which the failure names.
pub(crate) fn caught<T>(what: &str, call: impl FnOnce() -> T) -> Result<T, Infrastructure> {
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
        let result = carefully(|| -> u32 { panic!("deep") });
        std::panic::set_hook(hook);
        assert!(result.unwrap_err().0.contains("panicked"));
        assert_eq!(carefully(|| 3), Ok(3));
    }
}
