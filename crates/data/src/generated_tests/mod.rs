//! Further tests of a task, from what programs answer to inputs like the known ones.
//!
//! ```text
//! known calls ─► inputs like them ─► every program, twice ─► enough of them answer alike ─► assert f(input) == answer
//! ```
//!
//! The programs are the task's reference, or what a teacher wrote. One counts if it passes the tests that are known, those of
//! the task and the examples in its statement, and uses no clock or thread. Each is asked twice, with other seeds of hashes and
//! of chance; an answer that changes, an exception, and a value without a literal are no answer. A task without a reference
//! gets a program that gives all agreed answers. A generated test says what these programs do, which need not be what the
//! statement means: tasks with such tests say so (`generated`), and `whet data validate` proves them like others.
//!
//! For Python functions that asserts call with plain data. Not here: conditions on the input that only the statement says,
//! whole programs, classes, floats that are compared with a tolerance.

mod examples;
mod mutate;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use serde::Serialize;
use whetstone_core::Seed;
use whetstone_core::config::RewardConfig;
use whetstone_core::judgement::Infrastructure;
use whetstone_core::program::{Language, Program};
use whetstone_core::task::Task;
use whetstone_core::tests::{Suite, Tests};
use whetstone_core::verdict::Verdict;
use whetstone_env::python::{Reading, Rules};
use whetstone_env::stack::on_big_stack;
use whetstone_sandbox::job::{Job, Judging, Limits, Unjudged};
use whetstone_sandbox::plan::{LiteralCall, literal_call};
use whetstone_sandbox::value::{Value, show};

use self::examples::examples;
use self::mutate::mutated;
use crate::random::Random;

/// The field of a task that says that it has generated tests.
pub const GENERATED: &str = "generated";
/// Inputs that are tried for each test that is wanted.
const TRIES: usize = 4;
/// Characters of an input or an answer, at most.
const MAX_CHARS: usize = 200;
/// What no program answers.
const SENTINEL: &str = "'whet: what no program answers'";

/// Tests to generate.
pub struct TestGeneration<'a> {
    /// The programs of a task.
    pub programs: &'a (dyn Fn(&Task) -> Vec<String> + Sync),
    /// Where they come from, for the tasks' field.
    pub from: &'a str,
    /// Programs that pass the known tests, at least.
    pub min_programs: usize,
    /// The share of them that must answer alike.
    pub share: f64,
    /// New tests of a task, at most.
    pub per_task: usize,
    /// Two judges that differ in their hash seeds.
    pub judges: [&'a dyn Judging; 2],
    /// The resource limits of a program.
    pub limits: Limits,
    /// The seed of the inputs.
    pub seed: Seed,
    /// Threads that wait for the judges.
    pub workers: usize,
    /// Called after each task.
    pub on_task: &'a (dyn Fn() + Sync),
}

/// What became of the tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct GeneratedSummary {
    /// The version of the document.
    pub v: u64,
    /// Tasks that were read.
    pub tasks: u64,
    /// Tasks with new tests.
    pub tasks_with_tests: u64,
    /// New tests.
    pub tests: u64,
    /// Inputs to which programs gave no answer, or not the same.
    pub inputs_without_answer: u64,
    /// Why the other tasks have none, and how many.
    pub left: BTreeMap<&'static str, u64>,
}

/// Why a task has no new tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    /// It is no Python function that asserts call.
    OtherKind,
    /// No known call has plain data.
    NoCalls,
    /// Too few programs pass the known tests.
    FewPrograms,
    /// No input had an answer.
    NoAnswers,
}

impl Left {
    fn name(self) -> &'static str {
        match self {
            Self::OtherKind => "other_kind",
            Self::NoCalls => "no_calls",
            Self::FewPrograms => "few_programs",
            Self::NoAnswers => "no_answers",
        }
    }
}

/// New tests of a task.
struct TaskTests {
    asserts: Result<Vec<String>, Left>,
    /// A program that passes all of them.
    solution: Option<String>,
    /// Examples of the statement that are no tests of the task.
    examples: Vec<String>,
    without_answer: u64,
}

/// Adds generated tests to tasks, which stay in their order.
///
/// # Errors
///
/// If the machine fails: then no task is changed.
pub fn generate_tests(
    tasks: &mut [Task],
    generation: &TestGeneration<'_>,
) -> Result<GeneratedSummary, Infrastructure> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(BTreeMap::new());
    let all: &[Task] = tasks;
    let work = || -> Result<(), Infrastructure> {
        while let Some(task) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            let tests = generation
                .of_task(task)
                .inspect_err(|_| next.store(all.len(), Ordering::Relaxed))?;
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            found.insert(task.id.clone(), tests);
            (generation.on_task)();
        }
        Ok(())
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..generation.workers.max(1)).map(|_| scope.spawn(work)).collect();
        let panicked = || Infrastructure("a thread that asks the judge panicked".to_owned());
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| panicked())?)
    })?;
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut summary =
        GeneratedSummary { v: 1, tasks: tasks.len() as u64, ..GeneratedSummary::default() };
    for task in tasks {
        if let Some(tests) = found.remove(&task.id) {
            add(task, tests, generation.from, &mut summary);
        }
    }
    Ok(summary)
}

