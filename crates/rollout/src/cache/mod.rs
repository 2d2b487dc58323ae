//! The reward cache: verdicts of programs that were judged before.
//!
//! A verdict follows from the program, its tests, its limits and the judge; all of these are in the
//! [`Key`], so an entry is never out of date: what changed has another key. With the verdict stands
//! what was read off the program, its quality, which takes longer to measure than to look up; the
//! version of whet is in the key because of it. What both are worth is not kept. Two layers answer: a
//! bounded one in memory for what this run has seen, and a file for what earlier runs have.
//!
//! A timeout that used up its CPU time is kept with the limit it was measured at ([`Cache::find`]): it
//! answers the same limit, and every lower one if no test had passed.
//!
//! Other verdicts are kept only if they would come out the same again ([`may_be_kept`]): not one that
//! depends on how busy the machine was, and nothing that is paid of a program that may use clocks,
//! threads, chance or addresses. That is read off the program (`determinism` in the environment), not
//! found by running it twice: a guess can be lucky twice, and would then be paid for ever.
//!
//! Environments other than that of programs keep results of their own here, as bytes under keys of their own
//! ([`ResultCache`]): the static findings and the runs of games apart, for instance.
//!
//! **Losing the cache never costs a score.** It is written in batches, brought to the disk about
//! once a second and at the end, so a kill loses a second of entries. If the disk is full the rest
//! of the run goes on without the file; [`Stats`] says so.
//!
//! **It is bounded** ([`Bounds`]). Entries are kept in two generations; when the young one holds
//! half of what is allowed, the old one is dropped and the young one takes its place. So the file
//! always holds the newest entries, at least half of what is allowed, and its pages are used again.

mod error;
mod key;
mod memory;
mod store;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use whetstone_core::judgement::Judgement;
use whetstone_core::program::Program;
use whetstone_core::verdict::Verdict;
use whetstone_env::python::{Candidate, EntryPoint, Quality};
use whetstone_env::results::{ResultCache, ResultKey};
use whetstone_sandbox::job::Limits;

pub use self::error::CacheError;
pub use self::key::{Identity, Key, ProgramKeys, TaskKeys};
use self::memory::Memory;
use self::store::{MAX_RESULT_BYTES, Store};

/// Bounds of a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Entries in the file. An entry takes about 350 bytes there, and never more than 1.2 KB.
    pub file_entries: u64,
    /// Entries in memory.
    pub memory_entries: usize,
    /// Bytes of results of environments in the file. A result takes 64 KiB at most.
    pub result_bytes: u64,
}

/// Hits and misses of one kind of results.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Lookups {
    /// Results that were known.
    pub hits: u64,
    /// Results that had to be found.
    pub misses: u64,
}

/// Hits and misses of a cache.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Programs whose verdict was known.
    pub hits: u64,
    /// Programs that had to be run.
    pub misses: u64,
    /// Results of environments that were known or had to be found, by their kind.
    pub results: BTreeMap<&'static str, Lookups>,
    /// Verdicts and results that are in the file since.
    pub stored: u64,
    /// Verdicts and results that should be in the file and are not, because it could not be written.
    pub lost: u64,
    /// Why the file was given up, if it was.
    pub trouble: Option<String>,
}

/// A cached verdict of a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// The judgement.
    pub judgement: Judgement,
    /// Its code quality score.
    #[serde(with = "three_numbers")]
    pub quality: Quality,
    /// It defines what the tests call, whichever way its module goes.
    pub defines_entry_point: bool,
    /// Of a timeout: the limit on CPU time that it was measured at, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_us: Option<u64>,
}

impl Known {
    /// A program of which this is known, as if it had been read.
    pub(crate) fn candidate(&self, program: Program, constant_baseline: f64) -> Candidate {
        let entry_point =
            if self.defines_entry_point { EntryPoint::Defined } else { EntryPoint::Unknown };
        Candidate {
            program,
            quality: self.quality,
            may_vary: false,
            entry_point,
            constant_baseline,
        }
    }
}

