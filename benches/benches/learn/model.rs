//! The random model of both sides: a Qwen3 with 6 layers of 256 and 6,400 tokens.

use std::error::Error;
use std::path::Path;

use serde_json::{Map, Value};
use whetstone_kernels::Device;
use whetstone_model::config::Config as Shape;
use whetstone_model::decoder::Decoder;
use whetstone_model::{ExportOptions, Tokenizer};

pub(crate) const THREADS: usize = 2;
const TEMPLATE: &str = "{{ messages[0]['content'] }}";
const CONFIG: &str = r#"{"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "vocab_size": 6400,
    "hidden_size": 256, "intermediate_size": 768, "num_hidden_layers": 6, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 64, "tie_word_embeddings": true, "hidden_act": "silu",
    "max_position_embeddings": 1024, "rms_norm_eps": 1e-6, "rope_theta": 10000.0}"#;

/// Its `config.json`; without a token that ends them, all completions have the greatest length.
pub(crate) fn shape(eos: Option<u32>) -> Map<String, Value> {
    let mut shape: Map<String, Value> = serde_json::from_str(CONFIG).expect("an object");
    shape.extend(eos.map(|eos| ("eos_token_id".to_owned(), Value::from(eos))));
    shape
}

/// Writes a new model with this shape.
pub(crate) fn write(
    device: &Device,
    shape: &Map<String, Value>,
    tokenizer: &Path,
    to: &Path,
) -> Result<(), Box<dyn Error>> {
    let tokenizer = Tokenizer::from_file(tokenizer)?;
    let shape = Shape::from_object(Path::new("config.json"), shape)?;
    let decoder = Decoder::new(device, &shape, 1, 1024);
    Ok(decoder.export_new(&tokenizer, Some(TEMPLATE), to, ExportOptions::default())?)
}
