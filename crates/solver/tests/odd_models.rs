//! Models at the edge of what a model is, through both readers: a verdict that holds, or an error.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use whetstone_solver::{
    Limits, Model, SolverError, Verdict, read_lp, read_mps, solve, write_lp, write_mps,
};

use crate::verdicts::model;

/// The status, or the error.
fn status(model: &Model) -> String {
    match solve(model, &Limits::default()) {
        Ok(Verdict::Optimal(_)) => "optimal".to_owned(),
        Ok(Verdict::Unbounded(_)) => "unbounded".to_owned(),
        Ok(Verdict::Infeasible(found)) => format!("infeasible {}", found.members.len()),
        Err(error) => error.to_string(),
    }
}

/// A model of two variables with these rows and bounds.
fn with(rows: &str, bounds: &str) -> Model {
    model(&format!("Minimize\n x + y\nSubject To\n{rows}\nBounds\n{bounds}\nEnd"))
}

#[test]
fn free_and_empty_rows_and_infinite_bounds_have_a_verdict() {
    let cases = [
        (" a: -inf <= x + y <= inf", " x <= 3", "optimal"),
        (" a: 0 x >= 1", " x <= 3", "infeasible 1"),
        (" a: 0 x <= 1", " x <= 3", "optimal"),
        (" a: 0 x = 0", " x free", "unbounded"),
        (" a: x >= 1", " x free\n y free", "unbounded"),
        (" a: x + y >= 1\n b: x + y <= 0", " x free\n y free", "infeasible 2"),
        (" a: x >= 1", " -1e30 <= x <= 1e30", "optimal"),
    ];
    for (rows, bounds, expected) in cases {
        let model = with(rows, bounds);
        assert_eq!(status(&model), expected, "{rows} {bounds}");
        let again = read_mps(&write_mps(&model).expect("a text")).expect("a model");
        assert_eq!(status(&again), expected, "as MPS: {rows} {bounds}");
    }
}

#[test]
fn huge_coefficients_never_make_an_infeasible_model_feasible() {
    for size in ["1e18", "1e29", "1e30", "1e200", "1e307"] {
        let model = with(&format!(" a: {size} x + y <= 1\n b: x >= 1"), " x <= 9");
        let status = status(&model);
        assert!(!["optimal", "unbounded"].contains(&status.as_str()), "{size}: {status}");
    }
}

#[test]
fn a_hundred_thousand_rows_are_refused_without_a_search() {
    let mut text = "Minimize\n x0\nSubject To\n".to_owned();
    (0..100_000).for_each(|row| writeln!(text, " r{row}: x{row} >= 1").expect("a string"));
    text.push_str("End");
    let started = Instant::now();
    let model = read_lp(&text).expect("a model");
    assert_eq!(status(&model), "the model has 100000 rows, the limit is 10000");
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

#[test]
fn an_lp_file_cut_off_anywhere_is_an_error() {
    let text = write_lp(&with(" a: x + y >= 1\n b: x <= 2", " y <= 7")).expect("a text");
    let text = text.trim_end();
    for end in 0..text.len() - "End".len() {
        assert!(read_lp(&text[..end]).is_err(), "{}", &text[..end]);
    }
}

#[test]
fn running_out_of_time_is_an_error_of_its_own_and_never_another_verdict() {
    let limits = Limits { time: Duration::ZERO, ..Limits::default() };
    let small = [" a: x + y >= 3\n b: x + y <= 2", " a: x + 2 y >= 3\n b: x - y <= 2"];
    let small =
        small.map(|rows| format!("Minimize\n x + y\nSubject To\n{rows}\nGeneral\n x y\nEnd"));
    let mut large = "Minimize\n x0\nSubject To\n".to_owned();
    (0..300).for_each(|row| {
        writeln!(large, " r{row}: x{row} + x{} >= 1", row + 1).expect("a string");
    });
    large.push_str("End");
    for text in small.into_iter().chain([large]) {
        let error = solve(&model(&text), &limits).expect_err("no time");
        assert_eq!(error, SolverError::OutOfTime { limit: Duration::ZERO }, "{text}");
    }
}

#[test]
fn a_huge_limit_beside_small_ones_does_not_hide_a_conflict() {
    for size in ["1e6", "1e9", "1e12"] {
        let rows = format!(" a: y - x >= 3\n b: 9 y <= 20\n c: z - x >= -{size}\n d: z <= {size}");
        assert_eq!(status(&with(&rows, " z <= 8")), "infeasible 3", "{size}");
    }
}

#[test]
fn a_small_model_without_integers_needs_no_clock() {
    let limits = Limits { time: Duration::ZERO, ..Limits::default() };
    let conflict = model("Minimize\n x\nSubject To\n a: x + y >= 3\n b: x + y <= 2\nEnd");
    assert!(matches!(solve(&conflict, &limits), Ok(Verdict::Infeasible(_))));
    let plan = model("Minimize\n x + y\nSubject To\n a: x + 2 y >= 3\n b: x - y <= 2\nEnd");
    assert!(matches!(solve(&plan, &limits), Ok(Verdict::Optimal(_))));
}
