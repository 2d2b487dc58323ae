//! Threads with a stack deep enough for any program we accept.
//!
//! A parser recurses as deep as its input is nested, and a stack overflow aborts the process. So
//! source is capped, and everything that walks it asks for a [`BigStack`], which exists only on a
//! thread that was started here.

use std::thread::{Scope, ScopedJoinHandle};

/// Virtual memory: pages are taken as they are touched.
const BYTES: usize = 1 << 30;

/// Proof that the current thread has a big stack.
#[derive(Debug)]
pub struct BigStack(());

/// Starts a thread with a big stack.
pub fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce(&BigStack) -> T + Send + 'scope,
) -> std::io::Result<ScopedJoinHandle<'scope, T>> {
    let big = std::thread::Builder::new().stack_size(BYTES);
    big.spawn_scoped(scope, move || work(&BigStack(())))
}
