//! Configurations of known models, of strangers, and of those that would compute something else.

use serde_json::json;

use super::*;
use crate::weights::Dtype;

/// `SmolLM2-135M-Instruct` as transformers 4 wrote it.
fn smollm2() -> serde_json::Value {
    json!({
        "architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
        "bos_token_id": 1, "eos_token_id": 2, "hidden_act": "silu", "hidden_size": 576,
        "intermediate_size": 1536, "max_position_embeddings": 8192, "mlp_bias": false,
        "model_type": "llama", "num_attention_heads": 9, "num_hidden_layers": 30,
        "num_key_value_heads": 3, "pad_token_id": 2, "rms_norm_eps": 1e-05, "rope_scaling": null,
        "rope_theta": 100_000, "tie_word_embeddings": true, "torch_dtype": "bfloat16",
        "vocab_size": 49152,
    })
}

/// `Qwen3-0.6B` as transformers 5 writes it.
fn qwen3() -> serde_json::Value {
    json!({
        "architectures": ["Qwen3ForCausalLM"], "attention_bias": false, "bos_token_id": 151_643,
        "dtype": "bfloat16", "eos_token_id": 151_645, "head_dim": 128, "hidden_act": "silu",
        "hidden_size": 1024, "intermediate_size": 3072, "layer_types": ["full_attention"],
        "max_position_embeddings": 40960, "model_type": "qwen3", "num_attention_heads": 16,
        "num_hidden_layers": 28, "num_key_value_heads": 8, "rms_norm_eps": 1e-06,
        "rope_parameters": {"rope_theta": 1_000_000, "rope_type": "default"},
        "sliding_window": null, "tie_word_embeddings": true, "use_sliding_window": false,
        "vocab_size": 151_936,
    })
}

fn read(value: &serde_json::Value) -> Result<Config, String> {
    let object = value.as_object().unwrap();
    Config::from_object("m/config.json".as_ref(), object).map_err(|err| err.to_string())
}

