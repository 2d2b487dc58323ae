//! Whether the token ids of a line are those of the student's tokenizer.
//!
//! A line may say which vocabulary it belongs to (`meta.tokenizer`, a digest). Where it does not, its ids
//! are looked at: they must be tokens of the student, and say what the line's text says. A name alone
//! (`meta.model`) decides nothing, since one model has many names; it is part of the message.

use std::path::Path;
use std::sync::Arc;

use whetstone_core::completion::Finish;
use whetstone_core::config::Config;
use whetstone_core::prompt::PromptTemplate;
use whetstone_core::rollout::RolloutLine;
use whetstone_core::task::Task;
use whetstone_data::rows::Tokens;
use whetstone_model::tokenizer::SpecialTokens;
use whetstone_rollout::collect::record::{MODEL, RecordedTurn, TOKENIZER};

use crate::error::TrainError;
use crate::rows::Ending;
use crate::student::Student;

/// Characters of a text that a message shows.
const SHOWN: usize = 40;

/// The prompt of a task, and the text that its answers begin with.
#[derive(Clone)]
pub(super) struct TaskPrompt {
    pub(super) tokens: Arc<[u32]>,
    pub(super) begun: Arc<str>,
}

/// The student's tokenizer, by its digest and name.
pub(super) struct Vocabulary<'a> {
    path: &'a Path,
    student: &'a Student,
    config: &'a Config,
    digest: String,
}

impl<'a> Vocabulary<'a> {
    pub(super) fn new(path: &'a Path, student: &'a Student, config: &'a Config) -> Self {
        Self { path, student, config, digest: student.model.tokenizer.digest() }
    }

    /// Whether the ids of a line are tokens of the student.
    pub(super) fn check(
        &self,
        line: u64,
        rollout: &RolloutLine,
        turns: &[RecordedTurn],
    ) -> Result<(), TrainError> {
        let mut meta = rollout.meta.clone();
        // Other tools may have other things under these names.
        let mut said = |field| meta.take::<String>(field).unwrap_or_default();
        let (model, digest) = (said(MODEL), said(TOKENIZER));
        let other = |evidence: String| TrainError::OtherTokenizer {
            path: self.path.to_owned(),
            line,
            recorded: name(model.as_deref(), digest.as_deref()),
            student: name(Some(&self.config.student.model_name), Some(&self.digest)),
            evidence,
        };
        if turns.iter().all(|turn| turn.ids.is_none()) {
            // A text is tokenized by the student's own tokenizer.
            return Ok(());
        }
        if digest.as_deref().is_some_and(|digest| is_digest(digest) && digest != self.digest) {
            return Err(other("the digests of their vocabularies differ".to_owned()));
        }
        let is_same = digest.as_deref() == Some(&self.digest);
        let path = || self.path.to_owned();
        turns.iter().filter(|turn| turn.ids.is_some()).try_for_each(|turn| {
            self.compare(turn).map_err(|problem| {
                if is_same {
                    TrainError::RolloutLine { path: path(), line, problem }
                } else {
                    other(problem)
                }
            })
        })
    }

    /// Whether ids are tokens, and say what the text says.
    fn compare(&self, turn: &RecordedTurn) -> Result<(), String> {
        let tokenizer = &self.student.model.tokenizer;
        let ids = turn.ids.as_deref().unwrap_or_default();
        let rows = tokenizer.size().min(self.student.model.config.vocab);
        let all = turn.prompt.iter().chain(ids);
        if let Some(id) = all.copied().find(|&id| id as usize >= rows) {
            return Err(format!("the student has {rows} tokens, and the line has token {id}"));
        }
        let decoded = tokenizer
            .decode(ids, SpecialTokens::Dropped)
            .map_err(|err| format!("its tokens cannot be decoded: {err}"))?;
        // A stop string is no part of the text, and a character may be cut in two by the limit.
        let (text, decoded) = (turn.text.trim_end_matches('\u{fffd}'), decoded.as_str());
        if decoded.starts_with(text) {
            return Ok(());
        }
        // The text has the beginning of the answer too, if the prompt had one.
        let begun = text.strip_suffix(decoded).unwrap_or(text);
        let prompt = tokenizer.decode(&turn.prompt, SpecialTokens::Shown).unwrap_or_default();
        if begun.len() < text.len() && prompt.ends_with(begun) {
            return Ok(());
        }
        let (text, decoded) = (shown(text), shown(decoded));
        Err(format!("the student reads its tokens as {decoded:?}, and the line says {text:?}"))
    }

    /// The tokens of a completion, with the one that ends it unless the limit did.
    pub(super) fn encode(&self, text: &str, finish: Finish) -> Result<Vec<u32>, TrainError> {
        let mut ids = self.student.model.tokenizer.encode(text)?;
        let end = Ending::of(&self.student.model).map(|ending| ending.end());
        ids.extend(end.filter(|_| finish == Finish::Stop));
        Ok(ids)
    }

    /// The prompt of a task.
    pub(super) fn prompt(&self, task: &Task) -> Result<TaskPrompt, TrainError> {
        let prompt = PromptTemplate::of(&self.config.prompt)?.prompt(task.view())?;
        let tokens = self.student.prompt(&prompt.messages())?.into();
        Ok(TaskPrompt { tokens, begun: prompt.prefill.into() })
    }
}

/// Whether a field holds a digest of ours: other tools write a name there.
fn is_digest(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn name(model: Option<&str>, tokenizer: Option<&str>) -> String {
    let model = model
        .map_or_else(|| "a model it does not name".to_owned(), |name| format!("`{}`", shown(name)));
    match tokenizer {
        Some(tokenizer) => format!("{model} (tokenizer {})", shown(tokenizer)),
        None => model,
    }
}

fn shown(text: &str) -> String {
    let plain: String =
        text.chars().filter(|c| !c.is_control() || *c == '\n').take(SHOWN).collect();
    if plain.chars().count() < text.chars().count() { format!("{plain}…") } else { plain }
}
