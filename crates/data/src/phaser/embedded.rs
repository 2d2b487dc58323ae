//! The prompt seeds that come with `whet`.

use std::path::Path;

use super::read::read_seeds_from;
use super::seed::PromptSeed;

const SEEDS: &str = include_str!("../../../../assets/phaser/prompt_seeds.jsonl");

/// The embedded seeds, each with a reference program.
///
/// # Panics
///
/// Never: a test reads them.
pub fn embedded() -> Vec<PromptSeed> {
    read_seeds_from(Path::new("embedded prompt seeds"), SEEDS.as_bytes())
        .expect("the embedded prompt seeds are valid")
}

#[cfg(test)]
pub(super) fn embedded_text() -> &'static str {
    SEEDS
}