/// What is said of `base` with some keys changed; all of `expected` must be in it.
#[track_caller]
fn refused(mut base: serde_json::Value, change: &serde_json::Value, expected: &[&str]) {
    base.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    let said = read(&base).unwrap_err();
    assert!(said.contains("m/config.json"), "{said}");
    for part in expected {
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn the_spelling_of_transformers_4_is_read() {
    let expected = Config {
        family: Family::Llama,
        vocab: 49152,
        width: 576,
        layers: 30,
        heads: 9,
        kv_heads: 3,
        head_dim: 64,
        ffn: 1536,
        rms_eps: 1e-5,
        rope: Rope { theta: 100_000.0, scaling: Scaling::None },
        tied_head: true,
        qkv_bias: false,
        qk_norm: false,
        positions: 8192,
        bos: Some(1),
        eos: vec![2],
        pad: Some(2),
        dtype: Dtype::Bf16,
    };
    assert_eq!(read(&smollm2()).unwrap(), expected);
    assert_eq!((expected.group(), expected.query_width(), expected.kv_width()), (3, 576, 192));
}

#[test]
fn the_spelling_of_transformers_5_is_read() {
    let config = read(&qwen3()).unwrap();
    assert_eq!((config.family, config.head_dim, config.qk_norm), (Family::Qwen3, 128, true));
    assert_eq!((config.query_width(), config.dtype), (2048, Dtype::Bf16));
    assert_eq!(config.rope, Rope { theta: 1e6, scaling: Scaling::None });
    assert_eq!((config.eos, config.pad), (vec![151_645], None));
}

#[test]
fn a_family_brings_its_own_choices() {
    let mut qwen2 = smollm2();
    qwen2["architectures"] = json!(["Qwen2ForCausalLM"]);
    let config = read(&qwen2).unwrap();
    assert!(config.qkv_bias && !config.qk_norm);
    let mut qwen3 = qwen3();
    qwen3.as_object_mut().unwrap().remove("head_dim");
    assert_eq!(read(&qwen3).unwrap().head_dim, 128);
}

#[test]
fn another_architecture_is_refused_by_its_name() {
    let other = json!({"architectures": ["MistralForCausalLM"]});
    refused(smollm2(), &other, &["`MistralForCausalLM`", "supported are Llama, Qwen2 and Qwen3"]);
    refused(smollm2(), &json!({"architectures": ["LlamaForSequenceClassification"]}), &["ForSeq"]);
    let empty = read(&json!({})).unwrap_err();
    assert!(empty.contains("neither `architectures` nor `model_type`"), "{empty}");
}

#[test]
fn every_wrong_key_is_named_at_once() {
    let wrong = json!({
        "hidden_size": 0, "vocab_size": -5, "num_hidden_layers": 1e3, "intermediate_size": "many",
        "rms_norm_eps": 0, "eos_token_id": [2, 49152], "max_position_embeddings": null,
        "rope_theta": -1, "torch_dtype": "int4", "num_attention_heads": 9_223_372_036_854_775_808_u64,
    });
    refused(
        smollm2(),
        &wrong,
        &[
            "`hidden_size` is 0, expected a whole number from 1",
            "`vocab_size` is -5",
            "`num_hidden_layers` is 1000.0",
            "`intermediate_size` is \"many\"",
            "`rms_norm_eps` is 0",
            "`eos_token_id` is [2,49152]",
            "`max_position_embeddings` is missing",
            "`rope_theta` is -1",
            "`torch_dtype` is `int4`",
            "`num_attention_heads` is 9223372036854775808",
        ],
    );
}

#[test]
fn heads_that_do_not_fit_together_are_refused() {
    refused(smollm2(), &json!({"num_key_value_heads": 4}), &["9 heads cannot share 4"]);
    refused(smollm2(), &json!({"head_dim": 63}), &["heads of 63 numbers cannot be rotated"]);
    refused(smollm2(), &json!({"hidden_size": 577}), &["577 is not a multiple of 9 heads"]);
}

#[test]
fn what_would_compute_something_else_is_refused_by_its_key() {
    for (change, expected) in [
        (json!({"attention_bias": true}), "`attention_bias` is true"),
        (json!({"mlp_bias": true}), "`mlp_bias` is true"),
        (json!({"hidden_act": "gelu"}), "`hidden_act` is `gelu`"),
        (json!({"sliding_window": 4096}), "`sliding_window` is in use"),
        (json!({"layer_types": ["full_attention", "sliding_attention"]}), "sliding_attention"),
        (json!({"quantization_config": {"bits": 4}}), "`quantization_config`"),
        (json!({"partial_rotary_factor": 0.5}), "`partial_rotary_factor`"),
        (json!({"rope_scaling": {"type": "dynamic", "factor": 2.0}}), "`dynamic`"),
        (json!({"rope_scaling": {"type": "longrope"}}), "default, linear, llama3 and yarn are"),
        (json!({"rope_scaling": {"type": "linear"}}), "`factor` of the rope's scaling is missing"),
        (json!({"rope_scaling": {"rope_type": "yarn", "factor": 0.5}}), "`factor` is 0.5"),
        (json!({"rope_scaling": 3}), "is not an object"),
        (
            json!({"rope_scaling": {"rope_type": "llama3", "factor": 8, "low_freq_factor": 4}}),
            "`low_freq_factor` 4 is not below",
        ),
    ] {
        refused(smollm2(), &change, &[expected]);
    }
    refused(qwen3(), &json!({"use_sliding_window": true}), &["`sliding_window` is in use"]);
}

#[test]
fn a_window_that_is_not_in_use_is_no_obstacle() {
    let mut config = qwen3();
    config["sliding_window"] = json!(4096);
    assert!(read(&config).is_ok());
}

#[test]
fn ends_of_the_generation_settings_are_added() {
    let dir = tempfile::TempDir::new().unwrap();
    let write = |name: &str, value: serde_json::Value| {
        std::fs::write(dir.path().join(name), value.to_string()).unwrap();
    };
    write("config.json", qwen3());
    assert_eq!(Config::from_dir(dir.path()).unwrap().eos, [151_645]);
    write("generation_config.json", json!({"eos_token_id": [151_645, 151_643]}));
    assert_eq!(Config::from_dir(dir.path()).unwrap().eos, [151_643, 151_645]);
    write("generation_config.json", json!({"eos_token_id": 151_936}));
    let err = Config::from_dir(dir.path()).unwrap_err().to_string();
    assert!(err.contains("generation_config.json") && err.contains("below 151936"), "{err}");
    std::fs::write(dir.path().join("config.json"), "{\"a\":").unwrap();
    let err = Config::from_dir(dir.path()).unwrap_err().to_string();
    assert!(err.contains("is not a JSON object"), "{err}");
}

/// Written by `make_golden.py` beside it with transformers.
#[test]
fn frequencies_are_those_of_transformers() {
    #[derive(serde::Deserialize)]
    struct Case {
        configs: Vec<serde_json::Value>,
        inverse: Vec<f64>,
        attention_factor: f64,
    }
    let cases = include_str!("../../tests/testdata/rope.json");
    let cases: Vec<Case> = serde_json::from_str(cases).unwrap();
    assert_eq!(cases.len(), 7);
    for case in cases {
        for config in &case.configs {
            let found = read(config).unwrap().frequencies();
            assert_eq!(found.inverse.len(), case.inverse.len());
            for (found, expected) in found.inverse.iter().zip(&case.inverse) {
                let error = (f64::from(*found) - expected).abs() / expected;
                assert!(error < 1e-6, "{found} for {expected} in {config}");
            }
            assert!((f64::from(found.attention_factor) - case.attention_factor).abs() < 1e-6);
        }
    }
}

#[test]
fn factors_of_a_file_divide_the_frequencies() {
    let plain = Rope { theta: 100.0, scaling: Scaling::None };
    let factors = Rope { theta: 100.0, scaling: Scaling::Factors(vec![1.0, 4.0]) };
    let (plain, stretched) = (plain.frequencies(4), factors.frequencies(4));
    assert_eq!(plain.inverse, [1.0, 0.1]);
    assert_eq!(stretched.inverse, [1.0, 0.025]);
    assert!(factors.problems(4).is_none());
    assert!(factors.problems(8).unwrap().contains("2 factors"));
}

#[test]
fn what_is_written_is_read_back_with_every_scaling() {
    let yarn = Scaling::Yarn {
        factor: 4.0,
        beta_fast: 30.0,
        beta_slow: 2.0,
        original: 1024,
        attention_factor: 1.25,
        truncate: false,
    };
    let llama3 = Scaling::Llama3 { factor: 8.0, low: 1.5, high: 3.5, original: 2048 };
    let scalings = [Scaling::None, Scaling::Linear { factor: 2.5 }, llama3, yarn];
    let base = [read(&smollm2()).unwrap(), read(&qwen3()).unwrap()];
    let qwen2 = Config {
        family: Family::Qwen2,
        qkv_bias: true,
        tied_head: false,
        eos: vec![3, 7],
        bos: None,
        pad: None,
        ..base[0].clone()
    };
    for config in base.into_iter().chain([qwen2]) {
        for scaling in &scalings {
            let rope = Rope { scaling: scaling.clone(), ..config.rope };
            let config = Config { rope, dtype: Dtype::F32, ..config.clone() };
            let written = config.to_object(Dtype::F32).unwrap();
            assert_eq!(read(&written.into()).unwrap(), config);
        }
    }
}

#[test]
fn what_a_config_cannot_say_is_refused_when_it_is_written() {
    let config = read(&smollm2()).unwrap();
    assert!(config.to_object(Dtype::Q8_0).unwrap_err().contains("Q8_0"));
    let rope = Rope { scaling: Scaling::Factors(vec![1.0; 32]), ..config.rope };
    let problem = Config { rope, ..config }.to_object(Dtype::F32).unwrap_err();
    assert!(problem.contains("factor for each frequency"), "{problem}");
}