/// Verdicts of programs that were judged before.
#[derive(Debug)]
pub struct Cache {
    memory: Mutex<Memory<Known>>,
    result_memory: Mutex<Memory<Arc<[u8]>>>,
    lookups: Mutex<BTreeMap<&'static str, Lookups>>,
    store: Store,
    hits: AtomicU64,
    misses: AtomicU64,
}

impl Default for Bounds {
    fn default() -> Self {
        // About 1.4 GB of file for verdicts and half a GB for results, and 2 MB of memory for verdicts.
        Self { file_entries: 4_000_000, memory_entries: 1 << 13, result_bytes: 512 << 20 }
    }
}

impl Stats {
    /// The part of all lookups that were hits; 0 without any.
    pub fn hit_rate(&self) -> f64 {
        let of_programs = Lookups { hits: self.hits, misses: self.misses };
        let all = self.results.values().copied().chain([of_programs]);
        let add = |sum: Lookups, one: Lookups| Lookups {
            hits: sum.hits + one.hits,
            misses: sum.misses + one.misses,
        };
        all.fold(Lookups::default(), add).hit_rate()
    }
}

impl Lookups {
    /// The part of the lookups that were hits; 0 without any.
    #[expect(clippy::cast_precision_loss, reason = "a rate of counts far below 2^53")]
    pub fn hit_rate(self) -> f64 {
        let all = self.hits + self.misses;
        if all == 0 { 0.0 } else { self.hits as f64 / all as f64 }
    }
}

impl Cache {
    /// Opens the cache at `path`, or creates it.
    pub fn open(path: &Path, bounds: Bounds) -> Result<Self, CacheError> {
        let store = Store::open(path, bounds)?;
        Ok(Self {
            memory: Mutex::new(Memory::new(bounds.memory_entries)),
            // At most 16 MB for as many verdicts as is usual, and mostly below 1.
            result_memory: Mutex::new(Memory::new(bounds.memory_entries / 32)),
            lookups: Mutex::default(),
            store,
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        })
    }

    /// The entry of a program that was judged before.
    ///
    /// Not counted: whether it was a [`Cache::hit`] or a [`Cache::miss`] is for the caller to say,
    /// who may find that there is nothing to judge.
    pub fn get(&self, key: &Key) -> Option<Known> {
        if let Some(known) = self.memory().get(key) {
            return Some(known.clone());
        }
        let known = self.store.get(key)?;
        self.memory().put(*key, known.clone());
        Some(known)
    }

    /// What is known of a program under a limit on CPU time: its verdict, or a timeout at this limit or a
    /// higher one. Not counted, like [`Cache::get`].
    pub fn find(&self, keys: &ProgramKeys, limits: Limits) -> Option<Known> {
        self.get(&keys.verdict).or_else(|| {
            let timeout = self.get(&keys.timeout)?;
            let is_known = timeout.limit_us.is_some_and(|known| in_us(limits) <= known);
            is_known.then(|| within(timeout, limits))
        })
    }

    /// Keeps a verdict of a program, if it may be kept, and says whether it is. A timeout in which a test
    /// passed is kept for its own limit alone: within a lower one fewer might have passed.
    pub fn keep(&self, keys: &ProgramKeys, known: Known, may_vary: bool, limits: Limits) -> bool {
        if may_be_kept(&known.judgement, may_vary) {
            self.put(keys.verdict, &known);
            return true;
        }
        if !is_steady_timeout(&known.judgement, may_vary, limits) {
            return false;
        }
        if known.judgement.counts().passed > 0 {
            self.put(keys.verdict, &known);
        } else {
            self.put(keys.timeout, &Known { limit_us: Some(in_us(limits)), ..known });
        }
        true
    }

    /// Keeps a verdict that [`may_be_kept`].
    pub fn put(&self, key: Key, known: &Known) {
        self.memory().put(key, known.clone());
        self.store.put(key, known);
    }

