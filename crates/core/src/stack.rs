//! Threads with a stack deep enough for any program we accept.
//!
//! A parser recurses as deep as its input is nested, and a stack overflow aborts the process. So
//! source is capped, and everything that walks it asks for a [`BigStack`], which exists only on a
//! thread that was started here.

use std::thread::{Scope, ScopedJoinHandle};

/// Virtual memory: pages are taken as they are touched.
const BYTES: usize = 1 << 30;

/// Proof that the current thread has a big stack.
///
/// It cannot be sent or shared to another thread, where it would prove nothing:
///
/// ```compile_fail
/// std::thread::scope(|scope| {
///     let _ = whetstone_core::stack::spawn(scope, |stack| {
///         std::thread::scope(|inner| inner.spawn(|| format!("{stack:?}")).join().is_ok())
///     });
/// });
/// ```
#[derive(Debug)]
pub struct BigStack(std::marker::PhantomData<*const ()>);

/// Starts a thread with a big stack.
pub fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce(&BigStack) -> T + Send + 'scope,
) -> std::io::Result<ScopedJoinHandle<'scope, T>> {
    let big = std::thread::Builder::new().stack_size(BYTES);
    big.spawn_scoped(scope, move || work(&BigStack(std::marker::PhantomData)))
}

/// Does one piece of work on a thread of its own with a big stack, and waits for it.
///
/// A panic in `work` is resumed in the caller.
pub fn on_big_stack<T: Send>(work: impl FnOnce(&BigStack) -> T + Send) -> std::io::Result<T> {
    std::thread::scope(|scope| {
        let thread = spawn(scope, work)?;
        Ok(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}
