//! The two layers together.

use proptest::prelude::*;
use redb::{Database, ReadableDatabase, ReadableTableMetadata, TableDefinition};
use whetstone_core::judgement::{Counts, Held, Isolation};

use super::*;

fn key(n: u32) -> Key {
    Key(*blake3::hash(&n.to_le_bytes()).as_bytes())
}

fn judged(verdict: Verdict) -> Judgement {
    let passed = if verdict.is_pass() { 3 } else { 1 };
    let held = Held { cpu_ms: 1.25, isolation: Isolation::Full };
    Judgement::of_run(verdict, Counts { passed, total: 3 }, held).unwrap()
}

/// What is known of a program that tells which number it has.
fn numbered(n: u32) -> Known {
    known(Verdict::Raised { test: n % 3, kind: format!("Error{n}") }, f64::from(n) / 7.0)
}

fn known(verdict: Verdict, readability: f64) -> Known {
    let quality = Quality { complexity: 0.1, readability, documentation: 1.0 / 3.0 };
    Known { judgement: judged(verdict), quality, defines_entry_point: true, limit_us: None }
}

const FILE_ONLY: Bounds =
    Bounds { file_entries: 1_000_000, memory_entries: 0, result_bytes: 1 << 30 };

#[test]
fn what_one_run_stored_the_next_one_finds() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cache.redb");
    let cache = Cache::open(&path, Bounds::default()).unwrap();
    for n in 0..1000 {
        assert_eq!(cache.get(&key(n)), None);
        cache.put(key(n), &numbered(n));
        assert_eq!(cache.get(&key(n)), Some(numbered(n)), "this run sees it at once");
    }
    drop(cache);
    let cache = Cache::open(&path, FILE_ONLY).unwrap();
    assert!((0..1000).all(|n| cache.get(&key(n)) == Some(numbered(n))));
    assert_eq!(cache.get(&key(1000)), None);
    (0..3).for_each(|_| cache.hit());
    cache.miss();
    let stats = cache.stats();
    assert_eq!((stats.hits, stats.misses, stats.stored, stats.lost), (3, 1, 0, 0));
    assert!((stats.hit_rate() - 0.75).abs() < 1e-12);
}

#[test]
fn what_depends_on_the_machine_or_on_chance_is_not_kept() {
    let kind = || "E".to_owned();
    let table = [
        (Verdict::Pass, true, false),
        // One of three tests was passed, and is paid.
        (Verdict::Wrong { test: 0 }, true, false),
        (Verdict::Raised { test: 0, kind: kind() }, true, false),
        (Verdict::LoadError { kind: kind() }, true, false),
        (Verdict::Unserialisable { test: 0 }, true, false),
        // Kept by itself, with its limit.
        (Verdict::Timeout, false, false),
        (Verdict::Memory, false, false),
        (Verdict::Output, false, false),
        (Verdict::Crashed { signal: 11 }, false, false),
    ];
    for (verdict, steady, varying) in table {
        let judgement = judged(verdict);
        assert_eq!(may_be_kept(&judgement, false), steady, "{judgement:?}");
        assert_eq!(may_be_kept(&judgement, true), varying, "{judgement:?}");
    }
    let held = Held { cpu_ms: 1.25, isolation: Isolation::Full };
    let none = Counts { passed: 0, total: 3 };
    let unpaid = Judgement::of_run(Verdict::Wrong { test: 0 }, none, held).unwrap();
    assert!(may_be_kept(&unpaid, true), "it earns nothing, whatever chance does next time");
}

