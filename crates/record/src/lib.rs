//! What a run leaves on the disk, and how it survives a crash.
//!
//! A run is trained for days and killed without warning. This crate owns its directory: nothing
//! else writes into it, and everything written here is either whole or gone. The promises, each
//! with the test that holds it:
//!
//! | promise | held by |
//! |---|---|
//! | A record acknowledged by [`journal::Journal::append`] survives `kill -9`: 200 kills at random moments lose none and leave none half. | `tests/kill.rs` |
//! | A journal cut at any byte, or with any byte of its last line flipped, opens with every record before it. | `tests/torn.rs` |
//! | A full disk leaves no half line: the journal ends with its last good record and can go on. | `tests/full_disk.rs` |
//! | A power cut takes only what no sync has reached, and one begins as soon as 64 records or 200 ms have gathered. | `journal/syncer.rs` |
//! | A reader sees every record in order or an error with file and line, and holds at most 64 MiB of a line. | `tests/bad_input.rs` |
//! | Every number comes back bit by bit, NaN and infinities in metrics included. | `journal/tests.rs`, `event/tests.rs` |
//! | A file replaced by [`atomic::replace`] holds the old text or the new one, wherever a kill falls. | `atomic.rs` |
//! | A checkpoint is there as a whole or not at all, and one is removed only when a newer one is there. | `outputs.rs` |
//! | Who reads on from a place sees what a reader from the beginning sees, or is told that the file is another. | `tests/follow.rs` |
//! | Two processes never write one run or one journal; a killed one holds no lock. | `tests/lock.rs` |
//! | Who opens a journal while its writer removes it gets the new one, not one without a name. | `journal/tests.rs` |
//! | A run half-created by a kill can be created again; a directory with anything in it is left alone. | `run_dir/tests.rs` |
//! | A page of a run holds hostile text only packed, and has bounds whatever the run has. | `report/tests.rs`, `report/survey.rs` |
//! | A page with what came later is what a new page would be, however it was cut. | `report/live/tests.rs` |
//! | What stands in a run in place of a file is neither waited for, nor followed, nor read without end. | `plain_file.rs`, `run_dir/tests.rs` |
//! | What a newer program wrote is an error that says so, never a guess. | `event/tests.rs`, `cursor.rs` |
//!
//! The modules, from the disk upwards: [`atomic`] replaces files, [`plain_file`]
//! opens them without waiting, [`journal`] appends to them,
//! [`event`] and [`cursor`] say what is in them, [`outputs`] are whole directories, [`run_dir`] puts
//! them together, [`overview`] says how a run stands, [`report`] shows it as one page, and [`scalars`]
//! hands its measurements to other programs.
//!
//! # Not here
//!
//! - What a rollout, a checkpoint or a config means. Those are payloads and files to this crate.
//! - Several writers, compression, rotation: a run that needs a second journal opens a second file.
//! - Network file systems. The promises rest on `O_APPEND`, `flock`, `fsync` and `rename` as a
//!   local Linux file system keeps them.
//! - Printing. Errors carry a `hint()`; the command line shows it.

#![forbid(unsafe_code)]

pub mod atomic;
pub mod cursor;
pub mod error;
pub mod event;
pub mod journal;
pub mod outputs;
pub mod overview;
pub mod plain_file;
pub mod report;
pub mod run_dir;
pub mod scalars;
mod tensorboard;
