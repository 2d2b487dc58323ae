//! Infeasible models that need no download: a base model, injections that break it, and the actions that undo them.
//!
//! ```text
//! family ─► base model around a hidden plan ─► injections ─► certified infeasible ─► names ─► task
//! ```
//!
//! An instance is accepted only if the solver certifies it: the base model has an optimum with a checked witness, each
//! injection alone makes it infeasible, and the broken model has an IIS with a checked certificate. With several
//! injections the conflicts share no row, so that undoing one leaves the others.
//!
//! | file | holds |
//! |---|---|
//! | `families.rs`, `draft.rs` | base models |
//! | `inject.rs`, `injection_kind.rs` | injections |
//! | `conflicts.rs` | the search for injections that make a model infeasible |
//! | `names.rs` | names of rows and variables |
//! | `options.rs` | how difficult problems are, and how they look |
//! | `models.rs` | models of files, as tasks |

mod conflicts;
mod draft;
mod families;
mod inject;
mod injection_kind;
pub(crate) mod models;
mod names;
mod options;

#[cfg(test)]
mod policy_tests;
#[cfg(test)]
mod tests;

use whetstone_core::program::Language;
use whetstone_core::task::Task;
use whetstone_core::tests::Tests;
use whetstone_core::wire::Object;
use whetstone_core::{Seed, TaskId};
pub use whetstone_env::solver::View;
use whetstone_env::solver::{self, Problem};
use whetstone_solver::{Infeasibility, Model, Verdict, solve};

use self::conflicts::Conflicts;
use self::draft::{real, unique};
use self::families::{FAMILIES, Family};
pub use self::injection_kind::InjectionKind;
pub use self::models::{
    LeftOutKind, MAX_STATEMENT_BYTES, ModelFile, ModelOptions, ModelOutcome, ModelPath, model_files,
};
pub use self::names::Names;
use self::names::Renaming;
pub use self::options::{SolverOptions, checked_range};
use crate::part::Partition;
use crate::random::Random;

/// Draws of one instance before the next seed is taken.
const TRIES: usize = 400;
/// Draws after which one conflict fewer is enough.
const FEWER: usize = 15;

/// A generated problem.
#[derive(Debug, Clone)]
pub struct SolverTask {
    /// The half of the data that its family belongs to.
    pub part: Partition,
    /// The task.
    pub task: Task,
    /// The problem in its body.
    pub problem: Problem,
}

/// Generates problems.
pub struct SolverTasks<'a> {
    options: &'a SolverOptions,
    seed: Seed,
}

/// The names of the families, those for validation last.
pub fn families() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().map(|family| family.name)
}

/// Problems could not be generated.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    /// No draw of an instance was accepted.
    #[error("no {family} model could be made infeasible with these options in {tries} draws")]
    Rare {
        /// The family.
        family: &'static str,
        /// The draws.
        tries: u64,
    },
    /// No family is left.
    #[error("none of the families is for this half of the data")]
    NoFamily,
}

impl<'a> SolverTasks<'a> {
    /// Problems of a seed.
    pub fn new(options: &'a SolverOptions, seed: Seed) -> Self {
        Self { options, seed }
    }

    /// The problem with this number of a half. Each has a seed of its own, so they can be made in any order.
    pub fn make(&self, part: Partition, number: u64) -> Result<SolverTask, GenerateError> {
        let families: Vec<&Family> = FAMILIES
            .iter()
            .filter(|family| family.part == part && self.options.has_family(family.name))
            .collect();
        if families.is_empty() {
            return Err(GenerateError::NoFamily);
        }
        let seed = self.seed.derive("solver-task", number);
        let mut random = Random::new(seed);
        let family = families[random.below(families.len())];
        let conflicts = self.options.draw_conflicts(&mut random);
        for tried in 0..TRIES {
            // Dense models have little room for several conflicts: after some draws, one fewer is enough.
            let fewer =
                conflicts.saturating_sub(tried / FEWER).max(*self.options.conflicts.start());
            if let Some((problem, found)) = self.draw(family, fewer, &mut random) {
                let task = as_task(&problem, &found, number);
                return Ok(SolverTask { part, task, problem });
            }
        }
        Err(GenerateError::Rare { family: family.name, tries: TRIES as u64 })
    }

    /// One draw: a problem with the IIS that it shows; none if it cannot be certified or does not fit the options.
    fn draw(
        &self,
        family: &Family,
        conflicts: usize,
        random: &mut Random,
    ) -> Option<(Problem, Infeasibility)> {
        let size = self.options.draw_size(conflicts, random);
        let mut draft = (family.draw)(random, size);
        draft.shuffle(random);
        give_unique_names(&mut draft.model);
        let plan = draft.plan.iter().map(|&value| real(value)).collect();
        let base = draft.model;
        let Verdict::Optimal(best) = verdict(&base)? else { return None };
        let mut search = Conflicts::new(&base, self.options, vec![plan, best.values]);
        for _ in 0..conflicts {
            search.add(random)?;
        }
        let (mut broken, mut undo) = search.finish();
        // The same call as the environment's: the statement shows the IIS that an episode begins with.
        let Verdict::Infeasible(found) = verdict(&broken)? else { return None };
        if !self.options.takes_iis(found.members.len()) {
            return None;
        }
        let mut base = base;
        let renaming = Renaming::of(&broken, self.options.names);
        renaming.model(&mut broken);
        renaming.model(&mut base);
        for action in &mut undo {
            renaming.action(action);
        }
        let family = family.name.to_owned();
        let (view, show_iis) = (self.options.draw_view(random), self.options.show_iis);
        Some((Problem { family, view, show_iis, broken, base: Some(base), undo }, found))
    }
}

fn give_unique_names(model: &mut Model) {
    for (at, row) in model.rows.iter_mut().enumerate() {
        row.name = unique(&row.name, at);
    }
    for (at, variable) in model.variables.iter_mut().enumerate() {
        variable.name = unique(&variable.name, at);
    }
}

/// The verdict on a model; none if the solver has no certified one.
fn verdict(model: &Model) -> Option<Verdict> {
    solve(model, &solver::limits(model)).ok()
}

/// A generated problem as a task.
fn as_task(problem: &Problem, found: &Infeasibility, number: u64) -> Task {
    let id = format!("solver/{}/{number}", problem.family);
    let id = TaskId::try_from(id).expect("a family and a number are a name");
    let statement = solver::statement(problem, found);
    let shown = Shown { statement, iis: found.members.len() };
    task_of(id, format!("solver/{}", problem.family), problem, shown)
}

/// What an episode begins with.
struct Shown {
    statement: String,
    /// Members of the IIS.
    iis: usize,
}

fn task_of(id: TaskId, source: String, problem: &Problem, shown: Shown) -> Task {
    Task {
        id,
        source: Some(source),
        difficulty: Some(solver::difficulty(shown.iis).to_owned()),
        statement: shown.statement,
        language: Language::default(),
        reference: None,
        setup: String::new(),
        tests: Tests::Absent,
        body: Some(problem.body()),
        rest: Object::new(),
    }
}
