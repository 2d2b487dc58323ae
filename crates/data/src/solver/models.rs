//! Model files, `.mps` and `.lp`, as tasks of the solver environment: one each, without a base model.
//!
//! A file that cannot be parsed is bad, with the line. A model that is feasible, too large for an episode, or without a
//! certified verdict is left out, with the reason. Only a path that does not exist or cannot be read is an error.
//! Whether a file becomes a task follows from its bytes and the options, unless the solver runs out of time on a model
//! of hundreds of kilobytes. The view that it is shown in depends on the seed and its own id alone.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use serde::{Deserialize, Serialize};
use whetstone_core::task::Task;
use whetstone_core::{Seed, TaskId};
use whetstone_env::solver::{Brought, Look, Unusable, View};
use whetstone_solver::{FormatError, MAX_BYTES, Model, read_lp, read_mps};

use super::{Shown, task_of};
use crate::random::Random;
use crate::source::{InputFile, SourceError, brief, digest};

/// The longest statement of an episode, unless options say otherwise: about 30,000 tokens.
pub const MAX_STATEMENT_BYTES: usize = 64 << 10;
/// Their source in tasks and counts.
pub(crate) const SOURCE: &str = "models";
/// Folders within folders that are looked into.
const MAX_DEPTH: usize = 4;
/// Bytes of an id at most.
const MAX_ID: usize = 200;

/// How models that are brought are shown. In a stage file:
///
/// ```toml
/// model_options = { views = ["lp", "code"], show_iis = true, max_bytes = 65536 }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelOptions {
    /// Forms in which models are shown.
    pub views: Vec<View>,
    /// Whether the IIS is shown, or has to be asked for.
    pub show_iis: bool,
    /// The longest statement; larger models are left out.
    pub max_bytes: usize,
}

impl Default for ModelOptions {
    fn default() -> Self {
        Self { views: vec![View::Lp], show_iis: true, max_bytes: MAX_STATEMENT_BYTES }
    }
}

/// A model file that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelPath {
    path: PathBuf,
    id: TaskId,
    encoding: Encoding,
}

/// A model file that was read.
#[derive(Debug, Clone)]
pub struct ModelFile {
    /// The file.
    pub input: InputFile,
    /// What it became.
    pub outcome: ModelOutcome,
}

/// What a model file became.
#[derive(Debug, Clone)]
pub enum ModelOutcome {
    /// A task.
    Task(Box<Task>),
    /// It cannot be parsed.
    Bad {
        /// The line, counted from 1; 0 for the file as a whole.
        line: u64,
        /// The problem.
        reason: String,
    },
    /// It is a model that makes no task.
    LeftOut {
        /// The sort of reason.
        kind: LeftOutKind,
        /// The reason.
        reason: String,
    },
}

/// Why a model makes no task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftOutKind {
    /// It has a solution.
    Feasible,
    /// The solver has no certified verdict.
    Undecided,
    /// It is too large for an episode.
    TooLarge,
}