#[test]
fn a_full_cache_drops_its_oldest_and_stays_within_its_bounds() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cache.redb");
    let cache = Cache::open(&path, Bounds { file_entries: 2000, ..FILE_ONLY }).unwrap();
    for n in 0..20_000 {
        cache.put(key(n), &numbered(n));
    }
    cache.flush();
    assert!((19_000..20_000).all(|n| cache.get(&key(n)) == Some(numbered(n))), "the newest half");
    assert!((0..10_000).all(|n| cache.get(&key(n)).is_none()), "the oldest are gone");
    drop(cache);
    let size = std::fs::metadata(&path).unwrap().len();
    assert!(size < 8 << 20, "pages are used again: {size}");
    let database = Database::open(&path).unwrap();
    let read = database.begin_read().unwrap();
    let entries = |name| {
        let table: TableDefinition<&[u8; 32], &[u8]> = TableDefinition::new(name);
        read.open_table(table).unwrap().len().unwrap()
    };
    // A generation ends with the batch that fills it.
    assert!(entries("young") + entries("old") <= 2000 + 2 * 256);
}

#[test]
fn an_oversized_value_is_not_stored_and_harms_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(&dir.path().join("c"), FILE_ONLY).unwrap();
    cache.put(key(1), &known(Verdict::LoadError { kind: "E".repeat(5000) }, 0.0));
    cache.put(key(2), &numbered(2));
    cache.flush();
    assert_eq!((cache.get(&key(1)), cache.get(&key(2))), (None, Some(numbered(2))));
}

#[test]
fn results_of_environments_are_kept_apart_from_verdicts_and_counted_by_kind() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cache.redb");
    let named = |part: &'static str, n: u32| ResultKey { part, digest: key(n).0 };
    let cache = Cache::open(&path, Bounds::default()).unwrap();
    cache.put(key(1), &numbered(1));
    assert_eq!(ResultCache::get(&cache, &named("static", 1)), None, "a verdict is no result");
    let long = vec![7; MAX_RESULT_BYTES + 1];
    for (n, value) in [(1, &b"one"[..]), (2, &long[1..]), (3, &long)] {
        ResultCache::put(&cache, &named("static", n), value);
    }
    assert_eq!(ResultCache::get(&cache, &named("static", 1)).unwrap(), b"one", "at once");
    drop(cache);
    let cache = Cache::open(&path, FILE_ONLY).unwrap();
    let found = [1, 2, 3, 4].map(|n| ResultCache::get(&cache, &named("runtime", n)));
    assert_eq!(
        found.map(|found| found.map(|bytes| bytes.len())),
        [Some(3), Some(MAX_RESULT_BYTES), None, None]
    );
    assert_eq!(cache.get(&key(1)), Some(numbered(1)));
    let stats = cache.stats();
    assert_eq!(stats.results, BTreeMap::from([("runtime", Lookups { hits: 2, misses: 2 })]));
    assert!((stats.hit_rate() - 0.5).abs() < 1e-12);
}

#[test]
fn results_are_bounded_by_their_bytes_and_the_newest_half_stays() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cache.redb");
    let bounds = Bounds { result_bytes: 8 << 20, ..FILE_ONLY };
    let named = |n: u32| ResultKey { part: "runtime", digest: key(n).0 };
    // 40 MB, in two runs of the program.
    for run in 0..2 {
        let cache = Cache::open(&path, bounds).unwrap();
        for n in 0..1000 {
            ResultCache::put(&cache, &named(run * 1000 + n), &vec![1; 20_000]);
        }
        cache.put(key(run), &numbered(run));
    }
    let cache = Cache::open(&path, bounds).unwrap();
    let is_known = |n: u32| ResultCache::get(&cache, &named(n)).is_some();
    assert!((1850..2000).all(is_known), "the newest 3 MB");
    assert!(!(0..1500).any(is_known), "the oldest 30 MB");
    assert_eq!(cache.get(&key(0)), Some(numbered(0)), "verdicts do not make room for results");
    drop(cache);
    let size = std::fs::metadata(&path).unwrap().len();
    assert!(size < 32 << 20, "pages are used again: {size}");
}

