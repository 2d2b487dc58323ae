//! Advantages worked by hand, the two ends of λ, and what is refused.

use proptest::prelude::*;

use super::*;
use crate::testing::{assert_all_near, assert_near};

fn over<'a>(trained: &'a [bool], rewards: &'a [f64], values: &'a [f64]) -> Rewarded<'a> {
    Rewarded { trained, rewards, values, end: RolloutEnd::Over }
}

/// γ = λ = 1/2, so γλ = 1/4; rewards 0, 0, 8; values 4, 2, 4:
///
/// ```text
/// δ = 0 + 2/2 - 4 = -3,   0 + 4/2 - 2 = 0,   8 - 4 = 4
/// A = 4,   0 + 4/4 = 1,   -3 + 1/4 = -11/4        from the last to the first
/// ```
#[test]
fn worked_by_hand() {
    let gae = Gae { discount: 0.5, lambda: 0.5 };
    let (rewards, values) = ([0.0, 0.0, 8.0], [4.0, 2.0, 4.0]);
    let found = gae.estimate(over(&[true; 3], &rewards, &values)).unwrap();
    assert_eq!(found.advantages, [-2.75, 1.0, 4.0]);
    assert_eq!(found.returns, [1.25, 3.0, 8.0]);
    // With 6 still to come, the last δ is 8 + 3 - 4 = 7.
    let end = RolloutEnd::Continues(6.0);
    let found = gae.estimate(Rewarded { end, ..over(&[true; 3], &rewards, &values) }).unwrap();
    assert_eq!(found.advantages, [-3.0 + 1.75 / 4.0, 1.75, 7.0]);
}

/// The numbers of the requirements' own loop with its defaults, run by Python 3.11:
///
/// ```python
/// rewards, values, gae, out = [0.1, -0.2, 1.0], [0.5, 0.3, 0.7], 0, []
/// for t in reversed(range(3)):
///     done = t == 2
///     following = 0 if done else values[t + 1]
///     delta = rewards[t] + 0.99 * following * (1 - done) - values[t]
///     gae = delta + 0.99 * 0.95 * (1 - done) * gae
///     out.insert(0, gae)
/// print(out)
/// ```
#[test]
fn the_defaults_give_the_numbers_of_the_requirements() {
    let found = Gae::default().estimate(over(&[true; 3], &[0.1, -0.2, 1.0], &[0.5, 0.3, 0.7]));
    assert_all_near(&found.unwrap().advantages, &[0.343_878_575, 0.475_15, 0.3]);
}

/// Two responses, worth 1 - 0.5 and 2, before which the critic expects 3 and 4; γ = λ = 1/2:
///
/// ```text
/// δ = 0.5 + 4/2 - 3 = -0.5,   2 - 4 = -2          A = -0.5 - 2/4 = -1,   -2
/// ```
#[test]
fn a_response_is_one_step_and_its_tokens_have_one_advantage() {
    let gae = Gae { discount: 0.5, lambda: 0.5 };
    let trained = [true, true, false, true, true, true];
    let rewards = [1.0, -0.5, f64::NAN, 0.0, 0.0, 2.0];
    let values = [3.0, 9.0, f64::NAN, 4.0, -7.0, 5.0];
    let found = gae.estimate_by_response(over(&trained, &rewards, &values)).unwrap();
    assert_eq!(found.advantages, [-1.0, -1.0, 0.0, -2.0, -2.0, -2.0]);
    assert_eq!(found.returns, [2.0, 2.0, 0.0, 2.0, 2.0, 2.0]);
    // One response: the requirements' reward less the value, whatever its length.
    let one = gae.estimate_by_response(over(&[true; 3], &[0.0, 0.0, 1.0], &[0.25, 7.0, 7.0]));
    assert_eq!(one.unwrap().advantages, [0.75; 3]);
    let cut = Rewarded { end: RolloutEnd::Continues(6.0), ..over(&[true], &[1.0], &[0.5]) };
    assert_eq!(gae.estimate_by_response(cut).unwrap().advantages, [3.5]);
    let none = gae.estimate_by_response(over(&[false], &[0.0], &[0.0])).unwrap();
    assert_eq!(none.advantages, [0.0]);
}

