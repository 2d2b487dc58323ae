//! The collection of hostile programs beside the repository, where it is there: each says in its
//! first line what must be found of it.

use std::path::{Path, PathBuf};

use whetstone_core::judgement::Isolation;

use crate::support::{Case, Pace, Task, hold};

const FAILURES: &[&str] =
    &["wrong", "raised", "timeout", "memory", "output", "crashed", "load_error", "unserialisable"];

/// The collection; empty where it is not there.
pub(crate) fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/hostile");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        println!("SKIPPED: no collection of hostile programs beside the repository");
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "py"));
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}

/// Texts live as long as the test.
fn read(path: &Path) -> Case {
    let source: &'static str = std::fs::read_to_string(path).unwrap().leak();
    let name: &'static str = path.file_name().unwrap().to_string_lossy().into_owned().leak();
    let head = source.lines().next().unwrap().trim_start_matches('\u{feff}');
    let may = match head.split_once("EXPECT=").unwrap().1.split(' ').next().unwrap() {
        "PASS" => &["pass"],
        "FAIL" => FAILURES,
        other => panic!("{name}: {other}"),
    };
    let task = if head.contains("kind=stdio") { Task::Sum } else { Task::Add };
    let pace = match name {
        name if name.contains("sleep") || name.contains("deadlock") => Pace::Sleeps,
        _ if may == ["pass"] => Pace::Ample,
        _ => Pace::Burns,
    };
    Case { name, source, task, pace, may }
}

#[test]
fn the_collection_is_judged_as_it_says_at_full() {
    hold(Isolation::Full, &cases());
}

#[test]
fn the_collection_is_judged_as_it_says_at_landlock() {
    hold(Isolation::Landlock, &cases());
}