impl LeftOutKind {
    /// The sort of reason, as text.
    pub fn words(self) -> &'static str {
        match self {
            Self::Feasible => "feasible",
            Self::Undecided => "without a certified verdict",
            Self::TooLarge => "too large",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Encoding {
    format: ModelFormat,
    /// Compressed by gzip.
    packed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ModelFormat {
    Mps,
    Lp,
}

/// The model files of paths, each a file or a folder, in the order of their names.
pub fn model_files(paths: &[PathBuf]) -> Result<Vec<ModelPath>, SourceError> {
    let mut found = Vec::new();
    for path in paths {
        let metadata = fs::metadata(path).map_err(SourceError::at(path))?;
        if metadata.is_dir() {
            let before = found.len();
            look_into(path, path, MAX_DEPTH, &mut found)?;
            if found.len() == before {
                return Err(SourceError::NoModels { path: path.clone() });
            }
        } else {
            let folder = path.parent().unwrap_or(Path::new(""));
            let file = ModelPath::of(path, folder);
            found.push(file.ok_or_else(|| SourceError::ModelFormat { path: path.clone() })?);
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found.dedup_by(|a, b| a.path == b.path);
    Ok(found)
}

fn look_into(
    root: &Path,
    folder: &Path,
    depth: usize,
    found: &mut Vec<ModelPath>,
) -> Result<(), SourceError> {
    for entry in fs::read_dir(folder).map_err(SourceError::at(folder))? {
        let path = entry.map_err(SourceError::at(folder))?.path();
        let is_hidden =
            path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if is_hidden {
            continue;
        }
        if path.is_dir() && depth > 0 {
            look_into(root, &path, depth - 1, found)?;
        } else if path.is_file() {
            found.extend(ModelPath::of(&path, root));
        }
    }
    Ok(())
}

impl ModelPath {
    /// None if its name says of no format.
    fn of(path: &Path, root: &Path) -> Option<Self> {
        let name = path.strip_prefix(root).unwrap_or(path).to_string_lossy();
        let packed = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("gz"));
        let name = if packed { &name[..name.len() - 3] } else { &name };
        let format = match name.rsplit_once('.')?.1.to_ascii_lowercase().as_str() {
            "mps" => ModelFormat::Mps,
            "lp" => ModelFormat::Lp,
            _ => return None,
        };
        let name: String =
            name.chars().map(|c| if c.is_control() || c == '\\' { '_' } else { c }).collect();
        let name = &name[name.ceil_char_boundary(name.len().saturating_sub(MAX_ID))..];
        let id = TaskId::try_from(format!("model/{name}")).ok()?;
        Some(Self { path: path.to_owned(), id, encoding: Encoding { format, packed } })
    }

    /// Reads the model and finds out what it makes.
    ///
    /// # Errors
    ///
    /// If the operating system does not give its bytes.
    pub fn read(&self, options: &ModelOptions, seed: Seed) -> Result<ModelFile, SourceError> {
        let at = || SourceError::at(&self.path);
        let blake3 = digest(&self.path).map_err(at())?;
        let input = InputFile { path: self.path.clone(), blake3, passed_over: false };
        let outcome = match self.model().map_err(at())? {
            Ok(model) => self.task(model, options, seed),
            Err(bad) => bad,
        };
        Ok(ModelFile { input, outcome })
    }

    /// The model, or why it cannot be parsed.
    fn model(&self) -> io::Result<Result<Model, ModelOutcome>> {
        let text = match text(&self.path, self.encoding.packed) {
            Ok(text) => text,
            Err(err) if is_broken(&err) => {
                let what = if self.encoding.packed { "cannot unpack it" } else { "cannot read it" };
                return Ok(Err(bad(0, &format!("{what}: {err}"))));
            }
            Err(err) => return Err(err),
        };
        let read = match self.encoding.format {
            ModelFormat::Mps => read_mps(&text),
            ModelFormat::Lp => read_lp(&text),
        };
        Ok(read.map_err(|FormatError { line, problem, hint }| {
            bad(line as u64, &format!("{problem}; {hint}"))
        }))
    }

    fn task(&self, model: Model, options: &ModelOptions, seed: Seed) -> ModelOutcome {
        let mut random = Random::new(seed.derive(self.id.as_str(), 0));
        let view = match options.views.len() {
            0 => View::default(),
            count => options.views[random.below(count)],
        };
        let look = Look { view, show_iis: options.show_iis, max_bytes: options.max_bytes };
        match Brought::new(model, look) {
            Ok(Brought { problem, statement, iis }) => {
                let shown = Shown { statement, iis };
                let task = task_of(self.id.clone(), SOURCE.to_owned(), &problem, shown);
                ModelOutcome::Task(Box::new(task))
            }
            Err(reason) => left_out(&reason),
        }
    }
}

/// The text of a file, of which no more is read than a model may have.
fn text(path: &Path, packed: bool) -> io::Result<String> {
    let file = BufReader::new(File::open(path)?);
    let limit = MAX_BYTES as u64 + 1;
    let mut text = String::new();
    if packed {
        MultiGzDecoder::new(file).take(limit).read_to_string(&mut text)?;
    } else {
        file.take(limit).read_to_string(&mut text)?;
    }
    Ok(text)
}

/// Whether the bytes are at fault, and not the disk.
fn is_broken(err: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    matches!(err.kind(), InvalidData | InvalidInput | UnexpectedEof)
}

fn bad(line: u64, problem: &str) -> ModelOutcome {
    ModelOutcome::Bad { line, reason: brief(problem) }
}

fn left_out(reason: &Unusable) -> ModelOutcome {
    let kind = match reason {
        Unusable::Feasible { .. } => LeftOutKind::Feasible,
        Unusable::Undecided { .. } => LeftOutKind::Undecided,
        Unusable::TooLong { .. } | Unusable::TooLarge { .. } => LeftOutKind::TooLarge,
    };
    let more = match reason {
        Unusable::TooLong { .. } => "; a larger `--model-bytes` takes it",
        _ => "",
    };
    ModelOutcome::LeftOut { kind, reason: format!("{reason}{more}") }
}
