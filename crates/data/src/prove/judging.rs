//! The first pass: every task is taken through its trials, on all cores.
//!
//! One thread reads lines and offers tasks; the others judge. A task's trials are judged one after
//! another, since most tasks are settled before the last one; several tasks are judged at once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use whetstone_core::judgement::Infrastructure;
use whetstone_core::task::Task;
use whetstone_core::tests::Tests;
use whetstone_record::batch::{BatchError, Queue, catch_panic, run};
use whetstone_sandbox::job::{Job, Unjudged};

use super::Proving;
use super::answers::{Answers, TrialId};
use super::decide::{Answer, Next, next};
use super::explain::{Question, explain};
use super::finding::{Dropped, Finding, Reason};
use super::held::{Held, Ids};
use super::trial::{Role, Trial, trials};

/// The result of a line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Entry {
    /// Nothing: it was not reached.
    #[default]
    Open,
    Blank,
    /// It is not a valid task.
    Bad(Dropped),
    Found(Finding),
    /// The machine broke.
    Failed(String),
}

/// The results of the first pass.
pub(super) struct Judged {
    /// An entry for each line.
    pub(super) table: Vec<Entry>,
    pub(super) answers: Answers,
    /// Programs that were judged.
    pub(super) programs: u64,
}

/// State shared by all threads.
struct Prover<'a> {
    proving: &'a Proving<'a>,
    answers: Mutex<Answers>,
    table: Mutex<Vec<Entry>>,
    programs: AtomicU64,
}

/// A task to prove, and its line.
struct TaskLine {
    at: u64,
    task: Box<Task>,
}

/// A task that is being proven.
struct Proof<'a> {
    /// Its line.
    at: u64,
    task: &'a Task,
    trials: &'a [Trial],
}

/// Why a task has no finding.
enum Unfinished {
    Machine(Infrastructure),
    Journal(BatchError),
}

/// Judges every task that `answers` does not settle yet.
pub(super) fn judge_all(proving: &Proving<'_>, answers: Answers) -> Result<Judged, BatchError> {
    let prover = Prover {
        proving,
        answers: Mutex::new(answers),
        table: Mutex::default(),
        programs: AtomicU64::new(0),
    };
    run(proving.workers, |queue| prover.feed(queue), |line, _| prover.work(&line))?;
    Ok(Judged {
        table: into_inner(prover.table),
        answers: into_inner(prover.answers),
        programs: prover.programs.into_inner(),
    })
}

impl Prover<'_> {
    /// Reads all lines, and offers those that are tasks.
    fn feed(&self, queue: &Queue<TaskLine>) -> Result<(), BatchError> {
        let mut lines = self.proving.input().lines();
        let (mut ids, mut count) = (Ids::default(), 0);
        while self.proving.limit.is_none_or(|limit| count < limit)
            && let Some(line) = lines.next()?
        {
            match Held::of(&line, &mut ids) {
                Held::Blank => self.set(line.at, Entry::Blank),
                Held::Bad(dropped) => {
                    count += 1;
                    self.set(line.at, Entry::Bad(dropped));
                    (self.proving.on_task)();
                }
                Held::Task(task) => {
                    count += 1;
                    if !queue.offer(line.bytes.len(), TaskLine { at: line.at, task }) {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    fn work(&self, line: &TaskLine) -> Result<(), BatchError> {
        let &TaskLine { at, ref task } = line;
        // A bug of ours on one task must not take the others with it.
        let found = catch_panic("looking at the task", || self.prove(at, task));
        match found.unwrap_or_else(|bug| Err(Unfinished::Machine(bug))) {
            Ok(finding) => self.set(at, Entry::Found(finding)),
            Err(Unfinished::Machine(problem)) => self.set(at, Entry::Failed(problem.0)),
            Err(Unfinished::Journal(err)) => return Err(err),
        }
        (self.proving.on_task)();
        Ok(())
    }

    fn prove(&self, at: u64, task: &Task) -> Result<Finding, Unfinished> {
        let trials = match trials(task, self.proving.runs) {
            Ok(trials) => trials,
            Err(dropped) => return Ok(Finding::Dropped(dropped)),
        };
        let proof = Proof { at, task, trials: &trials };
        let mut answers = Vec::new();
        // If each test is a separate run, the limit applies to each.
        let runs = match task.tests {
            Tests::Stdio(_) => u32::try_from(task.tests.hidden_count()).unwrap_or(u32::MAX),
            _ => 1,
        };
        let slow = self.proving.slow.saturating_mul(runs);
        loop {
            match next(&trials, &answers, slow) {
                Next::Settled(finding) => {
                    return self.explained(&proof, finding, &answers);
                }
                Next::Judge(number) => {
                    answers.push(self.answer(&proof, number)?);
                }
            }
        }
    }

    /// Adds the actual answer of a failing reference to a finding. The request for it is journaled
    /// like a trial, with the number after the last.
    fn explained(
        &self,
        proof: &Proof<'_>,
        finding: Finding,
        answers: &[Answer],
    ) -> Result<Finding, Unfinished> {
        let Proof { at, task, trials } = *proof;
        let (Finding::Dropped(dropped), Some(answer)) = (&finding, answers.first()) else {
            return Ok(finding);
        };
        if dropped.reason != Reason::ReferenceFails {
            return Ok(finding);
        }
        let ask = |question: Question| {
            let job = Job {
                program: &trials[0].program,
                setup: &task.setup,
                tests: &question.tests,
                limits: self.proving.limits,
            };
            let asked = TrialId { line: at, trial: trials.len() + question.number };
            self.judged(asked, 0, job)
        };
        Ok(match explain(task, answer, ask)? {
            None => finding,
            Some(words) => {
                let detail = format!("{}; {words}", dropped.detail);
                Finding::Dropped(Dropped::new(dropped.reason, detail))
            }
        })
    }

    /// The answer to a trial: from an earlier run, or from the judge.
    fn answer(&self, proof: &Proof<'_>, number: usize) -> Result<Answer, Unfinished> {
        let Proof { at, task, trials } = *proof;
        let trial = &trials[number];
        let run = match trial.role {
            Role::Reference { run } => run as usize,
            Role::Expected | Role::Trivial(_) => 0,
        };
        let job = Job {
            program: &trial.program,
            setup: &task.setup,
            tests: &task.tests,
            limits: self.proving.limits,
        };
        self.judged(TrialId { line: at, trial: number }, run, job)
    }

    /// The answer to a program of a task: from an earlier run, or from the judge.
    fn judged(&self, asked: TrialId, run: usize, job: Job<'_>) -> Result<Answer, Unfinished> {
        if let Some(answer) = lock(&self.answers).earlier(asked) {
            return Ok(answer.clone());
        }
        let judges = self.proving.judges;
        self.programs.fetch_add(1, Ordering::Relaxed);
        let answer = match judges[run % judges.len()].judge(job) {
            Ok(judgement) => Answer::Judged(judgement),
            Err(Unjudged::BrokenTests(problem)) => Answer::Broken(problem),
            Err(Unjudged::Machine(problem)) => return Err(Unfinished::Machine(problem)),
        };
        lock(&self.answers).keep(asked, &answer).map_err(Unfinished::Journal)?;
        Ok(answer)
    }

    fn set(&self, at: u64, entry: Entry) {
        let at = usize::try_from(at).expect("a line that was read fits into memory");
        let mut table = lock(&self.table);
        if table.len() <= at {
            table.resize(at + 1, Entry::Open);
        }
        table[at] = entry;
    }
}

/// A thread that panicked with the lock left nothing half-done that matters.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn into_inner<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
}
