//! Rollouts of one task at one step: what an advantage is measured within.

use std::collections::HashMap;

use crate::rollout::Rollout;
use crate::task::TaskId;

/// The rollouts of one task at one step, as places in the list they came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The step they were sampled for.
    pub step: u64,
    /// The task they answer.
    pub prompt_id: TaskId,
    /// Where they stand, in order.
    pub members: Vec<usize>,
}

impl Group {
    /// Sorts rollouts into groups by step and task, in the order of their first lines.
    pub fn collect(rollouts: &[Rollout]) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        let mut places = HashMap::new();
        for (at, rollout) in rollouts.iter().enumerate() {
            let key = (rollout.step, rollout.prompt_id.clone());
            let place = *places.entry(key).or_insert(groups.len());
            if place == groups.len() {
                let (step, prompt_id) = (rollout.step, rollout.prompt_id.clone());
                groups.push(Self { step, prompt_id, members: Vec::new() });
            }
            groups[place].members.push(at);
        }
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Wire;

    fn rollout(step: u64, task: &str) -> Rollout {
        let line = format!(r#"{{"step":{step},"prompt_id":"{task}","text":""}}"#);
        Rollout::from_object(serde_json::from_str(&line).unwrap()).unwrap()
    }

    #[test]
    fn step_and_task_make_a_group_wherever_its_lines_stand() {
        let rollouts = [(0, "b"), (0, "a"), (1, "b"), (0, "b")].map(|(s, t)| rollout(s, t));
        let groups = Group::collect(&rollouts);
        let seen: Vec<_> =
            groups.iter().map(|g| (g.step, g.prompt_id.as_str(), g.members.as_slice())).collect();
        let expected: [(u64, &str, &[usize]); 3] =
            [(0, "b", &[0, 3]), (0, "a", &[1]), (1, "b", &[2])];
        assert_eq!(seen, expected);
    }
}
