//! Every kind of stage, one file each.

use super::job::Kind;
use super::{data, eval, grpo, new_model, pairs, ppo, rm, sample, score, sft, teach, validate};

/// The kinds, in the order of the pipeline.
pub static KINDS: &[&Kind] = &[
    &data::KIND,
    &validate::KIND,
    &teach::KIND,
    &new_model::KIND,
    &sft::KIND,
    &sample::KIND,
    &score::KIND,
    &pairs::KIND,
    &rm::KIND,
    &grpo::KIND,
    &ppo::KIND,
    &eval::KIND,
];

/// The kind of this name.
pub fn of(name: &str) -> Option<&'static Kind> {
    KINDS.iter().copied().find(|kind| kind.name == name)
}

/// Their names, as text.
pub fn names() -> String {
    KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ")
}
