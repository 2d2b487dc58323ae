//! The files of a checkpoint.

use std::path::Path;
use std::{fs, io};

/// The files of a checkpoint and of its folders, by their paths in it.
pub(super) fn files_of(checkpoint: &Path) -> io::Result<Vec<String>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(checkpoint)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() {
            for inner in fs::read_dir(entry.path())? {
                files.push(format!("{name}/{}", inner?.file_name().to_string_lossy()));
            }
        } else {
            files.push(name);
        }
    }
    files.sort_unstable();
    Ok(files)
}
