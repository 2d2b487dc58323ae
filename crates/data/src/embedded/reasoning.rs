//! The thinking of a reference trace: one short sentence for each step, in the words of the code.

use super::names::{Names, fill};
use super::program::Program;
use super::python::with_elements;
use super::random::Random;

/// The sentences, in the order of the steps.
pub(super) fn reasoning(program: &Program, names: &Names, random: &mut Random) -> String {
    let mut sentences = Vec::new();
    for (at, stage) in program.stages.iter().enumerate() {
        let constants = names.constants(program, at, false);
        let argument = names.naming.arguments[0];
        let value = if at == 0 { argument } else { "it" };
        let x = names.element(stage.step.from).unwrap_or(value);
        let sentence = with_elements(random.phrase(stage.step.why), stage, &constants, x);
        sentences.push(fill(&sentence, &[("{v}", value)]));
    }
    sentences.join(" ")
}
