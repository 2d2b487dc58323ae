//! The entry of every line while a file is scored: 40 bytes, and 4 more to sort them.
//!
//! Texts and verdicts are on the disk; groups and advantages need only these numbers.

use whetstone_algo::advantage::{self, GroupRule};
use whetstone_core::group::{GroupReward, Spread};
use whetstone_core::reward::Reward;

/// The state of a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum EntryState {
    /// Nothing yet.
    #[default]
    Open,
    /// Blank, or no rollout: it has no place in a group.
    Aside,
    /// No rollout; it goes among the rejected.
    Rejected,
    /// It has a reward.
    Scored,
    /// It could not be judged.
    Failed,
}

/// The numbers of one line.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Entry {
    pub(super) step: u64,
    /// The reward's total; the advantage once [`Table::weigh`] has been called.
    pub(super) value: f64,
    /// The tests term of the reward; NaN, which takes no more room, where it has none.
    pub(super) tests: f64,
    /// Where its result is in the journal.
    pub(super) offset: u64,
    pub(super) task: u32,
    pub(super) state: EntryState,
    /// It had scores before, which are cut out of its text.
    pub(super) rescored: bool,
}

impl Entry {
    /// The same line with its reward.
    pub(super) fn scored(self, reward: &Reward) -> Self {
        let tests = reward.tests().unwrap_or(f64::NAN);
        Self { state: EntryState::Scored, value: reward.total(), tests, ..self }
    }

    fn reward(&self) -> GroupReward {
        let tests = (!self.tests.is_nan()).then_some(self.tests);
        GroupReward::judged(self.value, tests)
    }
}

/// How many groups there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct GroupCounts {
    pub(super) groups: u64,
    /// Groups in which some line has a reward, and that are not alive.
    pub(super) dead: u64,
    /// Groups in which no line could be judged.
    pub(super) unjudged: u64,
}

/// The numbers of all lines.
#[derive(Debug, Default)]
pub(super) struct Table(Vec<Entry>);

impl Table {
    /// The entry of line `at`, counted from 0; lines that were not set are open.
    pub(super) fn get(&self, at: u64) -> Entry {
        usize::try_from(at).ok().and_then(|at| self.0.get(at)).copied().unwrap_or_default()
    }

    pub(super) fn set(&mut self, at: u64, entry: Entry) {
        let at = usize::try_from(at).expect("a line that was read fits into memory");
        if self.0.len() <= at {
            self.0.resize(at + 1, Entry::default());
        }
        self.0[at] = entry;
    }

    pub(super) fn count(&self, state: EntryState) -> u64 {
        self.0.iter().filter(|entry| entry.state == state).count() as u64
    }

    /// Lines with a reward whose task is such a one.
    pub(super) fn count_scored(&self, is_such: impl Fn(u32) -> bool) -> u64 {
        let scored = self.0.iter().filter(|entry| entry.state == EntryState::Scored);
        scored.filter(|entry| is_such(entry.task)).count() as u64
    }

    /// Turns rewards into advantages within their groups.
    pub(super) fn weigh(&mut self, rule: GroupRule) -> GroupCounts {
        let mut order: Vec<u32> = (0..u32::try_from(self.0.len()).unwrap_or(u32::MAX))
            .filter(|&at| matches!(self.entry(at).state, EntryState::Scored | EntryState::Failed))
            .collect();
        // Within a group by line, so that sums do not depend on who was done first.
        order.sort_unstable_by_key(|&at| (self.entry(at).step, self.entry(at).task, at));
        let mut counts = GroupCounts::default();
        let groups = order.chunk_by(|&a, &b| self.group_of(a) == self.group_of(b));
        let groups: Vec<&[u32]> = groups.collect();
        for members in groups {
            self.weigh_group(members, rule, &mut counts);
        }
        counts
    }

    fn weigh_group(&mut self, members: &[u32], rule: GroupRule, counts: &mut GroupCounts) {
        let scored: Vec<u32> = members
            .iter()
            .copied()
            .filter(|&at| self.entry(at).state == EntryState::Scored)
            .collect();
        let rewards: Vec<GroupReward> = scored.iter().map(|&at| self.entry(at).reward()).collect();
        counts.groups += 1;
        counts.unjudged += u64::from(rewards.is_empty());
        let alive = Spread::of(&rewards).is_alive(rule.floor);
        counts.dead += u64::from(!rewards.is_empty() && !alive);
        let advantages =
            advantage::of_group(&rewards, rule).expect("rewards are finite by their type");
        for (&at, advantage) in scored.iter().zip(advantages) {
            self.0[at as usize].value = advantage;
        }
    }

    fn entry(&self, at: u32) -> Entry {
        self.0[at as usize]
    }

    fn group_of(&self, at: u32) -> (u64, u32) {
        (self.entry(at).step, self.entry(at).task)
    }
}

#[cfg(test)]
mod tests {
    use whetstone_core::config::AdvantageBy;

    use super::*;

    const RULE: GroupRule = GroupRule { how: AdvantageBy::StandardScore, floor: 0.01 };

    #[test]
    fn an_entry_is_small() {
        assert!(size_of::<Entry>() <= 40, "{}", size_of::<Entry>());
    }

    #[test]
    fn groups_are_made_by_step_and_task_wherever_their_lines_stand() {
        let mut table = Table::default();
        let scored = EntryState::Scored;
        let lines = [
            (0, 0, 1.0, scored),
            (0, 1, 0.5, scored),
            (1, 0, 0.3, scored),
            (0, 0, 0.0, EntryState::Failed),
            (0, 0, 0.0, scored),
            (0, 1, 0.5, scored),
            (9, 9, 0.0, EntryState::Failed),
            (0, 0, 0.0, EntryState::Rejected),
        ];
        for (at, (step, task, value, state)) in (0..).zip(lines) {
            let entry = Entry { step, value, tests: value, task, state, ..Entry::default() };
            table.set(at, entry);
        }
        let counts = table.weigh(RULE);
        // Groups: (0,0) lives with two members, (0,1) is dead, (1,0) has one, (9,9) none.
        assert_eq!(counts, GroupCounts { groups: 4, dead: 2, unjudged: 1 });
        let values: Vec<_> = (0..6).map(|at| table.get(at).value).collect();
        assert_eq!(values, [1.0, 0.0, 0.0, 0.0, -1.0, 0.0]);
        assert_eq!(table.get(100).state, EntryState::Open);
    }

    #[test]
    fn a_group_whose_tests_do_not_differ_has_no_advantage_and_is_dead() {
        let weigh = |tests: [f64; 2]| {
            let mut table = Table::default();
            for (at, (value, tests)) in (0..).zip([0.5, 0.4].into_iter().zip(tests)) {
                let entry = Entry { value, tests, state: EntryState::Scored, ..Entry::default() };
                table.set(at, entry);
            }
            let dead = table.weigh(RULE).dead;
            (dead, [table.get(0).value, table.get(1).value])
        };
        assert_eq!(weigh([0.0, 0.0]), (1, [0.0, 0.0]), "form alone");
        assert_eq!(weigh([1.0, 0.0]), (0, [1.0, -1.0]));
        assert_eq!(weigh([f64::NAN; 2]), (0, [1.0, -1.0]), "nothing was run: totals decide");
    }
}
