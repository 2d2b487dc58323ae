//! Preference pairs: from judged replies, and from files of pairs that others made.
//!
//! ```text
//! rollouts ─► replies ─► groups by task and prompt ─► pairs ─┐
//! traces   ─► replies ─► groups by task and prompt ─► pairs ─┼─► split by task ─► pairs.jsonl
//! files of pairs (the hub's forms, or ours) ─────────► pairs ─┘
//! ```
//!
//! Within a group, a reply that solved the task is preferred to one that did not, and of two with the same
//! result the one with the higher reward, if the rewards differ by enough ([`choose`]). Left out are pairs of
//! programs that are the same or nearly so once names, comments and layout are normalised, pairs in which one
//! text is the other with something added, and what a task has beyond its limit. Everything left out is counted
//! by its reason; rows that are no pairs are named by file and line.
//!
//! Files may be larger than memory. Of a reply, its place and its reward are kept (about 60 bytes), of a pair
//! about 60 more; texts are read again for one group at a time, at most [`MAX_REPLIES`] of
//! [`MAX_REPLY_BYTES`] each, and once more when pairs are written.
//!
//! The choice depends on the seed and the texts, not on the order of lines. Not here: judging, and training.

mod bad_line;
mod choose;
mod error;
mod given;
mod groups;
mod place;
mod replies;
mod rows;
mod summary;
mod write;

use std::path::{Path, PathBuf};
use std::time::Instant;

use whetstone_core::prompt::PromptTemplate;
use whetstone_core::{Seed, Task};
use whetstone_env::stack::on_big_stack;
use whetstone_record::batch::check_outputs;

pub use self::bad_line::BadPairLine;
pub use self::choose::{MAX_REPLIES, PairRule};
pub use self::error::PairError;
pub use self::given::{FormProblem, GivenPair, read_row};
use self::groups::ReplyGroups;
pub use self::replies::MAX_REPLY_BYTES;
use self::rows::GivenRows;
pub use self::summary::{LengthCounts, PairSummary};

/// A file of pairs, and the name that their origin has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenFile {
    /// Pairs have the origin `hub:NAME`, unless they name their own.
    pub name: String,
    /// The file: jsonl, json or parquet, each also with .gz.
    pub path: PathBuf,
}

/// Pairs to make, and how.
pub struct Pairing<'a> {
    /// Files of scored rollouts.
    pub rollouts: &'a [PathBuf],
    /// Files of judged traces.
    pub traces: &'a [PathBuf],
    /// Files of pairs.
    pub given: &'a [GivenFile],
    /// The tasks that rollouts answer: their prompts.
    pub tasks: &'a [Task],
    /// The prompt around a problem.
    pub prompt: &'a PromptTemplate,
    /// The seed of the choice and of the split.
    pub seed: Seed,
    /// By how much rewards differ at least where both replies, or neither, solved the task.
    pub min_gap: f64,
    /// How far apart two programs are at least.
    pub min_distance: f64,
    /// Pairs of one task at most, of each kind of source.
    pub per_task: usize,
    /// Where pairs go.
    pub out: &'a Path,
    /// Where the pairs of held-out tasks go, and which part of the tasks that is.
    pub held_out: Option<HeldOut<'a>>,
    /// Refuses everything if a row or line is bad.
    pub strict: bool,
    /// Told how far it is: a phase, done and all, which is 0 if it is not known.
    pub on_progress: &'a (dyn Fn(&'static str, u64, u64) + Sync),
}

/// Pairs that are kept apart.
#[derive(Debug, Clone, Copy)]
pub struct HeldOut<'a> {
    /// Their file.
    pub out: &'a Path,
    /// The part of the tasks, between 0 and 1.
    pub fraction: f64,
}

/// Makes pairs and writes them.
///
/// # Errors
///
/// If a file cannot be read or written, a line is bad and `strict` is set, or there is no pair.
pub fn pair(pairing: &Pairing<'_>) -> Result<PairSummary, PairError> {
    let start = Instant::now();
    check_files(pairing)?;
    let mut summary = PairSummary::default();
    let mut groups = ReplyGroups::read(pairing, &mut summary)?;
    let rows = GivenRows::read(pairing, &mut summary)?;
    summary.check(pairing.strict)?;
    on_big_stack(|stack| groups.choose(pairing, &mut summary, stack))
        .map_err(PairError::Threads)??;
    write::write(pairing, &groups, &rows, &mut summary)?;
    summary.wall_seconds = start.elapsed().as_secs_f64();
    Ok(summary)
}

fn check_files(pairing: &Pairing<'_>) -> Result<(), PairError> {
    let given = pairing.given.iter().map(|file| file.path.as_path());
    let files = pairing.rollouts.iter().chain(pairing.traces).map(PathBuf::as_path).chain(given);
    let outputs = [Some(pairing.out), pairing.held_out.map(|part| part.out)];
    check_outputs(files, outputs.into_iter().flatten())?;
    let named = !(pairing.rollouts.is_empty() && pairing.traces.is_empty());
    if named || !pairing.given.is_empty() { Ok(()) } else { Err(PairError::NoInput) }
}

#[cfg(test)]
mod tests;
