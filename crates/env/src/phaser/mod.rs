//! Programs that use Phaser.
//!
//! [`checks`] has what a task asks of a game, as data; [`observe()`] runs a program and evaluates them. [`reward()`] is what
//! a reply is paid.

pub mod checks;
mod environment;
mod installed;
mod observe;
mod plan;
mod reward;
mod validation;

pub use environment::{KIND, PhaserEnvironment, build};
pub use installed::{data_folder, installed};
pub use observe::{Observation, Program, observe};
pub use reward::{is_solved, reward};
pub use validation::{FormatFindings, RuntimeFindings, Validation};
