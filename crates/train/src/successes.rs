//! Past successes of tasks, kept to be learnt from again when a task is no longer solved.
//!
//! Of each task the last ones are kept, as rows with their token ids, and of all tasks at most [`MOST_TOKENS`]
//! tokens: tasks whose successes are oldest go first. They are part of a checkpoint, so that a resumed run replays
//! the same rows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::example::Example;

/// Tokens that are kept in all: 8 MiB in memory, and up to 16 MiB in a checkpoint.
const MOST_TOKENS: usize = 2 << 20;

/// The rows of one success: an episode whose turns do not continue each other has several.
type Success = Vec<Example>;

/// The last successes of tasks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Successes {
    tasks: BTreeMap<String, TaskSuccesses>,
}

/// The last successes of a task.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskSuccesses {
    /// The step of the newest.
    step: u64,
    /// The newest first.
    successes: Vec<Success>,
}

impl Successes {
    /// Whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// The number of tasks with a success.
    pub(crate) fn tasks(&self) -> usize {
        self.tasks.len()
    }

    /// Adds the successes of a step, the best first, and keeps at most `most` of the task.
    pub(crate) fn add(&mut self, task: &str, step: u64, new: Vec<Success>, most: usize) {
        let own = self.tasks.entry(task.to_owned()).or_default();
        own.step = step;
        own.successes.splice(0..0, new);
        own.successes.truncate(most);
    }

    /// The rows of a task's successes, the newest first.
    pub(crate) fn of(&self, task: &str) -> impl Iterator<Item = &Example> {
        self.tasks.get(task).into_iter().flat_map(|own| own.successes.iter().flatten())
    }

    /// Forgets the tasks with the oldest successes until what is left has at most [`MOST_TOKENS`] tokens.
    pub(crate) fn forget_oldest(&mut self) {
        self.forget_beyond(MOST_TOKENS);
    }

    fn forget_beyond(&mut self, most: usize) {
        let mut tokens: usize = self.tasks.values().map(TaskSuccesses::tokens).sum();
        while tokens > most {
            let oldest = self.tasks.iter().min_by_key(|(_, own)| own.step);
            let Some(task) = oldest.map(|(task, _)| task.clone()) else { return };
            tokens -= self.tasks.remove(&task).map_or(0, |own| own.tokens());
        }
    }
}

impl TaskSuccesses {
    fn tokens(&self) -> usize {
        self.successes.iter().flatten().map(|row| row.tokens.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn success(id: u32, length: usize) -> Success {
        vec![Example::new(&[1], &vec![id; length - 1])]
    }

    fn ids(kept: &Successes, task: &str) -> Vec<u32> {
        kept.of(task).map(|row| row.tokens[row.first]).collect()
    }

    #[test]
    fn of_a_task_the_last_ones_are_kept() {
        let mut kept = Successes::default();
        kept.add("a", 1, vec![success(7, 3)], 2);
        kept.add("a", 2, vec![success(8, 3)], 2);
        assert_eq!(ids(&kept, "a"), [8, 7]);
        kept.add("a", 5, vec![success(9, 3), success(10, 3)], 2);
        assert_eq!(ids(&kept, "a"), [9, 10]);
        assert!(ids(&kept, "b").is_empty());
    }

    #[test]
    fn beyond_the_bound_the_tasks_with_the_oldest_successes_go() {
        let mut kept = Successes::default();
        for (task, step) in [("a", 4), ("b", 2), ("c", 3)] {
            kept.add(task, step, vec![success(7, 10)], 1);
        }
        kept.forget_beyond(30);
        assert_eq!(kept.tasks(), 3);
        kept.forget_beyond(29);
        assert_eq!((kept.tasks(), ids(&kept, "b").len()), (2, 0));
        kept.forget_beyond(15);
        assert_eq!(ids(&kept, "a"), [7]);
    }

    #[test]
    fn what_is_kept_is_read_back_and_a_row_that_cannot_be_is_refused() {
        let mut kept = Successes::default();
        let mut episode = Example::new(&[1, 2], &[7]);
        episode.append_turn(&[1, 2, 7, 3], &[8]);
        kept.add("a", 4, vec![vec![episode]], 1);
        let text = serde_json::to_string(&kept).unwrap();
        assert_eq!(serde_json::from_str::<Successes>(&text).unwrap(), kept);
        for (from, to) in [(r#""first":2"#, r#""first":5"#), (r#""end":4"#, r#""end":6"#)] {
            assert!(text.contains(from), "{text}");
            let broken = text.replace(from, to);
            let problem = serde_json::from_str::<Successes>(&broken).unwrap_err().to_string();
            assert!(problem.starts_with("a row of 5 tokens"), "{problem}");
        }
    }
}
