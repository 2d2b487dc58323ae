//! Replies to tasks that ask for a program: read, looked up, judged and paid.

use std::borrow::Cow;
use std::sync::OnceLock;

use whetstone_core::config::Sanitize;
use whetstone_core::extract::Reply;
use whetstone_core::judgement::Judgement;
use whetstone_core::outcome::Outcome;
use whetstone_env::python::{
    Candidate, EntryPoint, PythonEnvironment, Reading, Rules, find_program, tests_may_vary,
};
use whetstone_env::stack::BigStack;
use whetstone_sandbox::job::{Job, Limits, Unjudged};

use super::in_flight::{InFlight, Turn};
use super::{Scored, ScorerParts};
use crate::cache::{Cache, Identity, Known, ProgramKeys, TaskKeys};
use crate::tasks::Tasks;

/// Scores replies with programs.
pub(super) struct Programs<'a> {
    tasks: &'a Tasks,
    pub(super) rules: Cow<'a, Rules>,
    /// None if nothing is run.
    pub(super) environment: Option<&'a PythonEnvironment>,
    cached: Option<Cached<'a>>,
}

/// Verdicts that are known, and those that will be in a moment.
struct Cached<'a> {
    cache: &'a Cache,
    /// One for each task.
    keys: Vec<TaskKeys>,
    /// Which tasks have code of their own that may do something else the next time; found out when it
    /// is first needed.
    tests_vary: Vec<OnceLock<bool>>,
    in_flight: InFlight,
}

/// A program to look up, and what it may use.
struct Lookup {
    keys: ProgramKeys,
    limits: Limits,
}

impl<'a> Programs<'a> {
    pub(super) fn new(parts: &ScorerParts<'a>) -> Self {
        let environment = parts.environments.programs();
        let by_settings = || Cow::Owned(Rules::new(parts.config.reward.clone()));
        let rules = environment.map_or_else(by_settings, |found| Cow::Borrowed(&found.rules));
        // Verdicts are kept by the whole program, and so are no others.
        let is_whole = rules.sanitize == Sanitize::Off;
        let cache = parts.cache.filter(|_| is_whole);
        let cached = environment.zip(cache).map(|(programs, cache)| {
            let identity = Identity::of(programs);
            let tasks = parts.tasks.all();
            Cached {
                cache,
                keys: tasks
                    .iter()
                    .map(|task| TaskKeys::new(&identity, task, programs.limits))
                    .collect(),
                tests_vary: tasks.iter().map(|_| OnceLock::new()).collect(),
                // The others go on with other programs.
                in_flight: InFlight::new(parts.workers.saturating_sub((parts.workers / 4).max(1))),
            }
        });
        Self { tasks: parts.tasks, rules, environment, cached }
    }

    pub(super) fn score(
        &self,
        number: u32,
        reply: Reply<'_>,
        stack: &BigStack,
    ) -> Result<Scored, Unjudged> {
        let task = self.tasks.get(number);
        let Some(programs) = self.environment.filter(|_| !task.tests.is_absent()) else {
            let outcome = self.static_outcome(&self.rules.read(task, reply, stack));
            return Ok(Scored { outcome, cached: false });
        };
        let (setup, tests, limits) = (task.setup.as_str(), &task.tests, programs.limits);
        let judge = |candidate: &Candidate| {
            programs.judge.judge(Job { program: &candidate.program, setup, tests, limits })
        };
        let Some(cached) = &self.cached else {
            return self.fresh(&self.rules.read(task, reply, stack), judge);
        };
        let Some(program) = find_program(task, reply) else {
            return self.fresh(&self.rules.read_program(task, None, stack), judge);
        };
        let keys = cached.keys[number as usize].program(&program.source);
        let lookup = Lookup { keys, limits };
        // A program that is known is not even parsed.
        if let Some(known) = cached.find(&lookup) {
            return self.known(
                &Reading::Runs(known.candidate(program, self.rules.constant_baseline(task))),
                known,
            );
        }
        let reading = self.rules.read_program(task, Some(program), stack);
        let vary = || tests_may_vary(task, self.rules.python, stack);
        let reading = cached.with_tests(reading, number, vary);
        self.look_up(cached, &lookup, &reading, judge)
    }

    /// Waits for a neighbour's verdict, or judges.
    fn look_up(
        &self,
        cached: &Cached<'_>,
        lookup: &Lookup,
        reading: &Reading,
        judge: impl FnOnce(&Candidate) -> Result<Judgement, Unjudged>,
    ) -> Result<Scored, Unjudged> {
        // What may vary has no neighbours: each is run for itself.
        let turn = match reading {
            Reading::Runs(candidate) if !candidate.may_vary => {
                cached.in_flight.enter(lookup.keys.verdict)
            }
            _ => Turn::Alone,
        };
        // A neighbour may have put its verdict there since we looked.
        if !matches!(turn, Turn::Alone)
            && let Some(known) = cached.find(lookup)
        {
            return self.known(reading, known);
        }
        self.fresh(reading, |candidate| cached.judge(candidate, lookup, judge))
    }

    fn fresh(
        &self,
        reading: &Reading,
        judge: impl FnOnce(&Candidate) -> Result<Judgement, Unjudged>,
    ) -> Result<Scored, Unjudged> {
        Ok(Scored { outcome: self.rules.outcome(reading, judge)?, cached: false })
    }

    fn known(&self, reading: &Reading, known: Known) -> Result<Scored, Unjudged> {
        let outcome = self.rules.outcome(reading, |_| Ok::<_, Unjudged>(known.judgement))?;
        Ok(Scored { outcome, cached: true })
    }

    /// What a reply is worth by its static terms. That there is no program, or none that compiles, is
    /// known without running it.
    fn static_outcome(&self, reading: &Reading) -> Outcome {
        let reward = self.rules.static_reward(reading);
        match reading {
            Reading::Settled { judgement, .. } => Outcome::of_program(judgement.clone(), reward),
            Reading::Runs(_) => Outcome::not_run(reward),
        }
    }
}

impl Cached<'_> {
    /// The reading of a program; it may vary if the code of its task does.
    fn with_tests(&self, mut reading: Reading, task: u32, vary: impl FnOnce() -> bool) -> Reading {
        if let Reading::Runs(candidate) = &mut reading {
            candidate.may_vary |= *self.tests_vary[task as usize].get_or_init(vary);
        }
        reading
    }

    /// The verdict of a program, if it is known; counted as a hit.
    fn find(&self, lookup: &Lookup) -> Option<Known> {
        let known = self.cache.find(&lookup.keys, lookup.limits)?;
        self.cache.hit();
        Some(known)
    }

    /// Judges a program and keeps its verdict, if it may be kept.
    fn judge(
        &self,
        candidate: &Candidate,
        lookup: &Lookup,
        judge: impl FnOnce(&Candidate) -> Result<Judgement, Unjudged>,
    ) -> Result<Judgement, Unjudged> {
        let judged = judge(candidate);
        self.cache.miss();
        let judgement = judged?;
        let known = Known {
            judgement: judgement.clone(),
            quality: candidate.quality,
            defines_entry_point: candidate.entry_point == EntryPoint::Defined,
            limit_us: None,
        };
        self.cache.keep(&lookup.keys, known, candidate.may_vary, lookup.limits);
        Ok(judgement)
    }
}
