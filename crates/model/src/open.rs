//! A model on this machine, opened: a directory as the hub lays it out, or one GGUF file.

use std::path::Path;

use crate::config::{Config, ConfigError};
use crate::gguf::{Gguf, GgufError};
use crate::layout;
use crate::safetensors::Safetensors;
use crate::template::{ChatTemplate, TemplateError};
use crate::tokenizer::{Tokenizer, TokenizerError, TokenizerSettings};
use crate::weights::{Weights, WeightsError};

/// All parts of a model, checked against each other; the weights are not read yet.
#[derive(Debug)]
pub struct Pretrained {
    /// The directory, or the GGUF file.
    pub path: std::path::PathBuf,
    /// Its configuration.
    pub config: Config,
    /// Its tensors: all that `config` asks for, in the right shapes.
    pub weights: Box<dyn Weights>,
    /// Its tokens; no more than the embedding has rows.
    pub tokenizer: Tokenizer,
    /// The text around a conversation, if the model was made for any.
    pub template: Option<ChatTemplate>,
    /// The hub name of the original of a GGUF file, if the file has one.
    pub origin: Option<String>,
}

/// Why a model cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is nothing at that path.
    #[error("`{}` is neither a directory nor a file", .0.display())]
    Nothing(std::path::PathBuf),
    /// The configuration is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Its tensors.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// Its tokenizer.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    /// Its chat template.
    #[error(transparent)]
    Template(#[from] TemplateError),
}

impl From<GgufError> for OpenError {
    fn from(err: GgufError) -> Self {
        match err {
            GgufError::Weights(err) => Self::Weights(err),
            GgufError::Config(err) => Self::Config(err),
        }
    }
}

/// Opens a model: a directory, or a GGUF file.
pub fn open(path: &Path) -> Result<Pretrained, OpenError> {
    let pretrained = if path.is_dir() {
        open_dir(path)?
    } else if path.exists() {
        open_gguf(path)?
    } else {
        return Err(OpenError::Nothing(path.to_owned()));
    };
    layout::check(&pretrained.config, pretrained.weights.as_ref())?;
    pretrained.tokenizer.check_embedding(pretrained.config.vocab)?;
    Ok(pretrained)
}

fn open_dir(dir: &Path) -> Result<Pretrained, OpenError> {
    let mut config = Config::from_dir(dir)?;
    let weights = Box::new(Safetensors::open_dir(dir)?);
    let settings = TokenizerSettings::from_dir(dir)?;
    let mut tokenizer = Tokenizer::from_file(&dir.join("tokenizer.json"))?;
    tokenizer.set_specials(settings.specials.clone());
    config.add_eos(tokenizer.eos());
    let template = template(dir, &settings)?;
    Ok(Pretrained { path: dir.to_owned(), config, weights, tokenizer, template, origin: None })
}

/// A file of its own comes before what `tokenizer_config.json` says.
fn template(
    dir: &Path,
    settings: &TokenizerSettings,
) -> Result<Option<ChatTemplate>, TemplateError> {
    let file = dir.join("chat_template.jinja");
    if file.exists() {
        return ChatTemplate::from_file(&file, &settings.specials).map(Some);
    }
    let path = dir.join("tokenizer_config.json");
    let source = settings.template.as_deref();
    source.map(|source| ChatTemplate::new(source, &settings.specials, &path)).transpose()
}

/// A tokenizer beside a GGUF file comes before its own.
fn open_gguf(path: &Path) -> Result<Pretrained, OpenError> {
    let gguf = Gguf::open(path)?;
    let beside = path.with_file_name("tokenizer.json");
    let tokenizer = if beside.exists() {
        let mut tokenizer = Tokenizer::from_file(&beside)?;
        let dir = path.parent().unwrap_or_else(|| Path::new("."));
        tokenizer.set_specials(TokenizerSettings::from_dir(dir)?.specials);
        tokenizer
    } else {
        gguf.tokenizer()?
    };
    let mut config = gguf.config().clone();
    config.add_eos(tokenizer.eos());
    let template = gguf.template(tokenizer.specials())?;
    let origin = gguf.origin();
    let weights = Box::new(gguf);
    Ok(Pretrained { path: path.to_owned(), config, weights, tokenizer, template, origin })
}
