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

use std::error::Error;
use std::io;

pub use batch::BatchError;
pub use file::{CursorError, FileError, write_hint};
pub use journal::{JournalError, PayloadError};
pub use read::{LineFault, ReadError};
pub use run::RunError;
pub use view::ViewError;

/// Whether an error comes of a disk without room, or of a limit on the size of files.
pub fn is_full(err: &(dyn Error + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(err), |&err| err.source());
    causes.any(|err| err.downcast_ref::<io::Error>().is_some_and(is_full_kind))
}

fn is_full_kind(err: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(err.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}
