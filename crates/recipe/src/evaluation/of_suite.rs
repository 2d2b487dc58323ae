//! An evaluation on a suite: its tasks become a file in the directory of the results.
//!
//! `whet score` and `whet report` then find the tasks of an evaluation beside its samples.

use whetstone_core::Task;
use whetstone_core::config::Config;
use whetstone_eval::{make_room, suite};

use super::EvalRequest;
use crate::failure::Failure;
use crate::observer::Observer;
use crate::scratch::Scratch;
use crate::suites::SUITE_TASKS;
use crate::tasks;
use crate::text::counted;

/// The request with the tasks of its suite written to its file of tasks; in a dry run, to `scratch`.
pub(super) fn with_tasks(
    request: &EvalRequest,
    config: &Config,
    scratch: Option<&Scratch>,
    observer: &dyn Observer,
) -> Result<EvalRequest, Failure> {
    let mut request = request.clone();
    let Some(suite) = &request.suite else { return Ok(request) };
    let found = suite.tasks(observer)?;
    say(&suite.suite.full_name(), &found, observer);
    if let Some(scratch) = scratch {
        request.tasks = scratch.path().join(SUITE_TASKS);
    } else {
        make_room(&request.out, super::earlier(&request))?;
    }
    tasks::write(&request.tasks, &found)?;
    // At temperature 0 every sample is the greedy one.
    request.skip_greedy |= config.eval.temperature == 0.0;
    Ok(request)
}

fn say(name: &str, found: &[Task], observer: &dyn Observer) {
    let (tasks, digest) = (counted(found.len(), "task"), suite(found));
    observer.note(&format_args!("suite {name}: {tasks}, digest {digest}"));
}
