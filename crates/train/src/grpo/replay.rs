//! Replay: past successes of the tasks that no rollout of a step solves.
//!
//! A task that was solved and is solved no more has a dead group: nothing in the step says what to do. With
//! `dual_source.replay` its last successes join the self-SFT rows of the step, behind the step's own best. What
//! is kept, and how much, is in [`Successes`].

use whetstone_core::config::Config;

use super::best;
use crate::example::Example;
use crate::rollouts::tasks::StepRollouts;
use crate::student::Student;
use crate::successes::Successes;

/// The rows of past successes that join a step: of each task that no rollout solves, in the order of groups.
pub(super) fn replayed(
    config: &Config,
    successes: &Successes,
    step_rollouts: &StepRollouts,
) -> Vec<Example> {
    if config.dual_source.replay == 0 {
        return Vec::new();
    }
    let longest = config.training.max_length as usize;
    let unsolved = step_rollouts.groups.iter().filter(|group| group.is_unsolved());
    let rows = unsolved.flat_map(|group| successes.of(group.task.as_str()));
    rows.filter(|row| row.tokens.len() <= longest).cloned().collect()
}

/// The rollouts of a step by its number.
#[derive(Clone, Copy)]
pub(super) struct DoneStep<'a> {
    pub(super) step: u64,
    pub(super) step_rollouts: &'a StepRollouts,
}

/// Keeps the successes of a step for later ones.
pub(super) fn remember(
    student: &Student,
    config: &Config,
    done: DoneStep<'_>,
    successes: &mut Successes,
) {
    let DoneStep { step, step_rollouts } = done;
    let most = config.dual_source.replay as usize;
    if most == 0 {
        return;
    }
    for group in &step_rollouts.groups {
        let best = best::best(std::slice::from_ref(group), most);
        let rows = best.map(|rollout| best::rows(student, config, rollout));
        let new: Vec<Vec<Example>> = rows.filter(|rows| !rows.is_empty()).collect();
        if !new.is_empty() {
            successes.add(group.task.as_str(), step, new, most);
        }
    }
    successes.forget_oldest();
}

#[cfg(test)]
mod tests {
    use whetstone_rollout::collect::Group;

    use super::*;
    use crate::testing::{group, rollout, settings, student};

    fn step_of(groups: Vec<Group>) -> StepRollouts {
        StepRollouts { groups, ..StepRollouts::default() }
    }

    /// A task with the token and the worth of each of two rollouts.
    type Planted = (&'static str, [(u32, f64); 2]);
    /// The groups of a step.
    type Step = &'static [Planted];

    /// The ids that a planted sequence of steps replays, each step one group of two for each task.
    fn replay_of(replay: u32, steps: &[Step]) -> Vec<Vec<u32>> {
        let mut config = settings();
        config.dual_source.replay = replay;
        let (_dir, student) = student(&config);
        let mut successes = Successes::default();
        let mut replay = Vec::new();
        for (step, groups) in (1..).zip(steps) {
            let of = |&(task, rollouts): &Planted| {
                let [one, other] = rollouts;
                let said = |sample, (id, worth): (u32, f64)| rollout(sample, &[id], worth);
                group(task, vec![said(0, one), said(1, other)])
            };
            let step_rollouts = step_of(groups.iter().map(of).collect());
            let rows = replayed(&config, &successes, &step_rollouts);
            replay.push(rows.iter().map(|row| row.tokens[row.first]).collect());
            let done = DoneStep { step, step_rollouts: &step_rollouts };
            remember(&student, &config, done, &mut successes);
        }
        replay
    }

    #[test]
    fn a_task_that_was_solved_is_replayed_when_no_rollout_solves_it() {
        let steps: &[Step] = &[
            // Not solved before: there is nothing to replay.
            &[("a", [(7, 0.0), (8, 0.0)]), ("b", [(9, 1.0), (10, 0.0)])],
            // `a` is solved by 11, `b` still by 12, which takes the place of 9.
            &[("a", [(11, 1.0), (8, 0.0)]), ("b", [(12, 1.0), (10, 0.0)])],
            &[("a", [(7, 0.0), (8, 0.0)]), ("b", [(9, 0.0), (10, 0.0)])],
            // One that is solved is not replayed, and is kept from then on.
            &[("a", [(7, 0.0), (8, 0.0)]), ("b", [(13, 1.0), (10, 0.0)])],
            &[("b", [(9, 0.0), (10, 0.0)])],
        ];
        let none = Vec::<u32>::new;
        assert_eq!(replay_of(1, steps), [none(), none(), vec![11, 12], vec![11], vec![13]]);
        assert_eq!(replay_of(2, steps), [none(), none(), vec![11, 12, 9], vec![11], vec![13, 12]]);
        assert_eq!(replay_of(0, steps), vec![none(); 5]);
    }

    #[test]
    fn a_row_that_is_longer_than_the_settings_allow_is_not_replayed() {
        let mut config = settings();
        config.dual_source.replay = 1;
        let mut successes = Successes::default();
        successes.add("a", 1, vec![vec![Example::new(&[1], &[7; 31])]], 1);
        let unsolved = step_of(vec![group("a", vec![rollout(0, &[7], 0.0)])]);
        assert_eq!(replayed(&config, &successes, &unsolved).len(), 1);
        config.training.max_length = 31;
        assert!(replayed(&config, &successes, &unsolved).is_empty());
    }
}
