//! The journal of a batch, beside its output.
//!
//! It is there from the first result until the output is complete, so its presence means that there
//! is work to resume. Its first record, the *head*, holds the inputs and settings: only a command
//! with the same ones may resume. It is opened, and so locked, before anything else is done: no
//! process discards or removes a journal that another one is writing.
//!
//! Records are read back by their offset in any order: what stays in memory of a result is where it
//! is.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Head;
use crate::error::BatchError;
use crate::journal::{Journal, Reader, read};

/// What to do with the journal of an interrupted command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Earlier {
    /// Go on where it ended.
    #[default]
    Resume,
    /// Forget it.
    Forget,
}

/// The journal of a batch.
#[derive(Debug)]
pub struct Ledger(Journal);

/// Where a record stands in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordAt {
    /// Bytes in front of it: what [`Ledger::read`] takes.
    pub offset: u64,
    /// Its line, counted from 1.
    pub line: u64,
}

/// The name of the journal beside `output`: the output's with `.journal` behind.
pub fn path_beside(output: &Path) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(".journal");
    PathBuf::from(name)
}

impl Ledger {
    /// Opens the journal beside `output`. If it is left from earlier work with the same head, returns
    /// its records for [`replay`]; else it is a new one that begins with `head`.
    pub fn open(
        output: &Path,
        earlier: Earlier,
        head: &Head,
    ) -> Result<(Self, Option<Reader>), BatchError> {
        let differences = |theirs: &str| head.differences(theirs);
        let (mut ledger, records) = Self::open_bare(output, earlier, differences)?;
        if records.is_none() {
            ledger.append(head)?;
        }
        Ok((ledger, records))
    }

    /// Like [`Ledger::open`] for a head of another form, which the caller appends to a new journal.
    ///
    /// `differences` gets the head of an earlier journal and names the settings that differ: none if
    /// the work may resume, `None` if it is not a head of this kind of work.
    pub fn open_bare(
        output: &Path,
        earlier: Earlier,
        differences: impl FnOnce(&str) -> Option<Vec<String>>,
    ) -> Result<(Self, Option<Reader>), BatchError> {
        let (mut journal, recovery) = Journal::open(&path_beside(output))?;
        if recovery.last_seq.is_none() {
            return Ok((Self(journal), None));
        }
        if earlier == Earlier::Forget {
            journal.clear()?;
            return Ok((Self(journal), None));
        }
        let path = journal.path().to_owned();
        let mut reader = read(&path)?;
        let head = reader.next().transpose()?.map(|record| record.json).unwrap_or_default();
        match differences(&head) {
            None => Err(BatchError::NotOurs { path }),
            Some(differs) if !differs.is_empty() => Err(BatchError::OtherInputs { path, differs }),
            Some(_) => Ok((Self(journal), Some(reader))),
        }
    }

    /// Appends a record and returns its offset.
    pub fn append<T: Serialize + ?Sized>(&mut self, record: &T) -> Result<u64, BatchError> {
        let offset = self.0.len_bytes();
        self.0.append(record)?;
        Ok(offset)
    }

    /// The record at an offset that [`Ledger::append`] or [`replay`] gave.
    pub fn read<T: DeserializeOwned>(&self, offset: u64) -> Result<T, BatchError> {
        Ok(self.0.read_at(offset)?)
    }

    /// Waits until every record is on the disk.
    pub fn sync(&self) -> Result<(), BatchError> {
        Ok(self.0.sync()?)
    }

    /// Forgets every record, the head too.
    pub fn clear(&mut self) -> Result<(), BatchError> {
        Ok(self.0.clear()?)
    }

    /// Removes the journal: nothing of it is needed any more.
    pub fn remove(self) -> Result<(), BatchError> {
        Ok(self.0.remove()?)
    }

