//! The rollouts of a run, one by one, in the order in which they were written.

use std::path::{Path, PathBuf};
use std::{fs, iter};

use whetstone_core::rollout::{Rollout, Score};
use whetstone_core::wire::{Object, Wire};

use crate::error::{FileError, ReadError, ViewError};
use crate::journal::{self, Record};
use crate::run_dir::RunView;

/// What can be said of a completion, in the order in which a page counts it.
pub(super) const VERDICTS: [&str; 14] = [
    "pass",
    "wrong",
    "raised",
    "timeout",
    "memory",
    "output",
    "crashed",
    "load_error",
    "no_code",
    "syntax_error",
    "unserialisable",
    "unjudged",
    "not_run",
    "unscored",
];

/// Rollouts, one by one.
type Rollouts = Box<dyn Iterator<Item = Result<Rollout, ViewError>>>;

/// The rollouts so far. One that is being written right now ends its journal.
pub(super) fn read(view: &RunView) -> Result<Rollouts, ViewError> {
    let journals = journals(&view.rollouts_dir())?;
    let each = |path| one(path).unwrap_or_else(|err| Box::new(iter::once(Err(err))));
    Ok(Box::new(journals.into_iter().flat_map(each)))
}

/// What became of a completion: one of [`VERDICTS`].
pub(super) fn verdict(rollout: &Rollout) -> &'static str {
    match &rollout.score {
        Some(Score::Judged { judgement, .. }) => judgement.verdict().name(),
        Some(Score::Failed(_)) => "unjudged",
        Some(Score::NotRun { .. }) => "not_run",
        None => "unscored",
    }
}

/// The place of [`verdict`] in [`VERDICTS`].
pub(super) fn verdict_number(rollout: &Rollout) -> usize {
    let name = verdict(rollout);
    VERDICTS.iter().position(|&it| it == name).unwrap_or(VERDICTS.len() - 1)
}

fn journals(dir: &Path) -> Result<Vec<PathBuf>, FileError> {
    let mut journals = Vec::new();
    for entry in fs::read_dir(dir).map_err(FileError::at("list", dir))? {
        let path = entry.map_err(FileError::at("list", dir))?.path();
        if path.extension().is_some_and(|it| it == "jsonl") {
            journals.push(path);
        }
    }
    journals.sort();
    Ok(journals)
}

fn one(path: PathBuf) -> Result<Rollouts, ViewError> {
    let records = journal::read(&path)?;
    let whole = records.take_while(|it| !matches!(it, Err(err) if err.is_torn()));
    Ok(Box::new(whole.map(move |record| parse(&path, &record?))))
}

fn parse(path: &Path, record: &Record) -> Result<Rollout, ViewError> {
    let (path, line) = (path.to_owned(), record.line);
    match serde_json::from_str::<Object>(&record.json) {
        Ok(object) => {
            Rollout::from_object(object).map_err(|source| ViewError::Rollout { path, line, source })
        }
        Err(source) => Err(ReadError::WrongType { path, line, source }.into()),
    }
}

#[cfg(test)]
mod tests {
    use whetstone_core::verdict::Verdict;

    use super::*;

    #[test]
    fn every_verdict_has_a_number() {
        let kind = String::new();
        let all = [
            Verdict::Pass,
            Verdict::Wrong { test: 0 },
            Verdict::Raised { test: 0, kind: kind.clone() },
            Verdict::Timeout,
            Verdict::Memory,
            Verdict::Output,
            Verdict::Crashed { signal: 9 },
            Verdict::LoadError { kind },
            Verdict::NoCode,
            Verdict::SyntaxError,
            Verdict::Unserialisable { test: 0 },
        ];
        assert_eq!(all.map(|it| it.name()), VERDICTS[..11]);
    }
}
