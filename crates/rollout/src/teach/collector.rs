//! The threads of a run: some ask and wait, some read and judge.
//!
//! ```text
//! plan ─► ask ─► journal ─► queue ─► score ─► journal
//!         as many as may be in flight  a few for each core
//! ```
//!
//! An episode of several turns is led by the thread that asks (`episodes`): what is asked next depends on what
//! the environment answered.
//!
//! The queue is bounded: when answers come faster than they are judged, nobody asks for more.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use whetstone_core::completion::{Completion, Finish};
use whetstone_core::extract::Reply;
use whetstone_core::judgement::Infrastructure;
use whetstone_core::message::Message;
use whetstone_core::task::Task;
use whetstone_core::trace::Trace;
use whetstone_core::wire::Wire;
use whetstone_env::stack::BigStack;
use whetstone_record::batch::{BatchError, Queue, catch_panic, run};
use whetstone_record::error::JournalError;
use whetstone_sandbox::job::Unjudged;

use super::asked::Asked;
use super::plan::{Ask, Plan, seed};
use super::records::{Answered, Entry, Judged, JudgedSample};
use super::report::TeachSummary;
use super::stored::Stored;
use super::table::SampleId;
use super::teacher::{Failure, Question, Refusal, TeacherAnswer};
use super::{TeachError, Teaching};
use crate::collect::broken;
use crate::scorer::Scorer;

/// Enough to talk to a server; a thousand of these are still small.
const ASKER_STACK_BYTES: usize = 1 << 20;
/// Enough for an environment too.
const EPISODE_STACK_BYTES: usize = 8 << 20;

/// State that all threads share.
pub(super) struct TraceCollector<'a> {
    pub(super) teaching: &'a Teaching<'a>,
    pub(super) asked: &'a Asked<'a>,
    scorer: &'a Scorer<'a>,
    state: Mutex<RequestState>,
}

/// State behind the lock.
pub(super) struct RequestState {
    pub(super) stored: Stored,
    pub(super) report: TeachSummary,
    plan: Plan,
    pub(super) end: Option<End>,
}

/// A question, before the teacher's own parts of it are looked up.
#[derive(Clone, Copy)]
pub(super) struct PutQuestion<'a> {
    pub(super) task: u32,
    pub(super) teacher: u32,
    pub(super) messages: &'a [Message],
    pub(super) samples: u32,
    pub(super) seed: u32,
}

/// Why nobody asks on.
#[derive(Debug)]
pub(super) enum End {
    /// The teacher says so.
    Stopped { message: String, hint: String },
    /// Answers cannot be kept any more, or not be judged.
    Trouble(TeachError),
}

/// A sample to judge.
struct Sample {
    place: SampleId,
    completion: Completion,
}

/// The result when all threads are done.
pub(super) struct Left {
    pub(super) stored: Stored,
    pub(super) report: TeachSummary,
    pub(super) end: Option<End>,
}

impl<'a> TraceCollector<'a> {
    pub(super) fn new(
        asked: &'a Asked<'a>,
        scorer: &'a Scorer<'a>,
        stored: Stored,
        report: TeachSummary,
    ) -> Self {
        let teaching = asked.teaching;
        let plan = Plan::new(asked.extent.clone());
        let state = Mutex::new(RequestState { stored, report, plan, end: None });
        Self { teaching, asked, scorer, state }
    }

    /// Asks and judges until nothing is left to do, or an end is made of it.
    pub(super) fn work(self) -> Left {
        let feed = |queue: &Queue<Sample>| self.feed(queue);
        let ran = run(self.teaching.judges, feed, |sample, stack| {
            self.judge(&sample, stack).map_err(|err| self.give_up(err))
        });
        let RequestState { stored, report, end, .. } =
            self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        let end = ran.err().map(End::Trouble).or(end);
        Left { stored, report, end }
    }

