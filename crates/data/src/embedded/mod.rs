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
//! | `kind.rs` | what a step and an element is made of |
//! | `steps/`, `elements/` | the steps, and the tests and changes inside them |
//! | `family.rs` | which steps follow one another |
//! | `program.rs` | a composition, run by the twin, and its mutants |
//! | `suite.rs` | the tests that catch the mutants |
//! | `draft.rs` | all of it as a task |
//! | `python.rs`, `english.rs`, `reasoning.rs` | the reference, the statement, the trace |

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
mod random;
mod reasoning;
mod steps;
mod suite;
mod value;

use std::collections::{BTreeMap, HashSet};

use whetstone_core::{Seed, Task};

use crate::part::Part;
use draft::Draft;
use family::FAMILIES;
use names::Names;
use normal::normalised;
use random::Random;

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
    pub part: Part,
    /// The task. Its fields `family`, `shape` and `trace` pass through.
    pub task: Task,
}

/// Makes tasks without end: see [`generate`].
#[derive(Debug)]
pub struct Generator {
    seed: Seed,
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
        Self { seed, next: 0, known: HashSet::new(), discarded: BTreeMap::new() }
    }

    /// How many compositions were discarded so far, by reason.
    pub fn discarded(&self) -> &BTreeMap<Discarded, u64> {
        &self.discarded
    }

    fn make(&mut self, part: Part, random: &mut Random) -> Result<Task, Discarded> {
        let program = family::draw(random.pick(FAMILIES), random).ok_or(Discarded::Unfit)?;
        if part_of(&program.shape()) != part {
            return Err(Discarded::OtherPart);
        }
        let identity = program.identity();
        if self.known.contains(&identity) {
            return Err(Discarded::Known);
        }
        let names = Names::draw(&program, random);
        let pool = input::draw(&program, &names.naming, POOL, random);
        let cases = suite::choose(&program, pool, random)?;
        let reference = python::reference(&program, &names, random);
        let normal = normalised(&reference);
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
        let part = if self.next % 5 == 2 { Part::Validation } else { Part::Train };
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

/// The part that a shape belongs to, whatever the seed.
fn part_of(shape: &str) -> Part {
    let hash = blake3::hash(shape.as_bytes());
    if hash.as_bytes()[0] % 5 == 0 { Part::Validation } else { Part::Train }
}
