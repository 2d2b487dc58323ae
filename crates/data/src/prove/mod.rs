//! Validating tasks: only a proven task gives a meaningful reward.
//!
//! A task is *proven* when its reference passes its own tests, each time it is run, well within the
//! time there is, and no answer that solves nothing does: a reward must be possible, and must have
//! to be earned. Everything else is *dropped*, with a reason.
//!
//! ```text
//! pass 1   tasks ─► trials ─► judge ─► journal      all cores, in any order
//! pass 2   tasks + findings ─► proven, dropped      one core, in order
//! ```
//!
//! The choice of programs ([`trials`]) and the conclusion from the judge's answers ([`next`]) are
//! pure functions; the journal keeps every answer, so a killed run judges no program again and
//! writes the same bytes.
//!
//! An infrastructure failure is not a reason to drop a task: the task is neither proven nor
//! dropped, is counted separately, and the journal is kept for the next run.

mod answers;
mod decide;
mod explain;
mod finding;
mod held;
mod javascript;
mod judging;
mod made_wrong;
mod python;
mod report;
mod streams;
mod trial;
mod trivial;
mod write;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub use whetstone_record::batch::{BatchError as ProveError, Earlier};
use whetstone_record::batch::{Input, InputDigest, check_outputs};
use whetstone_sandbox::job::{Judging, Limits};

use self::answers::Answers;
pub use self::decide::{Answer, Next, next};
pub use self::finding::{Dropped, Finding, Reason};
use self::judging::Judged;
pub use self::report::{Counts, DroppedTask, ProofSummary, Warning};
pub use self::trial::{Role, Trial, trials};
use self::write::Second;

/// Files of tasks to prove, and how.
pub struct Proving<'a> {
    /// The tasks, one JSON object a line.
    pub files: &'a [PathBuf],
    /// The output for proven tasks, unchanged.
    pub out: Option<&'a Path>,
    /// The output for the others, each with its reason.
    pub dropped: Option<&'a Path>,
    /// Judges that differ in their hash seed: the runs of a reference go through them in turn. At
    /// least one.
    pub judges: &'a [&'a dyn Judging],
    /// A description of everything that verdicts depend on.
    pub identity: &'a str,
    /// The resource limits of a program.
    pub limits: Limits,
    /// CPU time above which a reference is too slow; of each test where a test is a run of its own.
    pub slow: Duration,
    /// Runs of a reference.
    pub runs: u32,
    /// Maximal number of tasks.
    pub limit: Option<u64>,
    /// Threads that wait for the judge. Two to four a core keep it busy.
    pub workers: usize,
    /// What to do with the journal of an interrupted run.
    pub earlier: Earlier,
    /// Called as soon as the number of tasks is known, with it.
    pub on_start: &'a (dyn Fn(u64) + Sync),
    /// Called after each task.
    pub on_task: &'a (dyn Fn() + Sync),
}

/// Proves tasks.
///
/// Without outputs there is no journal either: a killed run then starts over.
pub fn prove(proving: &Proving<'_>) -> Result<ProofSummary, ProveError> {
    let start = Instant::now();
    let outputs = [proving.out, proving.dropped].into_iter().flatten();
    check_outputs(proving.files.iter().map(PathBuf::as_path), outputs)?;
    let input = proving.input();
    let digest = input.digest()?;
    let count = digest.lines - digest.blank;
    (proving.on_start)(proving.limit.map_or(count, |limit| count.min(limit)));
    let answers = match proving.out.or(proving.dropped) {
        Some(output) => Answers::open(output, proving, &of_all(&digest))?,
        None => Answers::default(),
    };
    let resumed = answers.known();
    let Judged { table, answers, programs } = judging::judge_all(proving, answers)?;
    let mut report = ProofSummary { v: 1, programs, resumed, ..ProofSummary::default() };
    let second = Second { input, digest: &digest, table: &table };
    second.count(&mut report)?;
    if let Some(output) = proving.dropped {
        second.dropped(output)?;
    }
    if let Some(output) = proving.out {
        second.proven(output)?;
    }
    // Failed programs are judged by the next run, which then needs the other answers.
    if report.total.failed == 0 {
        answers.remove()?;
    }
    report.wall_seconds = start.elapsed().as_secs_f64();
    Ok(report)
}

impl Proving<'_> {
    fn input(&self) -> Input<'_> {
        Input { noun: "tasks", files: self.files }
    }
}

/// One digest of the digests of all files.
fn of_all(digest: &InputDigest) -> String {
    let mut hasher = blake3::Hasher::new();
    for file in &digest.files {
        hasher.update(file);
    }
    hasher.finalize().to_hex().to_string()
}