    /// The journal's file.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

/// Passes every record of earlier work to `each`.
pub fn replay<T: DeserializeOwned, E: From<BatchError>>(
    records: Option<Reader>,
    mut each: impl FnMut(RecordAt, T) -> Result<(), E>,
) -> Result<(), E> {
    let Some(mut records) = records else { return Ok(()) };
    loop {
        let offset = records.place().offset_bytes();
        let Some(record) = records.next().transpose().map_err(BatchError::from)? else {
            return Ok(());
        };
        let value = records.parse(&record).map_err(BatchError::from)?;
        each(RecordAt { offset, line: record.line }, value)?;
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::{Value, json};

    use super::*;
    use crate::error::JournalError;

    fn head(sum: u64) -> Head {
        Head::new("adding", 1).with("sum", "the sum", sum)
    }

    /// A folder with the journal of `out`, whose head has the sum 1.
    fn begun() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let (mut ledger, records) = open(dir.path(), Earlier::Resume).unwrap();
        assert!(records.is_none());
        ledger.append(&json!({"n": 1})).unwrap();
        dir
    }

    fn open(dir: &Path, earlier: Earlier) -> Result<(Ledger, Option<Reader>), BatchError> {
        Ledger::open(&dir.join("out"), earlier, &head(1))
    }

    fn replayed(records: Option<Reader>) -> Vec<(u64, Value)> {
        let mut all = Vec::new();
        let each = |at: RecordAt, value| {
            all.push((at.offset, value));
            Ok::<_, BatchError>(())
        };
        replay(records, each).unwrap();
        all
    }

    #[test]
    fn earlier_work_is_resumed_behind_its_head() {
        let dir = begun();
        let (mut ledger, records) = open(dir.path(), Earlier::Resume).unwrap();
        assert_eq!(ledger.path(), dir.path().join("out.journal"));
        ledger.append(&json!({"n": 2})).unwrap();
        let values: Vec<_> = replayed(records).into_iter().map(|(_, value)| value).collect();
        assert_eq!(values, [json!({"n": 1}), json!({"n": 2})]);
    }

    #[test]
    fn records_are_read_back_by_their_offset_in_any_order() {
        let dir = begun();
        let (mut ledger, records) = open(dir.path(), Earlier::Resume).unwrap();
        let mut expected = replayed(records);
        // One is longer than what is read at first.
        for value in [json!({"n": 2}), json!({"n": "x".repeat(100_000)}), json!({"n": 4})] {
            expected.push((ledger.append(&value).unwrap(), value));
        }
        for (offset, value) in expected.iter().rev() {
            assert_eq!(ledger.read::<Value>(*offset).unwrap(), *value);
        }
        let (last, _) = expected.pop().unwrap();
        assert!(ledger.read::<Value>(last + 1).is_err(), "not the beginning of a record");
        assert!(ledger.read::<Value>(last + 10_000).is_err(), "behind the end");
    }

    #[test]
    fn earlier_work_that_is_forgotten_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let output = dir.path().join("out");
        Ledger::open(&output, Earlier::Resume, &Head::new("other", 9)).unwrap();
        let (ledger, records) = open(dir.path(), Earlier::Forget).unwrap();
        assert!(records.is_none());
        let all: Vec<_> = read(ledger.path()).unwrap().map(|record| record.unwrap().json).collect();
        assert_eq!(all, [r#"{"adding":1,"sum":1}"#]);
    }

    #[test]
    fn a_journal_in_use_is_neither_resumed_nor_forgotten() {
        let dir = begun();
        let (mut ledger, _) = open(dir.path(), Earlier::Resume).unwrap();
        for earlier in [Earlier::Resume, Earlier::Forget] {
            let err = open(dir.path(), earlier).unwrap_err();
            assert!(matches!(err, BatchError::Journal(JournalError::Locked { .. })), "{err}");
            assert!(err.hint().unwrap().contains("--out") && !err.is_usage());
        }
        ledger.append(&json!({"n": 2})).unwrap();
    }

    #[test]
    fn other_inputs_are_named_and_nothing_is_changed() {
        let dir = begun();
        let path = dir.path().join("out.journal");
        let before = fs::read(&path).unwrap();
        let refuse = |head: &Head| {
            let err = Ledger::open(&dir.path().join("out"), Earlier::Resume, head).unwrap_err();
            assert!(err.is_usage() && err.hint().unwrap().contains("--out"), "{err}");
            assert_eq!(fs::read(&path).unwrap(), before);
            err.to_string()
        };
        assert_eq!(
            refuse(&head(2)),
            format!(
                "`{}` belongs to unfinished work with other inputs: the sum changed",
                path.display()
            )
        );
        let expected = format!("`{}` is the journal of another command", path.display());
        assert_eq!(refuse(&Head::new("scoring", 1)), expected);
    }
}
