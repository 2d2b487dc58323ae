//! The root of the shared object that the Python zygote loads: see `mod.rs` beside it.

#![no_std]
#![allow(dead_code, unreachable_pub, reason = "the same files are a module of the crate")]

#[path = "harden.rs"]
pub(crate) mod harden;
#[path = "landlock.rs"]
pub(crate) mod landlock;
#[path = "order.rs"]
pub(crate) mod order;
#[path = "serve.rs"]
pub(crate) mod serve;
#[path = "sys.rs"]
pub(crate) mod sys;

/// So that the files can say `crate::jail::sys` in both places.
pub(crate) mod jail {
    pub(crate) use super::{harden, landlock, order, serve, sys};
}

/// Waits for orders on `socket`; returns in a child, with its kind, or a negative number when the
/// supervisor is gone.
///
/// # Safety
///
/// The three functions are the interpreter's own fork hooks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whet_serve(
    socket: i32,
    proc_dir: i32,
    before: serve::Hook,
    after_parent: serve::Hook,
    after_child: serve::Hook,
) -> i32 {
    let hooks = serve::Hooks { before, after_parent, after_child };
    // SAFETY: passed on as promised by the caller.
    unsafe { serve::serve(socket, proc_dir, hooks) }
}

/// Asked for by the unwind tables of `core`, and never called: a panic here ends the process.
#[unsafe(no_mangle)]
pub extern "C" fn rust_eh_personality() {}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    sys::exit(99)
}
