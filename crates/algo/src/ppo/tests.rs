//! The loss against the requirements' own formula, its signals against central differences, rewards and
//! coefficients by hand.

use super::*;
use crate::Advantages;
use crate::testing::{assert_all_near, assert_near, assert_slopes};

const TRAINED: [bool; 5] = [true, true, false, true, true];
const OLD: [f64; 5] = [-0.9, -1.4, f64::NAN, -0.3, -2.0];
const NOW: [f64; 5] = [-0.5, -1.5, f64::NAN, -0.35, -2.6];
const ADVANTAGES: [f64; 5] = [0.7, -1.1, f64::NAN, 0.4, -0.6];
const ENTROPY: [f64; 5] = [1.0, 0.5, f64::NAN, 0.25, 2.0];
const VALUES: [f64; 5] = [0.2, 0.4, f64::NAN, 0.1, 0.9];
const RETURNS: [f64; 5] = [1.0, 0.3, f64::NAN, 0.0, 0.5];
const STEP: Totals = Totals { tokens: 4, episodes: 1 };

fn ppo() -> Ppo {
    Ppo::new(&PpoConfig::default()).unwrap()
}

fn sequence<'a>(logp: &'a [f64], entropy: &'a [f64]) -> Sequence<'a> {
    Sequence {
        trained: &TRAINED,
        logp,
        old_logp: &OLD,
        sampler_logp: None,
        reference_logp: None,
        entropy: Some(entropy),
        advantage: Advantages::Tokens(&ADVANTAGES),
        episode_tokens: None,
    }
}

fn valued(value: &[f64]) -> Valued<'_> {
    Valued { trained: &TRAINED, value, old_value: &VALUES, returns: &RETURNS }
}

/// The requirements' formula as it stands there, over the trained tokens.
fn oracle(logp: &[f64], entropy: &[f64], value: &[f64]) -> [f64; 4] {
    let (mut policy, mut squares, mut entropies) = (0.0, 0.0, 0.0);
    for at in (0..5).filter(|&at| TRAINED[at]) {
        let ratio = (logp[at] - OLD[at]).exp();
        let surr1 = ratio * ADVANTAGES[at];
        let surr2 = ratio.clamp(0.8, 1.2) * ADVANTAGES[at];
        policy -= surr1.min(surr2) / 4.0;
        squares += (value[at] - RETURNS[at]).powi(2) / 4.0;
        entropies += entropy[at] / 4.0;
    }
    [policy, squares, entropies, policy + 0.5 * squares - 0.01 * entropies]
}

/// Printed by PyTorch 2.15 of the same numbers:
///
/// ```python
/// import torch
/// t = lambda x: torch.tensor(x, dtype=torch.float64)
/// old, new, adv = t([-.9,-1.4,-.3,-2.]), t([-.5,-1.5,-.35,-2.6]), t([.7,-1.1,.4,-.6])
/// r = (new - old).exp()
/// policy = -torch.min(r * adv, r.clamp(.8, 1.2) * adv).mean()
/// value = torch.nn.functional.mse_loss(t([.2,.4,.1,.9]), t([1.,.3,0.,.5]))
/// print(policy.item(), value.item(), (policy + .5 * value - .01 * t([1.,.5,.25,2.]).mean()).item())
/// ```
const TORCH: [f64; 3] = [0.063_707_347_509_817_49, 0.205, 0.156_832_347_509_817_53];

#[test]
fn the_loss_is_that_of_the_requirements() {
    let policy = ppo().policy(&[sequence(&NOW, &ENTROPY)], STEP).unwrap();
    let critic = ppo().critic(&[valued(&VALUES)], STEP).unwrap();
    let [policy_loss, value_loss, entropy, total] = oracle(&NOW, &ENTROPY, &VALUES);
    assert_near(policy.policy_loss, policy_loss);
    assert_near(critic.value_loss, value_loss);
    assert_near(policy.entropy.get().unwrap(), entropy);
    let found = policy.objective.loss + critic.objective.loss;
    assert_near(found, total);
    assert_all_near(&[policy_loss, value_loss, total], &TORCH);
    assert_near(critic.value.get().unwrap(), 0.4);
}

