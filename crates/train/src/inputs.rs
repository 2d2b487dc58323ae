//! The input files of a training, kept with its run, so that a resumed run reads the same files.
//!
//! ```text
//! runs/NAME/inputs/
//!   inputs.json      where tasks, held-out tasks, traces and rollouts came from, each with its blake3
//!   tasks.jsonl      a copy, used for resuming whatever happens to the original
//!   held_out.jsonl   the same, if there are any
//! ```
//!
//! Traces, SFT rows, rollouts, episodes, preference pairs and an adapter that a training begins with are not copied:
//! they are
//! many times as large, and their digest is compared.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use whetstone_record::error::FileError;
use whetstone_record::plain_file::read_plain;
use whetstone_record::run_dir::{RunDir, RunView};

use crate::error::TrainError;

/// The file of traces in the folder of a run that collects them itself.
pub const TRACES: &str = "teacher_traces.jsonl";

const FOLDER: &str = "inputs";
const LIST: &str = "inputs.json";
const TASKS: &str = "tasks.jsonl";
const HELD_OUT: &str = "held_out.jsonl";
const VERSION: u64 = 1;
/// Bytes of the list, at most.
const LIST_LIMIT_BYTES: u64 = 1 << 20;

/// Files by purpose; `None` for those that a training does not read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Files {
    /// Tasks to learn from.
    pub tasks: Option<PathBuf>,
    /// Tasks to measure by.
    pub held_out: Option<PathBuf>,
    /// Traces of a teacher.
    pub traces: Option<PathBuf>,
    /// SFT rows.
    pub rows: Option<PathBuf>,
    /// Recorded rollouts.
    pub rollouts: Option<PathBuf>,
    /// Preference pairs to learn from.
    pub pairs: Option<PathBuf>,
    /// Preference pairs to measure by.
    pub held_out_pairs: Option<PathBuf>,
    /// The weights of the adapter that the training begins with.
    pub adapter: Option<PathBuf>,
    /// The weights of a reward model.
    pub reward_model: Option<PathBuf>,
    /// The weights of a process reward model.
    pub process_model: Option<PathBuf>,
    /// Scored episodes whose transitions are learnt from.
    pub episodes: Vec<PathBuf>,
    /// Scored episodes whose transitions are measured by.
    pub held_out_episodes: Vec<PathBuf>,
}

/// The inputs that a run was started with.
#[derive(Debug)]
pub struct Known {
    folder: PathBuf,
    list: List,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    v: u64,
    tasks: Option<Input>,
    held_out: Option<Input>,
    traces: Option<Input>,
    rollouts: Option<Input>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rows: Option<Input>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pairs: Option<Input>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    held_out_pairs: Option<Input>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    adapter: Option<Input>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reward_model: Option<Input>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    process_model: Option<Input>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    episodes: Vec<Input>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    held_out_episodes: Vec<Input>,
}

/// A file as it was when the run began.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    path: PathBuf,
    blake3: String,
}

/// Why the files of a run cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// A file differs from the one that the run was started with.
    #[error(
        "`{}` is not the file that the run was started with: its blake3 is {found}, the run's is {begun}",
        path.display()
    )]
    Other {
        /// The file.
        path: PathBuf,
        /// The flag that names it, without dashes.
        flag: &'static str,
        /// Its digest.
        found: String,
        /// The hash of the file that the run was started with.
        begun: String,
    },
    /// A file of a kind that the run was started without.
    #[error("the run was started without `--{flag}`, and cannot be resumed with `{}`", path.display())]
    New {
        /// The file.
        path: PathBuf,
        /// The flag that names it, without dashes.
        flag: &'static str,
    },
    /// A file, or the list of them, cannot be read or written.
    #[error(transparent)]
    Train(#[from] TrainError),
}

/// What a run was begun with; none of one from before inputs were kept.
///
/// # Errors
///
/// If the list of its files cannot be read.
pub fn known(view: &RunView) -> Result<Option<Known>, TrainError> {
    let folder = view.dir().join(FOLDER);
    let path = folder.join(LIST);
    let text = match read_plain(&path, LIST_LIMIT_BYTES) {
        Ok(text) => text,
        Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(err) => return Err(FileError::at("read", &path)(err).into()),
    };
    match serde_json::from_slice::<List>(&text) {
        Ok(list) if list.v == VERSION => Ok(Some(Known { folder, list })),
        Ok(List { v, .. }) => {
            Err(TrainError::OtherRun { path, problem: format!("it has version {v}") })
        }
        Err(err) => Err(TrainError::OtherRun { path, problem: err.to_string() }),
    }
}

