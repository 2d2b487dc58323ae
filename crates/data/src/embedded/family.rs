//! Families of tasks: groups of steps in order, and the arguments they apply to.
// size: one table.

use super::elements;
use super::input::{self, ArgumentKind};
use super::kind::{Constant, Step};
use super::program::{Composition, Stage};
use super::steps;
use crate::random::Random;

/// A family.
#[derive(Debug)]
pub(super) struct Family {
    pub(super) name: &'static str,
    pub(super) input: ArgumentKind,
    /// Groups of steps, separated by spaces.
    pub(super) chains: &'static [&'static str],
}

const fn family(
    name: &'static str,
    input: ArgumentKind,
    chains: &'static [&'static str],
) -> Family {
    Family { name, input, chains }
}

pub(super) static FAMILIES: &[Family] = &[
    family(
        "arithmetic",
        ArgumentKind::Positive,
        &["number", "number number", "number number number"],
    ),
    family(
        "conditions",
        ArgumentKind::Whole,
        &["condition", "number condition", "condition number", "condition condition"],
    ),
    family(
        "repetition",
        ArgumentKind::Positive,
        &["loop", "loop number", "number loop", "loop condition"],
    ),
    family(
        "recurrences",
        ArgumentKind::Rounds,
        &["recurrence", "recurrence number", "recurrence condition"],
    ),
    family(
        "answers",
        ArgumentKind::Positive,
        &["number answer", "condition answer", "loop answer", "number number answer"],
    ),
    family(
        "digits",
        ArgumentKind::Large,
        &[
            "digits keep fold",
            "digits change fold",
            "digits keep change fold",
            "digits tally",
            "digits search",
            "digits order",
            "digits running fold",
            "digits choose fold",
        ],
    ),
    family(
        "divisors",
        ArgumentKind::Positive,
        &[
            "divisors keep fold",
            "divisors keep",
            "divisors change fold",
            "divisors change",
            "divisors tally",
        ],
    ),
    family(
        "counting-up",
        ArgumentKind::Few,
        &[
            "range keep fold",
            "range choose fold",
            "range keep change",
            "range change keep fold",
            "range choose",
            "range label",
        ],
    ),
    family(
        "halving",
        ArgumentKind::Positive,
        &["halves keep fold", "halves change fold", "halves tally", "halves keep", "halves change"],
    ),
    family(
        "two-numbers",
        ArgumentKind::TwoNumbers,
        &["two-numbers", "two-numbers number", "two-numbers condition", "two-numbers answer"],
    ),
    family(
        "spans",
        ArgumentKind::TwoNumbers,
        &[
            "two-to-list keep fold",
            "two-to-list change fold",
            "two-to-list tally",
            "two-to-list keep",
            "two-to-list choose",
        ],
    ),
    family(
        "filter-map-reduce",
        ArgumentKind::Numbers,
        &[
            "keep change fold",
            "change keep fold",
            "keep fold",
            "change fold",
            "keep change fold number",
            "keep fold number",
        ],
    ),
    family(
        "list-building",
        ArgumentKind::Numbers,
        &[
            "keep change",
            "change keep",
            "keep order",
            "change order",
            "keep change order",
            "keep change cut",
            "change cut",
        ],
    ),
    family(
        "two-way",
        ArgumentKind::Numbers,
        &["choose", "choose fold", "keep choose", "choose order", "choose keep", "cut choose fold"],
    ),
    family(
        "slices",
        ArgumentKind::Numbers,
        &[
            "cut change",
            "cut fold",
            "order cut fold",
            "order cut",
            "cut keep fold",
            "cut change fold",
        ],
    ),
    family(
        "uniqueness",
        ArgumentKind::Numbers,
        &[
            "unique fold",
            "unique keep",
            "unique change fold",
            "unique order",
            "change unique",
            "keep unique fold",
        ],
    ),
    family(
        "neighbours",
        ArgumentKind::Numbers,
        &[
            "running",
            "running keep",
            "running fold",
            "keep running",
            "running change",
            "running keep fold",
        ],
    ),
    family(
        "positions",
        ArgumentKind::Numbers,
        &["position", "position fold", "keep position", "position keep fold", "position order"],
    ),
    family(
        "stopping",
        ArgumentKind::Numbers,
        &["stop fold", "stop change", "stop", "change stop fold", "stop order"],
    ),
    family(
        "searching",
        ArgumentKind::Numbers,
        &["search", "change search", "order search", "search number", "keep search", "cut search"],
    ),
    family(
        "list-verdicts",
        ArgumentKind::Numbers,
        &["keep verdict", "change verdict", "verdict", "cut verdict", "running verdict"],
    ),
    family(
        "labels",
        ArgumentKind::Numbers,
        &["label", "keep label", "label join", "label counts best-key", "change label"],
    ),
    family(
        "algorithms",
        ArgumentKind::Numbers,
        &[
            "algorithm",
            "keep algorithm",
            "change algorithm",
            "algorithm number",
            "running algorithm",
            "cut algorithm",
        ],
    ),
    family(
        "two-lists",
        ArgumentKind::TwoLists,
        &["zip fold", "zip keep fold", "zip keep", "zip change", "zip choose", "zip tally"],
    ),
    family(
        "set-like",
        ArgumentKind::TwoLists,
        &["sets order", "sets fold", "sets keep fold", "sets unique", "sets change", "sets tally"],
    ),
    family("characters", ArgumentKind::Text, &["text", "text text", "text text text"]),
    family(
        "text-measures",
        ArgumentKind::Text,
        &["measure", "text measure", "measure number", "text measure condition"],
    ),
    family(
        "text-verdicts",
        ArgumentKind::Text,
        &["text-verdict", "text text-verdict", "text text text-verdict"],
    ),
    family(
        "sentences",
        ArgumentKind::Text,
        &[
            "split keep-words join",
            "split change-words join",
            "split order-words join",
            "split keep-words change-words join",
            "split change-words join text",
        ],
    ),
    family(
        "word-choice",
        ArgumentKind::Text,
        &[
            "split keep-words best-word",
            "split best-word text",
            "split fold-words",
            "split change-words fold-words",
            "split best-word measure",
        ],
    ),
    family(
        "word-lists",
        ArgumentKind::Words,
        &[
            "keep-words change-words",
            "keep-words order-words",
            "change-words order-words",
            "order-words order-words",
            "keep-words change-words order-words",
        ],
    ),
    family(
        "word-lengths",
        ArgumentKind::Words,
        &[
            "lengths fold",
            "lengths keep fold",
            "keep-words lengths fold",
            "lengths tally",
            "lengths search",
            "keep-words lengths",
        ],
    ),
    family(
        "word-summaries",
        ArgumentKind::Words,
        &[
            "keep-words fold-words",
            "change-words fold-words",
            "keep-words best-word",
            "keep-words join",
            "change-words join",
            "best-word measure",
        ],
    ),
    family(
        "counting",
        ArgumentKind::Words,
        &[
            "counting",
            "counts table",
            "counts keys",
            "counts best-key",
            "counting keys",
            "counting best-key",
            "keep-words counts",
            "change-words counting",
            "counting table keys",
        ],
    ),
    family(
        "letter-counts",
        ArgumentKind::Text,
        &[
            "counting-letters table",
            "counting-letters keys",
            "counting-letters best-key",
            "text counting-letters keys",
            "text counting-letters fold-table",
        ],
    ),
    family(
        "dictionaries",
        ArgumentKind::Table,
        &[
            "table",
            "table table",
            "table keys",
            "table best-key",
            "table fold-table",
            "table table fold-table",
        ],
    ),
    family(
        "values",
        ArgumentKind::Table,
        &[
            "values keep fold",
            "values change fold",
            "values tally",
            "table values order",
            "values choose fold",
            "values algorithm",
        ],
    ),
    family(
        "merging",
        ArgumentKind::TwoTables,
        &["merge", "merge table", "merge keys", "merge fold-table", "merge best-key"],
    ),
];

