//! Errors of the file system layer, one enum per boundary.
//!
//! A message names the file and the step; the cause stays in `source()`, so that a printed chain
//! has no repetition. `hint()` is a suggestion for the user, printed as `hint: …`.
//!
//! Not here: bad data in memory. A payload that cannot be a record is refused before anything is
//! written, as a [`PayloadError`].

mod batch;
mod file;
mod journal;
mod read;
mod run;
mod view;

pub use batch::BatchError;
pub use file::{CursorError, FileError};
pub use journal::{JournalError, PayloadError};
pub use read::{LineFault, ReadError};
pub use run::RunError;
pub use view::ViewError;
