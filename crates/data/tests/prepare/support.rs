//! Making sources, preparing them, and looking at what came of it.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;
use whetstone_core::Seed;
use whetstone_core::jsonl::read_tasks;
use whetstone_core::task::Task;
use whetstone_data::Partition;
use whetstone_data::prepare::{PrepareError, PrepareSummary, Preparing, Split, prepare};
use whetstone_data::source::{DataSet, MbppVariant, TaskSource};

/// A folder with sources, and what to prepare of them.
pub(crate) struct Bench {
    pub(crate) dir: TempDir,
    pub(crate) origins: Vec<TaskSource>,
    pub(crate) made: Vec<(Partition, Task)>,
    pub(crate) benchmarks: Vec<PathBuf>,
    pub(crate) seed: u64,
    pub(crate) limit: Option<usize>,
    pub(crate) mbpp: MbppVariant,
    pub(crate) split: Split,
    pub(crate) dev_fraction: f64,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self {
            dir: tempfile::tempdir().expect("a folder"),
            origins: Vec::new(),
            made: Vec::new(),
            benchmarks: Vec::new(),
            seed: 42,
            limit: None,
            mbpp: MbppVariant::default(),
            split: Split::Seed,
            dev_fraction: 0.0,
        }
    }

    /// Writes a file into the folder.
    pub(crate) fn file(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.dir.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, contents).expect("a file");
        path
    }

    /// Adds a source.
    pub(crate) fn source(mut self, kind: Option<DataSet>, path: &Path) -> Self {
        self.origins.push(TaskSource::new(kind, path));
        self
    }

    pub(crate) fn prepare(&self) -> Result<PrepareSummary, PrepareError> {
        self.prepare_into("out")
    }

    pub(crate) fn prepare_into(&self, out: &str) -> Result<PrepareSummary, PrepareError> {
        prepare(&Preparing {
            origins: self.origins.clone(),
            made: self.made.clone(),
            models: Vec::new(),
            benchmarks: self.benchmarks.clone(),
            ngram: 13,
            seed: Seed::new(self.seed),
            split: self.split,
            val_fraction: 0.2,
            dev_fraction: self.dev_fraction,
            limit: self.limit,
            mbpp: self.mbpp,
            out: &self.dir.path().join(out),
            on_step: &|_| {},
        })
    }

    /// The bytes of an output.
    pub(crate) fn output(&self, name: &str) -> Vec<u8> {
        fs::read(self.dir.path().join(name)).expect("an output")
    }

    /// The ids of an output's tasks, in their order. Every line must read back as a task.
    pub(crate) fn ids(&self, name: &str) -> Vec<String> {
        let tasks = read_tasks(&self.dir.path().join("out").join(name)).expect("tasks");
        tasks.iter().map(|task| task.id.to_string()).collect()
    }

    /// The lines that were prepared of one source alone, sorted.
    pub(crate) fn lines_of(kind: Option<DataSet>, path: &Path) -> (Vec<String>, PrepareSummary) {
        let bench = Self::new().source(kind, path);
        let report = bench.prepare().expect("a source");
        let mut lines = bench.written();
        lines.sort();
        (lines, report)
    }

    /// The lines of all parts.
    pub(crate) fn written(&self) -> Vec<String> {
        let parts = ["out/train.jsonl", "out/dev.jsonl", "out/val.jsonl"];
        let text = parts.map(|name| self.output(name)).concat();
        let text = String::from_utf8(text).expect("text");
        text.lines().map(str::to_owned).collect()
    }
}

/// Words that make statements unlike each other.
fn unlike(number: usize) -> String {
    (0..12).map(|at| format!("w{number}x{at}")).collect::<Vec<_>>().join(" ")
}

/// A row of MBPP, unlike the others.
pub(crate) fn mbpp_row(number: usize) -> Value {
    json!({"task_id": number, "text": unlike(number), "code": unlike(number),
        "test_setup_code": "", "test_list": [format!("assert f({number})"), "assert f(0)"],
        "challenge_test_list": []})
}

/// A row of APPS, unlike the others.
pub(crate) fn apps_row(number: usize) -> Value {
    json!({"problem_id": number, "question": unlike(number + 100_000), "solutions": "",
        "input_output": "{\"inputs\": [\"1\"], \"outputs\": [\"2\"]}", "difficulty": "interview",
        "url": "", "starter_code": ""})
}

/// A task, unlike the others.
pub(crate) fn task_row(id: &str, number: usize) -> Value {
    json!({"id": id, "statement": unlike(number + 200_000), "reference": unlike(number + 300_000),
        "tests": {"kind": "asserts", "hidden": ["assert f()"]}})
}

/// Rows as lines.
pub(crate) fn lines<'a>(rows: impl IntoIterator<Item = &'a Value>) -> String {
    let rows: Vec<_> = rows.into_iter().map(|row| row.to_string() + "\n").collect();
    rows.concat()
}

/// A data file of the project, where it is there.
#[expect(clippy::print_stderr, reason = "says what was skipped, and why")]
pub(crate) fn shared(path: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(path);
    if !path.exists() {
        eprintln!("SKIPPED: there is no {}", path.display());
        return None;
    }
    Some(path)
}
