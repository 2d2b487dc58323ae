//! Every kind of stage, one file each.

use super::job::Kind;
use super::what::What;
use super::{
    data, dpo, eval, grpo, new_model, pairs, ppo, prm, rm, sample, score, sft, teach, validate,
};

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
    &dpo::KIND,
    &prm::KIND,
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

/// The kinds of stages that make something, as text.
#[derive(Debug, Clone, Copy)]
pub struct KindsThatMake(pub What);

impl std::fmt::Display for KindsThatMake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let makers = KINDS.iter().filter(|kind| kind.makes.iter().any(|(made, _)| *made == self.0));
        let makers: Vec<&str> = makers.map(|kind| kind.name).collect();
        f.write_str(&makers.join(", "))
    }
}
