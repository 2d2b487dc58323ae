//! Conflicts of models that are given to the search directly, which most models never reach.

#[path = "../../tests/random_models/draw.rs"]
mod draw;

use std::collections::BTreeSet;

use super::{Outcome, find};
use crate::certificate::Weighted;
use crate::check::check_conflict;
use crate::conflict::{Norm, contradiction};
use crate::limits::Limits;
use crate::lp::read_lp;
use crate::model::{Kind, Model};
use crate::side::Side;
use crate::solve::solve;
use crate::tableau::Budget;
use crate::verdict::{Infeasibility, InfeasibilityProof, Member, Multiplier, Verdict};
use crate::view::View;

fn assert_certified(view: &View<'_>, multipliers: Vec<Multiplier>, what: &str) {
    let members: BTreeSet<Member> = multipliers.iter().map(|entry| entry.member).collect();
    let members = members.into_iter().collect();
    let claim = Infeasibility { members, proof: InfeasibilityProof::Exact { multipliers } };
    assert_eq!(check_conflict(view, &claim), Ok(()), "{what}");
}

/// Weights of about half of the sides, as good as any guess.
fn guess<'a>(view: &View<'a>, seed: u64) -> Vec<Weighted<'a>> {
    let sides = Side::all(view).into_iter().enumerate();
    let kept = sides.filter(|(index, _)| (seed >> (index % 13)) & 1 == 1);
    kept.map(|(index, side)| Weighted { side, weight: [0.5, 3.0, 1e-9][index % 3] }).collect()
}

#[test]
fn random_models_have_a_conflict_exactly_if_they_are_infeasible_whatever_the_weights() {
    let mut counts = [0; 2];
    for seed in 0..600 {
        let model = draw::model(seed, Kind::Continuous);
        let view = View::of(&model);
        if contradiction(&view, Norm::Uniform).is_some() {
            continue;
        }
        let verdict = solve(&model, &Limits::default()).expect("a verdict");
        let is_infeasible = matches!(verdict, Verdict::Infeasible(_));
        for support in [Vec::new(), guess(&view, seed)] {
            match find(&view, &support, Budget::USUAL) {
                Outcome::Conflict(found) => {
                    assert_certified(&view, found, &format!("seed {seed}"));
                    assert!(is_infeasible, "seed {seed}");
                }
                Outcome::Feasible => assert!(!is_infeasible, "seed {seed}"),
                Outcome::OutOfBudget => panic!("seed {seed}"),
            }
        }
        counts[usize::from(is_infeasible)] += 1;
    }
    assert!(counts.iter().all(|count| *count > 50), "{counts:?}");
}

/// `x0 = 1`, each next a thousandth of the last, and the twelfth at most 0.
fn chain() -> Model {
    let link = |index: u32| format!(" c{index}: 1000 x{} - x{index} = 0\n", index + 1);
    let links: Vec<String> = (0..12).map(link).collect();
    let (start, end) = (" start: x0 = 1\n", " end: x12 <= 0\n");
    let text = format!("Minimize\n obj: x0\nSubject To\n{start}{}{end}End\n", links.concat());
    read_lp(&text).expect("a model")
}

#[test]
fn a_conflict_over_thirty_six_orders_of_magnitude_is_found() {
    let model = chain();
    let view = View::of(&model);
    let Outcome::Conflict(found) = find(&view, &[], Budget::USUAL) else { panic!("no conflict") };
    assert_eq!(found.len(), model.rows.len(), "every row takes part");
    assert_certified(&view, found, "the chain");
}

#[test]
fn a_search_beyond_its_budget_says_so() {
    let model = chain();
    let view = View::of(&model);
    for budget in [Budget { words: 10, ..Budget::USUAL }, Budget { work: 30, ..Budget::USUAL }] {
        assert!(matches!(find(&view, &[], budget), Outcome::OutOfBudget));
    }
}
