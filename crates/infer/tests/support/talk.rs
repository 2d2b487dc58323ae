//! Conversations of several turns with a generator, whose answers are made up from their numbers.

#![expect(clippy::unwrap_used, reason = "a test that cannot begin has failed")]

use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;

use whetstone_core::{Completion, Seed};
use whetstone_infer::{
    Conversations, GenerateError, Generator, News, Prompt, Rule, SampleId, SampledCompletion,
    TurnPrompt, Until, Usage,
};

/// A conversation: its first prompt, and the tokens of each completion and of each answer.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    /// Samples and answers follow from it.
    pub(crate) seed: u64,
    pub(crate) prompt: Vec<u32>,
    pub(crate) samples: usize,
    pub(crate) rule: Rule,
    /// Tokens of a completion at most, for each turn.
    pub(crate) turns: Vec<usize>,
    /// Tokens of an answer.
    pub(crate) answer: usize,
    /// Tokens at the beginning of a later prompt that are those of the turn before it; the others are new.
    pub(crate) same: usize,
}

/// A turn of a sample of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TurnId {
    pub(crate) script: usize,
    pub(crate) sample: usize,
    pub(crate) turn: usize,
}

/// When completions are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answers {
    /// At once.
    AtOnce,
    /// When the generator has nothing to do, one at a time, the newest first.
    Late,
}

/// Scripts that are being played.
pub(crate) struct Talk<'a> {
    vocab: u32,
    scripts: &'a [Script],
    answers: Answers,
    /// The turns of each prompt that the generator was given.
    given: Vec<TurnId>,
    waiting: VecDeque<(TurnId, TurnPrompt)>,
    /// Answers that are held back.
    held: Vec<(TurnId, TurnPrompt)>,
    over: Vec<SampleId>,
    /// Completions, in the order in which they came.
    pub(crate) order: Vec<TurnId>,
    pub(crate) completions: BTreeMap<TurnId, Completion>,
    prompts: BTreeMap<TurnId, Vec<u32>>,
}

impl<'a> Talk<'a> {
    pub(crate) fn new(vocab: u32, scripts: &'a [Script], answers: Answers) -> Self {
        let mut talk = Self {
            vocab,
            scripts,
            answers,
            given: Vec::new(),
            waiting: VecDeque::new(),
            held: Vec::new(),
            over: Vec::new(),
            order: Vec::new(),
            completions: BTreeMap::new(),
            prompts: BTreeMap::new(),
        };
        for (at, script) in scripts.iter().enumerate() {
            let id = TurnId { script: at, sample: 0, turn: 0 };
            let prompt = talk.prompt(id, script.prompt.clone(), script.samples);
            talk.waiting.push_back((id, talk.turn(id, prompt, None)));
        }
        talk
    }

    fn prompt(&self, id: TurnId, tokens: Vec<u32>, samples: usize) -> Prompt {
        let TurnId { script, sample, turn } = id;
        let seed = Seed::new(self.scripts[script].seed).derive("turn", turn as u64);
        let seed = if turn == 0 { seed } else { seed.derive("sample", sample as u64) };
        let Script { rule, ref turns, .. } = self.scripts[script];
        Prompt {
            tokens,
            messages: [].into(),
            samples,
            first_sample: 0,
            rule,
            seed,
            max_tokens: turns[turn],
            stop: Vec::new(),
        }
    }

    fn turn(&self, id: TurnId, prompt: Prompt, follows: Option<SampleId>) -> TurnPrompt {
        let script = &self.scripts[id.script];
        let may_go_on = id.turn + 1 < script.turns.len();
        let completions: usize = script.turns.iter().sum();
        let all = script.prompt.len() + completions + script.turns.len() * script.answer;
        TurnPrompt { prompt, follows, most_tokens: may_go_on.then_some(all) }
    }

    /// The prompt of the turn after this one.
    fn answered(&self, id: TurnId, said: &[u32]) -> Vec<u32> {
        let script = &self.scripts[id.script];
        let mut tokens = [self.prompts[&id].as_slice(), said].concat();
        let number = |at: usize| {
            u32::try_from((5 * at + 11 * id.turn) as u64 + 3 * script.seed).unwrap() % self.vocab
        };
        let begin = tokens.len().min(script.same);
        for (at, token) in tokens.iter_mut().enumerate().skip(begin) {
            *token = number(at);
        }
        tokens.extend((0..script.answer).map(number));
        tokens
    }

    fn take(&mut self) -> News {
        let mut prompts = Vec::new();
        while let Some((id, turn)) = self.waiting.pop_front() {
            self.given.push(id);
            for sample in 0..turn.prompt.samples {
                let sample = if id.turn == 0 { sample } else { id.sample };
                self.prompts.insert(TurnId { sample, ..id }, turn.prompt.tokens.clone());
            }
            prompts.push(turn);
        }
        News { prompts, over: std::mem::take(&mut self.over) }
    }
}

impl Conversations for Talk<'_> {
    fn news(&mut self) -> News {
        self.take()
    }

    fn wait(&mut self, until: Until) -> News {
        match until {
            Until::Any if self.waiting.is_empty() => self.waiting.extend(self.held.pop()),
            Until::Any => {}
            Until::All => self.waiting.extend(self.held.drain(..)),
        }
        self.take()
    }

    fn done(&mut self, sampled: SampledCompletion) -> ControlFlow<()> {
        let SampledCompletion { prompt, sample, completion } = sampled;
        let given = self.given[prompt];
        let id = TurnId { sample: if given.turn == 0 { sample } else { given.sample }, ..given };
        let from = SampleId { prompt, sample };
        if id.turn + 1 < self.scripts[id.script].turns.len() {
            let said = completion.tokens.as_ref().unwrap().ids();
            let next = TurnId { turn: id.turn + 1, ..id };
            let prompt = self.prompt(next, self.answered(id, said), 1);
            let turn = (next, self.turn(next, prompt, Some(from)));
            match self.answers {
                Answers::AtOnce => self.waiting.push_back(turn),
                Answers::Late => self.held.push(turn),
            }
        } else {
            self.over.push(from);
        }
        self.order.push(id);
        assert!(self.completions.insert(id, completion).is_none(), "{id:?} twice");
        ControlFlow::Continue(())
    }
}

/// A generator that is asked in waves, each with whole prompts.
pub(crate) struct Waves<G>(pub(crate) G);

impl<G: Generator> Generator for Waves<G> {
    fn generate(
        &mut self,
        prompts: &[Prompt],
        done: &mut dyn FnMut(SampledCompletion) -> ControlFlow<()>,
    ) -> Result<Usage, GenerateError> {
        self.0.generate(prompts, done)
    }
}
