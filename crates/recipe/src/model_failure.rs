//! Why a model cannot be used as asked, and what to do about it.

use std::io;
use std::path::PathBuf;

use whetstone_core::jsonl::{LineError, LineProblem};
use whetstone_infer::GenerateError;
use whetstone_kernels::DeviceError;
use whetstone_model::adapter::AdapterError;
use whetstone_model::config::ConfigError;
use whetstone_model::create::CreateError;
use whetstone_model::create::corpus::CorpusError;
use whetstone_model::template::TemplateError;
use whetstone_model::tokenizer::TokenizerError;
use whetstone_model::weights::WeightsError;
use whetstone_model::{ExportError, OpenError};
use whetstone_record::error::{is_full, write_hint};

/// Why a model cannot be used as asked.
#[derive(Debug, thiserror::Error)]
pub enum ModelFailure {
    /// There is no such path.
    #[error("there is no model at `{}`", path.display())]
    NotHere {
        /// The given path.
        path: PathBuf,
    },
    /// Its files are not those of a model.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Its weights cannot be read.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// An adapter cannot be put into it.
    #[error(transparent)]
    Adapter(#[from] AdapterError),
    /// It was made for no chat.
    #[error("`{}` has no chat template", model.display())]
    NoTemplate {
        /// The model.
        model: PathBuf,
    },
    /// Its template gives no text.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// Its tokenizer does not take a text.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    /// Longer sequences than it was made for.
    #[error("a context of {asked} tokens exceeds the model's context length of {made_for}")]
    Context {
        /// The requested length.
        asked: usize,
        /// The model's context length.
        made_for: usize,
    },
    /// A file of prompts cannot be read.
    #[error("cannot read prompts from {name}")]
    Prompts {
        /// The file.
        name: String,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
    /// A file without prompts.
    #[error("{name} has no prompts")]
    NoPrompts {
        /// The file.
        name: String,
    },
    /// A prompt that is not text.
    #[error("{place} is not UTF-8")]
    NotText {
        /// Which.
        place: String,
    },
    /// A line of a file of prompts that cannot be used.
    #[error("{place}: {problem}")]
    PromptLine {
        /// The file and its line.
        place: String,
        /// The problem with it.
        problem: String,
    },
    /// A prompt of no tokens.
    #[error("{place} is empty")]
    Empty {
        /// Which.
        place: String,
    },
    /// A prompt that leaves no room for a completion.
    #[error("{place} has {tokens} tokens; the context of {limit} leaves no room for a completion")]
    TooLong {
        /// Which.
        place: String,
        /// Its length.
        tokens: usize,
        /// The context.
        limit: usize,
    },
    /// A corpus cannot be learnt from.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// A new model could not be made.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// A model could not be written.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// The machine will not start threads.
    #[error("cannot start {threads} threads")]
    Threads {
        /// Number of threads.
        threads: usize,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
    /// A device that is not there.
    #[error("{problem}")]
    NoSuchDevice {
        /// The problem with its name.
        problem: String,
    },
    /// The device cannot be used.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Generation failed.
    #[error("cannot complete {place}")]
    Generate {
        /// The prompt.
        place: String,
        /// Why not.
        #[source]
        source: GenerateError,
    },
}

impl ModelFailure {
    /// A suggestion for the user.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotHere { .. } => Some(NAMES),
            Self::NoTemplate { .. } => Some(
                "leave `--chat` out to complete plain text, or put a `chat_template.jinja` into \
                 the model's directory",
            ),
            Self::Context { .. } => Some("leave `--context` out to use all of it"),
            Self::NoPrompts { .. } => Some("write one prompt a line"),
            Self::PromptLine { .. } => Some(
                "a file whose first line begins with `{` is JSON Lines: an object a line, with `prompt` (a text) or \
                 `messages` (a list of `role` and `content`)",
            ),
            Self::Corpus(CorpusError::Line(LineError { problem, .. })) => corpus_hint(problem),
            Self::Create(CreateError::Heads { .. }) => {
                Some("choose a `--width` that is a multiple of `--heads`")
            }
            Self::TooLong { .. } => Some("shorten the prompt, or raise `--context`"),
            Self::Generate { source: GenerateError::TooLarge { .. }, .. } => {
                Some("raise `--cache-mb`, or lower `--max-tokens`")
            }
            Self::Open(err) => open_hint(err),
            Self::Weights(err) => weights_hint(err),
            _ => self.write_error().and_then(write_hint),
        }
    }

    /// Whether the command line or a file is at fault, and not the machine.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Threads { .. } => false,
            Self::Device(error) => !error.is_broken(),
            Self::Generate { source, .. } => match source {
                GenerateError::NotFinite { .. } | GenerateError::Text(_) => false,
                GenerateError::Device(error) => !error.is_broken(),
                _ => true,
            },
            // A disk without room is the machine's, a file that is too large to be read is not.
            _ if self.write_error().is_some_and(|err| is_full(err)) => false,
            _ => self.system_error().is_none_or(|err| {
                let known = [io::ErrorKind::NotFound, io::ErrorKind::FileTooLarge];
                known.contains(&err.kind())
            }),
        }
    }

    /// The error of the operating system, if the model could not be written.
    fn write_error(&self) -> Option<&io::Error> {
        match self {
            Self::Export(ExportError::Write { source, .. })
            | Self::Create(CreateError::Export(ExportError::Write { source, .. })) => Some(source),
            _ => None,
        }
    }

    /// The error of the operating system, if a file could not be accessed.
    fn system_error(&self) -> Option<&io::Error> {
        match self {
            Self::Prompts { source, .. }
            | Self::Corpus(
                CorpusError::Read { source, .. }
                | CorpusError::Line(LineError { problem: LineProblem::Io(source), .. }),
            )
            | Self::Create(CreateError::Export(ExportError::Write { source, .. }))
            | Self::Export(ExportError::Write { source, .. } | ExportError::Read { source, .. })
            | Self::Open(
                OpenError::Config(ConfigError::Read { source, .. })
                | OpenError::Weights(WeightsError::Disk { source, .. })
                | OpenError::Tokenizer(TokenizerError::Read { source, .. })
                | OpenError::Template(TemplateError::Read { source, .. }),
            )
            | Self::Weights(WeightsError::Disk { source, .. })
            | Self::Adapter(
                AdapterError::Read { source, .. }
                | AdapterError::Weights(WeightsError::Disk { source, .. }),
            ) => Some(source),
            _ => None,
        }
    }
}

