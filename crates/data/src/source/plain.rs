//! Tasks in our own line format.

use whetstone_core::task::Task;
use whetstone_core::wire::{Object, Wire};

use super::row::{Mapped, RowProblem};

pub(super) const COLUMNS: &[&[&str]] = &[&["id", "statement", "tests"]];

/// The task of a row.
pub(super) fn task(row: Object) -> Result<Mapped, RowProblem> {
    Ok(Mapped::Task(Box::new(Task::from_object(row)?)))
}
