//! The collecting thread: it gives prompts to the generator, and completions to the judges.
//!
//! The generator asks for prompts whenever it has made a step, so the next turn of an episode is sampled as soon
//! as its environment has answered, beside episodes that are in other turns.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use whetstone_core::judgement::Infrastructure;
use whetstone_core::message::{Message, Role};
use whetstone_core::seed::Seed;
use whetstone_infer::{
    Conversations, Generator, News, Prompt, SampleId, SampledCompletion, TurnPrompt, Until, Usage,
};

use super::judging::{
    Channels, Job, JudgePool, OpenRollout, RenderedPrompt, RolloutId, TurnAnswer, TurnResult,
};
use super::{
    Asked, CollectError, Collected, Collecting, Dropped, Group, Progress, Span, Timeline, Turn,
};

/// A prompt, and the rollouts that wait for its completions.
struct Question {
    prompt: RenderedPrompt,
    waiting: Vec<Option<OpenRollout>>,
}

/// A prompt that the generator has not been given yet.
struct NextPrompt {
    /// The first rollout that waits for it.
    id: RolloutId,
    /// The turn, from 0.
    turn: usize,
    seed: Seed,
    question: Question,
    /// The completion of the turn before.
    follows: Option<SampleId>,
}

/// The time given to judge what was sampled when a collection ends early.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// Receives every group that is over, with its index among those that were asked for.
pub(super) struct Taker<'a> {
    pub(super) each: &'a mut dyn FnMut(usize, Group),
    /// The time given to judge what was sampled when the collection ends early.
    pub(super) patience: Duration,
}

/// A collection under way.
struct Driver<'a, 't> {
    collecting: &'a Collecting<'a>,
    asked: &'a [Asked<'a>],
    clock: Instant,
    channels: Channels,
    /// Those that are not over.
    groups: Vec<Group>,
    taker: Taker<'t>,
    progress: Progress<'a>,
    /// Prompts that the generator was given, by its numbering.
    questions: Vec<Question>,
    next_prompts: Vec<NextPrompt>,
    /// Completions of rollouts that are over, since the generator last asked.
    over: Vec<SampleId>,
    /// Rollouts that are being sampled.
    sampling: BTreeSet<RolloutId>,
    /// Rollouts that are being judged.
    open: BTreeSet<RolloutId>,
    timeline: Timeline,
    /// Since when the generator works, if it does.
    working_since: Option<Duration>,
    /// Whether somebody wants it to end.
    stopped: bool,
}

