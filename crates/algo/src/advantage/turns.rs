//! Advantages of the turns of episodes, from what a process reward says of each turn.
//!
//! With the reward `R` of an episode, without what it is paid for its process, and the process rewards `p_j`
//! of its turns, from 0 to 1:
//!
//! ```text
//! paid_t = w · mean of p_j over j >= t                  for turn t, what is to come
//! A_t    = A_judged(R) + w · (paid_t / w - mean) / s    standard score
//! A_t    = R + paid_t - mean                            mean; leave one out: the mean of the other episodes
//! ```
//!
//! `A_judged` is the advantage of the episode's reward among those of its group, one for all its turns, and
//! `mean` that over the episodes of the mean over their turns: an episode of ten turns is compared with no
//! oftener than one of two. `s` is [`SPREAD`](super::models::SPREAD), never the group's own standard deviation.
//!
//! The idea is the process supervision of GRPO (`DeepSeekMath`, arXiv:2402.03300, section 4.1.4), in which the
//! advantage of a token is the sum of the normalised rewards of the steps that follow. Three things differ. The
//! outcome counts for every turn, so that a turn of a solved episode is better than the same turn of one that
//! was not. What is to come is a mean and not a sum, so that more turns do not pay more. And it has the weight
//! that it has in the reward, however little the process rewards of a group differ.
//!
//! What an unsolved episode is paid for its process has a bound: no process pays for a solution.

use whetstone_core::group::GroupReward;
use whetstone_core::reward::ModelPay;

use super::models::{centred, scaled};
use super::{GroupRule, of_group};
use crate::AlgoError;
use crate::error::{entries, setting};
use crate::number;

/// An episode whose turns have rewards of their own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EpisodeTurns<'a> {
    /// Its reward without what it is paid for its process.
    pub reward: GroupReward,
    /// The process reward of each turn.
    pub process: &'a [f64],
    /// The most that a turn can be paid for its process.
    pub most: Option<f64>,
}

impl EpisodeTurns<'_> {
    /// What each turn is paid for what is to come, in order.
    ///
    /// # Errors
    ///
    /// If a value is not finite, or the weight is negative.
    ///
    /// # Example
    ///
    /// ```
    /// use whetstone_algo::advantage::EpisodeTurns;
    /// use whetstone_core::group::GroupReward;
    /// let reward = GroupReward::judged(0.5, None);
    /// let episode = EpisodeTurns { reward, process: &[0.0, 1.0], most: None };
    /// assert_eq!(episode.paid(0.25)?, [0.125, 0.25]);
    /// # Ok::<(), whetstone_algo::AlgoError>(())
    /// ```
    pub fn paid(&self, weight: f64) -> Result<Vec<f64>, AlgoError> {
        setting("the weight of the process", weight, weight >= 0.0, "at least 0")?;
        entries("reward", &[self.reward.judged])?;
        entries("process reward", self.process)?;
        let most = self.most.unwrap_or(f64::INFINITY);
        let (mut sum, mut count) = (0.0, 0);
        let mut paid: Vec<f64> = Vec::with_capacity(self.process.len());
        for process in self.process.iter().rev() {
            sum += process;
            count += 1;
            paid.push((weight * sum / number(count)).min(most));
        }
        paid.reverse();
        Ok(paid)
    }
}

