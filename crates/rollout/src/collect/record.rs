//! Collected rollouts as lines of `rollouts.jsonl`, scored.
//!
//! ```json
//! {"step":0,"prompt_id":"x/1","group_id":3,"text":"…",
//!  "meta":{"temperature":1.0,"top_p":1.0,"max_new_tokens":512,"tokens":207,"finish":"stop","end":"done",
//!          "turns":[{"prompt":[1,2],"finish":"stop","ids":[7,9],"logps":[-0.1,-0.2]}]},
//!  "validation":{…},"reward":{…},"advantage":0.7}
//! ```
//!
//! `text` is what was said last. `turns` has the tokens, as they were seen and sampled, so that a
//! step can be taken again from its lines ([`turns`] reads them); a turn before the last has its
//! `text` too. `model` is who sampled, and `tokenizer` the digest of the vocabulary that `ids` belong to. A rollout that could not be judged has its reason under `validation`, no reward and no
//! `end`. Where the prompt ended inside the thinking tag, `meta` has `"thinking_opened":true`: the text
//! begins with thinking.
//!
//! An episode, which is a rollout of several turns or one of an environment that runs no programs, has the messages of
//! the environment beside its turns, one list a turn: at first the prompt, then the answer to each reply. Readers that
//! do not know the field pass over it.
//!
//! ```json
//! "asked":[[{"role":"user","content":"Guess."}],[{"role":"user","content":"Higher."}]]
//! ```

use std::iter;
use std::sync::Arc;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use whetstone_core::completion::{Completion, Finish, SampledTokens};
use whetstone_core::message::Message;
use whetstone_core::outcome::Evidence;
use whetstone_core::rollout::{RolloutLine, Score};
use whetstone_core::task::TaskId;
use whetstone_core::wire::{Object, WireError};
use whetstone_infer::Rule;

use super::group::sampled_tokens;
use super::{Dropped, End, Group, Rollout, Turn};

/// The field of `meta` with the number of sampled tokens.
pub const TOKENS: &str = "tokens";

/// The field of `meta` with the tokens.
const TURNS: &str = "turns";

/// The field of `meta` with what the environment said before each turn of an episode.
const ASKED: &str = "asked";

/// The field of `meta` with the name of the model that sampled.
pub const MODEL: &str = "model";

/// The field of `meta` with the digest of the vocabulary that token ids belong to.
pub const TOKENIZER: &str = "tokenizer";

/// The field of `meta` that says that the prompt ended inside the thinking tag.
pub(crate) const THINKING_OPENED: &str = "thinking_opened";

/// Metadata that a group's lines have beside the group.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recording<'a> {
    /// The optimizer step that it was sampled for.
    pub step: u64,
    /// Sampling parameters.
    pub rule: Rule,
    /// Tokens of a completion at most, if that is known.
    pub max_tokens: Option<usize>,
    /// The model that sampled.
    pub model: Option<&'a str>,
    /// The digest of the vocabulary that token ids belong to.
    pub tokenizer: Option<&'a str>,
    /// One for each rollout that was judged, in their order; none are not written.
    pub advantages: &'a [f64],
    /// What a critic made of the tokens of each rollout that was judged; none are not written.
    pub estimates: &'a [TokenEstimates],
    /// Whether the prompt ended inside the thinking tag.
    pub thinking_opened: bool,
}

/// A critic's numbers of the tokens that a rollout said, over all its turns.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TokenEstimates {
    /// The value before each token.
    pub values: Vec<f32>,
    /// The return of each token.
    pub returns: Vec<f32>,
}

/// A turn on the wire.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    prompt: Vec<u32>,
    /// Not of the last turn: that is the line's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reasoning: Option<String>,
    finish: Finish,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ids: Option<Vec<u32>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    logps: Option<Vec<f32>>,
    /// A critic's value before each token, and its return.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    values: Option<Vec<f32>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    returns: Option<Vec<f32>>,
}

