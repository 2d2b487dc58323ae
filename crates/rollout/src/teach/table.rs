//! What is known of every sample of every task, in a few bytes each.

use whetstone_core::trace::VerdictName;

/// One sample of a task.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Slot {
    /// Whether an answer is stored.
    pub(super) stored: bool,
    /// What the judge saw.
    pub(super) verdict: Option<VerdictName>,
    /// Where its answer is in the journal.
    pub(super) offset: u64,
}

/// Which sample of which task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct SampleId {
    pub(super) task: u32,
    pub(super) sample: u32,
}

/// The samples of all tasks.
#[derive(Debug, Default)]
pub(super) struct Table(Vec<Vec<Slot>>);

impl Table {
    /// A table for so many tasks.
    pub(super) fn new(tasks: usize) -> Self {
        Self(vec![Vec::new(); tasks])
    }

    /// What is known of a sample.
    pub(super) fn get(&self, place: SampleId) -> Slot {
        let samples = self.0.get(place.task as usize);
        samples.and_then(|slots| slots.get(place.sample as usize)).copied().unwrap_or_default()
    }

    /// Notes where an answer is stored. The first of several stays; `false` if there was one already.
    pub(super) fn store(&mut self, place: SampleId, offset: u64) -> bool {
        let slot = self.slot(place);
        let new = !slot.stored;
        if new {
            (slot.stored, slot.offset) = (true, offset);
        }
        new
    }

    /// Notes that an answer is stored elsewhere.
    pub(super) fn restore(&mut self, place: SampleId, offset: u64) {
        self.slot(place).offset = offset;
    }

    /// Notes what the judge saw.
    pub(super) fn judge(&mut self, place: SampleId, verdict: Option<VerdictName>) {
        let slot = self.slot(place);
        slot.verdict = verdict.or(slot.verdict);
    }

    /// Every sample that is stored, by task and sample.
    pub(super) fn stored(&self) -> impl Iterator<Item = (SampleId, Slot)> {
        self.0.iter().zip(0..).flat_map(|(slots, task)| {
            let places = slots.iter().zip(0..).filter(|(slot, _)| slot.stored);
            places.map(move |(slot, sample)| (SampleId { task, sample }, *slot))
        })
    }

    fn slot(&mut self, place: SampleId) -> &mut Slot {
        let slots = &mut self.0[place.task as usize];
        let at = place.sample as usize;
        if slots.len() <= at {
            slots.resize(at + 1, Slot::default());
        }
        &mut slots[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_comes_by_task_and_sample_and_once() {
        let mut table = Table::new(3);
        let place = |task, sample| SampleId { task, sample };
        assert!(table.store(place(2, 1), 10));
        assert!(table.store(place(0, 3), 20));
        assert!(!table.store(place(0, 3), 30), "it is stored already");
        assert!(table.store(place(2, 0), 40));
        let stored: Vec<_> = table.stored().map(|(place, slot)| (place, slot.offset)).collect();
        assert_eq!(stored, [(place(0, 3), 20), (place(2, 0), 40), (place(2, 1), 10)]);
        assert!(!table.get(place(1, 7)).stored);
    }
}
