//! Sources in, three files of tasks out: `train.jsonl` to learn from, `dev.jsonl` to choose settings and
//! checkpoints by, `val.jsonl` for the final figure.
//!
//! ```text
//! read ─► drop bad rows ─► drop what a benchmark knows ─► drop duplicates ─► limit ─► split ─► write
//! ```
//!
//! Each source is split separately, by the seed and the tasks' ids; tasks that were generated or
//! published in parts keep theirs. Duplicates are dropped before the split, over all sources at
//! once, so no task has a duplicate in another part.
//!
//! Same inputs and seed, same bytes. The order of files on the command line, of rows in a file, and
//! of the disk change nothing; only of two rows with one id the first is taken. Everything that is
//! read is held in memory until it is written: about as much as the tasks are long.

mod benchmark;
mod duplicates;
mod error;
mod gather;
mod grams;
mod report;
mod similar;
mod split;
mod tokens;
mod write;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use whetstone_core::Seed;
use whetstone_core::task::Task;

use self::benchmark::Benchmark;
use self::duplicates::Fate;
pub use self::error::PrepareError;
use self::gather::{Benchmarks, Gathered, PreparedTask};
use self::report::NAMED;
pub use self::report::{
    BadRow, By, Contaminated, Counts, Duplicate, LeftOutFile, MbppCounts, PartFile, PrepareSummary,
};
use self::split::Fractions;
pub use self::split::Split;
pub(crate) use self::split::validation_count;
use self::write::PartLines;
pub use self::write::{DEV, REPORT, TRAIN, VAL};
use crate::part::Partition;
use crate::solver::ModelFile;
use crate::source::{DataSet, InputFile, MbppVariant, TaskSource};

/// Words in a row that make a task known to a benchmark.
pub const DEFAULT_NGRAM: usize = 13;

/// The part of the tasks which are not for validation that is for development.
pub const DEFAULT_DEV_FRACTION: f64 = 0.1;

/// The inputs and settings of a preparation.
pub struct Preparing<'a> {
    /// Data sets.
    pub origins: Vec<TaskSource>,
    /// Tasks that were made here, in halves.
    pub made: Vec<(Partition, Task)>,
    /// Models of files, to be split by the seed.
    pub models: Vec<ModelFile>,
    /// Benchmark files for decontamination.
    pub benchmarks: Vec<PathBuf>,
    /// Words in a row that make a task known to a benchmark.
    pub ngram: usize,
    /// The seed.
    pub seed: Seed,
    /// The statement and tests of a task that both publications of MBPP have.
    pub mbpp: MbppVariant,
    /// The origin of the split of data sets.
    pub split: Split,
    /// The part of each source that is for validation, between 0 and 1, where none is published.
    pub val_fraction: f64,
    /// The part of the other tasks of such a source that is for development. With 0 nothing is, and what a data set
    /// publishes for development is to learn from.
    pub dev_fraction: f64,
    /// Maximal number of tasks per source.
    pub limit: Option<usize>,
    /// The folder for the files.
    pub out: &'a Path,
    /// Called with a description of the next step.
    pub on_step: &'a dyn Fn(&str),
}

/// Prepares tasks.
pub fn prepare(preparing: &Preparing<'_>) -> Result<PrepareSummary, PrepareError> {
    let (made, models) = (&preparing.made, &preparing.models);
    if preparing.origins.is_empty() && made.is_empty() && models.is_empty() {
        return Err(PrepareError::NoSource);
    }
    let mut gathered = Gathered::new(preparing.mbpp);
    let (known, benchmarks) = read_benchmarks(preparing, &mut gathered)?;
    read_sources(preparing, &mut gathered, &known)?;
    write::check_names(preparing.out, gathered.inputs.iter().chain(&benchmarks))?;
    (preparing.on_step)("comparing");
    let mut report = begin(preparing, &mut gathered, benchmarks);
    let mut entries = gathered.entries;
    entries.sort_by(|a, b| {
        a.rank.cmp(&b.rank).then_with(|| split::natural(a.id.as_str(), b.id.as_str()))
    });
    let kept = drop_alike(entries, &known, &mut report);
    let lines = split_all(kept, preparing, &mut report);
    (preparing.on_step)("writing");
    write::write_all(preparing.out, &lines, &mut report)?;
    Ok(report)
}

fn read_benchmarks(
    preparing: &Preparing<'_>,
    gathered: &mut Gathered,
) -> Result<(Benchmarks, Vec<InputFile>), PrepareError> {
    let mut known = Benchmarks { tasks: Vec::new(), words: Benchmark::new(preparing.ngram) };
    let mut inputs = Vec::new();
    for path in sorted(&preparing.benchmarks) {
        (preparing.on_step)(&format!("reading {}", path.display()));
        inputs.extend(gathered.benchmark(path, &mut known)?);
    }
    Ok((known, inputs))
}

