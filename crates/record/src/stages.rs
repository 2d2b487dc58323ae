//! The stages of a run over several of them: `stages.json`, replaced after each change.
//!
//! ```text
//! runs/rlhf/
//!   stages.toml    the stage file as it was when a stage began last
//!   stages.json    every stage: its state, what it was begun with, what it made, its main figures
//!   stages/NAME/   the files of each stage; of a training its run
//!   models/NAME/   a stage's adapter merged into its base model, where a later stage starts from it
//! ```
//!
//! A stage is begun before anything of it is written, and done after everything of it is on the disk. Who
//! resumes compares what it was begun with: settings, options and the digests of its inputs.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::atomic;
use crate::error::{FileError, ViewError};
use crate::plain_file::read_plain;
use crate::run_dir::RunView;

/// The file in its run.
pub const STAGES_FILE: &str = "stages.json";
/// The folder of the stages in their run.
pub const STAGES_DIR: &str = "stages";
const VERSION: u64 = 1;
const MAX_BYTES: u64 = 4 << 20;

/// The stages of a run, in the order in which they run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stages {
    v: u64,
    /// One record each.
    pub stages: Vec<StageRecord>,
}

/// One stage.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StageRecord {
    /// Its name: a directory in [`STAGES_DIR`].
    pub name: String,
    /// What it does, e.g. `sft`.
    pub kind: String,
    /// How far it is.
    pub state: StageState,
    /// Its settings that are not defaults.
    pub settings: BTreeMap<String, String>,
    /// The options of its kind, as JSON.
    pub options: String,
    /// What it reads.
    pub inputs: Vec<StageFileDigest>,
    /// What it made; a path is relative to the run.
    pub outputs: Vec<StageFileDigest>,
    /// Seconds of the processes that came to an end; of one that was killed nothing is known.
    pub seconds: f64,
    /// Its main figures.
    pub figures: Vec<StageFigure>,
}

/// How far a stage is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StageState {
    /// Nothing of it is there.
    #[default]
    Waiting,
    /// It was begun, and can be resumed.
    Begun,
    /// Everything of it is on the disk.
    Done,
}

/// A file or a directory with its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StageFileDigest {
    /// What it is, e.g. `tasks`.
    pub what: String,
    /// The stage that makes it, or its path.
    pub path: String,
    /// Its blake3; of a directory, that of its names and digests.
    pub blake3: String,
}

/// A figure, with its interval where it has one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StageFigure {
    /// Its name, e.g. `pass@1`.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// The 95 % interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
}

impl Stages {
    /// Stages that were not begun.
    pub fn new(stages: Vec<StageRecord>) -> Self {
        Self { v: VERSION, stages }
    }

    /// Reads those of a run; `None` if it is not a run over stages.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or is another one.
    pub fn load(view: &RunView) -> Result<Option<Self>, ViewError> {
        let path = path(view);
        let text = match read_plain(&path, MAX_BYTES) {
            Ok(text) => text,
            Err(err) if err.kind() == ErrorKind::NotFound => return Ok(None),
            Err(err) => return Err(FileError::at("read", &path)(err).into()),
        };
        let wrong = |problem| ViewError::Stages { path: path.clone(), problem };
        let stages: Self = serde_json::from_slice(&text).map_err(|err| wrong(err.to_string()))?;
        if stages.v != VERSION {
            return Err(wrong(format!("it has version {}, this whet reads {VERSION}", stages.v)));
        }
        Ok(Some(stages))
    }

    /// Writes them into their run, atomically.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    ///
    /// # Panics
    ///
    /// Never: stages are plain data.
    pub fn save(&self, view: &RunView) -> Result<(), FileError> {
        let mut text = serde_json::to_vec_pretty(self).expect("plain data");
        text.push(b'\n');
        atomic::replace(&path(view), &text)
    }

    /// The stage of this name.
    pub fn get(&self, name: &str) -> Option<&StageRecord> {
        self.stages.iter().find(|stage| stage.name == name)
    }
}

/// The directory of a stage in its run.
pub fn stage_dir(run: &Path, stage: &str) -> PathBuf {
    run.join(STAGES_DIR).join(stage)
}

/// The path of the record of a run's stages.
pub(crate) fn path(view: &RunView) -> PathBuf {
    view.dir().join(STAGES_FILE)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::run_dir::RunDir;

    #[test]
    fn what_was_saved_is_read_again_and_a_newer_version_or_an_unknown_key_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let run = RunDir::create(root.path(), "a", "", 1).unwrap();
        assert_eq!(Stages::load(run.view()).unwrap(), None);
        let stage = StageRecord { name: "data".to_owned(), ..StageRecord::default() };
        let stages = Stages::new(vec![stage]);
        stages.save(run.view()).unwrap();
        assert_eq!(Stages::load(run.view()).unwrap(), Some(stages.clone()));
        for (from, to) in [("\"v\": 1", "\"v\": 2"), ("\"kind\"", "\"sort\": 1, \"kind\"")] {
            let text = serde_json::to_string_pretty(&stages).unwrap().replace(from, to);
            fs::write(path(run.view()), text).unwrap();
            assert!(Stages::load(run.view()).is_err(), "{to}");
        }
    }
}
