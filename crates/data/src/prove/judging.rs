//! The first pass: every task is taken through its trials, on all cores.
//!
//! One thread reads lines and offers tasks; the others judge. A task's trials are judged one after
//! another, since most tasks are settled before the last one; several tasks are judged at once.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;

use whetstone_core::judgement::Infrastructure;
use whetstone_core::task::Task;
use whetstone_core::tests::Tests;
use whetstone_record::error::LedgerError;
use whetstone_sandbox::job::{Job, Unjudged};

use super::Proving;
use super::decide::{Answer, Next, next};
use super::error::ProveError;
use super::explain::{Question, explain};
use super::finding::{Dropped, Finding, Reason};
use super::ledger::Ledger;
use super::lines::{Held, Ids, Lines};
use super::trial::{Role, Trial, trials};

/// The stack of a thread: tests are parsed on it. Virtual memory, taken as it is touched.
const STACK: usize = 16 << 20;

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
    pub(super) ledger: Ledger,
    /// Programs that were judged.
    pub(super) programs: u64,
}

/// State shared by all threads.
struct Room<'a> {
    proving: &'a Proving<'a>,
    ledger: Mutex<Ledger>,
    table: Mutex<Vec<Entry>>,
    programs: AtomicU64,
    trouble: Mutex<Option<LedgerError>>,
    stopped: AtomicBool,
}

/// A task that is being proven.
struct Proof<'a> {
    /// Its line.
    at: usize,
    task: &'a Task,
    trials: &'a [Trial],
}

/// Why a task has no finding.
enum Unfinished {
    Machine(Infrastructure),
    Journal(LedgerError),
}

/// Judges every task that `ledger` does not know yet.
pub(super) fn judge_all(proving: &Proving<'_>, ledger: Ledger) -> Result<Judged, ProveError> {
    let room = Room {
        proving,
        ledger: Mutex::new(ledger),
        table: Mutex::default(),
        programs: AtomicU64::new(0),
        trouble: Mutex::default(),
        stopped: AtomicBool::new(false),
    };
    let workers = proving.workers.max(1);
    let (offer, tasks) = mpsc::sync_channel::<(usize, Box<Task>)>(workers);
    let tasks = Mutex::new(tasks);
    thread::scope(|scope| {
        for _ in 0..workers {
            let big = thread::Builder::new().stack_size(STACK);
            if let Err(err) = big.spawn_scoped(scope, || room.work(&tasks)) {
                room.stopped.store(true, Ordering::Relaxed);
                return Err(ProveError::Threads(err));
            }
        }
        // Taken along, so that the threads see its end.
        let offer = offer;
        room.feed(&offer)
    })?;
    match into_inner(room.trouble) {
        Some(err) => Err(err.into()),
        None => Ok(Judged {
            table: into_inner(room.table),
            ledger: into_inner(room.ledger),
            programs: room.programs.into_inner(),
        }),
    }
}

impl Room<'_> {
    /// Reads all lines, and offers those that are tasks.
    fn feed(&self, offer: &mpsc::SyncSender<(usize, Box<Task>)>) -> Result<(), ProveError> {
        let mut lines = Lines::of(self.proving.files);
        let (mut ids, mut count) = (Ids::default(), 0);
        while self.proving.limit.is_none_or(|limit| count < limit)
            && let Some(line) = lines.next()?
        {
            match line.hold(&mut ids) {
                Held::Blank => self.set(line.at, Entry::Blank),
                Held::Bad(dropped) => {
                    count += 1;
                    self.set(line.at, Entry::Bad(dropped));
                    (self.proving.on_task)();
                }
                Held::Task(task) => {
                    count += 1;
                    if self.stopped.load(Ordering::Relaxed) || offer.send((line.at, task)).is_err()
                    {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes tasks until there are none.
    fn work(&self, tasks: &Mutex<mpsc::Receiver<(usize, Box<Task>)>>) {
        loop {
            let taken = lock(tasks).recv();
            let Ok((at, task)) = taken else { return };
            if self.stopped.load(Ordering::Relaxed) {
                // The reader may be waiting for room: accept its lines and ignore them.
                continue;
            }
            // A bug of ours on one task must not take the others with it.
            let found = catch_unwind(AssertUnwindSafe(|| self.prove(at, &task)));
            let bug = || Infrastructure("a bug: looking at the task panicked".to_owned());
            match found.unwrap_or_else(|_| Err(Unfinished::Machine(bug()))) {
                Ok(finding) => self.set(at, Entry::Found(finding)),
                Err(Unfinished::Machine(problem)) => self.set(at, Entry::Failed(problem.0)),
                Err(Unfinished::Journal(err)) => {
                    *lock(&self.trouble) = Some(err);
                    self.stopped.store(true, Ordering::Relaxed);
                }
            }
            (self.proving.on_task)();
        }
    }

    fn prove(&self, at: usize, task: &Task) -> Result<Finding, Unfinished> {
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
            self.judged(at, trials.len() + question.number, 0, job)
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
        self.judged(at, number, run, job)
    }

    /// The answer to a program of a task: from an earlier run, or from the judge.
    fn judged(
        &self,
        at: usize,
        number: usize,
        run: usize,
        job: Job<'_>,
    ) -> Result<Answer, Unfinished> {
        if let Some(answer) = lock(&self.ledger).earlier(at, number) {
            return Ok(answer.clone());
        }
        let judges = self.proving.judges;
        self.programs.fetch_add(1, Ordering::Relaxed);
        let answer = match judges[run % judges.len()].judge(job) {
            Ok(judgement) => Answer::Judged(judgement),
            Err(Unjudged::BrokenTests(problem)) => Answer::Broken(problem),
            Err(Unjudged::Machine(problem)) => return Err(Unfinished::Machine(problem)),
        };
        lock(&self.ledger).keep(at, number, &answer).map_err(Unfinished::Journal)?;
        Ok(answer)
    }

    fn set(&self, at: usize, entry: Entry) {
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
