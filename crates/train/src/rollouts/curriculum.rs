//! The order of tasks, epoch by epoch, and which steps say that nothing can be learnt.
//!
//! An epoch has every task once: shuffled, or from easy to hard. By pass rate it begins shuffled, since nothing is
//! known; later the tasks closest to one half come first, and those that were always or never solved lately are
//! left out, but for a few that are looked at again. So its epochs are shorter, and which tasks they have follows
//! from what was known when the first of them was drawn: a resumed run draws the same.
//!
//! The curricula put hopeless tasks next to each other, so that a row of steps without a gradient says nothing
//! about the student there. `grpo.patience_steps` does not count them while other tasks can be learnt from.

use std::collections::BTreeMap;

use whetstone_core::config::{Curriculum, Sampling};
use whetstone_core::seed::Seed;
use whetstone_core::task::Task;
use whetstone_rollout::collect::Group;

use super::difficulty::level;
use crate::order::shuffled;
use crate::session::{Epoch, Patience, Progress};

/// Visits after which a task that was always or never solved is left out, and the fewest rollouts that these must
/// have: two visits of a single sample say little.
const DECISIVE_VISITS: u64 = 2;
const LEAST_ROLLOUTS: u64 = 8;
/// Of the tasks that are left out a tenth is looked at again, and they are at most a tenth of an epoch.
const LOOKS: usize = 10;

/// The order of the tasks of a training.
#[derive(Debug)]
pub(super) struct TaskOrder {
    tasks: Vec<OrderedTask>,
    curriculum: Curriculum,
    seed: Seed,
    /// Rollouts in a row that all solve a task, or of which none does, after which it is left out.
    decisive: u64,
    /// The orders of the epoch under way and of those that the step at hand reaches into.
    epochs: BTreeMap<u64, Vec<usize>>,
}

#[derive(Debug)]
struct OrderedTask {
    id: String,
    difficulty: Difficulty,
}

/// Nobody knows how hard tasks without a level are: they come last.
type Difficulty = (bool, Option<u64>);

/// What a step took.
#[derive(Clone, Copy)]
pub(super) struct Taken<'g> {
    pub(super) groups: &'g [Group],
    /// Tasks that it took of the order.
    pub(super) consumed: usize,
    /// The floor of a group that is alive.
    pub(super) floor: f64,
}

