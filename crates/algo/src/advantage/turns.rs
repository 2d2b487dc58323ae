//! Advantages of the turns of episodes, from what a process reward says of each turn.
//!
//! With the reward `R` of an episode, without what it is paid for its process, and the process rewards `p_j`
//! of its turns, from 0 to 1:
//!
//! ```text
//! return of turn t       G_t = R + w · mean of p_j over j >= t
//! advantage of turn t    (G_t - mean) / std      over all turns of all episodes of the group
//! ```
//!
//! The idea is the process supervision of GRPO (`DeepSeekMath`, arXiv:2402.03300, section 4.1.4), in which the
//! advantage of a token is the sum of the normalised rewards of the steps that follow. Three things differ. The
//! outcome counts in every return, so that a turn of a solved episode is better than the same turn of one that
//! was not. What is to come is a mean and not a sum, so that more turns do not pay more. And returns are
//! normalised, not single rewards, so that advantages of all turns of a group have a mean of 0.
//!
//! The return of an unsolved episode has a bound: no process pays for a solution.

use whetstone_core::group::GroupReward;

use super::{GroupRule, of_group};
use crate::AlgoError;
use crate::error::{entries, setting};
use crate::number;

/// An episode whose turns have rewards of their own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EpisodeTurns<'a> {
    /// Its reward, without what it is paid for its process.
    pub reward: f64,
    /// The process reward of each turn.
    pub process: &'a [f64],
    /// The most that a return can be.
    pub most: Option<f64>,
}

impl EpisodeTurns<'_> {
    /// The return of each turn, in order.
    ///
    /// # Errors
    ///
    /// If a value is not finite, or the weight is negative.
    ///
    /// # Example
    ///
    /// ```
    /// use whetstone_algo::advantage::EpisodeTurns;
    /// let episode = EpisodeTurns { reward: 0.5, process: &[0.0, 1.0], most: None };
    /// assert_eq!(episode.returns(0.25)?, [0.625, 0.75]);
    /// # Ok::<(), whetstone_algo::AlgoError>(())
    /// ```
    pub fn returns(&self, weight: f64) -> Result<Vec<f64>, AlgoError> {
        setting("the weight of the process", weight, weight >= 0.0, "at least 0")?;
        entries("reward", &[self.reward])?;
        entries("process reward", self.process)?;
        let most = self.most.unwrap_or(f64::INFINITY);
        let (mut sum, mut count) = (0.0, 0);
        let mut returns: Vec<f64> = Vec::with_capacity(self.process.len());
        for process in self.process.iter().rev() {
            sum += process;
            count += 1;
            returns.push((self.reward + weight * sum / number(count)).min(most));
        }
        returns.reverse();
        Ok(returns)
    }
}

