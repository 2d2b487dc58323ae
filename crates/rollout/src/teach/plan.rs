//! Requests that are still to be made, in the order of the tasks.
//!
//! The samples of a task are divided into requests of a fixed size from sample 0 on, so that a run
//! that goes on asks as the first one would have. Of a request that was answered in part, the rest
//! is asked.

use whetstone_core::seed::Seed;
use whetstone_core::task::TaskId;

use super::table::{SampleId, Table};

/// How much is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    /// Tasks, from the first of the file.
    pub(super) tasks: u32,
    /// Samples of each.
    pub(super) samples: u32,
    /// Samples that one request asks for.
    pub(super) per_request: u32,
}

/// A question to ask: samples of one task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ask {
    pub(super) task: u32,
    pub(super) samples: Vec<u32>,
}

/// The questions in order.
#[derive(Debug)]
pub(super) struct Plan {
    extent: Extent,
    next: SampleId,
}

impl Extent {
    /// Samples that are not stored.
    pub(super) fn open(&self, table: &Table) -> u64 {
        let samples = |task| (0..self.samples).map(move |sample| SampleId { task, sample });
        let places = (0..self.tasks).flat_map(samples);
        places.filter(|&place| !table.get(place).stored).count() as u64
    }
}

impl Plan {
    pub(super) fn new(extent: Extent) -> Self {
        Self { extent, next: SampleId { task: 0, sample: 0 } }
    }

    /// The next question; none is given twice.
    pub(super) fn next(&mut self, table: &Table) -> Option<Ask> {
        while self.next.task < self.extent.tasks {
            let SampleId { task, sample: first } = self.next;
            let behind = first.saturating_add(self.extent.per_request.max(1));
            let end = behind.min(self.extent.samples);
            self.next = if end < self.extent.samples {
                SampleId { task, sample: end }
            } else {
                SampleId { task: task + 1, sample: 0 }
            };
            let open = |&sample: &u32| !table.get(SampleId { task, sample }).stored;
            let samples: Vec<_> = (first..end).filter(open).collect();
            if !samples.is_empty() {
                return Some(Ask { task, samples });
            }
        }
        None
    }
}

/// The seed that a server is sent for a sample: 31 bits, which every server takes.
pub(super) fn seed(run: Seed, task: &TaskId, sample: u32) -> u32 {
    let derived = run.derive(&format!("teach/{task}"), u64::from(sample)).get();
    u32::try_from(derived >> 33).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(extent: Extent, table: &Table) -> Vec<(u32, Vec<u32>)> {
        let mut plan = Plan::new(extent);
        std::iter::from_fn(|| plan.next(table)).map(|ask| (ask.task, ask.samples)).collect()
    }

    #[test]
    fn every_open_sample_is_asked_once_in_requests_of_a_fixed_size() {
        let extent = Extent { tasks: 2, samples: 5, per_request: 2 };
        let mut table = Table::new(3);
        for (task, sample) in [(0, 1), (0, 4), (1, 0), (1, 1), (1, 9)] {
            table.store(SampleId { task, sample }, 1);
        }
        let asks = all(extent, &table);
        assert_eq!(asks, [(0, vec![0]), (0, vec![2, 3]), (1, vec![2, 3]), (1, vec![4])]);
        assert_eq!(extent.open(&table), 6);
    }

    #[test]
    fn nothing_is_asked_of_no_tasks() {
        assert_eq!(all(Extent { tasks: 0, samples: 8, per_request: 8 }, &Table::new(0)), []);
    }

    #[test]
    fn seeds_fit_into_31_bits_and_differ_by_task_and_sample() {
        let id = |text: &str| TaskId::try_from(text.to_owned()).unwrap();
        let run = Seed::new(42);
        let seeds: std::collections::HashSet<_> =
            (0..500).flat_map(|n| [seed(run, &id("a"), n), seed(run, &id("b"), n)]).collect();
        assert!(seeds.len() > 998 && seeds.iter().all(|&seed| seed < 1 << 31));
        assert_eq!(seed(run, &id("a"), 3), seed(Seed::new(42), &id("a"), 3));
    }
}
