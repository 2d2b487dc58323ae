//! A configuration as the hub's `config.json`, for transformers and for us.
//!
//! Keys are those of transformers 4, which version 5 reads as well. Every size is written, also
//! where it equals the family's default.

use serde_json::{Map, Value, json};

use super::{Config, Family, Scaling};
use crate::weights::Dtype;

impl Config {
    /// The object of a `config.json` for weights stored as `dtype`; or the reason why it cannot be
    /// written.
    pub(crate) fn to_object(&self, dtype: Dtype) -> Result<Map<String, Value>, String> {
        let (class, kind) = match self.family {
            Family::Llama => ("LlamaForCausalLM", "llama"),
            Family::Qwen2 => ("Qwen2ForCausalLM", "qwen2"),
            Family::Qwen3 => ("Qwen3ForCausalLM", "qwen3"),
        };
        let mut object = Map::new();
        let mut set = |key: &str, value: Value| {
            object.insert(key.to_owned(), value);
        };
        set("architectures", json!([class]));
        set("model_type", json!(kind));
        set("vocab_size", json!(self.vocab));
        set("hidden_size", json!(self.width));
        set("num_hidden_layers", json!(self.layers));
        set("num_attention_heads", json!(self.heads));
        set("num_key_value_heads", json!(self.kv_heads));
        set("head_dim", json!(self.head_dim));
        set("intermediate_size", json!(self.ffn));
        set("hidden_act", json!("silu"));
        set("rms_norm_eps", json!(self.rms_eps));
        set("rope_theta", json!(self.rope.theta));
        set("rope_scaling", scaling(&self.rope.scaling)?);
        set("max_position_embeddings", json!(self.positions));
        set("tie_word_embeddings", json!(self.tied_head));
        // Qwen2 has biases by its nature and no such key.
        if self.family != Family::Qwen2 {
            set("attention_bias", json!(false));
        }
        set("bos_token_id", json!(self.bos));
        set("eos_token_id", self.ends());
        set("pad_token_id", json!(self.pad));
        set("torch_dtype", json!(torch_name(dtype)?));
        Ok(object)
    }

    /// The object of a `generation_config.json`: the BOS, padding and EOS tokens.
    pub(crate) fn to_generation_object(&self) -> Map<String, Value> {
        let ids = [
            ("bos_token_id", json!(self.bos)),
            ("eos_token_id", self.ends()),
            ("pad_token_id", json!(self.pad)),
        ];
        let known = ids.into_iter().filter(|(_, id)| !id.is_null());
        known.map(|(key, id)| (key.to_owned(), id)).collect()
    }

    /// One token, a list, or nothing.
    fn ends(&self) -> Value {
        match self.eos.as_slice() {
            [] => Value::Null,
            [one] => json!(one),
            several => json!(several),
        }
    }
}

fn torch_name(dtype: Dtype) -> Result<&'static str, String> {
    match dtype {
        Dtype::F32 => Ok("float32"),
        Dtype::Bf16 => Ok("bfloat16"),
        other => Err(format!("weights are written as F32 or BF16, not as {}", other.name())),
    }
}

fn scaling(scaling: &Scaling) -> Result<Value, String> {
    Ok(match *scaling {
        Scaling::None => Value::Null,
        Scaling::Linear { factor } => json!({"rope_type": "linear", "factor": factor}),
        Scaling::Llama3 { factor, low, high, original } => json!({
            "rope_type": "llama3",
            "factor": factor,
            "low_freq_factor": low,
            "high_freq_factor": high,
            "original_max_position_embeddings": original,
        }),
        Scaling::Yarn { factor, beta_fast, beta_slow, original, attention_factor, truncate } => {
            json!({
                "rope_type": "yarn",
                "factor": factor,
                "beta_fast": beta_fast,
                "beta_slow": beta_slow,
                "original_max_position_embeddings": original,
                "attention_factor": attention_factor,
                "truncate": truncate,
            })
        }
        Scaling::Factors(_) => {
            let problem = "the GGUF file lists a factor for each frequency";
            return Err(format!("{problem}, which `config.json` cannot say"));
        }
    })
}
