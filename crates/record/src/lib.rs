//! The files of a run, and how they survive a crash.
//!
//! A run trains for days and is killed without warning. This crate owns its directory: nothing else
//! writes into it, and everything written here is either complete or absent. The promises, each
//! with its test:
//!
//! | promise | held by |
//! |---|---|
//! | A record acknowledged by [`journal::Journal::append`] survives `kill -9`: 200 kills at random moments lose none and leave none half. | `tests/kill.rs` |
//! | A journal cut at any byte, or with any byte of its last line flipped, opens with every record before it. | `tests/torn.rs` |
//! | A full disk leaves no half line: the journal ends with its last good record and can be appended to again. | `tests/full_disk.rs` |
//! | A power cut loses only records that were not synced yet; a sync starts after 64 records or 200 ms. | `journal/syncer.rs` |
//! | A reader sees every record in order or an error with file and line, and holds at most 64 MiB of a line. | `tests/bad_input.rs` |
//! | Every number comes back bit by bit, NaN and infinities in metrics included. | `journal/tests.rs`, `event/tests.rs` |
//! | A file replaced by [`atomic::replace`] holds the old text or the new one, whenever a kill happens. | `atomic.rs` |
//! | A checkpoint is complete or absent, and one is removed only after a newer one is complete. | `outputs.rs` |
//! | An event file of TensorBoard cut at any byte is completed, with every step once. | `event_file.rs` |
//! | Reading on from a position gives the same records as reading from the beginning, or an error if the file was replaced. | `tests/follow.rs` |
//! | Two processes never write one run or one journal; a killed process holds no lock. | `tests/lock.rs` |
//! | Opening a journal while its writer removes it creates a new one, not an unlinked one. | `journal/tests.rs` |
//! | A run half-created by a kill can be created again; a directory with anything in it is left alone. | `run_dir/tests.rs` |
//! | A page of a run holds hostile text only in encoded form, and has bounds whatever the run contains. | `report/tests.rs`, `report/survey.rs` |
//! | A page that was updated is the same as a new one, at any split of the updates. | `report/live/tests.rs` |
//! | Pipes, devices and links in place of a run's files are neither waited for, nor followed, nor read without end. | `plain_file.rs`, `run_dir/tests.rs` |
//! | A file of a newer program is an error that says so, never a guess. | `event/tests.rs`, `cursor.rs` |
//!
//! The modules, from the disk upwards: [`atomic`] replaces files, [`plain_file`] opens them without
//! blocking, [`journal`] appends to them, [`event`] and [`cursor`] define their contents,
//! [`batch`] is resumable work on many items, [`outputs`] are directories that are complete or absent, [`run_dir`] combines them, [`stages`]
//! records the stages of a run over several of them, [`overview`]
//! and [`summary`] summarise a run, [`report`] shows it as one page, and [`scalars`] exports its metrics to other
//! programs, [`event_file`] to TensorBoard while it goes on.
//!
//! # Not here
//!
//! - The meaning of a rollout, a checkpoint or a config. Those are payloads and files to this
//!   crate.
//! - Several writers, compression, rotation: a run that needs a second journal opens a second file.
//! - Network file systems. The promises rely on `O_APPEND`, `flock`, `fsync` and `rename` as a
//!   local Linux file system implements them.
//! - Printing. Errors carry a `hint()`; the command line shows it.

#![forbid(unsafe_code)]

pub mod atomic;
pub mod batch;
pub mod cursor;
pub mod error;
pub mod event;
pub mod event_file;
pub mod journal;
pub mod outputs;
pub mod overview;
pub mod plain_file;
pub mod program;
pub mod report;
pub mod run_dir;
pub mod scalars;
pub mod stages;
pub mod summary;
mod tensorboard;
