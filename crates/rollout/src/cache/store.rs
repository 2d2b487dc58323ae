//! The file of the cache: a redb database with two generations of entries.
//!
//! ```text
//! table "whet-reward-cache"             "format" → 1, "result-bytes" → bytes in "results-young"
//! table "young", "old"                  key (32 bytes) → version (1 byte), what is known (JSON)
//! table "results-young", "results-old"  key (32 bytes) → version (1 byte), a result of an environment
//! ```
//!
//! Verdicts of programs are small and bounded by their number; results of environments differ in size and are
//! bounded by their bytes. Each has its own two generations.
//!
//! A batch is committed without waiting for the disk; about once a second one is, and that one
//! also saves what makes the next opening quick. After the first failed write nothing more is read
//! or written: what is in memory goes on, and the counts say what was lost.

use std::io::{self, Read};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};
use std::{fs, mem};

use redb::{
    Database, DatabaseError, Durability, ReadOnlyTable, ReadableDatabase, ReadableTable,
    ReadableTableMetadata, StorageError, TableDefinition, TableHandle, WriteTransaction,
};

use super::error::CacheError;
use super::key::Key;
use super::{Bounds, Known};

type Entries = TableDefinition<'static, &'static [u8; 32], &'static [u8]>;

const META: TableDefinition<'static, &'static str, u64> = TableDefinition::new("whet-reward-cache");
const YOUNG: Entries = TableDefinition::new("young");
const OLD: Entries = TableDefinition::new("old");
const RESULTS_YOUNG: Entries = TableDefinition::new("results-young");
const RESULTS_OLD: Entries = TableDefinition::new("results-old");
/// The entry of [`META`] with the bytes of the young generation of results.
const RESULT_BYTES: &str = "result-bytes";

/// Format of the file.
const FORMAT: u64 = 1;
/// First byte of a value: what is known of a program, as JSON.
const VALUE_JSON: u8 = 1;
/// First byte of a result of an environment, whose bytes follow.
const RESULT: u8 = 2;
/// Longer values are not kept; a name of an exception could be long.
const MAX_VALUE_BYTES: usize = 1024;
/// Longer results are not kept.
pub(super) const MAX_RESULT_BYTES: usize = 64 << 10;
/// Bytes that the page of a small entry and its key add to it, about.
const ENTRY_BYTES: u64 = 100;
/// The first bytes of every redb file.
const MAGIC: &[u8] = b"redb\x1A\x0A\xA9\x0D\x0A";

/// Entries committed together.
const BATCH: usize = 256;
/// Bytes committed together, about.
const BATCH_BYTES: usize = 1 << 20;
/// The longest time that entries wait to be written while others arrive.
const DURABLE_EVERY: Duration = Duration::from_secs(1);
/// Pages that redb may hold in memory; its own default is a gigabyte.
const PAGES_BYTES: usize = 8 << 20;

/// The file of the cache.
#[derive(Debug)]
pub(super) struct Store {
    // Before the database, so that it is dropped first.
    snapshot: RwLock<Option<Snapshot>>,
    writer: Mutex<Writer>,
}

/// State that can be read without a lock on the database.
struct Snapshot {
    verdicts: Generations,
    results: Generations,
}

/// The two generations of one kind of entries.
struct Generations {
    young: ReadOnlyTable<&'static [u8; 32], &'static [u8]>,
    old: ReadOnlyTable<&'static [u8; 32], &'static [u8]>,
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryKind {
    /// A verdict of a program.
    Verdict,
    /// A result of an environment.
    Result,
}

/// An entry that is to be written.
#[derive(Debug)]
struct NewEntry {
    kind: EntryKind,
    key: Key,
    value: Vec<u8>,
}

#[derive(Debug)]
struct Writer {
    database: Database,
    bounds: Bounds,
    batch: Vec<NewEntry>,
    batch_bytes: usize,
    last_durable: Instant,
    /// A commit was made since that has not reached the disk.
    unsynced: bool,
    stored: u64,
    lost: u64,
    trouble: Option<String>,
}

impl Store {
    pub(super) fn open(path: &Path, bounds: Bounds) -> Result<Self, CacheError> {
        check_magic(path)?;
        let database = redb::Builder::new().set_cache_size(PAGES_BYTES).create(path);
        let database = database.map_err(|err| open_error(path, err))?;
        prepare(&database, path)?;
        let damaged = |err: redb::Error| damaged(path, &err);
        let snapshot = Snapshot::take(&database).map_err(damaged)?;
        let writer = Writer {
            database,
            bounds,
            batch: Vec::new(),
            batch_bytes: 0,
            last_durable: Instant::now(),
            unsynced: false,
            stored: 0,
            lost: 0,
            trouble: None,
        };
        Ok(Self { snapshot: RwLock::new(Some(snapshot)), writer: Mutex::new(writer) })
    }

