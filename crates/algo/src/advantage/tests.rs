//! Advantages worked by hand, against another implementation, and the laws that they obey.

use proptest::prelude::*;

use super::*;

const EVERY: [AdvantageBy; 3] =
    [AdvantageBy::StandardScore, AdvantageBy::Mean, AdvantageBy::LeaveOneOut];

#[track_caller]
fn check(rewards: &[f64], how: AdvantageBy, expected: &[f64]) {
    let found = group(rewards, how).unwrap();
    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * b.abs().max(1.0);
    assert!(
        found.len() == expected.len() && found.iter().zip(expected).all(near),
        "{how:?}: {found:?} is not {expected:?}"
    );
}

#[test]
fn one_pass_of_four_worked_by_hand() {
    // Mean 1/4, variance 3/16.
    let (up, down) = (3.0_f64.sqrt(), -1.0 / 3.0_f64.sqrt());
    let rewards = [1.0, 0.0, 0.0, 0.0];
    check(&rewards, AdvantageBy::StandardScore, &[up, down, down, down]);
    check(&rewards, AdvantageBy::Mean, &[0.75, -0.25, -0.25, -0.25]);
    let third = -1.0 / 3.0;
    check(&rewards, AdvantageBy::LeaveOneOut, &[1.0, third, third, third]);
}

/// The numbers of Python 3.11's `statistics`, whose sums are exact before they are rounded;
/// the `numpy.std` default is the same.
///
/// ```python
/// from statistics import fmean, pstdev
/// r = [1.0, 0.3, 0.3, 0.59, 0.0, 1.0, 0.46, 0.8]
/// [(x - fmean(r)) / pstdev(r) for x in r]
/// [x - fmean(r) for x in r]
/// [x - (sum(r) - x) / (len(r) - 1) for x in r]
/// ```
#[test]
fn they_are_the_numbers_of_another_implementation() {
    let rewards = [1.0, 0.3, 0.3, 0.59, 0.0, 1.0, 0.46, 0.8];
    check(
        &rewards,
        AdvantageBy::StandardScore,
        &[
            1.319_793_800_486_532_2,
            -0.762_134_448_168_279_2,
            -0.762_134_448_168_279_2,
            0.100_378_683_417_285_38,
            -1.654_389_411_877_484,
            1.319_793_800_486_532_2,
            -0.286_265_134_190_036_6,
            0.724_957_158_013_729,
        ],
    );
    check(
        &rewards,
        AdvantageBy::Mean,
        &[0.44375, -0.25625, -0.25625, 0.03375, -0.55625, 0.44375, -0.09625, 0.24375],
    );
    check(
        &rewards,
        AdvantageBy::LeaveOneOut,
        &[
            0.507_142_857_142_857_1,
            -0.292_857_142_857_142_87,
            -0.292_857_142_857_142_87,
            0.038_571_428_571_428_48,
            -0.635_714_285_714_285_8,
            0.507_142_857_142_857_1,
            -0.11,
            0.278_571_428_571_428_6,
        ],
    );
}

#[test]
fn a_dead_group_is_all_zeros() {
    for rewards in [&[][..], &[0.7], &[0.3, 0.3, 0.3], &[0.0, -0.0]] {
        assert!(is_constant(rewards), "{rewards:?}");
        for how in EVERY {
            assert_eq!(group(rewards, how), Ok(vec![0.0; rewards.len()]), "{rewards:?}");
        }
    }
}

fn reward(judged: f64, tests: f64) -> GroupReward {
    GroupReward::judged(judged, Some(tests))
}

/// Rewards 1 and 0 less charges of 0.5 and 0.1, and two failures with the same charges.
#[test]
fn charges_come_off_before_advantages_and_alone_they_stay_small() {
    let charges = [0.5, 0.1];
    let of = |rewards: [GroupReward; 2], how| {
        of_charged_group(&rewards, &charges, GroupRule { how, floor: 0.01 }).unwrap()
    };
    let (live, dead) = ([reward(1.0, 1.0), reward(0.0, 0.0)], [reward(0.0, 0.0); 2]);
    let near = |found: Vec<f64>, expected: [f64; 2]| {
        let close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-12;
        assert!(found.iter().zip(&expected).all(close), "{found:?} is not {expected:?}");
    };
    near(of(live, AdvantageBy::StandardScore), [1.0, -1.0]);
    near(of(live, AdvantageBy::Mean), [0.3, -0.3]);
    near(of(live, AdvantageBy::LeaveOneOut), [0.6, -0.6]);
    near(of(dead, AdvantageBy::StandardScore), [-0.2, 0.2]);
    near(of(dead, AdvantageBy::Mean), [-0.2, 0.2]);
    near(of(dead, AdvantageBy::LeaveOneOut), [-0.4, 0.4]);
    let rule = GroupRule { how: AdvantageBy::Mean, floor: 0.0 };
    let error = of_charged_group(&dead, &[0.5], rule).unwrap_err();
    assert!(error.to_string().starts_with("there are 1 of charges, but 2"), "{error}");
}

