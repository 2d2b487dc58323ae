//! A directory as the hub lays it out, whole and with one part wrong.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;
use whetstone_core::Message;
use whetstone_model::safetensors::Writer;
use whetstone_model::template::Options;
use whetstone_model::weights::Dtype;
use whetstone_model::{Config, expected_tensors, open};

fn config() -> Value {
    json!({
        "architectures": ["Qwen2ForCausalLM"], "hidden_size": 8, "intermediate_size": 12,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
        "vocab_size": 6, "max_position_embeddings": 64, "rms_norm_eps": 1e-6,
        "eos_token_id": 0, "tie_word_embeddings": false,
    })
}

fn tokenizer() -> Value {
    json!({
        "model": {"type": "BPE", "vocab": {"!": 0, "a": 1, "b": 2, "ab": 3}, "merges": ["a b"]},
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false,
            "use_regex": true},
        "decoder": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false,
            "use_regex": true},
        "truncation": {"direction": "Right", "max_length": 1, "strategy": "LongestFirst", "stride": 0},
        "padding": {"strategy": {"Fixed": 9}, "direction": "Right", "pad_id": 1, "pad_type_id": 0,
            "pad_token": "a", "pad_to_multiple_of": null},
        "added_tokens": [{"id": 4, "content": "<end>", "special": true, "single_word": false,
            "lstrip": false, "rstrip": false, "normalized": false}],
    })
}

fn save(dir: &Path, name: &str, value: &Value) {
    fs::write(dir.join(name), value.to_string()).expect("a file of the test");
}

/// Weights of a configuration, with one number of one tensor as `change` says.
fn save_weights(dir: &Path, config: &Config, change: Option<(&str, f32)>) {
    let expected = expected_tensors(config);
    let shapes: Vec<_> = expected.into_iter().map(|tensor| (tensor.name, tensor.shape)).collect();
    let file =
        fs::File::create(dir.join("model.safetensors")).expect("weights that can be written");
    let mut writer = Writer::new(file, &shapes, Dtype::F32, &BTreeMap::new())
        .expect("weights that can be written");
    for (name, shape) in &shapes {
        let mut numbers = vec![0.25; shape.iter().product()];
        if let Some((_, value)) = change.filter(|(changed, _)| changed == name) {
            numbers[1] = value;
        }
        writer.put(name, &numbers).expect("weights that can be written");
    }
    writer.finish().expect("weights that can be written");
}

fn model() -> TempDir {
    let dir = TempDir::new().expect("a folder of the test");
    save(dir.path(), "config.json", &config());
    save(dir.path(), "tokenizer.json", &tokenizer());
    let settings = json!({"eos_token": "<end>", "chat_template": "{{ messages[0].content }}!"});
    save(dir.path(), "tokenizer_config.json", &settings);
    save_weights(dir.path(), &Config::from_dir(dir.path()).expect("a folder of the test"), None);
    dir
}

/// What is said of the model with one file replaced.
#[track_caller]
fn refused(name: &str, value: &Value, expected: &str) {
    let dir = model();
    save(dir.path(), name, value);
    let err = open(dir.path()).expect_err("refused").to_string();
    assert!(err.contains(expected), "{err}");
}

#[test]
fn all_parts_of_a_directory_come_together() {
    let dir = model();
    let opened = open(dir.path()).unwrap();
    assert_eq!(opened.config.eos, [0, 4]);
    assert_eq!(opened.weights.names().len(), 2 * 12 + 3);
    let mut bias = [0.0; 4];
    opened.weights.read("model.layers.1.self_attn.k_proj.bias", &mut bias).unwrap();
    assert_eq!(bias.to_vec(), [0.25; 4]);
    // Neither cut to one token nor filled up to nine, whatever the file asks for.
    assert_eq!(opened.tokenizer.encode("abba<end>").unwrap(), [3, 2, 1, 4]);
    let render = |opened: whetstone_model::Pretrained| {
        opened.template.unwrap().render(&[Message::user("hi")], &Options::prompt()).unwrap()
    };
    assert_eq!(render(opened), "hi!");
    fs::write(dir.path().join("chat_template.jinja"), "{{ messages[0].content }}?\n").unwrap();
    assert_eq!(render(open(dir.path()).unwrap()), "hi?");
}

#[test]
fn parts_that_do_not_fit_are_named() {
    let change = |key: &str, value: Value| {
        let mut config = config();
        config[key] = value;
        config
    };
    refused(
        "config.json",
        &change("num_hidden_layers", json!(3)),
        "has no tensor `model.layers.2.",
    );
    refused("config.json", &change("num_hidden_layers", json!(1)), "`model.layers.1.");
    refused(
        "config.json",
        &change("intermediate_size", json!(13)),
        "has shape [12, 8], not [13, 8]",
    );
    refused(
        "config.json",
        &change("architectures", json!(["LlamaForCausalLM"])),
        "k_proj.bias` that",
    );
    refused("config.json", &change("vocab_size", json!(5)), "embed_tokens.weight` of");
    let mut larger = tokenizer();
    larger["model"]["vocab"]["c"] = json!(4);
    larger["model"]["vocab"]["d"] = json!(5);
    larger["added_tokens"][0]["id"] = json!(6);
    refused("tokenizer.json", &larger, "has token 6, the embedding only 6 rows");
    let mut moved = tokenizer();
    moved["added_tokens"][0]["id"] = json!(5);
    refused("tokenizer.json", &moved, "`<end>` is token 5 in the file and 4 in use");
    refused("tokenizer_config.json", &json!({"chat_template": "{% if %}"}), "chat template of");
    refused("model.safetensors", &json!(1), "is not a valid safetensors file");
}

#[test]
fn missing_files_are_named() {
    for name in ["config.json", "model.safetensors", "tokenizer.json"] {
        let dir = model();
        fs::remove_file(dir.path().join(name)).unwrap();
        let err = open(dir.path()).unwrap_err().to_string();
        assert!(err.contains(name), "{err}");
    }
    let err = open("nowhere".as_ref()).unwrap_err().to_string();
    assert_eq!(err, "`nowhere` is neither a directory nor a file");
    let dir = model();
    let err = open(&dir.path().join("config.json")).unwrap_err().to_string();
    assert!(err.contains("config.json` is not a valid GGUF file"), "{err}");
}

#[test]
fn a_tied_head_may_be_in_the_file_or_not() {
    let dir = model();
    let mut tied = config();
    tied["tie_word_embeddings"] = json!(true);
    save(dir.path(), "config.json", &tied);
    assert!(open(dir.path()).is_ok());
    save_weights(dir.path(), &Config::from_dir(dir.path()).unwrap(), None);
    assert_eq!(open(dir.path()).unwrap().weights.names().len(), 2 * 12 + 2);
}
