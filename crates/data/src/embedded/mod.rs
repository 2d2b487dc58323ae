//! Tasks that need no download: small Python functions, composed of typed steps.
//!
//! A task is a composition such as *keep the even numbers, square each, return the sum*. Each step
//! knows its Python, its words, its reasoning and its twin in Rust; the twin computes the values
//! of the tests, so nothing is run to generate. That twin and reference agree is proven by the
//! judge, in the tests of this crate.
//!
//! Compositions are divided between training and validation by their *shape*, the kinds of their
//! steps without constants: a model that has learnt the tasks of one part by heart has not seen
//! the compositions of the other.
//!
//! | file | holds |
//! |---|---|
//! | `kind.rs` | the definition of steps and elements |
//! | `steps/`, `elements/` | the steps, and the tests and changes inside them |
//! | `family.rs` | the order of steps |
//! | `program.rs` | a composition, run by the twin, and its mutants |
//! | `suite.rs` | the tests that catch the mutants |
//! | `draft.rs` | all of it as a task |
//! | `python.rs`, `english.rs`, `reasoning.rs` | the reference, the statement, the trace |

mod arguments;
mod draft;
mod elements;
mod english;
mod family;
mod input;
mod kind;
mod names;
mod normal;
mod program;
mod python;
mod reasoning;
mod steps;
mod suite;
mod value;

use std::collections::{BTreeMap, HashSet};

use whetstone_core::{Seed, Task};

use crate::part::Partition;
use crate::random::Random;
use draft::Draft;
use family::{FAMILIES, Family};
use names::TaskNames;
use normal::normalised;

pub use suite::Discarded;

/// The name of the source in tasks.
pub const SOURCE: &str = "embedded";

/// Arguments that are drawn for a composition, to choose tests among.
const POOL: usize = 26;
/// Compositions that are tried for one task before giving up: then all are taken.
const TRIES: u64 = 20_000;

/// A task, and the part of the split that its composition belongs to.
#[derive(Debug, Clone)]
pub struct Made {
    /// The part.
    pub part: Partition,
    /// The task. Its fields `family`, `shape` and `trace` pass through.
    pub task: Task,
}

/// Makes tasks without end: see [`generate`].
#[derive(Debug)]
pub struct Generator {
    seed: Seed,
    families: Vec<&'static Family>,
    next: u64,
    known: HashSet<String>,
    discarded: BTreeMap<Discarded, u64>,
}

/// The first `count` tasks of a seed, four fifths of them (rounded) for training.
///
/// There are fewer only if no more can be made, beyond tens of thousands.
pub fn generate(seed: Seed, count: usize) -> Vec<Made> {
    Generator::new(seed).take(count).collect()
}

impl Generator {
    /// Starts at the first task.
    pub fn new(seed: Seed) -> Self {
        Self::with(seed, FAMILIES.iter().collect())
    }

    /// Starts at the first task of some families. They are other tasks than those of [`Self::new`],
    /// with other ids.
    ///
    /// # Errors
    ///
    /// The first name that is not a family.
    pub fn of_families<'a>(seed: Seed, names: &[&'a str]) -> Result<Self, &'a str> {
        let of = |name: &&'a str| FAMILIES.iter().find(|family| family.name == *name).ok_or(*name);
        let mut families: Vec<&'static Family> = names.iter().map(of).collect::<Result<_, _>>()?;
        families.sort_by_key(|family| family.name);
        families.dedup_by_key(|family| family.name);
        let joined: Vec<&str> = families.iter().map(|family| family.name).collect();
        Ok(Self::with(seed.derive(&joined.join(" "), 0), families))
    }

    fn with(seed: Seed, families: Vec<&'static Family>) -> Self {
        Self { seed, families, next: 0, known: HashSet::new(), discarded: BTreeMap::new() }
    }

    /// Number of discarded compositions so far, by reason.
    pub fn discarded(&self) -> &BTreeMap<Discarded, u64> {
        &self.discarded
    }

    fn make(&mut self, part: Partition, random: &mut Random) -> Result<Task, Discarded> {
        let &family = random.pick(&self.families);
        let program = family::draw(family, random).ok_or(Discarded::Unfit)?;
        if part_of(&program.shape()) != part {
            return Err(Discarded::OtherPart);
        }
        let identity = program.identity();
        if self.known.contains(&identity) {
            return Err(Discarded::Known);
        }
        let names = TaskNames::draw(&program, random);
        let pool = arguments::draw(&program, &names.naming, POOL, random);
        let cases = suite::choose(&program, pool, random)?;
        let reference = python::reference(&program, &names, random);
        let normal = normalised(&reference.source);
        if !self.known.insert(normal) {
            return Err(Discarded::Known);
        }
        self.known.insert(identity);
        let draft = Draft { program: &program, names: &names, cases: &cases, reference };
        Ok(draft.finish(&self.id(), random))
    }

    fn id(&self) -> String {
        format!("{SOURCE}/{:x}-{}", self.seed.get(), self.next)
    }
}

impl Iterator for Generator {
    type Item = Made;