/// A turn as a line has it. Files of others may have tokens without log-probabilities, or text alone.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedTurn {
    /// The tokens that the model saw.
    pub prompt: Arc<[u32]>,
    /// The completion's text.
    pub text: String,
    /// Thinking that a server sent apart from the text.
    pub reasoning: Option<String>,
    /// Why it ended.
    pub finish: Finish,
    /// The tokens that it said.
    pub ids: Option<Vec<u32>>,
    /// The log-probability of each, under the policy that sampled it.
    pub logps: Option<Vec<f32>>,
}

/// A reply that nobody judged.
#[derive(Debug, Clone, Copy)]
pub struct UnjudgedReply<'a> {
    /// The task.
    pub task: &'a TaskId,
    /// Its number in the group, from 0.
    pub sample: usize,
    /// The prompt and the reply.
    pub turn: &'a Turn,
}

/// A rollout, judged or not.
struct AnyRollout<'a> {
    sample: usize,
    turns: &'a [Turn],
    end: Option<End>,
    /// None of a reply that nobody judged.
    score: Option<Score>,
    estimates: Option<&'a TokenEstimates>,
}

/// The lines of a group, by the numbers of its rollouts.
pub fn lines(group: &Group, recording: &Recording<'_>) -> Vec<RolloutLine> {
    let advantages = recording.advantages.iter().copied().map(Some).chain(iter::repeat(None));
    let judged =
        group.rollouts.iter().zip(advantages).enumerate().map(|(at, (rollout, advantage))| {
            AnyRollout { estimates: recording.estimates.get(at), ..judged(rollout, advantage) }
        });
    let told = judged.chain(group.dropped.iter().map(failed));
    let mut lines: Vec<RolloutLine> = told.map(|told| line(told, &group.task, recording)).collect();
    lines.sort_by_key(|line| line.group_id);
    lines
}

/// The line of a single reply that nobody judged: that of [`lines`] without a score.
pub fn unjudged_line(reply: &UnjudgedReply<'_>, recording: &Recording<'_>) -> RolloutLine {
    let UnjudgedReply { task, sample, turn } = *reply;
    let turns = std::slice::from_ref(turn);
    let end = Some(End::Done);
    let mut line =
        line(AnyRollout { sample, turns, end, score: None, estimates: None }, task, recording);
    if turn.completion.tokens.is_none() {
        // A server does not say how many there were.
        drop(line.meta.take::<IgnoredAny>(TOKENS));
    }
    line
}

/// The turns of a line that [`lines`] made; none if it came from elsewhere.
///
/// # Errors
///
/// If what stands there are no turns, or log-probabilities that do not belong to the tokens.
pub fn turns(rollout: &RolloutLine) -> Result<Vec<RecordedTurn>, WireError> {
    let written: Vec<Written> = rollout.meta.clone().take(TURNS)?.unwrap_or_default();
    written.into_iter().map(|turn| read(turn, &rollout.text)).collect()
}

/// Removes the tokens of a line that [`lines`] made: what only training needs. An episode keeps the texts of its
/// turns, so that it can be read and scored again, and a reply the thinking that its server sent apart.
pub fn remove_tokens(rollout: &mut RolloutLine) {
    // Either field may be absent. If present, this process wrote it, so it can be parsed.
    let turns: Vec<Written> = rollout.meta.take(TURNS).ok().flatten().unwrap_or_default();
    drop(rollout.meta.take::<IgnoredAny>(TOKENIZER));
    let has_thinking = turns.iter().any(|turn| turn.reasoning.is_some());
    if has_thinking || rollout.meta.get(ASKED).is_some() {
        let texts: Vec<Written> = turns.into_iter().map(Written::without_tokens).collect();
        rollout.meta.put(TURNS, &texts);
    }
}

fn judged(rollout: &Rollout, advantage: Option<f64>) -> AnyRollout<'_> {
    let score = Some(Score::Scored { outcome: rollout.outcome.clone(), advantage });
    let (turns, end) = (&rollout.turns, Some(rollout.end));
    AnyRollout { sample: rollout.sample, turns, end, score, estimates: None }
}

