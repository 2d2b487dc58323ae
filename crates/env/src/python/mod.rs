//! Python programs: extraction, static checks, and what a verdict is worth.
//!
//! [`Rules::read`] finds the program in a reply and looks at it; the judge runs it;
//! [`Rules::reward`] pays. `whet score` does the three for whole files, [`PythonEnvironment`] for
//! one episode.
//!
//! JavaScript tasks come through here too: their programs are parsed by [`crate::javascript`], and
//! their quality is not measured and so earns nothing.

mod constant_baseline;
mod determinism;
mod entry_point;
mod environment;
mod metrics;
pub mod quality;
mod reward;
mod roots;
mod sanitize;
pub mod syntax;

pub use determinism::{may_vary, tests_may_vary};
pub use entry_point::EntryPoint;
pub use environment::{PythonEnvironment, build, limits};
pub(crate) use metrics::metrics;
pub use ruff_python_ast::PythonVersion;

use whetstone_core::config::{RewardConfig, Sanitize};
use whetstone_core::extract::{Form, Reply, extract};
use whetstone_core::judgement::Judgement;
use whetstone_core::outcome::Outcome;
use whetstone_core::program::{Language, Program};
use whetstone_core::task::Task;
use whetstone_core::verdict::Verdict;

use crate::javascript;
use crate::stack::BigStack;

/// What can be said of a reply without running anything.
#[derive(Debug, Clone, PartialEq)]
pub enum Reading {
    /// There is nothing to run: no code, or code that does not parse.
    Settled {
        /// What it is judged as.
        judgement: Judgement,
        /// The language that was asked for.
        language: Language,
    },
    /// A program that compiles.
    Runs(Candidate),
}

impl Reading {
    /// A reply to a task with nothing to run.
    fn settled(verdict: Verdict, task: &Task) -> Self {
        Self::Settled { judgement: settled(verdict, task), language: task.language }
    }
}

/// A program that compiles, with what was seen on reading it.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The program to run.
    pub program: Program,
    /// How well it is written.
    pub quality: Quality,
    /// It may do something else the next time: it uses clocks, threads, or chance.
    pub may_vary: bool,
    /// Whether it defines what the tests call: the gate `entry_point`.
    pub entry_point: EntryPoint,
    /// The share of its task's tests that a constant passes, where the share is paid.
    pub constant_baseline: f64,
}

/// How well a program is written, each part in [0, 1].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quality {
    /// Low complexity.
    pub complexity: f64,
    /// Names, layout, hygiene.
    pub readability: f64,
    /// Documentation that says something.
    pub documentation: f64,
}

/// Of a program whose quality nobody measures.
const UNMEASURED: Quality = Quality { complexity: 0.0, readability: 0.0, documentation: 0.0 };

/// The rules by which Python replies are read and paid.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// Weights.
    pub reward: RewardConfig,
    /// The version of the interpreter that runs the programs.
    pub python: PythonVersion,
    /// What is judged of a Python program: all of it, wherever rewards are paid.
    pub sanitize: Sanitize,
}

impl Rules {
    /// Rules for the newest Python that the parser knows; see [`Rules::for_python`].
    pub fn new(reward: RewardConfig) -> Self {
        Self { reward, python: PythonVersion::latest(), sanitize: Sanitize::Off }
    }

    /// The same rules for programs that Python 3.`minor` runs.
    #[must_use]
    pub fn for_python(self, minor: u8) -> Self {
        Self { python: PythonVersion { major: 3, minor }, ..self }
    }

    /// Reads a reply: finds the program and looks at it, without running anything.
    pub fn read(&self, task: &Task, reply: Reply<'_>, stack: &BigStack) -> Reading {
        let of_entry_point = match (self.sanitize, task.language) {
            (Sanitize::EntryPoint, Language::Python) => {
                sanitize::find(task, reply, self.python, stack)
            }
            _ => None,
        };
        let program = of_entry_point.or_else(|| find_program(task, reply));
        self.read_program(task, program, stack)
    }

    /// Looks at what [`find_program`] found.
    pub fn read_program(&self, task: &Task, program: Option<Program>, stack: &BigStack) -> Reading {
        let Some(mut program) = program else {
            return Reading::settled(Verdict::NoCode, task);
        };
        if program.source.starts_with('\u{feff}') {
            program.source.remove(0);
        }
        let read = match program.language {
            Language::Python => self.read_python(task, program, stack),
            Language::Javascript => {
                read_javascript(task, program, self.constant_baseline(task), stack)
            }
        };
        read.map_or_else(|| Reading::settled(Verdict::SyntaxError, task), Reading::Runs)
    }

    /// The outcome of a reply that was read: a program is given to `judge`, and a reply with nothing to
    /// run is settled without it. Every path that runs programs ends here.
    ///
    /// # Errors
    ///
    /// Those of `judge`.
    pub fn outcome<E>(
        &self,
        reading: &Reading,
        judge: impl FnOnce(&Candidate) -> Result<Judgement, E>,
    ) -> Result<Outcome, E> {
        let judgement = match reading {
            Reading::Settled { judgement, .. } => judgement.clone(),
            Reading::Runs(candidate) => judge(candidate)?,
        };
        let reward = self.reward(reading, &judgement);
        Ok(Outcome::of_program(judgement, reward))
    }

    /// The share of a task's tests that a constant passes; 0 where no share is paid.
    pub fn constant_baseline(&self, task: &Task) -> f64 {
        if self.reward.needs_all_tests() { 0.0 } else { constant_baseline::share(task) }
    }

    fn read_python(
        &self,
        task: &Task,
        mut program: Program,
        stack: &BigStack,
    ) -> Option<Candidate> {
        if self.sanitize == Sanitize::EntryPoint
            && let Some(needed) = sanitize::needed(&program.source, task, self.python, stack)
        {
            program.source = needed;
        }
        let module = syntax::check(&program.source, self.python, stack).ok()?;
        let quality = quality::report(&module, &roots::of(&task.tests), stack).quality();
        let may_vary = may_vary(&module, stack);
        let entry_point = entry_point::of(&module, task, stack);
        let constant_baseline = self.constant_baseline(task);
        Some(Candidate { program, quality, may_vary, entry_point, constant_baseline })
    }
}

/// Nothing is known of what a JavaScript program uses, so it may always vary.
fn read_javascript(
    task: &Task,
    program: Program,
    constant_baseline: f64,
    stack: &BigStack,
) -> Option<Candidate> {
    javascript::check(&program.source, stack).ok()?;
    let entry_point = if javascript::may_define_entry_point(&program.source, &task.tests) {
        EntryPoint::Defined
    } else {
        EntryPoint::Absent
    };
    let (quality, may_vary) = (UNMEASURED, true);
    Some(Candidate { program, quality, may_vary, entry_point, constant_baseline })
}

/// The program in a reply to `task`, if there is one.
pub fn find_program(task: &Task, reply: Reply<'_>) -> Option<Program> {
    let form = Form::of(task.language);
    extract(reply, form).code.map(|code| code.program(form))
}

/// The judgement of a reply with nothing to run.
fn settled(verdict: Verdict, task: &Task) -> Judgement {
    let tests = u32::try_from(task.tests.hidden_count()).unwrap_or(u32::MAX);
    Judgement::of_reply(verdict, tests).expect("what did not run passed no test")
}