#[test]
fn what_makes_no_estimate_is_refused() {
    let good = over(&[false, true], &[0.0, 1.0], &[0.0, 1.0]);
    let refused = |gae: Gae, rollout| gae.estimate(rollout).unwrap_err().to_string();
    let gae = Gae::default();
    for (wrong, start) in [
        (Gae { discount: 1.1, ..gae }, "the discount is 1.1; it must be between 0 and 1"),
        (Gae { lambda: -0.1, ..gae }, "lambda is -0.1; it must be between 0 and 1"),
        (Gae { lambda: f64::NAN, ..gae }, "lambda is NaN; it must be between 0 and 1"),
    ] {
        assert_eq!(refused(wrong, good), start);
    }
    let bad = [0.0, f64::INFINITY];
    assert_eq!(refused(gae, Rewarded { rewards: &bad, ..good }), "reward 1 is inf; leave it out");
    assert_eq!(refused(gae, Rewarded { values: &bad, ..good }), "value 1 is inf; leave it out");
    let end = RolloutEnd::Continues(f64::NAN);
    let found = refused(gae, Rewarded { end, ..good });
    assert_eq!(found, "the value after the end is NaN; it must be a number");
    let found = refused(gae, Rewarded { values: &[0.0], ..good });
    assert!(found.starts_with("there are 1 of value, but 2 are needed"), "{found}");
    assert!(Gae { discount: 1.0, lambda: 0.0 }.estimate(good).is_ok());
}

fn rollouts() -> impl Strategy<Value = Vec<(f64, f64)>> {
    prop::collection::vec((-2.0..2.0, -2.0..2.0), 1..8)
}

proptest! {
    /// λ = 1: the discounted sum of what comes, less what was expected. λ = 0: one step.
    #[test]
    fn the_ends_of_lambda_are_the_whole_return_and_one_step(
        tokens in rollouts(), discount in 0.0..1.0_f64, rest in -2.0..2.0_f64,
    ) {
        let (rewards, values): (Vec<f64>, Vec<f64>) = tokens.into_iter().unzip();
        let trained = vec![true; rewards.len()];
        let end = RolloutEnd::Continues(rest);
        let rollout = Rewarded { end, ..over(&trained, &rewards, &values) };
        let whole = Gae { discount, lambda: 1.0 }.estimate(rollout).unwrap();
        let one = Gae { discount, lambda: 0.0 }.estimate(rollout).unwrap();
        let after = |token: usize| values.get(token + 1).copied().unwrap_or(rest);
        for token in 0..rewards.len() {
            let comes = rewards[token..].iter().rev().fold(rest, |sum, r| r + discount * sum);
            assert_near(whole.returns[token], comes);
            assert_near(whole.advantages[token], comes - values[token]);
            assert_near(one.returns[token], rewards[token] + discount * after(token));
        }
    }

    /// An advantage is linear in rewards, with a slope of (γλ)^distance; no reward acts backwards.
    #[test]
    fn a_reward_reaches_back_by_gamma_lambda(tokens in rollouts(), which in 0..8_usize) {
        let (mut rewards, values): (Vec<f64>, Vec<f64>) = tokens.into_iter().unzip();
        let (trained, which) = (vec![true; rewards.len()], which % rewards.len());
        let gae = Gae { discount: 0.9, lambda: 0.8 };
        let before = gae.estimate(over(&trained, &rewards, &values)).unwrap().advantages;
        rewards[which] += 1.0;
        let after = gae.estimate(over(&trained, &rewards, &values)).unwrap().advantages;
        let mut slope = 1.0;
        for token in (0..rewards.len()).rev() {
            let expected = if token > which { 0.0 } else { slope };
            assert_near(after[token] - before[token], expected);
            if token <= which {
                slope *= 0.9 * 0.8;
            }
        }
    }

    #[test]
    fn tokens_that_are_not_trained_do_not_exist(tokens in rollouts(), at in 0..8_usize) {
        let (rewards, values): (Vec<f64>, Vec<f64>) = tokens.into_iter().unzip();
        let trained = vec![true; rewards.len()];
        let gae = Gae::default();
        let expected = gae.estimate(over(&trained, &rewards, &values)).unwrap();
        let at = at.min(rewards.len());
        let with = |list: &[f64]| [&list[..at], &[f64::NAN], &list[at..]].concat();
        let mask = [&trained[..at], &[false], &trained[at..]].concat();
        let found = gae.estimate(over(&mask, &with(&rewards), &with(&values))).unwrap();
        let without = |mut list: Vec<f64>| {
            assert_eq!(list.remove(at).to_bits(), 0.0_f64.to_bits());
            list
        };
        prop_assert_eq!(without(found.advantages), expected.advantages);
        prop_assert_eq!(without(found.returns), expected.returns);
    }
}
