//! Wrong certificates are refused.

use whetstone_solver::{
    CertificateError, Infeasibility, InfeasibilityProof, Limits, Member, Model, Node, Verdict,
    check_infeasibility, solve,
};

use crate::verdicts::model;

const LINEAR: &str = "Minimize\n 0 x\nSubject To\n a: 2 x + 3 y >= 12\n b: x + y <= 3\n c: y <= 1\n d: x - y >= -9\nEnd";
const WHOLE: &str =
    "Minimize\n 0 x\nSubject To\n a: 3 x + 5 y = 4\n b: x + y <= 9\nGeneral\n x y\nEnd";

fn conflict(text: &str) -> (Model, Infeasibility) {
    let model = model(text);
    let Ok(Verdict::Infeasible(found)) = solve(&model, &Limits::default()) else {
        panic!("expected a conflict")
    };
    check_infeasibility(&model, &found).expect("a certificate that holds");
    (model, found)
}

#[test]
fn a_multiplier_that_is_off_by_one_is_refused() {
    let (model, found) = conflict(LINEAR);
    for index in 0..found.members.len() {
        for change in [-1, 1] {
            let mut wrong = found.clone();
            let InfeasibilityProof::Exact { multipliers } = &mut wrong.proof else { panic!() };
            multipliers[index].weight += change;
            assert_eq!(check_infeasibility(&model, &wrong), Err(CertificateError::NotInfeasible));
        }
    }
}

#[test]
fn negative_weights_are_refused() {
    let (model, mut found) = conflict(LINEAR);
    let InfeasibilityProof::Exact { multipliers } = &mut found.proof else { panic!() };
    for entry in multipliers.iter_mut() {
        entry.weight *= -1;
    }
    assert_eq!(check_infeasibility(&model, &found), Err(CertificateError::NotInfeasible));
}

#[test]
fn a_member_too_many_or_too_few_is_refused() {
    let (model, found) = conflict(LINEAR);
    let mut fewer = found.clone();
    fewer.members.pop();
    assert_eq!(check_infeasibility(&model, &fewer), Err(CertificateError::NotIrreducible));
    let mut more = found.clone();
    more.members.insert(1, Member::Row(3));
    assert!(check_infeasibility(&model, &more).is_err());
    let InfeasibilityProof::Exact { multipliers } = &mut fewer.proof else { panic!() };
    multipliers.pop();
    assert_eq!(check_infeasibility(&model, &fewer), Err(CertificateError::NotInfeasible));
}

#[test]
fn a_sum_of_two_conflicts_is_infeasible_but_not_irreducible() {
    let text = "Minimize\n 0 x\nSubject To\n a: x >= 5\n b: x <= 1\n c: y >= 5\n d: y <= 1\nEnd";
    let (model, found) = conflict(text);
    let mut both = found.clone();
    both.members = (0..4).map(Member::Row).collect();
    let InfeasibilityProof::Exact { multipliers } = &mut both.proof else { panic!() };
    let others = multipliers.clone().into_iter().map(|mut entry| {
        let Member::Row(row) = entry.member else { panic!() };
        entry.member = Member::Row((row + 2) % 4);
        entry
    });
    multipliers.extend(others.collect::<Vec<_>>());
    multipliers.sort_by_key(|entry| entry.member);
    assert_eq!(check_infeasibility(&model, &both), Err(CertificateError::NotIrreducible));
}

#[test]
fn a_certificate_for_another_model_is_refused() {
    let (mut model, found) = conflict(LINEAR);
    model.rows[0].lower = 7.0;
    assert_eq!(check_infeasibility(&model, &found), Err(CertificateError::NotInfeasible));
}

#[test]
fn a_tree_with_a_leaf_or_a_branch_changed_is_refused() {
    let (model, found) = conflict(WHOLE);
    let InfeasibilityProof::Integer { refutation, .. } = &found.proof else { panic!("{found:?}") };
    for index in 0..refutation.nodes.len() {
        let mut wrong = found.clone();
        let InfeasibilityProof::Integer { refutation, .. } = &mut wrong.proof else { panic!() };
        match &mut refutation.nodes[index] {
            Node::Leaf { multipliers } => multipliers[0].weight += 1,
            Node::Branch { at, .. } => *at += 0.5,
            Node::Divisibility { row } => *row += 1,
        }
        assert_eq!(
            check_infeasibility(&model, &wrong),
            Err(CertificateError::NotInfeasible),
            "node {index}"
        );
    }
}

#[test]
fn a_tree_that_loops_or_leaves_its_nodes_is_refused() {
    let (model, found) = conflict(WHOLE);
    for target in [0, usize::MAX] {
        let mut wrong = found.clone();
        let InfeasibilityProof::Integer { refutation, .. } = &mut wrong.proof else { panic!() };
        let Node::Branch { above, .. } = &mut refutation.nodes[0] else { panic!("{refutation:?}") };
        *above = target;
        assert_eq!(check_infeasibility(&model, &wrong), Err(CertificateError::NotInfeasible));
    }
}

#[test]
fn a_witness_that_satisfies_too_little_is_refused() {
    let (model, mut found) = conflict(WHOLE);
    let InfeasibilityProof::Integer { witnesses, .. } = &mut found.proof else { panic!() };
    let witness = witnesses[0].as_mut().expect("a witness");
    witness[0] += 0.5;
    assert_eq!(check_infeasibility(&model, &found), Err(CertificateError::NotIrreducible));
}