    /// Asks on many threads; what comes is offered to the judges, with what is stored without a verdict.
    fn feed(&self, queue: &Queue<Sample>) -> Result<(), TeachError> {
        let state = self.state();
        let open = self.asked.extent.open(&state.stored.table);
        // Read now: what is added to the journal from here on is offered by whoever adds it.
        let unjudged = state.stored.table.complete().filter(|(_, slot)| slot.verdict.is_none());
        let unjudged: Vec<_> = unjudged.map(|(place, slot)| (place, slot.answers[0])).collect();
        drop(state);
        let askers = usize::try_from(open).unwrap_or(usize::MAX).min(self.teaching.in_flight);
        let episodes = self.asked.has_episodes();
        let stack_bytes = if episodes { EPISODE_STACK_BYTES } else { ASKER_STACK_BYTES };
        thread::scope(|scope| {
            for _ in 0..askers {
                let asker = thread::Builder::new().stack_size(stack_bytes);
                if let Err(err) = asker.spawn_scoped(scope, || self.ask_all(queue)) {
                    return Err(self.give_up(TeachError::Threads(err)));
                }
            }
            for (place, offset) in unjudged {
                let completion = self.stored_completion(place, offset);
                let completion = completion.map_err(|err| self.give_up(err.into()))?;
                if !offer(queue, Sample { place, completion }) {
                    break;
                }
            }
            Ok(())
        })
    }

    /// The completion of a sample that is in the journal.
    fn stored_completion(&self, place: SampleId, offset: u64) -> Result<Completion, BatchError> {
        let lost = || self.lost(place);
        match self.state().stored.ledger.read(offset)? {
            Entry::Answer(Answered { samples, completions, .. }) => {
                let mut all = samples.into_iter().zip(completions);
                let found = all.find(|(sample, _)| *sample == place.sample);
                found.map(|(_, completion)| completion).ok_or_else(lost)
            }
            Entry::Trace(object) => {
                let text = Trace::from_object(object).map_err(|_| lost())?.text;
                Ok(Completion { text, reasoning: None, finish: Finish::Stop, tokens: None })
            }
            Entry::Teaching(_) | Entry::Imported { .. } | Entry::Verdict(_) => Err(lost()),
        }
    }

    /// The error of a record that is not what was stored.
    pub(super) fn lost(&self, place: SampleId) -> BatchError {
        let task = &self.asked.tasks.get(place.task).id;
        BatchError::Lost { item: format!("sample {} of task `{task}`", place.sample) }
    }

    /// Asks until there is nothing left to ask.
    fn ask_all(&self, queue: &Queue<Sample>) {
        while let Some(mut ask) = self.next_ask() {
            if self.asked.turns(ask.task) > 1 {
                let Ask { task, teacher, samples } = ask;
                for sample in samples {
                    self.drive(SampleId { task, teacher, sample });
                }
                continue;
            }
            while !ask.samples.is_empty() && self.ask(&mut ask, queue) {}
        }
    }

    fn next_ask(&self) -> Option<Ask> {
        let mut state = self.state();
        let RequestState { stored, plan, end, .. } = &mut *state;
        if end.is_some() { None } else { plan.next(&stored.table) }
    }

    /// Asks one question, and keeps what comes. `ask` has what is still open then; `false` if
    /// that is not to be asked for now.
    fn ask(&self, ask: &mut Ask, queue: &Queue<Sample>) -> bool {
        let messages = &self.asked.messages(ask.task);
        let id = &self.asked.tasks.get(ask.task).id;
        let seed = seed(self.asked.seed(), id, ask.samples[0], 0);
        let samples = u32::try_from(ask.samples.len()).unwrap_or(u32::MAX);
        let &mut Ask { task, teacher, .. } = ask;
        match self.put(PutQuestion { task, teacher, messages, samples, seed }) {
            Ok(answer) => self.keep(ask, seed, answer, queue),
            Err(refusal) => {
                self.refused(ask.teacher, &ask.samples, refusal);
                false
            }
        }
    }

    /// Puts a question to its teacher. An answer has at least one completion.
    pub(super) fn put(&self, put: PutQuestion<'_>) -> Result<TeacherAnswer, Refusal> {
        let PutQuestion { task, teacher, messages, samples, seed } = put;
        let task = self.asked.tasks.get(task);
        let trace = task.rest.get("trace").and_then(|raw| serde_json::from_str(raw).ok());
        let trace: Option<String> = trace;
        let question = Question {
            messages,
            language: task.language,
            trace: trace.as_deref(),
            reference: task.reference.as_deref(),
            expert: &|| self.expert(task, messages),
            samples,
            seed,
        };
        self.state().report.requests += 1;
        let answer = self.asked.teacher(teacher).teacher.ask(question)?;
        if answer.completions.is_empty() {
            let reason = "an answer without completions".to_owned();
            return Err(Refusal::Failed(Failure { detail: reason.clone(), reason }));
        }
        Ok(answer)
    }

    fn expert(&self, task: &Task, messages: &[Message]) -> Result<Option<String>, Infrastructure> {
        let reply = || self.asked.expert(task, messages);
        catch_panic("an environment's expert", reply)?.map_err(broken)
    }

