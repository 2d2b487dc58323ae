//! `whet export`, and a student that is named as the hub names it.

use std::fs;
use std::path::Path;

use serde_json::Value;
use whetstone_remote::loopback::hub::{Holding, HubServer};

use crate::binary::{Ran, whet_in, whet_under};
use crate::tiny_gguf;
use crate::tiny_school::{files, school};

const SFT: [&str; 18] = [
    "train",
    "sft",
    "--threads=1",
    "--traces=traces.jsonl",
    "--run=taught",
    "--json",
    "--set",
    "lora.rank=4",
    "--set",
    "training.max_length=160",
    "--set",
    "training.max_steps=3",
    "--set",
    "training.learning_rate=0.05",
    "--set",
    "training.per_device_train_batch_size=2",
    "--set",
    "training.gradient_accumulation_steps=2",
];

const ADAPTER: &str = "runs/taught/outputs/final_model";

fn sft(dir: &Path, model: &str, endpoint: &str) -> Ran {
    let home = dir.join("home").to_string_lossy().into_owned();
    let variables = [("HF_ENDPOINT", endpoint), ("HF_HOME", home.as_str())];
    let model = format!("student.model_name={model}");
    whet_under(dir, &[&SFT[..], &["--set", &model]].concat(), &variables)
}

/// What a model says, greedily.
fn said(dir: &Path, model: &[&str]) -> String {
    let rest = ["Write", "--temperature=0", "--max-tokens=12"];
    let ran = whet_in(dir, &[&["generate"], model, &rest].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    ran.out
}

#[test]
fn a_model_with_its_adapter_worked_in_says_what_both_say_together() {
    let dir = school();
    let ran = sft(dir.path(), "student", "http://127.0.0.1:9");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(report["final_model"], ADAPTER);
    let export = ["export", "student", "--adapter", ADAPTER, "--out", "both", "--dtype", "f32"];
    let ran = whet_in(dir.path(), &export);
    assert_eq!((ran.code, ran.out.as_str()), (0, "both\n"), "{}", ran.err);
    let tokenizer = fs::read_to_string(dir.path().join("both/tokenizer_config.json")).unwrap();
    let tokenizer: Value = serde_json::from_str(&tokenizer).unwrap();
    let inputs = serde_json::json!(["input_ids", "attention_mask"]);
    assert_eq!(tokenizer["model_input_names"], inputs, "what `generate` of transformers takes");
    let together = said(dir.path(), &["student", "--adapter", ADAPTER]);
    assert_eq!(said(dir.path(), &["both"]), together);
    assert_ne!(said(dir.path(), &["student"]), together, "the adapter changes what is said");
    let again = whet_in(dir.path(), &export);
    assert_eq!(again.code, 2, "{}", again.err);
    assert!(again.err.contains("`both` exists"), "{}", again.err);
}

#[test]
fn a_student_can_be_named_as_the_hub_names_it() {
    let dir = school();
    let mut held = files(&dir.path().join("student"));
    held.push(("README.md".into(), b"# Tiny".to_vec()));
    held.push(("onnx/model.safetensors".into(), b"another form of it".to_vec()));
    let named: Vec<(&str, &[u8])> =
        held.iter().map(|(path, bytes)| (path.to_str().unwrap(), bytes.as_slice())).collect();
    let hub = HubServer::start(Holding::new("somebody/tiny", &named));
    let ran = sft(dir.path(), "somebody/tiny", &hub.url());
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(hub.transfers(), 6, "the six files of a model, and nothing beside them");
    let settings = fs::read_to_string(dir.path().join("runs/taught/config.toml")).unwrap();
    assert!(settings.contains("model_name = \"somebody/tiny\""), "{settings}");
    let nobody = school();
    let ran = sft(nobody.path(), "nobody/tiny", &hub.url());
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("cannot fetch the model `nobody/tiny`"), "{}", ran.err);
    assert!(ran.err.contains("or pass the path of a local file or folder"), "{}", ran.err);
    assert!(!nobody.path().join("runs").exists(), "nothing begun");
}

/// The base that an adapter names.
fn base(dir: &Path, adapter: &str) -> String {
    let text = fs::read_to_string(dir.join(adapter).join("adapter_config.json"))
        .expect("as it was written");
    let settings: Value = serde_json::from_str(&text).expect("as it was written");
    settings["base_model_name_or_path"].as_str().expect("as it was written").to_owned()
}

#[test]
fn an_adapter_that_was_trained_on_a_gguf_file_belongs_on_the_safetensors_that_it_was_made_from() {
    let dir = school();
    let student = dir.path().join("student");
    let origin = [("general.source.repo_url", "https://huggingface.co/somebody/tiny")];
    tiny_gguf::write(&student, &dir.path().join("known/tiny.gguf"), &origin);
    tiny_gguf::write(&student, &dir.path().join("unknown/tiny.gguf"), &[]);
    assert_eq!(said(dir.path(), &["known/tiny.gguf"]), said(dir.path(), &["student"]));

    let ran = sft(dir.path(), "known/tiny.gguf", "http://127.0.0.1:9");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(!ran.err.contains("--base-model"), "{}", ran.err);
    assert_eq!(base(dir.path(), ADAPTER), "somebody/tiny", "as PEFT finds it");
    // Tensors have the hub's names and order: on the original the adapter does the same.
    let on_gguf = said(dir.path(), &["known/tiny.gguf", "--adapter", ADAPTER]);
    assert_eq!(said(dir.path(), &["student", "--adapter", ADAPTER]), on_gguf);
    assert_ne!(said(dir.path(), &["student"]), on_gguf, "the adapter changes what is said");
    // Here the base is the file that it was trained on: nothing is fetched.
    assert_eq!(said(dir.path(), &[ADAPTER]), on_gguf);

    fs::rename(dir.path().join("runs/taught"), dir.path().join("runs/first")).unwrap();
    let ran = sft(dir.path(), "unknown/tiny.gguf", "http://127.0.0.1:9");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("`whet export RUN --base-model NAME --out DIR`"), "{}", ran.err);
    assert_eq!(base(dir.path(), ADAPTER), "unknown/tiny.gguf");
    let named = ["export", "taught", "--base-model", "somebody/tiny", "--out", "for-peft"];
    let ran = whet_in(dir.path(), &named);
    assert_eq!((ran.code, ran.out.as_str()), (0, "for-peft\n"), "{}", ran.err);
    assert_eq!(base(dir.path(), "for-peft"), "somebody/tiny");
    let weights =
        |at: &str| fs::read(dir.path().join(at).join("adapter_model.safetensors")).unwrap();
    assert!(weights("for-peft") == weights(ADAPTER), "not a number is lost");
    let ran = whet_in(dir.path(), &["export", "student", "--base-model", "a/b", "--out", "none"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("this model has no adapter"), "{}", ran.err);
}
