//! Python programs: extraction, static checks, and what a verdict is worth.

pub mod syntax;

use whetstone_core::config::RewardConfig;
use whetstone_core::extract::{Form, Reply, extract};
use whetstone_core::judgement::Judgement;
use whetstone_core::program::Program;
use whetstone_core::reward::Reward;
use whetstone_core::task::Task;
use whetstone_core::verdict::Verdict;

use crate::stack::BigStack;

/// What can be said of a reply without running anything.
#[derive(Debug, Clone, PartialEq)]
pub enum Reading {
    /// There is nothing to run: no code, or code that does not parse.
    Settled(Judgement),
    /// A program that compiles.
    Runs(Candidate),
}

/// A program that compiles, with what was seen on reading it.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The program.
    pub program: Program,
    /// How well it is written.
    pub quality: Quality,
    /// It may do something else the next time: it uses clocks, threads, or chance.
    pub may_vary: bool,
}

/// How well a program is written, each part in [0, 1].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quality {
    /// Low complexity.
    pub complexity: f64,
    /// Names, layout, size.
    pub readability: f64,
    /// Documentation that says something.
    pub documentation: f64,
}

/// The rules by which Python replies are read and paid.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// Weights.
    pub reward: RewardConfig,
}

impl Rules {
    /// Reads a reply: finds the program and looks at it, without running anything.
    pub fn read(&self, task: &Task, text: &str, _stack: &BigStack) -> Reading {
        let tests = u32::try_from(task.tests.hidden_count()).unwrap_or(u32::MAX);
        let found = extract(Reply::text(text), Form::ThinkPython);
        match found.code {
            None => Reading::Settled(settled(Verdict::NoCode, tests)),
            Some(code) => Reading::Runs(Candidate {
                program: code.program(Form::ThinkPython),
                quality: Quality { complexity: 1.0, readability: 1.0, documentation: 0.0 },
                may_vary: false,
            }),
        }
    }

    /// What a judged reply is worth.
    pub fn reward(&self, reading: &Reading, judgement: &Judgement) -> Reward {
        unimplemented!("{reading:?} {judgement:?}")
    }

    /// What a reply is worth by its static terms alone, where nothing was run.
    pub fn static_reward(&self, reading: &Reading) -> Reward {
        unimplemented!("{reading:?}")
    }
}

fn settled(verdict: Verdict, tests: u32) -> Judgement {
    unimplemented!("{verdict:?} {tests}")
}