fn corpus_hint(problem: &LineProblem) -> Option<&'static str> {
    match problem {
        LineProblem::Io(_) => None,
        _ => Some("files of plain text end in .txt, .md or .py; all others are JSON Lines"),
    }
}

/// What a model can be named by.
const NAMES: &str = "give the path of a model directory or a .gguf file, a run, or a name of the hub (`owner/name`)";

/// What to do about a model that cannot be opened, whichever command opens it.
pub(crate) fn open_hint(err: &OpenError) -> Option<&'static str> {
    match err {
        OpenError::Nothing(_) => Some(NAMES),
        OpenError::Config(ConfigError::Read { .. }) => Some(
            "a model's directory has `config.json`, `tokenizer.json` and weights, or one .gguf file; an \
             adapter's has `adapter_config.json`; a run has `events.jsonl`",
        ),
        OpenError::Weights(err) => weights_hint(err),
        OpenError::Tokenizer(TokenizerError::Embedding { .. }) => Some(
            "the tokenizer and the weights belong to different models: use both from the same model",
        ),
        _ => None,
    }
}

fn weights_hint(err: &WeightsError) -> Option<&'static str> {
    match err {
        WeightsError::MissingShard { .. }
        | WeightsError::Header { .. }
        | WeightsError::NotFinite { .. } => {
            Some("the download may be incomplete or damaged: fetch this file again")
        }
        _ => None,
    }
}
