//! The first pass: every line is read and judged, on all cores.
//!
//! One thread reads the file and offers lines; the others parse them, look into the cache, ask the
//! judge and write results down. Programs that are the same, of the same task, are judged once when
//! there is a cache: the line that comes first judges, others wait without holding a thread and are
//! answered with it. If what it found may not be kept (a broken machine), each is judged by itself.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use whetstone_core::extract::Reply;
use whetstone_core::judgement::{Infrastructure, Judgement, Validation};
use whetstone_core::outcome::Evidence;
use whetstone_core::reward::Reward;
use whetstone_core::seed::Seed;
use whetstone_core::task::Task;
use whetstone_env::python::{Candidate, EntryPoint, Reading, find_program};
use whetstone_env::registry::Environments;
use whetstone_env::stack::{self, BigStack};
use whetstone_record::error::LedgerError;
use whetstone_sandbox::job::Job;

use super::candidate::{self, Bad, Line};
use super::catch_panic::catch_panic;
use super::episode;
use super::ledger::{Ledger, LineScore};
use super::lines::{Lines, Took};
use super::parked::{Parked, Role};
use super::queue::Queue;
use super::table::{Entry, State};
use super::tasks::Tasks;
use super::tests_vary::TestsVary;
use super::work::{Raw, ReplyLine, Waiting, Work};
use super::{How, Runtime, ScoreError, Scoring};
use crate::cache::{Cache, Key, Known, ProgramKeys, TaskKeys};

/// State that all threads share.
struct Scorer<'a> {
    scoring: &'a Scoring<'a>,
    tasks: &'a Tasks,
    /// The environments of tasks that ask for no program.
    others: &'a Environments,
    /// One for each task; empty if nothing is cached.
    keys: Vec<TaskKeys>,
    tests_vary: TestsVary,
    queue: Queue<Work>,
    /// Lines before this one may have been done by an earlier run.
    known: u64,
    ledger: Mutex<Ledger>,
    parked: Parked<Waiting>,
    trouble: Mutex<Option<LedgerError>>,
}

/// Reads and judges every line that `ledger` does not know yet.
pub(super) fn judge_all(
    scoring: &Scoring<'_>,
    tasks: &Tasks,
    others: &Environments,
    ledger: Ledger,
) -> Result<Ledger, ScoreError> {
    let keys = match &scoring.how {
        How::Run(Runtime { identity, limits, cache: Some(_), .. }) => {
            tasks.iter().map(|task| TaskKeys::new(identity, task, *limits)).collect()
        }
        _ => Vec::new(),
    };
    let scorer = Scorer {
        scoring,
        tasks,
        others,
        tests_vary: TestsVary::new(keys.len()),
        keys,
        queue: Queue::new(),
        known: ledger.table.len(),
        ledger: Mutex::new(ledger),
        parked: Parked::new(),
        trouble: Mutex::default(),
    };
    let fed = thread::scope(|scope| {
        for _ in 0..scoring.workers.max(1) {
            let started = stack::spawn(scope, |stack| scorer.work(stack));
            if let Err(err) = started {
                scorer.queue.stop();
                return Err(ScoreError::Threads(err));
            }
        }
        let fed = scorer.feed();
        if fed.is_err() {
            scorer.queue.stop();
        }
        scorer.queue.close();
        fed
    });
    fed?;
    match scorer.trouble.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(err) => Err(err.into()),
        None => Ok(scorer.ledger.into_inner().unwrap_or_else(PoisonError::into_inner)),
    }
}

