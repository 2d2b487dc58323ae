//! Verdicts on models worked by hand.

use whetstone_solver::{
    Arithmetic, Feasibility, InfeasibilityProof, Kind, Limits, Member, Model, ModelError, Node,
    OptimumProof, SolverError, Verdict, find_iis, read_lp, solve,
};

pub(crate) fn model(text: &str) -> Model {
    read_lp(text).expect("a model")
}

fn verdict(text: &str) -> Verdict {
    solve(&model(text), &Limits::default()).expect("a verdict")
}

/// The names of the members of the conflict, bounds as `x >=` and `x <=`.
fn conflict(text: &str) -> Vec<String> {
    let Verdict::Infeasible(found) = verdict(text) else { panic!("expected a conflict in {text}") };
    let model = model(text);
    let name = |member: &Member| match member {
        Member::Row(row) => model.rows[*row].name.clone(),
        Member::LowerBound(variable) => format!("{} >=", model.variables[*variable].name),
        Member::UpperBound(variable) => format!("{} <=", model.variables[*variable].name),
    };
    found.members.iter().map(name).collect()
}

#[test]
fn a_vertex_with_thirds_is_optimal_in_exact_arithmetic() {
    // 3x + y = 5 and x + 2y = 3 meet in (7/5, 4/5), which are no binary fractions.
    let text = "Maximize\n x + y\nSubject To\n a: 3 x + y = 5\n b: x + 2 y = 3\nEnd";
    let Verdict::Optimal(optimum) = verdict(text) else { panic!("expected an optimum") };
    assert!((optimum.objective - 2.2).abs() < 1e-12, "{optimum:?}");
    assert_eq!(optimum.feasibility, Feasibility::Rounded);
    let OptimumProof::Dual { bound, arithmetic } = optimum.proof else { panic!("{optimum:?}") };
    assert_eq!(arithmetic, Arithmetic::Exact);
    assert!((bound - 2.2).abs() < 1e-12);
}

#[test]
fn an_integral_optimum_is_feasible_without_tolerance() {
    let text = "Minimize\n 2 x + 3 y\nSubject To\n a: x + y >= 4\n b: x <= 3\nEnd";
    let Verdict::Optimal(optimum) = verdict(text) else { panic!("expected an optimum") };
    assert_eq!(optimum.feasibility, Feasibility::Exact);
    assert_eq!(optimum.values, [3.0, 1.0]);
    assert!((optimum.objective - 9.0).abs() < f64::EPSILON);
}

#[test]
fn integers_are_whole_and_their_optimum_is_named_a_search() {
    let text = "Maximize\n x + y\nSubject To\n a: 2 x + 2 y <= 7\nGeneral\n x y\nEnd";
    let Verdict::Optimal(optimum) = verdict(text) else { panic!("expected an optimum") };
    assert_eq!(optimum.proof, OptimumProof::Search);
    assert!((optimum.objective - 3.0).abs() < f64::EPSILON);
    assert!(optimum.values.iter().all(|value| value.fract() == 0.0));
}

#[test]
fn an_objective_that_improves_for_ever_has_a_witness_and_a_ray() {
    let text = "Maximize\n x + y\nSubject To\n a: x - y >= 2\n b: x - 3 y <= 9\nEnd";
    let Verdict::Unbounded(found) = verdict(text) else { panic!("expected a ray") };
    let (x, y) = (found.ray[0], found.ray[1]);
    assert!(x - y >= -1e-9 && x - 3.0 * y <= 1e-9 && x + y > 0.1, "{found:?}");
    assert!(found.witness[0] - found.witness[1] >= 2.0 - 1e-6);
}

#[test]
fn an_integer_without_bound_is_unbounded_not_2147483647() {
    let text = "Maximize\n x\nSubject To\n a: x - y <= 3\nGeneral\n x\nEnd";
    assert!(matches!(verdict(text), Verdict::Unbounded(_)));
}

#[test]
fn a_conflict_names_the_rows_and_bounds_that_make_it() {
    let text = "Minimize\n 0 x + 0 y\nSubject To\n need: x + y >= 10\n cap: x <= 3\n spare: x - y <= 50\nBounds\n y <= 4\nEnd";
    assert_eq!(conflict(text), ["need", "cap", "y <="]);
}

#[test]
fn an_equation_is_named_once_whichever_side_conflicts() {
    let text = "Minimize\n 0 x\nSubject To\n balance: x + y = 5\n low: x + y <= 4\nEnd";
    assert_eq!(conflict(text), ["balance", "low"]);
}

#[test]
fn a_range_conflicts_by_one_of_its_sides() {
    let text = "Minimize\n 0 x\nSubject To\n span: -2 <= x + y <= 8\n high: x + y >= 9\nEnd";
    assert_eq!(conflict(text), ["span", "high"]);
}

#[test]
fn rows_and_bounds_that_contradict_themselves_stand_alone() {
    assert_eq!(conflict("Minimize\n x\nSubject To\n a: 5 <= x <= 3\n b: x >= 9\nEnd"), ["a"]);
    assert_eq!(conflict("Minimize\n x\nSubject To\n a: 0 x >= 3\n b: x >= 9\nEnd"), ["a"]);
    let bounds = "Minimize\n x\nSubject To\n a: x <= 9\nBounds\n 5 <= x <= 3\nEnd";
    assert_eq!(conflict(bounds), ["x >=", "x <="]);
    let fraction =
        "Minimize\n x\nSubject To\n a: x <= 9\nBounds\n 0.2 <= x <= 0.8\nGeneral\n x\nEnd";
    assert_eq!(conflict(fraction), ["x >=", "x <="]);
}

