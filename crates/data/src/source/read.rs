//! Reading one source: its files in order, each row a task, a finding, or left out.

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde::Serialize;
use whetstone_core::jsonl::MAX_LINE_BYTES;
use whetstone_core::task::Task;
use whetstone_core::wire::{Object, Wire};

use super::apps::{AppsFilter, Difficulty};
use super::error::SourceError;
use super::row::{Mapped, brief};
use super::table::{self, Encoding, TableError};
use super::{
    DataSet, MbppTests, MbppVariant, apps, apps_folder, evalplus, files, humaneval, leetcode,
    livecodebench, mbpp, plain,
};

/// The source of tasks, and a filter.
#[derive(Debug, Clone)]
pub struct TaskSource {
    /// The data set; `None` to tell by the columns.
    pub kind: Option<DataSet>,
    /// A file, or a folder of files.
    pub path: PathBuf,
    /// Difficulties of APPS that are wanted; none means all.
    pub difficulties: Vec<Difficulty>,
    /// Tests of MBPP that are shown and judged by.
    pub mbpp: MbppTests,
}

impl TaskSource {
    /// All tasks of a file or folder.
    pub fn new(kind: Option<DataSet>, path: &Path) -> Self {
        let path = path.to_owned();
        Self { kind, path, difficulties: Vec::new(), mbpp: MbppTests::default() }
    }
}

/// A row and its position.
#[derive(Debug)]
pub struct SourceRow<'a> {
    /// The file, or the folder of a problem.
    pub file: &'a Path,
    /// The row, counted from 1; 0 for the file as a whole.
    pub row: u64,
    /// The data set, where it is known.
    pub kind: Option<DataSet>,
    /// The publication of a row of MBPP.
    pub mbpp: Option<MbppVariant>,
    /// The result of the row.
    pub what: What,
}

/// The result of a row.
#[derive(Debug)]
pub enum What {
    /// A task, and the line that reads back as it.
    Task(Box<Task>, String),
    /// No task, and why.
    Bad(String),
    /// A task that was not asked for.
    LeftOut,
}

/// A file or folder that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InputFile {
    /// The path as it was given or found.
    pub path: PathBuf,
    /// BLAKE3 of its bytes; for the folders of APPS, of their files' names, lengths and bytes.
    pub blake3: String,
    /// Whether it was passed over, since it repeats others.
    pub passed_over: bool,
}

