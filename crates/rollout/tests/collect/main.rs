//! Episodes of a scripted environment with a scripted model, and with a real tiny one.

#![expect(clippy::unwrap_used, reason = "a test that cannot begin has failed")]

mod alive;
mod failures;
mod local;
mod order;
mod record;
mod single;
mod stage;
mod turns;
