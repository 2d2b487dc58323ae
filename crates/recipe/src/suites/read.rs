//! The tasks of a suite from the published file: every row of it, or none.
//!
//! A row that cannot be read ends the reading, since a figure over the rest would not be the suite's.

use std::collections::BTreeSet;
use std::path::Path;

use whetstone_core::Task;
use whetstone_core::task::TaskId;
use whetstone_data::source::{DataSet, SourceRow, TaskSource, What, read};

use super::{Suite, SuiteRequest, SuiteTasks};
use crate::datasets::locate;
use crate::failure::Failure;
use crate::observer::Observer;
use crate::text::counted;

impl SuiteRequest {
    /// The tasks, in the order of their numbers.
    ///
    /// # Errors
    ///
    /// If the file cannot be had, or is not the one that the suite is published as.
    pub(crate) fn tasks(&self, observer: &dyn Observer) -> Result<Vec<Task>, Failure> {
        let Suite { tasks: published, mbpp, .. } = self.suite;
        let mut found = Found { published, tasks: Vec::new(), ids: BTreeSet::new(), bad: None };
        for path in locate(published.hub, self.file.as_deref(), observer)? {
            let origin = TaskSource { mbpp: *mbpp, ..TaskSource::new(None, &path) };
            let refused = |problem: String| self.refused(&path, &problem);
            read(&origin, &mut |row| found.take(row)).map_err(|err| refused(err.to_string()))?;
            if let Some(bad) = found.bad.take() {
                return Err(refused(bad));
            }
            if self.file.is_some() && found.tasks.is_empty() {
                return Err(refused("it has none of the suite's tasks".to_owned()));
            }
        }
        let Found { mut tasks, .. } = found;
        tasks.sort_by_key(|task| number(&task.id));
        let (all, name) = (published.count, self.suite.full_name());
        if tasks.len() < all {
            let some = counted(tasks.len(), "task");
            observer.warning(&format_args!("`{name}` has {all} tasks, and {some} of them are here: figures cannot be compared with published ones"));
        }
        Ok(tasks)
    }

    fn refused(&self, path: &Path, problem: &str) -> Failure {
        let (name, file) = (self.suite.full_name(), self.suite.tasks.file);
        Failure::Suite {
            problem: format!("cannot read `{name}` from `{}`: {problem}", path.display()),
            hint: format!(
                "give `--tasks` the file as its authors publish it (`{file}`), or leave out `--tasks` to \
                 fetch it from the hub"
            ),
        }
    }
}

/// What was read so far.
struct Found<'a> {
    published: &'a SuiteTasks,
    tasks: Vec<Task>,
    ids: BTreeSet<TaskId>,
    /// The first row that is not a task.
    bad: Option<String>,
}

impl Found<'_> {
    fn take(&mut self, row: SourceRow<'_>) {
        let place = |problem: &str| match row.row {
            0 => problem.to_owned(),
            number => format!("row {number}: {problem}"),
        };
        let is_other = |kind: &DataSet| *kind != self.published.set;
        if let Some(kind) = row.kind.filter(is_other) {
            let (found, wanted) = (kind.name(), self.published.set.name());
            let problem = format!("its rows are of `{found}`, expected `{wanted}`");
            self.bad.get_or_insert(problem);
            return;
        }
        let problem = match row.what {
            What::Task(task, _) if row.mbpp != self.published.mbpp => {
                drop(task);
                return;
            }
            What::Task(task, _) if !self.published.has(&task.id) => return,
            What::Task(task, _) if self.ids.insert(task.id.clone()) => {
                self.tasks.push(*task);
                return;
            }
            What::Task(task, _) => format!("`{}` stands there twice", task.id),
            What::Bad(problem) => problem,
            What::LeftOut => return,
        };
        self.bad.get_or_insert_with(|| place(&problem));
    }
}

impl SuiteTasks {
    /// Whether a task of this id belongs to the suite.
    fn has(&self, id: &TaskId) -> bool {
        let (first, last) = self.numbers;
        number(id).is_some_and(|number| {
            (first..=last).contains(&number) && !self.without.contains(&number)
        })
    }
}

/// The number of a published task: of `mbpp/11` it is 11.
fn number(id: &TaskId) -> Option<u64> {
    id.as_str().rsplit('/').next()?.parse().ok()
}