/// The advantage of each turn of each episode of a group; all 0 unless the returns differ by more than the
/// rule's floor.
///
/// # Errors
///
/// If a value is not finite, or the weight is negative.
pub fn of_turns(
    episodes: &[EpisodeTurns<'_>],
    weight: f64,
    rule: GroupRule,
) -> Result<Vec<Vec<f64>>, AlgoError> {
    let returns: Vec<Vec<f64>> =
        episodes.iter().map(|episode| episode.returns(weight)).collect::<Result<_, _>>()?;
    let compared: Vec<GroupReward> =
        returns.iter().flatten().map(|&total| GroupReward { total, tests: None }).collect();
    let mut advantages = of_group(&compared, rule)?.into_iter();
    Ok(returns.iter().map(|turns| advantages.by_ref().take(turns.len()).collect()).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use whetstone_core::config::AdvantageBy;

    use super::*;
    use crate::testing::{assert_all_near, assert_near};

    fn episode(reward: f64, process: &[f64]) -> EpisodeTurns<'_> {
        EpisodeTurns { reward, process, most: None }
    }

    fn rule(how: AdvantageBy) -> GroupRule {
        GroupRule { how, floor: 0.01 }
    }

    /// Three turns with 1, 0 and 1/2 to come: means 1/2, 1/4, 1/2.
    #[test]
    fn returns_worked_by_hand() {
        let found = episode(0.4, &[1.0, 0.0, 0.5]).returns(0.2).unwrap();
        assert_all_near(&found, &[0.5, 0.45, 0.5]);
        let bounded = EpisodeTurns { most: Some(0.48), ..episode(0.4, &[1.0, 0.0, 0.5]) };
        assert_all_near(&bounded.returns(0.2).unwrap(), &[0.48, 0.45, 0.48]);
        assert!(episode(0.4, &[]).returns(0.2).unwrap().is_empty());
    }

    /// Returns 1.25, 1.5 and 0, 0, 0: mean 0.55, deviations 0.7, 0.95, -0.55 three times, variance 0.46.
    #[test]
    fn advantages_of_a_solved_and_an_unsolved_episode_worked_by_hand() {
        let episodes = [episode(1.0, &[0.0, 1.0]), episode(0.0, &[0.0, 0.0, 0.0])];
        let found = of_turns(&episodes, 0.5, rule(AdvantageBy::Mean)).unwrap();
        assert_all_near(&found[0], &[0.7, 0.95]);
        assert_all_near(&found[1], &[-0.55, -0.55, -0.55]);
        let found = of_turns(&episodes, 0.5, rule(AdvantageBy::StandardScore)).unwrap();
        let std = 0.46_f64.sqrt();
        assert_all_near(&found[0], &[0.7 / std, 0.95 / std]);
        assert_all_near(&found[1], &[-0.55 / std; 3]);
        let found = of_turns(&episodes, 0.5, rule(AdvantageBy::LeaveOneOut)).unwrap();
        assert_all_near(&found[0], &[0.7 * 1.25, 0.95 * 1.25]);
    }

    #[test]
    fn returns_closer_than_the_floor_teach_nothing() {
        let episodes = [episode(0.0, &[0.05]), episode(0.0, &[0.0, 0.0])];
        let found = of_turns(&episodes, 0.1, rule(AdvantageBy::StandardScore)).unwrap();
        assert_eq!(found, [vec![0.0], vec![0.0, 0.0]]);
        let episodes = [episode(0.0, &[0.5]), episode(0.0, &[0.0, 0.0])];
        let found = of_turns(&episodes, 0.1, rule(AdvantageBy::StandardScore)).unwrap();
        assert!(found[0][0] > 1.0, "{found:?}");
    }

    #[test]
    fn what_is_not_finite_is_refused() {
        assert!(episode(f64::NAN, &[]).returns(0.1).is_err());
        assert!(episode(0.0, &[0.1, f64::INFINITY]).returns(0.1).is_err());
        assert!(episode(0.0, &[0.1]).returns(-0.1).is_err());
    }

    proptest! {
        #[test]
        fn without_a_weight_every_turn_has_its_episodes_return(
            reward in 0.0..1.0_f64, process in prop::collection::vec(0.0..1.0_f64, 1..6),
        ) {
            for found in episode(reward, &process).returns(0.0).unwrap() {
                assert_near(found, reward);
            }
        }

        #[test]
        fn the_advantages_of_a_group_have_a_mean_of_0(
            rewards in prop::collection::vec((0.0..1.0_f64, prop::collection::vec(0.0..1.0_f64, 1..5)), 2..5),
        ) {
            let episodes: Vec<EpisodeTurns<'_>> =
                rewards.iter().map(|(reward, process)| episode(*reward, process)).collect();
            let found = of_turns(&episodes, 0.2, rule(AdvantageBy::StandardScore)).unwrap();
            prop_assert!(found.iter().flatten().sum::<f64>().abs() < 1e-9);
            prop_assert!(found.iter().zip(&rewards).all(|(turns, (_, process))| turns.len() == process.len()));
        }
    }
}