/// Collects, whether or not anything could be judged.
pub(super) fn collect_all(
    collecting: &Collecting<'_>,
    generator: &mut dyn Generator,
    asked: &[Asked<'_>],
) -> Result<Collected, CollectError> {
    let mut groups: Vec<Group> = asked.iter().map(none).collect();
    let each = &mut |place, group| groups[place] = group;
    let taker = Taker { each, patience: Duration::ZERO };
    let (usage, timeline) = collect_each(collecting, generator, asked, taker)?;
    Ok(Collected { groups, usage, timeline })
}

/// Collects, and hands on each group as soon as it is over.
pub(super) fn collect_each(
    collecting: &Collecting<'_>,
    generator: &mut dyn Generator,
    asked: &[Asked<'_>],
    taker: Taker<'_>,
) -> Result<(Usage, Timeline), CollectError> {
    let judges = JudgePool::new(collecting, asked);
    thread::scope(|scope| {
        let channels = judges.start(scope, collecting.judges)?;
        let mut driver =
            Driver { clock: judges.clock, ..Driver::new(collecting, asked, channels, taker) };
        driver.ask_first(&judges)?;
        let usage = generator.generate_turns(&mut driver)?;
        Ok((usage, driver.end()?))
    })
}

/// A group without rollouts.
fn none(asked: &Asked<'_>) -> Group {
    Group::of(asked.task.id.clone())
}

impl<'a, 't> Driver<'a, 't> {
    fn new(
        collecting: &'a Collecting<'a>,
        asked: &'a [Asked<'a>],
        channels: Channels,
        taker: Taker<'t>,
    ) -> Self {
        Self {
            collecting,
            asked,
            clock: Instant::now(),
            channels,
            groups: asked.iter().map(none).collect(),
            taker,
            progress: Progress::default(),
            questions: Vec::new(),
            next_prompts: Vec::new(),
            over: Vec::new(),
            sampling: BTreeSet::new(),
            open: BTreeSet::new(),
            timeline: Timeline::default(),
            working_since: None,
            stopped: false,
        }
    }

    /// One prompt for all samples of a task.
    fn ask_first(&mut self, judges: &JudgePool<'_>) -> Result<(), CollectError> {
        for (group, asked) in self.asked.iter().enumerate().filter(|(_, asked)| asked.samples > 0) {
            let ids = (0..asked.samples).map(|sample| RolloutId { group, sample });
            match judges.first_prompt(group)? {
                Ok(prompt) => {
                    let open = |id| {
                        let asked = Arc::clone(&prompt.messages);
                        OpenRollout { id, turns: Vec::new(), asked, episode: None }
                    };
                    let waiting = ids.map(open).map(Some).collect();
                    self.next_prompts.push(NextPrompt {
                        id: RolloutId { group, sample: 0 },
                        turn: 0,
                        seed: turn_seed(asked.seed, 0),
                        question: Question { prompt, waiting },
                        follows: None,
                    });
                }
                Err(reason) => ids.for_each(|id| self.left_out(id, Vec::new(), &reason)),
            }
        }
        Ok(())
    }

    /// The next turn of an episode that goes on. Its seed is that of its group, turn and sample.
    fn ask_again(&mut self, rollout: OpenRollout, prompt: RenderedPrompt, follows: SampleId) {
        let rollout = OpenRollout { asked: Arc::clone(&prompt.messages), ..rollout };
        let (id, turn) = (rollout.id, rollout.turns.len());
        let seed = turn_seed(self.asked[id.group].seed, turn).derive("sample", id.sample as u64);
        let question = Question { prompt, waiting: vec![Some(rollout)] };
        self.next_prompts.push(NextPrompt { id, turn, seed, question, follows: Some(follows) });
    }

    /// What the generator has not been told yet, in the order of rollouts.
    fn take_news(&mut self) -> News {
        let mut next = std::mem::take(&mut self.next_prompts);
        next.sort_by_key(|next| next.id);
        let prompts = next.into_iter().map(|next| self.give_prompt(next)).collect();
        News { prompts, over: std::mem::take(&mut self.over) }
    }

    fn give_prompt(&mut self, next: NextPrompt) -> TurnPrompt {
        let NextPrompt { id, turn, seed, question, follows } = next;
        let Collecting { environment, rule, stop, max_tokens, max_prompt_tokens, .. } =
            *self.collecting;
        let prompt = Prompt {
            tokens: question.prompt.tokens.to_vec(),
            messages: Arc::clone(&question.prompt.messages),
            samples: question.waiting.len(),
            first_sample: 0,
            rule,
            seed,
            max_tokens,
            stop: stop.to_vec(),
        };
        let waiting = question.waiting.iter().flatten();
        self.sampling.extend(waiting.map(|rollout| rollout.id));
        self.questions.push(question);
        let may_go_on = turn + 1 < environment.max_turns(self.asked[id.group].task);
        let most_tokens = may_go_on.then(|| max_prompt_tokens.saturating_add(max_tokens));
        TurnPrompt { prompt, follows, most_tokens }
    }

    /// Hands a completion to the judges.
    ///
    /// A completion of no open rollout is ignored.
    fn sampled(&mut self, sampled: SampledCompletion) {
        let SampledCompletion { prompt, sample, completion } = sampled;
        let Some(question) = self.questions.get_mut(prompt) else { return };
        let waiting = question.waiting.get_mut(sample);
        let Some(mut rollout) = waiting.and_then(Option::take) else { return };
        let RenderedPrompt { tokens, messages } = &question.prompt;
        let asked = if rollout.turns.is_empty() { Arc::clone(messages) } else { newest(messages) };
        rollout.turns.push(Turn { prompt: Arc::clone(tokens), asked, completion });
        self.sampling.remove(&rollout.id);
        self.open.insert(rollout.id);
        let sample = SampleId { prompt, sample };
        let job = Job { rollout, sample, sampled_at: self.clock.elapsed() };
        self.channels.jobs.send(job).expect("judges stay until the channels are dropped");
        self.progress.sampled += 1;
        self.tell();
    }

    /// Takes the answers of the judges that are there.
    fn take_answers(&mut self) {
        while let Ok(answer) = self.channels.answers.try_recv() {
            self.answered(answer);
        }
    }

    /// Waits for an answer of a judge.
    fn wait_for_answer(&mut self) {
        let answer = self.channels.answers.recv();
        self.answered(answer.expect("judges stay until the channels are dropped"));
    }

    fn answered(&mut self, answer: TurnAnswer) {
        let TurnAnswer { sample: completion, span, result } = answer;
        let Span { group, sample, .. } = span;
        self.open.remove(&RolloutId { group, sample });
        self.progress.judged += 1;
        self.timeline.spans.push(span);
        match result {
            TurnResult::Asks(rollout, prompt) => self.ask_again(rollout, prompt, completion),
            TurnResult::Over(rollout) => {
                self.over.push(completion);
                self.progress.over += 1;
                self.groups[group].rollouts.push(rollout);
            }
            TurnResult::Dropped(dropped) => {
                self.over.push(completion);
                self.progress.dropped += 1;
                self.groups[group].dropped.push(dropped);
            }
        }
        self.hand_over(group);
        self.tell();
    }

    /// A rollout that never came to the judges.
    fn left_out(&mut self, id: RolloutId, turns: Vec<Turn>, reason: &Infrastructure) {
        let RolloutId { group, sample } = id;
        self.groups[group].dropped.push(Dropped { sample, turns, reason: reason.clone() });
        self.sampling.remove(&id);
        self.progress.dropped += 1;
        self.hand_over(group);
        self.tell();
    }

    /// Hands a group over if it is whole.
    fn hand_over(&mut self, place: usize) {
        if self.over(place) == self.asked[place].samples {
            self.give(place);
        }
    }

    /// Rollouts of a group that are over.
    fn over(&self, place: usize) -> usize {
        self.groups[place].rollouts.len() + self.groups[place].dropped.len()
    }

    /// Gives what there is of a group, by the numbers of its rollouts.
    fn give(&mut self, place: usize) {
        let mut group = std::mem::replace(&mut self.groups[place], none(&self.asked[place]));
        group.rollouts.sort_by_key(|rollout| rollout.sample);
        group.dropped.sort_by_key(|dropped| dropped.sample);
        (self.taker.each)(place, group);
    }

    /// The end of a collection, after the generator's.
    fn end(mut self) -> Result<Timeline, CollectError> {
        self.pause();
        if !self.sampling.is_empty() {
            // The generator may have been told to stop before this thread was.
            self.tell();
        }
        while !self.open.is_empty() && !self.stopped {
            self.wait_for_answer();
        }
        if self.stopped {
            return Err(self.stop());
        }
        let next = std::mem::take(&mut self.next_prompts).into_iter().map(|next| next.question);
        let questions = std::mem::take(&mut self.questions).into_iter().chain(next);
        for rollout in questions.flat_map(|question| question.waiting).flatten() {
            let reason = Infrastructure("the generator gave no completion".to_owned());
            self.left_out(rollout.id, rollout.turns, &reason);
        }
        if self.stopped {
            return Err(self.stop());
        }
        let mut timeline = std::mem::take(&mut self.timeline);
        timeline.close(self.clock.elapsed());
        timeline.spans.sort_by_key(|span| (span.group, span.sample, span.sampled_at));
        Ok(timeline)
    }

    /// Ends the collection early: what the judges have is waited for, but not for long, and the groups
    /// that have begun are given as they are.
    fn stop(&mut self) -> CollectError {
        let end = Instant::now() + self.taker.patience;
        while !self.open.is_empty() {
            let left = end.saturating_duration_since(Instant::now());
            let Ok(answer) = self.channels.answers.recv_timeout(left) else { break };
            self.answered(answer);
        }
        for place in 0..self.groups.len() {
            if self.over(place) > 0 {
                self.give(place);
            }
        }
        CollectError::Stopped
    }

    /// The generator has nothing to do.
    fn pause(&mut self) {
        let now = self.clock.elapsed();
        self.timeline.sampling.extend(self.working_since.take().map(|since| since..now));
    }

    fn tell(&mut self) {
        let first = self.open.first().or_else(|| self.sampling.first());
        let waits_for = first.map(|id| (&self.asked[id.group].task.id, id.sample));
        let told = (self.collecting.on_event)(Progress { waits_for, ..self.progress });
        self.stopped |= told.is_break();
    }
}

impl Conversations for Driver<'_, '_> {
    fn news(&mut self) -> News {
        self.take_answers();
        self.take_news()
    }

    fn wait(&mut self, until: Until) -> News {
        self.pause();
        self.take_answers();
        let is_enough = |driver: &Self| match until {
            Until::Any => !driver.next_prompts.is_empty() || driver.open.is_empty(),
            Until::All => driver.open.is_empty(),
        };
        while !self.stopped && !is_enough(self) {
            self.wait_for_answer();
        }
        if self.stopped {
            return News::default();
        }
        let news = self.take_news();
        self.working_since = (!news.prompts.is_empty()).then(|| self.clock.elapsed());
        news
    }

    fn done(&mut self, sampled: SampledCompletion) -> ControlFlow<()> {
        self.sampled(sampled);
        self.take_answers();
        if self.stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// The messages behind the last reply: the environment's answer to it.
fn newest(messages: &[Message]) -> Arc<[Message]> {
    let replied = messages.iter().rposition(|message| message.role == Role::Assistant);
    Arc::from(&messages[replied.map_or(0, |at| at + 1)..])
}

/// The seed of a turn's samples.
fn turn_seed(seed: Seed, turn: usize) -> Seed {
    seed.derive("turn", turn as u64)
}
