//! `whet data prepare` by name: a data set comes from the hub, once.

use std::path::Path;

use serde_json::json;
use whetstone_remote::loopback::http::Reply;
use whetstone_remote::loopback::hub::{Holding, HubServer};

use crate::binary::{Ran, whet_under};

const NAME: &str = "google-research-datasets/mbpp";

fn rows(ids: std::ops::Range<usize>) -> Vec<u8> {
    let row = |id: usize| {
        let words = (0..9).map(|at| format!("w{id}x{at}")).collect::<Vec<_>>().join(" ");
        json!({"task_id": id, "text": words, "code": words, "test_list": ["assert f()"]})
    };
    ids.map(|id| row(id).to_string()).collect::<Vec<_>>().join("\n").into_bytes()
}

fn sanitized_row() -> Vec<u8> {
    let row = json!({"task_id": 11, "prompt": "Revised by hand.", "code": "one of the sanitized",
        "test_imports": [], "test_list": ["assert f()"]});
    row.to_string().into_bytes()
}

fn hub() -> HubServer {
    let (train, test, sanitized) = (rows(600..680), rows(11..31), sanitized_row());
    let files: [(&str, &[u8]); 4] = [
        ("full/train-00000-of-00001.jsonl", &train),
        ("full/test-00000-of-00001.jsonl", &test),
        ("sanitized/test-00000-of-00001.jsonl", &sanitized),
        ("README.md", b"# MBPP"),
    ];
    HubServer::start(Holding::new(&format!("datasets/{NAME}"), &files))
}

fn prepare(folder: &Path, endpoint: &str, args: &[&str]) -> Ran {
    let home = folder.join("home").to_string_lossy().into_owned();
    let variables = [("HF_ENDPOINT", endpoint), ("HF_HOME", home.as_str())];
    whet_under(folder, &[&["data", "prepare"], args].concat(), &variables)
}

#[test]
fn a_data_set_that_is_not_named_comes_from_the_hub_once() {
    let (hub, dir) = (hub(), tempfile::tempdir().unwrap());
    let ran = prepare(dir.path(), &hub.url(), &["--skip-apps", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let tasks = ["train", "dev", "val"].map(|part| &report[part]["tasks"]);
    assert_eq!(tasks, [79, 1, 20], "600 is one of MBPP's tuning tasks: {}", ran.out);
    assert_eq!(report["mbpp"]["sanitized"], 1, "{}", ran.out);
    assert_eq!(hub.transfers(), 3, "three files, and not the README");
    // Again, by its name: it is here already, and the same comes of it.
    let again = prepare(dir.path(), &hub.url(), &["--mbpp", NAME, "--json"]);
    assert_eq!(again.code, 0, "{}", again.err);
    assert_eq!(hub.transfers(), 3);
    // And without a hub.
    drop(hub);
    let last = prepare(dir.path(), "http://127.0.0.1:9", &["--skip-apps", "--json"]);
    assert_eq!((last.code, last.out), (0, ran.out), "{}", last.err);
}

#[test]
fn a_hub_that_is_busy_is_seen_to_be_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let files: [(&str, &[u8]); 2] = [
        ("full/train-00000-of-00001.jsonl", &rows(600..680)),
        ("full/test-00000-of-00001.jsonl", &rows(11..31)),
    ];
    let holding = Holding::new(&format!("datasets/{NAME}"), &files);
    let hub = HubServer::start(holding.breaking(|transfer, reply| match transfer {
        0 => Reply::new(503, "text/plain", "busy"),
        1 => Reply::new(429, "text/plain", "slow down").with("retry-after", "2"),
        _ => reply,
    }));
    let ran = prepare(dir.path(), &hub.url(), &["--skip-apps"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let told: Vec<&str> = ran.err.lines().filter(|line| line.contains(" of 5")).collect();
    let [first, second] = told[..] else { panic!("{}", ran.err) };
    assert!(
        first.starts_with("trying again in 1 s (2 of 5): ") && first.contains("503"),
        "{first}"
    );
    assert!(
        second.starts_with("trying again in 2 s (3 of 5; the server asks for 2 s): "),
        "{second}"
    );
}

#[test]
fn what_cannot_be_fetched_says_what_to_pass_instead() {
    let (hub, dir) = (hub(), tempfile::tempdir().unwrap());
    let ran = prepare(dir.path(), &hub.url(), &["--mbpp", "nobody/mbpp"]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("cannot fetch the data set `nobody/mbpp`"), "{}", ran.err);
    assert!(ran.err.contains("check the name (owner/name)"), "{}", ran.err);
    assert!(ran.err.contains("or pass the path of a local file or folder"), "{}", ran.err);
    assert!(ran.err.contains("`--mbpp PATH`"), "{}", ran.err);
    let ran = prepare(dir.path(), "http://127.0.0.1:9", &[]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("check the network, HF_ENDPOINT"), "{}", ran.err);
}
