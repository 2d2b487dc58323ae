//! The loops as they are called: a tiny random student, an environment without Python, a run.

#![expect(clippy::unwrap_used, reason = "a test that cannot begin has failed")]
#![expect(clippy::print_stderr, reason = "a test that was skipped says so")]

mod alarms;
mod algorithms;
mod bad_input;
mod budget;
mod cuda;
mod dead_groups;
mod distill;
mod dynamic_sampling;
mod first_step;
mod going_on;
mod guess;
mod held_out;
mod invariance;
mod lost;
mod mini_batches;
mod ppo;
mod process_reward;
mod recorded;
mod replay;
mod reward_model;
mod school;
mod silence;
mod unsolved;