/// The advantage of each turn of each episode of a group. All are 0 unless the episodes' rewards differ, or
/// what their turns are paid differs by more than the rule's floor.
///
/// # Errors
///
/// If a value is not finite, or the weight is negative.
pub fn of_turns(
    episodes: &[EpisodeTurns<'_>],
    weight: f64,
    rule: GroupRule,
) -> Result<Vec<Vec<f64>>, AlgoError> {
    let paid: Vec<Vec<f64>> =
        episodes.iter().map(|episode| episode.paid(weight)).collect::<Result<_, _>>()?;
    let rewards: Vec<GroupReward> = episodes.iter().map(|episode| episode.reward).collect();
    let judged = of_group(&rewards, rule)?;
    let all = || paid.iter().flatten().copied();
    let is_paid_apart =
        all().fold(f64::NEG_INFINITY, f64::max) - rule.floor > all().fold(f64::INFINITY, f64::min);
    if !is_paid_apart && judged.iter().all(|&advantage| advantage == 0.0) {
        return Ok(paid.iter().map(|turns| vec![0.0; turns.len()]).collect());
    }
    let units = |&paid: &f64| {
        let pay = ModelPay { paid, weight, against: 1.0 };
        scaled((weight > 0.0).then_some(pay), rule.how)
    };
    let units: Vec<Vec<f64>> = paid.iter().map(|turns| turns.iter().map(units).collect()).collect();
    let mut advantages = centred(&units, rule.how);
    for (turns, judged) in advantages.iter_mut().zip(judged) {
        for advantage in turns {
            *advantage += judged;
        }
    }
    Ok(advantages)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use whetstone_core::config::AdvantageBy;

    use super::*;
    use crate::testing::{assert_all_near, assert_near};

    fn episode(reward: f64, process: &[f64]) -> EpisodeTurns<'_> {
        EpisodeTurns { reward: GroupReward::judged(reward, None), process, most: None }
    }

    fn rule(how: AdvantageBy) -> GroupRule {
        GroupRule { how, floor: 0.01 }
    }

    /// Three turns with 1, 0 and 1/2 to come: means 1/2, 1/4, 1/2.
    #[test]
    fn what_turns_are_paid_worked_by_hand() {
        let found = episode(0.4, &[1.0, 0.0, 0.5]).paid(0.2).unwrap();
        assert_all_near(&found, &[0.1, 0.05, 0.1]);
        let bounded = EpisodeTurns { most: Some(0.08), ..episode(0.4, &[1.0, 0.0, 0.5]) };
        assert_all_near(&bounded.paid(0.2).unwrap(), &[0.08, 0.05, 0.08]);
        assert!(episode(0.4, &[]).paid(0.2).unwrap().is_empty());
    }

    /// A solved episode of two turns with 1/2 and 1 to come, and an unsolved one of three: means of what
    /// is to come are 3/4 and 0, so 3/8 over episodes; returns with a weight of 1/2 have means 11/8 and 0.
    #[test]
    fn advantages_of_a_solved_and_an_unsolved_episode_worked_by_hand() {
        let episodes = [episode(1.0, &[0.0, 1.0]), episode(0.0, &[0.0, 0.0, 0.0])];
        let found = of_turns(&episodes, 0.5, rule(AdvantageBy::Mean)).unwrap();
        assert_all_near(&found[0], &[1.25 - 0.6875, 1.5 - 0.6875]);
        assert_all_near(&found[1], &[-0.6875; 3]);
        let found = of_turns(&episodes, 0.5, rule(AdvantageBy::StandardScore)).unwrap();
        let unit = 0.5 / super::super::models::SPREAD;
        assert_all_near(&found[0], &[1.0 + unit * (0.5 - 0.375), 1.0 + unit * (1.0 - 0.375)]);
        assert_all_near(&found[1], &[-1.0 - unit * 0.375; 3]);
        let found = of_turns(&episodes, 0.5, rule(AdvantageBy::LeaveOneOut)).unwrap();
        assert_all_near(&found[0], &[1.25, 1.5]);
        assert_all_near(&found[1], &[-1.375; 3]);
    }

    #[test]
    fn turns_that_are_paid_alike_teach_nothing_and_more_weight_teaches_more() {
        let unsolved = |process| {
            move |weight| {
                let episodes = [episode(0.0, process), episode(0.0, &[0.0, 0.0])];
                of_turns(&episodes, weight, rule(AdvantageBy::StandardScore)).unwrap()
            }
        };
        assert_eq!(unsolved(&[0.05])(0.1), [vec![0.0], vec![0.0, 0.0]]);
        let found = unsolved(&[0.5]);
        assert_near(found(0.2)[0][0], 2.0 * found(0.1)[0][0]);
        assert!((0.05..0.2).contains(&found(0.1)[0][0]), "{:?}", found(0.1));
    }

    #[test]
    fn rewards_with_tests_count_where_these_differ_and_never_by_form() {
        let tested = |judged, tests, process| EpisodeTurns {
            reward: GroupReward::judged(judged, Some(tests)),
            ..episode(0.0, process)
        };
        let form = [tested(0.3, 0.0, &[0.5]), tested(0.1, 0.0, &[0.5])];
        let found = of_turns(&form, 0.2, rule(AdvantageBy::StandardScore)).unwrap();
        assert_eq!(found, [[0.0], [0.0]]);
    }

    #[test]
    fn what_is_not_finite_is_refused() {
        assert!(episode(f64::NAN, &[]).paid(0.1).is_err());
        assert!(episode(0.0, &[0.1, f64::INFINITY]).paid(0.1).is_err());
        assert!(episode(0.0, &[0.1]).paid(-0.1).is_err());
    }

    proptest! {
        #[test]
        fn without_a_weight_every_turn_has_its_episodes_advantage(
            rewards in prop::collection::vec((0.0..1.0_f64, prop::collection::vec(0.0..1.0_f64, 1..6)), 2..5),
        ) {
            let episodes: Vec<EpisodeTurns<'_>> =
                rewards.iter().map(|(reward, process)| episode(*reward, process)).collect();
            let whole: Vec<GroupReward> = episodes.iter().map(|episode| episode.reward).collect();
            for how in [AdvantageBy::StandardScore, AdvantageBy::Mean, AdvantageBy::LeaveOneOut] {
                let expected = of_group(&whole, rule(how)).unwrap();
                for (turns, expected) in of_turns(&episodes, 0.0, rule(how)).unwrap().iter().zip(expected) {
                    prop_assert!(turns.iter().all(|turn| (turn - expected).abs() < 1e-9));
                }
            }
        }

        #[test]
        fn the_mean_over_episodes_of_the_mean_over_their_turns_is_0(
            rewards in prop::collection::vec((0.0..1.0_f64, prop::collection::vec(0.0..1.0_f64, 1..5)), 2..5),
        ) {
            let episodes: Vec<EpisodeTurns<'_>> =
                rewards.iter().map(|(reward, process)| episode(*reward, process)).collect();
            for how in [AdvantageBy::StandardScore, AdvantageBy::Mean, AdvantageBy::LeaveOneOut] {
                let found = of_turns(&episodes, 0.2, rule(how)).unwrap();
                let of_episode = |turns: &Vec<f64>| turns.iter().sum::<f64>() / number(turns.len() as u64);
                prop_assert!(found.iter().map(of_episode).sum::<f64>().abs() < 1e-9);
            }
        }
    }
}
