//! Any bytes as a file of a data set: nothing panics, a row is a task whose line reads back as the
//! same line, or has a reason that a terminal can show.

#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use whetstone_core::task::Task;
use whetstone_core::wire::{Object, Wire};
use whetstone_data::source::{DataSet, TaskSource, What, read};

/// A folder for the file that is read, of this process alone.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("whet-fuzz-rows-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    folder
});

fuzz_target!(|bytes: &[u8]| {
    let Some((&first, contents)) = bytes.split_first() else { return };
    let kinds = [
        Some(DataSet::Mbpp),
        Some(DataSet::Apps),
        Some(DataSet::HumanEval),
        Some(DataSet::LeetCode),
        Some(DataSet::Tasks),
        None,
    ];
    let kind = kinds[usize::from(first) % kinds.len()];
    let name = if first & 128 == 0 { "rows.jsonl" } else { "rows.json" };
    let path = FOLDER.join(name);
    fs::write(&path, contents).expect("the file");
    let origin = TaskSource { kind, path, difficulties: Vec::new() };
    let inputs = read(&origin, &mut |found| match found.what {
        What::Task(task, line) => same(&task, &line),
        What::Bad(reason) => {
            assert!(!reason.is_empty() && reason.chars().count() < 2000, "{reason}");
            assert!(!reason.chars().any(char::is_control), "{reason:?}");
        }
        What::LeftOut => panic!("nothing was asked for"),
    });
    assert_eq!(inputs.expect("a file").len(), 1);
});

fn same(task: &Task, line: &str) {
    assert!(!line.contains('\n'));
    let object: Object = serde_json::from_str(line).expect("JSON");
    let again = Task::from_object(object).expect("a task");
    assert_eq!((again.id.as_str(), again.to_line().as_str()), (task.id.as_str(), line));
}