/// Draws a composition of a family; `None` if the steps drawn do not fit together.
pub(super) fn draw(family: &Family, random: &mut Random) -> Option<Composition> {
    let mut stages: Vec<Stage> = Vec::new();
    let mut at = family.input.to_type();
    for group in random.phrase(family.chains).split(' ') {
        let candidates = steps::of(group, at);
        let step = *random.pick(candidates.get(..).filter(|steps| !steps.is_empty())?);
        if stages.iter().any(|stage| stage.step.name == step.name && step.changes.is_none()) {
            return None;
        }
        if step.signed && family.input != ArgumentKind::Numbers {
            return None;
        }
        at = step.to;
        stages.push(stage(step, random)?);
    }
    let lifted = lifted(&stages, random);
    Some(Composition { family: family.name, input: family.input, stages, lifted })
}

/// A step with elements and constants.
fn stage(step: &'static Step, random: &mut Random) -> Option<Stage> {
    let test = step.test.map(|of| *random.pick(&elements::tests(of).collect::<Vec<_>>()));
    let mut changes = Vec::new();
    if let Some((of, count)) = step.changes {
        let all: Vec<_> = elements::changes(of).collect();
        changes.extend((0..count).map(|_| *random.pick(&all)));
    }
    // Both branches of a choice doing the same kind of thing reads badly.
    if changes.len() == 2 && changes[0].name == changes[1].name {
        return None;
    }
    let mut stage = Stage::new(step, test, changes);
    stage.constants = stage.specs().into_iter().map(|spec| input::constant(spec, random)).collect();
    Some(stage)
}

/// Makes one constant an argument, sometimes.
fn lifted(stages: &[Stage], random: &mut Random) -> Option<(usize, usize)> {
    let places: Vec<(usize, usize)> = stages
        .iter()
        .enumerate()
        .flat_map(|(at, stage)| {
            let specs = stage.specs().into_iter().enumerate();
            let fit = specs.filter(|(_, spec)| match spec {
                Constant::Number(low, _) => *low > 0,
                Constant::Letter => true,
            });
            fit.map(move |(place, _)| (at, place)).collect::<Vec<_>>()
        })
        .collect();
    (!places.is_empty() && random.chance(15)).then(|| *random.pick(&places))
}
