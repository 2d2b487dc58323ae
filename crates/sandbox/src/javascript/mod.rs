//! The JavaScript zygote: a `QuickJS` engine that was warmed once, in a process of its own.
//!
//! It is the Python zygote's sibling, and [`jail`](crate::jail) holds both: the launcher walls itself
//! in, and instead of executing an interpreter it has one linked in. What a child does is what
//! `zygote.py` has its children do, frame by frame; nothing it says is a verdict.
//!
//! A program finds ECMAScript and the few things of `shim.js`. There is no host function to open a
//! file, to start anything or to name a descriptor: what could be escaped to does not exist, and the
//! jail is there for the day on which the engine itself is broken into.

pub(crate) mod channel;
mod child;
pub(crate) mod engine;
mod entry;
pub(crate) mod fault;
mod host;
mod make;
mod module;
pub(crate) mod read;

use std::convert::Infallible;

use crate::jail::serve::{Hooks, serve};
use crate::jail::sys;
use engine::Engine;

/// Becomes the zygote; returns only if it cannot.
#[expect(unsafe_code, reason = "the jail forks")]
pub(crate) fn become_zygote(socket: i32, proc_dir: i32) -> Result<Infallible, String> {
    let engine = Engine::warm().map_err(|error| format!("cannot start QuickJS: {error}"))?;
    let none = Hooks { before: None, after_parent: None, after_child: None };
    // SAFETY: there are no hooks, this process has never had a second thread, and this is the only
    // call.
    let kind = unsafe { serve(socket, proc_dir, none) };
    if kind > 0 {
        child::run(&engine, kind);
    }
    sys::exit(0)
}
