//! The thinking of a reference trace: one short sentence for each step, in the words of the code.

use super::names::{TaskNames, fill};
use super::program::Composition;
use super::python::with_elements;
use crate::random::Random;

/// The sentences, in the order of the steps; `taken` names what each step takes.
pub(super) fn reasoning(
    program: &Composition,
    names: &TaskNames,
    taken: &[String],
    random: &mut Random,
) -> String {
    let mut sentences = Vec::new();
    for ((at, stage), value) in program.stages.iter().enumerate().zip(taken) {
        let constants = names.constants(program, at, false);
        let x = names.element(stage.step.from).unwrap_or(value);
        let sentence = with_elements(random.phrase(stage.step.why), stage, &constants, x);
        sentences.push(fill(&sentence, &[("{v}", value)]));
    }
    sentences.join(" ")
}
