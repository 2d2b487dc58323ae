//! The judges: threads that tell replies to episodes.
//!
//! Whatever an environment does, an answer comes back for every job, so nobody waits in vain: its
//! errors and its panics are answers too. An episode that failed is not asked again; a fresh one is
//! told the same replies, and what it asks must be the prompt that the model was given.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use whetstone_core::extract::Reply;
use whetstone_core::judgement::Infrastructure;
use whetstone_core::message::Message;
use whetstone_env::environment::{EnvError, Environment, Episode, Next, Outcome};
use whetstone_infer::SampleId;
use whetstone_record::batch::catch_panic;

use super::{
    Asked, CollectError, Collecting, Dropped, End, Render, Rollout, Span, Turn, next_turn,
};

/// Identifies a rollout: the index of its group, and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RolloutId {
    pub(super) group: usize,
    pub(super) sample: usize,
}

/// A conversation as a prompt.
pub(super) struct RenderedPrompt {
    pub(super) tokens: Arc<[u32]>,
    pub(super) messages: Arc<[Message]>,
}

/// A rollout that is under way.
pub(super) struct OpenRollout {
    pub(super) id: RolloutId,
    pub(super) turns: Vec<Turn>,
    /// The conversation of its newest prompt.
    pub(super) asked: Arc<[Message]>,
    /// Its episode; none before its first reply.
    pub(super) episode: Option<Box<dyn Episode>>,
}

/// A completion to judge: the newest turn of a rollout.
pub(super) struct Job {
    pub(super) rollout: OpenRollout,
    /// The completion, as the generator numbers it.
    pub(super) sample: SampleId,
    pub(super) sampled_at: Duration,
}

/// The answer to a job.
pub(super) struct TurnAnswer {
    /// The completion that was judged.
    pub(super) sample: SampleId,
    pub(super) span: Span,
    pub(super) result: TurnResult,
}

/// The state of a rollout after its newest reply.
pub(super) enum TurnResult {
    Over(Rollout),
    Dropped(Dropped),
    /// It goes on with this prompt.
    Asks(OpenRollout, RenderedPrompt),
}

/// The channels to the judges and back. The judges' threads end when it is dropped.
pub(super) struct Channels {
    pub(super) jobs: Sender<Job>,
    pub(super) answers: Receiver<TurnAnswer>,
}

/// The state that the judges' threads share.
pub(super) struct JudgePool<'a> {
    environment: &'a dyn Environment,
    render: &'a Render<'a>,
    thinking_opened: bool,
    asked: &'a [Asked<'a>],
    max_prompt_tokens: usize,
    pub(super) clock: Instant,
}

/// The result of a reply to an episode.
enum AfterReply {
    Over(Outcome, End),
    Asks(Box<dyn Episode>, RenderedPrompt),
}

impl<'a> JudgePool<'a> {
    pub(super) fn new(collecting: &Collecting<'a>, asked: &'a [Asked<'a>]) -> Self {
        let Collecting { environment, render, thinking_opened, max_prompt_tokens, .. } =
            *collecting;
        let clock = Instant::now();
        Self { environment, render, thinking_opened, asked, max_prompt_tokens, clock }
    }

    /// Starts so many judges.
    pub(super) fn start<'s>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        judges: usize,
    ) -> Result<Channels, CollectError> {
        let (jobs, waiting) = channel();
        let (done, answers) = channel();
        let waiting = Arc::new(Mutex::new(waiting));
        for _ in 0..judges.max(1) {
            let (waiting, done) = (Arc::clone(&waiting), done.clone());
            let started = thread::Builder::new()
                .name("judge".to_owned())
                .spawn_scoped(scope, move || self.work(&waiting, &done));
            started.map_err(CollectError::Threads)?;
        }
        Ok(Channels { jobs, answers })
    }

    /// The first prompt of a group, or why none of its rollouts can begin.
    pub(super) fn first_prompt(
        &self,
        group: usize,
    ) -> Result<Result<RenderedPrompt, Infrastructure>, CollectError> {
        let messages = match retry_once(|| Ok(self.open(group)?.messages().to_vec())) {
            Ok(messages) => messages,
            Err(reason) => return Ok(Err(reason)),
        };
        let task = &self.asked[group].task.id;
        let tokens = (self.render)(&messages)
            .map_err(|source| CollectError::Render { task: task.clone(), source })?;
        let (length, most) = (tokens.len(), self.max_prompt_tokens);
        if length > most {
            let reason = format!("the prompt has {length} tokens, and {most} are allowed");
            return Ok(Err(Infrastructure(reason)));
        }
        Ok(Ok(RenderedPrompt { tokens: tokens.into(), messages: messages.into() }))
    }

    /// Judges until there is nothing more to judge, or nobody to tell.
    fn work(&self, waiting: &Mutex<Receiver<Job>>, done: &Sender<TurnAnswer>) {
        loop {
            let job = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(job) = job else { return };
            if done.send(self.judge(job)).is_err() {
                return;
            }
        }
    }