/// Reads a source from its first row to its last. Returns the files that were read.
pub fn read(
    origin: &TaskSource,
    each: &mut dyn FnMut(SourceRow<'_>),
) -> Result<Vec<InputFile>, SourceError> {
    let found = files::files(&origin.path)?;
    let mut inputs = Vec::new();
    for (path, encoding) in &found.tables {
        read_table(origin, path, *encoding, each)?;
        let blake3 = digest(path).map_err(SourceError::at(path))?;
        inputs.push(InputFile { path: path.clone(), blake3, passed_over: false });
    }
    for path in &found.passed_over {
        let blake3 = digest(path).map_err(SourceError::at(path))?;
        inputs.push(InputFile { path: path.clone(), blake3, passed_over: true });
    }
    if !found.problems.is_empty() {
        let blake3 = read_problems(origin, &found.problems, each)?;
        inputs.push(InputFile { path: origin.path.clone(), blake3, passed_over: false });
    }
    Ok(inputs)
}

fn read_table(
    origin: &TaskSource,
    path: &Path,
    encoding: Encoding,
    each: &mut dyn FnMut(SourceRow<'_>),
) -> Result<(), SourceError> {
    let mut kind = origin.kind;
    let absolute = std::path::absolute(path).map_err(SourceError::at(path))?;
    let place = AppsFilter { half: files::half(&absolute), difficulties: &origin.difficulties };
    let options = Options { place, mbpp: origin.mbpp };
    let read = table::columns(path, encoding).and_then(|columns| {
        if let Some(columns) = columns {
            match known(kind, &columns) {
                Ok(found) => kind = Some(found),
                Err(problem) => return Err(TableError::Broken { row: 0, problem }),
            }
        }
        table::read(path, encoding, &mut |row, object| {
            let mbpp = object.as_ref().ok().map(MbppVariant::of);
            let (what, flow) = look_at(object, &mut kind, options);
            let mbpp = mbpp.filter(|_| kind == Some(DataSet::Mbpp));
            each(SourceRow { file: path, row, kind, mbpp, what });
            flow
        })
    });
    match read {
        Ok(()) => Ok(()),
        Err(TableError::Io(source)) => Err(SourceError::Io { path: path.to_owned(), source }),
        Err(TableError::Broken { row, problem }) => {
            let rest = if row == 0 { "" } else { "; the rest of the file was not read" };
            let what = What::Bad(format!("{problem}{rest}"));
            each(SourceRow { file: path, row, kind, mbpp: None, what });
            Ok(())
        }
    }
}

/// The task of a row. The first row of a file of unknown kind determines the kind; if it cannot,
/// the rest of the file is skipped.
fn look_at(
    object: Result<Object, String>,
    kind: &mut Option<DataSet>,
    options: Options<'_>,
) -> (What, ControlFlow<()>) {
    let object = match object {
        Ok(object) => object,
        Err(problem) => return (What::Bad(problem), ControlFlow::Continue(())),
    };
    let Some(known) = kind.or_else(|| DataSet::guess(|column| object.get(column).is_some())) else {
        let problem = unknown(&names(&object)) + "; the rest of the file was not read";
        return (What::Bad(problem), ControlFlow::Break(()));
    };
    *kind = Some(known);
    (map(object, known, options), ControlFlow::Continue(()))
}

/// How rows of a source are read.
#[derive(Clone, Copy)]
struct Options<'a> {
    place: AppsFilter<'a>,
    mbpp: MbppTests,
}

fn map(object: Object, kind: DataSet, options: Options<'_>) -> What {
    let mapped = match kind {
        DataSet::Mbpp => mbpp::task(object, options.mbpp),
        DataSet::Apps => apps::task(object, options.place),
        DataSet::HumanEval => humaneval::task(object),
        DataSet::LeetCode => leetcode::task(object),
        DataSet::EvalPlus => evalplus::task(object),
        DataSet::LiveCodeBench => livecodebench::task(object),
        DataSet::Tasks => plain::task(object),
    };
    match mapped {
        Ok(Mapped::LeftOut) => What::LeftOut,
        Err(problem) => What::Bad(problem.to_string()),
        Ok(Mapped::Task(task)) => proven_readable(task),
    }
}

/// Checks that a task can be written and read back: its line is within bounds.
fn proven_readable(task: Box<Task>) -> What {
    let line = task.to_line();
    if line.len() >= MAX_LINE_BYTES {
        return What::Bad(format!("as a task it is longer than {} MiB", MAX_LINE_BYTES >> 20));
    }
    let object = serde_json::from_str::<Object>(&line).map_err(|err| brief(&err.to_string()));
    match object.and_then(|object| Task::from_object(object).map_err(|err| err.to_string())) {
        Ok(_) => What::Task(task, line),
        Err(problem) => What::Bad(problem),
    }
}

/// The kind of a file with these columns, or the problem with them.
fn known(kind: Option<DataSet>, columns: &[String]) -> Result<DataSet, String> {
    let has = |name: &str| columns.iter().any(|column| column == name);
    match kind {
        Some(kind) if kind.fits(has) => Ok(kind),
        Some(kind) => {
            let (name, wanted) = (kind.name(), kind.wanted());
            Err(format!("its columns are {}; {name} has {wanted}", listed(columns)))
        }
        None => DataSet::guess(has).ok_or_else(|| unknown(columns)),
    }
}

fn unknown(columns: &[String]) -> String {
    let kinds: Vec<_> =
        DataSet::ALL.iter().map(|kind| format!("{} ({})", kind.name(), kind.wanted())).collect();
    format!("its columns are {}; known are {}", listed(columns), kinds.join(", "))
}

fn listed(columns: &[String]) -> String {
    if columns.is_empty() { "none".to_owned() } else { brief(&columns.join(", ")) }
}

/// The names of an object's fields.
fn names(object: &Object) -> Vec<String> {
    let value = serde_json::to_value(object).unwrap_or_default();
    value.as_object().map(|map| map.keys().cloned().collect()).unwrap_or_default()
}

fn read_problems(
    origin: &TaskSource,
    problems: &[PathBuf],
    each: &mut dyn FnMut(SourceRow<'_>),
) -> Result<String, SourceError> {
    let mut digest = blake3::Hasher::new();
    for folder in problems {
        let absolute = std::path::absolute(folder).map_err(SourceError::at(folder))?;
        let place = AppsFilter { half: files::half(&absolute), difficulties: &origin.difficulties };
        let options = Options { place, mbpp: origin.mbpp };
        let row = apps_folder::row(folder, &mut digest).map_err(SourceError::at(folder))?;
        let what = match row {
            Ok(object) => map(object, DataSet::Apps, options),
            Err(problem) => What::Bad(problem),
        };
        each(SourceRow { file: folder, row: 0, kind: Some(DataSet::Apps), mbpp: None, what });
    }
    Ok(digest.finalize().to_hex().to_string())
}

/// BLAKE3 of a file.
pub(crate) fn digest(path: &Path) -> io::Result<String> {
    let mut digest = blake3::Hasher::new();
    io::copy(&mut File::open(path)?, &mut digest)?;
    Ok(digest.finalize().to_hex().to_string())
}
