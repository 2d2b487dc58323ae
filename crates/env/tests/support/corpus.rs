//! Programs: MBPP's reference solutions, where the data is there, and files of a library.

use std::path::{Path, PathBuf};

/// One of MBPP's problems.
#[derive(Debug, serde::Deserialize)]
pub(crate) struct Problem {
    /// A program that solves it.
    pub(crate) code: String,
    /// Asserts about it.
    pub(crate) test_list: Vec<String>,
}

/// MBPP's problems; none, with a word about it, where the data is not there.
pub(crate) fn mbpp() -> Vec<Problem> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/mbpp/mbpp.jsonl");
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("SKIPPED: MBPP is not at {}", path.display());
        return Vec::new();
    };
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Every Python file under a folder, except installed packages, in order of their paths.
pub(crate) fn python_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(folder, &mut found);
    found.sort();
    found
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if path.is_dir() && name != "site-packages" && name != "dist-packages" {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "py") {
            found.push(path);
        }
    }
}
