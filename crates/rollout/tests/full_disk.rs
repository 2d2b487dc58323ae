//! A disk with no room left, played by a limit on the size of files.
//!
//! A shell sets the limit and turns off the signal that goes with it, because both need C or
//! `unsafe` here. The output and the journal are small enough for it; the cache is not.

use crate::common::{Asked, Bench, Fake, child, given_path, rollout};
use whetstone_rollout::cache::{Bounds, Cache};

/// Files of at most 3,000 blocks: 1.5 or 3 MB, as the shell counts. A new cache has 1.6 MB or less.
const LIMIT: &str = "trap '' XFSZ && ulimit -f 3200 &&";

/// Enough programs that the cache outgrows the limit, and few enough that the rest does not.
const LINES: u32 = 3000;

#[test]
fn a_full_disk_costs_the_cache_and_not_the_scores() {
    let dir = tempfile::tempdir().unwrap();
    let word = |n: u32| if n.is_multiple_of(3) { format!("PASS {n}") } else { format!("x {n}") };
    let lines: Vec<_> = (0..LINES).map(|n| rollout(n / 8, "a", &word(n))).collect();
    let bench = Bench::new(dir.path(), &lines.concat());
    let judge = Fake::default();
    bench.score("whole.jsonl", &Asked { judge: Some(&judge), ..Asked::default() }).unwrap();

    let output = child(LIMIT, "full_disk::scoring_child", dir.path()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("lost "), "{text}");
    assert!(bench.read("out.jsonl") == bench.read("whole.jsonl"), "the scores differ");
    // What is left of the cache is a cache, or says that it is not.
    if let Err(err) = Cache::open(&bench.path("cache.redb"), Bounds::default()) {
        assert!(err.hint().is_some(), "{err}");
    }
}

#[test]
#[ignore = "the child process of other tests"]
fn scoring_child() {
    let folder = given_path();
    let bench = Bench::at(&folder);
    let cache = Cache::open(&bench.path("cache.redb"), Bounds::default()).unwrap();
    let judge = Fake::default();
    let asked = Asked { judge: Some(&judge), cache: Some(&cache), ..Asked::default() };
    let stats = bench.score("out.jsonl", &asked).unwrap().cache.unwrap().stats;
    let trouble = stats.trouble.as_deref().expect("the disk is full");
    assert!(stats.lost > 0 && stats.stored + stats.lost == u64::from(LINES), "{stats:?}");
    println!("\nlost {}: {trouble}", stats.lost);
}
