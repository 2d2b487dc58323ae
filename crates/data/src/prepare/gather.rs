//! Reading every source: tasks with their n-grams, and the findings.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use whetstone_core::task::{Task, TaskId};
use whetstone_core::wire::Wire;

use super::benchmark::Benchmark;
use super::error::PrepareError;
use super::grams::Compared;
use super::report::{BadRow, Counts, LeftOutFile, NAMED};
use super::split::Split;
use crate::part::Partition;
use crate::solver::models::SOURCE as MODELS;
use crate::solver::{ModelFile, ModelOutcome};
use crate::source::{self, DataSet, InputFile, MbppVariant, SourceRow, TaskSource, What};

/// A task, as far as preparing needs it. The task itself is its line.
#[derive(Debug)]
pub(super) struct PreparedTask {
    pub(super) id: TaskId,
    pub(super) source: String,
    pub(super) rank: Rank,
    /// The publication of a task of MBPP.
    pub(super) mbpp: Option<MbppVariant>,
    /// The part it belongs to, where its maker said so.
    pub(super) part: Option<Partition>,
    pub(super) line: String,
    pub(super) compared: Compared,
    /// The benchmark's task with which it shares words, and the words.
    pub(super) recognised: Option<(usize, String)>,
}

/// The priority among duplicates: the first rank here is kept, then the first id. Data sets come
/// before tasks generated here, and of these validation comes first, which is the smaller part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    DataSet(DataSet),
    Made(ValidationTasks),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ValidationTasks {
    Yes,
    No,
}

/// A task of a benchmark.
#[derive(Debug)]
pub(super) struct BenchmarkTask {
    pub(super) id: String,
    pub(super) compared: Compared,
}

/// The benchmarks to decontaminate against.
#[derive(Debug)]
pub(super) struct Benchmarks {
    pub(super) tasks: Vec<BenchmarkTask>,
    pub(super) words: Benchmark,
}

/// Everything that was read.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub(super) entries: Vec<PreparedTask>,
    pub(super) inputs: Vec<InputFile>,
    pub(super) bad: Vec<BadRow>,
    pub(super) left_out: Vec<LeftOutFile>,
    pub(super) sources: BTreeMap<String, Counts>,
    /// The publication of MBPP whose statement and tests a task gets if both have it.
    preferred: MbppVariant,
    places: HashMap<TaskId, FirstPlace>,
}

/// The first task with an id.
#[derive(Debug)]
struct FirstPlace {
    /// Its index in the entries.
    entry: usize,
    file: PathBuf,
    row: u64,
}

impl Gathered {
    /// Nothing yet.
    pub(super) fn new(preferred: MbppVariant) -> Self {
        Self { preferred, ..Self::default() }
    }

    /// Reads a benchmark. Its bad rows are findings too: a row that is not read decontaminates
    /// nothing.
    pub(super) fn benchmark(
        &mut self,
        path: &Path,
        known: &mut Benchmarks,
    ) -> Result<Vec<InputFile>, PrepareError> {
        let origin = TaskSource::new(None, path);
        let (before, bad_before) = (known.tasks.len(), self.bad.len());
        let inputs = source::read(&origin, &mut |found| match found.what {
            What::Task(task, _) => {
                known.words.add(&task.statement, known.tasks.len());
                known
                    .tasks
                    .push(BenchmarkTask { id: task.id.to_string(), compared: Compared::of(&task) });
            }
            What::Bad(reason) => {
                let counts = self.sources.entry("benchmarks".to_owned()).or_default();
                counts.rows += 1;
                counts.bad += 1;
                self.name(found.file, found.row, reason);
            }
            What::LeftOut => {}
        })?;
        if known.tasks.len() == before {
            let first = self.bad.get(bad_before).cloned();
            return Err(PrepareError::NoBenchmark { path: path.to_owned(), first });
        }
        Ok(inputs)
    }

    /// Reads a source.
    pub(super) fn source(
        &mut self,
        origin: &TaskSource,
        split: Split,
        known: &Benchmarks,
    ) -> Result<(), PrepareError> {
        let inputs = source::read(origin, &mut |found| self.take(found, split, known))?;
        self.inputs.extend(inputs);
        Ok(())
    }

