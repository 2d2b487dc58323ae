//! The files of tasks, one for each part of the data, and the report about them.
//!
//! Each file is written atomically. The report comes last and holds the checksums of the others,
//! so an interrupted run can be detected.

use std::fs;
use std::io::Write;
use std::path::Path;

use whetstone_record::atomic;

use super::error::PrepareError;
use super::report::{PartFile, PrepareSummary};
use crate::source::InputFile;

/// The tasks to learn from.
pub const TRAIN: &str = "train.jsonl";
/// The tasks to choose settings and checkpoints by.
pub const DEV: &str = "dev.jsonl";
/// The tasks for the final figure.
pub const VAL: &str = "val.jsonl";
/// The report.
pub const REPORT: &str = "prepare.json";

/// The lines of each file.
#[derive(Debug, Default)]
pub(super) struct PartLines {
    pub(super) train: Vec<String>,
    pub(super) dev: Vec<String>,
    pub(super) val: Vec<String>,
}

/// Refuses outputs that would overwrite inputs.
pub(super) fn check_names<'a>(
    out: &Path,
    inputs: impl Iterator<Item = &'a InputFile>,
) -> Result<(), PrepareError> {
    let outputs: Vec<_> = [TRAIN, DEV, VAL, REPORT]
        .iter()
        .filter_map(|name| fs::canonicalize(out.join(name)).ok())
        .collect();
    for input in inputs {
        if fs::canonicalize(&input.path).is_ok_and(|path| outputs.contains(&path)) {
            return Err(PrepareError::OutputIsInput { path: input.path.clone() });
        }
    }
    Ok(())
}

/// Writes everything, and completes the report with the checksums.
pub(super) fn write_all(
    out: &Path,
    lines: &PartLines,
    report: &mut PrepareSummary,
) -> Result<(), PrepareError> {
    fs::create_dir_all(out)
        .map_err(|source| PrepareError::Folder { path: out.to_owned(), source })?;
    report.train = write_part(out, TRAIN, &lines.train)?;
    report.dev = write_part(out, DEV, &lines.dev)?;
    report.val = write_part(out, VAL, &lines.val)?;
    let mut text = serde_json::to_vec_pretty(report).map_err(PrepareError::Report)?;
    text.push(b'\n');
    Ok(atomic::replace(&out.join(REPORT), &text)?)
}

fn write_part(out: &Path, file: &'static str, lines: &[String]) -> Result<PartFile, PrepareError> {
    let mut digest = blake3::Hasher::new();
    atomic::replace_with(&out.join(file), |target| {
        for line in lines {
            for bytes in [line.as_bytes(), b"\n"] {
                digest.update(bytes);
                target.write_all(bytes)?;
            }
        }
        Ok(())
    })?;
    let blake3 = digest.finalize().to_hex().to_string();
    Ok(PartFile { file, tasks: lines.len() as u64, blake3 })
}
