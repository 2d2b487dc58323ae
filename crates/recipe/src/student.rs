//! The student that ships with `whet`.
//!
//! Its files are part of the binary, and are unpacked into the run: from there on it is a model
//! directory like any other, which every command and transformers read.

use std::fs;
use std::path::{Path, PathBuf};

use whetstone_core::config::Config;
use whetstone_record::atomic;
use whetstone_record::error::FileError;
use whetstone_record::run_dir::RunDir;
use whetstone_train::TrainError;
use whetstone_train::student::EMBEDDED;

/// The directory of the student in its run.
const FOLDER: &str = "student";

/// Every file of it.
const FILES: [(&str, &[u8]); 7] = [
    ("config.json", include_bytes!("../../../assets/student/config.json")),
    ("generation_config.json", include_bytes!("../../../assets/student/generation_config.json")),
    ("chat_template.jinja", include_bytes!("../../../assets/student/chat_template.jinja")),
    ("tokenizer_config.json", include_bytes!("../../../assets/student/tokenizer_config.json")),
    ("tokenizer.json", include_bytes!("../../../assets/student/tokenizer.json")),
    ("prompt.json", include_bytes!("../../../assets/student/prompt.json")),
    ("model.safetensors", include_bytes!("../../../assets/student/model.safetensors")),
];

/// Writes the student into `dir`, unless it is there.
///
/// # Errors
///
/// If a file cannot be written.
pub fn unpack_into(dir: &Path) -> Result<(), FileError> {
    let there = |(name, bytes): &(&str, &[u8])| {
        fs::metadata(dir.join(name)).is_ok_and(|file| file.len() == bytes.len() as u64)
    };
    let created = fs::create_dir_all(dir);
    created.map_err(|source| FileError { step: "create", path: dir.to_owned(), source })?;
    for (name, bytes) in FILES.iter().filter(|file| !there(file)) {
        atomic::replace(&dir.join(name), bytes)?;
    }
    Ok(())
}

/// The origin of a run's student.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The one that ships with `whet`, and where it is unpacked.
    Embedded(PathBuf),
    /// Another, which is there.
    Given(PathBuf),
}

impl Origin {
    /// The student that the settings name for the run in `dir`.
    ///
    /// A resumed run uses its own directory, wherever it was unpacked originally.
    pub fn of(config: &Config, dir: &Path) -> Self {
        let (name, own) = (&config.student.model_name, dir.join(FOLDER));
        let run = dir.file_name().unwrap_or_default();
        let unpacked = Path::new(name).ends_with(Path::new(run).join(FOLDER));
        if name == EMBEDDED || unpacked {
            Self::Embedded(own)
        } else {
            Self::Given(PathBuf::from(name))
        }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        match self {
            Self::Embedded(path) | Self::Given(path) => path,
        }
    }

    /// Unpacks it, unless it is there; says how many bytes it has.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn unpack(&self, run: &RunDir) -> Result<Option<usize>, TrainError> {
        let Self::Embedded(path) = self else { return Ok(None) };
        if !path.is_dir() {
            let staged = run.stage(FOLDER);
            for (name, bytes) in FILES {
                staged.put(name, bytes)?;
            }
            staged.commit()?;
        }
        Ok(Some(FILES.iter().map(|(_, bytes)| bytes.len()).sum()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_was_moved_still_has_its_own_student() {
        let of = |name: &str, dir: &str| {
            let mut config = Config::default();
            config.student.model_name = name.to_owned();
            Origin::of(&config, Path::new(dir))
        };
        let own = Origin::Embedded(PathBuf::from("elsewhere/q/student"));
        assert_eq!(of("embedded", "elsewhere/q"), own);
        assert_eq!(of("runs/q/student", "elsewhere/q"), own);
        let given = Origin::Given(PathBuf::from("models/student"));
        assert_eq!(of("models/student", "elsewhere/q"), given);
    }
}
