//! Advantages of single turns, where episodes record what each of them did.
//!
//! The process reward of a turn is the probability of the process reward model, or the environment's label
//! where there is none. A group in which an episode does not record one transition for each turn has no
//! advantages of turns: those of one group are on one scale.

use whetstone_algo::advantage::{EpisodeTurns, GroupRule, of_turns};
use whetstone_core::config::{AdvantageOf, Config};
use whetstone_rollout::collect::Rollout;

use crate::error::TrainError;
use crate::rollouts::process::{cap, without_process};
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
    let labels =
        || rollout.outcome.transitions().iter().map(|turn| label(turn.progress)).collect();
    let found: Vec<f64> = probabilities.map_or_else(labels, Clone::clone);
    (found.len() == rollout.turns.len()).then_some(found)
}

fn episode<'a>(rollout: &Rollout, process: &'a [f64]) -> EpisodeTurns<'a> {
    let reward = without_process(&rollout.outcome.reward);
    let most = (!rollout.outcome.is_solved()).then(|| cap(reward));
    EpisodeTurns { reward, process, most }
}
