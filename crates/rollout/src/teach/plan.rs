//! Requests that are still to be made, in the order of the tasks.
//!
//! The samples of a task are divided into requests of a fixed size from sample 0 on, so that a run
//! that goes on asks as the first one would have. Of a request that was answered in part, the rest
//! is asked. An episode of several turns is asked for by itself: its turns follow from its own replies.

use whetstone_core::seed::Seed;
use whetstone_core::task::TaskId;

use super::table::{SampleId, Table};

/// How much is asked for.
#[derive(Debug, Clone)]
pub(super) struct Extent {
    /// Tasks, from the first of the file.
    pub(super) tasks: u32,
    /// Samples of each that each teacher is asked for.
    pub(super) samples: Vec<u32>,
    /// Samples that one request asks for.
    pub(super) per_request: u32,
}

/// A question to ask: samples of one task by one teacher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ask {
    pub(super) task: u32,
    pub(super) teacher: u32,
    pub(super) samples: Vec<u32>,
}

/// The questions in order.
#[derive(Debug)]
pub(super) struct Plan {
    extent: Extent,
    next: SampleId,
}

impl Extent {
    /// Samples that are not complete.
    pub(super) fn open(&self, table: &Table) -> u64 {
        let of_teacher = |task, (teacher, samples): (u32, u32)| {
            (0..samples).map(move |sample| SampleId { task, teacher, sample })
        };
        let of_task = |task| {
            (0..).zip(self.samples.iter().copied()).flat_map(move |lane| of_teacher(task, lane))
        };
        let places = (0..self.tasks).flat_map(of_task);
        places.filter(|&place| !table.is_complete(place)).count() as u64
    }

    /// What comes after a request that ends before sample `end`.
    fn after(&self, SampleId { task, teacher, .. }: SampleId, end: u32) -> SampleId {
        let next_teacher = teacher as usize + 1;
        if end < self.samples[teacher as usize] {
            SampleId { task, teacher, sample: end }
        } else if next_teacher < self.samples.len() {
            SampleId { task, teacher: teacher + 1, sample: 0 }
        } else {
            SampleId { task: task + 1, teacher: 0, sample: 0 }
        }
    }
}

impl Plan {
    pub(super) fn new(extent: Extent) -> Self {
        Self { extent, next: SampleId { task: 0, teacher: 0, sample: 0 } }
    }

    /// The next question; none is given twice.
    pub(super) fn next(&mut self, table: &Table) -> Option<Ask> {
        while self.next.task < self.extent.tasks && !self.extent.samples.is_empty() {
            let SampleId { task, teacher, sample: first } = self.next;
            let at_once = if table.is_episode(task) { 1 } else { self.extent.per_request.max(1) };
            let end = first.saturating_add(at_once).min(self.extent.samples[teacher as usize]);
            self.next = self.extent.after(self.next, end);
            let open = |&sample: &u32| !table.is_complete(SampleId { task, teacher, sample });
            let samples: Vec<_> = (first..end).filter(open).collect();
            if !samples.is_empty() {
                return Some(Ask { task, teacher, samples });
            }
        }
        None
    }
}

/// The seed that a server is sent for a turn of a sample: 31 bits, which every server takes.
pub(super) fn seed(run: Seed, task: &TaskId, sample: u32, turn: u32) -> u32 {
    let stage = match turn {
        0 => format!("teach/{task}"),
        turn => format!("teach/{task}/turn {turn}"),
    };
    let derived = run.derive(&stage, u64::from(sample)).get();
    u32::try_from(derived >> 33).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(extent: Extent, table: &Table) -> Vec<(u32, u32, Vec<u32>)> {
        let mut plan = Plan::new(extent);
        let asks = std::iter::from_fn(|| plan.next(table));
        asks.map(|ask| (ask.task, ask.teacher, ask.samples)).collect()
    }

    #[test]
    fn every_open_sample_is_asked_once_in_requests_of_a_fixed_size() {
        let extent = Extent { tasks: 2, samples: vec![5], per_request: 2 };
        let mut table = Table::new(vec![false; 3], 1);
        for (task, sample) in [(0, 1), (0, 4), (1, 0), (1, 1), (1, 9)] {
            table.store(SampleId { task, teacher: 0, sample }, 0, 1);
        }
        assert_eq!(extent.open(&table), 6);
        let asks = all(extent, &table);
        assert_eq!(
            asks,
            [(0, 0, vec![0]), (0, 0, vec![2, 3]), (1, 0, vec![2, 3]), (1, 0, vec![4])]
        );
    }

    #[test]
    fn every_teacher_is_asked_for_its_samples_and_episodes_one_by_one() {
        let extent = Extent { tasks: 2, samples: vec![3, 1], per_request: 4 };
        let mut table = Table::new(vec![false, true], 2);
        let begun = SampleId { task: 1, teacher: 0, sample: 0 };
        table.store(begun, 0, 1);
        assert_eq!(extent.open(&table), 8, "an episode that was begun is open");
        let asks = all(extent, &table);
        let expected = [
            (0, 0, vec![0, 1, 2]),
            (0, 1, vec![0]),
            (1, 0, vec![0]),
            (1, 0, vec![1]),
            (1, 0, vec![2]),
            (1, 1, vec![0]),
        ];
        assert_eq!(asks, expected);
    }

    #[test]
    fn nothing_is_asked_of_no_tasks_or_nobody() {
        let none = Extent { tasks: 0, samples: vec![8], per_request: 8 };
        assert_eq!(all(none, &Table::new(Vec::new(), 1)), []);
        let nobody = Extent { tasks: 1, samples: Vec::new(), per_request: 8 };
        assert_eq!(all(nobody, &Table::new(vec![false], 0)), []);
    }

    #[test]
    fn seeds_fit_into_31_bits_and_differ_by_task_sample_and_turn() {
        let id = |text: &str| TaskId::try_from(text.to_owned()).unwrap();
        let run = Seed::new(42);
        let seeds: std::collections::HashSet<_> = (0..500)
            .flat_map(|n| {
                [seed(run, &id("a"), n, 0), seed(run, &id("b"), n, 0), seed(run, &id("a"), n, 1)]
            })
            .collect();
        assert!(seeds.len() > 1497 && seeds.iter().all(|&seed| seed < 1 << 31));
        assert_eq!(seed(run, &id("a"), 3, 0), seed(Seed::new(42), &id("a"), 3, 0));
    }
}