#[test]
fn free_rows_take_no_part_in_a_conflict() {
    let text = "Minimize\n 0 x\nSubject To\n free: x >= -inf\n a: x >= 2\n b: x <= 1\nEnd";
    assert_eq!(conflict(text), ["a", "b"]);
}

#[test]
fn numbers_of_any_size_have_exact_certificates() {
    let text =
        "Minimize\n 0 x\nSubject To\n a: 1e20 x + 0.1 y >= 1e20\n b: x <= 0.5\n c: y <= 0.125\nEnd";
    assert_eq!(conflict(text), ["a", "b", "c"]);
}

#[test]
fn no_integer_solution_is_proven_by_a_tree() {
    // 4 is no sum of threes and fives that are not negative.
    let text = "Minimize\n 0 x\nSubject To\n a: 3 x + 5 y = 4\n b: x + y <= 9\nGeneral\n x y\nEnd";
    let Verdict::Infeasible(found) = verdict(text) else { panic!("expected a conflict") };
    let InfeasibilityProof::Integer { refutation, witnesses } = &found.proof else {
        panic!("{found:?}")
    };
    assert!(refutation.nodes.len() > 1, "{refutation:?}");
    assert!(witnesses.iter().all(Option::is_some), "{witnesses:?}");
    assert_eq!(found.members, [Member::Row(0), Member::LowerBound(0), Member::LowerBound(1)]);
}

#[test]
fn divisibility_refutes_without_bounds() {
    let text = "Minimize\n 0 x\nSubject To\n odd: 2 x + 4 y = 5\nBounds\n x free\n y free\nGeneral\n x y\nEnd";
    let Verdict::Infeasible(found) = verdict(text) else { panic!("expected a conflict") };
    assert_eq!(found.members, [Member::Row(0)]);
    let InfeasibilityProof::Integer { refutation, .. } = found.proof else { panic!() };
    assert_eq!(refutation.nodes, [Node::Divisibility { row: 0 }]);
}

#[test]
fn other_weights_find_other_conflicts() {
    let text = "Minimize\n 0 x\nSubject To\n a: x >= 5\n b: x <= 1\n c: y >= 5\n d: y <= 1\nEnd";
    let model = model(text);
    let found = (0..30).map(|seed| {
        let found = find_iis(&model, &Limits::default(), seed).expect("a verdict");
        found.expect("a conflict").members
    });
    let found: std::collections::BTreeSet<Vec<Member>> = found.collect();
    let pairs = [[Member::Row(0), Member::Row(1)], [Member::Row(2), Member::Row(3)]];
    assert_eq!(found, pairs.map(|pair| pair.to_vec()).into());
    let feasible = "Minimize\n x\nSubject To\n a: x >= 5\nEnd";
    assert_eq!(find_iis(&super::verdicts::model(feasible), &Limits::default(), 1), Ok(None));
}

#[test]
fn models_beyond_the_limits_are_refused_by_name() {
    let small = Limits { max_rows: 1, ..Limits::default() };
    let rows = model("Minimize\n x\nSubject To\n a: x >= 1\n b: x <= 2\nEnd");
    let error = solve(&rows, &small).expect_err("two rows");
    assert_eq!(error, SolverError::TooLarge { what: "rows", count: 2, limit: 1 });
    let mut twice = rows.clone();
    twice.rows[1].name = "a".to_owned();
    let error = solve(&twice, &Limits::default()).expect_err("two rows of one name");
    assert!(matches!(error, SolverError::Model(ModelError::Duplicate { noun: "row", .. })));
    let mut nan = rows;
    nan.variables[0].cost = f64::NAN;
    assert!(matches!(solve(&nan, &Limits::default()), Err(SolverError::Model(_))));
}

#[test]
fn integers_beyond_the_search_are_an_error_not_a_verdict() {
    let mut far = model("Minimize\n x\nSubject To\n a: x >= 1\nGeneral\n x\nEnd");
    (far.variables[0].lower, far.variables[0].upper) = (1e12, 1e13);
    let error = solve(&far, &Limits::default()).expect_err("out of range");
    assert_eq!(error, SolverError::IntegerRange { variable: 0 });
}

#[test]
fn a_search_without_end_runs_out_of_nodes() {
    // No solution, no divisor, no bounds: 3x - 3y between 1 and 2, with a continuous part against the divisor.
    let text = "Minimize\n 0 x\nSubject To\n a: 3 x - 3 y + z >= 1\n b: 3 x - 3 y + z <= 2\n c: z <= 0.5\nGeneral\n x y\nEnd";
    let limits = Limits { max_nodes: 50, ..Limits::default() };
    let model = model(text);
    assert_eq!(model.variables[2].kind, Kind::Continuous);
    match solve(&model, &limits) {
        Err(SolverError::OutOfNodes { limit: 50 }) => (),
        other => panic!("{other:?}"),
    }
}
