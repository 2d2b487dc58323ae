//! Phaser on this machine: taken out of the archive of its package once, compiled to bytecode by our
//! own engine, and found again.
//!
//! Bytecode is only loaded if we made it: its digest and the engine that it is for stand beside it.

mod archive;
mod compile;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

pub(crate) use compile::{FILE, engine};

/// Bytes of an archive, at most.
const ARCHIVE_MAX: u64 = 64 << 20;
/// Bytes of bytecode, at most.
const BYTECODE_MAX: u64 = 16 << 20;
const BYTECODE: &str = "phaser.bytecode";
const FACTS: &str = "installation.json";

/// A version of Phaser that is known here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Version {
    /// 3.90.0.
    #[serde(rename = "3.90.0")]
    V3,
    /// 4.2.1.
    #[serde(rename = "4.2.1")]
    V4,
}

impl Version {
    /// All versions, the usual one first.
    pub const ALL: [Self; 2] = [Self::V3, Self::V4];

    /// Its number.
    pub fn number(self) -> &'static str {
        match self {
            Self::V3 => "3.90.0",
            Self::V4 => "4.2.1",
        }
    }

    /// SHA-256 of the archive of its package.
    pub fn digest(self) -> &'static str {
        match self {
            Self::V3 => "c4e3a8da498ab94aa8859c7a32cb89140d94bfd95d769bee36a98cdef1bea6e6",
            Self::V4 => "10c483ef182f0e2aafdc2a11b3bcf86cedb02a4b62a14cfce673b2f9b714318b",
        }
    }

    /// The version of a number.
    pub fn from_number(number: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.number() == number)
    }
}

/// An installed Phaser.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Installation {
    version: Version,
    bytecode: PathBuf,
    sha256: String,
}

/// What stands beside the bytecode.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Facts {
    v: u32,
    version: Version,
    engine: String,
    sha256: String,
}

/// The version of [`Facts`], and of how Phaser is compiled.
const FORMAT: u32 = 1;

/// Why Phaser is not installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// A file cannot be read or written.
    #[error("cannot {what} {}: {error}", path.display())]
    File {
        /// What was to be done with it.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it cannot.
        error: io::Error,
    },
    /// The archive is not one that is known.
    #[error(
        "{} is no package of Phaser that is known here: its SHA-256 is {digest}; `npm pack phaser@3.90.0` \
         makes one with {}, `npm pack phaser@4.2.1` one with {}",
        path.display(), Version::V3.digest(), Version::V4.digest()
    )]
    Unknown {
        /// The archive.
        path: PathBuf,
        /// Its digest.
        digest: String,
    },
    /// The archive cannot be unpacked.
    #[error("cannot take Phaser out of its package: {0}")]
    Archive(String),
    /// Phaser cannot be compiled.
    #[error("cannot compile Phaser: {0}")]
    Compile(String),
    /// What is installed is not what we made.
    #[error("the Phaser in {} cannot be used: {why}; install it again", path.display())]
    Damaged {
        /// Its folder.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
}

fn file(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> InstallError {
    let path = path.to_owned();
    move |error| InstallError::File { what, path, error }
}

/// Installs Phaser from the archive of its package into the data folder `data`.
pub fn install(archive: &Path, data: &Path) -> Result<Installation, InstallError> {
    let bytes = read_bounded(archive, ARCHIVE_MAX)?;
    let digest = digest(&bytes);
    let known = Version::ALL.into_iter().find(|version| version.digest() == digest);
    let version = known.ok_or_else(|| InstallError::Unknown {
        path: archive.to_owned(),
        digest: digest.clone(),
    })?;
    let source = archive::take_phaser(&bytes).map_err(InstallError::Archive)?;
    install_source(&source, version, data)
}

/// Compiles Phaser's source and writes it; a file is whole or not there.
fn install_source(
    source: &str,
    version: Version,
    data: &Path,
) -> Result<Installation, InstallError> {
    let bytecode = compile::compile(source).map_err(InstallError::Compile)?;
    let folder = folder(data, version);
    fs::create_dir_all(&folder).map_err(file("make", &folder))?;
    let facts = Facts { v: FORMAT, version, engine: engine(), sha256: digest(&bytecode) };
    let text =
        serde_json::to_vec_pretty(&facts).map_err(|error| file("write", &folder)(error.into()))?;
    write_whole(&folder.join(BYTECODE), &bytecode)?;
    write_whole(&folder.join(FACTS), &text)?;
    Ok(Installation { version, bytecode: folder.join(BYTECODE), sha256: facts.sha256 })
}

fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), InstallError> {
    let beside = path.with_extension(format!("{}.part", std::process::id()));
    let written = fs::File::create(&beside)
        .and_then(|mut part| part.write_all(bytes).and_then(|()| part.sync_all()))
        .and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written.map_err(file("write", path))
}

impl Installation {
    /// The Phaser of this version in the data folder `data`, if it is installed and is what we made.
    pub fn find(data: &Path, version: Version) -> Result<Option<Self>, InstallError> {
        let folder = folder(data, version);
        let path = folder.join(FACTS);
        if !path.exists() {
            return Ok(None);
        }
        let damaged = |why: String| InstallError::Damaged { path: folder.clone(), why };
        let text = read_bounded(&path, 1 << 16)?;
        let facts: Facts =
            serde_json::from_slice(&text).map_err(|error| damaged(format!("{FACTS}: {error}")))?;
        if (facts.v, facts.version) != (FORMAT, version) {
            return Err(damaged(format!("{FACTS} is of another version")));
        }
        if facts.engine != engine() {
            let why = format!("it was compiled for the engine {}, not {}", facts.engine, engine());
            return Err(damaged(why));
        }
        let found = Self { version, bytecode: folder.join(BYTECODE), sha256: facts.sha256 };
        found.read()?;
        Ok(Some(found))
    }

    /// Its version.
    pub fn version(&self) -> Version {
        self.version
    }

    /// The digest of its bytecode: what depends on Phaser depends on it.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Its bytecode, if it is the one that was installed.
    pub(crate) fn read(&self) -> Result<Vec<u8>, InstallError> {
        let bytes = read_bounded(&self.bytecode, BYTECODE_MAX)?;
        if digest(&bytes) != self.sha256 {
            let path = self.bytecode.parent().unwrap_or(&self.bytecode).to_owned();
            let why = format!("{BYTECODE} is not the file that was written");
            return Err(InstallError::Damaged { path, why });
        }
        Ok(bytes)
    }
}

fn folder(data: &Path, version: Version) -> PathBuf {
    data.join("phaser").join(version.number())
}

fn read_bounded(path: &Path, most: u64) -> Result<Vec<u8>, InstallError> {
    let read = || {
        let mut bytes = Vec::new();
        io::Read::read_to_end(&mut io::Read::take(fs::File::open(path)?, most + 1), &mut bytes)?;
        if bytes.len() as u64 > most {
            return Err(io::Error::other(format!("it is larger than {most} bytes")));
        }
        Ok(bytes)
    };
    read().map_err(file("read", path))
}

pub(super) fn digest(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests;
