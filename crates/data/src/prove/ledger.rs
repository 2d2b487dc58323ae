//! The journal of a validation: the judge's answer to each program, so that none is judged twice.
//!
//! ```text
//! {"validation":1,"tasks":"…","runs":2,…}                 what was asked
//! {"line":7,"trial":0,"answer":{"judged":{…}}}            one program of the task in line 7
//! ```
//!
//! Findings are not kept: they follow from the answers. A program that could not be judged leaves
//! nothing here, and is judged by the next run.

use std::collections::HashMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use whetstone_record::error::LedgerError;
use whetstone_record::journal::{self, Earlier, Journal, Reader};

use super::decide::Answer;

/// Version of the journal's records, and of the trials that their numbers mean.
const VERSION: u64 = 1;

/// The inputs and settings: a journal with others cannot be resumed.
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

/// The known answers.
#[derive(Debug)]
pub(super) struct Ledger {
    /// `None` if nothing is to be kept.
    journal: Option<Journal>,
    /// The answers of an earlier run.
    known: HashMap<(usize, usize), Answer>,
}

impl Header {
    /// The header for these inputs; the rest is to be filled in.
    pub(super) fn new(tasks: String, judge: String) -> Self {
        let (cpu_us, slow_us, memory_bytes, runs) = (0, 0, 0, 0);
        Self { validation: VERSION, tasks, runs, cpu_us, slow_us, memory_bytes, judge }
    }

    fn differences(&self, other: &Self) -> Vec<String> {
        let parts = [
            (self.validation == other.validation, "the version of whet"),
            (self.tasks == other.tasks, "the tasks"),
            (self.runs == other.runs, "`--repeats`"),
            (self.cpu_us == other.cpu_us, "`sandbox.cpu_seconds`"),
            (self.slow_us == other.slow_us, "`--max-cpu-share`"),
            (self.memory_bytes == other.memory_bytes, "`sandbox.memory_mib`"),
            (self.judge == other.judge, "the judge"),
        ];
        parts.into_iter().filter(|(same, _)| !same).map(|(_, what)| what.to_owned()).collect()
    }
}

impl Ledger {
    /// Nothing is known, and nothing is kept.
    pub(super) fn none() -> Self {
        Self { journal: None, known: HashMap::new() }
    }

    /// Opens the journal beside `output`: a new one, or that of the same validation, ended early.
    pub(super) fn open(
        output: &Path,
        header: &Header,
        earlier: Earlier,
    ) -> Result<Self, LedgerError> {
        let differences =
            |head: &str| serde_json::from_str(head).ok().map(|theirs| header.differences(&theirs));
        let (mut journal, replay) = journal::open_beside(output, earlier, differences)?;
        let mut known = HashMap::new();
        match replay {
            Some(records) => known = known_from(records)?,
            None => drop(journal.append(header)?),
        }
        Ok(Self { journal: Some(journal), known })
    }

    /// Number of programs that an earlier run judged.
    pub(super) fn known(&self) -> u64 {
        self.known.len() as u64
    }

    /// The answer of an earlier run to a program.
    pub(super) fn earlier(&self, line: usize, trial: usize) -> Option<&Answer> {
        self.known.get(&(line, trial))
    }

    /// Stores the answer to a program.
    pub(super) fn keep(
        &mut self,
        line: usize,
        trial: usize,
        answer: &Answer,
    ) -> Result<(), LedgerError> {
        let Some(journal) = &mut self.journal else { return Ok(()) };
        journal.append(&Record { line, trial, answer: answer.clone() })?;
        Ok(())
    }

    /// Removes the journal: everything that it knows is in the output.
    pub(super) fn remove(self) -> Result<(), LedgerError> {
        Ok(self.journal.map_or(Ok(()), Journal::remove)?)
    }
}

fn known_from(mut records: Reader) -> Result<HashMap<(usize, usize), Answer>, LedgerError> {
    let mut known = HashMap::new();
    while let Some(record) = records.next().transpose()? {
        let Record { line, trial, answer } = records.parse(&record)?;
        known.insert((line, trial), answer);
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_difference_is_named() {
        let header = || Header::new("tasks".to_owned(), "judge".to_owned());
        let check = |change: fn(&mut Header), expected: &[&str]| {
            let mut other = header();
            change(&mut other);
            assert_eq!(header().differences(&other), expected);
        };
        check(|_| {}, &[]);
        check(|header| header.validation += 1, &["the version of whet"]);
        check(|header| header.tasks.push('x'), &["the tasks"]);
        check(|header| header.runs += 1, &["`--repeats`"]);
        check(|header| header.cpu_us += 1, &["`sandbox.cpu_seconds`"]);
        check(|header| header.slow_us += 1, &["`--max-cpu-share`"]);
        check(|header| header.memory_bytes += 1, &["`sandbox.memory_mib`"]);
        check(|header| header.judge.push('x'), &["the judge"]);
    }
}
