//! The quickstart of RLHF: SFT, a reward model and PPO as stages, and PPO compared with SFT.
//!
//! The stages are those of `configs/recipes/rlhf.toml`, which ships in the binary: `whet run` with that file
//! does the same without the comparison.

use super::staged::StagedRecipe;

/// The recipe.
pub const RECIPE: StagedRecipe = StagedRecipe {
    name: "rlhf",
    text: include_str!("../../../../configs/recipes/rlhf.toml"),
    before: "sft-eval",
    after: "ppo-eval",
    kl_of: Some("ppo"),
    policies: &[],
};
