//! The tensors of a configuration, under the hub's names, and their shapes.
//!
//! Projections are `[out, in]`, as the hub stores them: row `o` holds the weights of output `o`.

use crate::config::Config;
use crate::shown;
use crate::weights::{Weights, WeightsError};

/// A tensor that a model must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedTensor {
    /// The hub's name.
    pub name: String,
    /// Outermost dimension first.
    pub shape: Vec<usize>,
}

/// Every tensor of a model, in the order in which a token meets them.
pub fn expected_tensors(config: &Config) -> Vec<ExpectedTensor> {
    let mut tensors = Vec::new();
    let mut add = |name: String, shape: &[usize]| {
        tensors.push(ExpectedTensor { name, shape: shape.to_vec() });
    };
    let (width, ffn) = (config.width, config.ffn);
    let (query, kv) = (config.query_width(), config.kv_width());
    add("model.embed_tokens.weight".to_owned(), &[config.vocab, width]);
    for layer in 0..config.layers {
        let mut add = |part: &str, shape: &[usize]| {
            add(format!("model.layers.{layer}.{part}"), shape);
        };
        add("input_layernorm.weight", &[width]);
        for (part, rows) in [("q_proj", query), ("k_proj", kv), ("v_proj", kv)] {
            add(&format!("self_attn.{part}.weight"), &[rows, width]);
            if config.qkv_bias {
                add(&format!("self_attn.{part}.bias"), &[rows]);
            }
        }
        if config.qk_norm {
            add("self_attn.q_norm.weight", &[config.head_dim]);
            add("self_attn.k_norm.weight", &[config.head_dim]);
        }
        add("self_attn.o_proj.weight", &[width, query]);
        add("post_attention_layernorm.weight", &[width]);
        add("mlp.gate_proj.weight", &[ffn, width]);
        add("mlp.up_proj.weight", &[ffn, width]);
        add("mlp.down_proj.weight", &[width, ffn]);
    }
    add("model.norm.weight".to_owned(), &[width]);
    if !config.tied_head {
        add("lm_head.weight".to_owned(), &[config.vocab, width]);
    }
    tensors
}

/// Checks that `weights` are those of a model of `config`: all of them, and no others.
pub(crate) fn check(config: &Config, weights: &dyn Weights) -> Result<(), WeightsError> {
    let expected = expected_tensors(config);
    for tensor in &expected {
        weights.expect_shape(&tensor.name, &tensor.shape)?;
    }
    let known: std::collections::BTreeSet<&str> =
        expected.iter().map(|tensor| tensor.name.as_str()).collect();
    let mut names = weights.names().into_iter();
    match names.find(|name| !known.contains(name) && !may_be_left(name)) {
        None => Ok(()),
        Some(stranger) => Err(WeightsError::Stranger {
            path: weights.path().to_owned(),
            tensor: shown::beginning(stranger),
        }),
    }
}

/// Tensors that some files have and no computation needs: the head of a tied model once more, and
/// the frequencies that old versions of transformers saved.
fn may_be_left(name: &str) -> bool {
    name == "lm_head.weight" || name.ends_with(".rotary_emb.inv_freq")
}
