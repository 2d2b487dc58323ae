//! The threads of a run: some ask and wait, some read and judge.
//!
//! ```text
//! plan ─► ask ─► journal ─► code ─► queue ─► syntax ─► judge ─► journal
//!         as many as may be in flight        a few for each core
//! ```
//!
//! The queue is short: when programs come faster than they are judged, nobody asks for more. Only
//! programs wait in it; answers are in the journal.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};
use std::time::Instant;

use whetstone_core::extract::Reply;
use whetstone_core::judgement::Infrastructure;
use whetstone_core::program::Program;
use whetstone_core::task::Task;
use whetstone_core::trace::Trace;
use whetstone_core::wire::Wire;
use whetstone_env::python::find_program;
use whetstone_env::stack::{self, BigStack};
use whetstone_record::batch::catch_panic;
use whetstone_record::error::{JournalError, LedgerError};

use super::ledger::Ledger;
use super::plan::{Ask, Plan, seed};
use super::records::{Answered, Entry, entries};
use super::report::Report;
use super::table::SampleId;
use super::teacher::{Answer, Failure, Question, Refusal};
use super::{Asked, TeachError, Teaching};

/// Enough to talk to a server; a thousand of these are still small.
const ASKER_STACK_BYTES: usize = 1 << 20;
/// Programs that wait for each thread that judges.
const QUEUED_PER_JUDGE: usize = 4;

/// State that all threads share.
pub(super) struct TraceCollector<'a> {
    pub(super) teaching: &'a Teaching<'a>,
    pub(super) asked: &'a Asked<'a>,
    state: Mutex<State>,
}

/// State behind the lock.
pub(super) struct State {
    pub(super) ledger: Ledger,
    pub(super) report: Report,
    plan: Plan,
    end: Option<End>,
}

/// Why nobody asks on.
#[derive(Debug)]
pub(super) enum End {
    /// The teacher says so.
    Stopped { message: String, hint: String },
    /// Answers cannot be kept any more.
    Trouble(TeachError),
}

/// A program to judge, or the lack of one.
pub(super) struct Candidate {
    pub(super) place: SampleId,
    pub(super) program: Result<Option<Program>, Infrastructure>,
}

/// The result when all threads are done.
pub(super) struct Left {
    pub(super) ledger: Ledger,
    pub(super) report: Report,
    pub(super) end: Option<End>,
    /// Seconds during which questions were asked.
    pub(super) asking_seconds: f64,
}

impl<'a> TraceCollector<'a> {
    pub(super) fn new(
        teaching: &'a Teaching<'a>,
        asked: &'a Asked<'a>,
        ledger: Ledger,
        report: Report,
    ) -> Self {
        let plan = Plan::new(asked.extent);
        let state = Mutex::new(State { ledger, report, plan, end: None });
        Self { teaching, asked, state }
    }

    /// Asks and judges until nothing is left to do, or an end is made of it.
    pub(super) fn work(self) -> Result<Left, TeachError> {
        let begun = Instant::now();
        let asking_seconds = thread::scope(|scope| self.start(scope, begun))?;
        let State { ledger, report, end, .. } =
            self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(Left { ledger, report, end, asking_seconds })
    }

