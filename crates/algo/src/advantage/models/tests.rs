//! What a model's weight weighs: worked by hand, and simulated.

use std::collections::BTreeMap;

use whetstone_core::Seed;
use whetstone_core::reward::{MODEL, Reward, Term};

use super::super::{GroupRule, of_charged_group, of_group};
use super::*;
use crate::testing::{assert_all_near, assert_near};

/// A reward as it is paid where a model has the share `weight`: its normalised score goes through σ.
fn paid(tests: f64, score: f64, weight: f64) -> GroupReward {
    let sigma = 1.0 / (1.0 + (-score).exp());
    let terms = BTreeMap::from([
        ("tests".to_owned(), Term { value: tests, weight: 1.0 - weight }),
        (MODEL.to_owned(), Term { value: sigma, weight }),
    ]);
    GroupReward::from(&Reward::new(terms, BTreeMap::new()).unwrap())
}

const SCORE: GroupRule = GroupRule { how: AdvantageBy::StandardScore, floor: 0.01 };

/// A number of the standard normal distribution, by Box and Muller.
fn normal(index: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a fraction")]
    let uniform = |stage| (Seed::new(7).derive(stage, index).get() as f64 + 0.5) / 2.0_f64.powi(64);
    (-2.0 * uniform("radius").ln()).sqrt() * (std::f64::consts::TAU * uniform("angle")).cos()
}

/// The mean size of an advantage in 4,000 groups of four, of which `passes` pass. Scores have this
/// standard deviation.
fn mean_size(weight: f64, deviation: f64, passes: usize) -> f64 {
    let mut mean = crate::Mean::default();
    for group in 0..4000 {
        let reward = |at: usize| {
            let tests = if at < passes { 1.0 } else { 0.0 };
            paid(tests, deviation * normal(4 * group + at as u64), weight)
        };
        let rewards: Vec<GroupReward> = (0..4).map(reward).collect();
        of_group(&rewards, SCORE).unwrap().iter().for_each(|advantage| mean.add(advantage.abs()));
    }
    mean.get().unwrap()
}

#[test]
fn the_weight_of_a_model_weighs_in_groups_that_nobody_solves() {
    let (light, heavy) = (mean_size(0.05, 1.0, 0), mean_size(0.5, 1.0, 0));
    assert!(light < 0.05, "a twentieth of the reward moves by {light}");
    assert!((0.5..0.9).contains(&heavy), "half of the reward moves by {heavy}");
    assert!((heavy / light / 19.0 - 1.0).abs() < 0.1, "{}", heavy / light);
    let alike = mean_size(0.2, 0.3, 0);
    assert!(alike < 0.3 * mean_size(0.2, 1.0, 0) * 1.2, "scores that are alike: {alike}");
    let solved = mean_size(0.05, 1.0, 1);
    assert!(light < solved / 15.0, "{light} beside {solved} where one of four passes");
}

/// Shares of 0.2 and 0.8; the first of two passes. σ(0) is 1/2 and σ(ln 3) is 3/4.
#[test]
fn both_parts_worked_by_hand() {
    let ln3 = 3.0_f64.ln();
    let rewards = [paid(1.0, 0.0, 0.2), paid(0.0, ln3, 0.2)];
    let part = 0.2 / 0.8 * 0.125 / SPREAD;
    assert_all_near(&of_group(&rewards, SCORE).unwrap(), &[1.0 - part, -1.0 + part]);
    let alone = [paid(0.0, 0.0, 0.2), paid(0.0, ln3, 0.2)];
    assert_all_near(&of_group(&alone, SCORE).unwrap(), &[-part, part]);
    // Nothing is divided by a deviation: what is paid is compared as it is.
    let mean = GroupRule { how: AdvantageBy::Mean, ..SCORE };
    let paid_apart = 0.2 * 0.125;
    let expected = [0.4 - paid_apart, -0.4 + paid_apart];
    assert_all_near(&of_group(&rewards, mean).unwrap(), &expected);
    let others = GroupRule { how: AdvantageBy::LeaveOneOut, ..SCORE };
    assert_all_near(&of_group(&rewards, others).unwrap(), &expected.map(|value| 2.0 * value));
}

#[test]
fn the_heavier_part_counts_once() {
    let ln3 = 3.0_f64.ln();
    let part = 0.125 / SPREAD;
    let with = |weight| of_group(&[paid(1.0, 0.0, weight), paid(0.0, ln3, weight)], SCORE).unwrap();
    assert_all_near(&with(0.5), &[1.0 - part, -1.0 + part]);
    assert_all_near(&with(0.8), &[0.25 - part, -0.25 + part]);
    assert_all_near(&with(1.0), &[-part, part]);
}

#[test]
fn a_charge_comes_off_the_judges_part_and_the_models_is_added() {
    let ln3 = 3.0_f64.ln();
    let part = 0.2 / 0.8 * 0.125 / SPREAD;
    let charged = |tests| {
        let rewards = [paid(tests, 0.0, 0.2), paid(0.0, ln3, 0.2)];
        of_charged_group(&rewards, &[0.5, 0.1], SCORE).unwrap()
    };
    assert_all_near(&charged(1.0), &[1.0 - part, -1.0 + part]);
    assert_all_near(&charged(0.0), &[-0.2 - part, 0.2 + part]);
}

/// Turns of 1 and 3, then of 5: means 2 and 5.
#[test]
fn an_episode_is_compared_with_once_however_many_turns_it_has() {
    let episodes = [vec![1.0, 3.0], vec![5.0], vec![]];
    let found = centred(&episodes, AdvantageBy::Mean);
    assert_eq!(found, [vec![-2.5, -0.5], vec![1.5], vec![]]);
    let found = centred(&episodes, AdvantageBy::LeaveOneOut);
    assert_eq!(found, [vec![-4.0, -2.0], vec![3.0], vec![]]);
}

/// The trapezoid rule over ±12 standard deviations.
#[test]
fn the_spread_is_that_of_a_normal_score_through_the_logistic_function() {
    let step = 1e-3_f64;
    let at = |index: i32| {
        let z = step * f64::from(index);
        let density = (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt();
        density * (1.0 / (1.0 + (-z).exp()) - 0.5).powi(2)
    };
    assert_near((-12_000..=12_000).map(at).sum::<f64>() * step, SPREAD * SPREAD);
}