#[test]
fn the_floor_is_that_of_the_caller() {
    let rewards = [0.5, 0.52].map(|judged| GroupReward::judged(judged, None));
    let how = AdvantageBy::StandardScore;
    let of = |floor| of_group(&rewards, GroupRule { how, floor }).unwrap();
    assert_eq!(of(0.05), [0.0, 0.0]);
    assert!(of(0.01)[1] > 0.99, "{:?}", of(0.01));
}

#[test]
fn a_reward_that_is_no_number_is_named_and_makes_no_live_group() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert!(is_constant(&[0.5, 1.0, bad]));
        let error = group(&[0.5, 1.0, bad], AdvantageBy::StandardScore).unwrap_err();
        assert!(matches!(error, AlgoError::Entry { what: "reward", at: 2, .. }), "{error}");
    }
}

#[test]
fn rounding_is_no_variance_and_a_small_difference_is() {
    assert!(is_constant(&[0.1 + 0.2, 0.3]));
    assert!(!is_constant(&[0.3, 0.3 + 1e-6]));
    assert!(!is_constant(&[0.0, 1e-12]), "small, but all there is");
}

#[test]
fn the_largest_and_the_smallest_numbers_stay_finite() {
    for rewards in [[f64::MAX, f64::MIN, 0.0], [5e-324, 0.0, 0.0], [1e200, 1e-200, 0.0]] {
        for how in EVERY {
            let found = group(&rewards, how).unwrap();
            assert!(found.iter().all(|value| value.is_finite()), "{how:?}: {found:?}");
            assert!(found[0] > 0.0, "{how:?}: {found:?}");
        }
    }
    let (up, down) = (2.0_f64.sqrt(), -1.0 / 2.0_f64.sqrt());
    check(&[5e-324, 0.0, 0.0], AdvantageBy::StandardScore, &[up, down, down]);
}

#[test]
fn a_group_that_was_scaled_first_comes_back_at_its_own_size() {
    for size in [1e200, 1e-200] {
        for (how, part) in [(AdvantageBy::Mean, 0.5), (AdvantageBy::LeaveOneOut, 1.0)] {
            let found = group(&[size, 0.0], how).unwrap();
            let expected = [part, -part];
            let near = |(found, part): (&f64, &f64)| (found / size - part).abs() < 1e-12;
            assert!(found.iter().zip(&expected).all(near), "{how:?} of {size}: {found:?}");
        }
    }
}

/// Groups as they come: most rewards repeat.
fn rewards() -> impl Strategy<Value = Vec<f64>> {
    let reward = prop_oneof![(0..=10_u8).prop_map(|n| f64::from(n) / 10.0), -5.0..5.0_f64];
    prop::collection::vec(reward, 0..20)
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
}

proptest! {
    #[test]
    fn they_sum_to_zero_and_keep_the_order_of_the_rewards(rewards in rewards()) {
        for how in EVERY {
            let found = group(&rewards, how).unwrap();
            prop_assert!(close(found.iter().sum(), 0.0), "{how:?}: {found:?}");
            for (a, x) in rewards.iter().zip(&found) {
                for (b, y) in rewards.iter().zip(&found) {
                    prop_assert!(a < b || x >= y || is_constant(&rewards));
                }
            }
        }
    }

    #[test]
    fn the_standard_score_has_a_mean_square_of_one(rewards in rewards()) {
        prop_assume!(!is_constant(&rewards));
        let found = group(&rewards, AdvantageBy::StandardScore).unwrap();
        let square = found.iter().map(|value| value * value).sum::<f64>();
        #[expect(clippy::cast_precision_loss, reason = "twenty at most")]
        let n = found.len() as f64;
        prop_assert!(close(square / n, 1.0), "{square}");
    }

    #[test]
    fn the_order_of_the_group_does_not_matter(rewards in rewards(), by in 0..20_usize) {
        for how in EVERY {
            let mut turned = rewards.clone();
            let by = by.min(turned.len());
            turned.rotate_left(by);
            let mut expected = group(&rewards, how).unwrap();
            expected.rotate_left(by);
            let found = group(&turned, how).unwrap();
            prop_assert!(found.iter().zip(&expected).all(|(&a, &b)| close(a, b)));
        }
    }

    #[test]
    fn scale_leaves_the_standard_score_alone_and_carries_through_the_others(
        rewards in rewards(),
        scale in 1e-3..1e3_f64,
        shift in -5.0..5.0_f64,
    ) {
        for how in EVERY {
            let factor = if how == AdvantageBy::StandardScore { 1.0 } else { scale };
            let other: Vec<_> = rewards.iter().map(|reward| reward * scale).collect();
            let (found, expected) = (group(&other, how).unwrap(), group(&rewards, how).unwrap());
            prop_assert!(found.iter().zip(&expected).all(|(&a, &b)| close(a, b * factor)));
            let other: Vec<_> = rewards.iter().map(|reward| reward + shift).collect();
            prop_assume!(is_constant(&other) == is_constant(&rewards));
            let found = group(&other, how).unwrap();
            prop_assert!(found.iter().zip(&expected).all(|(&a, &b)| (a - b).abs() <= 1e-6 * b.abs().max(1.0)));
        }
    }
}
