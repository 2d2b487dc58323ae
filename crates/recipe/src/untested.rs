//! Tasks without tests: what each command makes of them, said once with their number.

use std::path::Path;

use whetstone_core::config::{Composite, Config};
use whetstone_core::task::Task;

use crate::observer::Observer;
use crate::text::counted;

/// Leaves out tasks of a file that nothing can be measured by.
pub(crate) fn left_out(
    file: &Path,
    mut tasks: Vec<Task>,
    config: &Config,
    observer: &dyn Observer,
) -> Vec<Task> {
    let all = tasks.len();
    tasks.retain(|task| !is_untested(task, config));
    match all - tasks.len() {
        0 => {}
        untested => observer.note(&format_args!(
            "{}: left out: {} without tests, which cannot be measured",
            file.display(),
            counted(untested, "task")
        )),
    }
    tasks
}

/// The tasks of a file to learn from: those without tests count where the settings pay static terms.
pub(crate) fn to_learn_from(
    file: &Path,
    tasks: Vec<Task>,
    config: &Config,
    observer: &dyn Observer,
) -> Vec<Task> {
    let untested = tasks.iter().filter(|task| is_untested(task, config)).count();
    if untested == 0 {
        return tasks;
    }
    let (file, untested) = (file.display(), counted(untested, "task"));
    if config.reward.composite == Composite::Tests {
        observer.note(&format_args!(
            "{file}: left out: {untested} without tests: `reward.composite = \"tests\"` pays passed tests alone"
        ));
        return tasks.into_iter().filter(|task| !is_untested(task, config)).collect();
    }
    observer.note(&format_args!(
        "{file}: {untested} without tests: their replies earn static terms only, so the student \
         learns their form and not their correctness"
    ));
    tasks
}

/// Whether a task asks for a program and has no tests for it.
pub(crate) fn is_untested(task: &Task, config: &Config) -> bool {
    task.tests.is_absent() && task.is_program(&config.env.kind)
}