/// An input file of a run, as its record has it.
#[derive(Debug, Clone, Copy)]
pub struct ListedInput<'a> {
    /// Its purpose, in words.
    pub what: &'static str,
    /// The flag that names it, without dashes; `None` for what a setting names.
    pub flag: Option<&'static str>,
    /// Where it was.
    pub path: &'a Path,
    /// Its digest, in hexadecimal.
    pub blake3: &'a str,
}

impl Known {
    /// Where the tasks were that the run learns from, or else what was made of them: traces, rows or rollouts.
    pub fn tasks_learnt(&self) -> Option<&Path> {
        let List { tasks, traces, rows, rollouts, .. } = &self.list;
        let made = [tasks, traces, rows, rollouts].into_iter().flatten().next();
        made.map(|input| input.path.as_path())
    }

    /// The files in the order of the record.
    pub fn listed(&self) -> Vec<ListedInput<'_>> {
        let list = &self.list;
        let single = [
            ("tasks", Some("tasks"), &list.tasks),
            ("held-out tasks", Some("held-out"), &list.held_out),
            ("traces of a teacher", Some("traces"), &list.traces),
            ("SFT rows", Some("rows"), &list.rows),
            ("rollouts", Some("rollouts"), &list.rollouts),
            ("preference pairs", Some("pairs"), &list.pairs),
            ("held-out preference pairs", Some("held-out-pairs"), &list.held_out_pairs),
            ("adapter that the training began with", Some("from"), &list.adapter),
            ("reward model", None, &list.reward_model),
            ("process reward model", None, &list.process_model),
        ];
        let several = [
            ("episodes", Some("rollouts"), &list.episodes),
            ("held-out episodes", Some("held-out"), &list.held_out_episodes),
        ];
        let single = single
            .into_iter()
            .filter_map(|(what, flag, input)| input.as_ref().map(|input| (what, flag, input)));
        let several = several
            .into_iter()
            .flat_map(|(what, flag, inputs)| inputs.iter().map(move |input| (what, flag, input)));
        let listed = single.chain(several).map(|(what, flag, input)| ListedInput {
            what,
            flag,
            path: &input.path,
            blake3: &input.blake3,
        });
        listed.collect()
    }

    /// The files for resuming, unless a given file differs from the original.
    ///
    /// # Errors
    ///
    /// If one is, or cannot be read.
    pub fn files(&self, given: &Files) -> Result<Files, InputError> {
        let List { tasks, held_out, traces, rollouts, pairs, held_out_pairs, adapter, .. } =
            &self.list;
        let copy = |name: &str| self.folder.join(name);
        let tasks = same("tasks", given.tasks.as_deref(), tasks.as_ref(), Some(copy(TASKS)))?;
        let held_out =
            same("held-out", given.held_out.as_deref(), held_out.as_ref(), Some(copy(HELD_OUT)))?;
        let traces = match traces {
            // The settings, which are those of the run, do not ask for them.
            None => None,
            traces => same("traces", given.traces.as_deref(), traces.as_ref(), None)?,
        };
        let rollouts = same("rollouts", given.rollouts.as_deref(), rollouts.as_ref(), None)?;
        let plain = |flag, given: &Option<PathBuf>, known: &Option<Input>| {
            same(flag, given.as_deref(), known.as_ref(), None)
        };
        let rows = plain("rows", &given.rows, &self.list.rows)?;
        let pairs = plain("pairs", &given.pairs, pairs)?;
        let held_out_pairs = plain("held-out-pairs", &given.held_out_pairs, held_out_pairs)?;
        let adapter = plain("from", &given.adapter, adapter)?;
        let reward_model = plain("reward-model", &given.reward_model, &self.list.reward_model)?;
        let process_model =
            plain("set reward.process", &given.process_model, &self.list.process_model)?;
        let episodes = all_same("rollouts", &given.episodes, &self.list.episodes)?;
        let held_out_episodes =
            all_same("held-out", &given.held_out_episodes, &self.list.held_out_episodes)?;
        Ok(Files {
            tasks,
            held_out,
            traces,
            rows,
            rollouts,
            pairs,
            held_out_pairs,
            adapter,
            reward_model,
            process_model,
            episodes,
            held_out_episodes,
        })
    }
}

