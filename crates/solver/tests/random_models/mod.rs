//! Verdicts on random models: certificates hold, and no member of a conflict can be spared.

mod draw;

use self::draw::model;

use whetstone_solver::{
    Feasibility, Infeasibility, InfeasibilityProof, Kind, Limits, Member, Model, SolverError,
    Verdict, check_infeasibility, find_iis, solve,
};

pub(crate) fn without(model: &mut Model, member: Member) {
    match member {
        Member::Row(row) => {
            (model.rows[row].lower, model.rows[row].upper) = (f64::NEG_INFINITY, f64::INFINITY);
        }
        Member::LowerBound(variable) => model.variables[variable].lower = f64::NEG_INFINITY,
        Member::UpperBound(variable) => model.variables[variable].upper = f64::INFINITY,
    }
}

/// The model with these members alone, and no objective.
fn only(model: &Model, members: &[Member]) -> Model {
    let mut rest = model.clone();
    let rows = (0..model.rows.len()).map(Member::Row);
    let lower = (0..model.variables.len()).map(Member::LowerBound);
    let upper = (0..model.variables.len()).map(Member::UpperBound);
    let others = rows.chain(lower).chain(upper).filter(|member| !members.contains(member));
    others.for_each(|member| without(&mut rest, member));
    rest.variables.iter_mut().for_each(|variable| variable.cost = 0.0);
    rest
}

/// The members have no solution, and each is needed for that.
fn assert_irreducible(seed: u64, model: &Model, found: &Infeasibility) {
    let members = &found.members;
    let conflict = only(model, members);
    let verdict = solve(&conflict, &Limits::default()).expect("a verdict");
    assert!(matches!(verdict, Verdict::Infeasible(_)), "seed {seed}: {members:?} has a solution");
    for member in members {
        let mut others = conflict.clone();
        without(&mut others, *member);
        let verdict = solve(&others, &Limits::default());
        assert!(
            matches!(verdict, Ok(Verdict::Optimal(_))),
            "seed {seed}: {member:?} of {members:?} can be spared: {verdict:?}"
        );
    }
}

#[test]
fn every_conflict_of_a_thousand_linear_models_is_exact_and_irreducible() {
    let mut counts = [0; 3];
    for seed in 0..1_000 {
        let model = model(seed, Kind::Continuous);
        match solve(&model, &Limits::default()).expect("a verdict") {
            Verdict::Optimal(optimum) => {
                counts[0] += 1;
                assert_ne!(optimum.feasibility, Feasibility::Tolerance, "seed {seed}");
            }
            Verdict::Unbounded(_) => counts[1] += 1,
            Verdict::Infeasible(found) => {
                counts[2] += 1;
                assert!(matches!(found.proof, InfeasibilityProof::Exact { .. }), "seed {seed}");
                check_infeasibility(&model, &found).expect("a certificate that holds");
                assert_irreducible(seed, &model, &found);
            }
        }
    }
    assert!(counts.iter().all(|count| *count > 40), "{counts:?}");
}

#[test]
fn every_conflict_of_integer_models_is_irreducible_in_integers() {
    let (mut trees, mut undecided) = (0, 0);
    for seed in 0..120 {
        let model = model(seed, Kind::Integer);
        let Ok(Verdict::Infeasible(found)) = solve(&model, &FEW_NODES) else { continue };
        check_infeasibility(&model, &found).expect("a certificate that holds");
        trees += usize::from(matches!(found.proof, InfeasibilityProof::Integer { .. }));
        let conflict = only(&model, &found.members);
        for member in &found.members {
            let mut others = conflict.clone();
            without(&mut others, *member);
            match solve(&others, &FEW_NODES) {
                Ok(Verdict::Optimal(_)) => (),
                // Without its bound an integer variable may leave the search without an end.
                Err(SolverError::OutOfNodes { .. }) => undecided += 1,
                other => panic!(
                    "seed {seed}: {member:?} of {:?} can be spared: {other:?}",
                    found.members
                ),
            }
        }
    }
    assert!(trees > 3, "{trees} models had no solution in integers alone");
    assert!(undecided < 40, "{undecided} members were not decided");
}

const FEW_NODES: Limits = Limits {
    max_rows: 100,
    max_variables: 100,
    max_terms: 1_000,
    max_nodes: 300,
    time: std::time::Duration::from_mins(1),
};

#[test]
fn conflicts_by_random_weights_are_irreducible_too() {
    for seed in 0..200 {
        let model = model(seed, Kind::Continuous);
        if let Some(found) = find_iis(&model, &Limits::default(), seed).expect("a verdict") {
            assert_irreducible(seed, &model, &found);
        }
    }
}

#[test]
fn the_same_model_has_the_same_verdict() {
    for seed in 0..100 {
        let model = model(seed, Kind::Integer);
        assert_eq!(solve(&model, &Limits::default()), solve(&model, &Limits::default()));
    }
}
