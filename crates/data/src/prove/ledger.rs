//! The journal of a validation: what the judge said of each program, so that none is judged twice.
//!
//! ```text
//! {"validation":1,"tasks":"…","runs":2,…}                 what was asked
//! {"line":7,"trial":0,"answer":{"judged":{…}}}            one program of the task in line 7
//! ```
//!
//! Findings are not kept: they follow from the answers. A program that could not be judged leaves
//! nothing here, and is judged by the next run.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use whetstone_record::error::{JournalError, ReadError};
use whetstone_record::journal::{self, Journal};

use super::decide::Answer;
use super::error::ProveError;

/// Version of the journal's records, and of the trials that their numbers mean.
const VERSION: u64 = 1;

/// What was asked: a journal of anything else is of no use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) validation: u64,
    pub(super) tasks: String,
    pub(super) runs: u32,
    pub(super) cpu_us: u64,
    pub(super) slow_us: u64,
    pub(super) memory_bytes: u64,
    pub(super) judge: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Record {
    line: usize,
    trial: usize,
    answer: Answer,
}

/// What is known of programs so far.
#[derive(Debug)]
pub(super) struct Ledger {
    /// `None` if nothing is to be kept.
    journal: Option<Journal>,
    /// What an earlier run found.
    known: HashMap<(usize, usize), Answer>,
}

impl Header {
    /// The header for these inputs; the rest is to be filled in.
    pub(super) fn new(tasks: String, judge: String) -> Self {
        let (cpu_us, slow_us, memory_bytes, runs) = (0, 0, 0, 0);
        Self { validation: VERSION, tasks, runs, cpu_us, slow_us, memory_bytes, judge }
    }

    fn differences(&self, other: &Self) -> Vec<&'static str> {
        let parts = [
            (self.validation == other.validation, "the version of whet"),
            (self.tasks == other.tasks, "the tasks"),
            (self.runs == other.runs, "`--repeats`"),
            (self.cpu_us == other.cpu_us, "`sandbox.cpu_seconds`"),
            (self.slow_us == other.slow_us, "`--max-cpu-share`"),
            (self.memory_bytes == other.memory_bytes, "`sandbox.memory_mib`"),
            (self.judge == other.judge, "the judge"),
        ];
        parts.into_iter().filter(|(same, _)| !same).map(|(_, what)| what).collect()
    }
}

impl Ledger {
    /// Nothing is known, and nothing is kept.
    pub(super) fn none() -> Self {
        Self { journal: None, known: HashMap::new() }
    }

    /// Opens the journal beside `output`: a new one, or that of the same validation, ended early.
    pub(super) fn open(output: &Path, header: &Header, fresh: bool) -> Result<Self, ProveError> {
        let path = journal_path(output);
        let (mut journal, recovery) = Journal::open(&path)?;
        if recovery.last_seq.is_some() && fresh {
            // Opened first, so that a journal in use by another process is not taken away.
            drop(journal);
            remove(&path)?;
            journal = Journal::open(&path)?.0;
        }
        let mut known = HashMap::new();
        if journal.next_seq() == 0 {
            journal.append(header)?;
        } else {
            known = replay(&path, header)?;
        }
        Ok(Self { journal: Some(journal), known })
    }

    /// How many programs an earlier run has judged.
    pub(super) fn known(&self) -> u64 {
        self.known.len() as u64
    }

    /// What an earlier run found out about a program.
    pub(super) fn earlier(&self, line: usize, trial: usize) -> Option<&Answer> {
        self.known.get(&(line, trial))
    }

    /// Keeps what was found out about a program.
    pub(super) fn keep(
        &mut self,
        line: usize,
        trial: usize,
        answer: &Answer,
    ) -> Result<(), JournalError> {
        let Some(journal) = &mut self.journal else { return Ok(()) };
        journal.append(&Record { line, trial, answer: answer.clone() }).map(drop)
    }

    /// Removes the journal: everything that it knows is in the output.
    pub(super) fn remove(self) -> Result<(), ProveError> {
        match self.journal {
            Some(journal) => remove(journal.path()),
            None => Ok(()),
        }
    }
}

fn replay(path: &Path, header: &Header) -> Result<HashMap<(usize, usize), Answer>, ProveError> {
    let mut reader = journal::read(path)?;
    let first = reader.next().transpose()?.map(|record| record.json).unwrap_or_default();
    let Ok(earlier) = serde_json::from_str::<Header>(&first) else {
        return Err(ProveError::NotOurJournal { path: path.to_owned() });
    };
    let differs = header.differences(&earlier);
    if !differs.is_empty() {
        return Err(ProveError::OtherValidation { path: path.to_owned(), differs });
    }
    let mut known = HashMap::new();
    while let Some(record) = reader.next().transpose()? {
        let Record { line, trial, answer } = parse(&reader, &record)?;
        known.insert((line, trial), answer);
    }
    Ok(known)
}

fn parse(reader: &journal::Reader, record: &journal::Record) -> Result<Record, ReadError> {
    serde_json::from_str(&record.json).map_err(|source| ReadError::WrongType {
        path: reader.path().to_owned(),
        line: record.line,
        source,
    })
}

fn remove(path: &Path) -> Result<(), ProveError> {
    std::fs::remove_file(path)
        .map_err(|source| ProveError::Remove { path: path.to_owned(), source })
}

/// The journal's name: the output's with `.journal` behind.
pub(super) fn journal_path(output: &Path) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(".journal");
    PathBuf::from(name)
}
