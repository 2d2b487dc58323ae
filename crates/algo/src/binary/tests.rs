//! Figures worked by hand, the area against every pair, and what intervals promise.

use proptest::prelude::*;

use super::*;
use crate::testing::assert_near;

fn labelled(logit: f64, label: bool) -> Labelled {
    Labelled { logit, label, task: 0 }
}

/// The logit that stands for a probability.
fn logit(probability: f64) -> f64 {
    (probability / (1.0 - probability)).ln()
}

/// Examples in the order of their logits.
fn sorted(examples: impl Iterator<Item = Labelled>) -> Vec<Weighted> {
    let mut sorted: Vec<Weighted> =
        examples.map(|example| Weighted { example, weight: 1.0 }).collect();
    sorted.sort_by(|one, other| one.example.logit.total_cmp(&other.example.logit));
    sorted
}

/// Every pair of a positive and a negative example, as the definition has it.
fn slow_auc(examples: &[Labelled]) -> Option<f64> {
    let of = |label| examples.iter().filter(move |example| example.label == label);
    let mut shares = Vec::new();
    for yes in of(true) {
        for no in of(false) {
            shares.push(match yes.logit.total_cmp(&no.logit) {
                std::cmp::Ordering::Greater => 1.0,
                std::cmp::Ordering::Less => 0.0,
                std::cmp::Ordering::Equal => 0.5,
            });
        }
    }
    let count = number(shares.len() as u64);
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / count)
}

/// Positives at 3, 2 and 1, negatives at 2, 0 and 0: of nine pairs seven are right and one is tied, and
/// the positive at 1 is below the negative at 2.
#[test]
fn the_area_worked_by_hand_and_a_tie_counts_half() {
    let examples =
        [(3.0, true), (2.0, true), (1.0, true), (2.0, false), (0.0, false), (0.0, false)]
            .map(|(logit, label)| labelled(logit, label));
    let found = figures(&examples).unwrap();
    assert_near(found.auc.unwrap().value, 7.5 / 9.0);
    assert_near(found.positives, 0.5);
    assert_eq!((found.examples, found.tasks), (6, 1));
}

/// Ten examples that say 0.82, eight of them positive, and four that say 0.15, one of them positive.
#[test]
fn calibration_and_brier_worked_by_hand() {
    let of = |probability: f64, positives: usize, all: usize| {
        (0..all).map(move |at| labelled(logit(probability), at < positives))
    };
    let examples: Vec<Labelled> = of(0.82, 8, 10).chain(of(0.15, 1, 4)).collect();
    let found = figures(&examples).unwrap();
    let counts: Vec<f64> = found.reliability.iter().map(|bin| bin.examples).collect();
    assert_eq!(counts, [0.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 10.0, 0.0]);
    assert_near(found.reliability[8].positives, 0.8);
    assert_near(found.reliability[8].probability, 0.82);
    assert_near(found.reliability[1].positives, 0.25);
    assert_near(found.calibration_error.value, (10.0 * 0.02 + 4.0 * 0.10) / 14.0);
    let brier =
        8.0 * 0.18_f64.powi(2) + 2.0 * 0.82_f64.powi(2) + 0.85_f64.powi(2) + 3.0 * 0.15_f64.powi(2);
    assert_near(found.brier.value, brier / 14.0);
}

#[test]
fn labels_of_one_kind_have_no_area_and_no_examples_are_refused() {
    let found = figures(&[labelled(0.5, true), labelled(-0.5, true)]).unwrap();
    assert_eq!((found.auc, found.positives), (None, 1.0));
    assert!(figures(&[]).is_err());
    let err = figures(&[labelled(0.0, true), labelled(f64::NAN, false)]).unwrap_err();
    assert_eq!(err.to_string(), "logit 1 is NaN; leave it out");
}

/// Eight tasks whose ten examples are the same tell as much as eight examples, so far less than eighty.
#[test]
fn examples_of_one_task_count_as_one() {
    let of = |shared: bool| -> Interval {
        let examples: Vec<Labelled> = (0..80)
            .map(|at| {
                let like = at / 10;
                let task = if shared { like } else { at };
                let logit = [1.0, 2.0, 0.5, -1.0, 3.0, -2.0, 0.0, 1.5][like];
                Labelled { logit, label: [0, 1, 3, 4, 7].contains(&like), task }
            })
            .collect();
        figures(&examples).unwrap().auc.unwrap()
    };
    let (shared, apart) = (of(true), of(false));
    assert_near(shared.value, apart.value);
    let width = |interval: Interval| interval.high - interval.low;
    assert!(width(shared) > 2.0 * width(apart), "{shared:?} {apart:?}");
}

#[test]
fn the_order_of_examples_changes_no_figure() {
    let examples: Vec<Labelled> = (0..30)
        .map(|at| {
            let logit = f64::from(u8::try_from(at * 7 % 30).unwrap()) / 10.0;
            Labelled { logit, label: at % 3 == 0, task: at % 5 }
        })
        .collect();
    let mut turned = examples.clone();
    turned.reverse();
    assert_eq!(figures(&examples).unwrap(), figures(&turned).unwrap());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn the_area_is_that_of_all_pairs(
        values in prop::collection::vec((-4..4_i8, any::<bool>()), 1..24),
    ) {
        let examples: Vec<Labelled> =
            values.iter().map(|&(logit, label)| labelled(f64::from(logit), label)).collect();
        let (found, slow) = (auc::auc(&sorted(examples.iter().copied())), slow_auc(&examples));
        prop_assert_eq!(found.is_some(), slow.is_some());
        if let (Some(found), Some(slow)) = (found, slow) {
            assert_near(found, slow);
        }
    }

    #[test]
    fn what_moves_all_logits_alike_leaves_the_area(
        values in prop::collection::vec((-4.0..4.0_f64, any::<bool>()), 2..16), by in 0.1..5.0_f64,
    ) {
        let area = |scale: f64| auc::auc(&sorted(values.iter().map(|&(logit, label)| labelled(scale * logit, label))));
        prop_assert_eq!(area(1.0), area(by));
    }
}
