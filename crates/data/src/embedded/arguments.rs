//! Draws arguments for a program.

use super::input::{Naming, constant};
use super::program::{Arguments, Composition};
use crate::random::Random;

/// Different arguments for a program: a few edges first, then typical ones.
pub(super) fn draw(
    program: &Composition,
    naming: &Naming,
    wanted: usize,
    random: &mut Random,
) -> Vec<Arguments> {
    let near: Vec<i64> =
        program.stages.iter().flat_map(|stage| stage.constants.iter().copied()).collect();
    let spec =
        program.lifted.and_then(|(at, place)| program.stages[at].specs().get(place).copied());
    let mut drawn: Vec<Arguments> = Vec::with_capacity(wanted);
    for at in 0..wanted {
        let data = program.input.draw(naming.natural, &near, random, at < 3);
        let arguments = Arguments { data, lifted: spec.map(|spec| constant(spec, random)) };
        if !drawn.contains(&arguments) {
            drawn.push(arguments);
        }
    }
    drawn
}