fn read_sources(
    preparing: &Preparing<'_>,
    gathered: &mut Gathered,
    known: &Benchmarks,
) -> Result<(), PrepareError> {
    let mut origins: Vec<_> = preparing.origins.iter().collect();
    origins.sort_by_key(|origin| (origin.kind.unwrap_or(DataSet::Tasks), &origin.path));
    for origin in origins {
        (preparing.on_step)(&format!("reading {}", origin.path.display()));
        gathered.source(origin, preparing.split, known)?;
    }
    for (part, task) in &preparing.made {
        gathered.made(*part, task, known);
    }
    for file in &preparing.models {
        gathered.model(file, known);
    }
    if gathered.entries.is_empty() {
        let rows = gathered.sources.values().map(|counts| counts.rows).sum();
        return Err(PrepareError::NoTasks { rows, first: gathered.first_dropped() });
    }
    Ok(())
}

fn sorted(paths: &[PathBuf]) -> Vec<&PathBuf> {
    let mut paths: Vec<_> = paths.iter().collect();
    paths.sort();
    paths
}

fn begin(
    preparing: &Preparing<'_>,
    gathered: &mut Gathered,
    benchmarks: Vec<InputFile>,
) -> PrepareSummary {
    let empty = |file| PartFile { file, tasks: 0, blake3: String::new() };
    PrepareSummary {
        v: 1,
        seed: preparing.seed.get(),
        split: preparing.split,
        val_fraction: preparing.val_fraction,
        dev_fraction: preparing.dev_fraction,
        limit: preparing.limit,
        ngram: (!benchmarks.is_empty()).then_some(preparing.ngram),
        inputs: std::mem::take(&mut gathered.inputs),
        benchmarks,
        sources: std::mem::take(&mut gathered.sources),
        mbpp: MbppCounts::default(),
        train: empty(TRAIN),
        dev: empty(DEV),
        val: empty(VAL),
        bad: std::mem::take(&mut gathered.bad),
        left_out: std::mem::take(&mut gathered.left_out),
        duplicates: Vec::new(),
        contaminated: Vec::new(),
    }
}

/// The entries that are like no other and unknown to the benchmarks, in their order.
fn drop_alike(
    entries: Vec<PreparedTask>,
    known: &Benchmarks,
    report: &mut PrepareSummary,
) -> Vec<PreparedTask> {
    let fates = duplicates::fates(&entries, known);
    let mut kept = Vec::new();
    for (entry, fate) in entries.into_iter().zip(fates) {
        let counts = report.sources.entry(entry.source.clone()).or_default();
        match fate {
            Fate::Kept => kept.push(entry),
            Fate::Duplicate(duplicate) => {
                counts.duplicates += 1;
                report.duplicates.push(duplicate);
                report.duplicates.truncate(NAMED);
            }
            Fate::Contaminated(contaminated) => {
                counts.contaminated += 1;
                report.contaminated.push(contaminated);
                report.contaminated.truncate(NAMED);
            }
        }
    }
    kept
}

/// The lines of the parts, each in its seeded order.
fn split_all(
    kept: Vec<PreparedTask>,
    preparing: &Preparing<'_>,
    report: &mut PrepareSummary,
) -> PartLines {
    let seed = preparing.seed;
    let mut sources: BTreeMap<String, Vec<PreparedTask>> = BTreeMap::new();
    for entry in kept {
        sources.entry(entry.source.clone()).or_default().push(entry);
    }
    let fractions = Fractions { val: preparing.val_fraction, dev: preparing.dev_fraction };
    let has_dev = preparing.dev_fraction > 0.0;
    let [mut train, mut dev, mut val] = [Vec::new(), Vec::new(), Vec::new()];
    for (source, mut entries) in sources {
        let stage = format!("prepare/split/{source}");
        entries
            .sort_by_cached_key(|entry| (split::place(seed, &stage, &entry.id), entry.id.clone()));
        let counts = report.sources.entry(source).or_default();
        let limit = preparing.limit.unwrap_or(usize::MAX).min(entries.len());
        counts.over_limit += (entries.len() - limit) as u64;
        entries.truncate(limit);
        let free = entries.iter().filter(|entry| entry.part.is_none()).count();
        let mut parts = split::parts(free, fractions);
        for entry in entries {
            report.mbpp.add(entry.mbpp);
            match entry.part.or_else(|| parts.next()).unwrap_or(Partition::Train) {
                Partition::Development if has_dev => {
                    counts.dev += 1;
                    dev.push(entry);
                }
                Partition::Train | Partition::Development => {
                    counts.train += 1;
                    train.push(entry);
                }
                Partition::Validation => {
                    counts.val += 1;
                    val.push(entry);
                }
            }
        }
    }
    let in_order = |mut part: Vec<PreparedTask>| -> Vec<String> {
        part.sort_by_cached_key(|entry| {
            (split::place(seed, "prepare/order", &entry.id), entry.id.clone())
        });
        part.into_iter().map(|entry| entry.line).collect()
    };
    PartLines { train: in_order(train), dev: in_order(dev), val: in_order(val) }
}
