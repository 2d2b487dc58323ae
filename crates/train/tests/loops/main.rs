//! The loops as they are called: a tiny random student, an environment without Python, a run.

#![expect(clippy::unwrap_used, reason = "a test that cannot begin has failed")]

mod alarms;
mod bad_input;
mod budget;
mod first_step;
mod going_on;
mod held_out;
mod invariance;
mod school;
mod silence;
