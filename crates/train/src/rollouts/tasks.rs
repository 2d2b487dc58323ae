//! The tasks of a step, and their rollouts.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use whetstone_core::Message;
use whetstone_core::config::{Config, Sampling};
use whetstone_core::seed::Seed;
use whetstone_core::task::{Task, TaskId};
use whetstone_infer::{Headway, Local, Usage, Watch};
use whetstone_rollout::collect::{
    Asked, Group, Progress as Collected, Supply, Timeline, check_stop, collect, collect_alive,
};

use super::Collection;
use super::collecting::{collecting, progress_of};
use super::curriculum::{Taken, TaskOrder};
use crate::error::TrainError;
use crate::example::Example;
use crate::order::shuffled;
use crate::plan::Plan;
use crate::session::Progress;
use crate::student::Student;
use crate::watch::Phase;

/// A task, and what the teacher said of it.
#[derive(Debug, Clone, Copy)]
pub struct TaskWithTraces<'a> {
    /// The task.
    pub task: &'a Task,
    /// Passing traces, as the student would say them.
    pub rows: &'a [Example],
}

/// The rollouts of a step, and the teacher's rows of the same tasks.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct StepRollouts {
    /// All that were sampled, in the order of their tasks; if some were drawn in the place of others,
    /// those with variance first, and last those that were replaced.
    pub(crate) groups: Vec<Group>,
    /// Groups that others were drawn in the place of, or that were drawn in vain: they count in no
    /// denominator.
    pub(crate) replaced: usize,
    /// The teacher's rows of the same tasks.
    pub(crate) teacher: Vec<Example>,
    /// Tasks that were taken.
    pub(crate) consumed: usize,
    pub(crate) usage: Usage,
    pub(crate) timeline: Timeline,
    /// Time that sampling took, the judging of what was left included.
    pub(crate) sampling: Duration,
    /// Whether they are those of a file: nothing was sampled.
    pub(crate) is_recorded: bool,
    /// Whether the prompts ended inside the thinking tag.
    pub(crate) thinking_opened: bool,
    /// The probabilities of a process reward model: of each group, of each rollout, one for each transition.
    pub(crate) process: Vec<Vec<Vec<f64>>>,
}

impl StepRollouts {
    /// The number of groups that count in the step: the first ones.
    pub(crate) fn counting(&self) -> usize {
        self.groups.len().saturating_sub(self.replaced)
    }
}

/// A step that is to come.
#[derive(Clone, Copy)]
pub(crate) struct NextStep<'b> {
    pub(crate) student: &'b Student,
    pub(crate) collection: Collection<'b>,
    pub(crate) plan: &'b Plan,
    pub(crate) progress: &'b Progress,
}

/// The tasks, and in which order they come.
#[derive(Debug)]
pub(crate) struct Tasks<'a> {
    all: &'a [TaskWithTraces<'a>],
    order: TaskOrder,
    seed: Seed,
}

