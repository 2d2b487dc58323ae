//! A GGUF file's metadata as a configuration.
//!
//! Keys begin with the architecture's name (`llama.block_count`). Some settings of `config.json`
//! have no key in GGUF and are derived from the tensors: embeddings are tied if there is no
//! `output.weight`, the vocabulary has as many tokens as the embedding has rows, and the frequency
//! scaling of Llama 3 is a tensor of factors.

use std::path::Path;

use serde_json::Value as Json;

use super::header::GgufHeader;
use super::value::MetadataValue;
use crate::config::keys::Keys;
use crate::config::{Config, ConfigError, Family, Rope, Scaling, bounds, yarn_attention};
use crate::shown;
use crate::weights::Dtype;

/// The configuration that `header` describes; `factors` are on the rope's frequencies.
pub(super) fn read(
    path: &Path,
    header: &GgufHeader,
    factors: Option<Vec<f32>>,
) -> Result<Config, ConfigError> {
    let (family, prefix) = family(path, header)?;
    let lookup = |key: &str| {
        let own = key.starts_with("tokenizer.");
        let key = if own { key.to_owned() } else { format!("{prefix}.{key}") };
        header.metadata.get(&key).map(json)
    };
    let mut keys = Keys::new(&lookup);
    let mut config = read_keys(&mut keys, family, header);
    if let Some(factors) = factors {
        config.rope.scaling = Scaling::Factors(factors);
    }
    let mut problems = keys.into_problems();
    if problems.is_empty() {
        problems = config.problems();
    }
    if problems.is_empty() {
        return Ok(config);
    }
    let problems =
        problems.into_iter().map(|problem| format!("{problem} ({prefix} metadata)")).collect();
    Err(ConfigError::Keys { path: path.to_owned(), problems })
}

fn family(path: &Path, header: &GgufHeader) -> Result<(Family, &'static str), ConfigError> {
    let found = match header.metadata.get("general.architecture") {
        Some(MetadataValue::Text(name)) => match name.as_str() {
            "llama" => return Ok((Family::Llama, "llama")),
            "qwen2" => return Ok((Family::Qwen2, "qwen2")),
            "qwen3" => return Ok((Family::Qwen3, "qwen3")),
            other => format!("`{}`", shown::beginning(other)),
        },
        _ => "it has no `general.architecture`".to_owned(),
    };
    Err(ConfigError::Architecture { path: path.to_owned(), found })
}

/// A single value. No key of a configuration may be a list: one becomes an empty list, which every
/// key refuses.
fn json(value: &MetadataValue) -> Json {
    match value {
        MetadataValue::Unsigned(number) => Json::from(*number),
        MetadataValue::Signed(number) => Json::from(*number),
        MetadataValue::Float(number) => Json::from(*number),
        MetadataValue::Bool(flag) => Json::from(*flag),
        MetadataValue::Text(text) => Json::from(text.as_str()),
        MetadataValue::Numbers(_) | MetadataValue::Texts(_) | MetadataValue::Nested => {
            Json::Array(Vec::new())
        }
    }
}

fn read_keys(keys: &mut Keys<'_>, family: Family, header: &GgufHeader) -> Config {
    let vocab = vocab(keys, header);
    let width = keys.size("embedding_length", bounds::WIDTH);
    let heads = keys.size("attention.head_count", bounds::HEADS);
    let positions = keys.size("context_length", bounds::POSITIONS);
    let head_dim = head_dim(keys, width, heads);
    let embedding = header.tensors.get("token_embd.weight");
    let mut config = Config {
        family,
        vocab,
        width,
        layers: keys.size("block_count", bounds::LAYERS),
        heads,
        kv_heads: keys.size_if("attention.head_count_kv", bounds::HEADS).unwrap_or(heads),
        head_dim,
        ffn: keys.size("feed_forward_length", bounds::FFN),
        rms_eps: rms_eps(keys),
        rope: rope(keys, positions),
        tied_head: !header.tensors.contains_key("output.weight"),
        qkv_bias: family == Family::Qwen2,
        qk_norm: family == Family::Qwen3,
        positions,
        bos: keys.token_if("tokenizer.ggml.bos_token_id", vocab),
        eos: Vec::new(),
        pad: keys.token_if("tokenizer.ggml.padding_token_id", vocab),
        dtype: embedding.map_or(Dtype::F32, crate::weights::Stored::dtype),
    };
    config.add_eos(keys.tokens("tokenizer.ggml.eos_token_id", vocab));
    config.add_eos(keys.tokens("tokenizer.ggml.eot_token_id", vocab));
    refuse_unsupported(keys, head_dim);
    config
}

