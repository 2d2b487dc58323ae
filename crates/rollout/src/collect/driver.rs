//! The thread that collects: it asks the generator, and hands on what comes.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use whetstone_core::judgement::Infrastructure;
use whetstone_core::seed::Seed;
use whetstone_infer::{Drawn, Generator, Prompt, Usage};

use super::judging::{Answer, Bench, Found, Job, Member, Place, Way};
use super::{
    Asked, CollectError, Collected, Collecting, Dropped, Gathered, Progress, Span, Timeline, Turn,
    Wave,
};

/// A prompt, and the rollouts that wait for its completions.
struct Question {
    prompt: Arc<[u32]>,
    seed: Seed,
    waiting: Vec<Option<Member>>,
}

/// A collection under way.
struct Driver<'a> {
    collecting: &'a Collecting<'a>,
    asked: &'a [Asked<'a>],
    clock: Instant,
    groups: Vec<Gathered>,
    progress: Progress<'a>,
    /// Of this wave: what is being sampled.
    drawn: BTreeSet<Place>,
    /// Of this wave: what the judges have.
    open: BTreeSet<Place>,
    /// Of this wave: what was judged.
    spans: Vec<Span>,
    /// Of this wave: who goes on.
    asks: Vec<(Member, Arc<[u32]>)>,
    /// Whether somebody wants it to end.
    stopped: bool,
}

