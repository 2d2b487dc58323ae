//! A scoring killed with SIGKILL and resumed, again and again.
//!
//! A child scores a file with a judge that answers so many programs and then waits for ever; the
//! parent sees that it waits, and kills it. After several kills one run comes to its end. Its output
//! must be that of a run nobody disturbed, byte for byte, and no line may have been judged twice
//! but those that were being judged when a kill fell.

use std::env;
use std::io::{BufRead, BufReader, Read};

use crate::common::{Asked, Bench, Fake, WORKERS, child, given_path, rollout};
use whetstone_rollout::cache::{Bounds, Cache};

const ANSWERS: &str = "WHET_TEST_ANSWERS";
const CACHE: &str = "WHET_TEST_CACHE";

fn rollouts() -> String {
    let words = ["PASS", "wrong", "RAISES", "SLOW"];
    let line = |n: u32| {
        let word = words[(n * 7 % 11 % 4) as usize];
        match n % 23 {
            5 => "{\"step\":0}\n".to_owned(),
            9 => {
                "{\"step\":3,\"prompt_id\":\"b\",\"text\":\"none \\u00fc\",\"x\":1.50}\n".to_owned()
            }
            _ => rollout(n / 40, ["a", "b", "c"][(n % 3) as usize], &format!("{word} {}", n % 90)),
        }
    };
    (0..400).map(line).collect()
}

/// Runs a child until its judge waits after `answers` programs, then kills it.
///
/// Returns how many programs it had answered, or `None` if it came to its end first.
fn kill_after(bench: &Bench, answers: u32, cache: bool) -> Option<usize> {
    let mut command = child("", "kill::scoring_child", &bench.folder);
    command.env(ANSWERS, answers.to_string());
    if cache {
        command.env(CACHE, "1");
    }
    let mut child = command.spawn().expect("there is a shell");
    let mut lines = BufReader::new(child.stdout.take().expect("stdout is a pipe")).lines();
    let waits = lines.any(|line| line.expect("text").ends_with("judge waits"));
    if waits {
        child.kill().expect("the child still runs");
    }
    let status = child.wait().expect("the child was started here");
    assert_eq!(status.success(), !waits, "{status}");
    waits.then_some(answers as usize)
}

fn check(cache: bool) {
    let dir = tempfile::tempdir().expect("a folder");
    let bench = Bench::new(dir.path(), &rollouts());
    let judge = Fake::default();
    bench
        .score("whole.jsonl", &Asked { judge: Some(&judge), ..Asked::default() })
        .expect("it works");

    let mut answered = 0;
    for answers in [0, 1, 37, 90, 41, 3, 70] {
        let killed = kill_after(&bench, answers, cache);
        answered += killed.expect("there is more to judge than that");
        assert!(!bench.path("out.jsonl").exists(), "an output before the end");
    }
    let journal = bench.read("out.jsonl.journal");
    let done = journal.lines().filter(|line| line.contains("\"verdict\"")).count();
    assert!(cache || done >= answered - 7 * WORKERS, "{done} of {answered} are in the journal");

    let last = Fake::default();
    let file = Cache::open(&bench.path("cache.redb"), Bounds::default()).expect("it works");
    let asked = Asked { judge: Some(&last), cache: cache.then_some(&file), ..Asked::default() };
    let report = bench.score("out.jsonl", &asked).expect("it works");
    assert_eq!(report.resumed, done as u64);
    let judged_twice = answered + last.calls() as usize;
    assert!(judged_twice <= judge.calls() as usize + 7 * WORKERS, "{judged_twice}");
    assert!(bench.read("out.jsonl") == bench.read("whole.jsonl"), "the outputs differ");
    assert_eq!(bench.read("out.jsonl.rejected.jsonl"), bench.read("whole.jsonl.rejected.jsonl"));
}

#[test]
fn a_killed_and_resumed_scoring_writes_the_same_bytes() {
    check(false);
}

#[test]
fn it_does_so_with_a_cache_too() {
    check(true);
}

#[test]
#[ignore = "the child process of other tests"]
fn scoring_child() {
    let folder = given_path();
    let answers: u32 = env::var(ANSWERS).unwrap().parse().unwrap();
    let wait = move |call| {
        if call >= answers {
            println!("\njudge waits");
            // Nobody writes there: this thread waits until it is killed.
            drop(std::io::stdin().read_to_end(&mut Vec::new()));
        }
    };
    let mut judge = Fake::default();
    judge.before = Some(std::sync::Arc::new(wait));
    let bench = Bench::at(&folder);
    let cache = env::var_os(CACHE)
        .map(|_| Cache::open(&bench.path("cache.redb"), Bounds::default()).unwrap());
    let asked = Asked { judge: Some(&judge), cache: cache.as_ref(), ..Asked::default() };
    bench.score("out.jsonl", &asked).unwrap();
}
