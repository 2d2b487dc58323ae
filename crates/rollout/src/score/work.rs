//! Lines on their way through the threads that score them.

use whetstone_core::extract::Reply;
use whetstone_env::python::Reading;

use super::lines::Took;
use super::table::Entry;

/// A piece of work.
#[derive(Debug)]
pub(super) enum Work {
    /// A line as it was read.
    Raw(Raw),
    /// A line that waited in vain for a neighbour.
    Alone(Waiting),
}

/// A line as it was read.
#[derive(Debug)]
pub(super) struct Raw {
    pub(super) at: u64,
    pub(super) took: Took,
    pub(super) bytes: Vec<u8>,
    /// An earlier run knows its result.
    pub(super) done: bool,
}

/// A line with a reply that is not read yet.
#[derive(Clone, Copy)]
pub(super) struct ReplyLine<'r> {
    pub(super) at: u64,
    pub(super) entry: Entry,
    pub(super) reply: Reply<'r>,
}

/// A line with a program to run.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) at: u64,
    pub(super) entry: Entry,
    pub(super) reading: Reading,
}
