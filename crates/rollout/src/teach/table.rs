//! What is known of every sample of every task and teacher, in a few bytes each.

use whetstone_core::trace::VerdictName;

/// One sample of a task.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Slot {
    /// Where the answers of its turns are in the journal, in order.
    pub(super) answers: Vec<u64>,
    /// What the judge saw.
    pub(super) verdict: Option<VerdictName>,
    /// Where that is in the journal; none of a trace that was taken over, which has it with it.
    pub(super) judged: Option<u64>,
}

/// Which sample of which task, by which teacher.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct SampleId {
    pub(super) task: u32,
    pub(super) teacher: u32,
    pub(super) sample: u32,
}

/// The samples of all tasks.
#[derive(Debug)]
pub(super) struct Table {
    /// By task, then by teacher.
    lanes: Vec<Vec<Slot>>,
    teachers: u32,
    /// The tasks whose episodes have several turns.
    episodes: Vec<bool>,
}

impl Table {
    /// A table for these tasks, each a mark whether its episodes have several turns, and so many teachers.
    pub(super) fn new(episodes: Vec<bool>, teachers: usize) -> Self {
        let lanes = vec![Vec::new(); episodes.len() * teachers];
        Self { lanes, teachers: u32::try_from(teachers).unwrap_or(u32::MAX), episodes }
    }

    /// The same without its samples.
    pub(super) fn emptied(&self) -> Self {
        Self::new(self.episodes.clone(), self.teachers as usize)
    }

    /// What is known of a sample.
    pub(super) fn get(&self, place: SampleId) -> Slot {
        self.find(place).cloned().unwrap_or_default()
    }

    /// Whether nothing is to be asked for a sample any more: its one answer is there, or its episode is over.
    pub(super) fn is_complete(&self, place: SampleId) -> bool {
        self.find(place).is_some_and(|slot| self.is_whole(place.task, slot))
    }

    /// Whether episodes of a task have several turns.
    pub(super) fn is_episode(&self, task: u32) -> bool {
        self.episodes[task as usize]
    }

    /// Notes where the answer of a turn is stored. The first of several stays; `false` if there was one
    /// already, or the turn before it is not there.
    pub(super) fn store(&mut self, place: SampleId, turn: u32, offset: u64) -> bool {
        let slot = self.slot(place);
        let new = slot.answers.len() == turn as usize;
        if new {
            slot.answers.push(offset);
        }
        new
    }

    /// Notes that a trace is stored elsewhere.
    pub(super) fn restore(&mut self, place: SampleId, offset: u64) {
        self.slot(place).answers = vec![offset];
    }

    /// Notes what the judge saw, and where that is stored.
    pub(super) fn judge(
        &mut self,
        place: SampleId,
        verdict: Option<VerdictName>,
        offset: Option<u64>,
    ) {
        let slot = self.slot(place);
        if verdict.is_some() {
            (slot.verdict, slot.judged) = (verdict, offset);
        }
    }

    /// Every sample that is complete, by task, teacher and sample.
    pub(super) fn complete(&self) -> impl Iterator<Item = (SampleId, &Slot)> {
        self.lanes.iter().zip(0..).flat_map(move |(slots, lane)| {
            let (task, teacher) = (lane / self.teachers, lane % self.teachers);
            let places = slots.iter().zip(0..).filter(move |(slot, _)| self.is_whole(task, slot));
            places.map(move |(slot, sample)| (SampleId { task, teacher, sample }, slot))
        })
    }

    fn is_whole(&self, task: u32, slot: &Slot) -> bool {
        !slot.answers.is_empty() && (slot.verdict.is_some() || !self.is_episode(task))
    }

    fn find(&self, place: SampleId) -> Option<&Slot> {
        self.lanes.get(self.lane(place))?.get(place.sample as usize)
    }

    fn lane(&self, place: SampleId) -> usize {
        place.task as usize * self.teachers as usize + place.teacher as usize
    }

    fn slot(&mut self, place: SampleId) -> &mut Slot {
        let lane = self.lane(place);
        let slots = &mut self.lanes[lane];
        let at = place.sample as usize;
        if slots.len() <= at {
            slots.resize(at + 1, Slot::default());
        }
        &mut slots[at]
    }
}

#[cfg(test)]
mod tests {
    use whetstone_core::outcome::Observation;

    use super::*;

    fn place(task: u32, teacher: u32, sample: u32) -> SampleId {
        SampleId { task, teacher, sample }
    }

    #[test]
    fn what_is_stored_comes_by_task_teacher_and_sample_and_once() {
        let mut table = Table::new(vec![false; 3], 2);
        assert!(table.store(place(2, 0, 1), 0, 10));
        assert!(table.store(place(0, 1, 3), 0, 20));
        assert!(!table.store(place(0, 1, 3), 0, 30), "it is stored already");
        assert!(table.store(place(2, 0, 0), 0, 40));
        assert!(table.store(place(0, 0, 4), 0, 50));
        let stored: Vec<_> =
            table.complete().map(|(place, slot)| (place, slot.answers[0])).collect();
        let expected = [
            (place(0, 0, 4), 50),
            (place(0, 1, 3), 20),
            (place(2, 0, 0), 40),
            (place(2, 0, 1), 10),
        ];
        assert_eq!(stored, expected);
        assert!(!table.is_complete(place(1, 0, 7)) && !table.is_complete(place(0, 1, 4)));
    }

    #[test]
    fn an_episode_is_complete_with_its_verdict_and_a_turn_needs_the_one_before() {
        let mut table = Table::new(vec![true], 1);
        let sample = place(0, 0, 0);
        assert!(!table.store(sample, 1, 5), "the first turn is missing");
        assert!(table.store(sample, 0, 10) && table.store(sample, 1, 20));
        assert!(!table.is_complete(sample));
        let seen: Observation = serde_json::from_str(r#"{"kind":"guess","solved":true}"#).unwrap();
        table.judge(sample, Some(VerdictName::from(&seen)), Some(30));
        assert!(table.is_complete(sample));
        let slot = table.get(sample);
        assert_eq!((slot.answers, slot.judged), (vec![10, 20], Some(30)));
    }
}
