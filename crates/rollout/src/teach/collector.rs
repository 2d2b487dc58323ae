//! The threads of a run: some ask and wait, some read and judge.
//!
//! ```text
//! plan ─► ask ─► journal ─► queue ─► score ─► journal
//!         as many as may be in flight  a few for each core
//! ```
//!
//! The queue is bounded: when answers come faster than they are judged, nobody asks for more.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use whetstone_core::completion::{Completion, Finish};
use whetstone_core::extract::Reply;
use whetstone_core::judgement::Infrastructure;
use whetstone_core::seed::Seed;
use whetstone_core::trace::Trace;
use whetstone_core::wire::Wire;
use whetstone_env::stack::BigStack;
use whetstone_record::batch::{BatchError, Queue, run};
use whetstone_record::error::JournalError;
use whetstone_sandbox::job::Unjudged;

use super::asked::Asked;
use super::plan::{Ask, Plan, seed};
use super::records::{Answered, Entry, Judged};
use super::report::TeachSummary;
use super::stored::Stored;
use super::table::SampleId;
use super::teacher::{Failure, Question, Refusal, TeacherAnswer};
use super::{TeachError, Teaching};
use crate::scorer::Scorer;

/// Enough to talk to a server; a thousand of these are still small.
const ASKER_STACK_BYTES: usize = 1 << 20;

/// State that all threads share.
pub(super) struct TraceCollector<'a> {
    teaching: &'a Teaching<'a>,
    asked: &'a Asked<'a>,
    scorer: &'a Scorer<'a>,
    state: Mutex<RequestState>,
}

/// State behind the lock.
struct RequestState {
    stored: Stored,
    report: TeachSummary,
    plan: Plan,
    end: Option<End>,
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
    /// Seconds during which questions were asked.
    pub(super) asking_seconds: f64,
}

impl<'a> TraceCollector<'a> {
    pub(super) fn new(
        asked: &'a Asked<'a>,
        scorer: &'a Scorer<'a>,
        stored: Stored,
        report: TeachSummary,
    ) -> Self {
        let teaching = asked.teaching;
        let plan = Plan::new(asked.extent);
        let state = Mutex::new(RequestState { stored, report, plan, end: None });
        Self { teaching, asked, scorer, state }
    }

    /// Asks and judges until nothing is left to do, or an end is made of it.
    pub(super) fn work(self) -> Left {
        let mut asking_seconds = 0.0;
        let feed = |queue: &Queue<Sample>| {
            let begun = Instant::now();
            let fed = self.feed(queue);
            asking_seconds = begun.elapsed().as_secs_f64();
            fed
        };
        let ran = run(self.teaching.judges, feed, |sample, stack| {
            self.judge(&sample, stack).map_err(|err| self.give_up(err))
        });
        let RequestState { stored, report, end, .. } =
            self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        let end = ran.err().map(End::Trouble).or(end);
        Left { stored, report, end, asking_seconds }
    }

    /// Asks on many threads; what comes is offered to the judges, with what is stored without a verdict.
    fn feed(&self, queue: &Queue<Sample>) -> Result<(), TeachError> {
        let state = self.state();
        let open = self.asked.extent.open(&state.stored.table);
        // Read now: what is added to the journal from here on is offered by whoever adds it.
        let stored = state.stored.table.stored();
        let unjudged: Vec<_> = stored.filter(|(_, slot)| slot.verdict.is_none()).collect();
        drop(state);
        let askers = usize::try_from(open).unwrap_or(usize::MAX).min(self.teaching.in_flight);
        thread::scope(|scope| {
            for _ in 0..askers {
                let asker = thread::Builder::new().stack_size(ASKER_STACK_BYTES);
                if let Err(err) = asker.spawn_scoped(scope, || self.ask_all(queue)) {
                    return Err(self.give_up(TeachError::Threads(err)));
                }
            }
            for (place, slot) in unjudged {
                let completion = self.stored_completion(place, slot.offset);
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
        let lost = || {
            let task = &self.asked.tasks.get(place.task).id;
            BatchError::Lost { item: format!("sample {} of task `{task}`", place.sample) }
        };
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

    /// Asks until there is nothing left to ask.
    fn ask_all(&self, queue: &Queue<Sample>) {
        while let Some(mut ask) = self.next_ask() {
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
        let task = self.asked.tasks.get(ask.task);
        let messages = self.asked.messages(ask.task);
        let trace = task.rest.get("trace").and_then(|raw| serde_json::from_str(raw).ok());
        let trace: Option<String> = trace;
        let seed = seed(Seed::new(self.teaching.config.seed), &task.id, ask.samples[0]);
        let samples = u32::try_from(ask.samples.len()).unwrap_or(u32::MAX);
        let question = Question {
            messages: &messages,
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
        mut answer: TeacherAnswer,
        queue: &Queue<Sample>,
    ) -> bool {
        let task = &self.asked.tasks.get(ask.task).id;
        answer.completions.truncate(ask.samples.len());
        let open = ask.samples.split_off(answer.completions.len());
        let samples = std::mem::replace(&mut ask.samples, open);
        let prompt = self.asked.digest(ask.task).to_owned();
        let TeacherAnswer { model, completions, usage } = answer;
        let task = task.clone();
        let answered = Answered { task, prompt, samples, seed, model, usage, completions };
        let failed = Ask { task: ask.task, samples: answered.samples.clone() };
        let kept = self.state().stored.answered(ask.task, &answered);
        match kept {
            Ok(()) => self.offer_all(ask.task, answered, queue),
            Err(BatchError::Journal(JournalError::Payload { source, .. })) => {
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

    /// Offers the completions of an answer to the judges.
    fn offer_all(&self, task: u32, answered: Answered, queue: &Queue<Sample>) -> bool {
        (self.teaching.on_answer)(answered.completions.len());
        let all = answered.samples.into_iter().zip(answered.completions);
        let mut samples = all.map(|(sample, completion)| {
            let place = SampleId { task, sample };
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
        let mut state = self.state();
        match scored {
            Err(Unjudged::Machine(Infrastructure(error))) => state.report.count_error(&error),
            // No later run can judge it either.
            Err(Unjudged::BrokenTests(problem)) => state.report.count_broken_tests(task, problem),
            Ok(scored) => match Judged::of(task.clone(), place.sample, scored.outcome.evidence) {
                Some(judged) => state.stored.judged(*place, judged)?,
                None => state.report.not_run += 1,
            },
        }
        drop(state);
        self.finished(1);
        Ok(())
    }

    fn failed(&self, ask: &Ask, failure: &Failure) {
        self.state().report.count_failure(ask.samples.len() as u64, failure);
        (self.teaching.on_answer)(ask.samples.len());
        self.finished(ask.samples.len());
    }

    fn finished(&self, samples: usize) {
        for _ in 0..samples {
            (self.teaching.on_sample)();
        }
    }

    fn state(&self) -> MutexGuard<'_, RequestState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets nobody ask on. The first reason is the one that is told.
    fn end(&self, end: End) {
        self.state().end.get_or_insert(end);
        self.teaching.teacher.stop();
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
