//! Environments: where a reply meets the world and earns a reward.
//!
//! [`environment`] has the shape of all of them, [`registry`] lists them and builds them from the settings,
//! [`metrics`] has what they measure of a rollout.
//! [`python`] judges programs, and [`javascript`] reads those of JavaScript tasks for it; [`guess`] is the
//! example of an environment with two turns and no programs. [`judge`] starts the judge of programs.
//! [`phaser`] has what tasks ask of games. [`bodies`] checks the bodies of tasks without building anything.
//! [`normal_form`] says how far apart two programs are.
//! [`results`] has what environments keep from one run to the next.
//! [`stack`] has the threads on which hostile source can be read.

pub mod bodies;
pub mod environment;
pub mod guess;
pub mod javascript;
pub mod judge;
pub mod metrics;
pub mod normal_form;
pub mod phaser;
pub mod python;
pub mod registry;
pub mod results;
pub mod solver;

pub use whetstone_core::stack;