impl<'a> Tasks<'a> {
    /// There must be one.
    pub(crate) fn new(seed: Seed, sampling: Sampling, all: &'a [TaskWithTraces<'a>]) -> Self {
        let order = TaskOrder::new(seed, sampling, all.iter().map(|task| task.task));
        Self { all, order, seed }
    }

    /// The rollouts of a step; `None` if it was told to stop meanwhile.
    pub(crate) fn sample(
        &mut self,
        next: NextStep<'_>,
    ) -> Result<Option<StepRollouts>, TrainError> {
        let watch = next.collection.watch;
        watch.phase(Phase::Sampling);
        let began = Instant::now();
        let step_rollouts = self.collect(next);
        if watch.stopped() {
            return Ok(None);
        }
        let mut step_rollouts = step_rollouts?;
        number_apart(&mut step_rollouts.groups);
        step_rollouts.sampling = began.elapsed();
        Ok(Some(step_rollouts))
    }

    fn collect(&mut self, next: NextStep<'_>) -> Result<StepRollouts, TrainError> {
        let NextStep { student, collection, plan, progress } = next;
        let Collection { config, sampling, watch, limits, .. } = collection;
        let wanted = usize::try_from(plan.items_per_step).unwrap_or(usize::MAX);
        let all = wanted * sampling.samples;
        let thinking_opened = student.thinking_opened;
        let render = |messages: &[Message]| student.render(messages);
        let on_event = |now: Collected<'_>| watch.go_on(progress_of(now, all));
        let collecting = collecting(student, collection, &render, &on_event);
        let look = |_: &dyn Fn() -> Headway| check_stop(watch.stop);
        let generator = Local::new(&student.decoder, &student.model.tokenizer, limits);
        let mut generator = generator.watched(Watch(&look));
        let mut position = progress.position;
        let mut asked = std::iter::from_fn(|| {
            let at = self.order.at(position, progress);
            let seed = self.seed.derive("rollouts", position);
            position += 1;
            Some(Asked { task: self.all[at].task, samples: sampling.samples, seed })
        });
        let rounds = sampling.dynamic_rounds;
        if rounds == 0 {
            let asked: Vec<Asked<'_>> = asked.take(wanted).collect();
            let found = collect(&collecting, &mut generator, &asked)?;
            let (groups, usage, timeline) = (found.groups, found.usage, found.timeline);
            let step = StepRollouts {
                groups,
                teacher: self.teacher_rows(next, 0..wanted),
                consumed: wanted,
                usage,
                timeline,
                thinking_opened,
                ..StepRollouts::default()
            };
            return Ok(step);
        }
        let floor = config.alive_floor();
        let supply = Supply { wanted, max_rounds: rounds + 1, floor };
        let found = collect_alive(&collecting, &mut generator, supply, &mut asked)?;
        // A step is as many groups as were wanted. Where fewer are alive, dead ones of the first round fill
        // it up: as many of these are left as later rounds found no group for.
        let places = found.live_places.into_iter().chain(found.dead_places);
        let teacher = self.teacher_rows(next, places.take(wanted));
        let groups: Vec<Group> = found.live.into_iter().chain(found.dead).collect();
        let replaced = groups.len().saturating_sub(wanted);
        let (consumed, usage, timeline) = (found.consumed, found.usage, found.timeline);
        let step = StepRollouts { groups, replaced, teacher, consumed, ..StepRollouts::default() };
        Ok(StepRollouts { usage, timeline, thinking_opened, ..step })
    }

    /// Rows of the teacher for tasks of a step, by their places among those that it drew.
    fn teacher_rows(
        &mut self,
        next: NextStep<'_>,
        places: impl Iterator<Item = usize>,
    ) -> Vec<Example> {
        let NextStep { collection, progress, .. } = next;
        let rows =
            |place| self.teacher(collection.config, progress.position + place as u64, progress);
        places.flat_map(rows).collect()
    }

    /// Rows of the teacher for the task at a position, another choice each time.
    fn teacher(&mut self, config: &Config, position: u64, progress: &Progress) -> Vec<Example> {
        let rows = self.all[self.order.at(position, progress)].rows;
        let order = shuffled(self.seed.derive("traces", position), 0, rows.len());
        let count = config.dual_source.teacher_traces_per_task as usize;
        order.into_iter().take(count).map(|row| rows[row].clone()).collect()
    }

    /// Counts what a step has taken, and who was solved.
    pub(crate) fn count(
        &mut self,
        config: &Config,
        step_rollouts: &StepRollouts,
        progress: &mut Progress,
    ) {
        let StepRollouts { groups, consumed, .. } = step_rollouts;
        let taken = Taken { groups, consumed: *consumed, floor: config.alive_floor() };
        self.order.count(taken, progress);
    }
}

/// Gives the rollouts of a task that a step took twice numbers of their own: where few tasks are left of
/// an epoch, the next one may begin with the same. Lines name a rollout by step, task and number.
pub(crate) fn number_apart(groups: &mut [Group]) {
    let mut taken: BTreeMap<TaskId, usize> = BTreeMap::new();
    for group in groups {
        let first = taken.entry(group.task.clone()).or_default();
        group.rollouts.iter_mut().for_each(|rollout| rollout.sample += *first);
        group.dropped.iter_mut().for_each(|dropped| dropped.sample += *first);
        *first += group.rollouts.len() + group.dropped.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{dropped, group, rollout, settings, task};

    fn with_traces<'a>(tasks: &'a [Task], rows: &'a [Example]) -> Vec<TaskWithTraces<'a>> {
        tasks.iter().map(|task| TaskWithTraces { task, rows }).collect()
    }

    #[test]
    fn a_task_that_comes_twice_has_no_number_twice() {
        let two = || vec![rollout(0, &[7], 1.0), rollout(2, &[7], 0.0)];
        let mut first = group("a", two());
        first.dropped = vec![dropped(1)];
        let mut groups = [first, group("b", two()), group("a", two())];
        groups[2].dropped = vec![dropped(1)];
        number_apart(&mut groups);
        let numbers = groups.each_ref().map(|group| {
            let judged = group.rollouts.iter().map(|rollout| rollout.sample);
            judged.chain(group.dropped.iter().map(|dropped| dropped.sample)).collect::<Vec<_>>()
        });
        assert_eq!(numbers, [vec![0, 2, 1], vec![0, 2], vec![3, 5, 4]]);
    }

    #[test]
    fn the_teacher_says_another_of_its_rows_each_time() {
        let tasks = [task("t/0", "1")];
        let rows: Vec<Example> = (0..6).map(|at| Example::new(&[1], &[at])).collect();
        let all = with_traces(&tasks, &rows);
        let mut config = settings();
        config.dual_source.teacher_traces_per_task = 2;
        let (mut found, progress) =
            (Tasks::new(Seed::new(config.seed), config.grpo_sampling(), &all), Progress::default());
        let mut choices = Vec::new();
        for position in 0..20 {
            let choice = found.teacher(&config, position, &progress);
            assert_eq!(choice.len(), 2);
            assert_ne!(choice[0], choice[1]);
            assert_eq!(choice, found.teacher(&config, position, &progress), "the same again");
            choices.push(choice);
        }
        assert!(choices.windows(2).any(|pair| pair[0] != pair[1]));
        let seen = rows.iter().filter(|row| choices.concat().contains(row)).count();
        assert_eq!(seen, 6, "all of them in time");
        config.dual_source.teacher_traces_per_task = 9;
        assert_eq!(found.teacher(&config, 0, &progress).len(), 6, "no more than there are");
    }
}
