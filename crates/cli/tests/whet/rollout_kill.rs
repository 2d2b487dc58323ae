//! `whet rollout` killed with SIGKILL: of a server's replies none is asked for again that was stored, and
//! a local model ends with the bytes of an undisturbed run.

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use whetstone_remote::loopback::chat::{Act, ChatServer, Manners};

use crate::binary::whet_in;
use crate::teach::{said, task};
use crate::tiny_school::{records, school};
use crate::train_kill::start;

/// Replies in a journal, up to where a kill tore it; its first record is the head.
fn stored(journal: &Path) -> usize {
    records(journal).len().saturating_sub(1)
}

fn owned(args: &[&str]) -> Vec<String> {
    args.iter().map(|arg| (*arg).to_owned()).collect()
}

fn finish(dir: &Path, args: &[String]) {
    let ran = whet_in(dir, &args.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(ran.code, 0, "{}", ran.err);
}

fn server(act: impl Fn(u64) -> Act + Send + Sync + 'static) -> ChatServer {
    let act = Box::new(move |number, _: &Value| act(number));
    ChatServer::start(Manners { act, text: Box::new(said), ..Manners::default() })
}

#[test]
fn a_server_is_asked_for_no_reply_twice_that_was_stored() {
    let dir = tempfile::tempdir().unwrap();
    let lines: String = (0..20).map(|n| task(&format!("t/{n}"), "")).collect();
    fs::write(dir.path().join("tasks.jsonl"), lines).unwrap();
    let command = |url: &str, out: &str| {
        let files = ["rollout", "--prompts", "tasks.jsonl", "--out", out, "--group-size", "4"];
        let asked = ["--server", url, "--model", "m", "--set", "teacher.max_concurrent_requests=2"];
        owned(&[&files[..], &asked].concat())
    };
    let calm = server(|_| Act::Answer);
    finish(dir.path(), &command(&calm.url(), "calm.jsonl"));
    assert_eq!(calm.asked(), 80);
    // From the tenth on, every request is held until the test lets it go.
    let ((tell, held), (leave, given)) = (channel(), channel::<()>());
    let door = Mutex::new((tell, given));
    let watched = server(move |number| {
        if number >= 10 {
            let door = door.lock().unwrap();
            let _ = door.0.send(());
            let _ = door.1.recv();
        }
        Act::Answer
    });
    let mut whet = start(dir.path(), &command(&watched.url(), "killed.jsonl"));
    let journal = dir.path().join("killed.jsonl.journal");
    // In the middle of a group.
    while stored(&journal) < 13 {
        held.recv_timeout(Duration::from_mins(1)).expect("a request that is held");
        leave.send(()).unwrap();
    }
    whet.kill().unwrap();
    whet.wait().unwrap();
    drop(leave);
    assert!(!dir.path().join("killed.jsonl").exists(), "no file before the end");
    let kept = stored(&journal) as u64;
    let rest = server(|_| Act::Answer);
    finish(dir.path(), &command(&rest.url(), "killed.jsonl"));
    assert_eq!(rest.asked(), 80 - kept);
    let read = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
    assert_eq!(read("killed.jsonl"), read("calm.jsonl"));
    assert!(!journal.exists());
}

#[test]
fn a_local_model_ends_with_the_bytes_of_an_undisturbed_run() {
    let dir = school();
    let command = |out: &str| {
        let files = ["rollout", "--prompts", "tasks.jsonl", "--out", out, "--group-size", "512"];
        let model = ["--model", "student", "--threads", "1", "--max-new-tokens", "64"];
        owned(&[&files[..], &model, &["--temperature", "1.2", "--keep-tokens"]].concat())
    };
    finish(dir.path(), &command("calm.jsonl"));
    let journal = dir.path().join("killed.jsonl.journal");
    let mut kept = 0;
    for _ in 0..3 {
        let mut whet = start(dir.path(), &command("killed.jsonl"));
        while stored(&journal) < kept + 100 {
            let ended = whet.try_wait().unwrap();
            assert!(ended.is_none(), "it came to an end: {ended:?}");
            thread::yield_now();
        }
        whet.kill().unwrap();
        whet.wait().unwrap();
        kept = stored(&journal);
        assert!(!dir.path().join("killed.jsonl").exists(), "no file before the end");
    }
    let args = command("killed.jsonl");
    let args: Vec<&str> = args.iter().map(String::as_str).chain(["--json"]).collect();
    let ran = whet_in(dir.path(), &args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let found: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(found["resumed"], kept as u64);
    let read = |name: &str| fs::read(dir.path().join(name)).unwrap();
    assert!(read("killed.jsonl") == read("calm.jsonl"), "the rollouts differ");
}