    /// Counts a program that did not have to be run.
    pub fn hit(&self) {
        self.hits.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a program that had to be run.
    pub fn miss(&self) {
        self.misses.fetch_add(1, Ordering::Relaxed);
    }

    /// Brings everything to the disk.
    pub fn flush(&self) {
        self.store.flush();
    }

    /// Hits and misses so far.
    pub fn stats(&self) -> Stats {
        let (stored, lost, trouble) = self.store.counts();
        let (hits, misses) =
            (self.hits.load(Ordering::Relaxed), self.misses.load(Ordering::Relaxed));
        let results = lock(&self.lookups).clone();
        Stats { hits, misses, results, stored, lost, trouble }
    }

    fn memory(&self) -> MutexGuard<'_, Memory<Known>> {
        lock(&self.memory)
    }

    fn result(&self, key: Key) -> Option<Vec<u8>> {
        if let Some(known) = lock(&self.result_memory).get(&key) {
            return Some(known.to_vec());
        }
        let known = self.store.get_result(&key)?;
        lock(&self.result_memory).put(key, known.as_slice().into());
        Some(known)
    }
}

impl ResultCache for Cache {
    fn get(&self, key: &ResultKey) -> Option<Vec<u8>> {
        let found = self.result(Key(key.digest));
        let mut lookups = lock(&self.lookups);
        let counts = lookups.entry(key.part).or_default();
        *(if found.is_some() { &mut counts.hits } else { &mut counts.misses }) += 1;
        found
    }

    fn put(&self, key: &ResultKey, value: &[u8]) {
        if value.len() <= MAX_RESULT_BYTES {
            lock(&self.result_memory).put(Key(key.digest), value.into());
            self.store.put_result(Key(key.digest), value);
        }
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Cache {
    fn drop(&mut self) {
        self.flush();
    }
}

/// Whether a verdict would come out the same again, and so may be kept.
pub fn may_be_kept(judgement: &Judgement, may_vary: bool) -> bool {
    match judgement.verdict() {
        // Time, memory, output and signals depend on the machine and how busy it is. For the last
        // two nothing was run: asking the cache would cost more than reading the reply again.
        Verdict::Timeout
        | Verdict::Memory
        | Verdict::Output
        | Verdict::Crashed { .. }
        | Verdict::NoCode
        | Verdict::SyntaxError => false,
        Verdict::Pass => !may_vary,
        // Tests that were passed are paid: by chance, they would be paid for ever.
        Verdict::Wrong { .. }
        | Verdict::Raised { .. }
        | Verdict::LoadError { .. }
        | Verdict::Unserialisable { .. } => !may_vary || judgement.counts().passed == 0,
    }
}

/// Whether a program ran out of CPU time, and not of time on a busy machine. One that varies may come to
/// an end the next time, so that what it passed is not remembered.
fn is_steady_timeout(judgement: &Judgement, may_vary: bool, limits: Limits) -> bool {
    *judgement.verdict() == Verdict::Timeout
        && judgement.cpu_ms() >= limits.cpu.as_secs_f64() * 1000.0
        && (!may_vary || judgement.counts().passed == 0)
}

/// A timeout as it would have been measured within limits.
fn within(timeout: Known, limits: Limits) -> Known {
    let spent_ms = timeout.judgement.cpu_ms().min(limits.cpu.as_secs_f64() * 1000.0);
    match timeout.judgement.clone().with_cpu_ms(spent_ms) {
        Ok(judgement) => Known { judgement, ..timeout },
        Err(_) => timeout,
    }
}

fn in_us(limits: Limits) -> u64 {
    u64::try_from(limits.cpu.as_micros()).unwrap_or(u64::MAX)
}

/// Quality as it stands in the file.
mod three_numbers {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use whetstone_env::python::Quality;

    pub(super) fn serialize<S: Serializer>(of: &Quality, serializer: S) -> Result<S::Ok, S::Error> {
        [of.complexity, of.readability, of.documentation].serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Quality, D::Error> {
        let [complexity, readability, documentation] = Deserialize::deserialize(from)?;
        Ok(Quality { complexity, readability, documentation })
    }
}

#[cfg(test)]
mod tests;