/// Adds the tests of a task to it.
fn add(task: &mut Task, tests: TaskTests, from: &str, summary: &mut GeneratedSummary) {
    #[derive(Serialize)]
    struct Generated<'a> {
        tests: usize,
        from: &'a str,
    }
    summary.inputs_without_answer += tests.without_answer;
    let asserts = match tests.asserts {
        Ok(asserts) => asserts,
        Err(left) => return *summary.left.entry(left.name()).or_default() += 1,
    };
    let (visible, mut hidden) = match &task.tests {
        Tests::Asserts(suite) => {
            (suite.visible.as_slice().to_vec(), suite.hidden.for_the_judge().to_vec())
        }
        _ => (Vec::new(), tests.examples),
    };
    let count = asserts.len();
    hidden.extend(asserts);
    let Ok(suite) = Suite::new(visible, hidden) else { return };
    task.tests = Tests::Asserts(suite);
    task.reference = task.reference.take().or(tests.solution);
    task.rest.put(GENERATED, &Generated { tests: count, from });
    summary.tasks_with_tests += 1;
    summary.tests += count as u64;
}

impl TestGeneration<'_> {
    fn of_task(&self, task: &Task) -> Result<TaskTests, Infrastructure> {
        let mut found = TaskTests {
            asserts: Err(Left::OtherKind),
            solution: None,
            examples: Vec::new(),
            without_answer: 0,
        };
        let given = match &task.tests {
            Tests::Asserts(suite) if suite.checker.is_none() => {
                let hidden = suite.hidden.for_the_judge();
                suite.visible.as_slice().iter().chain(hidden).cloned().collect()
            }
            Tests::Absent if task.body.is_none() => Vec::new(),
            _ => return Ok(found),
        };
        if task.language != Language::Python {
            return Ok(found);
        }
        found.examples = examples(&task.statement);
        let known: Vec<String> = [given, found.examples.clone()].concat();
        let calls: Vec<LiteralCall> = known.iter().filter_map(|test| literal_call(test)).collect();
        if calls.is_empty() {
            found.asserts = Err(Left::NoCalls);
            return Ok(found);
        }
        let programs = self.passing(task, known)?;
        if programs.len() < self.min_programs.max(1) {
            found.asserts = Err(Left::FewPrograms);
            return Ok(found);
        }
        let answers = self.answers(task, &calls, &programs)?;
        found.without_answer = answers.without;
        if answers.asserts.is_empty() {
            found.asserts = Err(Left::NoAnswers);
            return Ok(found);
        }
        let agreeing = programs.iter().zip(&answers.agreeing).find(|(_, agrees)| **agrees);
        found.solution = agreeing.map(|(program, _)| program.source.clone());
        found.asserts = Ok(answers.asserts);
        Ok(found)
    }

    /// The programs that pass the known tests, each once.
    fn passing(&self, task: &Task, known: Vec<String>) -> Result<Vec<Program>, Infrastructure> {
        let Ok(suite) = Suite::new(Vec::new(), known) else { return Ok(Vec::new()) };
        let tests = Tests::Asserts(suite);
        let mut sources = (self.programs)(task);
        sources.sort();
        sources.dedup();
        let mut passing = Vec::new();
        for source in sources {
            let program = Program { language: Language::Python, source, truncated: false };
            if may_vary(task, &program)? {
                continue;
            }
            let job =
                Job { program: &program, setup: &task.setup, tests: &tests, limits: self.limits };
            match self.judges[0].judge(job) {
                Ok(judgement) if judgement.verdict().is_pass() => passing.push(program),
                Ok(_) | Err(Unjudged::BrokenTests(_)) => {}
                Err(Unjudged::Machine(problem)) => return Err(problem),
            }
        }
        Ok(passing)
    }

    /// Asserts of new inputs to which the programs answer alike.
    fn answers(
        &self,
        task: &Task,
        calls: &[LiteralCall],
        programs: &[Program],
    ) -> Result<Answers, Infrastructure> {
        let mut random = Random::new(self.seed.derive("generated_tests", place(task)));
        let mut tried: Vec<String> =
            calls.iter().map(|call| call_text(&call.name, &call.args)).collect();
        let mut found =
            Answers { asserts: Vec::new(), agreeing: vec![true; programs.len()], without: 0 };
        for _ in 0..self.per_task * TRIES {
            if found.asserts.len() == self.per_task {
                break;
            }
            let Some(args) = mutated(calls, &mut random) else { continue };
            let call = call_text(&calls[0].name, &args);
            if tried.contains(&call) || call.chars().count() > MAX_CHARS {
                continue;
            }
            tried.push(call.clone());
            match self.agreed(task, &call, programs)? {
                Some(agreement) => {
                    found.asserts.push(format!("assert {call} == {}", agreement.answer));
                    for (so_far, agrees) in found.agreeing.iter_mut().zip(agreement.by) {
                        *so_far &= agrees;
                    }
                }
                None => found.without += 1,
            }
        }
        Ok(found)
    }

    /// The answer that enough of the programs give to a call.
    fn agreed(
        &self,
        task: &Task,
        call: &str,
        programs: &[Program],
    ) -> Result<Option<Agreement>, Infrastructure> {
        let mut answers = Vec::new();
        for program in programs {
            let reseeded = reseeded(program);
            let asked = Asked { task, call, program };
            let first = self.answer(asked, self.judges[0])?;
            let asked = Asked { program: &reseeded, ..asked };
            let again = if first.is_some() { self.answer(asked, self.judges[1])? } else { None };
            answers.push(first.filter(|first| again.as_ref() == Some(first)));
        }
        Ok(winner(&answers, self.share))
    }

    /// What a program answers, as Python writes it; none if it raises, runs out of time, or has no literal.
    fn answer(
        &self,
        Asked { task, call, program }: Asked<'_>,
        judge: &dyn Judging,
    ) -> Result<Option<String>, Infrastructure> {
        let Ok(suite) = Suite::new(Vec::new(), vec![format!("assert {call} == {SENTINEL}")]) else {
            return Ok(None);
        };
        let tests = Tests::Asserts(suite);
        let job = Job { program, setup: &task.setup, tests: &tests, limits: self.limits };
        let judgement = match judge.judge(job) {
            Ok(judgement) => judgement,
            Err(Unjudged::BrokenTests(_)) => return Ok(None),
            Err(Unjudged::Machine(problem)) => return Err(problem),
        };
        let is_answer = matches!(judgement.verdict(), Verdict::Wrong { .. });
        let answer = judgement.got().filter(|_| is_answer).map(str::to_owned);
        // What is cut, and what is no literal, such as `nan`, cannot be compared with.
        Ok(answer.filter(|answer| literal_call(&format!("assert {call} == {answer}")).is_some()))
    }
}

