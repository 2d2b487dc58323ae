//! A prompt seed: what is asked of a game, with the checks that decide whether it does so.
//!
//! ```json
//! {"id":"seed_000123","prompt":"A red square …","frames":120,"input":[],"checks":[{"kind":"count"}]}
//! ```
//!
//! A seed without `checks` is a task whose programs are read and not run: its rewards have static terms alone. `family`
//! names seeds that differ only in their numbers, and `reference` is a program that passes all checks; both
//! may be left out. The checks are described in `docs/reference/phaser-checks.md`. Unknown fields are refused: a
//! misspelt `input` would make a task that no program can solve.

use whetstone_core::TaskId;
use whetstone_core::program::Language;
use whetstone_core::task::{Body, Task};
use whetstone_core::tests::Tests;
use whetstone_core::wire::{Object, Wire, WireError};
use whetstone_env::phaser::checks::{FRAMES, GameTask};

/// The kind of environment that judges these tasks.
pub use whetstone_env::phaser::KIND;
/// Bytes of a prompt, at most.
pub const MAX_PROMPT_BYTES: usize = 16 << 10;
/// Bytes of a reference program, at most.
pub const MAX_REFERENCE_BYTES: usize = 64 << 10;

const VERSION: u64 = 1;
const FIELDS: &str = "`id`, `prompt`, `frames`, `input`, `checks`, `family` and `reference`";

/// A prompt with its checks.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptSeed {
    /// Unique within a file.
    pub id: TaskId,
    /// What is asked, in words.
    pub prompt: String,
    /// What is asked, as checks with their input.
    pub game: GameTask,
    /// The name that seeds share which differ only in their numbers.
    pub family: Option<String>,
    /// A program that passes all checks.
    pub reference: Option<String>,
}

impl PromptSeed {
    /// The family, or the id of a seed without one.
    pub(super) fn family(&self) -> &str {
        self.family.as_deref().unwrap_or(self.id.as_str())
    }

    /// The task that asks for this game.
    pub fn task(&self) -> Task {
        let mut fields = Object::new();
        put_game(&mut fields, &self.game);
        let source = self.family.as_ref().map_or(KIND.to_owned(), |name| format!("{KIND}/{name}"));
        Task {
            id: self.id.clone(),
            source: Some(source),
            difficulty: None,
            statement: self.prompt.clone(),
            language: Language::Javascript,
            reference: self.reference.clone(),
            setup: String::new(),
            tests: Tests::Absent,
            body: Some(Body { kind: KIND.to_owned(), fields }),
            rest: Object::new(),
        }
    }
}

fn put_game(object: &mut Object, game: &GameTask) {
    object.put("frames", &game.frames());
    object.put("input", game.input());
    object.put("checks", &game.checks());
}

impl Wire for PromptSeed {
    const NOUN: &'static str = "prompt seed";

    fn from_object(mut object: Object) -> Result<Self, WireError> {
        object.version(VERSION)?;
        let seed = Self {
            id: object.require("id")?,
            prompt: object.require("prompt")?,
            game: take_game(&mut object)?,
            family: object.take("family")?,
            reference: object.take("reference")?,
        };
        if let Some((field, _)) = object.fields().next() {
            return Err(WireError::Unknown { field: field.to_owned(), known: FIELDS });
        }
        seed.check_lengths()?;
        Ok(seed)
    }

    fn to_object(&self) -> Object {
        let mut object = Object::new();
        object.put("id", &self.id);
        object.put_some("family", self.family.as_ref());
        object.put("prompt", &self.prompt);
        put_game(&mut object, &self.game);
        object.put_some("reference", self.reference.as_ref());
        object
    }
}

fn take_game(object: &mut Object) -> Result<GameTask, WireError> {
    let frames = object.take("frames")?.unwrap_or(FRAMES);
    let input = object.take("input")?.unwrap_or_default();
    let checks = object.take("checks")?.unwrap_or_default();
    GameTask::new(frames, input, checks)
        .map_err(|err| WireError::Field { field: "checks", problem: err.to_string() })
}

impl PromptSeed {
    fn check_lengths(&self) -> Result<(), WireError> {
        if self.prompt.trim().is_empty() {
            let problem = "blank, expected what the game must do".to_owned();
            return Err(WireError::Field { field: "prompt", problem });
        }
        check_length("prompt", &self.prompt, MAX_PROMPT_BYTES)?;
        check_length("family", self.family.as_deref().unwrap_or("-"), 64)?;
        check_length("reference", self.reference.as_deref().unwrap_or("-"), MAX_REFERENCE_BYTES)
    }
}

fn check_length(field: &'static str, text: &str, most: usize) -> Result<(), WireError> {
    if (1..=most).contains(&text.len()) {
        return Ok(());
    }
    let problem = format!("{} bytes, expected 1 to {most}", text.len());
    Err(WireError::Field { field, problem })
}