impl TaskOrder {
    /// There must be a task.
    pub(super) fn new<'t>(
        seed: Seed,
        sampling: Sampling,
        tasks: impl Iterator<Item = &'t Task>,
    ) -> Self {
        let task = |task: &Task| {
            let level = task.difficulty.as_deref().and_then(level);
            OrderedTask { id: task.id.to_string(), difficulty: (level.is_none(), level) }
        };
        Self {
            tasks: tasks.map(task).collect(),
            curriculum: sampling.curriculum,
            seed: seed.derive("grpo tasks", 0),
            decisive: (DECISIVE_VISITS * sampling.samples as u64).max(LEAST_ROLLOUTS),
            epochs: BTreeMap::new(),
        }
    }

    /// The index of the task at a position.
    pub(super) fn at(&mut self, position: u64, progress: &Progress) -> usize {
        let epoch = self.epoch_of(position, progress);
        let place = usize::try_from(position - epoch.first).expect("within an epoch");
        self.order(epoch.number, progress)[place]
    }

    /// Counts what a step has taken, and who was solved.
    ///
    /// An epoch's order is made from what was known when its first task was drawn: of a step that reaches into a
    /// new epoch, only what was known before it.
    pub(super) fn count(&mut self, taken: Taken<'_>, progress: &mut Progress) {
        let Taken { groups, consumed, floor } = taken;
        let (before, after) = (progress.position, progress.position + consumed as u64);
        let last = self.epoch_of(after.saturating_sub(1).max(before), progress);
        let end = last.first + self.order(last.number, progress).len() as u64;
        let next = if after == end { Epoch { number: last.number + 1, first: end } } else { last };
        let patience = self.patience(groups, progress);
        if last != self.current(progress) {
            progress.begin_epoch();
        }
        progress.count(groups, floor, patience);
        if self.curriculum == Curriculum::PassRate {
            progress.count_streaks(groups, floor);
            progress.epoch = Some(next);
        }
        if next != last {
            progress.begin_epoch();
        }
        progress.position = after;
        self.epochs.retain(|&number, _| number == last.number && last == next);
    }

    /// The epoch that the next task is of.
    fn current(&self, progress: &Progress) -> Epoch {
        let (position, count) = (progress.position, self.tasks.len() as u64);
        match self.curriculum {
            Curriculum::Shuffled | Curriculum::Difficulty => {
                Epoch { number: position / count, first: position - position % count }
            }
            // A checkpoint of an earlier version begins another epoch.
            Curriculum::PassRate => {
                progress.epoch.unwrap_or(Epoch { number: position / count, first: position })
            }
        }
    }

    /// The epoch of a position that is not before the next task.
    fn epoch_of(&mut self, position: u64, progress: &Progress) -> Epoch {
        let mut epoch = self.current(progress);
        loop {
            let end = epoch.first + self.order(epoch.number, progress).len() as u64;
            if position < end {
                return epoch;
            }
            epoch = Epoch { number: epoch.number + 1, first: end };
        }
    }

    /// The tasks of an epoch, in their order.
    fn order(&mut self, number: u64, progress: &Progress) -> &[usize] {
        if !self.epochs.contains_key(&number) {
            let mut order = shuffled(self.seed, number, self.tasks.len());
            match self.curriculum {
                Curriculum::Shuffled => {}
                Curriculum::Difficulty => order.sort_by_key(|&at| self.tasks[at].difficulty),
                Curriculum::PassRate => {
                    // What was known when this epoch began, or, of one to come, what is known now.
                    let known = usize::from(number != self.current(progress).number);
                    order = self.by_pass_rate(order, progress, known);
                }
            }
            self.epochs.insert(number, order);
        }
        &self.epochs[&number]
    }

    /// Tasks that can be learnt from, the half-solved first, and a few of the others.
    fn by_pass_rate(&self, order: Vec<usize>, progress: &Progress, known: usize) -> Vec<usize> {
        let is_left_out = |&at: &usize| {
            progress.streak(&self.tasks[at].id)[known].unsigned_abs() >= self.decisive
        };
        let (left_out, mut kept): (Vec<_>, Vec<_>) = order.into_iter().partition(is_left_out);
        kept.sort_by_key(|&at| {
            let counts = progress.solved.get(&self.tasks[at].id).copied().unwrap_or_default();
            distance([counts[2 * known], counts[2 * known + 1]])
        });
        let room = if kept.is_empty() { usize::MAX } else { kept.len().div_ceil(LOOKS - 1) };
        let looks = left_out.len().div_ceil(LOOKS).min(room);
        kept.extend(left_out.into_iter().take(looks));
        kept
    }

    /// Whether a step without a gradient would say that nothing can be learnt.
    fn patience(&self, groups: &[Group], progress: &Progress) -> Patience {
        let task = |group: &Group| self.tasks.iter().find(|task| task.id == group.task.as_str());
        let is_hopeless: &dyn Fn(&OrderedTask) -> bool = match self.curriculum {
            Curriculum::Shuffled => return Patience::Counts,
            Curriculum::Difficulty => {
                let passed = |id: &String| progress.solved.get(id).is_some_and(|of| of[3] > 0);
                let solved = self.tasks.iter().filter(|task| passed(&task.id));
                let Some(hardest) = solved.map(|task| task.difficulty).max() else {
                    return Patience::Counts;
                };
                &move |task: &OrderedTask| task.difficulty > hardest
            }
            Curriculum::PassRate => &|task: &OrderedTask| progress.streak(&task.id)[1] != 0,
        };
        let is_spared =
            groups.iter().filter_map(task).all(is_hopeless) && !self.tasks.iter().all(is_hopeless);
        if is_spared { Patience::Spared } else { Patience::Counts }
    }
}