#[test]
fn a_cache_of_an_older_whet_without_results_takes_some() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cache.redb");
    let cache = Cache::open(&path, FILE_ONLY).unwrap();
    cache.put(key(1), &numbered(1));
    drop(cache);
    let database = Database::open(&path).unwrap();
    let write = database.begin_write().unwrap();
    for name in ["results-young", "results-old"] {
        let table: TableDefinition<&[u8; 32], &[u8]> = TableDefinition::new(name);
        assert!(write.delete_table(table).unwrap());
    }
    write.commit().unwrap();
    drop(database);
    let named = ResultKey { part: "static", digest: key(1).0 };
    let cache = Cache::open(&path, FILE_ONLY).unwrap();
    ResultCache::put(&cache, &named, b"new");
    drop(cache);
    let cache = Cache::open(&path, FILE_ONLY).unwrap();
    assert_eq!(ResultCache::get(&cache, &named).unwrap(), b"new");
    assert_eq!(cache.get(&key(1)), Some(numbered(1)));
}

#[track_caller]
fn refused(path: &Path, message: &str) {
    let before = std::fs::read(path).unwrap();
    let err = Cache::open(path, Bounds::default()).unwrap_err();
    let shown = err.to_string().replace(&path.display().to_string(), "FILE");
    assert!(shown.starts_with(message), "{shown}");
    assert!(err.hint().is_some(), "{shown}");
    if matches!(&err, CacheError::NotACache { found, .. } if found.contains("something else")) {
        assert_eq!(std::fs::read(path).unwrap(), before, "the file was changed");
    }
}

#[test]
fn a_file_that_is_no_cache_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("notes.txt");
    std::fs::write(&path, "my notes").unwrap();
    refused(&path, "`FILE` is not a reward cache: it holds something else");

    let path = dir.path().join("other.redb");
    let database = Database::create(&path).unwrap();
    let write = database.begin_write().unwrap();
    let table: TableDefinition<u64, u64> = TableDefinition::new("theirs");
    write.open_table(table).unwrap().insert(1, 2).unwrap();
    write.commit().unwrap();
    drop(database);
    refused(&path, "`FILE` is not a reward cache: a database of another program");
}

#[test]
fn a_newer_cache_is_named_as_such() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cache.redb");
    drop(Cache::open(&path, Bounds::default()).unwrap());
    let database = Database::open(&path).unwrap();
    let write = database.begin_write().unwrap();
    let meta: TableDefinition<&str, u64> = TableDefinition::new("whet-reward-cache");
    write.open_table(meta).unwrap().insert("format", 2).unwrap();
    write.commit().unwrap();
    drop(database);
    refused(&path, "the cache `FILE` has format 2, this whet reads format 1");
}

#[test]
fn a_cache_cut_short_is_an_error_or_a_cache_and_never_a_wrong_answer() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cache.redb");
    let cache = Cache::open(&path, FILE_ONLY).unwrap();
    for n in 0..2000 {
        cache.put(key(n), &numbered(n));
    }
    drop(cache);
    let whole = std::fs::read(&path).unwrap();
    for keep in [9, 100, 320, 4096, 5000, whole.len() / 2, whole.len() - 1] {
        let cut = dir.path().join(format!("cut-{keep}"));
        std::fs::write(&cut, &whole[..keep]).unwrap();
        match Cache::open(&cut, FILE_ONLY) {
            Err(err) => assert!(
                matches!(err, CacheError::Damaged { .. } | CacheError::Open { .. }),
                "{keep}: {err}"
            ),
            Ok(cache) => {
                for n in 0..2000 {
                    let found = cache.get(&key(n));
                    assert!(found.is_none_or(|found| found == numbered(n)), "{keep}: {n}");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn the_last_value_put_is_the_one_found(puts in prop::collection::vec((0..40_u32, 0..1000_u32), 0..600)) {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(&dir.path().join("c"), Bounds { memory_entries: 8, ..FILE_ONLY }).unwrap();
        let mut model = std::collections::BTreeMap::new();
        for (at, value) in puts {
            cache.put(key(at), &numbered(value));
            model.insert(at, value);
        }
        cache.flush();
        for (at, value) in model {
            prop_assert_eq!(cache.get(&key(at)), Some(numbered(value)));
        }
    }
}