    /// The entry of `key`; one that cannot be read counts as missing.
    pub(super) fn get(&self, key: &Key) -> Option<Known> {
        self.read(EntryKind::Verdict, key, decode)
    }

    /// The result under `key`.
    pub(super) fn get_result(&self, key: &Key) -> Option<Vec<u8>> {
        self.read(EntryKind::Result, key, |value| Some(value.strip_prefix(&[RESULT])?.to_owned()))
    }

    pub(super) fn put(&self, key: Key, known: &Known) {
        let Some(value) = encode(known) else { return };
        self.add(NewEntry { kind: EntryKind::Verdict, key, value });
    }

    /// Stores a result of at most [`MAX_RESULT_BYTES`].
    pub(super) fn put_result(&self, key: Key, result: &[u8]) {
        let value = [&[RESULT], result].concat();
        self.add(NewEntry { kind: EntryKind::Result, key, value });
    }

    fn read<T>(
        &self,
        kind: EntryKind,
        key: &Key,
        decode: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Option<T> {
        let snapshot = self.snapshot.read().unwrap_or_else(PoisonError::into_inner);
        let snapshot = snapshot.as_ref()?;
        let generations = match kind {
            EntryKind::Verdict => &snapshot.verdicts,
            EntryKind::Result => &snapshot.results,
        };
        let found = generations.young.get(&key.0).ok()?;
        let found = found.or(generations.old.get(&key.0).ok()?)?;
        decode(found.value())
    }

    fn add(&self, entry: NewEntry) {
        let mut writer = self.writer();
        writer.batch_bytes += entry.value.len();
        writer.batch.push(entry);
        let due = writer.last_durable.elapsed() >= DURABLE_EVERY;
        if due || writer.batch.len() >= BATCH || writer.batch_bytes >= BATCH_BYTES {
            self.commit(&mut writer, if due { Durability::Immediate } else { Durability::None });
        }
    }

    pub(super) fn flush(&self) {
        let mut writer = self.writer();
        if writer.unsynced || !writer.batch.is_empty() {
            self.commit(&mut writer, Durability::Immediate);
        }
    }

    /// Entries stored, entries lost, and why.
    pub(super) fn counts(&self) -> (u64, u64, Option<String>) {
        let writer = self.writer();
        (writer.stored, writer.lost, writer.trouble.clone())
    }

    fn commit(&self, writer: &mut Writer, durability: Durability) {
        let batch = mem::take(&mut writer.batch);
        writer.batch_bytes = 0;
        let count = batch.len() as u64;
        if writer.trouble.is_some() {
            writer.lost += count;
            return;
        }
        let durable = matches!(durability, Durability::Immediate);
        let written = writer.write(&batch, durability);
        let snapshot = written.and_then(|()| Snapshot::take(&writer.database));
        let mut shared = self.snapshot.write().unwrap_or_else(PoisonError::into_inner);
        match snapshot {
            Ok(snapshot) => {
                *shared = Some(snapshot);
                writer.stored += count;
                writer.unsynced = !durable;
                if durable {
                    writer.last_durable = Instant::now();
                }
            }
            Err(err) => {
                *shared = None;
                writer.lost += count;
                writer.trouble = Some(err.to_string());
            }
        }
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Writer {
    fn write(&self, batch: &[NewEntry], durability: Durability) -> Result<(), redb::Error> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_quick_repair(matches!(durability, Durability::Immediate));
        transaction.set_durability(durability)?;
        if transaction.open_table(YOUNG)?.len()? >= self.bounds.file_entries / 2 {
            turn_over(&transaction, YOUNG, OLD)?;
        }
        let mut bytes = result_bytes(&transaction)?;
        if bytes >= self.bounds.result_bytes / 2 {
            turn_over(&transaction, RESULTS_YOUNG, RESULTS_OLD)?;
            bytes = 0;
        }
        let mut verdicts = transaction.open_table(YOUNG)?;
        let mut results = transaction.open_table(RESULTS_YOUNG)?;
        for NewEntry { kind, key, value } in batch {
            match kind {
                EntryKind::Verdict => drop(verdicts.insert(&key.0, value.as_slice())?),
                EntryKind::Result => {
                    bytes += value.len() as u64 + ENTRY_BYTES;
                    results.insert(&key.0, value.as_slice())?;
                }
            }
        }
        drop((verdicts, results));
        transaction.open_table(META)?.insert(RESULT_BYTES, bytes)?;
        Ok(transaction.commit()?)
    }
}

/// Drops the old generation, and lets the young one take its place.
fn turn_over(
    transaction: &WriteTransaction,
    young: Entries,
    old: Entries,
) -> Result<(), redb::Error> {
    transaction.delete_table(old)?;
    Ok(transaction.rename_table(young, old)?)
}

fn result_bytes(transaction: &WriteTransaction) -> Result<u64, redb::Error> {
    let meta = transaction.open_table(META)?;
    let bytes = meta.get(RESULT_BYTES)?.map_or(0, |bytes| bytes.value());
    Ok(bytes)
}

impl Snapshot {
    fn take(database: &Database) -> Result<Self, redb::Error> {
        let transaction = database.begin_read()?;
        let verdicts = Generations {
            young: transaction.open_table(YOUNG)?,
            old: transaction.open_table(OLD)?,
        };
        let results = Generations {
            young: transaction.open_table(RESULTS_YOUNG)?,
            old: transaction.open_table(RESULTS_OLD)?,
        };
        Ok(Self { verdicts, results })
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Snapshot")
    }
}

fn encode(known: &Known) -> Option<Vec<u8>> {
    let mut value = vec![VALUE_JSON];
    serde_json::to_writer(&mut value, known).ok()?;
    (value.len() <= MAX_VALUE_BYTES).then_some(value)
}

fn decode(value: &[u8]) -> Option<Known> {
    let json = value.strip_prefix(&[VALUE_JSON])?;
    serde_json::from_slice(json).ok()
}

/// Looks at the file before redb does, whose words for a foreign file would not help.
fn check_magic(path: &Path) -> Result<(), CacheError> {
    let mut head = Vec::new();
    let read =
        fs::File::open(path).and_then(|file| file.take(MAGIC.len() as u64).read_to_end(&mut head));
    match read {
        Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(CacheError::Open { path: path.to_owned(), source }),
        Ok(_) if head.is_empty() || head == MAGIC => Ok(()),
        Ok(_) => {
            let found = "it holds something else".to_owned();
            Err(CacheError::NotACache { path: path.to_owned(), found })
        }
    }
}

/// Makes a new database a cache; refuses one that is something else.
fn prepare(database: &Database, path: &Path) -> Result<(), CacheError> {
    let damaged = |err: redb::Error| damaged(path, &err);
    let tables = tables(database).map_err(damaged)?;
    if tables.is_empty() {
        return begin(database).map_err(damaged);
    }
    if !tables.iter().any(|name| name == META.name()) {
        let found = "a database of another program".to_owned();
        return Err(CacheError::NotACache { path: path.to_owned(), found });
    }
    match format_of(database).map_err(damaged)? {
        // An older whet made it without tables of results.
        Some(FORMAT) if !tables.iter().any(|name| name == RESULTS_OLD.name()) => {
            begin(database).map_err(damaged)
        }
        Some(FORMAT) => Ok(()),
        Some(found) if found > FORMAT => {
            Err(CacheError::Newer { path: path.to_owned(), found, known: FORMAT })
        }
        found => {
            let found = format!("its format is {found:?}");
            Err(CacheError::NotACache { path: path.to_owned(), found })
        }
    }
}

fn tables(database: &Database) -> Result<Vec<String>, redb::Error> {
    let transaction = database.begin_read()?;
    Ok(transaction.list_tables()?.map(|table| table.name().to_owned()).collect())
}

fn format_of(database: &Database) -> Result<Option<u64>, redb::Error> {
    let transaction = database.begin_read()?;
    let meta = transaction.open_table(META)?;
    Ok(meta.get("format")?.map(|format| format.value()))
}

fn begin(database: &Database) -> Result<(), redb::Error> {
    let mut transaction = database.begin_write()?;
    transaction.set_quick_repair(true);
    transaction.open_table(META)?.insert("format", FORMAT)?;
    for table in [YOUNG, OLD, RESULTS_YOUNG, RESULTS_OLD] {
        transaction.open_table(table)?;
    }
    Ok(transaction.commit()?)
}

fn open_error(path: &Path, err: DatabaseError) -> CacheError {
    let path = path.to_owned();
    match err {
        DatabaseError::DatabaseAlreadyOpen => CacheError::Locked { path },
        DatabaseError::Storage(StorageError::Io(source)) => CacheError::Open { path, source },
        err => CacheError::Damaged { path, problem: err.to_string() },
    }
}

fn damaged(path: &Path, err: &redb::Error) -> CacheError {
    CacheError::Damaged { path: path.to_owned(), problem: err.to_string() }
}
