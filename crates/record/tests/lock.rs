//! Locks between processes: a living one keeps them, a killed one does not.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::process::Child;

use crate::child;
use whetstone_record::error::{JournalError, RunError};
use whetstone_record::journal::Journal;
use whetstone_record::run_dir::RunDir;

/// Starts a child that holds the run `a` in `root`, and waits until it does.
fn start_holder(root: &Path) -> Child {
    let mut child =
        child::command("", "lock::holder_child", root).spawn().expect("there is a shell");
    let lines = BufReader::new(child.stdout.as_mut().expect("stdout is a pipe")).lines();
    let held = lines.map_while(Result::ok).any(|line| line == "held");
    assert!(held, "the child could not take the run");
    child
}

#[track_caller]
fn assert_locked_by(root: &Path, pid: u32) {
    let err = RunDir::resume(root, "a", 0).expect_err("the child holds it");
    assert!(matches!(err, RunError::Locked { pid: found, .. } if found == Some(pid)), "{err}");
    let err = Journal::open(&root.join("a/events.jsonl")).expect_err("the child holds it");
    assert!(matches!(err, JournalError::Locked { .. }), "{err}");
}

#[test]
fn a_run_is_locked_while_its_process_lives_and_free_when_it_ends() {
    let root = tempfile::tempdir().unwrap();
    let mut child = start_holder(root.path());
    assert_locked_by(root.path(), child.id());
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    RunDir::resume(root.path(), "a", 0).unwrap();
}

#[test]
fn a_killed_process_holds_no_lock() {
    let root = tempfile::tempdir().unwrap();
    let mut child = start_holder(root.path());
    assert_locked_by(root.path(), child.id());
    child.kill().unwrap();
    child.wait().unwrap();
    RunDir::resume(root.path(), "a", 0).unwrap();
}

#[test]
#[ignore = "the child process of other tests"]
fn holder_child() {
    let root = child::path();
    let _run = RunDir::create(&root, "a", "", 0).unwrap();
    println!("\nheld");
    // Until the parent closes its end.
    io::stdin().read_to_end(&mut Vec::new()).unwrap();
}
