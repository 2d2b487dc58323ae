//! The tasks that rollouts answer, by their ids.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use whetstone_core::jsonl::{LineError, LineProblem, Numbered, Records};
use whetstone_core::task::{Task, TaskId};
use whetstone_core::wire::Wire;

use crate::score::BadLine;

/// Bad lines that are named; the rest are counted.
const NAMED: usize = 100;

/// The tasks of a file.
#[derive(Debug)]
pub(crate) struct Tasks {
    file: PathBuf,
    list: Vec<Task>,
    by_id: HashMap<TaskId, u32>,
    /// Lines that are no task, the first of them.
    pub(crate) bad: Vec<BadLine>,
    pub(crate) bad_count: u64,
}

impl Tasks {
    /// Like [`Tasks::read`], but a task that asks for a program and has no tests is a bad line: nothing
    /// can be judged.
    pub(crate) fn read_judged(path: &Path, default_kind: &str) -> Result<Self, LineError> {
        let mut tasks = Self::none(path);
        for read in Records::<Task, _>::open(path)? {
            match read {
                Ok(Numbered { line, record: task })
                    if task.tests.is_absent() && task.is_program(default_kind) =>
                {
                    tasks.note(line, "has no `tests`, so nothing can be judged".to_owned());
                }
                read => tasks.add(read)?,
            }
        }
        Ok(tasks)
    }

    /// Reads a file of tasks. A bad line or a repeated id is noted and passed over; only a file
    /// that cannot be read is an error.
    pub(crate) fn read(path: &Path) -> Result<Self, LineError> {
        let mut tasks = Self::none(path);
        for read in Records::<Task, _>::open(path)? {
            tasks.add(read)?;
        }
        Ok(tasks)
    }

    /// The task with this id.
    pub(crate) fn find(&self, id: &TaskId) -> Option<u32> {
        self.by_id.get(id).copied()
    }

    /// The task with this number, which [`Tasks::find`] gave.
    pub(crate) fn get(&self, number: u32) -> &Task {
        &self.list[number as usize]
    }

    /// All of them, by their numbers.
    pub(crate) fn all(&self) -> &[Task] {
        &self.list
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    fn none(path: &Path) -> Self {
        let file = path.to_owned();
        Self { file, list: Vec::new(), by_id: HashMap::new(), bad: Vec::new(), bad_count: 0 }
    }

    fn add(&mut self, read: Result<Numbered<Task>, LineError>) -> Result<(), LineError> {
        match read {
            Ok(Numbered { line, record: task }) => {
                if self.by_id.contains_key(&task.id) {
                    let id = task.id.to_string();
                    self.note(line, format!("{} id `{id}` stands already above", Task::NOUN));
                    return Ok(());
                }
                let number = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
                self.by_id.insert(task.id.clone(), number);
                self.list.push(task);
            }
            Err(err) if matches!(err.problem, LineProblem::Io(_)) => return Err(err),
            Err(err) => self.note(err.line, err.problem.to_string()),
        }
        Ok(())
    }

    fn note(&mut self, line: u64, reason: String) {
        self.bad_count += 1;
        if self.bad.len() < NAMED {
            self.bad.push(BadLine { line, reason });
        }
    }

    #[cfg(test)]
    pub(crate) fn of_lines(text: &str) -> Self {
        let mut tasks = Self::none(Path::new("tasks"));
        for read in Records::<Task, _>::new("tasks", text.as_bytes()) {
            tasks.add(read).unwrap();
        }
        tasks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_task_is_named_and_the_others_are_there() {
        let task = |id: &str| {
            let tests = r#"{"kind":"asserts","hidden":["assert f()"]}"#;
            format!(r#"{{"id":"{id}","statement":"s","tests":{tests}}}"#)
        };
        let tasks = Tasks::of_lines(&[task("a"), "{}".to_owned(), task("a"), task("b")].join("\n"));
        let id = |text: &str| TaskId::try_from(text.to_owned()).unwrap();
        assert_eq!((tasks.find(&id("a")), tasks.find(&id("b"))), (Some(0), Some(1)));
        assert_eq!(tasks.find(&id("c")), None);
        let bad: Vec<_> =
            tasks.bad.iter().map(|bad| format!("{}: {}", bad.line, bad.reason)).collect();
        assert_eq!(
            bad,
            ["2: not a task: field `id` is missing", "3: task id `a` stands already above"]
        );
    }
}
