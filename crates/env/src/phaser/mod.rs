//! Programs that use Phaser.
//!
//! [`checks`] has what a task asks of a game, as data; [`observe()`] runs a program and evaluates them.

pub mod checks;
mod observe;

pub use observe::{Observation, Program, observe};
