//! A run as its readers see it: paths, config, events, cursors. Takes no lock, changes nothing.

use std::io;
use std::path::{Path, PathBuf};

use super::{lock, name};
use crate::cursor::Cursors;
use crate::error::{CursorError, FileError, ReadError, RunError};
use crate::event::{self, TimedEvent};
use crate::plain_file::{check_plain, read_plain};

pub(super) const CONFIG: &str = "config.toml";
pub(super) const EVENTS: &str = "events.jsonl";
pub(super) const CURSORS: &str = "cursors.json";
pub(super) const LOCK: &str = "run.lock";
pub(super) const ROLLOUTS: &str = "rollouts";
pub(super) const OUTPUTS: &str = "outputs";
pub(super) const LOGS: &str = "logs";

/// Bytes of a config, at most.
const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// The folders of every run.
pub(super) const FOLDERS: [&str; 3] = [ROLLOUTS, OUTPUTS, LOGS];

/// The paths of one run, and readers for its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunView {
    dir: PathBuf,
}

impl RunView {
    /// The run's directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The resolved config, as saved when the run was created.
    pub fn config_path(&self) -> PathBuf {
        self.dir.join(CONFIG)
    }

    /// The event journal.
    pub fn events_path(&self) -> PathBuf {
        self.dir.join(EVENTS)
    }

    /// The resume cursors.
    pub fn cursors_path(&self) -> PathBuf {
        self.dir.join(CURSORS)
    }

    /// The folder of the rollout journals.
    pub fn rollouts_dir(&self) -> PathBuf {
        self.dir.join(ROLLOUTS)
    }

    /// The folder of the checkpoints and of the final model.
    pub fn outputs_dir(&self) -> PathBuf {
        self.dir.join(OUTPUTS)
    }

    /// The folder of the logs.
    pub fn logs_dir(&self) -> PathBuf {
        self.dir.join(LOGS)
    }

    /// The text of the resolved config.
    pub fn config_text(&self) -> Result<String, FileError> {
        let path = self.config_path();
        let text = read_plain(&path, MAX_CONFIG_BYTES);
        text.and_then(|text| String::from_utf8(text).map_err(io::Error::other))
            .map_err(FileError::at("read", &path))
    }

    /// The events so far, each with its number.
    ///
    /// While the run is being written the last may be [`ReadError::Torn`].
    pub fn events(
        &self,
    ) -> Result<impl Iterator<Item = Result<(u64, TimedEvent), ReadError>> + use<>, ReadError> {
        event::read_events(&self.events_path())
    }

    /// The last saved progress of the run.
    pub fn cursors(&self) -> Result<Cursors, CursorError> {
        Cursors::load(&self.cursors_path())
    }

    /// Whether a process is writing the run.
    pub fn is_written(&self) -> Result<bool, FileError> {
        lock::is_held(&self.lock_path())
    }

    pub(crate) fn lock_path(&self) -> PathBuf {
        self.dir.join(LOCK)
    }

    /// The run `name` in `root`, whether it exists or not.
    pub(super) fn locate(root: &Path, name: &str) -> Result<Self, RunError> {
        name::check(name)?;
        Ok(Self { dir: root.join(name) })
    }

    /// The run `name` in `root` if it was completely created.
    pub(super) fn existing(root: &Path, name: &str) -> Result<Self, RunError> {
        let view = Self::locate(root, name)?;
        if !view.dir.is_dir() {
            return Err(RunError::NotFound { path: view.dir });
        }
        // The config is written last, so a run without it never began.
        for missing in [CONFIG, EVENTS, CURSORS] {
            let path = view.dir.join(missing);
            check_plain(&path).map_err(FileError::at("open", &path))?;
            if !path.is_file() {
                return Err(RunError::Incomplete { path: view.dir, missing });
            }
        }
        Ok(view)
    }
}
