//! The files of a path.
//!
//! A path to a file is that file. A folder contains tables, searched recursively, of one format:
//! parquet if there is any, else lines, else arrays; and the problems of APPS, one folder each. The
//! sanitized set of MBPP, which its authors publish as an array beside the lines of the full set, is
//! read too, in one format of its own. Skipped files are reported. The order is that of the names,
//! never the disk's.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::apps_folder::QUESTION;
use super::error::SourceError;
use super::table::{Encoding, TableFormat};

/// Folders within folders that are looked into.
const MAX_DEPTH: usize = 4;

/// The files of a path.
#[derive(Debug, Default)]
pub(super) struct Files {
    pub(super) tables: Vec<(PathBuf, Encoding)>,
    pub(super) problems: Vec<PathBuf>,
    pub(super) passed_over: Vec<PathBuf>,
}

/// Finds the files of `path`.
pub(super) fn files(path: &Path) -> Result<Files, SourceError> {
    let mut files = Files::default();
    let metadata = fs::metadata(path).map_err(SourceError::at(path))?;
    if !metadata.is_dir() {
        let encoding =
            Encoding::of(path).ok_or_else(|| SourceError::Format { path: path.to_owned() })?;
        files.tables.push((path.to_owned(), encoding));
        return Ok(files);
    }
    look_into(path, MAX_DEPTH, &mut files)?;
    choose(&mut files);
    if files.tables.is_empty() && files.problems.is_empty() {
        return Err(SourceError::Empty { path: path.to_owned() });
    }
    Ok(files)
}

/// The half of a data set that a path names: `train.jsonl`, `test-00000-of-00001.parquet`,
/// `train/0000`.
pub(super) fn half(path: &Path) -> Option<&'static str> {
    const HALVES: [&str; 2] = ["train", "test"];
    let named = |text: &str| HALVES.into_iter().find(|half| text.eq_ignore_ascii_case(half));
    let name = path.file_name()?.to_str()?;
    let first_word = name.split(['.', '-', '_']).next()?;
    let above = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
    named(first_word).or_else(|| above.and_then(named))
}

fn look_into(folder: &Path, depth: usize, files: &mut Files) -> Result<(), SourceError> {
    let list = || -> io::Result<Vec<PathBuf>> {
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
    };
    let mut paths = list().map_err(SourceError::at(folder))?;
    paths.sort();
    if paths.iter().any(|path| path.ends_with(QUESTION)) {
        files.problems.push(folder.to_owned());
        return Ok(());
    }
    for path in paths {
        if path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".")) {
            continue;
        }
        if path.is_dir() {
            if depth > 0 {
                look_into(&path, depth - 1, files)?;
            }
        } else if let Some(encoding) = Encoding::of(&path) {
            files.tables.push((path, encoding));
        }
    }
    Ok(())
}

/// Keeps the tables of one format, and the sanitized ones of one format.
fn choose(files: &mut Files) {
    let best = |sanitized: bool| -> Option<TableFormat> {
        let alike = files.tables.iter().filter(|(path, _)| is_sanitized(path) == sanitized);
        alike.map(|(_, encoding)| encoding.format).min()
    };
    let (full, sanitized) = (best(false), best(true));
    let (kept, others): (Vec<_>, Vec<_>) =
        std::mem::take(&mut files.tables).into_iter().partition(|(path, encoding)| {
            Some(encoding.format) == if is_sanitized(path) { sanitized } else { full }
        });
    files.tables = kept;
    files.passed_over.extend(others.into_iter().map(|(path, _)| path));
    files.passed_over.sort();
}

fn is_sanitized(path: &Path) -> bool {
    let mut names = path.iter().rev().take(2).filter_map(|name| name.to_str());
    names.any(|name| name.starts_with("sanitized"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The used and the skipped names of a folder with these files.
    fn check(given: &[&str], tables: &[&str], passed_over: &[&str]) {
        let dir = tempfile::tempdir().unwrap();
        for name in given {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let found = files(dir.path()).unwrap();
        let short = |path: &PathBuf| path.strip_prefix(dir.path()).unwrap().display().to_string();
        let names: Vec<_> = found.tables.iter().map(|(path, _)| short(path)).collect();
        assert_eq!(names, tables);
        assert_eq!(found.passed_over.iter().map(short).collect::<Vec<_>>(), passed_over);
    }

    #[test]
    fn a_folder_stands_for_its_tables_of_one_format() {
        check(&["b.jsonl", "a.jsonl.gz", "readme.md"], &["a.jsonl.gz", "b.jsonl"], &[]);
        check(
            &["full/train-0.parquet", "infos.json", ".x.parquet"],
            &["full/train-0.parquet"],
            &["infos.json"],
        );
    }

    #[test]
    fn the_sanitized_files_of_mbpp_have_a_format_of_their_own() {
        check(
            &["mbpp.jsonl", "mbpp.json", "sanitized-mbpp.json"],
            &["mbpp.jsonl", "sanitized-mbpp.json"],
            &["mbpp.json"],
        );
        check(
            &["full/a.parquet", "full/b.json", "sanitized/a.parquet", "sanitized/b.json"],
            &["full/a.parquet", "sanitized/a.parquet"],
            &["full/b.json", "sanitized/b.json"],
        );
        check(&["sanitized/a.parquet"], &["sanitized/a.parquet"], &[]);
    }

    #[test]
    fn a_problem_of_apps_is_a_folder_with_a_question() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["train/0001", "train/0000"] {
            let folder = dir.path().join(name);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("question.txt"), "q").unwrap();
            fs::write(folder.join("solutions.json"), "[]").unwrap();
        }
        let found = files(dir.path()).unwrap();
        assert!(found.tables.is_empty());
        let numbers: Vec<_> =
            found.problems.iter().map(|path| path.file_name().unwrap().to_owned()).collect();
        assert_eq!(numbers, ["0000", "0001"]);
        assert_eq!(half(&found.problems[0]), Some("train"));
    }

    #[test]
    fn a_path_names_its_half() {
        let of = |path: &str| half(Path::new(path));
        assert_eq!(of("a/train.jsonl"), Some("train"));
        assert_eq!(of("a/test-00000-of-00001.parquet"), Some("test"));
        assert_eq!(of("test/0001"), Some("test"));
        assert_eq!(of("a/codecontests140.jsonl.gz"), None);
        assert_eq!(of("training.jsonl"), None);
    }

    #[test]
    fn paths_that_stand_for_nothing_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        assert!(matches!(files(dir.path()), Err(SourceError::Empty { .. })));
        assert!(matches!(files(&dir.path().join("none.jsonl")), Err(SourceError::Io { .. })));
        let path = dir.path().join("a.csv");
        fs::write(&path, "").unwrap();
        assert!(matches!(files(&path), Err(SourceError::Format { .. })));
    }
}
