//! A stage file: settings like any config file, and a list of stages in order.
//!
//! ```toml
//! v = 1                                     # the version of the format; may be left out
//! name = "rlhf"                             # the run's name; the file's name if it is left out
//!
//! [training]                                # settings of all stages
//! learning_rate = 1e-4
//!
//! [[stage]]
//! kind = "sft"                              # what it does
//! name = "imitate"                          # the kind, if it is left out
//! after = "teach"                           # the stage above, if it is left out
//! input = { traces = "teach" }              # inputs that are not the newest of the stages before
//! set = { "training.max_steps" = 100 }      # settings of this stage alone
//! max_tasks = 50                            # options of its kind
//! ```
//!
//! Here the form is checked, with the place of each problem. Not here: kinds and their options, and
//! what follows from what.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer};

use super::layer::Layer;
use super::problem::{Place, Problem};
use super::value::describe;

/// The key of the list of stages.
pub(super) const STAGE: &str = "stage";
/// The key of a stage's settings.
pub(super) const SET: &str = "set";
/// Keys at the top of a stage file that are not settings.
pub(super) const STAGE_FILE_KEYS: &[&str] = &["v", "name", STAGE];

/// Keys that every stage may have; the others are options of its kind.
const EVERY_STAGE_KEYS: &[&str] = &["kind", "name", "after", "input", SET];

const VERSION: &str = "1";
/// Stages of a file, at most.
const MAX_STAGES: usize = 100;
/// Bytes of a stage's name: it becomes a directory.
const MAX_NAME_BYTES: usize = 60;

/// A file of stages, whose form is right.
#[derive(Debug, Clone)]
pub struct StageFile {
    /// Its path as given.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
    /// The run's name.
    pub name: String,
    /// The stages as they stand in the file.
    pub stages: Vec<StageEntry>,
}

/// One `[[stage]]`.
#[derive(Debug, Clone)]
pub struct StageEntry {
    /// Its name, of which there is one in the file.
    pub name: String,
    /// What it does.
    pub kind: String,
    /// The stage that it follows, if not the one above.
    pub after: Option<String>,
    /// Its inputs that are named: a stage or a path, by what they are.
    pub input: BTreeMap<String, String>,
    /// Where it stands.
    pub place: Place,
    /// Its number in the file, from 0.
    index: usize,
    lines: Lines,
    /// Options over those of the file, each as `key=value`.
    given: Vec<String>,
}

