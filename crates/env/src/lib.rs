//! Environments: where a reply meets the world and earns a reward.

pub mod python;
pub mod stack;
