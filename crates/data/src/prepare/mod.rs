//! Sources in, two files of tasks out: `train.jsonl` to learn from, `val.jsonl` to measure with.
//!
//! ```text
//! read ─► drop bad rows ─► drop what a benchmark knows ─► drop duplicates ─► limit ─► split ─► write
//! ```
//!
//! Each source is split separately, by the seed and the tasks' ids; tasks that were generated or
//! published in two parts keep theirs. Duplicates are dropped before the split, over all sources at
//! once, so no validation task has a duplicate in training.
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
    BadRow, By, Contaminated, Counts, Duplicate, Half, LeftOutFile, MbppCounts, PrepareSummary,
};
pub use self::split::Split;
pub(crate) use self::split::halves;
pub use self::write::{REPORT, TRAIN, VAL};
use crate::part::Partition;
use crate::solver::ModelFile;
use crate::source::{DataSet, InputFile, MbppVariant, TaskSource};

/// Words in a row that make a task known to a benchmark.
pub const DEFAULT_NGRAM: usize = 13;

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
    /// Maximal number of tasks per source.
    pub limit: Option<usize>,
    /// The folder for the three files.
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
    let halves = split_all(kept, preparing, &mut report);
    (preparing.on_step)("writing");
    write::write_all(preparing.out, &halves, &mut report)?;
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
    let half = |file| Half { file, tasks: 0, blake3: String::new() };
    PrepareSummary {
        v: 1,
        seed: preparing.seed.get(),
        split: preparing.split,
        val_fraction: preparing.val_fraction,
        limit: preparing.limit,
        ngram: (!benchmarks.is_empty()).then_some(preparing.ngram),
        inputs: std::mem::take(&mut gathered.inputs),
        benchmarks,
        sources: std::mem::take(&mut gathered.sources),
        mbpp: MbppCounts::default(),
        train: half(TRAIN),
        val: half(VAL),
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

/// The lines of the two halves, each in its seeded order.
fn split_all(
    kept: Vec<PreparedTask>,
    preparing: &Preparing<'_>,
    report: &mut PrepareSummary,
) -> [Vec<String>; 2] {
    let seed = preparing.seed;
    let mut sources: BTreeMap<String, Vec<PreparedTask>> = BTreeMap::new();
    for entry in kept {
        sources.entry(entry.source.clone()).or_default().push(entry);
    }
    let mut halves = [Vec::new(), Vec::new()];
    for (source, mut entries) in sources {
        let stage = format!("prepare/split/{source}");
        entries
            .sort_by_cached_key(|entry| (split::place(seed, &stage, &entry.id), entry.id.clone()));
        let counts = report.sources.entry(source).or_default();
        let limit = preparing.limit.unwrap_or(usize::MAX).min(entries.len());
        counts.over_limit += (entries.len() - limit) as u64;
        entries.truncate(limit);
        let free = entries.iter().filter(|entry| entry.part.is_none()).count();
        let mut parts = split::halves(free, preparing.val_fraction);
        for entry in entries {
            report.mbpp.add(entry.mbpp);
            match entry.part.or_else(|| parts.next()).unwrap_or(Partition::Train) {
                Partition::Train => {
                    counts.train += 1;
                    halves[0].push(entry);
                }
                Partition::Validation => {
                    counts.val += 1;
                    halves[1].push(entry);
                }
            }
        }
    }
    halves.map(|mut half| {
        half.sort_by_cached_key(|entry| {
            (split::place(seed, "prepare/order", &entry.id), entry.id.clone())
        });
        half.into_iter().map(|entry| entry.line).collect()
    })
}
