//! Advantages of single turns, where episodes record what each of them did.
//!
//! The process reward of a turn is the probability of the process reward model, or the environment's label
//! where there is none. A group in which an episode does not record one transition for each turn has no
//! advantages of turns: those of one group are on one scale.

use whetstone_algo::advantage::{EpisodeTurns, GroupRule, of_turns};
use whetstone_core::config::{AdvantageOf, Config};
use whetstone_core::group::GroupReward;
use whetstone_core::reward::PROCESS;
use whetstone_rollout::collect::Rollout;

use crate::error::TrainError;
use crate::rollouts::process::cap;
use crate::rollouts::tasks::StepRollouts;

/// The advantage of each turn of each rollout of a group; none where the settings, or the episodes, have one
/// for the whole.
pub(super) fn turn_advantages(
    config: &Config,
    step_rollouts: &StepRollouts,
    at: usize,
) -> Result<Option<Vec<Vec<f64>>>, TrainError> {
    let rollouts = &step_rollouts.groups[at].rollouts;
    if config.grpo.advantage_by == AdvantageOf::Episode || rollouts.is_empty() {
        return Ok(None);
    }
    let paid = step_rollouts.process.get(at);
    let process: Option<Vec<Vec<f64>>> = rollouts
        .iter()
        .enumerate()
        .map(|(index, rollout)| process(rollout, paid.and_then(|group| group.get(index))))
        .collect();
    let Some(process) = process else { return Ok(None) };
    let episodes: Vec<EpisodeTurns<'_>> =
        rollouts.iter().zip(&process).map(|(rollout, process)| episode(rollout, process)).collect();
    let weight = config.reward.process_weight;
    Ok(Some(of_turns(&episodes, weight, GroupRule::new(config))?))
}

/// The process reward of each turn; none unless there is one for each.
fn process(rollout: &Rollout, probabilities: Option<&Vec<f64>>) -> Option<Vec<f64>> {
    let label = |progress: bool| f64::from(u8::from(progress));
    let labels = || rollout.outcome.transitions().iter().map(|turn| label(turn.progress)).collect();
    let found: Vec<f64> = probabilities.map_or_else(labels, Clone::clone);
    (found.len() == rollout.turns.len()).then_some(found)
}

