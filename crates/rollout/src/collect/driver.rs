//! The collecting thread: it calls the generator, and hands completions to the judges.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use whetstone_core::judgement::Infrastructure;
use whetstone_core::seed::Seed;
use whetstone_infer::{Generator, Prompt, SampledCompletion, Usage};

use super::judging::{Answer, Channels, Job, JudgePool, Member, RolloutId, TurnResult};
use super::{
    Asked, CollectError, Collected, Collecting, Dropped, Group, Progress, Span, Timeline, Turn,
    Wave,
};

/// A prompt, and the rollouts that wait for its completions.
struct Question {
    prompt: Arc<[u32]>,
    seed: Seed,
    waiting: Vec<Option<Member>>,
}

/// The time given to judge what was sampled when a collection ends early.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// Receives every group that is over, with its index among those that were asked for.
pub(super) struct Taker<'a> {
    pub(super) each: &'a mut dyn FnMut(usize, Group),
    /// The time given to judge what was sampled when the collection ends early.
    pub(super) patience: Duration,
}

/// A collection under channels.
struct Driver<'a, 't> {
    collecting: &'a Collecting<'a>,
    asked: &'a [Asked<'a>],
    clock: Instant,
    /// Those that are not over.
    groups: Vec<Group>,
    taker: Taker<'t>,
    progress: Progress<'a>,
    /// Of this wave: rollouts that are being sampled.
    sampling: BTreeSet<RolloutId>,
    /// Of this wave: rollouts that are being judged.
    open: BTreeSet<RolloutId>,
    /// Of this wave: times of what was judged.
    spans: Vec<Span>,
    /// Of this wave: rollouts that have another turn.
    asks: Vec<(Member, Arc<[u32]>)>,
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
    let mut driver = Driver::new(collecting, asked, judges.clock, taker);
    let mut questions = driver.first_questions(&judges)?;
    let (mut usage, mut timeline) = (Usage::default(), Timeline::default());
    thread::scope(|scope| {
        let channels = judges.start(scope, collecting.judges)?;
        while !questions.is_empty() {
            let (used, wave) = driver.wave(generator, questions, &channels)?;
            usage = usage.and(used);
            timeline.waves.push(wave);
            questions = driver.next_questions(timeline.waves.len());
        }
        Ok::<_, CollectError>(())
    })?;
    Ok((usage, timeline))
}

/// A group without rollouts.
fn none(asked: &Asked<'_>) -> Group {
    Group { task: asked.task.id.clone(), rollouts: Vec::new(), dropped: Vec::new() }
}

