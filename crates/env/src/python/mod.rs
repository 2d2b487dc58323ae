//! Python programs: extraction, static checks, and what a verdict is worth.

use std::collections::BTreeMap;

use whetstone_core::config::RewardConfig;
use whetstone_core::extract::{Form, Reply, extract};
use whetstone_core::judgement::Judgement;
use whetstone_core::program::Program;
use whetstone_core::reward::{Gate, Reward, Term};
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
    /// Rules with these weights.
    pub fn new(reward: RewardConfig) -> Self {
        Self { reward }
    }

    /// Reads a reply: finds the program and looks at it, without running anything.
    pub fn read(&self, task: &Task, text: &str, stack: &BigStack) -> Reading {
        let tests = u32::try_from(task.tests.hidden_count()).unwrap_or(u32::MAX);
        let form = Form::of(task.language);
        match extract(Reply::text(text), form).code {
            None => Reading::Settled(settled(Verdict::NoCode, tests)),
            Some(code) => self.read_program(task, code.program(form), stack),
        }
    }

    /// Looks at a program that is already out of its reply.
    pub fn read_program(&self, _task: &Task, program: Program, _stack: &BigStack) -> Reading {
        let may_vary = program.source.contains("import time");
        let quality = Quality { complexity: 1.0, readability: 1.0, documentation: 0.0 };
        Reading::Runs(Candidate { program, quality, may_vary })
    }

    /// What a judged reply is worth.
    pub fn reward(&self, reading: &Reading, judgement: &Judgement) -> Reward {
        let counts = judgement.counts();
        let function = f64::from(counts.passed) / f64::from(counts.total.max(1));
        self.of_terms(reading, Some(function))
    }

    /// What a reply is worth by its static terms alone, where nothing was run.
    pub fn static_reward(&self, reading: &Reading) -> Reward {
        self.of_terms(reading, None)
    }

    fn of_terms(&self, reading: &Reading, function: Option<f64>) -> Reward {
        let runs = matches!(reading, Reading::Runs(_));
        let syntax = if runs { 1.0 } else { 0.0 };
        let mut terms = BTreeMap::new();
        terms
            .insert("syntax".to_owned(), Term { value: syntax, weight: self.reward.syntax_weight });
        if let Some(value) = function {
            let weight = self.reward.function_weight;
            terms.insert("function".to_owned(), Term { value, weight });
        }
        let gates = BTreeMap::from([("code".to_owned(), Gate { passed: runs, cap: 0.0 })]);
        Reward::new(terms, gates).expect("finite weights")
    }
}

fn settled(verdict: Verdict, tests: u32) -> Judgement {
    Judgement::of_reply(verdict, tests).expect("a verdict without a run")
}
