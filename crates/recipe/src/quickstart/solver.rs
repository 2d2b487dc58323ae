//! The quickstart of the solver environment: a new model, SFT on an expert's rows and GRPO over episodes as stages,
//! and GRPO compared with SFT.
//!
//! The stages are those of `configs/recipes/solver.toml`, which ships in the binary: `whet run` with that file
//! does the same without the comparison.

use super::staged::StagedRecipe;

/// The recipe.
pub const RECIPE: StagedRecipe = StagedRecipe {
    name: "solver",
    text: include_str!("../../../../configs/recipes/solver.toml"),
    before: "sft-eval",
    after: "grpo-eval",
    kl_of: None,
};
