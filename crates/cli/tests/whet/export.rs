//! `whet export`, and a student that is named as the hub names it.

use std::fs;
use std::path::Path;

use serde_json::Value;
use whetstone_remote::loopback::hub::{Holding, HubServer};

use crate::binary::{Ran, whet_in, whet_under};
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
    assert!(ran.err.contains("--set student.model_name=PATH"), "{}", ran.err);
    assert!(!nobody.path().join("runs").exists(), "nothing begun");
}