fn failed(dropped: &Dropped) -> AnyRollout<'_> {
    let score = Some(Score::Failed(dropped.reason.clone()));
    let turns = &dropped.turns;
    AnyRollout { sample: dropped.sample, turns, end: None, score, estimates: None }
}

fn line(told: AnyRollout<'_>, task: &TaskId, recording: &Recording<'_>) -> RolloutLine {
    let last = told.turns.last().map(|turn| &turn.completion);
    RolloutLine {
        step: recording.step,
        prompt_id: task.clone(),
        group_id: Some(told.sample as u64),
        text: last.map(|completion| completion.text.clone()).unwrap_or_default(),
        meta: meta(&told, recording),
        score: told.score,
        rest: Object::new(),
    }
}

fn meta(told: &AnyRollout<'_>, recording: &Recording<'_>) -> Object {
    let last = told.turns.len().saturating_sub(1);
    let mut told_of = 0;
    let written = told.turns.iter().enumerate().map(|(at, turn)| {
        let written = write(turn, at < last);
        let count = written.ids.as_ref().map_or(0, Vec::len);
        let range = told_of..told_of + count;
        told_of += count;
        let part = |list: &[f32]| list.get(range.clone()).map(<[f32]>::to_vec);
        Written {
            values: told.estimates.and_then(|of| part(&of.values)),
            returns: told.estimates.and_then(|of| part(&of.returns)),
            ..written
        }
    });
    let mut meta = Object::new();
    meta.put("temperature", &recording.rule.temperature);
    meta.put("top_p", &recording.rule.top_p);
    meta.put_some("max_new_tokens", recording.max_tokens.as_ref());
    meta.put_some(MODEL, recording.model.as_ref());
    meta.put_some(TOKENIZER, recording.tokenizer.as_ref());
    meta.put(TOKENS, &sampled_tokens(told.turns));
    meta.put_some("finish", told.turns.last().map(|turn| turn.completion.finish).as_ref());
    meta.put_some("end", told.end.map(End::name).as_ref());
    meta.put_some(THINKING_OPENED, recording.thinking_opened.then_some(true).as_ref());
    meta.put(TURNS, &written.collect::<Vec<_>>());
    if is_episode(told) {
        let asked: Vec<&[Message]> = told.turns.iter().map(|turn| &*turn.asked).collect();
        meta.put(ASKED, &asked);
    }
    meta
}

/// Whether what the environment said is kept: it is not where a task and its prompt say the same.
fn is_episode(told: &AnyRollout<'_>) -> bool {
    let is_observed = match &told.score {
        Some(Score::Scored { outcome, .. }) => {
            matches!(outcome.evidence, Evidence::Observed(_))
        }
        Some(Score::Failed(_)) | None => false,
    };
    is_observed || told.turns.len() > 1
}

impl Written {
    fn without_tokens(self) -> Self {
        let (ids, logps, values, returns) = (None, None, None, None);
        Self { prompt: Vec::new(), ids, logps, values, returns, ..self }
    }
}

fn write(turn: &Turn, with_text: bool) -> Written {
    let Completion { text, reasoning, finish, tokens } = &turn.completion;
    Written {
        prompt: turn.prompt.to_vec(),
        text: with_text.then(|| text.clone()),
        reasoning: reasoning.clone(),
        finish: *finish,
        ids: tokens.as_ref().map(|tokens| tokens.ids().to_vec()),
        logps: tokens.as_ref().map(|tokens| tokens.logps().to_vec()),
        values: None,
        returns: None,
    }
}

fn read(written: Written, last_text: &str) -> Result<RecordedTurn, WireError> {
    let Written { prompt, text, reasoning, finish, ids, logps, .. } = written;
    if let Some(logps) = &logps {
        SampledTokens::new(ids.clone().unwrap_or_default(), logps.clone())
            .map_err(|err| WireError::Field { field: TURNS, problem: err.to_string() })?;
    }
    let text = text.unwrap_or_else(|| last_text.to_owned());
    Ok(RecordedTurn { prompt: Arc::from(prompt), text, reasoning, finish, ids, logps })
}
