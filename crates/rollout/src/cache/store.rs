//! The file of the cache: a redb database with two generations of entries.
//!
//! ```text
//! table "whet-reward-cache"   "format" → 1
//! table "young", "old"        key (32 bytes) → version (1 byte), what is known (JSON)
//! ```
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
    Database, DatabaseError, Durability, ReadOnlyTable, ReadableDatabase, ReadableTableMetadata,
    StorageError, TableDefinition, TableHandle,
};

use super::Known;
use super::error::CacheError;
use super::key::Key;

type Entries = TableDefinition<'static, &'static [u8; 32], &'static [u8]>;

const META: TableDefinition<'static, &'static str, u64> = TableDefinition::new("whet-reward-cache");
const YOUNG: Entries = TableDefinition::new("young");
const OLD: Entries = TableDefinition::new("old");

/// Format of the file.
const FORMAT: u64 = 1;
/// First byte of a value: what is known of a program, as JSON.
const VALUE_JSON: u8 = 1;
/// Longer values are not kept; a name of an exception could be long.
const MAX_VALUE_BYTES: usize = 1024;
/// The first bytes of every redb file.
const MAGIC: &[u8] = b"redb\x1A\x0A\xA9\x0D\x0A";

/// Entries committed together.
const BATCH: usize = 256;
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
    young: ReadOnlyTable<&'static [u8; 32], &'static [u8]>,
    old: ReadOnlyTable<&'static [u8; 32], &'static [u8]>,
}

#[derive(Debug)]
struct Writer {
    database: Database,
    max_entries: u64,
    batch: Vec<(Key, Vec<u8>)>,
    last_durable: Instant,
    /// A commit was made since that has not reached the disk.
    unsynced: bool,
    stored: u64,
    lost: u64,
    trouble: Option<String>,
}

impl Store {
    pub(super) fn open(path: &Path, max_entries: u64) -> Result<Self, CacheError> {
        check_magic(path)?;
        let database = redb::Builder::new().set_cache_size(PAGES_BYTES).create(path);
        let database = database.map_err(|err| open_error(path, err))?;
        prepare(&database, path)?;
        let damaged = |err: redb::Error| damaged(path, &err);
        let snapshot = Snapshot::take(&database).map_err(damaged)?;
        let writer = Writer {
            database,
            max_entries,
            batch: Vec::new(),
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
        let snapshot = self.snapshot.read().unwrap_or_else(PoisonError::into_inner);
        let snapshot = snapshot.as_ref()?;
        let found = snapshot.young.get(&key.0).ok()?;
        let found = found.or(snapshot.old.get(&key.0).ok()?)?;
        decode(found.value())
    }

    pub(super) fn put(&self, key: Key, known: &Known) {
        let Some(value) = encode(known) else { return };
        let mut writer = self.writer();
        writer.batch.push((key, value));
        let due = writer.last_durable.elapsed() >= DURABLE_EVERY;
        if due || writer.batch.len() >= BATCH {
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
    fn write(&self, batch: &[(Key, Vec<u8>)], durability: Durability) -> Result<(), redb::Error> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_quick_repair(matches!(durability, Durability::Immediate));
        transaction.set_durability(durability)?;
        if transaction.open_table(YOUNG)?.len()? >= self.max_entries / 2 {
            transaction.delete_table(OLD)?;
            transaction.rename_table(YOUNG, OLD)?;
        }
        let mut young = transaction.open_table(YOUNG)?;
        for (key, value) in batch {
            young.insert(&key.0, value.as_slice())?;
        }
        drop(young);
        Ok(transaction.commit()?)
    }
}

impl Snapshot {
    fn take(database: &Database) -> Result<Self, redb::Error> {
        let transaction = database.begin_read()?;
        Ok(Self { young: transaction.open_table(YOUNG)?, old: transaction.open_table(OLD)? })
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
    transaction.open_table(YOUNG)?;
    transaction.open_table(OLD)?;
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
