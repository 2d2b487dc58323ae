//! The tests of a task: few, and chosen so that wrong programs fail.
//!
//! Wrong programs are mutants of the composition, evaluated by the twin: one step left out, a test
//! with a constant result, the argument returned unchanged. Each must fail a hidden test, and the
//! answers must differ, so that no constant passes; otherwise there is no suite. Off-by-one
//! programs and programs with two steps in the wrong order must fail if any input tells them apart.

use super::program::{Arguments, Composition};
use super::value::Value;
use crate::random::Random;

/// One call and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Case {
    pub(super) arguments: Arguments,
    pub(super) expected: Value,
}

/// Tests that tell a solution from a wrong program.
#[derive(Debug)]
pub(super) struct Cases {
    pub(super) visible: Vec<Case>,
    pub(super) hidden: Vec<Case>,
}

/// Why a composition makes no task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Discarded {
    /// The steps drawn do not fit together.
    Unfit,
    /// Its shape belongs to the other part.
    OtherPart,
    /// It overflows, is not defined, or gives something too large to read.
    Undefined,
    /// One of its steps can be left out, its answers are all the same, or too few inputs differ.
    Redundant,
    /// A task like it was made before.
    Known,
}

const FEWEST_HIDDEN: usize = 5;
const MOST_HIDDEN: usize = 8;

/// Chooses tests among these arguments.
pub(super) fn choose(
    program: &Composition,
    pool: Vec<Arguments>,
    random: &mut Random,
) -> Result<Cases, Discarded> {
    let mut cases = Vec::with_capacity(pool.len());
    for arguments in pool {
        let expected = program.run(&arguments).ok_or(Discarded::Undefined)?;
        cases.push(Case { arguments, expected });
    }
    let visible = take_visible(&mut cases, random).ok_or(Discarded::Redundant)?;
    let must = wrong(&cases, &program.cripples());
    let should = wrong(&cases, &program.slips());
    let identity: Vec<bool> =
        cases.iter().map(|case| case.arguments.data != case.expected).collect();
    let required: Vec<&Vec<bool>> = must.iter().chain([&identity]).collect();
    if required.iter().any(|mutant| !mutant.contains(&true)) {
        return Err(Discarded::Redundant);
    }
    let mut chosen = Vec::new();
    cover(&mut chosen, &required, MOST_HIDDEN);
    cover(&mut chosen, &should.iter().collect::<Vec<_>>(), MOST_HIDDEN);
    if required.iter().any(|mutant| !chosen.iter().any(|&at| mutant[at])) {
        return Err(Discarded::Redundant);
    }
    fill_up(&mut chosen, &cases, FEWEST_HIDDEN + random.below(3));
    let hidden: Vec<Case> = chosen.into_iter().map(|at| cases[at].clone()).collect();
    let is_one = hidden.iter().all(|case| case.expected == hidden[0].expected);
    if is_one || hidden.len() < FEWEST_HIDDEN {
        return Err(Discarded::Redundant);
    }
    Ok(Cases { visible, hidden })
}

/// Takes two or three short and typical cases with different values out of all.
fn take_visible(cases: &mut Vec<Case>, random: &mut Random) -> Option<Vec<Case>> {
    let wanted = 2 + usize::from(random.chance(35));
    let mut visible: Vec<Case> = Vec::new();
    for length in [3..=5, 3..=8, 0..=99] {
        let mut at = 3.min(cases.len());
        while at < cases.len() && visible.len() < wanted {
            let is_new = visible.iter().all(|case| case.expected != cases[at].expected);
            if is_new && length.contains(&cases[at].arguments.data.len()) {
                visible.push(cases.remove(at));
            } else {
                at += 1;
            }
        }
    }
    (visible.len() >= 2).then_some(visible)
}

/// For each mutant, on which cases it is wrong.
fn wrong(cases: &[Case], mutants: &[Composition]) -> Vec<Vec<bool>> {
    let row = |mutant: &Composition| {
        cases
            .iter()
            .map(|case| mutant.run(&case.arguments).as_ref() != Some(&case.expected))
            .collect()
    };
    mutants.iter().map(row).collect()
}

/// Adds cases, the most telling first, until each mutant that can be caught is.
fn cover(chosen: &mut Vec<usize>, mutants: &[&Vec<bool>], most: usize) {
    while chosen.len() < most {
        let open: Vec<_> =
            mutants.iter().filter(|mutant| !chosen.iter().any(|&at| mutant[at])).collect();
        let Some(first) = open.first() else { return };
        let caught = |at: usize| open.iter().filter(|mutant| mutant[at]).count();
        let best = (0..first.len()).rev().max_by_key(|&at| caught(at));
        match best.filter(|&at| caught(at) > 0) {
            Some(at) => chosen.push(at),
            None => return,
        }
    }
}

/// Adds cases with answers not seen yet, then any.
fn fill_up(chosen: &mut Vec<usize>, cases: &[Case], wanted: usize) {
    for only_new in [true, false] {
        for (at, case) in cases.iter().enumerate() {
            let is_new = chosen.iter().all(|&other| cases[other].expected != case.expected);
            if chosen.len() < wanted && !chosen.contains(&at) && (is_new || !only_new) {
                chosen.push(at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use whetstone_core::Seed;

    use super::*;
    use crate::embedded::arguments;
    use crate::embedded::family::{self, FAMILIES};
    use crate::embedded::input::ArgumentKind;
    use crate::embedded::program::Stage;
    use crate::embedded::steps;

    fn program(names: [&str; 2]) -> Composition {
        let stage = |name: &str| {
            let step = steps::all().find(|step| step.name == name).expect("a step");
            let mut stage = Stage::new(step, None, Vec::new());
            stage.constants = vec![2; stage.specs().len()];
            stage
        };
        let stages = names.map(stage).into();
        Composition { family: "lists", input: ArgumentKind::Numbers, stages, lifted: None }
    }

    fn cases(program: &Composition, random: &mut Random) -> Result<Cases, Discarded> {
        let pool = arguments::draw(program, &program.input.namings()[0], 26, random);
        choose(program, pool, random)
    }

    #[test]
    fn a_step_that_changes_nothing_makes_no_task() {
        let mut random = Random::new(Seed::new(1));
        let discarded = cases(&program(["ascending", "sum"]), &mut random).unwrap_err();
        assert_eq!(discarded, Discarded::Redundant);
        assert!(cases(&program(["ascending", "first"]), &mut random).is_ok());
    }

    #[test]
    fn every_program_with_a_step_left_out_fails_a_hidden_test() {
        let mut random = Random::new(Seed::new(2));
        let mut mutants = 0;
        for family in FAMILIES.iter().cycle().take(400) {
            let Some(program) = family::draw(family, &mut random) else { continue };
            let Ok(cases) = cases(&program, &mut random) else { continue };
            for mutant in program.cripples() {
                let is_wrong =
                    |case: &Case| mutant.run(&case.arguments) != Some(case.expected.clone());
                assert!(
                    cases.hidden.iter().any(is_wrong),
                    "{} as {}",
                    program.shape(),
                    mutant.shape()
                );
                mutants += 1;
            }
        }
        assert!(mutants > 500, "{mutants}");
    }
}