fn vocab(keys: &mut Keys<'_>, header: &GgufHeader) -> usize {
    let embedding = header.tensors.get("token_embd.weight");
    match embedding.map(crate::weights::Stored::rows) {
        Some(rows) if bounds::VOCAB.contains(&rows) => rows,
        Some(rows) => {
            keys.problem(format!("`token_embd.weight` has {rows} rows"));
            1
        }
        None => {
            keys.problem("tensor `token_embd.weight` is missing".to_owned());
            1
        }
    }
}

fn head_dim(keys: &mut Keys<'_>, width: usize, heads: usize) -> usize {
    if let Some(head_dim) = keys.size_if("attention.key_length", bounds::HEAD_DIM) {
        return head_dim;
    }
    let head_dim = width / heads;
    if !width.is_multiple_of(heads) || !bounds::HEAD_DIM.contains(&head_dim) {
        keys.problem(format!("`embedding_length` {width} cannot be {heads} heads"));
    }
    head_dim.max(2)
}

fn rms_eps(keys: &mut Keys<'_>) -> f64 {
    let key = "attention.layer_norm_rms_epsilon";
    if keys.get(key).is_none() {
        keys.problem(format!("`{key}` is missing"));
    }
    let eps = keys.number_if(key, bounds::RMS_EPS).unwrap_or(1e-6);
    // It was written as an f32: the shortest decimal that rounds to it is the intended value.
    #[expect(clippy::cast_possible_truncation, reason = "it is an f32 widened")]
    let narrow = eps as f32;
    narrow.to_string().parse().unwrap_or(eps)
}

fn rope(keys: &mut Keys<'_>, positions: usize) -> Rope {
    let theta = keys.number_if("rope.freq_base", bounds::THETA).unwrap_or(10_000.0);
    let factor = keys.number_if("rope.scaling.factor", bounds::FACTOR);
    let old = keys.number_if("rope.scale_linear", bounds::FACTOR);
    let kind = keys.text_if("rope.scaling.type");
    let scaling = match (kind.as_deref(), factor.or(old)) {
        (Some("none"), _) | (None, None) => Scaling::None,
        (Some("linear") | None, Some(factor)) => Scaling::Linear { factor },
        (Some("yarn"), Some(factor)) => yarn(keys, factor, positions),
        (Some("linear" | "yarn"), None) => {
            keys.problem("`rope.scaling.factor` is missing".to_owned());
            Scaling::None
        }
        (Some(other), _) => {
            let other = shown::beginning(other);
            keys.problem(format!("`rope.scaling.type` `{other}` is not supported"));
            Scaling::None
        }
    };
    Rope { theta, scaling }
}

fn yarn(keys: &mut Keys<'_>, factor: f64, positions: usize) -> Scaling {
    let original = keys.size_if("rope.scaling.original_context_length", bounds::POSITIONS);
    let weight = keys.number_if("rope.scaling.attn_factor", 1e-3..=1e3).unwrap_or(1.0);
    let beta_fast = keys.number_if("rope.scaling.yarn_beta_fast", 1e-3..=1e6).unwrap_or(32.0);
    let beta_slow = keys.number_if("rope.scaling.yarn_beta_slow", 1e-3..=1e6).unwrap_or(1.0);
    if beta_slow >= beta_fast {
        keys.problem("`rope.scaling.yarn_beta_slow` is not below the fast one".to_owned());
    }
    Scaling::Yarn {
        factor,
        beta_fast,
        beta_slow,
        original: original.unwrap_or(positions),
        attention_factor: weight * yarn_attention(factor, 1.0),
        truncate: true,
    }
}

/// Refuses options of these architectures that are not supported here.
fn refuse_unsupported(keys: &mut Keys<'_>, head_dim: usize) {
    for key in ["rope.dimension_count", "attention.value_length"] {
        if let Some(size) = keys.size_if(key, 1..=1 << 20)
            && size != head_dim
        {
            keys.problem(format!(
                "`{key}` is {size}; only the heads' size {head_dim} is supported"
            ));
        }
    }
    if keys.size_if("expert_count", 0..=1 << 20).is_some_and(|experts| experts > 0) {
        keys.problem("`expert_count`: mixtures of experts are not supported".to_owned());
    }
    if keys.size_if("attention.sliding_window", 0..=1 << 30).is_some_and(|window| window > 0) {
        keys.problem("`attention.sliding_window` is in use, which is not supported".to_owned());
    }
}
