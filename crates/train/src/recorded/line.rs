//! One line of the file: checked, and put into its group.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use whetstone_core::completion::{Completion, Finish, SampledTokens};
use whetstone_core::config::Config;
use whetstone_core::outcome::Evidence;
use whetstone_core::rollout::{RolloutLine, Score};
use whetstone_core::task::Task;
use whetstone_core::wire::WireError;
use whetstone_rollout::collect::record::{RecordedTurn, turns};
use whetstone_rollout::collect::{Dropped, End, Group, Rollout, Turn};

use super::tokens::{TaskPrompt, Vocabulary};
use super::{Recorded, RecordedCounts, TurnIndex};
use crate::error::TrainError;
use crate::student::Student;

/// Temperatures closer than this are the same: a file may have rounded one.
const TEMPERATURE_SLACK: f64 = 1e-6;

/// Reads the lines of a file.
pub(super) struct Reader<'a> {
    path: &'a Path,
    config: &'a Config,
    vocabulary: Vocabulary<'a>,
    tasks: HashMap<&'a str, &'a Task>,
    /// Prompts that were rendered, by task.
    prompts: HashMap<String, TaskPrompt>,
    /// The line of every rollout, by step, task and number.
    seen: HashMap<(u64, String, u64), u64>,
}

/// Parts that a recorded rollout lacks.
#[derive(Default)]
struct Lacks {
    logps: bool,
    tokens: bool,
    room: bool,
    /// For each turn the tokens that need log-probabilities, if it has none and is learnt from.
    unscored: Vec<Option<Vec<u32>>>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        path: &'a Path,
        student: &'a Student,
        config: &'a Config,
        tasks: &'a [Task],
    ) -> Self {
        Self {
            path,
            config,
            vocabulary: Vocabulary::new(path, student, config),
            tasks: tasks.iter().map(|task| (task.id.as_str(), task)).collect(),
            prompts: HashMap::new(),
            seen: HashMap::new(),
        }
    }

    /// Puts a line into the group at index `at`.
    pub(super) fn add(
        &mut self,
        line: u64,
        rollout: &RolloutLine,
        recorded: &mut Recorded,
        at: usize,
    ) -> Result<(), TrainError> {
        let Recorded { groups, unscored, counts, .. } = recorded;
        let group = &mut groups[at];
        let sample = self.number(line, rollout, group)?;
        let outcome = match rollout.score.clone() {
            None => return Err(self.bad(line, NOT_SCORED)),
            Some(Score::Failed(reason)) => {
                counts.unjudged += 1;
                group.dropped.push(Dropped { sample, turns: Vec::new(), reason });
                return Ok(());
            }
            Some(Score::Scored { outcome, .. }) => outcome,
        };
        self.check_sampling(line, rollout, counts)?;
        let written = turns(rollout).map_err(|err| self.bad(line, err.to_string()))?;
        if written.iter().any(|turn| turn.ids.is_some() && turn.prompt.is_empty()) {
            return Err(self.bad(line, "has an empty prompt"));
        }
        self.vocabulary.check(line, rollout, &written)?;
        let (turns, lacks) = self.turns(line, rollout, written)?;
        counts.rollouts += 1;
        counts.not_run += usize::from(outcome.evidence == Evidence::NotRun);
        counts.without_logps += usize::from(lacks.logps);
        counts.retokenized += usize::from(lacks.tokens);
        counts.too_long += usize::from(lacks.room);
        let end = end(rollout).map_err(|err| self.bad(line, err.to_string()))?;
        let index = |turn| TurnIndex { group: at, rollout: group.rollouts.len(), turn };
        let lacking = lacks.unscored.into_iter().enumerate();
        unscored.extend(lacking.filter_map(|(turn, ids)| ids.map(|ids| (index(turn), ids))));
        group.rollouts.push(Rollout { sample, turns, outcome, end });
        Ok(())
    }

    /// The number of a rollout in its group: its own, or the next.
    fn number(
        &mut self,
        line: u64,
        rollout: &RolloutLine,
        group: &Group,
    ) -> Result<usize, TrainError> {
        let next = (group.rollouts.len() + group.dropped.len()) as u64;
        let number = rollout.group_id.unwrap_or(next);
        let key = (rollout.step, rollout.prompt_id.to_string(), number);
        if let Some(first) = self.seen.insert(key, line) {
            return Err(self.bad(
                line,
                format!(
                    "sample {number} of task `{}` at step {} stands already in line {first}",
                    rollout.prompt_id, rollout.step
                ),
            ));
        }
        usize::try_from(number).map_err(|_| self.bad(line, "`group_id` is too large"))
    }

    /// Whether the line was sampled as the student is trained.
    fn check_sampling(
        &self,
        line: u64,
        rollout: &RolloutLine,
        counts: &mut RecordedCounts,
    ) -> Result<(), TrainError> {
        let mut meta = rollout.meta.clone();
        let number = |value: Result<Option<f64>, WireError>| {
            value.map_err(|err| self.bad(line, err.to_string()))
        };
        let trained = self.config.grpo.temperature;
        if let Some(sampled) = number(meta.take("temperature"))?
            && (sampled - trained).abs() > TEMPERATURE_SLACK
        {
            return Err(self.bad(
                line,
                format!(
                    "sampled at temperature {sampled}, and `grpo.temperature` is {trained}: \
                     log-probabilities at two temperatures do not compare; set \
                     `grpo.temperature={sampled}`, or leave out such lines"
                ),
            ));
        }
        let top_p = number(meta.take("top_p"))?;
        counts.truncated_sampling += usize::from(top_p.is_some_and(|top_p| top_p < 1.0));
        Ok(())
    }

    fn turns(
        &mut self,
        line: u64,
        rollout: &RolloutLine,
        recorded: Vec<RecordedTurn>,
    ) -> Result<(Vec<Turn>, Lacks), TrainError> {
        let mut lacks = Lacks::default();
        if recorded.iter().all(|turn| turn.ids.is_some()) && !recorded.is_empty() {
            let turns = recorded.into_iter().map(|turn| self.turn(turn, &mut lacks)).collect();
            return Ok((turns, lacks));
        }
        if recorded.len() > 1 {
            return Err(self.bad(line, "has several turns, and not all of them have token ids"));
        }
        lacks.tokens = true;
        let finish = match recorded.first() {
            Some(turn) => turn.finish,
            None => finish(rollout).map_err(|err| self.bad(line, err.to_string()))?,
        };
        let TaskPrompt { tokens, begun } = self.prompt(line, rollout)?;
        let sampled = rollout.text.strip_prefix(&*begun).unwrap_or(&rollout.text);
        let turn = RecordedTurn {
            prompt: tokens,
            text: rollout.text.clone(),
            reasoning: recorded.into_iter().next().and_then(|turn| turn.reasoning),
            finish,
            ids: Some(self.vocabulary.encode(sampled, finish)?),
            logps: None,
        };
        Ok((vec![self.turn(turn, &mut lacks)], lacks))
    }

    /// A turn with tokens; what is too long is not learnt from.
    fn turn(&self, recorded: RecordedTurn, lacks: &mut Lacks) -> Turn {
        let RecordedTurn { prompt, text, reasoning, finish, ids, logps } = recorded;
        let ids = ids.unwrap_or_default();
        let fits = prompt.len() + ids.len() <= self.config.training.max_length as usize;
        lacks.room |= !fits;
        lacks.logps |= logps.is_none() && !ids.is_empty();
        let (tokens, unscored) = match logps {
            _ if !fits => (None, None),
            // Looked at when the line was read.
            Some(logps) => (SampledTokens::new(ids, logps).ok(), None),
            None => (None, Some(ids).filter(|ids| !ids.is_empty())),
        };
        let completion = Completion { text, reasoning, finish, tokens };
        lacks.unscored.push(unscored);
        // Learning needs no text.
        Turn { prompt, asked: Arc::from([]), completion }
    }

    /// The prompt of a line without tokens: that of its task.
    fn prompt(&mut self, line: u64, rollout: &RolloutLine) -> Result<TaskPrompt, TrainError> {
        let id = rollout.prompt_id.as_str();
        if let Some(prompt) = self.prompts.get(id) {
            return Ok(prompt.clone());
        }
        let Some(task) = self.tasks.get(id) else {
            return Err(self.bad(
                line,
                if self.tasks.is_empty() {
                    "has no token ids (`meta.turns`), so its prompt must be made again: name its task's \
                     file with `--tasks`"
                        .to_owned()
                } else {
                    format!("has no token ids, and `{id}` is no task of the file of `--tasks`")
                },
            ));
        };
        let prompt = self.vocabulary.prompt(task)?;
        self.prompts.insert(id.to_owned(), prompt.clone());
        Ok(prompt)
    }

    fn bad(&self, line: u64, problem: impl Into<String>) -> TrainError {
        TrainError::RolloutLine { path: self.path.to_owned(), line, problem: problem.into() }
    }
}

/// The field of `meta` that says that a sample has the likeliest tokens.
const GREEDY: &str = "greedy";

/// Whether a line is a sample of the likeliest tokens. No policy gradient is made of such samples.
pub(super) fn is_greedy(rollout: &RolloutLine) -> bool {
    let greedy: Option<bool> = rollout.meta.clone().take(GREEDY).unwrap_or_default();
    greedy == Some(true)
}

const NOT_SCORED: &str = "has no reward: score the file first, with `whet score`";

/// The end of the episode, if the line has one.
fn end(rollout: &RolloutLine) -> Result<End, WireError> {
    let name: Option<String> = rollout.meta.clone().take("end")?;
    Ok(match name.as_deref() {
        Some("out_of_turns") => End::OutOfTurns,
        Some("out_of_context") => End::OutOfContext,
        _ => End::Done,
    })
}

/// Why a completion without turns ended, as far as the line says.
fn finish(rollout: &RolloutLine) -> Result<Finish, WireError> {
    Ok(rollout.meta.clone().take("finish")?.unwrap_or(Finish::Stop))
}
