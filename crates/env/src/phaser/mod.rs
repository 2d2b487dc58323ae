//! Programs that use Phaser.
//!
//! [`checks`] has what a task asks of a game, as data; [`observe()`] runs a program and evaluates them. [`reward()`] is what
//! a reply is paid.

pub mod checks;
mod environment;
mod figures;
mod inspector;
mod installed;
mod observe;
mod options;
mod plan;
mod reward;
mod validation;
mod validator;

pub use environment::{KIND, PhaserEnvironment, build, check_body};
pub use figures::{InventedName, PhaserFigures};
pub use installed::{data_folder, installed};
pub use observe::{Observation, Program, observe};
pub use options::{OptionsError, PhaserOptions};
pub use reward::{is_solved, reward};
pub use validation::{FormatFindings, RuntimeFindings, Validation};
pub use validator::{CommandError, Validator};
