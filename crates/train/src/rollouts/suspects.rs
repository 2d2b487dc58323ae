//! Who gains by a term of the reward without passing: what to read when that term rises alone.

use whetstone_record::event::Suspect;
use whetstone_rollout::collect::{Group, Rollout};

use super::tasks::StepRollouts;

/// Completions that are named.
const MOST: usize = 3;

/// The rollouts of a step that do not pass, those to which the term pays most first. Of equal ones, the
/// first that were sampled.
pub(crate) fn suspects(step_rollouts: &StepRollouts, term: &str) -> Vec<Suspect> {
    let pay = |rollout: &Rollout| {
        rollout.outcome.reward.terms().get(term).map_or(0.0, |term| term.paid())
    };
    let all = step_rollouts
        .groups
        .iter()
        .flat_map(|group| group.rollouts.iter().map(move |rollout| (group, rollout)));
    let mut paid: Vec<_> = all
        .filter(|(_, rollout)| !rollout.outcome.is_solved())
        .map(|(group, rollout)| (pay(rollout), group, rollout))
        .filter(|(pay, ..)| *pay > 0.0)
        .collect();
    paid.sort_by(|one, other| other.0.total_cmp(&one.0));
    let suspect = |(_, group, rollout): &(f64, &Group, &Rollout)| Suspect {
        prompt_id: group.task.to_string(),
        group_id: rollout.sample as u64,
    };
    paid.iter().take(MOST).map(suspect).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{group, rollout};

    #[test]
    fn those_who_gain_most_without_passing_come_first() {
        // A worth of 1 passes.
        let first = group("a", vec![rollout(0, &[7], 1.0), rollout(1, &[7], 0.2)]);
        let second = group("b", vec![rollout(0, &[7], 0.0), rollout(2, &[7], 0.9)]);
        let third = group("c", vec![rollout(4, &[7], 0.2), rollout(5, &[7], 0.1)]);
        let step_rollouts =
            StepRollouts { groups: vec![first, second, third], ..StepRollouts::default() };
        let found = suspects(&step_rollouts, "tests")
            .into_iter()
            .map(|suspect| (suspect.prompt_id, suspect.group_id));
        let expected = [("b", 2), ("a", 1), ("c", 4)].map(|(task, at)| (task.to_owned(), at));
        assert_eq!(found.collect::<Vec<_>>(), expected);
        assert_eq!(suspects(&step_rollouts, "another"), []);
    }
}
