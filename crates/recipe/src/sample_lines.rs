//! The lines of one task out of a file of rollouts, for a probe.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::failure::Failure;

/// Lines that a probe takes, at most.
const MOST: usize = 64;

/// The selected lines, and the total number.
pub(crate) struct OneTask {
    /// Their path.
    pub(crate) path: PathBuf,
    /// Lines that were taken, at least one.
    pub(crate) taken: usize,
    /// Lines of the whole file that are not blank.
    pub(crate) all: usize,
}

/// The task id, under the names that other tools use.
#[derive(Deserialize, PartialEq)]
struct Line {
    #[serde(default, alias = "task_id")]
    prompt_id: serde_json::Value,
}

/// Copies the lines of the first task of a file.
pub(crate) fn lines_of_one_task(from: &Path, to: &Path) -> Result<OneTask, Failure> {
    let unread =
        |source| Failure::io(format!("cannot read the rollouts `{}`", from.display()), source);
    let file = BufReader::new(File::open(from).map_err(unread)?);
    let mut out = Vec::new();
    let (mut first, mut taken, mut all) = (None, 0, 0);
    for line in file.split(b'\n') {
        let line = line.map_err(unread)?;
        if line.trim_ascii().is_empty() {
            continue;
        }
        all += 1;
        if taken < MOST {
            let task = serde_json::from_slice::<Line>(&line).ok();
            if task.is_some() && (first.is_none() || first == task) {
                out.extend_from_slice(&line);
                out.push(b'\n');
                (first, taken) = (task, taken + 1);
            }
        }
    }
    fs::write(to, out)
        .map_err(|source| Failure::io(format!("cannot write `{}`", to.display()), source))?;
    Ok(OneTask { path: to.to_owned(), taken, all })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_the_first_task_are_taken_and_all_are_counted() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("all"), dir.path().join("one"));
        let lines =
            "broken\n\n{\"prompt_id\":\"a\",\"n\":1}\n{\"prompt_id\":\"b\"}\n{\"task_id\":\"a\"}\n";
        fs::write(&from, lines).unwrap();
        let found = lines_of_one_task(&from, &to).unwrap();
        assert_eq!((found.taken, found.all), (2, 4));
        let taken = "{\"prompt_id\":\"a\",\"n\":1}\n{\"task_id\":\"a\"}\n";
        assert_eq!(fs::read_to_string(&found.path).unwrap(), taken);
    }
}