/// The file to read: the run's copy, or else the given one, or the original path; an error if it
/// differs from the file that the run was started with.
fn same(
    flag: &'static str,
    given: Option<&Path>,
    known: Option<&Input>,
    copy: Option<PathBuf>,
) -> Result<Option<PathBuf>, InputError> {
    let Some(known) = known else {
        return match given {
            None => Ok(None),
            Some(path) => Err(InputError::New { path: path.to_owned(), flag }),
        };
    };
    let read = copy.unwrap_or_else(|| given.unwrap_or(&known.path).to_owned());
    for path in given.into_iter().chain([read.as_path()]) {
        let found = digest(path)?;
        if found != known.blake3 {
            let (path, begun) = (path.to_owned(), known.blake3.clone());
            return Err(InputError::Other { path, flag, found, begun });
        }
    }
    Ok(Some(read))
}

/// [`same`] for a flag that names several files, which are given in the same order or not at all.
fn all_same(
    flag: &'static str,
    given: &[PathBuf],
    known: &[Input],
) -> Result<Vec<PathBuf>, InputError> {
    if let Some(path) = given.get(known.len()) {
        return Err(InputError::New { path: path.clone(), flag });
    }
    let read = known.iter().enumerate().map(|(at, known)| {
        let given = given.get(at).map(PathBuf::as_path);
        same(flag, given, Some(known), None).map(Option::unwrap_or_default)
    });
    read.collect()
}

/// Keeps the files of a new run.
///
/// # Errors
///
/// If one cannot be read, or the copy not written.
///
/// # Panics
///
/// Never: paths and digests are plain data.
pub fn keep(run: &RunDir, files: &Files) -> Result<(), TrainError> {
    let staged = run.stage(FOLDER);
    for (path, name) in [(&files.tasks, TASKS), (&files.held_out, HELD_OUT)] {
        if let Some(path) = path {
            let mut from = open(path)?;
            staged.stream(name, |out| io::copy(&mut from, out).map(drop))?;
        }
    }
    let input = |path: &Option<PathBuf>| {
        let input = path
            .as_ref()
            .map(|path| digest(path).map(|blake3| Input { path: path.clone(), blake3 }));
        input.transpose()
    };
    let inputs = |paths: &[PathBuf]| -> Result<Vec<Input>, TrainError> {
        let of = |path: &PathBuf| digest(path).map(|blake3| Input { path: path.clone(), blake3 });
        paths.iter().map(of).collect()
    };
    let list = List {
        v: VERSION,
        tasks: input(&files.tasks)?,
        held_out: input(&files.held_out)?,
        traces: input(&files.traces)?,
        rows: input(&files.rows)?,
        rollouts: input(&files.rollouts)?,
        pairs: input(&files.pairs)?,
        held_out_pairs: input(&files.held_out_pairs)?,
        adapter: input(&files.adapter)?,
        reward_model: input(&files.reward_model)?,
        process_model: input(&files.process_model)?,
        episodes: inputs(&files.episodes)?,
        held_out_episodes: inputs(&files.held_out_episodes)?,
    };
    let text = serde_json::to_string_pretty(&list).expect("plain data");
    staged.put(LIST, format!("{text}\n").as_bytes())?;
    Ok(staged.commit()?)
}

/// The blake3 of a file, in hexadecimal.
pub(crate) fn digest(path: &Path) -> Result<String, TrainError> {
    let mut hasher = blake3::Hasher::new();
    io::copy(&mut open(path)?, &mut hasher).map_err(FileError::at("read", path))?;
    Ok(hasher.finalize().to_hex().to_string())
}

fn open(path: &Path) -> Result<BufReader<File>, TrainError> {
    let file = File::open(path).map_err(FileError::at("open", path))?;
    Ok(BufReader::new(file))
}