/// The program with another seed of chance, which is fixed in the sandbox: two runs would not show it.
fn reseeded(program: &Program) -> Program {
    let source = format!("{}\n__import__('random').seed(90210)\n", program.source);
    Program { source, ..program.clone() }
}

/// Whether a program may answer otherwise the next time, or does not parse.
fn may_vary(task: &Task, program: &Program) -> Result<bool, Infrastructure> {
    let rules = Rules::new(RewardConfig::default());
    let read = on_big_stack(|stack| rules.read_program(task, Some(program.clone()), stack));
    let reading = read.map_err(|err| Infrastructure(format!("cannot start a thread: {err}")))?;
    Ok(!matches!(reading, Reading::Runs(candidate) if !candidate.may_vary))
}

/// A call that a program is asked.
#[derive(Clone, Copy)]
struct Asked<'a> {
    task: &'a Task,
    call: &'a str,
    program: &'a Program,
}

/// An answer, and which of the programs give it.
struct Agreement {
    answer: String,
    by: Vec<bool>,
}

/// New tests, which of the programs pass all of them, and how many inputs had no answer.
struct Answers {
    asserts: Vec<String>,
    agreeing: Vec<bool>,
    without: u64,
}

/// The most frequent answer, if at least `share` of all programs give it.
#[expect(clippy::cast_precision_loss, reason = "a few programs")]
fn winner(answers: &[Option<String>], share: f64) -> Option<Agreement> {
    let mut votes: BTreeMap<&String, usize> = BTreeMap::new();
    for answer in answers.iter().flatten() {
        *votes.entry(answer).or_default() += 1;
    }
    let (answer, count) = votes.into_iter().max_by_key(|(_, count)| *count)?;
    let by = answers.iter().map(|one| one.as_ref() == Some(answer)).collect();
    let is_enough = count as f64 >= share * answers.len() as f64;
    is_enough.then(|| Agreement { answer: answer.clone(), by })
}

/// A number that follows from a task's id.
fn place(task: &Task) -> u64 {
    let mut first = [0; 8];
    first.copy_from_slice(&blake3::hash(task.id.as_str().as_bytes()).as_bytes()[..8]);
    u64::from_le_bytes(first)
}

/// A call as Python writes it.
fn call_text(name: &str, args: &[Value]) -> String {
    let args: Vec<String> = args.iter().map(|value| show(value, MAX_CHARS)).collect();
    format!("{name}({})", args.join(", "))
}

#[cfg(test)]
mod tests;
