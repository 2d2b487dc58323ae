//! The hub's `config.json` and `generation_config.json`.
//!
//! transformers 4 writes `rope_theta`, `rope_scaling` and `torch_dtype`, transformers 5
//! `rope_parameters` and `dtype`; both are read. An absent key has the default of the family's
//! class in transformers.

use std::io;
use std::path::Path;

use serde_json::{Map, Value};

use super::keys::Keys;
use super::rope::{self, Rope};
use super::{Config, ConfigError, Family, bounds};
use crate::shown;
use crate::small_file;
use crate::weights::Dtype;

/// Configurations are a few kilobytes.
const LIMIT_BYTES: u64 = 4 << 20;

impl Config {
    /// Reads `config.json` of a directory, and the ends of `generation_config.json` if it is there.
    pub fn from_dir(dir: &Path) -> Result<Self, ConfigError> {
        let path = dir.join("config.json");
        let mut config = Self::from_object(&path, &read_object(&path)?)?;
        let path = dir.join("generation_config.json");
        match read_object(&path) {
            Ok(object) => config.add_eos(ends(&path, &object, config.vocab)?),
            Err(ConfigError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
            Err(err) => return Err(err),
        }
        Ok(config)
    }

    /// A configuration from the object of a `config.json`; `path` is for messages.
    pub fn from_object(path: &Path, object: &Map<String, Value>) -> Result<Self, ConfigError> {
        let family = family(path, object)?;
        let lookup = |key: &str| object.get(key).cloned();
        let mut keys = Keys::new(&lookup);
        refuse_unsupported(&mut keys, family);
        let config = read(&mut keys, family);
        let mut problems = keys.into_problems();
        if problems.is_empty() {
            problems = config.problems();
        }
        if problems.is_empty() {
            return Ok(config);
        }
        Err(ConfigError::Keys { path: path.to_owned(), problems })
    }
}

/// A file that holds one JSON object.
pub(crate) fn read_object(path: &Path) -> Result<Map<String, Value>, ConfigError> {
    let text = small_file::read_text(path, LIMIT_BYTES)
        .map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
    serde_json::from_str(&text).map_err(|err| ConfigError::Json {
        path: path.to_owned(),
        problem: shown::beginning(&err.to_string()),
    })
}

fn ends(path: &Path, object: &Map<String, Value>, vocab: usize) -> Result<Vec<u32>, ConfigError> {
    let lookup = |key: &str| object.get(key).cloned();
    let mut keys = Keys::new(&lookup);
    let ends = keys.tokens("eos_token_id", vocab);
    let problems = keys.into_problems();
    if problems.is_empty() {
        return Ok(ends);
    }
    Err(ConfigError::Keys { path: path.to_owned(), problems })
}

fn family(path: &Path, object: &Map<String, Value>) -> Result<Family, ConfigError> {
    let class = object.get("architectures").and_then(|list| list.get(0)).and_then(Value::as_str);
    let kind = object.get("model_type").and_then(Value::as_str);
    let family = match (class, kind) {
        (Some("LlamaForCausalLM"), _) | (None, Some("llama")) => Family::Llama,
        (Some("Qwen2ForCausalLM"), _) | (None, Some("qwen2")) => Family::Qwen2,
        (Some("Qwen3ForCausalLM"), _) | (None, Some("qwen3")) => Family::Qwen3,
        (class, kind) => {
            let found = match class.or(kind) {
                Some(name) => format!("`{}`", shown::beginning(name)),
                None => "it has neither `architectures` nor `model_type`".to_owned(),
            };
            return Err(ConfigError::Architecture { path: path.to_owned(), found });
        }
    };
    Ok(family)
}

fn read(keys: &mut Keys<'_>, family: Family) -> Config {
    let vocab = keys.size("vocab_size", bounds::VOCAB);
    let width = keys.size("hidden_size", bounds::WIDTH);
    let heads = keys.size("num_attention_heads", bounds::HEADS);
    let positions = keys.size("max_position_embeddings", bounds::POSITIONS);
    let mut config = Config {
        family,
        vocab,
        width,
        layers: keys.size("num_hidden_layers", bounds::LAYERS),
        heads,
        kv_heads: keys.size_if("num_key_value_heads", bounds::HEADS).unwrap_or(heads),
        head_dim: head_dim(keys, family, width, heads),
        ffn: keys.size("intermediate_size", bounds::FFN),
        rms_eps: keys.number_if("rms_norm_eps", bounds::RMS_EPS).unwrap_or(1e-6),
        rope: read_rope(keys, positions),
        tied_head: keys.flag("tie_word_embeddings"),
        qkv_bias: family == Family::Qwen2,
        qk_norm: family == Family::Qwen3,
        positions,
        bos: keys.token_if("bos_token_id", vocab),
        eos: Vec::new(),
        pad: pad(keys, vocab),
        dtype: read_dtype(keys),
    };
    config.add_eos(keys.tokens("eos_token_id", vocab));
    config
}

/// Some files say -1 for "none".
fn pad(keys: &mut Keys<'_>, vocab: usize) -> Option<u32> {
    let none = keys.get("pad_token_id").is_some_and(|value| value == -1);
    if none { None } else { keys.token_if("pad_token_id", vocab) }
}

fn head_dim(keys: &mut Keys<'_>, family: Family, width: usize, heads: usize) -> usize {
    if let Some(head_dim) = keys.size_if("head_dim", bounds::HEAD_DIM) {
        return head_dim;
    }
    if family == Family::Qwen3 {
        return 128;
    }
    if !width.is_multiple_of(heads) {
        keys.problem(format!("`hidden_size` {width} is not a multiple of {heads} heads"));
    }
    let head_dim = width / heads;
    if !bounds::HEAD_DIM.contains(&head_dim) {
        keys.problem(format!("`hidden_size` {width} gives {heads} heads of {head_dim} numbers"));
    }
    head_dim.max(2)
}

fn read_rope(keys: &mut Keys<'_>, positions: usize) -> Rope {
    let theta = keys.get("rope_theta");
    let object = match keys.get("rope_parameters").or_else(|| keys.get("rope_scaling")) {
        None => Map::new(),
        Some(Value::Object(object)) => object,
        Some(_) => {
            keys.problem("`rope_parameters` or `rope_scaling` is not an object".to_owned());
            Map::new()
        }
    };
    let lookup = |key: &str| match (key, object.get(key)) {
        ("rope_theta", None) => theta.clone(),
        ("rope_type", None) => object.get("type").cloned(),
        (_, value) => value.cloned(),
    };
    let mut inner = Keys::new(&lookup);
    let rope = rope::read(&mut inner, positions);
    for problem in inner.into_problems() {
        keys.problem(problem);
    }
    rope
}

fn read_dtype(keys: &mut Keys<'_>) -> Dtype {
    let key = if keys.get("dtype").is_some() { "dtype" } else { "torch_dtype" };
    match keys.text_if(key).as_deref() {
        None | Some("float32") => Dtype::F32,
        Some("bfloat16") => Dtype::Bf16,
        Some("float16") => Dtype::F16,
        Some(other) => {
            let other = shown::beginning(other);
            keys.problem(format!("`{key}` is `{other}`, expected float32, bfloat16 or float16"));
            Dtype::F32
        }
    }
}

/// Refuses options of these families that are not supported here.
fn refuse_unsupported(keys: &mut Keys<'_>, family: Family) {
    for key in ["attention_bias", "mlp_bias"] {
        // Qwen2 has biases by its nature and no such key.
        if family != Family::Qwen2 && keys.flag(key) {
            keys.problem(format!("`{key}` is true, which is not supported"));
        }
    }
    let activation = keys.text_if("hidden_act").unwrap_or_else(|| "silu".to_owned());
    if activation != "silu" {
        let activation = shown::beginning(&activation);
        keys.problem(format!("`hidden_act` is `{activation}`; only `silu` is supported"));
    }
    let window = keys.get("sliding_window").is_some();
    if keys.flag("use_sliding_window") || (window && family == Family::Llama) {
        keys.problem("`sliding_window` is in use, which is not supported".to_owned());
    }
    let types = keys.get("layer_types").unwrap_or_default();
    let mut types = types.as_array().map(Vec::as_slice).unwrap_or_default().iter();
    if let Some(other) = types.find(|layer_type| *layer_type != "full_attention") {
        let other = shown::beginning(&other.to_string());
        keys.problem(format!("`layer_types` has {other}; only full attention is supported"));
    }
    if keys.get("quantization_config").is_some() {
        keys.problem("`quantization_config`: weights quantised that way are not read".to_owned());
    }
    if keys.get("partial_rotary_factor").is_some_and(|factor| factor.as_f64() != Some(1.0)) {
        keys.problem("`partial_rotary_factor` other than 1 is not supported".to_owned());
    }
}