    fn next(&mut self) -> Option<Made> {
        // The third of every five: so each beginning of the stream is divided as exactly as can be.
        let part = if self.next % 5 == 2 { Partition::Validation } else { Partition::Train };
        let seed = self.seed.derive("embedded task", self.next);
        for attempt in 0..TRIES {
            let mut random = Random::new(seed.derive("attempt", attempt));
            match self.make(part, &mut random) {
                Ok(task) => {
                    self.next += 1;
                    return Some(Made { part, task });
                }
                Err(reason) => *self.discarded.entry(reason).or_default() += 1,
            }
        }
        None
    }
}

/// The names of all families, in their order.
pub fn families() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().map(|family| family.name)
}

/// The part that a shape belongs to, whatever the seed.
fn part_of(shape: &str) -> Partition {
    let hash = blake3::hash(shape.as_bytes());
    if hash.as_bytes()[0].is_multiple_of(5) { Partition::Validation } else { Partition::Train }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::LazyLock;

    use super::*;
    use kind::Element;

    /// The tasks of seed 42, made once.
    static MADE: LazyLock<Vec<Made>> = LazyLock::new(|| generate(Seed::new(42), 5000));

    /// Steps, tests and changes that a shape is made of.
    fn kinds(shape: &str) -> BTreeSet<String> {
        shape
            .split([' ', '>', '[', ']', ','])
            .filter(|kind| !kind.is_empty())
            .map(str::to_owned)
            .collect()
    }

    fn shape(made: &Made) -> String {
        serde_json::from_str(made.task.rest.get("shape").unwrap()).unwrap()
    }

    #[test]
    fn every_kind_of_step_is_trained_on_and_no_shape_is_in_both_parts() {
        let all = &*MADE;
        let of = |part| -> BTreeSet<String> {
            all.iter().filter(|made| made.part == part).map(shape).collect()
        };
        let (train, validation) = (of(Partition::Train), of(Partition::Validation));
        assert!(train.is_disjoint(&validation));
        assert!(
            train.len() > 2500 && validation.len() > 600,
            "{} {}",
            train.len(),
            validation.len()
        );
        let trained: BTreeSet<String> = train.iter().flat_map(|shape| kinds(shape)).collect();
        let elements = [Element::Number, Element::Word, Element::Character].into_iter();
        let names = steps::all()
            .map(|step| step.name)
            .chain(elements.clone().flat_map(elements::tests).map(|test| test.name))
            .chain(elements.flat_map(elements::changes).map(|change| change.name));
        let missing: Vec<_> = names.filter(|name| !trained.contains(*name)).collect();
        assert_eq!(missing, Vec::<&str>::new());
    }

    #[test]
    fn no_two_references_differ_in_names_alone() {
        let all = &*MADE;
        let sources = all.iter().filter_map(|made| made.task.reference.as_deref());
        let normal: HashSet<String> = sources.map(normalised).collect();
        let statements: HashSet<&str> =
            all.iter().map(|made| made.task.statement.as_str()).collect();
        assert_eq!((normal.len(), statements.len()), (5000, 5000));
    }

    #[test]
    fn each_family_finds_steps_for_each_of_its_chains() {
        for family in FAMILIES {
            for chain in family.chains {
                let mut types = vec![family.input.to_type()];
                for group in chain.split(' ') {
                    types = types
                        .iter()
                        .flat_map(|&at| steps::of(group, at))
                        .map(|step| step.to)
                        .collect();
                }
                assert!(!types.is_empty(), "{}: {chain}", family.name);
            }
        }
    }

    #[test]
    fn some_families_make_tasks_of_their_own() {
        let make = |names: &[&str]| -> Vec<Made> {
            Generator::of_families(Seed::new(42), names).unwrap().take(50).collect()
        };
        let family = |made: &Made| -> String {
            serde_json::from_str(made.task.rest.get("family").unwrap()).unwrap()
        };
        let made = make(&["slices", "two-way"]);
        let found: BTreeSet<String> = made.iter().map(family).collect();
        assert_eq!(found, ["slices", "two-way"].map(str::to_owned).into());
        let ids = |made: &[Made]| -> Vec<String> {
            made.iter().map(|made| made.task.id.to_string()).collect()
        };
        assert_eq!(ids(&make(&["two-way", "slices", "slices"])), ids(&made), "a set, not a list");
        let all: BTreeSet<String> = ids(&MADE[..50]).into_iter().collect();
        assert!(ids(&made).iter().all(|id| !all.contains(id)));
        assert_eq!(Generator::of_families(Seed::new(42), &["slices", "no"]).unwrap_err(), "no");
        assert_eq!(families().count(), FAMILIES.len());
    }

    #[test]
    fn names_of_steps_are_unique() {
        let mut seen = HashSet::new();
        for step in steps::all() {
            assert!(seen.insert(step.name), "{}", step.name);
            assert!(!step.does.is_empty() || !step.gives.is_empty(), "{} has no words", step.name);
            assert!(!step.why.is_empty(), "{} has no reasoning", step.name);
        }
    }
}
