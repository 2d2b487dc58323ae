//! The cache and other processes: one that is killed while writing, one that has the file open.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use crate::common::{child, given_path};
use whetstone_core::judgement::{Counts, Held, Isolation, Judgement};
use whetstone_core::verdict::Verdict;
use whetstone_env::python::Quality;
use whetstone_rollout::cache::{Bounds, Cache, CacheError, Key, Known};

const KILLS: u32 = 12;
const FILE_ONLY: Bounds =
    Bounds { file_entries: 4_000_000, memory_entries: 0, result_bytes: 512 << 20 };

fn key(n: u32) -> Key {
    Key(*blake3::hash(&n.to_le_bytes()).as_bytes())
}

fn known(n: u32) -> Known {
    let verdict = Verdict::Raised { test: 0, kind: format!("Error{n}") };
    let held = Held { cpu_ms: f64::from(n), isolation: Isolation::Full };
    let judgement = Judgement::of_run(verdict, Counts { passed: 0, total: 1 }, held);
    let quality = Quality { complexity: 0.5, readability: f64::from(n), documentation: 0.0 };
    Known {
        judgement: judgement.expect("it fits"),
        quality,
        defines_entry_point: true,
        limit_us: None,
    }
}

/// Starts a writer and kills it once it says that it flushed `flushes` times.
fn kill_one(path: &Path, flushes: usize) -> u32 {
    let mut child = child("", "cache::writing_child", path).spawn().expect("there is a shell");
    let lines = BufReader::new(child.stdout.take().expect("stdout is a pipe")).lines();
    let flushed = lines
        .map(|line| line.expect("text"))
        .filter_map(|line| line.strip_prefix("flushed ").map(|n| n.parse().expect("a number")))
        .take(flushes)
        .last()
        .expect("it flushes");
    child.kill().expect("the child still runs");
    child.wait().expect("the child was started here");
    flushed
}

#[test]
fn a_cache_killed_while_written_opens_with_everything_that_was_flushed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cache.redb");
    let mut longest = 0;
    for round in 0..KILLS {
        let flushed = kill_one(&path, 1 + round as usize % 4);
        longest = longest.max(flushed);
        let cache = Cache::open(&path, FILE_ONLY).unwrap();
        assert!((0..flushed).all(|n| cache.get(&key(n)) == Some(known(n))), "round {round}");
        for n in flushed..flushed + 5000 {
            let found = cache.get(&key(n));
            assert!(found.is_none_or(|found| found == known(n)), "round {round}: {n}");
        }
    }
    assert!(longest > 0);
}

#[test]
#[ignore = "the child process of other tests"]
fn writing_child() {
    let path = given_path();
    let cache = Cache::open(&path, FILE_ONLY).unwrap();
    println!();
    for n in 0.. {
        cache.put(key(n), &known(n));
        if n % 700 == 699 {
            cache.flush();
            println!("flushed {n}");
        }
    }
}

#[test]
fn a_second_process_is_told_who_has_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cache.redb");
    let mut child = child("", "cache::holding_child", &path).spawn().expect("there is a shell");
    let mut lines = BufReader::new(child.stdout.take().expect("stdout is a pipe")).lines();
    assert!(lines.any(|line| line.expect("text") == "open"));
    let err = Cache::open(&path, Bounds::default()).unwrap_err();
    assert!(matches!(err, CacheError::Locked { .. }), "{err}");
    assert!(err.to_string().ends_with("is in use by another process"), "{err}");
    // Its stdin closes: it ends by itself, and the file is free and whole.
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    let cache = Cache::open(&path, FILE_ONLY).unwrap();
    assert_eq!(cache.get(&key(1)), Some(known(1)));
}

#[test]
#[ignore = "the child process of other tests"]
fn holding_child() {
    let path = given_path();
    let cache = Cache::open(&path, Bounds::default()).unwrap();
    cache.put(key(1), &known(1));
    println!("\nopen");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}
