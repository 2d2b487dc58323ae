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

mod decide;
mod error;
mod explain;
mod finding;
mod javascript;
mod judging;
mod ledger;
mod lines;
mod made_wrong;
mod python;
mod report;
mod streams;
mod trial;
mod write;

#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub use whetstone_record::journal::Earlier;
use whetstone_sandbox::job::{Judging, Limits};

pub use self::decide::{Answer, Next, next};
pub use self::error::ProveError;
pub use self::finding::{Dropped, Finding, Reason};
use self::judging::Judged;
use self::ledger::{Header, Ledger};
use self::lines::Lines;
pub use self::report::{Counts, DroppedTask, Report, Warning};
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
pub fn prove(proving: &Proving<'_>) -> Result<Report, ProveError> {
    let start = Instant::now();
    check_names(proving)?;
    let (digest, count) = survey(proving.files)?;
    (proving.on_start)(proving.limit.map_or(count, |limit| count.min(limit)));
    let ledger = match proving.out.or(proving.dropped) {
        Some(output) => Ledger::open(output, &header(proving, &digest), proving.earlier)?,
        None => Ledger::none(),
    };
    let resumed = ledger.known();
    let Judged { table, ledger, programs } = judging::judge_all(proving, ledger)?;
    let mut report = Report { v: 1, programs, resumed, ..Report::default() };
    let second = Second { files: proving.files, digest: &digest, table: &table };
    second.count(&mut report)?;
    if let Some(output) = proving.dropped {
        second.dropped(output)?;
    }
    if let Some(output) = proving.out {
        second.proven(output)?;
    }
    // Failed programs are judged by the next run, which then needs the other answers.
    if report.total.failed == 0 {
        ledger.remove()?;
    }
    report.wall_seconds = start.elapsed().as_secs_f64();
    Ok(report)
}

/// The digest of all files, and how many lines are not blank.
fn survey(files: &[PathBuf]) -> Result<(String, u64), ProveError> {
    let mut lines = Lines::of(files);
    let mut count = 0;
    while let Some(line) = lines.next()? {
        count += u64::from(!line.is_blank());
    }
    Ok((lines.digest(), count))
}

fn header(proving: &Proving<'_>, digest: &str) -> Header {
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    Header {
        runs: proving.runs,
        cpu_us: micros(proving.limits.cpu),
        slow_us: micros(proving.slow),
        memory_bytes: proving.limits.memory,
        ..Header::new(digest.to_owned(), proving.identity.to_owned())
    }
}

/// An output must not take the place of an input, which is read again while it is written.
fn check_names(proving: &Proving<'_>) -> Result<(), ProveError> {
    let place = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut taken: Vec<PathBuf> = proving.files.iter().map(|file| place(file)).collect();
    for output in [proving.out, proving.dropped].into_iter().flatten() {
        let place = place(output);
        if taken.contains(&place) {
            return Err(ProveError::SameFile { path: output.to_owned() });
        }
        taken.push(place);
    }
    Ok(())
}
