//! The jail: what stands between a program and the machine, closed from the inside.
//!
//! This code runs twice. It is a module of this crate, for the JavaScript zygote; and `build.rs`
//! compiles the same files, with `core` alone, to a shared object of a few kilobytes that the
//! Python zygote loads: so a program is held by the same lines whatever it is written in. That is
//! why nothing here uses `std`, allocates, or depends on a crate.
//!
//! A zygote calls [`serve`](serve::serve), which returns only in a child, and there only when every
//! lock is shut.

pub(crate) mod harden;
pub(crate) mod landlock;
#[cfg(test)]
mod numbers;
pub(crate) mod order;
pub(crate) mod serve;
pub(crate) mod sys;