    /// Takes a task that was made here and knows its part.
    pub(super) fn made(&mut self, part: Partition, task: &Task, known: &Benchmarks) {
        let rank = Rank::Made(if part == Partition::Validation {
            ValidationTasks::Yes
        } else {
            ValidationTasks::No
        });
        let source = task.source.clone().unwrap_or_else(|| "embedded".to_owned());
        self.count(&source).rows += 1;
        let row = self.count(&source).rows;
        let entry =
            PreparedTask { part: Some(part), ..known.entry(task, task.to_line(), source, rank) };
        self.add(entry, Path::new("embedded"), row);
    }

    /// Takes the model of a file.
    pub(super) fn model(&mut self, file: &ModelFile, known: &Benchmarks) {
        let path = &file.input.path;
        self.inputs.push(file.input.clone());
        self.count(MODELS).rows += 1;
        match &file.outcome {
            ModelOutcome::Task(task) => {
                let rank = Rank::Made(ValidationTasks::No);
                let entry = known.entry(task, task.to_line(), MODELS.to_owned(), rank);
                self.add(entry, path, 0);
            }
            ModelOutcome::Bad { line, reason } => {
                self.count(MODELS).bad += 1;
                self.name(path, *line, reason.clone());
            }
            ModelOutcome::LeftOut { kind, reason } => {
                self.count(MODELS).left_out += 1;
                if self.left_out.len() < NAMED {
                    let (file, reason) = (path.clone(), reason.clone());
                    self.left_out.push(LeftOutFile { file, kind: *kind, reason });
                }
            }
        }
    }

    /// The first row or file that is not a task.
    pub(super) fn first_dropped(&self) -> Option<BadRow> {
        let left_out = || {
            let LeftOutFile { file, reason, .. } = self.left_out.first()?;
            Some(BadRow::new(file, 0, reason.clone()))
        };
        self.bad.first().cloned().or_else(left_out)
    }

    fn take(&mut self, found: SourceRow<'_>, split: Split, known: &Benchmarks) {
        let kind = found.kind.map_or("unknown", DataSet::name);
        match found.what {
            What::Task(task, line) => {
                let source = task.source.clone().unwrap_or_else(|| kind.to_owned());
                self.count(&source).rows += 1;
                let rank = Rank::DataSet(found.kind.unwrap_or(DataSet::Tasks));
                let part = split.part(found.kind, &task.id);
                let mbpp = found.mbpp;
                let entry = PreparedTask { mbpp, part, ..known.entry(&task, line, source, rank) };
                self.add(entry, found.file, found.row);
            }
            What::Bad(reason) => {
                self.count(kind).rows += 1;
                self.count(kind).bad += 1;
                self.name(found.file, found.row, reason);
            }
            What::LeftOut => {
                self.count(kind).rows += 1;
                self.count(kind).left_out += 1;
            }
        }
    }

    fn add(&mut self, entry: PreparedTask, file: &Path, row: u64) {
        let Some(first) = self.places.get(&entry.id) else {
            let place = FirstPlace { entry: self.entries.len(), file: file.to_owned(), row };
            self.places.insert(entry.id.clone(), place);
            self.entries.push(entry);
            return;
        };
        let at = first.entry;
        if is_other_variant(&self.entries[at], &entry) {
            self.count(&entry.source).left_out += 1;
            if entry.mbpp == Some(self.preferred) {
                self.entries[at] = entry;
            }
            return;
        }
        let (id, place) = (&entry.id, first.file.display());
        let reason = format!("task id `{id}` stands already in {place}:{}", first.row);
        self.count(&entry.source).bad += 1;
        self.name(file, row, reason);
    }

    fn count(&mut self, source: &str) -> &mut Counts {
        self.sources.entry(source.to_owned()).or_default()
    }

    fn name(&mut self, file: &Path, row: u64, reason: String) {
        if self.bad.len() < NAMED {
            self.bad.push(BadRow::new(file, row, reason));
        }
    }
}

/// Whether two tasks of one id are MBPP's first and its sanitized task.
fn is_other_variant(one: &PreparedTask, other: &PreparedTask) -> bool {
    one.mbpp.is_some() && other.mbpp.is_some() && one.mbpp != other.mbpp
}

impl Benchmarks {
    fn entry(&self, task: &Task, line: String, source: String, rank: Rank) -> PreparedTask {
        PreparedTask {
            id: task.id.clone(),
            source,
            rank,
            mbpp: None,
            part: None,
            line,
            compared: Compared::of(task),
            recognised: self.words.find(&task.statement),
        }
    }
}
