//! Teachers of on-policy distillation: models that score the tokens which the student sampled.
//!
//! A [`LocalTeacher`] is a second decoder on the student's device, frozen, and asked at temperature 1: its own
//! distribution. A server is the other kind of teacher; it is in `recipe`, beside the client that asks it.
//!
//! Scores are by token id, so that a teacher must have the student's vocabulary ([`check_vocabulary`]).

use whetstone_core::config::Config;
use whetstone_model::decoder::{Adapters, Decoder, Forward, Keep};
use whetstone_model::memory::{self, Purpose, Target, Work};
use whetstone_model::tokenizer::Tokenizer;

use crate::error::TrainError;
use crate::example::Example;
use crate::memory_check::check_host_room;
use crate::pass::Pass;
use crate::watch::{Phase, Watch};

/// Sequences to score in a step.
#[derive(Clone, Copy)]
pub struct AskedTokens<'a> {
    /// The sequences; the tokens from the first trained one on are scored.
    pub examples: &'a [&'a Example],
    /// The settings of the training.
    pub config: &'a Config,
    /// The step, for messages.
    pub step: u64,
    /// Receives the progress.
    pub watch: Watch<'a>,
}

/// The scores of a teacher.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TeacherScores {
    /// Of each sequence the log-probabilities of its tokens from the first trained one on; none if the teacher
    /// failed to score it.
    pub logps: Vec<Option<Vec<f64>>>,
    /// The last failure, in one line.
    pub failure: Option<String>,
}

/// A model that gives tokens their log-probabilities.
pub trait TokenTeacher {
    /// Its name, for messages.
    fn name(&self) -> &str;

    /// Bytes that it takes on the student's device, those of scoring included.
    fn device_bytes(&self, config: &Config) -> u64;

    /// Scores sequences as long as any can be, to see whether they fit into memory.
    ///
    /// # Errors
    ///
    /// If they do not.
    fn check_memory(&self, longest: AskedTokens<'_>) -> Result<(), TrainError>;

    /// Scores the sequences of a step. A sequence that it fails to score has none, and says why.
    ///
    /// # Errors
    ///
    /// If no other sequence would fare better.
    fn score(&self, asked: AskedTokens<'_>) -> Result<TeacherScores, TrainError>;
}

/// A teacher on the student's device.
#[derive(Debug)]
pub struct LocalTeacher {
    name: String,
    decoder: Decoder,
}

impl LocalTeacher {
    /// A teacher of a loaded model; its active adapter counts, if it has one.
    pub fn new(name: &str, decoder: Decoder) -> Self {
        Self { name: name.to_owned(), decoder }
    }

    fn pass<'a>(&'a self, asked: &AskedTokens<'a>) -> Pass<'a> {
        let pass = Pass::new(&self.decoder, asked.config, asked.watch, Phase::Teacher);
        let forward = Forward { temperature: 1.0, ..pass.forward };
        Pass { forward, step: asked.step, ..pass }
    }
}

impl TokenTeacher for LocalTeacher {
    fn name(&self) -> &str {
        &self.name
    }

    fn device_bytes(&self, config: &Config) -> u64 {
        let batch = config.training.per_device_train_batch_size as usize;
        let length = config.training.max_length as usize;
        let target = Target::of(self.decoder.device());
        let work = Work { batch, length, eight_bit: false, target };
        let plan = |purpose| memory::plan(self.decoder.config(), work, purpose);
        let scoring = plan(Purpose::Full(Keep::Input));
        let parts = [plan(Purpose::Inference).weights, scoring.temporary, scoring.logits];
        parts.into_iter().fold(0, u64::saturating_add)
    }

    fn check_memory(&self, longest: AskedTokens<'_>) -> Result<(), TrainError> {
        let batch = longest.config.training.per_device_train_batch_size as usize;
        let examples = &longest.examples[..batch.min(longest.examples.len())];
        let tokens = examples.iter().map(|example| example.tokens.len()).sum();
        check_host_room(&self.decoder, Some(Keep::Input), tokens)?;
        self.score(AskedTokens { examples, ..longest }).map(drop)
    }

    fn score(&self, asked: AskedTokens<'_>) -> Result<TeacherScores, TrainError> {
        let logps = self.pass(&asked).score(asked.examples, Adapters::On)?;
        Ok(TeacherScores { logps: logps.into_iter().map(Some).collect(), failure: None })
    }
}

/// The tokenizer of a model, with the model's name for messages.
#[derive(Debug, Clone, Copy)]
pub struct NamedTokenizer<'a> {
    /// The model's name.
    pub model: &'a str,
    /// Its tokenizer.
    pub tokenizer: &'a Tokenizer,
}

/// Refuses a teacher whose tokens are not the student's: every id must be the same token, and special for both or
/// for neither. The rest of a tokenizer does not matter, since no text is tokenized for the teacher.
///
/// # Errors
///
/// If an id differs; the error has the first one.
pub fn check_vocabulary(
    student: NamedTokenizer<'_>,
    teacher: NamedTokenizer<'_>,
) -> Result<(), TrainError> {
    let (own, other) = (student.tokenizer, teacher.tokenizer);
    let Some(id) = first_difference(own, other) else { return Ok(()) };
    Err(TrainError::OtherVocabulary {
        student: student.model.to_owned(),
        teacher: teacher.model.to_owned(),
        id,
        student_token: shown(own, id),
        teacher_token: shown(other, id),
    })
}

/// The first id that is not the same token.
fn first_difference(own: &Tokenizer, other: &Tokenizer) -> Option<u32> {
    let size = own.size().max(other.size());
    let ids = 0..u32::try_from(size).unwrap_or(u32::MAX);
    let token = |of: &Tokenizer, id| of.token(id).map(|token| (token, of.is_special(id)));
    ids.into_iter().find(|&id| token(own, id) != token(other, id))
}

/// A token for a message.
fn shown(of: &Tokenizer, id: u32) -> String {
    let special = if of.is_special(id) { "the special token " } else { "" };
    of.token(id).map_or_else(|| "no token".to_owned(), |token| format!("{special}`{token}`"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::testing::{settings, student};

    /// What is said of a teacher whose `tokenizer.json` has `to` in the place of `from`.
    fn refused(from: &str, to: &str) -> Option<String> {
        let (_dir, student) = student(&settings());
        let own = &student.model.tokenizer;
        let text = own.to_json().unwrap();
        assert!(from.is_empty() || text.contains(from), "{text}");
        let text = if from.is_empty() { text } else { text.replacen(from, to, 1) };
        let other = Tokenizer::from_json(&text, Path::new("other.json")).unwrap();
        let student = NamedTokenizer { model: "small", tokenizer: own };
        let teacher = NamedTokenizer { model: "large", tokenizer: &other };
        check_vocabulary(student, teacher).err().map(|err| err.to_string())
    }

    #[test]
    fn a_teacher_must_have_the_students_tokens() {
        assert_eq!(refused("", ""), None);
        let said = refused("\"A\"", "\"newline\"").unwrap();
        let expected =
            "the teacher `large` has another vocabulary than the student `small`: token id ";
        assert!(said.starts_with(expected), "{said}");
        assert!(said.ends_with(" is `newline` for the teacher and `A` for the student"), "{said}");
        let said = refused("\"special\":true", "\"special\":false");
        assert!(said.unwrap().contains("for the teacher and the special token `"));
    }
}
