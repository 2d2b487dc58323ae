//! One way to name a model, for every command that takes one.

use std::fs;
use std::path::Path;

use whetstone_remote::loopback::hub::{Holding, HubServer};

use crate::binary::{Ran, whet_under};
use crate::tiny_gguf;
use crate::tiny_school::{files, school, sft, trained};

/// Every command that takes a model, for a model of this name; the last names the student.
fn commands(name: &str) -> Vec<Vec<String>> {
    let set = format!("student.model_name={name}");
    let out = format!("of-{}", name.replace(['/', '.'], "-"));
    let rollouts = format!("{out}.jsonl");
    let all: [&[&str]; 6] = [
        &["generate", name, "Write", "--max-tokens", "1"],
        &["model", "info", name],
        &["export", name, "--out", &out],
        &["eval", "--model", name, "--tasks", "tasks.jsonl", "--out", "e", "--dry-run"],
        &["rollout", "--model", name, "--prompts", "tasks.jsonl", "--out", &rollouts, "--dry-run"],
        &[
            "train",
            "sft",
            "--traces",
            "traces.jsonl",
            "--run",
            "new",
            "--set",
            &set,
            "--set",
            "training.max_length=160",
            "--dry-run",
        ],
    ];
    all.iter().map(|args| args.iter().map(|&arg| arg.to_owned()).collect()).collect()
}

fn run(dir: &Path, hub: &HubServer, args: &[String]) -> Ran {
    let home = dir.join("home").display().to_string();
    let variables =
        [("HF_ENDPOINT", hub.url()), ("HF_HOME", home.clone()), ("XDG_CACHE_HOME", home)];
    let variables: Vec<(&str, &str)> =
        variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    whet_under(dir, &args, &variables)
}

#[test]
fn every_command_takes_a_model_by_each_of_its_names() {
    let dir = school();
    let taught = trained(
        dir.path(),
        &sft("taught", &["--traces=traces.jsonl", "--set=training.max_steps=1"]),
    );
    assert_eq!(taught.code, 0, "{}", taught.err);
    tiny_gguf::write(&dir.path().join("student"), &dir.path().join("packed/tiny.gguf"), &[]);
    let held = files(&dir.path().join("student"));
    let held: Vec<(&str, &[u8])> =
        held.iter().map(|(path, bytes)| (path.to_str().unwrap(), bytes.as_slice())).collect();
    let hub = HubServer::start(Holding::new("somebody/tiny", &held));
    let models = ["student", "packed/tiny.gguf", "packed", "embedded", "somebody/tiny"];
    let adapters = ["runs/taught/outputs/final_model", "taught", "runs/taught"];
    for name in models {
        for args in commands(name) {
            let ran = run(dir.path(), &hub, &args);
            assert_eq!(ran.code, 0, "{args:?}: {}", ran.err);
        }
    }
    for name in adapters {
        let mut all = commands(name);
        let train = all.pop().unwrap();
        for args in all {
            let ran = run(dir.path(), &hub, &args);
            assert_eq!(ran.code, 0, "{args:?}: {}", ran.err);
        }
        let ran = run(dir.path(), &hub, &train);
        assert_eq!(ran.code, 2, "{}", ran.err);
        assert!(ran.err.contains("error: `student.model_name` is an adapter"), "{}", ran.err);
        assert!(ran.err.contains("hint: start from it with `--from`, or merge it"), "{}", ran.err);
    }
}

#[test]
fn what_is_no_model_says_what_would_be_one() {
    let dir = school();
    let hub = HubServer::start(Holding::new("somebody/tiny", &[]));
    for file in ["empty/notes.txt", "two/a.gguf", "two/b.gguf"] {
        fs::create_dir_all(dir.path().join(file).parent().unwrap()).unwrap();
        fs::write(dir.path().join(file), "").unwrap();
    }
    let cases = [
        ("empty", "cannot read `empty/config.json`", "a model's directory has `config.json`"),
        ("two", "this directory has several .gguf files", "name one of them"),
        ("./gone", "`./gone`", "give the path of a model directory"),
    ];
    for (name, problem, hint) in cases {
        for args in commands(name) {
            let ran = run(dir.path(), &hub, &args);
            assert_eq!(ran.code, 2, "{args:?}: {}", ran.err);
            assert!(ran.err.contains(problem), "{args:?}: {}", ran.err);
            assert!(ran.err.contains(&format!("hint: {hint}")), "{args:?}: {}", ran.err);
        }
    }
}
