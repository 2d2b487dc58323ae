//! A validation killed with SIGKILL and resumed, again and again.
//!
//! A child validates a file with a judge that answers a given number of programs and then waits forever; the
//! parent sees that it waits, and kills it. After several kills one run comes to its end. Its
//! outputs must be those of an undisturbed run, byte for byte, and no program may have been
//! judged twice but those that were being judged when a kill fell.

use std::env;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::fake::{Asked, Bench, Fake, WORKERS, task};

const FOLDER: &str = "WHET_TEST_PATH";
const ANSWERS: &str = "WHET_TEST_ANSWERS";
const KILLS: [u32; 5] = [0, 1, 37, 90, 53];

fn tasks() -> String {
    let words = ["GOOD", "WRONG", "EASY", "GOOD", "SLOW", "BAD TEST"];
    let line = |n: usize| match n % 23 {
        5 => "{\"id\":\"none\"}\n".to_owned(),
        9 => "\n".to_owned(),
        _ => task(&format!("t/{n}"), "x", words[n * 7 % 11 % words.len()]),
    };
    (0..150).map(line).collect()
}

/// Runs a child until its judge waits after `answers` programs, then kills it.
fn kill_after(bench: &Bench, answers: u32) {
    let mut command = Command::new(env::current_exe().expect("a running test has a path"));
    command.args([
        "--ignored",
        "--exact",
        "kill::validating_child",
        "--nocapture",
        "--test-threads=1",
    ]);
    command.env(FOLDER, &bench.folder).env(ANSWERS, answers.to_string());
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("stdout is a pipe")).lines();
    assert!(lines.any(|line| line.expect("text").ends_with("judge waits")), "it came to its end");
    child.kill().expect("the child still runs");
    assert!(!child.wait().expect("the child was started here").success());
}

#[test]
fn a_killed_and_resumed_validation_writes_the_same_bytes_and_judges_nothing_twice() {
    let dir = tempfile::tempdir().expect("a folder");
    let bench = Bench::new(dir.path(), &tasks());
    let judge = Fake::default();
    bench.prove("whole", &[&judge], &Asked::default()).expect("it works");

    let mut answered = 0;
    for answers in KILLS {
        kill_after(&bench, answers);
        answered += answers as usize;
        assert!(!bench.path("out").exists(), "an output before the end");
    }
    let records = bench.read("out.journal").lines().filter(|line| line.contains("answer")).count();
    assert!(records >= answered - KILLS.len() * WORKERS, "{records} of {answered} were kept");

    let last = Fake::default();
    let report = bench.prove("out", &[&last], &Asked::default()).expect("it works");
    assert_eq!(report.resumed, records as u64);
    assert_eq!(report.resumed + u64::from(last.calls()), u64::from(judge.calls()));
    assert_eq!(bench.read("out"), bench.read("whole"));
    assert_eq!(bench.read("out.dropped"), bench.read("whole.dropped"));
}

#[test]
#[ignore = "the child process of other tests"]
fn validating_child() {
    let folder = PathBuf::from(env::var_os(FOLDER).expect("the parent names a folder"));
    let answers: u32 = env::var(ANSWERS).unwrap().parse().unwrap();
    let wait = move |call| {
        if call >= answers {
            println!("\njudge waits");
            // Nothing is ever written to standard input: this thread waits until it is killed.
            drop(std::io::stdin().read_to_end(&mut Vec::new()));
        }
    };
    let judge = Fake { before: Some(Box::new(wait)), ..Fake::default() };
    let bench = Bench { folder };
    bench.prove("out", &[&judge], &Asked::default()).unwrap();
}
