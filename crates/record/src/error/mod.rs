//! What can go wrong on disk, one enum for each boundary.
//!
//! A message names the file and the step; the cause stays in `source()`, so that a printed chain
//! says everything once. `hint()` is what the user can do about it, shown as `hint: …`.
//!
//! Not here: the record that is merely bad data in somebody's memory. A payload that cannot be a
//! record is refused before anything is written, as a [`PayloadError`].

mod file;
mod journal;
mod ledger;
mod read;
mod run;
mod view;

pub use file::{CursorError, FileError};
pub use journal::{JournalError, PayloadError};
pub use ledger::LedgerError;
pub use read::{LineFault, ReadError};
pub use run::RunError;
pub use view::ViewError;
