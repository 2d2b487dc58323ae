//! The journal of work that ends in one file: a scoring, a validation, a teaching.
//!
//! It is beside the output from the first result until the output is complete, so its presence
//! means that there is work to resume. Its first record, the *head*, holds the inputs and settings:
//! only a command with the same ones may resume. It is opened, and so locked, before anything else
//! is done: no process discards or removes a journal that another one is writing.
//!
//! Not here: the meaning of the records. The head is JSON, and the caller that opens a new journal
//! writes it.

use std::path::{Path, PathBuf};

use super::{Journal, Reader, read};
use crate::error::LedgerError;

/// The handling of the journal of an interrupted command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Earlier {
    /// Go on where it ended.
    #[default]
    Resume,
    /// Forget it.
    Forget,
}

/// The name of the journal beside `output`: the output's with `.journal` behind.
pub fn path_beside(output: &Path) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(".journal");
    PathBuf::from(name)
}

/// Opens the journal beside `output`. If it is left from earlier work, returns a reader positioned
/// after its head; else the journal is empty, and the caller writes a head.
///
/// `differences` gets the head and describes how it differs from the present settings: an empty
/// list if the work may resume, `None` if it is not a head of this kind of work.
pub fn open_beside(
    output: &Path,
    earlier: Earlier,
    differences: impl FnOnce(&str) -> Option<Vec<String>>,
) -> Result<(Journal, Option<Reader>), LedgerError> {
    let (mut journal, recovery) = Journal::open(&path_beside(output))?;
    if recovery.last_seq.is_none() {
        return Ok((journal, None));
    }
    if earlier == Earlier::Forget {
        journal.clear()?;
        return Ok((journal, None));
    }
    let path = journal.path().to_owned();
    let mut reader = read(&path)?;
    let head = reader.next().transpose()?.map(|record| record.json).unwrap_or_default();
    match differences(&head) {
        None => Err(LedgerError::NotOurs { path }),
        Some(differs) if !differs.is_empty() => Err(LedgerError::OtherInputs { path, differs }),
        Some(_) => Ok((journal, Some(reader))),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;
    use crate::error::JournalError;

    /// A folder with the journal of `out`, whose head is `{"sum":1}`.
    fn begun() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let (mut journal, earlier) = open(dir.path(), Earlier::Resume).unwrap();
        assert!(earlier.is_none());
        journal.append(&json!({"sum": 1})).unwrap();
        journal.append(&json!({"n": 1})).unwrap();
        dir
    }

    fn open(dir: &Path, earlier: Earlier) -> Result<(Journal, Option<Reader>), LedgerError> {
        open_beside(&dir.join("out"), earlier, |head| {
            assert_eq!(head, r#"{"sum":1}"#);
            Some(Vec::new())
        })
    }

    #[test]
    fn earlier_work_is_gone_on_with_behind_its_head() {
        let dir = begun();
        let (mut journal, earlier) = open(dir.path(), Earlier::Resume).unwrap();
        assert_eq!(journal.path(), dir.path().join("out.journal"));
        assert_eq!(journal.append(&json!({"n": 2})).unwrap(), 2);
        let rest: Vec<_> = earlier.unwrap().map(|record| record.unwrap().json).collect();
        assert_eq!(rest, [r#"{"n":1}"#, r#"{"n":2}"#]);
    }

    #[test]
    fn what_is_forgotten_is_not_even_looked_at() {
        let dir = begun();
        let output = dir.path().join("out");
        let (mut journal, earlier) =
            open_beside(&output, Earlier::Forget, |_| unreachable!("its head does not matter"))
                .unwrap();
        assert!(earlier.is_none());
        assert_eq!(journal.append(&json!({"new": 0})).unwrap(), 0);
        let all: Vec<_> =
            read(journal.path()).unwrap().map(|record| record.unwrap().json).collect();
        assert_eq!(all, [r#"{"new":0}"#]);
    }

    #[test]
    fn a_journal_in_use_is_neither_gone_on_with_nor_forgotten() {
        let dir = begun();
        let (mut journal, _) = open(dir.path(), Earlier::Resume).unwrap();
        for earlier in [Earlier::Resume, Earlier::Forget] {
            let err = open(dir.path(), earlier).unwrap_err();
            assert!(matches!(err, LedgerError::Journal(JournalError::Locked { .. })), "{err}");
            assert!(err.hint().unwrap().contains("--out") && !err.is_usage());
        }
        assert_eq!(journal.append(&json!({"n": 2})).unwrap(), 2);
    }

    #[test]
    fn other_inputs_are_named_and_nothing_is_changed() {
        let dir = begun();
        let path = dir.path().join("out.journal");
        let before = fs::read(&path).unwrap();
        let refuse = |differs: Option<Vec<String>>| {
            let output = dir.path().join("out");
            let err = open_beside(&output, Earlier::Resume, |_| differs).unwrap_err();
            assert!(err.is_usage() && err.hint().unwrap().contains("--out"), "{err}");
            assert_eq!(fs::read(&path).unwrap(), before);
            err.to_string()
        };
        let differs = vec!["the tasks".to_owned(), "`--repeats`".to_owned()];
        assert_eq!(
            refuse(Some(differs)),
            format!(
                "`{}` belongs to unfinished work with other inputs: the tasks, `--repeats` changed",
                path.display()
            )
        );
        let expected = format!("`{}` is the journal of another command", path.display());
        assert_eq!(refuse(None), expected);
    }
}
