//! A GGUF file's tokenizer, as the pipeline that the hub's `tokenizer.json` describes.
//!
//! Byte-level BPE is supported (`tokenizer.ggml.model` is `gpt2`): tokens, merges, the type of each
//! token, and the name of a pre-tokenizer, which splits text before the merges. The names and their
//! meanings are llama.cpp's (`llama-vocab.cpp`); where the hub's tokenizer of such a model has a
//! normaliser or a separate step that splits digits, so has ours, because the ids must be those the
//! model was trained on.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value as Json, json};

use super::value::{MetadataValue, NumberArray, TextArray};
use crate::shown;
use crate::tokenizer::{Specials, Tokenizer, TokenizerError};

/// Types of tokens.
const CONTROL: i64 = 3;
const USER_DEFINED: i64 = 4;
const UNUSED: i64 = 5;

/// The pre-tokenizer: how text is split before the merges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SplitPattern {
    /// GPT-2's expression alone.
    Gpt2,
    /// Each digit alone, then GPT-2's expression.
    Digits,
    /// Qwen's expression, with each digit alone, after Unicode's composition.
    Qwen,
    /// Llama 3's expression, with up to three digits together; whole tokens before merges.
    Llama3,
}

const QWEN: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const LLAMA3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Builds the tokenizer out of the metadata of the file at `path`.
pub(super) fn build(
    path: &Path,
    metadata: &BTreeMap<String, MetadataValue>,
) -> Result<Tokenizer, TokenizerError> {
    let bad = |problem: String| TokenizerError::Format { path: path.to_owned(), problem };
    let json = describe(metadata).map_err(bad)?;
    let text = json.to_string();
    let mut tokenizer = Tokenizer::from_json(&text, path)?;
    let token = |key: &str| match metadata.get(key) {
        Some(MetadataValue::Unsigned(id)) => {
            u32::try_from(*id).ok().and_then(|id| tokenizer.token(id))
        }
        _ => None,
    };
    let specials = Specials {
        bos: token("tokenizer.ggml.bos_token_id"),
        eos: token("tokenizer.ggml.eos_token_id"),
        pad: token("tokenizer.ggml.padding_token_id"),
        unk: token("tokenizer.ggml.unknown_token_id"),
    };
    tokenizer.set_specials(specials);
    Ok(tokenizer)
}

/// The equivalent `tokenizer.json`; or the problem.
fn describe(metadata: &BTreeMap<String, MetadataValue>) -> Result<Json, String> {
    let text = |key: &str| match metadata.get(key) {
        Some(MetadataValue::Text(text)) => Ok(text.as_str()),
        _ => Err(format!("metadata `{key}` is missing, or no text")),
    };
    let model = text("tokenizer.ggml.model")?;
    if model != "gpt2" {
        let model = shown::beginning(model);
        return Err(format!("tokenizer `{model}` is not read; put a `tokenizer.json` beside it"));
    }
    let split = match metadata.get("tokenizer.ggml.pre") {
        None => SplitPattern::Gpt2,
        Some(_) => split_of(text("tokenizer.ggml.pre")?)?,
    };
    let tokens = texts(metadata, "tokenizer.ggml.tokens")?;
    let merges = texts(metadata, "tokenizer.ggml.merges")?;
    let Some(MetadataValue::Numbers(types)) = metadata.get("tokenizer.ggml.token_type") else {
        return Err("metadata `tokenizer.ggml.token_type` is not a list of numbers".to_owned());
    };
    let types = types_of(types, tokens)?;
    let (vocab, added) = vocabulary(tokens, &types)?;
    Ok(pipeline(
        split,
        &json!({
            "type": "BPE",
            "vocab": vocab,
            "merges": merges.iter().collect::<Vec<_>>(),
            "ignore_merges": split == SplitPattern::Llama3,
        }),
        &added,
    ))
}

fn split_of(name: &str) -> Result<SplitPattern, String> {
    match name {
        "default" | "gpt-2" | "phi-2" | "olmo" => Ok(SplitPattern::Gpt2),
        "smollm" | "starcoder" | "refact" | "codeshell" => Ok(SplitPattern::Digits),
        "qwen2" => Ok(SplitPattern::Qwen),
        "llama-bpe" | "llama3" | "llama-v3" => Ok(SplitPattern::Llama3),
        other => {
            let other = shown::beginning(other);
            Err(format!("metadata `tokenizer.ggml.pre`: `{other}` is not known"))
        }
    }
}

fn texts<'a>(
    metadata: &'a BTreeMap<String, MetadataValue>,
    key: &str,
) -> Result<&'a TextArray, String> {
    match metadata.get(key) {
        Some(MetadataValue::Texts(texts)) if !texts.is_empty() => Ok(texts),
        _ => Err(format!("metadata `{key}` is not a list of texts")),
    }
}

fn types_of(types: &NumberArray, tokens: &TextArray) -> Result<Vec<i64>, String> {
    if types.len() != tokens.len() {
        return Err(format!("{} types for {} tokens", types.len(), tokens.len()));
    }
    let types = types.integers().ok_or("metadata `tokenizer.ggml.token_type` has no integers")?;
    Ok(types.collect())
}

