//! Work on many items that survives a kill: scoring, validation, teaching, evaluation.
//!
//! ```text
//! pass 1   items ─► queue ─► workers ─► journal       all cores, in any order
//! pass 2   items + journal ─► output                  one core, in the order of the items
//! ```
//!
//! The four commands share these steps; what an item and a result are is theirs:
//!
//! | step | here |
//! |---|---|
//! | Inputs are read line by line within bounds; a digest shows in pass 2 that they are the same. | [`Input`] |
//! | A journal beside the output begins with the settings; other settings do not resume it. | [`Head`], [`Ledger::open`] |
//! | Results of earlier work are replayed, and their items are skipped. | [`replay`] |
//! | Items wait in a bounded queue; results are out of order by a bounded number of items. | [`Queue`] |
//! | Workers have a deep stack; the first error or panic of one stops all. | [`run`] |
//! | A panic on one item is a failure of that item. | [`catch_panic`] |
//! | Results are read back by their offset, so memory does not grow with their texts. | [`Ledger::read`] |
//! | An output is replaced as a whole or not at all. | [`replace_output`] |
//! | The journal is removed once nothing is to be done again. | [`Ledger::remove`] |
//!
//! A full disk is an error of [`Ledger::append`]: the journal keeps every earlier record, and the
//! same command resumes. Results must not depend on the order of the workers: a killed and resumed
//! batch writes the bytes of an undisturbed one.
//!
//! Not here: the meaning of items, results and counts.

mod catch_panic;
mod head;
mod input;
mod ledger;
mod output;
mod queue;
mod workers;

pub use catch_panic::catch_panic;
pub use head::Head;
pub use input::{Input, InputDigest, Line, Lines, read_at};
pub use ledger::{Earlier, Ledger, RecordAt, path_beside, replay};
pub use output::{check_outputs, replace_output};
pub use queue::Queue;
pub use workers::run;

pub use crate::error::BatchError;
