//! `whet eval --suite`: published files as they are, with the settings of the suite beneath the user's.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use whetstone_remote::loopback::chat::{ChatServer, Manners};

use crate::binary::{Ran, whet_in};

const RIGHT: &str = "```python\ndef f(x):\n    return x + 1\n```";

/// Rows of `HumanEval` and of both files of MBPP: tasks 10 and 600 are not of the test half.
fn write_files(dir: &Path) {
    let human = |number: usize| {
        json!({"task_id": format!("HumanEval/{number}"), "entry_point": "f",
            "prompt": format!("import math\n\n\ndef f(x):\n    \"\"\"Add {number}.\"\"\"\n"),
            "canonical_solution": "    return x + 1\n",
            "test": "def check(candidate):\n    assert candidate(1) == 2\n"})
    };
    let full = |number: usize| {
        json!({"task_id": number, "text": "Add one.", "code": "def f(x):\n    return x + 1",
            "test_setup_code": "", "test_list": ["assert f(1) == 2", "assert f(2) == 3"],
            "challenge_test_list": ["assert f('no') == 1"]})
    };
    let sanitized = json!([{"task_id": 11, "prompt": "Add one to it.", "code": "c", "source_file": "",
        "test_imports": [], "test_list": ["assert f(1) == 2", "assert f(5) == 6"]}]);
    let lines = |rows: [Value; 3]| rows.map(|row| row.to_string() + "\n").concat();
    fs::write(dir.join("HumanEval.jsonl"), lines([human(2), human(0), human(1)])).unwrap();
    fs::create_dir(dir.join("mbpp")).unwrap();
    fs::write(dir.join("mbpp/mbpp.jsonl"), lines([full(10), full(11), full(600)])).unwrap();
    fs::write(dir.join("mbpp/sanitized-mbpp.json"), sanitized.to_string()).unwrap();
}

/// Judges one right reply to each of these tasks.
fn judged(dir: &Path, ids: &[&str], flags: &[&str]) -> Ran {
    let line = |id: &&str| json!({"prompt_id": id, "text": RIGHT}).to_string() + "\n";
    fs::write(dir.join("samples.jsonl"), ids.iter().map(line).collect::<String>()).unwrap();
    let given = ["eval", "--samples", "samples.jsonl", "--k", "1", "--out", "out", "--fresh"];
    whet_in(dir, &[&given, flags].concat())
}

fn results(dir: &Path) -> Value {
    let text = fs::read_to_string(dir.join("out/evaluation_results.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn tasks(dir: &Path) -> Vec<Value> {
    let text = fs::read_to_string(dir.join("out/tasks.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_published_file_is_read_as_it_is_and_the_results_name_the_suite() {
    let dir = tempfile::tempdir().unwrap();
    write_files(dir.path());
    let ids = ["humaneval/0", "humaneval/1", "humaneval/2"];
    let ran = judged(dir.path(), &ids, &["--suite", "humaneval", "--tasks", "HumanEval.jsonl"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("`humaneval:evalplus` has 164 tasks, and 3 tasks"), "{}", ran.err);
    let results = results(dir.path());
    assert_eq!(results["settings"]["--suite"], "humaneval:evalplus");
    assert_eq!((&results["tasks"], &results["verdicts"]), (&json!(3), &json!({"pass": 3})));
    let digest = results["suite"].as_str().unwrap();
    assert!(digest.len() == 32 && ran.err.contains(digest), "{}", ran.err);
    let found: Vec<Value> = tasks(dir.path()).into_iter().map(|task| task["id"].clone()).collect();
    assert_eq!(found, ids, "in the order of their numbers");
    assert!(ran.err.contains("--tasks out/tasks.jsonl"), "the next command: {}", ran.err);
}

#[test]
fn a_suite_of_mbpp_is_its_test_half_judged_by_the_list_alone() {
    let dir = tempfile::tempdir().unwrap();
    write_files(dir.path());
    let tests = |flags: &[&str]| {
        let ran = judged(dir.path(), &["mbpp/11"], flags);
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        let [task] = &tasks(dir.path())[..] else { panic!("{:?}", tasks(dir.path())) };
        (
            task["statement"].clone(),
            task["tests"]["visible"].clone(),
            task["tests"]["hidden"].clone(),
        )
    };
    let (first, full) =
        (json!(["assert f(1) == 2"]), json!(["assert f(1) == 2", "assert f(2) == 3"]));
    let plain = tests(&["--suite", "mbpp:plain", "--tasks", "mbpp/mbpp.jsonl"]);
    assert_eq!(plain, (json!("Add one."), first.clone(), full.clone()));
    let paper = tests(&["--suite", "mbpp", "--tasks", "mbpp"]);
    assert_eq!(paper, (json!("Add one."), full.clone(), full), "a folder with both files");
    let sanitized = tests(&["--suite", "mbpp-sanitized", "--tasks", "mbpp"]);
    let both = json!(["assert f(1) == 2", "assert f(5) == 6"]);
    assert_eq!(sanitized, (json!("Add one to it."), first, both));
}

#[test]
fn a_suite_is_greedy_with_one_sample_until_a_flag_says_otherwise() {
    let dir = tempfile::tempdir().unwrap();
    write_files(dir.path());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let server = ChatServer::start(Manners {
        text: Box::new(move |request, _| {
            seen.lock()
                .unwrap()
                .push((request["temperature"].clone(), request["max_tokens"].clone()));
            RIGHT.to_owned()
        }),
        ..Manners::default()
    });
    let (url, suite) = (server.url(), ["--suite", "humaneval:plain", "--tasks", "HumanEval.jsonl"]);
    let eval = |out: &str, more: &[&str]| {
        let command = ["eval", "--server", &url, "--model", "m", "--out", out];
        let ran = whet_in(dir.path(), &[&command, &suite[..], more].concat());
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        std::mem::take(&mut *asked.lock().unwrap())
    };
    assert_eq!(eval("a", &[]), vec![(json!(0.0), json!(1024)); 3]);
    let sampled = eval("b", &["--temperature", "0.8", "--num-samples", "2", "--max-tokens", "99"]);
    assert_eq!(sampled.iter().filter(|one| **one == (json!(0.8), json!(99))).count(), 6);
    assert_eq!(sampled.len(), 9, "two samples and a greedy one");
}

#[test]
fn what_is_no_suite_or_not_its_file_says_what_to_give() {
    let dir = tempfile::tempdir().unwrap();
    write_files(dir.path());
    let ran = judged(dir.path(), &[], &["--suite", "human-eval"]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.contains("there is no such suite; there are humaneval:evalplus,"),
        "{}",
        ran.err
    );
    let ran = judged(dir.path(), &[], &["--suite", "humaneval", "--tasks", "mbpp/mbpp.jsonl"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(
        ran.err
            .contains("cannot read `humaneval:evalplus` from `mbpp/mbpp.jsonl`: its rows are of `mbpp`, expected `humaneval`"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("(`HumanEval.jsonl.gz`), or leave out `--tasks`"), "{}", ran.err);
    fs::write(dir.path().join("twice.jsonl"), {
        let text = fs::read_to_string(dir.path().join("HumanEval.jsonl")).unwrap();
        let first = text.lines().next().unwrap();
        format!("{first}\n{first}\n")
    })
    .unwrap();
    let ran = judged(dir.path(), &[], &["--suite", "humaneval", "--tasks", "twice.jsonl"]);
    assert!(ran.err.contains("row 2: `humaneval/2` stands there twice"), "{}", ran.err);
    assert!(!dir.path().join("out").exists(), "nothing is written before the tasks are read");
}