    /// Counts samples for which a teacher gave no answer, or ends the run.
    pub(super) fn refused(&self, teacher: u32, samples: &[u32], refusal: Refusal) {
        let (name, count) = (self.asked.teacher(teacher).name, samples.len() as u64);
        let mut state = self.state();
        match refusal {
            Refusal::Nothing => state.report.without_trace += count,
            Refusal::Failed(failure) => state.report.count_failure(name, count, &failure),
            Refusal::Broken(Infrastructure(error)) => {
                for _ in samples {
                    state.report.count_error(&error);
                }
            }
            Refusal::Stopped { message, hint } => {
                drop(state);
                return self.end(End::Stopped { message, hint });
            }
        }
        drop(state);
        (self.teaching.on_answer)(samples.len());
        self.finished(samples.len());
    }

    /// Keeps an answer and passes its programs on.
    fn keep(
        &self,
        ask: &mut Ask,
        seed: u32,
        mut answer: TeacherAnswer,
        queue: &Queue<Sample>,
    ) -> bool {
        answer.completions.truncate(ask.samples.len());
        let open = ask.samples.split_off(answer.completions.len());
        let samples = std::mem::replace(&mut ask.samples, open);
        let answered = Answered {
            task: self.asked.tasks.get(ask.task).id.clone(),
            teacher: self.asked.name_of_several(ask.teacher).map(str::to_owned),
            turn: 0,
            said: Vec::new(),
            prompt: self.asked.digest(ask.task).to_owned(),
            samples,
            seed,
            model: answer.model,
            usage: answer.usage,
            completions: answer.completions,
        };
        let place = SampleId { task: ask.task, teacher: ask.teacher, sample: 0 };
        let kept = self.state().stored.answered(place, &answered);
        match kept {
            Ok(()) => self.offer_all(place, answered, queue),
            Err(BatchError::Journal(JournalError::Payload { source, .. })) => {
                let failure = Failure::not_kept(&source.to_string());
                self.refused(ask.teacher, &answered.samples, Refusal::Failed(failure));
                true
            }
            Err(err) => {
                self.end(End::Trouble(err.into()));
                false
            }
        }
    }

    /// Offers the completions of an answer to the judges.
    fn offer_all(&self, first: SampleId, answered: Answered, queue: &Queue<Sample>) -> bool {
        (self.teaching.on_answer)(answered.completions.len());
        let all = answered.samples.into_iter().zip(answered.completions);
        let mut samples = all.map(|(sample, completion)| {
            let place = SampleId { sample, ..first };
            Sample { place, completion }
        });
        let taken = samples.all(|sample| offer(queue, sample));
        if !taken {
            // The judges are gone, which is said where they went: nothing more is to be paid for.
            self.stop_asking();
        }
        taken
    }

    /// Scores a sample and keeps what was seen of it.
    fn judge(&self, sample: &Sample, stack: &BigStack) -> Result<(), TeachError> {
        let Sample { place, completion } = sample;
        let scored = self.scorer.score(place.task, &[Reply::of(completion)], stack);
        let task = &self.asked.tasks.get(place.task).id;
        let teacher = self.asked.name_of_several(place.teacher);
        let whose = JudgedSample { task, teacher, sample: place.sample };
        let mut state = self.state();
        match scored {
            Err(Unjudged::Machine(Infrastructure(error))) => state.report.count_error(&error),
            // No later run can judge it either.
            Err(Unjudged::BrokenTests(problem)) => state.report.count_broken_tests(task, problem),
            Ok(scored) => match Judged::of(whose, scored.outcome.evidence) {
                Some(judged) => state.stored.judged(*place, judged)?,
                None => state.report.not_run += 1,
            },
        }
        drop(state);
        self.finished(1);
        Ok(())
    }

    pub(super) fn finished(&self, samples: usize) {
        for _ in 0..samples {
            (self.teaching.on_sample)();
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, RequestState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets nobody ask on. The first reason is the one that is told.
    pub(super) fn end(&self, end: End) {
        self.state().end.get_or_insert(end);
        for one in self.teaching.teachers {
            one.teacher.stop();
        }
    }

    /// Lets nobody ask on while the threads that were started come to their end.
    fn give_up(&self, err: TeachError) -> TeachError {
        self.stop_asking();
        err
    }

    fn stop_asking(&self) {
        self.end(End::Stopped { message: String::new(), hint: String::new() });
    }
}

fn offer(queue: &Queue<Sample>, sample: Sample) -> bool {
    queue.offer(sample.completion.text.len(), sample)
}