impl StageFile {
    /// Reads a file, within bounds.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with its form.
    pub fn read(path: &Path) -> Result<Self, Vec<Problem>> {
        match Layer::read(path).map_err(|problem| vec![problem])? {
            Layer::File { path, text } => Self::parse(path, text),
            _ => Err(vec![Problem::whole("not a file")]),
        }
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with its form.
    pub fn parse(path: PathBuf, text: String) -> Result<Self, Vec<Problem>> {
        let lines = Lines::new(&path, &text);
        let mut form = Form { lines: &lines, problems: Vec::new() };
        let table = match DeTable::parse(&text) {
            Ok(table) => table.into_inner(),
            Err(err) => {
                let span = err.span().unwrap_or_default();
                form.problem(&span, None, format!("not TOML: {}", one_line(err.message())));
                return Err(form.problems);
            }
        };
        form.version(&table);
        let name = form.text(&table, "name").unwrap_or_else(|| stem(&path));
        let stages = form.stages(&table);
        match form.problems {
            problems if problems.is_empty() => Ok(Self { path, text, name, stages }),
            problems => Err(problems),
        }
    }

    /// The layers of settings of one stage: those of the file, and its own.
    pub fn layers(&self, index: usize) -> Vec<Layer> {
        let (path, text) = (self.path.clone(), self.text.clone());
        vec![self.settings(), Layer::Stage { path, text, index }]
    }

    /// The layer of settings of all stages.
    pub fn settings(&self) -> Layer {
        Layer::StageFile { path: self.path.clone(), text: self.text.clone() }
    }
}

impl StageEntry {
    /// The options of its kind: every key that is not one of every stage.
    ///
    /// # Errors
    ///
    /// If a key is unknown or its value is not of its type, with its place.
    pub fn options<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        let (mut file, _) = DeTable::parse_recoverable(&self.lines.text);
        let stages = file.get_mut().get_mut(STAGE);
        let mut options = Spanned::new(0..0, DeTable::new());
        if let Some(DeValue::Array(stages)) = stages.map(Spanned::get_mut)
            && let Some(DeValue::Table(stage)) = stages.get_mut(self.index).map(Spanned::get_mut)
        {
            let own = std::mem::take(stage).into_iter();
            let own = own.filter(|(key, _)| !EVERY_STAGE_KEYS.contains(&key.get_ref().as_ref()));
            options.get_mut().extend(own);
        }
        for (key, value) in self.given.iter().filter_map(|argument| argument.split_once('=')) {
            let text = value.trim();
            let parsed = DeValue::parse(text).map(Spanned::into_inner);
            let value = parsed.unwrap_or_else(|_| DeValue::String(text.into()));
            let key = Spanned::new(0..0, key.trim().into());
            options.get_mut().insert(key, Spanned::new(0..0, value));
        }
        T::deserialize(Deserializer::from(options)).map_err(|err| {
            let message = one_line(err.message());
            match err.span() {
                Some(span) if self.given.is_empty() => {
                    self.lines.problem(&span, Some(self.key()), message)
                }
                _ if self.given.is_empty() => self.problem(message, None),
                _ => {
                    let hint = format!("`--set` gives it {}", self.given.join(", "));
                    self.problem(message, Some(hint))
                }
            }
        })
    }

    /// Sets an option of its kind over that of the file, as `key=value`.
    pub fn set_option(&mut self, argument: String) {
        self.given.push(argument);
    }

    /// Something that is wrong with this stage.
    pub fn problem(&self, message: String, hint: Option<String>) -> Problem {
        Problem { place: Some(self.place.clone()), key: Some(self.key()), message, hint }
    }

    fn key(&self) -> String {
        format!("stage {}", self.name)
    }
}

/// A text and where its lines begin, to say the place of a problem.
#[derive(Debug, Clone)]
struct Lines {
    path: PathBuf,
    text: Arc<str>,
    starts: Vec<usize>,
}

impl Lines {
    fn new(path: &Path, text: &str) -> Self {
        let after_newline = text.match_indices('\n').map(|(at, _)| at + 1);
        let starts = std::iter::once(0).chain(after_newline).collect();
        Self { path: path.to_owned(), text: text.into(), starts }
    }

    fn place(&self, span: &Range<usize>) -> Place {
        let line = self.starts.partition_point(|start| *start <= span.start).max(1);
        let column = span.start - self.starts[line - 1] + 1;
        Place::File { path: self.path.clone(), line, column }
    }

    fn problem(&self, span: &Range<usize>, key: Option<String>, message: String) -> Problem {
        Problem { place: Some(self.place(span)), key, message, hint: None }
    }
}

/// A file whose form is being checked.
struct Form<'a> {
    lines: &'a Lines,
    problems: Vec<Problem>,
}