    fn judge(&self, job: Job) -> TurnAnswer {
        let Job { mut rollout, sample: completion, sampled_at } = job;
        let began = self.clock.elapsed();
        let mut episode = rollout.episode.take();
        // The second time there is none left, and a fresh one is opened.
        let follows = retry_once(|| self.reply(&rollout, episode.take()));
        let RolloutId { group, sample } = rollout.id;
        let judging = began..self.clock.elapsed();
        let result = match follows {
            Ok(AfterReply::Over(outcome, end)) => {
                TurnResult::Over(Rollout { sample, turns: rollout.turns, outcome, end })
            }
            Ok(AfterReply::Asks(episode, prompt)) => {
                TurnResult::Asks(OpenRollout { episode: Some(episode), ..rollout }, prompt)
            }
            Err(reason) => TurnResult::Dropped(Dropped { sample, turns: rollout.turns, reason }),
        };
        let span = Span { group, sample, sampled_at, judging };
        TurnAnswer { sample: completion, span, result }
    }

    /// Tells the newest reply to `episode`, or to a fresh one.
    fn reply(
        &self,
        rollout: &OpenRollout,
        episode: Option<Box<dyn Episode>>,
    ) -> Result<AfterReply, Infrastructure> {
        let mut episode = match episode {
            Some(episode) => episode,
            None => self.replay(rollout)?,
        };
        let newest = rollout.turns.last().map_or(Reply::text(""), |turn| self.told(turn));
        if let Next::Done(outcome) = episode.reply(newest).map_err(broken)? {
            return Ok(AfterReply::Over(outcome, End::Done));
        }
        let task = self.asked[rollout.id.group].task;
        if rollout.turns.len() >= self.environment.max_turns(task) {
            return cut_short(episode, End::OutOfTurns);
        }
        let tokens = self.next_prompt(rollout.turns.last(), episode.as_ref())?;
        if tokens.len() > self.max_prompt_tokens {
            return cut_short(episode, End::OutOfContext);
        }
        let messages = Arc::from(episode.messages());
        Ok(AfterReply::Asks(episode, RenderedPrompt { tokens: tokens.into(), messages }))
    }

    /// Replays all replies but the newest to a fresh episode.
    fn replay(&self, rollout: &OpenRollout) -> Result<Box<dyn Episode>, Infrastructure> {
        let mut episode = self.open(rollout.id.group)?;
        let Some((newest, earlier)) = rollout.turns.split_last() else { return Ok(episode) };
        for turn in earlier {
            if episode.reply(self.told(turn)).map_err(broken)? != Next::Ask {
                return Err(Infrastructure("a fresh episode ended earlier".to_owned()));
            }
        }
        if !earlier.is_empty()
            && (*episode.messages() != *rollout.asked
                || *self.next_prompt(earlier.last(), episode.as_ref())? != *newest.prompt)
        {
            return Err(Infrastructure("a fresh episode asks something else".to_owned()));
        }
        Ok(episode)
    }

    /// A completion as an environment is told it.
    fn told<'t>(&self, turn: &'t Turn) -> Reply<'t> {
        Reply::of(&turn.completion).after(self.thinking_opened)
    }

    fn open(&self, group: usize) -> Result<Box<dyn Episode>, Infrastructure> {
        let Asked { task, seed, .. } = self.asked[group];
        self.environment.open(task, seed.derive("episode", 0)).map_err(broken)
    }

    /// The prompt after a turn: the tokens of that turn as they were sampled, and the environment's answer.
    fn next_prompt(
        &self,
        last: Option<&Turn>,
        episode: &dyn Episode,
    ) -> Result<Vec<u32>, Infrastructure> {
        let no_prompt = |err| Infrastructure(format!("cannot make a prompt: {err}"));
        let next = match last {
            Some(turn) => next_turn::prompt(turn, episode.messages(), self.render),
            None => (self.render)(episode.messages()),
        };
        next.map_err(no_prompt)
    }
}

fn cut_short(mut episode: Box<dyn Episode>, end: End) -> Result<AfterReply, Infrastructure> {
    Ok(AfterReply::Over(episode.cut_short().map_err(broken)?, end))
}

/// Calls `attempt`, and retries once if it fails or panics. Of two failures the first is returned.
fn retry_once<T>(
    mut attempt: impl FnMut() -> Result<T, Infrastructure>,
) -> Result<T, Infrastructure> {
    let mut once = || catch_panic("the environment", &mut attempt).flatten();
    once().or_else(|first| once().map_err(|_| first))
}

/// Why an environment failed, as it stands in records.
pub(crate) fn broken(err: EnvError) -> Infrastructure {
    match err {
        EnvError::Judge(reason) => reason,
        EnvError::Thread(ref source) => Infrastructure(format!("{err}: {source}")),
        EnvError::Task(_) | EnvError::Prompt(_) | EnvError::Over => Infrastructure(err.to_string()),
    }
}
