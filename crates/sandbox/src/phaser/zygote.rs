//! The zygote: a process with Phaser loaded, of which each program gets a copy.

use std::convert::Infallible;

use super::child;
use super::engine::Engine;
use crate::jail::serve::{Hooks, serve};
use crate::jail::sys;

/// Becomes the zygote; returns only if it cannot. The bytecode was read before the walls went up.
#[expect(unsafe_code, reason = "the jail forks")]
pub(crate) fn become_zygote(
    socket: i32,
    proc_dir: i32,
    bytecode: Vec<u8>,
) -> Result<Infallible, String> {
    let engine = Engine::warm(Vec::leak(bytecode));
    let engine = engine.map_err(|error| format!("cannot load Phaser: {error}"))?;
    let none = Hooks { before: None, after_parent: None, after_child: None };
    // SAFETY: there are no hooks, this process has never had a second thread, and this is the only
    // call.
    let kind = unsafe { serve(socket, proc_dir, none) };
    if kind > 0 {
        child::run(&engine, kind);
    }
    sys::exit(0)
}