impl<'a, 't> Driver<'a, 't> {
    fn new(
        collecting: &'a Collecting<'a>,
        asked: &'a [Asked<'a>],
        clock: Instant,
        taker: Taker<'t>,
    ) -> Self {
        Self {
            collecting,
            asked,
            clock,
            groups: asked.iter().map(none).collect(),
            taker,
            progress: Progress::default(),
            sampling: BTreeSet::new(),
            open: BTreeSet::new(),
            spans: Vec::new(),
            asks: Vec::new(),
            stopped: false,
        }
    }

    /// One question for all samples of a task.
    fn first_questions(&mut self, judges: &JudgePool<'_>) -> Result<Vec<Question>, CollectError> {
        let mut questions = Vec::new();
        for (group, asked) in self.asked.iter().enumerate().filter(|(_, asked)| asked.samples > 0) {
            let ids = (0..asked.samples).map(|sample| RolloutId { group, sample });
            match judges.first_prompt(group)? {
                Ok(prompt) => {
                    let member = |id| Member { id, turns: Vec::new(), episode: None };
                    let waiting = ids.map(member).map(Some).collect();
                    questions.push(Question { prompt, seed: turn_seed(asked.seed, 0), waiting });
                }
                Err(reason) => ids.for_each(|id| self.left_out(id, Vec::new(), &reason)),
            }
        }
        Ok(questions)
    }

    /// One question for every episode that goes on, in the order of their ids.
    fn next_questions(&mut self, turn: usize) -> Vec<Question> {
        let mut asks = std::mem::take(&mut self.asks);
        asks.sort_by_key(|(member, _)| member.id);
        let question = |(member, prompt): (Member, _)| {
            let seed = turn_seed(self.asked[member.id.group].seed, turn);
            let seed = seed.derive("sample", member.id.sample as u64);
            Question { prompt, seed, waiting: vec![Some(member)] }
        };
        asks.into_iter().map(question).collect()
    }

    /// Samples every question, and waits until all of it is judged.
    fn wave(
        &mut self,
        generator: &mut dyn Generator,
        mut questions: Vec<Question>,
        channels: &Channels,
    ) -> Result<(Usage, Wave), CollectError> {
        let prompts: Vec<Prompt> = questions.iter().map(|question| self.prompt(question)).collect();
        self.sampling = waiting(&questions);
        let began = self.clock.elapsed();
        let mut hand_on = |drawn| {
            self.sampled(&mut questions, drawn, channels);
            if self.stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let usage = generator.generate(&prompts, &mut hand_on)?;
        let sampling = began..self.clock.elapsed();
        if self.stopped {
            return Err(self.stop(channels));
        }
        for member in questions.into_iter().flat_map(|question| question.waiting).flatten() {
            let reason = Infrastructure("the generator gave no completion".to_owned());
            self.left_out(member.id, member.turns, &reason);
        }
        while !self.open.is_empty() && !self.stopped {
            let answer =
                channels.answers.recv().expect("judges stay until the channels are dropped");
            self.answered(answer);
        }
        if self.stopped {
            return Err(self.stop(channels));
        }
        let judged_at = self.clock.elapsed();
        let mut spans = std::mem::take(&mut self.spans);
        spans.sort_by_key(|span| (span.group, span.sample));
        Ok((usage, Wave { sampling, judged_at, spans }))
    }

    fn prompt(&self, question: &Question) -> Prompt {
        Prompt {
            tokens: question.prompt.to_vec(),
            samples: question.waiting.len(),
            rule: self.collecting.rule,
            seed: question.seed,
            max_tokens: self.collecting.max_tokens,
            stop: Vec::new(),
        }
    }

    /// Hands a completion to the judges, and takes the answers that are there.
    ///
    /// A completion of no open rollout is ignored.
    fn sampled(
        &mut self,
        questions: &mut [Question],
        drawn: SampledCompletion,
        channels: &Channels,
    ) {
        let Some(question) = questions.get_mut(drawn.prompt) else { return };
        let waiting = question.waiting.get_mut(drawn.sample);
        let Some(mut member) = waiting.and_then(Option::take) else { return };
        let (prompt, completion) = (Arc::clone(&question.prompt), drawn.completion);
        member.turns.push(Turn { prompt, completion });
        self.sampling.remove(&member.id);
        self.open.insert(member.id);
        let job = Job { member, sampled_at: self.clock.elapsed() };
        channels.jobs.send(job).expect("judges stay until the channels are dropped");
        self.progress.sampled += 1;
        self.tell();
        while let Ok(answer) = channels.answers.try_recv() {
            self.answered(answer);
        }
    }

    fn answered(&mut self, answer: Answer) {
        let Answer { span, result } = answer;
        let group = span.group;
        self.open.remove(&RolloutId { group, sample: span.sample });
        self.progress.judged += 1;
        self.spans.push(span);
        match result {
            TurnResult::Asks(member, prompt) => self.asks.push((member, prompt)),
            TurnResult::Over(rollout) => {
                self.progress.over += 1;
                self.groups[group].rollouts.push(rollout);
            }
            TurnResult::Dropped(dropped) => {
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

    /// Ends the collection early: what the judges have is waited for, but not for long, and the groups
    /// that have begun are given as they are.
    fn stop(&mut self, channels: &Channels) -> CollectError {
        let end = Instant::now() + self.taker.patience;
        while !self.open.is_empty() {
            let left = end.saturating_duration_since(Instant::now());
            let Ok(answer) = channels.answers.recv_timeout(left) else { break };
            self.answered(answer);
        }
        for place in 0..self.groups.len() {
            if self.over(place) > 0 {
                self.give(place);
            }
        }
        CollectError::Stopped
    }

    fn tell(&mut self) {
        let first = self.open.first().or_else(|| self.sampling.first());
        let waits_for = first.map(|id| (&self.asked[id.group].task.id, id.sample));
        let told = (self.collecting.on_event)(Progress { waits_for, ..self.progress });
        self.stopped |= told.is_break();
    }
}

/// All rollouts that wait for a completion.
fn waiting(questions: &[Question]) -> BTreeSet<RolloutId> {
    questions
        .iter()
        .flat_map(|question| &question.waiting)
        .flatten()
        .map(|member| member.id)
        .collect()
}

/// The seed of a turn's samples.
fn turn_seed(seed: Seed, turn: usize) -> Seed {
    seed.derive("turn", turn as u64)
}