impl Form<'_> {
    fn problem(&mut self, span: &Range<usize>, key: Option<&str>, message: String) {
        self.problems.push(self.lines.problem(span, key.map(str::to_owned), message));
    }

    fn version(&mut self, table: &DeTable<'_>) {
        let Some(value) = table.get("v") else { return };
        let is_known =
            value.get_ref().as_integer().is_some_and(|version| version.as_str() == VERSION);
        if !is_known {
            let message = format!("this whet reads version {VERSION} of stage files");
            self.problem(&value.span(), Some("v"), message);
        }
    }

    fn stages(&mut self, table: &DeTable<'_>) -> Vec<StageEntry> {
        let Some(value) = table.get(STAGE) else {
            let message = "there is no `[[stage]]`: a stage file has a list of stages".to_owned();
            self.problem(&(0..0), None, message);
            return Vec::new();
        };
        let tables = value.get_ref().as_array().filter(|list| {
            let are_tables = list.iter().all(|stage| stage.get_ref().is_table());
            are_tables && (1..=MAX_STAGES).contains(&list.len())
        });
        let Some(tables) = tables else {
            let message =
                format!("expected up to {MAX_STAGES} tables, each written as `[[{STAGE}]]`");
            self.problem(&value.span(), Some(STAGE), message);
            return Vec::new();
        };
        let mut stages: Vec<StageEntry> = Vec::new();
        for (index, stage) in tables.iter().enumerate() {
            let Some(entry) = self.stage(index, stage) else { continue };
            if stages.iter().any(|earlier| earlier.name == entry.name) {
                let mut problem = entry.problem("two stages have this name".to_owned(), None);
                problem.hint = Some("give one of them another `name`".to_owned());
                self.problems.push(problem);
            }
            stages.push(entry);
        }
        stages
    }

    fn stage(&mut self, index: usize, stage: &Spanned<DeValue<'_>>) -> Option<StageEntry> {
        let table = stage.get_ref().as_table()?;
        let Some(kind) = self.text(table, "kind") else {
            if !table.contains_key("kind") {
                self.problem(&stage.span(), Some(STAGE), "it has no `kind`".to_owned());
            }
            return None;
        };
        let name = self.text(table, "name").unwrap_or_else(|| kind.clone());
        if !is_name(&name) {
            let message = format!(
                "a stage's name has up to {MAX_NAME_BYTES} letters, digits, `_` and `-`, and begins with a \
                 letter or a digit"
            );
            self.problem(&table.get("name").unwrap_or(stage).span(), Some("name"), message);
        }
        let after = self.text(table, "after");
        let input = self.input(table);
        if let Some(set) = table.get(SET).filter(|set| !set.get_ref().is_table()) {
            let message =
                format!("{}, expected `{{ \"section.key\" = value }}`", describe(set.get_ref()));
            self.problem(&set.span(), Some(SET), message);
        }
        let (place, lines) = (self.lines.place(&stage.span()), self.lines.clone());
        Some(StageEntry { name, kind, after, input, place, index, lines, given: Vec::new() })
    }

    /// The inputs that a stage names.
    fn input(&mut self, table: &DeTable<'_>) -> BTreeMap<String, String> {
        let Some(value) = table.get("input") else { return BTreeMap::new() };
        let Some(inputs) = value.get_ref().as_table() else {
            let found = describe(value.get_ref());
            let message = format!("{found}, expected `{{ what = \"stage or path\" }}`");
            self.problem(&value.span(), Some("input"), message);
            return BTreeMap::new();
        };
        let names: Vec<String> =
            inputs.iter().map(|(name, _)| name.get_ref().to_string()).collect();
        names
            .into_iter()
            .filter_map(|name| self.text(inputs, &name).map(|given| (name, given)))
            .collect()
    }

    /// The text of a key; `None` if there is none, or something else, which is reported.
    fn text(&mut self, table: &DeTable<'_>, key: &str) -> Option<String> {
        let value = table.get(key)?;
        match value.get_ref().as_str() {
            Some(text) if !text.is_empty() => Some(text.to_owned()),
            Some(_) => {
                self.problem(&value.span(), Some(key), "it is empty".to_owned());
                None
            }
            None => {
                let message = format!("{}, expected text", describe(value.get_ref()));
                self.problem(&value.span(), Some(key), message);
                None
            }
        }
    }
}

/// The name of a file without its ending.
fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Whether a name can be a directory anywhere, and not a flag or a path.
fn is_name(name: &str) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-".contains(byte);
    let first = name.as_bytes().first();
    name.len() <= MAX_NAME_BYTES
        && name.as_bytes().iter().all(is_plain)
        && first.is_some_and(u8::is_ascii_alphanumeric)
}

fn one_line(message: &str) -> String {
    message.replace('\n', "; ")
}

#[cfg(test)]
mod tests;
