//! All steps, one file for each group of them.

mod algorithms;
mod answers;
mod folds;
mod lists;
mod numbers;
mod pairs;
mod running;
mod tables;
mod texts;
mod words;

use super::kind::Step;
use super::value::Type;

/// Every step.
pub(super) fn all() -> impl Iterator<Item = &'static Step> {
    let groups: [&'static [Step]; 10] = [
        lists::STEPS,
        running::STEPS,
        folds::STEPS,
        algorithms::STEPS,
        numbers::STEPS,
        answers::STEPS,
        texts::STEPS,
        words::STEPS,
        tables::STEPS,
        pairs::STEPS,
    ];
    groups.into_iter().flatten()
}

/// The steps of a group that take a type.
pub(super) fn of(group: &str, from: Type) -> Vec<&'static Step> {
    all().filter(|step| step.group == group && step.from == from).collect()
}
