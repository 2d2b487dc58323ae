//! The files beside the weights: the configuration, the tokenizer and the chat template.
//!
//! `config.json` is always ours, since weights may be stored as another type than before. The rest is
//! copied from a directory as it is; for a GGUF file, which has it in another form, and for a model that
//! is new, it is written.

use serde_json::{Map, Value, json};

use super::ExportError;
use super::folder::ExportFolder;
use crate::config::Config;
use crate::open::Pretrained;
use crate::small_file;
use crate::template::ChatTemplate;
use crate::tokenizer::Tokenizer;
use crate::weights::Dtype;

/// Files of a directory that belong to its model and hold no weights.
const COPIED: [&str; 9] = [
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "tokenizer.model",
    "chat_template.jinja",
];

/// Bytes of one of them, at most; the largest tokenizers have some 20 MB.
const LARGEST: u64 = 1 << 28;

/// Writes all of them.
pub(super) fn write(
    folder: &ExportFolder,
    model: &Pretrained,
    dtype: Dtype,
) -> Result<(), ExportError> {
    let config = model.config.to_object(dtype).map_err(ExportError::Config)?;
    put_json(folder, "config.json", config)?;
    if model.path.is_dir() {
        return copy(folder, model);
    }
    let template = model.template.as_ref().map(ChatTemplate::source);
    describe(
        folder,
        &CompanionFiles { config: &model.config, tokenizer: &model.tokenizer, template },
    )
}

/// The parts to describe if there are no files to copy.
pub(super) struct CompanionFiles<'a> {
    pub(super) config: &'a Config,
    pub(super) tokenizer: &'a Tokenizer,
    pub(super) template: Option<&'a str>,
}

/// Writes all of a model that has no files yet.
pub(super) fn write_new(
    folder: &ExportFolder,
    parts: &CompanionFiles<'_>,
    dtype: Dtype,
) -> Result<(), ExportError> {
    let config = parts.config.to_object(dtype).map_err(ExportError::Config)?;
    put_json(folder, "config.json", config)?;
    describe(folder, parts)
}

fn copy(folder: &ExportFolder, model: &Pretrained) -> Result<(), ExportError> {
    for name in COPIED {
        let from = model.path.join(name);
        match small_file::read_of_folder(&model.path, name, LARGEST) {
            Ok(bytes) => folder.put(name, &bytes)?,
            Err(err) if err.kind() == std::io::ErrorKind::NotFound => {}
            Err(source) => return Err(ExportError::Read { path: from, source }),
        }
    }
    Ok(())
}

fn describe(folder: &ExportFolder, parts: &CompanionFiles<'_>) -> Result<(), ExportError> {
    let CompanionFiles { config, tokenizer, template } = parts;
    put_json(folder, "generation_config.json", config.to_generation_object())?;
    folder.put("tokenizer.json", tokenizer.to_json()?.as_bytes())?;
    let specials = tokenizer.specials();
    let mut settings = Map::new();
    settings.insert("tokenizer_class".to_owned(), json!("PreTrainedTokenizerFast"));
    settings.insert("clean_up_tokenization_spaces".to_owned(), json!(false));
    settings.insert("model_max_length".to_owned(), json!(config.positions));
    // Without it transformers hands `token_type_ids` to a model that takes none.
    settings.insert("model_input_names".to_owned(), json!(["input_ids", "attention_mask"]));
    let named = [
        ("bos_token", &specials.bos),
        ("eos_token", &specials.eos),
        ("pad_token", &specials.pad),
        ("unk_token", &specials.unk),
    ];
    let known = named.into_iter().filter_map(|(key, token)| Some((key, token.as_ref()?)));
    settings.extend(known.map(|(key, token)| (key.to_owned(), json!(token))));
    put_json(folder, "tokenizer_config.json", settings)?;
    match template {
        Some(template) => folder.put("chat_template.jinja", template.as_bytes()),
        None => Ok(()),
    }
}

fn put_json(
    folder: &ExportFolder,
    name: &str,
    object: Map<String, Value>,
) -> Result<(), ExportError> {
    folder.put(name, format!("{:#}\n", Value::from(object)).as_bytes())
}