impl Scorer<'_> {
    /// Offers every line of the file.
    fn feed(&self) -> Result<(), ScoreError> {
        let path = self.scoring.rollouts;
        let unreadable = |source| ScoreError::Rollouts { path: path.to_owned(), source };
        let mut lines = Lines::open(path).map_err(unreadable)?;
        for at in 0.. {
            let mut bytes = Vec::new();
            let took = lines.next_into(&mut bytes).map_err(unreadable)?;
            if took == Took::End {
                break;
            }
            // Nothing changes this entry before the line is offered.
            let done = at < self.known && self.ledger().table.get(at).state == State::Scored;
            let size = bytes.len();
            if !self.queue.offer(at, size, Work::Raw(Raw { at, took, bytes, done })) {
                break;
            }
        }
        Ok(())
    }

    /// Takes lines until there are none.
    fn work(&self, stack: &BigStack) {
        // Whatever ends this thread early must not leave the others waiting for its line.
        let _guard = StopOnPanic(&self.queue);
        while let Some(work) = self.queue.take() {
            let kept = match work {
                Work::Raw(raw) => self.line(&raw, stack),
                Work::Alone(waiting) => self.judge(&waiting, None),
            };
            if let Err(err) = kept {
                *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(err);
                self.queue.stop();
            }
        }
    }

    fn line(&self, raw: &Raw, stack: &BigStack) -> Result<(), LedgerError> {
        let Raw { at, took, ref bytes, done } = *raw;
        let (candidate, task) = match candidate::read(took, bytes, at, self.tasks) {
            Ok(Line::Rollout(candidate, task)) => (candidate, task),
            Ok(Line::Blank) => {
                self.set_aside(at, State::Aside);
                return Ok(());
            }
            Err(Bad(_)) => {
                self.set_aside(at, State::Rejected);
                return Ok(());
            }
        };
        let rescored = candidate.rescored.is_some();
        let entry = Entry { step: candidate.step, task, rescored, ..Entry::default() };
        if done {
            let mut ledger = self.ledger();
            let Entry { state, value, tests, .. } = ledger.table.get(at);
            ledger.table.set(at, Entry { value, tests, state, ..entry });
            drop(ledger);
            self.finish(at);
            return Ok(());
        }
        let reply = Reply::text(&candidate.text).after(candidate.thinking_opened);
        let line = ReplyLine { at, entry, reply };
        if !self.scoring.is_program(self.tasks.get(task)) {
            return self.play(line, bytes, candidate.thinking_opened);
        }
        let is_tested = !self.tasks.get(task).tests.is_absent();
        match &self.scoring.how {
            How::Run(Runtime { cache: Some(cache), .. }) if is_tested => {
                self.look_up(line, cache, stack)
            }
            _ => self.read_and_judge(line, stack),
        }
    }

    /// Scores a reply to a task that asks for no program: an episode is told all replies of the line.
    fn play(
        &self,
        line: ReplyLine<'_>,
        bytes: &[u8],
        thinking_opened: bool,
    ) -> Result<(), LedgerError> {
        let ReplyLine { at, entry, reply } = line;
        let task = self.tasks.get(entry.task);
        let earlier = episode::earlier_replies(bytes);
        let told = earlier.iter().map(|text| Reply::text(text).after(thinking_opened));
        let replies: Vec<Reply<'_>> = told.chain([reply]).collect();
        let seed = Seed::new(self.scoring.setup.config.seed);
        let played = catch_panic(|| episode::outcome(self.others, task, seed, &replies)).flatten();
        match played {
            Ok(outcome) => {
                let (validation, reward) = (Validation::Seen(outcome.evidence), outcome.reward);
                self.keep(at, entry, &LineScore { validation, reward, cpu_ms: 0.0, cached: false })
            }
            Err(broken) => self.fail(at, entry, &broken),
        }
    }

    /// Reads a reply, and judges it if there is something to run.
    fn read_and_judge(&self, line: ReplyLine<'_>, stack: &BigStack) -> Result<(), LedgerError> {
        let ReplyLine { at, entry, reply } = line;
        let task = self.tasks.get(entry.task);
        match (catch_panic(|| self.scoring.rules.read(task, reply, stack)), &self.scoring.how) {
            (Err(broken), _) => self.fail(at, entry, &broken),
            (Ok(reading), How::Static) => self.static_terms(at, entry, &reading),
            (Ok(reading), How::Run(_)) if task.tests.is_absent() => {
                self.static_terms(at, entry, &reading)
            }
            (Ok(Reading::Settled(judgement)), How::Run(_)) => self.settle(at, entry, &judgement),
            (Ok(reading), How::Run(_)) => self.judge(&Waiting { at, entry, reading }, None),
        }
    }

    /// Answers from the cache, waits for a neighbour, or judges.
    ///
    /// A program that is known is not even parsed.
    fn look_up(
        &self,
        line: ReplyLine<'_>,
        cache: &Cache,
        stack: &BigStack,
    ) -> Result<(), LedgerError> {
        let ReplyLine { at, entry, reply } = line;
        let task = self.tasks.get(entry.task);
        let program = match catch_panic(|| find_program(task, reply)) {
            Err(broken) => return self.fail(at, entry, &broken),
            Ok(None) => return self.read_and_judge(line, stack),
            Ok(Some(program)) => program,
        };
        let keys = self.keys[entry.task as usize].program(&program.source);
        if let Some(known) = cache.find(&keys, self.scoring.how.limits()) {
            let reading = Reading::Runs(known.candidate(program));
            return self.pay_known(&Waiting { at, entry, reading }, &known.judgement, cache);
        }
        let rules = self.scoring.rules;
        match catch_panic(|| self.tests_vary.read(rules, entry.task, task, program, stack)) {
            Err(broken) => self.fail(at, entry, &broken),
            Ok(Reading::Settled(judgement)) => self.settle(at, entry, &judgement),
            Ok(reading) => self.wait_or_judge(keys, Waiting { at, entry, reading }, cache),
        }
    }

    fn wait_or_judge(
        &self,
        keys: ProgramKeys,
        waiting: Waiting,
        cache: &Cache,
    ) -> Result<(), LedgerError> {
        // What may vary has no neighbours: each is run for itself.
        let steady = matches!(&waiting.reading, Reading::Runs(candidate) if !candidate.may_vary);
        let role =
            if steady { self.parked.enter(keys.verdict, waiting) } else { Role::Alone(waiting) };
        match role {
            Role::Waits => Ok(()),
            Role::Alone(waiting) => self.judge(&waiting, Some((keys, false))),
            // A neighbour may have put its verdict there since we looked.
            Role::First(waiting) => match cache.find(&keys, self.scoring.how.limits()) {
                Some(known) => {
                    self.answer_neighbours(&keys.verdict, Some(&known.judgement))?;
                    self.pay_known(&waiting, &known.judgement, cache)
                }
                None => self.judge(&waiting, Some((keys, true))),
            },
        }
    }

    /// Judges a line. Its key comes with whether others may wait for it.
    fn judge(
        &self,
        waiting: &Waiting,
        keyed: Option<(ProgramKeys, bool)>,
    ) -> Result<(), LedgerError> {
        let How::Run(runtime) = &self.scoring.how else { return Ok(()) };
        let Reading::Runs(candidate) = &waiting.reading else { return Ok(()) };
        let task = self.task(waiting);
        let (program, limits) = (&candidate.program, runtime.limits);
        let job = Job { program, setup: &task.setup, tests: &task.tests, limits };
        let judged = catch_panic(|| runtime.judge.judge(job))
            .and_then(|judged| judged.map_err(Infrastructure::from));
        let mut kept = None;
        if let Some(cache) = runtime.cache {
            cache.miss();
            if let (Some((keys, _)), Ok(judgement)) = (&keyed, &judged) {
                let Candidate { quality, entry_point, may_vary, .. } = *candidate;
                let defines_entry_point = entry_point == EntryPoint::Defined;
                let known = Known {
                    judgement: judgement.clone(),
                    quality,
                    defines_entry_point,
                    limit_us: None,
                };
                kept = cache.keep(keys, known, may_vary, limits).then_some(judgement);
            }
        }
        if let Some((keys, true)) = &keyed {
            self.answer_neighbours(&keys.verdict, kept)?;
        }
        match &judged {
            Ok(judgement) => self.pay(waiting, judgement, false),
            Err(broken) => self.fail(waiting.at, waiting.entry, broken),
        }
    }

    fn answer_neighbours(&self, key: &Key, kept: Option<&Judgement>) -> Result<(), LedgerError> {
        for waiting in self.parked.leave(key) {
            match (kept, self.scoring.how.cache()) {
                (Some(judgement), Some(cache)) => self.pay_known(&waiting, judgement, cache)?,
                _ => self.queue.again(Work::Alone(waiting)),
            }
        }
        Ok(())
    }

    fn pay_known(
        &self,
        waiting: &Waiting,
        judgement: &Judgement,
        cache: &Cache,
    ) -> Result<(), LedgerError> {
        cache.hit();
        self.pay(waiting, judgement, true)
    }

    /// Writes down what a reply without anything to run is worth.
    fn settle(&self, at: u64, entry: Entry, judgement: &Judgement) -> Result<(), LedgerError> {
        let reading = Reading::Settled(judgement.clone());
        self.pay(&Waiting { at, entry, reading }, judgement, false)
    }

    /// Writes down what a judged line is worth.
    fn pay(
        &self,
        waiting: &Waiting,
        judgement: &Judgement,
        cached: bool,
    ) -> Result<(), LedgerError> {
        let Waiting { at, entry, reading } = waiting;
        match catch_panic(|| self.scoring.rules.reward(reading, judgement)) {
            Ok(reward) => self.keep(*at, *entry, &LineScore::judged(judgement, reward, cached)),
            Err(broken) => self.fail(*at, *entry, &broken),
        }
    }

    fn static_terms(&self, at: u64, entry: Entry, reading: &Reading) -> Result<(), LedgerError> {
        let reward: Result<Reward, _> = catch_panic(|| self.scoring.rules.static_reward(reading));
        let validation = match reading {
            // That there is no program, or none that compiles, is known without running it.
            Reading::Settled(judgement) => Validation::from(judgement.clone()),
            Reading::Runs(_) => Validation::Seen(Evidence::NotRun),
        };
        match reward {
            Ok(reward) => {
                self.keep(at, entry, &LineScore { validation, reward, cpu_ms: 0.0, cached: false })
            }
            Err(broken) => self.fail(at, entry, &broken),
        }
    }

    fn keep(&self, at: u64, entry: Entry, outcome: &LineScore) -> Result<(), LedgerError> {
        self.ledger().done(at, entry, outcome)?;
        self.finish(at);
        Ok(())
    }

    fn fail(&self, at: u64, entry: Entry, broken: &Infrastructure) -> Result<(), LedgerError> {
        self.ledger().failed(at, entry, &broken.0)?;
        self.finish(at);
        Ok(())
    }

    fn set_aside(&self, at: u64, state: State) {
        self.ledger().table.set(at, Entry { state, ..Entry::default() });
        self.finish(at);
    }

    fn finish(&self, at: u64) {
        (self.scoring.on_line)();
        self.queue.finished(at);
    }

    fn task(&self, waiting: &Waiting) -> &Task {
        self.tasks.get(waiting.entry.task)
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Stops the queue when its thread panics.
struct StopOnPanic<'a>(&'a Queue<Work>);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop();
        }
    }
}
