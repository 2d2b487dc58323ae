//! Lines as tasks: outputs have the same bytes as inputs, so a line is read without being changed.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;

use whetstone_core::jsonl::{LineProblem, MAX_LINE_BYTES, Records};
use whetstone_core::lines::LineEnd;
use whetstone_core::task::{Task, TaskId};
use whetstone_core::wire::Wire;
use whetstone_record::batch::Line;

use super::finding::{Dropped, Reason};

/// The content of a line.
#[derive(Debug)]
pub(super) enum Held {
    Task(Box<Task>),
    Blank,
    Bad(Dropped),
}

/// The ids so far, and their lines.
#[derive(Debug, Default)]
pub(super) struct Ids(HashMap<TaskId, (PathBuf, u64)>);

impl Held {
    /// Reads a line as a task.
    pub(super) fn of(line: &Line<'_>, ids: &mut Ids) -> Self {
        let bad = |detail: String| {
            let detail = format!("{}:{}: {detail}", line.file.display(), line.number);
            Self::Bad(Dropped::new(Reason::NotATask, detail))
        };
        if line.is_too_long() {
            let limit_bytes = MAX_LINE_BYTES;
            return bad(LineProblem::TooLong { noun: Task::NOUN, limit_bytes }.to_string());
        }
        let end: &[u8] = if line.end == LineEnd::Newline { b"\n" } else { b"" };
        let mut read = Records::<Task, _>::new(line.file, io::Read::chain(line.content(), end));
        match read.next() {
            None => Self::Blank,
            Some(Err(err)) => bad(err.problem.to_string()),
            Some(Ok(found)) => match ids.first(&found.record.id, line) {
                None => Self::Task(Box::new(found.record)),
                Some(detail) => Self::Bad(Dropped::new(Reason::DuplicateId, detail)),
            },
        }
    }
}
impl Ids {
    /// Notes an id; if it was there before, says where.
    fn first(&mut self, id: &TaskId, line: &Line<'_>) -> Option<String> {
        if let Some((file, number)) = self.0.get(id) {
            let before = format!("{}:{number}", file.display());
            let here = format!("{}:{}", line.file.display(), line.number);
            return Some(format!("{here}: task id `{id}` stands already in {before}"));
        }
        self.0.insert(id.clone(), (line.file.to_owned(), line.number));
        None
    }
}