/// How far from being solved half of the time: that first, never or always last, and what is unknown
/// beside these.
fn distance([seen, passed]: [u64; 2]) -> u64 {
    (1000 * passed).checked_div(seen).map_or(500, |rate| rate.abs_diff(500))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{group, rollout, task};

    fn sampling(curriculum: Curriculum) -> Sampling {
        Sampling { curriculum, samples: 4, max_tokens: 8, temperature: 1.0, dynamic_rounds: 0 }
    }

    fn order_of(curriculum: Curriculum, tasks: &[Task]) -> TaskOrder {
        TaskOrder::new(Seed::new(42), sampling(curriculum), tasks.iter())
    }

    fn tasks(levels: &[&str]) -> Vec<Task> {
        levels.iter().enumerate().map(|(at, level)| task(&format!("t/{at}"), level)).collect()
    }

    /// A group of four rollouts of a task, of which so many pass.
    fn visit(at: usize, passing: usize) -> Group {
        let rollouts =
            (0..4).map(|sample| rollout(sample, &[7], f64::from(u8::from(sample < passing))));
        group(&format!("t/{at}"), rollouts.collect())
    }

    /// A training of `each` tasks a step, in which `passing` says how many of four rollouts pass.
    struct Run<'p> {
        curriculum: Curriculum,
        tasks: Vec<Task>,
        passing: &'p dyn Fn(usize, usize) -> usize,
        each: u64,
        /// Whether it resumes before every step.
        resumes: bool,
    }

    impl Run<'_> {
        /// The tasks in the order in which they came, and the progress in the end.
        fn steps(&self, steps: usize) -> (Vec<usize>, Progress) {
            let mut order = order_of(self.curriculum, &self.tasks);
            let mut progress = Progress::new("grpo");
            let mut came = Vec::new();
            for step in 0..steps {
                if self.resumes {
                    order = order_of(self.curriculum, &self.tasks);
                    let text = serde_json::to_string(&progress).unwrap();
                    progress = serde_json::from_str(&text).unwrap();
                }
                let positions = progress.position..progress.position + self.each;
                let taken: Vec<usize> = positions.map(|at| order.at(at, &progress)).collect();
                let groups: Vec<Group> =
                    taken.iter().map(|&at| visit(at, (self.passing)(at, step))).collect();
                let consumed = taken.len();
                order.count(Taken { groups: &groups, consumed, floor: 0.01 }, &mut progress);
                came.extend(taken);
            }
            (came, progress)
        }
    }

    /// Of ten tasks two are always solved, two half of the time, and six never.
    fn mixed(at: usize, _: usize) -> usize {
        [4, 4, 2, 2, 0, 0, 0, 0, 0, 0][at]
    }

    fn mixed_run(curriculum: Curriculum, each: u64) -> Run<'static> {
        Run { curriculum, tasks: tasks(&["1"; 10]), passing: &mixed, each, resumes: false }
    }

    #[test]
    fn the_half_solved_come_first_and_the_unknown_with_the_never_solved() {
        let counts = [[4, 2], [4, 1], [4, 3], [4, 0], [4, 4], [0, 0]];
        assert_eq!(counts.map(distance), [0, 250, 250, 500, 500, 500]);
    }

    #[test]
    fn every_epoch_goes_from_easy_to_hard_and_tasks_without_a_level_come_last() {
        let tasks = tasks(&["3", "odd", "1", "2", "", "1"]);
        let mut order = order_of(Curriculum::Difficulty, &tasks);
        let came: Vec<usize> = (0..12).map(|at| order.at(at, &Progress::default())).collect();
        for epoch in came.chunks(6) {
            let levels = epoch.iter().map(|&at| tasks[at].difficulty.as_deref().unwrap());
            assert_eq!(levels.collect::<Vec<_>>()[..4], ["1", "1", "2", "3"]);
        }
        let plain = shuffled(Seed::new(42).derive("grpo tasks", 0), 1, 6);
        let equal = |order: &[usize]| -> Vec<usize> {
            order.iter().copied().filter(|at| [2, 5].contains(at)).collect()
        };
        assert_eq!(equal(&came[6..]), equal(&plain), "equals stay as they were shuffled");
    }

    #[test]
    fn an_epoch_has_every_task_once_also_where_a_step_reaches_into_the_next() {
        for curriculum in [Curriculum::Shuffled, Curriculum::Difficulty] {
            for each in [1, 3, 10, 25] {
                let (came, _) = mixed_run(curriculum, each).steps(12);
                for epoch in came.chunks_exact(10) {
                    let mut sorted = epoch.to_vec();
                    sorted.sort_unstable();
                    assert_eq!(sorted, (0..10).collect::<Vec<_>>(), "{each} a step: {came:?}");
                }
            }
        }
    }

    #[test]
    fn what_was_always_or_never_solved_in_two_visits_is_left_out_but_for_a_tenth() {
        let (came, _) = mixed_run(Curriculum::PassRate, 10).steps(6);
        let (known, later) = came.split_at(20);
        assert_eq!(known.iter().filter(|&&at| at == 9).count(), 2, "twice, to know");
        let mut half: Vec<usize> = known[10..12].to_vec();
        half.sort_unstable();
        assert_eq!(half, [2, 3], "the half-solved come first in the second epoch");
        // From then on an epoch is both of these and one of the other eight.
        for epoch in later.chunks_exact(3) {
            let looks = epoch.iter().filter(|at| ![2, 3].contains(at)).count();
            assert_eq!(looks, 1, "{later:?}");
        }
    }

    #[test]
    fn a_resumed_run_takes_the_same_tasks() {
        for each in [1, 2, 3, 4, 7, 10, 25] {
            let run = mixed_run(Curriculum::PassRate, each);
            let resumed = Run { resumes: true, ..mixed_run(Curriculum::PassRate, each) };
            assert_eq!(run.steps(30), resumed.steps(30), "{each} a step");
        }
    }

    #[test]
    fn a_task_that_is_looked_at_again_and_can_be_learnt_by_now_comes_back() {
        let learns =
            |at: usize, step: usize| if at == 4 && step > 10 { 2 } else { mixed(at, step) };
        let run = Run { passing: &learns, ..mixed_run(Curriculum::PassRate, 5) };
        let (came, progress) = run.steps(100);
        let visits = |part: &[usize]| part.iter().filter(|&&at| at == 4).count();
        assert_eq!(progress.streak("t/4"), [0, 0]);
        assert!(visits(&came[450..]) > 10, "of the last fifty: {}", visits(&came[450..]));
        assert!(visits(&came[20..55]) < 5, "before, it was left out");
    }

    #[test]
    fn of_tasks_that_are_all_hopeless_a_tenth_is_looked_at() {
        let never = |_, _| 0;
        let run = Run { passing: &never, ..mixed_run(Curriculum::PassRate, 10) };
        let (came, progress) = run.steps(5);
        assert_eq!(came.len(), 50);
        assert_eq!(progress.dead_steps, 5, "and patience runs out");
    }

    #[test]
    fn a_checkpoint_of_an_earlier_version_goes_on() {
        let tasks = tasks(&["1"; 10]);
        let (mut order, mut progress) =
            (order_of(Curriculum::PassRate, &tasks), Progress::new("grpo"));
        progress.position = 25;
        let came: Vec<usize> = (25..35).map(|at| order.at(at, &progress)).collect();
        let mut sorted = came.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..10).collect::<Vec<_>>());
        let groups = [visit(came[0], 2)];
        order.count(Taken { groups: &groups, consumed: 1, floor: 0.01 }, &mut progress);
        assert_eq!(progress.epoch, Some(Epoch { number: 2, first: 25 }));
        assert_eq!(order.at(26, &progress), came[1]);
    }

    /// Steps in a row without a gradient, after one in which task 2 could be learnt from.
    fn dead_steps(curriculum: Curriculum, levels: &[&str], steps: &[&[usize]]) -> u64 {
        let tasks = tasks(levels);
        let mut order = order_of(curriculum, &tasks);
        let mut progress = Progress::new("grpo");
        let first = [visit(2, 2), visit(3, 0)];
        order.count(Taken { groups: &first, consumed: 2, floor: 0.01 }, &mut progress);
        for step in steps {
            let groups: Vec<Group> = step.iter().map(|&at| visit(at, 0)).collect();
            let consumed = groups.len();
            order.count(Taken { groups: &groups, consumed, floor: 0.01 }, &mut progress);
        }
        progress.dead_steps
    }

    #[test]
    fn patience_counts_what_can_be_learnt_from() {
        let levels = ["1", "1", "1", "2", "2"];
        let hopeless: &[&[usize]] = &[&[3], &[3], &[3]];
        assert_eq!(dead_steps(Curriculum::Shuffled, &levels, hopeless), 3);
        assert_eq!(dead_steps(Curriculum::PassRate, &levels, hopeless), 0, "it was never solved");
        assert_eq!(dead_steps(Curriculum::Difficulty, &levels, hopeless), 0, "harder than all");
        // Nobody knows task 0 yet, and task 2 was solved half of the time.
        assert_eq!(dead_steps(Curriculum::PassRate, &levels, &[&[3, 0]]), 1);
        assert_eq!(dead_steps(Curriculum::PassRate, &levels, &[&[2], &[3]]), 1);
        assert_eq!(dead_steps(Curriculum::Difficulty, &levels, &[&[0, 4]]), 1);
        // Once nothing is left that can be learnt from, every step counts.
        let all: &[&[usize]] = &[&[0, 1, 2], &[4], &[3], &[3]];
        assert_eq!(dead_steps(Curriculum::PassRate, &levels, all), 4);
    }
}