#[test]
fn signals_are_the_slopes_of_the_whole_loss() {
    let policy = ppo().policy(&[sequence(&NOW, &ENTROPY)], STEP).unwrap();
    let critic = ppo().critic(&[valued(&VALUES)], STEP).unwrap();
    let finite = |list: [f64; 5]| list.map(|value| if value.is_nan() { 0.0 } else { value });
    let (now, entropy, values) = (finite(NOW), finite(ENTROPY), finite(VALUES));
    let total = |logp: &[f64], entropy: &[f64], value: &[f64]| oracle(logp, entropy, value)[3];
    let signals = policy.objective.signals;
    assert_slopes(&signals.dlogp, &now, |logp| total(logp, &entropy, &values));
    let dentropy = signals.dentropy.unwrap();
    assert_slopes(&dentropy, &entropy, |entropy| total(&now, entropy, &values));
    let dvalue = critic.objective.signals.dvalue.unwrap();
    assert_slopes(&dvalue, &values, |value| total(&now, &entropy, value));
}

#[test]
fn a_mini_batch_in_parts_is_the_mini_batch() {
    let step = Totals { tokens: 8, episodes: 2 };
    let one = || sequence(&NOW, &ENTROPY);
    let whole = ppo().policy(&[one(), one()], step).unwrap();
    let parts = [0, 1].map(|_| ppo().policy(&[one()], step).unwrap());
    assert_near(whole.policy_loss, parts[0].policy_loss + parts[1].policy_loss);
    let joined: Vec<f64> =
        parts.iter().flat_map(|part| part.objective.signals.dlogp.clone()).collect();
    assert_eq!(whole.objective.signals.dlogp, joined);
}

#[test]
fn a_policy_that_has_not_moved_has_a_divergence_of_0_and_one_that_has_the_mean_of_k3() {
    let found = |logp: &[f64]| ppo().policy(&[sequence(logp, &ENTROPY)], STEP).unwrap().divergence;
    assert_near(found(&OLD).get().unwrap(), 0.0);
    let by_hand = [0, 1, 3, 4].map(|at: usize| {
        let d: f64 = OLD[at] - NOW[at];
        (-d).exp() - 1.0 + d
    });
    assert_near(found(&NOW).get().unwrap(), by_hand.iter().sum::<f64>() / 4.0);
}

#[test]
fn the_last_trained_token_is_paid_and_every_one_is_charged() {
    let trained = [true, false, true, false];
    let sampled = [-1.0, f64::NAN, -0.5, f64::NAN];
    let reference = [-1.5, f64::NAN, -0.25, f64::NAN];
    let paid = |logps| token_rewards(&trained, 0.8, 0.1, logps).unwrap();
    assert_eq!(paid(None), [0.0, 0.0, 0.8, 0.0]);
    assert_all_near(&paid(Some([&sampled, &reference])), &[-0.05, 0.0, 0.825, 0.0]);
    assert_eq!(token_rewards(&[false], 1.0, 0.1, None).unwrap(), [0.0]);
    let refused = token_rewards(&trained, f64::NAN, 0.1, None).unwrap_err();
    assert!(refused.to_string().contains("NaN"), "{refused}");
    let refused = token_rewards(&trained, 1.0, 0.1, Some([&sampled[..2], &reference])).unwrap_err();
    assert!(refused.to_string().contains("2 of logp"), "{refused}");
}

#[test]
fn whitened_numbers_have_mean_0_and_deviation_1_and_others_stay() {
    let masks = vec![vec![true, false], vec![true, true]];
    let mut lists = vec![vec![1.0, 99.0], vec![2.0, 6.0]];
    whiten(&mut lists, &masks);
    assert_near(lists[0][1], 99.0);
    let of = [lists[0][0], lists[1][0], lists[1][1]];
    assert_near(of.iter().sum::<f64>(), 0.0);
    assert_near(of.iter().map(|value| value * value).sum::<f64>() / 3.0, 1.0);
    let mut equal = vec![vec![0.3, 7.0], vec![0.3, 0.3]];
    whiten(&mut equal, &masks);
    assert_eq!(equal, [vec![0.0, 7.0], vec![0.0, 0.0]], "nothing to tell them apart");
    whiten(&mut [], &[]);
}

#[test]
fn an_adaptive_coefficient_follows_the_divergence_and_a_fixed_one_does_not() {
    let config = PpoConfig { kl_coef: 0.2, kl_target: 6.0, ..PpoConfig::default() };
    let after = |divergence| {
        let mut controller = KlController::new(&config);
        controller.update(divergence, 256);
        controller.coefficient
    };
    // Ziegler et al.: β · (1 + clip(KL / target - 1, ±0.2) · n / horizon).
    assert_near(after(6.6), 0.2 * (1.0 + 0.1 * 0.0256));
    assert_near(after(60.0), 0.2 * (1.0 + 0.2 * 0.0256));
    assert_near(after(0.0), 0.2 * (1.0 - 0.2 * 0.0256));
    let mut fixed = KlController::new(&PpoConfig::default());
    fixed.update(60.0, 256);
    assert_near(fixed.coefficient, 0.05);
}