/// Collects, whether or not anything could be judged.
pub(super) fn gather(
    collecting: &Collecting<'_>,
    generator: &mut dyn Generator,
    asked: &[Asked<'_>],
) -> Result<Collected, CollectError> {
    let bench = Bench::new(collecting, asked);
    let mut driver = Driver::new(collecting, asked, bench.clock);
    let mut questions = driver.first_questions(&bench)?;
    let (mut usage, mut timeline) = (Usage::default(), Timeline::default());
    thread::scope(|scope| {
        let way = bench.start(scope, collecting.judges)?;
        while !questions.is_empty() {
            let (used, wave) = driver.wave(generator, questions, &way)?;
            usage = usage.and(used);
            timeline.waves.push(wave);
            questions = driver.next_questions(timeline.waves.len());
        }
        Ok::<_, CollectError>(())
    })?;
    Ok(Collected { groups: driver.into_groups(), usage, timeline })
}

impl<'a> Driver<'a> {
    fn new(collecting: &'a Collecting<'a>, asked: &'a [Asked<'a>], clock: Instant) -> Self {
        let group = |it: &Asked<'_>| Gathered {
            task: it.task.id.clone(),
            rollouts: Vec::new(),
            dropped: Vec::new(),
        };
        Self {
            collecting,
            asked,
            clock,
            groups: asked.iter().map(group).collect(),
            progress: Progress::default(),
            drawn: BTreeSet::new(),
            open: BTreeSet::new(),
            spans: Vec::new(),
            asks: Vec::new(),
            stopped: false,
        }
    }

    /// One question for all samples of a task.
    fn first_questions(&mut self, bench: &Bench<'_>) -> Result<Vec<Question>, CollectError> {
        let mut questions = Vec::new();
        for (group, it) in self.asked.iter().enumerate().filter(|(_, it)| it.samples > 0) {
            let places = (0..it.samples).map(|sample| Place { group, sample });
            match bench.first_prompt(group)? {
                Ok(prompt) => {
                    let member = |place| Member { place, turns: Vec::new(), episode: None };
                    let waiting = places.map(member).map(Some).collect();
                    questions.push(Question { prompt, seed: turn_seed(it.seed, 0), waiting });
                }
                Err(reason) => places.for_each(|place| self.left_out(place, Vec::new(), &reason)),
            }
        }
        Ok(questions)
    }

    /// One question for every episode that goes on, in the order of their places.
    fn next_questions(&mut self, turn: usize) -> Vec<Question> {
        let mut asks = std::mem::take(&mut self.asks);
        asks.sort_by_key(|(member, _)| member.place);
        let question = |(member, prompt): (Member, _)| {
            let seed = turn_seed(self.asked[member.place.group].seed, turn);
            let seed = seed.derive("sample", member.place.sample as u64);
            Question { prompt, seed, waiting: vec![Some(member)] }
        };
        asks.into_iter().map(question).collect()
    }

    /// Samples every question, and waits until all of it is judged.
    fn wave(
        &mut self,
        generator: &mut dyn Generator,
        mut questions: Vec<Question>,
        way: &Way,
    ) -> Result<(Usage, Wave), CollectError> {
        let prompts: Vec<Prompt> = questions.iter().map(|it| self.prompt(it)).collect();
        self.drawn = waiting(&questions);
        let began = self.clock.elapsed();
        let mut hand_on = |drawn| {
            self.sampled(&mut questions, drawn, way);
            if self.stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let usage = generator.generate(&prompts, &mut hand_on)?;
        let sampling = began..self.clock.elapsed();
        for member in questions.into_iter().flat_map(|it| it.waiting).flatten() {
            let reason = Infrastructure("the generator gave no completion".to_owned());
            self.left_out(member.place, member.turns, &reason);
        }
        while !self.open.is_empty() && !self.stopped {
            let answer = way.answers.recv().expect("judges stay until the way is dropped");
            self.answered(answer);
        }
        if self.stopped {
            return Err(CollectError::Stopped);
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

    /// Hands a completion to the judges, and looks what they have meanwhile.
    ///
    /// One that nobody waits for is passed over.
    fn sampled(&mut self, questions: &mut [Question], drawn: Drawn, way: &Way) {
        let Some(question) = questions.get_mut(drawn.prompt) else { return };
        let waiting = question.waiting.get_mut(drawn.sample);
        let Some(mut member) = waiting.and_then(Option::take) else { return };
        let (prompt, completion) = (Arc::clone(&question.prompt), drawn.completion);
        member.turns.push(Turn { prompt, completion });
        self.drawn.remove(&member.place);
        self.open.insert(member.place);
        let job = Job { member, sampled_at: self.clock.elapsed() };
        way.jobs.send(job).expect("judges stay until the way is dropped");
        self.progress.sampled += 1;
        self.tell();
        while let Ok(answer) = way.answers.try_recv() {
            self.answered(answer);
        }
    }

    fn answered(&mut self, answer: Answer) {
        let Answer { span, found } = answer;
        let group = span.group;
        self.open.remove(&Place { group, sample: span.sample });
        self.progress.judged += 1;
        self.spans.push(span);
        match found {
            Found::Asks(member, prompt) => self.asks.push((member, prompt)),
            Found::Over(rolled) => {
                self.progress.over += 1;
                self.groups[group].rollouts.push(rolled);
            }
            Found::Dropped(dropped) => {
                self.progress.dropped += 1;
                self.groups[group].dropped.push(dropped);
            }
        }
        self.tell();
    }

    /// A rollout that never came to the judges.
    fn left_out(&mut self, place: Place, turns: Vec<Turn>, reason: &Infrastructure) {
        let Place { group, sample } = place;
        self.groups[group].dropped.push(Dropped { sample, turns, reason: reason.clone() });
        self.drawn.remove(&place);
        self.progress.dropped += 1;
        self.tell();
    }

    fn tell(&mut self) {
        let first = self.open.first().or_else(|| self.drawn.first());
        let waits_for = first.map(|place| (&self.asked[place.group].task.id, place.sample));
        let told = (self.collecting.on_event)(Progress { waits_for, ..self.progress });
        self.stopped |= told.is_break();
    }

    fn into_groups(self) -> Vec<Gathered> {
        let mut groups = self.groups;
        for group in &mut groups {
            group.rollouts.sort_by_key(|rolled| rolled.sample);
            group.dropped.sort_by_key(|dropped| dropped.sample);
        }
        groups
    }
}

/// The places of all rollouts that wait for a completion.
fn waiting(questions: &[Question]) -> BTreeSet<Place> {
    questions.iter().flat_map(|it| &it.waiting).flatten().map(|member| member.place).collect()
}

/// What the samples of a turn derive from.
fn turn_seed(seed: Seed, turn: usize) -> Seed {
    seed.derive("turn", turn as u64)
}
