//! What the check found in one program.

use serde::{Deserialize, Serialize};

/// Most findings of a kind that are kept; a program with more is no better known by the rest.
pub const MAX_FINDINGS: usize = 64;

/// Longest text of a message or a name in a finding, in characters.
pub const MAX_TEXT_CHARS: usize = 160;

/// Everything that the static check says of a program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Findings {
    /// Whether it parses.
    pub parse: ParseFindings,
    /// How it uses Phaser; nothing is said of a program that does not parse.
    pub api: ApiFindings,
    /// Which parts of a game it has; none are seen in a program that does not parse.
    pub lifecycle: Lifecycle,
}

/// Whether a program parses, and as what.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParseFindings {
    /// It parses, and has no early error.
    pub ok: bool,
    /// As what it was read last: a module if it is one, else a script.
    pub mode: ParseMode,
    /// Why not: at most [`MAX_FINDINGS`].
    pub errors: Vec<ParseError>,
}

/// The two goals of the grammar.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ParseMode {
    /// A module: strict, with imports.
    #[default]
    Module,
    /// A script.
    Script,
}

/// A place where a program does not parse.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParseError {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// What is wrong.
    pub message: String,
}

/// How a program uses Phaser.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApiFindings {
    /// Uses of members that the index has.
    pub resolved: u32,
    /// Uses of names that Phaser does not have: at most [`MAX_FINDINGS`].
    pub unknown: Vec<UnknownName>,
    /// Calls with fewer arguments than are needed: at most [`MAX_FINDINGS`].
    pub few_args: Vec<FewArguments>,
}

/// A name that Phaser does not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnknownName {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// The declaration that lacks it and the name, as `Phaser.GameObjects.Image.play`.
    pub what: String,
    /// The name there that is spelt most alike, if any is.
    pub nearest: Option<String>,
}

/// A call with too few arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FewArguments {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// What is called.
    pub what: String,
    /// Arguments given.
    pub given: u32,
    /// Arguments needed.
    pub needed: u32,
}

/// Which parts of a game a program has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "five independent facts, each a key of the output"
)]
pub struct Lifecycle {
    /// A scene has `preload`.
    pub preload: bool,
    /// A scene has `create`.
    pub create: bool,
    /// A scene has `update`.
    pub update: bool,
    /// A class extends `Phaser.Scene`.
    pub scene_class: bool,
    /// A game is made: `new Phaser.Game(..)`.
    pub new_game: bool,
}

/// `text`, shortened, with control characters replaced.
pub(super) fn shorten(text: &str) -> String {
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    let mut short: String = text.chars().take(MAX_TEXT_CHARS).map(clean).collect();
    if text.chars().nth(MAX_TEXT_CHARS).is_some() {
        short.push('…');
    }
    short
}