fn episode<'a>(rollout: &Rollout, process: &'a [f64]) -> EpisodeTurns<'a> {
    let mut reward = GroupReward::from(&rollout.outcome.reward);
    if rollout.outcome.reward.terms().contains_key(PROCESS) {
        reward.model = None;
    }
    let total = reward.judged + reward.model.map_or(0.0, |model| model.paid);
    let most = (!rollout.outcome.is_solved()).then(|| cap(total) - total);
    EpisodeTurns { reward, process, most }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use whetstone_algo::OwnedAdvantages;
    use whetstone_core::config::AdvantageBy;
    use whetstone_core::outcome::{Outcome, Transition};
    use whetstone_core::reward::{Reward, Term};
    use whetstone_rollout::collect::Group;

    use super::super::{Batch, TrainSequence};
    use super::*;
    use crate::testing::{group, rollout, settings};

    fn config() -> Config {
        let mut config = settings();
        config.grpo.advantage_by = AdvantageOf::Step;
        config.grpo.advantage = AdvantageBy::Mean;
        config.reward.process_weight = 0.2;
        config
    }

    /// An episode with one turn for each label: `[7, 7]`, then `[8]` behind an answer of `[3, 4]`.
    fn episode(reward: f64, labels: &[bool]) -> Rollout {
        let mut episode = rollout(0, &[7, 7], reward);
        if labels.len() > 1 {
            let mut turn = rollout(0, &[8], reward).turns.remove(0);
            turn.prompt = [1, 2, 7, 7, 3, 4].into();
            episode.turns.push(turn);
        }
        let transition = |&progress: &bool| Transition {
            state: "a".to_owned(),
            action: "b".to_owned(),
            next_state: "c".to_owned(),
            valid: true,
            progress,
        };
        let terms = BTreeMap::from([("fall".to_owned(), Term { value: reward, weight: 1.0 })]);
        let reward_made = Reward::new(terms, BTreeMap::new()).unwrap();
        let outcome = Outcome::observed("solver", reward >= 1.0, reward_made);
        episode.outcome = outcome.with_transitions(labels.iter().map(transition).collect());
        episode
    }

    fn batch(config: &Config, groups: Vec<Group>, process: Vec<Vec<Vec<f64>>>) -> Batch {
        Batch::new(config, &StepRollouts { groups, process, ..StepRollouts::default() }).unwrap()
    }

    fn tokens(sequence: &TrainSequence) -> &[f64] {
        let OwnedAdvantages::Tokens(tokens) = &sequence.advantage else { panic!("{sequence:?}") };
        tokens
    }

    #[track_caller]
    fn near(found: &[f64], expected: &[f64]) {
        let all = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(all && found.len() == expected.len(), "{found:?} is not {expected:?}");
    }

    /// Returns 1.1 and 1.2 of the solved episode, 1.15 on average, and 0 of the other: the mean is 0.575.
    #[test]
    fn a_turns_tokens_have_its_own_advantage_and_what_the_model_was_shown_has_none() {
        let groups = vec![group("a", vec![episode(1.0, &[false, true]), episode(0.0, &[false])])];
        let found = batch(&config(), groups, Vec::new());
        let (first, second, other): (f64, f64, f64) = (1.1 - 0.575, 1.2 - 0.575, -0.575);
        near(tokens(&found.sequences[0]), &[first, first, 0.0, 0.0, second]);
        assert_eq!(found.sequences[0].example.mask(), [true, true, false, false, true]);
        near(tokens(&found.sequences[1]), &[other, other]);
        near(&found.advantages[0], &[first.midpoint(second), other]);
        assert_eq!(found.dead_groups, 0);
    }

    /// Probabilities of 0.5 and 1.0, then 0.5: returns 1.15 and 1.2, 1.175 on average, and 0.1.
    #[test]
    fn probabilities_come_before_labels() {
        let groups = vec![group("a", vec![episode(1.0, &[false, true]), episode(0.0, &[false])])];
        let found = batch(&config(), groups, vec![vec![vec![0.5, 1.0], vec![0.5]]]);
        let mean = 0.6375;
        near(tokens(&found.sequences[0]), &[1.15 - mean, 1.15 - mean, 0.0, 0.0, 1.2 - mean]);
        near(tokens(&found.sequences[1]), &[0.1 - mean, 0.1 - mean]);
    }

    /// A return of 0.2 · 1 is held at 0.19, because the episode is unsolved; the other's is 0.
    #[test]
    fn turns_tell_episodes_apart_that_are_paid_the_same() {
        let groups = || vec![group("a", vec![episode(0.0, &[true]), episode(0.0, &[false])])];
        let found = batch(&config(), groups(), Vec::new());
        near(&found.advantages[0], &[0.095, -0.095]);
        assert_eq!((found.dead_groups, found.learnt(false)), (0, vec![0, 1]));
        let mut by_episode = config();
        by_episode.grpo.advantage_by = AdvantageOf::Episode;
        let found = batch(&by_episode, groups(), Vec::new());
        assert_eq!((found.dead_groups, &found.advantages[0]), (1, &vec![0.0, 0.0]));
    }

    #[test]
    fn a_group_with_an_episode_that_records_no_transitions_has_advantages_of_episodes() {
        let groups = vec![group("a", vec![episode(1.0, &[false, true]), rollout(1, &[9], 0.0)])];
        let found = batch(&config(), groups, Vec::new());
        assert_eq!(found.advantages, [[0.5, -0.5]]);
        let whole = |at: usize| found.sequences[at].advantage.clone();
        assert_eq!(
            (whole(0), whole(1)),
            (OwnedAdvantages::Whole(0.5), OwnedAdvantages::Whole(-0.5))
        );
    }
}
