//! Held-out tasks of a training that was given none: a few of its own, which it does not train on.
//!
//! Without them the end of a run can only tell how much better the tasks are solved that it was trained on. The seed
//! and the names of tasks decide which are taken, so a resumed run takes the same. A checkpoint that a run starts from
//! may have been trained on any of them, so such a run takes none ([`begin::settings`](super::begin::settings)).

use std::collections::BTreeSet;

use whetstone_core::Task;
use whetstone_core::config::Config;
use whetstone_core::seed::Seed;

use crate::observer::Observer;
use crate::text::counted;
use crate::untested::is_untested;

/// Files of fewer tasks are trained on whole: a tenth of them would measure little and be missed.
const LEAST_TASKS: usize = 200;
/// Tasks that are held out, at most: with four samples each, as many completions as three steps of 64.
const MOST: usize = 50;

/// Tasks to learn from, and tasks to measure by.
#[derive(Debug)]
pub(super) struct Split {
    pub(super) tasks: Vec<Task>,
    pub(super) held_out: Vec<Task>,
}

/// Holds tasks out, if the settings measure any, and says so.
pub(super) fn split(tasks: Vec<Task>, config: &Config, observer: &dyn Observer) -> Split {
    let all = tasks.len();
    let split = chosen(tasks, config);
    if !split.held_out.is_empty() {
        observer.note(&format_args!(
            "{} of {} are held out, to measure by, and are not trained on; `--held-out FILE` names others, \
             `held_out.split = 0` trains on all",
            split.held_out.len(),
            counted(all, "task")
        ));
    }
    split
}

fn chosen(tasks: Vec<Task>, config: &Config) -> Split {
    if config.held_out.every_steps == 0 || tasks.len() < LEAST_TASKS {
        return Split { tasks, held_out: Vec::new() };
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a part of the tasks of a file"
    )]
    let wanted = ((config.held_out.split * tasks.len() as f64) as usize).min(MOST);
    let seed = Seed::new(config.seed);
    let measurable = tasks.iter().filter(|task| !is_untested(task, config));
    let mut drawn: Vec<(u64, &str)> = measurable
        .map(|task| task.id.as_str())
        .map(|id| (seed.derive(&format!("own held-out {id}"), 0).get(), id))
        .collect();
    drawn.sort_unstable();
    let taken: BTreeSet<String> =
        drawn.into_iter().take(wanted).map(|(_, id)| id.to_owned()).collect();
    let is_held_out = |task: &Task| taken.contains(task.id.as_str());
    let (held_out, tasks) = tasks.into_iter().partition(is_held_out);
    Split { tasks, held_out }
}

#[cfg(test)]
mod tests {
    use whetstone_core::wire::Wire as _;

    use super::*;

    fn tasks(count: usize) -> Vec<Task> {
        let line = |at: usize| {
            format!(
                r#"{{"id":"t/{at}","statement":"s","tests":{{"kind":"asserts","hidden":["assert f() == {at}"]}}}}"#
            )
        };
        (0..count)
            .map(|at| Task::from_object(serde_json::from_str(&line(at)).unwrap()).unwrap())
            .collect()
    }

    fn ids(tasks: &[Task]) -> BTreeSet<String> {
        tasks.iter().map(|task| task.id.to_string()).collect()
    }

    #[test]
    fn a_tenth_is_held_out_and_at_most_fifty() {
        let config = Config::default();
        for (count, held_out) in [(199, 0), (200, 20), (374, 37), (2000, 50)] {
            let found = chosen(tasks(count), &config);
            assert_eq!(found.held_out.len(), held_out, "of {count}");
            assert_eq!(found.tasks.len() + held_out, count);
            assert!(ids(&found.tasks).is_disjoint(&ids(&found.held_out)));
        }
    }

    #[test]
    fn the_seed_decides_and_the_order_of_the_file_does_not() {
        let config = Config::default();
        let found = ids(&chosen(tasks(300), &config).held_out);
        let turned = tasks(300).into_iter().rev().collect();
        assert_eq!(ids(&chosen(turned, &config).held_out), found);
        let other = Config { seed: config.seed + 1, ..Config::default() };
        assert_ne!(ids(&chosen(tasks(300), &other).held_out), found);
    }

    #[test]
    fn none_is_held_out_where_none_is_measured_or_wanted() {
        let mut config = Config::default();
        config.held_out.split = 0.0;
        assert!(chosen(tasks(300), &config).held_out.is_empty());
        config.held_out.split = 0.5;
        assert_eq!(chosen(tasks(300), &config).held_out.len(), 50);
        config.held_out.every_steps = 0;
        assert!(chosen(tasks(300), &config).held_out.is_empty());
    }

    #[test]
    fn tasks_without_tests_cannot_be_measured_by() {
        let mut all = tasks(100);
        let untested = (0..150).map(|at| {
            let line = format!(r#"{{"id":"u/{at}","statement":"s"}}"#);
            Task::from_object(serde_json::from_str(&line).unwrap()).unwrap()
        });
        all.extend(untested);
        let found = chosen(all, &Config::default());
        assert_eq!(found.held_out.len(), 25);
        assert!(ids(&found.held_out).iter().all(|id| id.starts_with("t/")), "{found:?}");
    }
}