/// The ids of all tokens that are used, and those that are found in a text before anything else.
fn vocabulary(tokens: &TextArray, types: &[i64]) -> Result<(Map<String, Json>, Vec<Json>), String> {
    let (mut vocab, mut added) = (Map::new(), Vec::new());
    for (id, (token, &kind)) in tokens.iter().zip(types).enumerate() {
        if kind == UNUSED {
            continue;
        }
        if vocab.insert(token.to_owned(), json!(id)).is_some() {
            return Err(format!("token `{}` occurs twice", shown::beginning(token)));
        }
        if kind == CONTROL || kind == USER_DEFINED {
            added.push(json!({
                "id": id, "content": token, "special": kind == CONTROL, "normalized": false,
                "single_word": false, "lstrip": false, "rstrip": false,
            }));
        }
    }
    Ok((vocab, added))
}

fn pipeline(split: SplitPattern, model: &Json, added: &[Json]) -> Json {
    let bytes = |use_regex: bool| {
        json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false,
            "use_regex": use_regex})
    };
    let expression = |regex: &str| {
        json!({"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated",
            "invert": false})
    };
    let steps = match split {
        SplitPattern::Gpt2 => vec![bytes(true)],
        SplitPattern::Digits => {
            vec![json!({"type": "Digits", "individual_digits": true}), bytes(true)]
        }
        SplitPattern::Qwen => vec![expression(QWEN), bytes(false)],
        SplitPattern::Llama3 => vec![expression(LLAMA3), bytes(false)],
    };
    let normalizer = if split == SplitPattern::Qwen { json!({"type": "NFC"}) } else { Json::Null };
    json!({
        "version": "1.0",
        "added_tokens": added,
        "normalizer": normalizer,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": steps},
        "post_processor": null,
        "decoder": bytes(true),
        "model": model,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gguf::value::NumberType;

    fn texts(list: &[String]) -> MetadataValue {
        let mut texts = TextArray::default();
        for text in list {
            texts.text.push_str(text);
            texts.ends.push(texts.text.len());
        }
        MetadataValue::Texts(texts)
    }

    /// The metadata that a converter writes for a `tokenizer.json`, padded with unused tokens.
    fn converted(file: &Json, pre: &str) -> BTreeMap<String, MetadataValue> {
        let vocab = file["model"]["vocab"].as_object().unwrap();
        let added = file["added_tokens"].as_array().unwrap();
        let size = vocab.len() + added.len() + 3;
        let mut tokens: Vec<String> = (0..size).map(|id| format!("[PAD{id}]")).collect();
        let mut types = vec![5u8; size];
        for (token, id) in vocab {
            let id = usize::try_from(id.as_u64().unwrap()).unwrap();
            (tokens[id], types[id]) = (token.clone(), 1);
        }
        for token in added {
            let id = usize::try_from(token["id"].as_u64().unwrap()).unwrap();
            tokens[id] = token["content"].as_str().unwrap().to_owned();
            types[id] = if token["special"] == true { 3 } else { 4 };
        }
        let merge = |pair: &Json| match pair.as_array() {
            Some(pair) => format!("{} {}", pair[0].as_str().unwrap(), pair[1].as_str().unwrap()),
            None => pair.as_str().unwrap().to_owned(),
        };
        let merges: Vec<_> =
            file["model"]["merges"].as_array().unwrap().iter().map(merge).collect();
        BTreeMap::from([
            ("tokenizer.ggml.model".to_owned(), MetadataValue::Text("gpt2".to_owned())),
            ("tokenizer.ggml.pre".to_owned(), MetadataValue::Text(pre.to_owned())),
            ("tokenizer.ggml.tokens".to_owned(), self::texts(&tokens)),
            ("tokenizer.ggml.merges".to_owned(), self::texts(&merges)),
            (
                "tokenizer.ggml.token_type".to_owned(),
                MetadataValue::Numbers(NumberArray { kind: NumberType::U8, bytes: types }),
            ),
        ])
    }

    #[test]
    fn a_converted_tokenizer_gives_the_tokens_of_the_original() {
        #[derive(serde::Deserialize)]
        struct Golden {
            model: String,
            texts: Vec<Case>,
        }
        #[derive(serde::Deserialize)]
        struct Case {
            text: String,
            ids: Vec<u32>,
        }
        let golden: Vec<Golden> =
            serde_json::from_str(include_str!("../../tests/testdata/tokens.json")).unwrap();
        for (model, pre) in [("qwen3", "qwen2"), ("smollm2", "smollm")] {
            let root =
                Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/tokenizers");
            let Ok(file) = std::fs::read_to_string(root.join(model).join("tokenizer.json")) else {
                println!("SKIPPED: the tokenizers are not beside the repository");
                return;
            };
            let file: Json = serde_json::from_str(&file).unwrap();
            let tokenizer = build("m.gguf".as_ref(), &converted(&file, pre)).unwrap();
            let golden = golden.iter().find(|golden| golden.model == model).unwrap();
            for case in &golden.texts {
                assert_eq!(tokenizer.encode(&case.text).unwrap(), case.ids, "{:?}", case.text);
            }
        }
    }
}
