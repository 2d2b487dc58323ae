//! The quickstart of the solver environment: a new model, SFT on an expert's rows and GRPO over episodes as stages,
//! and GRPO compared with SFT and with the trivial policy.
//!
//! The stages are those of `configs/recipes/solver.toml`, which ships in the binary: `whet run` with that file
//! does the same without the comparison.

use super::staged::{PolicyStage, StagedRecipe};
use crate::evaluation::Policy;

/// The recipe.
pub const RECIPE: StagedRecipe = StagedRecipe {
    name: "solver",
    text: include_str!("../../../../configs/recipes/solver.toml"),
    before: "sft-eval",
    after: "grpo-eval",
    kl_of: None,
    policies: &[
        PolicyStage { stage: "trivial-eval", policy: Policy::Trivial },
        PolicyStage { stage: "expert-eval", policy: Policy::Expert },
    ],
};
