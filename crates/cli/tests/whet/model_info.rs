//! `whet model info` on models of a few thousand numbers.

use std::fs;

use serde_json::{Value, json};

use crate::binary::whet_in;
use crate::tiny_model::{poke, tiny, tiny_chat};

fn info(family: &str, flags: &[&str]) -> Value {
    let dir = tiny_chat(family);
    let ran = whet_in(dir.path(), &[&["model", "info", "model", "--json"], flags].concat());
    assert_eq!((ran.code, ran.err_before_next()), (0, ""));
    serde_json::from_str(&ran.out).expect("JSON")
}

fn purpose<'a>(info: &'a Value, name: &str) -> Option<&'a Value> {
    let purposes = info["memory"]["purposes"].as_array().expect("a list");
    purposes.iter().find(|purpose| purpose["purpose"] == name)
}

#[test]
fn the_architecture_is_that_of_the_files() {
    let found = info("llama", &[]);
    let expected = json!({
        "family": "Llama", "layers": 2, "width": 32, "heads": 4, "kv_heads": 2, "head_size": 8,
        "ffn": 40, "vocabulary": 64, "tokens": 64, "tied_head": false, "qkv_bias": false,
        "qk_norm": false, "rope_theta": 10000.0, "rope_scaling": "llama3 by 4 from 32",
        "context": 128, "bos": 1, "eos": [2], "chat_template": true,
    });
    assert_eq!(found["architecture"], expected);
    assert_eq!(info("qwen2", &[])["architecture"]["qkv_bias"], true);
    assert_eq!(info("qwen3", &[])["architecture"]["qk_norm"], true);
}

#[test]
fn parameters_are_those_of_the_file() {
    let found = info("llama", &[]);
    // Two tables; two layers of norms, attention (q and o 32x32, k and v 16x32) and network; a norm.
    let (tables, layer) = (2 * 64 * 32, 2 * 32 + 2 * 32 * 32 + 2 * 16 * 32 + 3 * 40 * 32);
    let total = tables + 2 * layer + 32;
    let expected = json!({
        "total": total, "embedding": tables, "without_embedding": total - tables,
    });
    assert_eq!(found["parameters"], expected);
    assert_eq!(found["file"], json!({"bytes": 4 * total, "dtypes": {"F32": 21}}));
}

#[test]
fn memory_grows_with_what_is_asked() {
    let total = |flags: &[&str], name: &str| {
        purpose(&info("qwen3", flags), name).unwrap()["total"].as_u64().unwrap()
    };
    let small = ["--batch", "1", "--length", "16"];
    let large = ["--batch", "4", "--length", "64"];
    for name in ["inference", "lora", "lora, recompute", "full", "full, recompute"] {
        assert!(total(&small, name) < total(&large, name), "{name}");
    }
    assert!(total(&large, "full, recompute") < total(&large, "full"));
    assert!(total(&["--lora-rank", "1"], "lora") < total(&["--lora-rank", "8"], "lora"));
}

#[test]
fn parts_add_up_to_the_total() {
    let found = info("llama", &[]);
    assert_eq!(found["memory"]["batch"], 2);
    assert_eq!(found["memory"]["length"], 128, "all that the model can, which is below 1024");
    for purpose in found["memory"]["purposes"].as_array().unwrap() {
        let parts = purpose.as_object().unwrap().iter().filter(|(name, _)| *name != "total");
        let sum: u64 = parts.filter_map(|(_, bytes)| bytes.as_u64()).sum();
        assert_eq!(purpose["total"], sum, "{purpose}");
    }
}

#[test]
fn bytes_cannot_be_trained() {
    let found = info("llama", &["--8bit"]);
    assert!(purpose(&found, "full").is_none());
    let weights = |found: &Value| purpose(found, "inference").unwrap()["weights"].as_u64();
    assert!(weights(&found) < weights(&info("llama", &[])));
}

#[test]
fn the_page_names_every_part() {
    let dir = tiny("qwen2");
    let ran = whet_in(dir.path(), &["model", "info", "model", "--batch", "3", "--length", "50"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for part in [
        "Qwen2",
        "with biases",
        "chat template  no",
        "memory in MiB for 3 x 50 tokens",
        "full, recompute",
        "kept by layers",
        "total",
    ] {
        assert!(ran.out.contains(part), "{part}\n{}", ran.out);
    }
}

#[test]
fn weights_are_not_read() {
    let dir = tiny("llama");
    poke(dir.path(), "model.norm.weight", f32::NAN);
    assert_eq!(whet_in(dir.path(), &["model", "info", "model"]).code, 0);
}

#[test]
fn what_is_no_model_is_refused() {
    let dir = tiny("llama");
    fs::write(dir.path().join("model.gguf"), "GGUF?").unwrap();
    let cases: [(&[&str], &str); 4] = [
        (&["gone"], "there is no model at `gone`"),
        (&["model.gguf"], "`model.gguf` is not a valid GGUF file"),
        (&["model", "--length", "129"], "exceeds the model's context length of 128"),
        (&["model", "--batch", "0"], "--batch"),
    ];
    for (flags, expected) in cases {
        let ran = whet_in(dir.path(), &[&["model", "info"], flags].concat());
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
        assert!(ran.err.contains(expected), "{expected}\n{}", ran.err);
    }
}
