//! What holds of every figure, whatever the counts.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use proptest::prelude::*;
use whetstone_core::task::TaskId;
use whetstone_eval::{Difference, Estimate, compare, pass_at_k};
use whetstone_rollout::measure::Tally;

const SAMPLES: u64 = 4;

/// A task for each count of passing samples.
fn tallies(passed: &[u64]) -> Vec<Tally> {
    let tally = |(at, &passed): (usize, &u64)| Tally {
        task: TaskId::try_from(format!("t/{at:03}")).unwrap(),
        samples: SAMPLES,
        passed,
    };
    passed.iter().enumerate().map(tally).collect()
}

fn ends(estimate: Estimate) -> (f64, f64, f64) {
    (estimate.value, estimate.low, estimate.high)
}

fn width(estimate: Estimate) -> f64 {
    estimate.high - estimate.low
}

#[test]
fn all_solved_is_one_and_none_is_zero_and_more_tasks_leave_less_doubt() {
    for k in 1..=SAMPLES {
        let doubt = [30, 99, 100, 1000].map(|count| {
            let (value, low, high) = ends(pass_at_k(&tallies(&vec![4; count]), k).unwrap());
            assert_eq!((value, high), (1.0, 1.0));
            let none = ends(pass_at_k(&tallies(&vec![0; count]), k).unwrap());
            assert_eq!((none.0, none.1), (0.0, 0.0));
            assert!((none.2 - (1.0 - low)).abs() < 1e-12, "{none:?} beside {low}");
            1.0 - low
        });
        assert!(doubt.is_sorted_by(|more, less| more > less) && doubt[3] > 0.003, "{doubt:?}");
    }
}

/// Half of the tasks are easy and half hard, and the later model solves one sample more of each: what
/// makes the figures vary is the choice of tasks, which both share.
#[test]
fn a_paired_interval_is_narrower_than_one_of_strangers() {
    let passed: Vec<u64> = (0..60).map(|at| if at % 2 == 0 { 0 } else { 3 - at % 3 / 2 }).collect();
    let better: Vec<u64> = passed.iter().map(|passed| passed + 1).collect();
    let (before, after) = (tallies(&passed), tallies(&better));
    let paired = compare(&before, &after, 1).unwrap();
    let alone = [&before, &after].map(|side| width(pass_at_k(side, 1).unwrap()));
    let strangers = alone[0].hypot(alone[1]);
    assert!((paired.value - 0.25).abs() < 1e-12, "{paired:?}");
    assert!(paired.high - paired.low < 0.05 * strangers, "{paired:?} beside {strangers}");
    assert!(paired.is_clear());
}

#[test]
fn more_tasks_make_a_narrower_interval() {
    let passed = |count: u64| (0..count).map(|at| at % 5).collect::<Vec<_>>();
    let few = width(pass_at_k(&tallies(&passed(25)), 1).unwrap());
    let many = width(pass_at_k(&tallies(&passed(400)), 1).unwrap());
    // A sixteenth of the variance: a quarter of the width, but for chance.
    assert!((many / few - 0.25).abs() < 0.03, "{many} beside {few}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_order_of_tasks_does_not_matter(
        passed in prop::collection::vec((0..=SAMPLES, 0..=SAMPLES), 1..40),
        by in 0..40_usize,
    ) {
        let (before, after): (Vec<u64>, Vec<u64>) = passed.into_iter().unzip();
        let (before, after) = (tallies(&before), tallies(&after));
        let mut turned = before.clone();
        turned.rotate_left(by % before.len());
        let mut backwards = after.clone();
        backwards.reverse();
        prop_assert_eq!(pass_at_k(&before, 2).unwrap(), pass_at_k(&turned, 2).unwrap());
        prop_assert_eq!(
            compare(&before, &after, 2).unwrap(),
            compare(&turned, &backwards, 2).unwrap()
        );
    }

    #[test]
    fn an_interval_lies_within_what_can_be_and_more_tries_never_hurt(
        passed in prop::collection::vec(0..=SAMPLES, 1..40),
    ) {
        let counts = tallies(&passed);
        let mut last = 0.0;
        for k in 1..=SAMPLES {
            let found = pass_at_k(&counts, k).unwrap();
            prop_assert!(0.0 <= found.low && found.low <= found.high && found.high <= 1.0);
            prop_assert!(found.value >= last - 1e-12);
            last = found.value;
        }
    }

    #[test]
    fn a_difference_turned_round_is_its_negative(
        passed in prop::collection::vec((0..=SAMPLES, 0..=SAMPLES), 1..40),
    ) {
        let (before, after): (Vec<u64>, Vec<u64>) = passed.into_iter().unzip();
        let (before, after) = (tallies(&before), tallies(&after));
        let there = compare(&before, &after, 1).unwrap();
        let back = compare(&after, &before, 1).unwrap();
        let Difference { value, low, high, .. } = back;
        for (one, other) in [(there.value, -value), (there.low, -high), (there.high, -low)] {
            prop_assert!((one - other).abs() < 1e-12, "{} and {}", one, other);
        }
        let of = |side| pass_at_k(side, 1).unwrap().value;
        prop_assert!((there.value - (of(&after) - of(&before))).abs() < 1e-12);
        prop_assert_eq!(ends(of_none(&before)), (0.0, 0.0, 0.0));
    }
}

/// The difference of a side from itself, as an estimate.
fn of_none(side: &[Tally]) -> Estimate {
    let Difference { value, low, high, tasks, left_out, p } = compare(side, side, 1).unwrap();
    assert!(p > 1.0 - 1e-12, "nothing changed, whatever the signs");
    Estimate { value, low, high, tasks, left_out }
}
