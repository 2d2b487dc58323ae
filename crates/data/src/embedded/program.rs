//! A composition: typed steps one after another, with their constants, and its mutants.

use super::input::ArgumentKind;
use super::kind::{Change, Constant, Inner, Step, Test, letter};
use super::value::Value;

/// One step with everything that it holds.
#[derive(Clone)]
pub(super) struct Stage {
    pub(super) step: &'static Step,
    pub(super) test: Option<&'static Test>,
    pub(super) changes: Vec<&'static Change>,
    /// Constants of the step, of its test and of its changes, in this order.
    pub(super) constants: Vec<i64>,
    /// In a mutant: the forced result of the test.
    forced: Option<bool>,
}

/// A composition.
#[derive(Clone)]
pub(super) struct Composition {
    pub(super) family: &'static str,
    pub(super) input: ArgumentKind,
    pub(super) stages: Vec<Stage>,
    /// The constant that is an argument instead: its stage and its index there.
    pub(super) lifted: Option<(usize, usize)>,
}

/// The arguments of a program.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Arguments {
    pub(super) data: Value,
    /// The value of the lifted constant.
    pub(super) lifted: Option<i64>,
}

/// The owner of constants: the step, its test, its first or its second change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConstantOwner {
    Step,
    Test,
    Change(usize),
}

impl Stage {
    pub(super) fn new(
        step: &'static Step,
        test: Option<&'static Test>,
        changes: Vec<&'static Change>,
    ) -> Self {
        Self { step, test, changes, constants: Vec::new(), forced: None }
    }

    /// The ranges of its constants, in order.
    pub(super) fn specs(&self) -> Vec<Constant> {
        let test = self.test.map_or(&[][..], |test| test.constants);
        let changes = self.changes.iter().flat_map(|change| change.constants);
        self.step.constants.iter().chain(test).chain(changes).copied().collect()
    }

    /// The part of `constants` that belongs to one of its owners.
    pub(super) fn part<'a, T>(&self, owner: ConstantOwner, constants: &'a [T]) -> &'a [T] {
        let test = self.test.map_or(0, |test| test.constants.len());
        let mut start = 0;
        let mut lengths =
            vec![(ConstantOwner::Step, self.step.constants.len()), (ConstantOwner::Test, test)];
        let changes = self.changes.iter().enumerate();
        lengths.extend(
            changes.map(|(at, change)| (ConstantOwner::Change(at), change.constants.len())),
        );
        for (candidate, length) in lengths {
            if candidate == owner {
                return constants.get(start..start + length).unwrap_or(&[]);
            }
            start += length;
        }
        &[]
    }

    fn run(&self, value: &Value, constants: &[i64]) -> Option<Value> {
        let changes = self.changes.iter().enumerate();
        let inner = Inner {
            constants: self.part(ConstantOwner::Step, constants),
            test: self.test.map(|test| (test, self.part(ConstantOwner::Test, constants))),
            forced: self.forced,
            changes: changes
                .map(|(at, &change)| (change, self.part(ConstantOwner::Change(at), constants)))
                .collect(),
        };
        (self.step.run)(value, &inner)
    }

    /// The kind of step, without its constants.
    fn kind(&self) -> String {
        let parts: Vec<&str> = self
            .test
            .iter()
            .map(|test| test.name)
            .chain(self.changes.iter().map(|change| change.name))
            .collect();
        if parts.is_empty() {
            self.step.name.to_owned()
        } else {
            format!("{}[{}]", self.step.name, parts.join(","))
        }
    }
}

impl Composition {
    /// The value for these arguments; `None` where the composition is not defined or overflows.
    pub(super) fn run(&self, arguments: &Arguments) -> Option<Value> {
        let mut value = None;
        for (at, stage) in self.stages.iter().enumerate() {
            let input = value.as_ref().unwrap_or(&arguments.data);
            let next = match (self.lifted, arguments.lifted) {
                (Some((which, place)), Some(lifted)) if which == at => {
                    let mut constants = stage.constants.clone();
                    *constants.get_mut(place)? = lifted;
                    stage.run(input, &constants)
                }
                _ => stage.run(input, &stage.constants),
            };
            value = Some(next?);
        }
        value.filter(Value::is_readable)
    }

    /// The values that the function is called with, one by one.
    pub(super) fn values(&self, arguments: &Arguments) -> Vec<Value> {
        let mut values = match &arguments.data {
            Value::Two(a, b) => vec![(**a).clone(), (**b).clone()],
            one => vec![one.clone()],
        };
        if let (Some((at, place)), Some(lifted)) = (self.lifted, arguments.lifted) {
            values.push(match self.stages[at].specs()[place] {
                Constant::Number(..) => Value::Int(lifted),
                Constant::Letter => Value::Text(letter(lifted).to_string()),
            });
        }
        values
    }

    /// The kinds of its steps in their order: what train and validation do not share.
    pub(super) fn shape(&self) -> String {
        let kinds: Vec<String> = self.stages.iter().map(Stage::kind).collect();
        kinds.join(" > ")
    }

    /// Steps, elements, constants and the lifted one: what two tasks may not share.
    pub(super) fn identity(&self) -> String {
        let constants: Vec<_> = self.stages.iter().map(|stage| &stage.constants).collect();
        format!("{} {constants:?} {:?}", self.shape(), self.lifted)
    }

    /// `1` to `4`, by the number and the kind of its steps: two plain steps are the easiest.
    pub(super) fn difficulty(&self) -> usize {
        let weight: usize = self.stages.iter().map(|stage| stage.step.weight).sum();
        weight.saturating_sub(1).clamp(1, 4)
    }

    /// Programs with one step left out, or with a test that always says the same.
    pub(super) fn cripples(&self) -> Vec<Self> {
        let mut mutants = Vec::new();
        for (at, stage) in self.stages.iter().enumerate() {
            if stage.step.from == stage.step.to {
                mutants.push(self.without(at));
            }
            if stage.test.is_some() {
                for said in [true, false] {
                    let mut mutant = self.clone();
                    mutant.stages[at].forced = Some(said);
                    mutants.push(mutant);
                }
            }
        }
        mutants
    }

    /// Programs that are slightly off: a constant by one, or two steps in the wrong order.
    pub(super) fn slips(&self) -> Vec<Self> {
        let mut mutants = Vec::new();
        for (at, stage) in self.stages.iter().enumerate() {
            for place in 0..stage.constants.len() {
                if self.lifted == Some((at, place)) {
                    continue;
                }
                for off in [-1, 1] {
                    let mut mutant = self.clone();
                    mutant.stages[at].constants[place] += off;
                    // A divisor of 0 is not a plausible mistake.
                    if mutant.stages[at].constants[place] > 0 {
                        mutants.push(mutant);
                    }
                }
            }
            let next = self.stages.get(at + 1);
            let keeps = |stage: &Stage| stage.step.from == stage.step.to;
            if keeps(stage) && next.is_some_and(keeps) && self.lifted.is_none() {
                let mut mutant = self.clone();
                mutant.stages.swap(at, at + 1);
                mutants.push(mutant);
            }
        }
        mutants
    }

    fn without(&self, at: usize) -> Self {
        let mut mutant = self.clone();
        mutant.stages.remove(at);
        mutant.lifted = match self.lifted {
            Some((which, _)) if which == at => None,
            Some((which, place)) if which > at => Some((which - 1, place)),
            other => other,
        };
        mutant
    }
}
