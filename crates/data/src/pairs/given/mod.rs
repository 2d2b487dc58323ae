//! Pairs that others made, row by row: the usual forms of the hub, and files of our own.
//!
//! | `prompt` | `chosen` and `rejected` | the prompt is |
//! |---|---|---|
//! | a text, or messages | texts | `prompt`; a prompt that both texts repeat at their beginning is cut off |
//! | absent | texts, as `\n\nHuman: … \n\nAssistant: …` | what the conversations have in common |
//! | a text, messages or absent | messages that begin with the prompt | what both have in common |
//! | a text, or messages | one message of the assistant each | `prompt` |
//!
//! A prompt's text may also be called `question` or `instruction` (with `input`), and `system` may stand beside
//! it. Messages have `role` and `content`, or `from` and `value`. `task_id`, `margin` and `origin` are read where
//! they are, so that files of pairs can be read again.
//!
//! Both replies must be one message of the assistant behind the same conversation.

mod form;
mod messages;
mod problem;

use std::path::Path;

use whetstone_core::wire::Object;

pub use self::form::{GivenPair, read_row};
pub use self::problem::FormProblem;
use crate::source::SourceError;
use crate::source::table::{self, Encoding, TableError};

/// Receives a row, counted from 1, and what stands there.
pub(super) type EachRow<'a> = &'a mut dyn FnMut(u64, Result<GivenPair, FormProblem>);

/// Reads every row of a file.
pub(super) fn read_file(path: &Path, each: EachRow<'_>) -> Result<(), SourceError> {
    let encoding =
        Encoding::of(path).ok_or_else(|| SourceError::Format { path: path.to_owned() })?;
    let mut row_of = |row: u64, object: Result<Object, String>| {
        each(row, object.map_err(FormProblem::NotARow).and_then(read_row));
        std::ops::ControlFlow::Continue(())
    };
    match table::read(path, encoding, &mut row_of) {
        Ok(()) => Ok(()),
        Err(TableError::Io(source)) => Err(SourceError::Io { path: path.to_owned(), source }),
        Err(TableError::Broken { row, problem }) => {
            let problem = format!("{problem}; the rest of the file was not read");
            each(row, Err(FormProblem::NotARow(problem)));
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests;
