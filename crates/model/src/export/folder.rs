//! A directory that is written atomically.
//!
//! Files are written into a directory beside it, which is renamed when all of them are synced to
//! disk. A crash leaves a directory whose name begins with a dot.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::ExportError;
use crate::safetensors::WriteError;

/// A directory that is being written; unless it is finished, nothing stays of it.
#[derive(Debug)]
pub(super) struct ExportFolder {
    beside: PathBuf,
    to: PathBuf,
}

impl ExportFolder {
    /// Begins what will be `to`, which must not exist.
    pub(super) fn begin(to: &Path) -> Result<Self, ExportError> {
        if to.symlink_metadata().is_ok() {
            return Err(ExportError::Exists(to.to_owned()));
        }
        let Some(name) = to.file_name() else {
            let source = io::Error::from(io::ErrorKind::InvalidInput);
            return Err(ExportError::Write { path: to.to_owned(), source });
        };
        let name = format!(".{}.{}", name.to_string_lossy(), std::process::id());
        let beside = to.with_file_name(name);
        // No other live process has our process id: an existing directory was left by one that
        // died.
        if beside.exists() {
            fs::remove_dir_all(&beside).map_err(|source| failed(to, source))?;
        }
        fs::create_dir_all(&beside).map_err(|source| failed(to, source))?;
        Ok(Self { beside, to: to.to_owned() })
    }

    /// Writes a file.
    pub(super) fn put(&self, name: &str, bytes: &[u8]) -> Result<(), ExportError> {
        self.stream(name, |out| {
            out.write_all(bytes).map_err(|err| failed(&self.to.join(name), err))
        })
    }

    /// Writes a file piece by piece.
    pub(super) fn stream(
        &self,
        name: &str,
        write: impl FnOnce(&mut BufWriter<File>) -> Result<(), ExportError>,
    ) -> Result<(), ExportError> {
        let failed = |source| failed(&self.to.join(name), source);
        let file = File::create_new(self.beside.join(name)).map_err(failed)?;
        let mut out = BufWriter::new(file);
        write(&mut out).map_err(|err| match err {
            ExportError::Weights(WriteError::Write(source)) => failed(source),
            err => err,
        })?;
        let file = out.into_inner().map_err(|err| failed(err.into_error()))?;
        file.sync_all().map_err(failed)
    }

    /// Gives it its name.
    pub(super) fn finish(self) -> Result<(), ExportError> {
        let sync = |path: &Path| File::open(path)?.sync_all();
        let parent = match self.to.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        sync(&self.beside)
            .and_then(|()| fs::rename(&self.beside, &self.to))
            .and_then(|()| sync(parent))
            .map_err(|source| failed(&self.to, source))
    }
}

impl Drop for ExportFolder {
    fn drop(&mut self) {
        // After a rename there is nothing of that name; a failure has been reported by then.
        let _ = fs::remove_dir_all(&self.beside);
    }
}

fn failed(path: &Path, source: io::Error) -> ExportError {
    ExportError::Write { path: path.to_owned(), source }
}
