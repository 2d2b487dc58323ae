//! Infeasible optimization models to repair, in episodes of at most ten steps, paid by what a solver finds.
//!
//! | file | holds |
//! |---|---|
//! | `problem.rs`, `wire_model.rs` | the body of a task |
//! | `render.rs`, `number.rs`, `rules.rs` | what the model is shown |
//! | `reply.rs`, `action.rs` | what it answers |
//! | `edit.rs`, `state.rs`, `elastic.rs` | what that does to the model, and what the solver finds |
//! | `limits.rs` | the bounds of a solve |
//! | `episode.rs`, `reward.rs` | the episode, and what it is worth |
//! | `expert.rs` | replies that undo the injections |
//! | `brought.rs` | problems of models that somebody brings |
//!
//! Not here: the solver (`whetstone-solver`), and how problems are generated (`data`).

mod action;
mod brought;
mod edit;
mod elastic;
mod episode;
mod expert;
mod limits;
mod number;
mod problem;
mod render;
mod reply;
mod reward;
mod rules;
mod state;
mod trivial;
mod wire_model;

#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod tests;

use whetstone_core::message::Message;
use whetstone_core::seed::Seed;
use whetstone_core::task::Task;
use whetstone_solver::Infeasibility;

pub use self::action::{Action, ActionError, Bound};
pub use self::brought::{Brought, Look, Unusable};
use self::episode::Repair;
pub use self::limits::limits;
pub use self::problem::{Problem, View};
pub use self::render::{condition, member, model as render_model};
pub use self::reward::SOLVED_FLOOR;
use self::reward::Target;
use self::state::State;
pub use self::wire_model::WireModel;
use crate::environment::{BuildError, EnvError, Environment, Episode, Setup};

/// Its name in tasks and settings.
pub const KIND: &str = "solver";
/// Steps of an episode at most (`max_steps_per_episode`), where `env.max_turns` does not say otherwise.
pub const MAX_STEPS: usize = 10;
/// The first line of every statement.
pub const INSTRUCTION: &str = "Debug the infeasible optimization model.";

/// Builds it.
pub fn build(setup: &Setup<'_>) -> Result<Box<dyn Environment>, BuildError> {
    let env = &setup.config.env;
    let max_steps = if env.max_turns > 0 { env.max_turns as usize } else { MAX_STEPS };
    Ok(Box::new(SolverEnvironment { rules: env.rules, max_steps }))
}

/// The environment of infeasible models.
pub struct SolverEnvironment {
    /// Whether a conversation begins with the rules.
    rules: bool,
    max_steps: usize,
}

/// What a model is asked at the beginning: the instruction, the model, its status and the IIS that was found.
pub fn statement(problem: &Problem, found: &Infeasibility) -> String {
    statement_of(problem, &State::infeasible(&problem.broken, found))
}

fn statement_of(problem: &Problem, state: &State) -> String {
    let model = render::model(&problem.broken, problem.view);
    format!("{INSTRUCTION}\nModel:\n{model}\n{}", state.told(problem.show_iis))
}

/// The size of the IIS that is shown, as tasks name their difficulty.
pub fn difficulty(iis: usize) -> &'static str {
    match iis {
        0..=2 => "iis 1-2",
        3..=5 => "iis 3-5",
        _ => "iis 6+",
    }
}

impl SolverEnvironment {
    fn begin(&self, task: &Task) -> Result<Repair, EnvError> {
        let problem = Problem::of(task)?;
        let state = State::of(&problem.broken)?;
        if state.iis.is_empty() {
            return Err(EnvError::Task(
                "the model is not infeasible: nothing is to be repaired".to_owned(),
            ));
        }
        let base = match &problem.base {
            Some(base) => {
                let Some(optimum) = State::of(base)?.optimum().cloned() else {
                    return Err(EnvError::Task("`base` has no optimum".to_owned()));
                };
                Some((base.clone(), optimum))
            }
            None => None,
        };
        let target = Target::new(&problem, base).map_err(|err| state::broken(&err))?;
        let statement = statement_of(&problem, &state);
        let mut episode = Repair::new(problem, target, state);
        episode.max_steps = self.max_steps;
        episode.messages.extend(self.rules.then(|| Message::system(rules::text(self.max_steps))));
        episode.messages.push(Message::user(statement));
        Ok(episode)
    }
}

impl Environment for SolverEnvironment {
    fn max_turns(&self, _: &Task) -> usize {
        self.max_steps
    }

    /// Reads the task without solving it: that its model is infeasible shows when an episode is opened.
    fn check(&self, task: &Task) -> Result<(), EnvError> {
        Problem::of(task).map(drop)
    }

    fn open(&self, task: &Task, _: Seed) -> Result<Box<dyn Episode>, EnvError> {
        Ok(Box::new(self.begin(task)?))
    }

    fn expert_reply(
        &self,
        task: &Task,
        _: Seed,
        messages: &[Message],
    ) -> Result<Option<String>, EnvError> {
        expert::reply(self, task, messages)
    }

    fn trivial_reply(&self, _: &Task, messages: &[Message]) -> Result<Option<String>, EnvError> {
        Ok(Some(trivial::reply(messages)))
    }
}