    fn start<'s>(&'s self, scope: &'s Scope<'s, '_>, begun: Instant) -> Result<f64, TeachError> {
        let judges = self.teaching.judges.max(1);
        let (queue, candidates) = sync_channel(judges * QUEUED_PER_JUDGE);
        // Owned by the judges alone: if they are all gone, whoever offers a program learns it.
        let candidates = Arc::new(Mutex::new(candidates));
        for _ in 0..judges {
            let candidates = Arc::clone(&candidates);
            let started = stack::spawn(scope, move |stack| self.judge_all(&candidates, stack));
            started.map_err(|err| self.give_up(TeachError::Threads(err)))?;
        }
        drop(candidates);
        let open = self.asked.extent.open(&self.state().ledger.table);
        let askers = usize::try_from(open).unwrap_or(usize::MAX).min(self.teaching.in_flight);
        let mut asking = Vec::new();
        // Read now: what is added to the journal from here on is judged by whoever adds it.
        let records = self.state().ledger.records();
        for _ in 0..askers {
            let queue = queue.clone();
            let asker = thread::Builder::new().stack_size(ASKER_STACK_BYTES);
            let started = asker.spawn_scoped(scope, move || self.ask_all(&queue));
            asking.push(started.map_err(|err| self.give_up(TeachError::Threads(err)))?);
        }
        if let Err(err) = self.judge_stored(records, &queue) {
            return Err(self.give_up(err));
        }
        drop(queue);
        for asker in asking {
            // A panic of a thread is raised again at the end of the scope.
            drop(asker.join());
        }
        Ok(begun.elapsed().as_secs_f64())
    }

    /// Asks until there is nothing left to ask.
    fn ask_all(&self, queue: &SyncSender<Candidate>) {
        while let Some(mut ask) = self.next_ask() {
            while !ask.samples.is_empty() && self.ask(&mut ask, queue) {}
        }
    }

    fn next_ask(&self) -> Option<Ask> {
        let mut state = self.state();
        let State { ledger, plan, end, .. } = &mut *state;
        if end.is_some() { None } else { plan.next(&ledger.table) }
    }

    /// Asks one question, and keeps what comes. `ask` has what is still open then; `false` if
    /// that is not to be asked for now.
    fn ask(&self, ask: &mut Ask, queue: &SyncSender<Candidate>) -> bool {
        let task = self.asked.tasks.get(ask.task);
        let prompt = self.asked.prompt(ask.task);
        let trace = task.rest.get("trace").and_then(|raw| serde_json::from_str(raw).ok());
        let trace: Option<String> = trace;
        let seed = seed(self.teaching.seed, &task.id, ask.samples[0]);
        let samples = u32::try_from(ask.samples.len()).unwrap_or(u32::MAX);
        let question = Question {
            prompt: &prompt,
            language: task.language,
            trace: trace.as_deref(),
            reference: task.reference.as_deref(),
            samples,
            seed,
        };
        self.state().report.requests += 1;
        match self.teaching.teacher.ask(question) {
            Ok(answer) if answer.completions.is_empty() => {
                let reason = "an answer without completions".to_owned();
                self.failed(ask, &Failure { detail: reason.clone(), reason });
                false
            }
            Ok(answer) => self.keep(ask, seed, answer, queue),
            Err(Refusal::Nothing) => {
                self.state().report.without_trace += u64::from(samples);
                (self.teaching.on_answer)(ask.samples.len());
                self.finished(ask.samples.len());
                false
            }
            Err(Refusal::Failed(failure)) => {
                self.failed(ask, &failure);
                false
            }
            Err(Refusal::Stopped { message, hint }) => {
                self.end(End::Stopped { message, hint });
                false
            }
        }
    }

    /// Keeps an answer and passes its programs on.
    fn keep(
        &self,
        ask: &mut Ask,
        seed: u32,
        mut answer: Answer,
        queue: &SyncSender<Candidate>,
    ) -> bool {
        let task = &self.asked.tasks.get(ask.task).id;
        answer.completions.truncate(ask.samples.len());
        let open = ask.samples.split_off(answer.completions.len());
        let samples = std::mem::replace(&mut ask.samples, open);
        let prompt = self.asked.digests[ask.task as usize].clone();
        let Answer { model, completions, usage } = answer;
        let task = task.clone();
        let answered = Answered { task, prompt, samples, seed, model, usage, completions };
        let failed = Ask { task: ask.task, samples: answered.samples.clone() };
        let kept = self.state().ledger.answered(ask.task, answered);
        match kept {
            Ok(entry) => self.offer(ask.task, &entry, queue),
            Err(LedgerError::Journal(JournalError::Payload { source, .. })) => {
                let reason = "an answer that cannot be kept".to_owned();
                self.failed(&failed, &Failure { reason, detail: source.to_string() });
                true
            }
            Err(err) => {
                self.end(End::Trouble(err.into()));
                false
            }
        }
    }

    /// Offers the programs of an answer to the judges.
    fn offer(&self, task: u32, entry: &Entry, queue: &SyncSender<Candidate>) -> bool {
        let Entry::Answer(answered) = entry else { return true };
        (self.teaching.on_answer)(answered.completions.len());
        for (&sample, completion) in answered.samples.iter().zip(&answered.completions) {
            let program = program(self.asked.tasks.get(task), Reply::of(completion));
            let candidate = Candidate { place: SampleId { task, sample }, program };
            if queue.send(candidate).is_err() {
                return false;
            }
        }
        true
    }

    /// Offers every program that is stored without a verdict, as of the first `records`.
    fn judge_stored(&self, records: u64, queue: &SyncSender<Candidate>) -> Result<(), TeachError> {
        let state = self.state();
        let path = state.ledger.path().to_owned();
        let nothing = state.ledger.table.stored().all(|(_, slot)| slot.verdict.is_some());
        drop(state);
        if nothing {
            return Ok(());
        }
        for read in entries(&path)? {
            let (seq, entry) = read?;
            match entry {
                Entry::Answer(answered) => {
                    for (&sample, completion) in answered.samples.iter().zip(&answered.completions)
                    {
                        let reply = Reply::of(completion);
                        let Some(task) = self.asked.tasks.find(&answered.task) else { continue };
                        self.judge_later(SampleId { task, sample }, reply, queue);
                    }
                }
                Entry::Trace(object) => {
                    if let Ok(trace) = Trace::from_object(object)
                        && let Some(task) = self.asked.tasks.find(&trace.task_id)
                    {
                        let place = SampleId { task, sample: trace.sample };
                        self.judge_later(place, Reply::text(&trace.text), queue);
                    }
                }
                Entry::Teaching(_) | Entry::Imported { .. } | Entry::Verdict(_) => {}
            }
            if seq + 1 >= records {
                break;
            }
        }
        Ok(())
    }

    fn judge_later(&self, place: SampleId, reply: Reply<'_>, queue: &SyncSender<Candidate>) {
        if self.state().ledger.table.get(place).verdict.is_some() {
            return;
        }
        let program = program(self.asked.tasks.get(place.task), reply);
        // Nobody takes it: the judges are gone, which is said where they went.
        drop(queue.send(Candidate { place, program }));
    }

    /// Reads and judges programs until no more come.
    fn judge_all(&self, candidates: &Mutex<Receiver<Candidate>>, stack: &BigStack) {
        loop {
            let next = candidates.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(candidate) = next else { return };
            if let Err(err) = self.judge(candidate, stack) {
                self.end(End::Trouble(err.into()));
            }
        }
    }

    fn failed(&self, ask: &Ask, failure: &Failure) {
        self.state().report.count_failure(ask.samples.len() as u64, failure);
        (self.teaching.on_answer)(ask.samples.len());
        self.finished(ask.samples.len());
    }

    pub(super) fn finished(&self, samples: usize) {
        for _ in 0..samples {
            (self.teaching.on_sample)();
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets nobody ask on. The first reason is the one that is told.
    fn end(&self, end: End) {
        self.state().end.get_or_insert(end);
        self.teaching.teacher.stop();
    }

    /// Lets nobody ask on while the threads that were started come to their end.
    fn give_up(&self, err: TeachError) -> TeachError {
        self.end(End::Stopped { message: String::new(), hint: String::new() });
        err
    }
}

fn program(task: &Task, reply: Reply<'_>) -> Result<Option<Program>, Infrastructure> {
    catch_panic("reading the reply", || find_program(task, reply))
}
