//! LP files as they come.

use whetstone_solver::{CONSTANT, FormatError, Kind, Objective, read_lp, write_lp};

use crate::verdicts::model;

fn error(text: &str) -> FormatError {
    read_lp(text).expect_err("an error")
}

#[test]
fn a_file_with_everything() {
    let text = "\\ a comment\nMAXIMIZE\n profit: 3x + 2 y\n  - z + 4\nsubject to\n cap: x + y\n   + 2 z <= 10 \\ and another\n -2 <= x - y <= 8\n low: 3 <= x\n eq: x + y = -4\nBounds\n x <= 8\n -1 <= y <= 5\n z free\nBinary\n b\nGeneral\n x\n y\nEnd\n";
    let text = text.replace("- z + 4", "- z + 0 b + 4");
    let model = model(&text);
    assert_eq!(model.objective, Objective::Maximize);
    let names: Vec<&str> = model.variables.iter().map(|variable| variable.name.as_str()).collect();
    assert_eq!(names, ["x", "y", "z", "b", CONSTANT]);
    let costs: Vec<f64> = model.variables.iter().map(|variable| variable.cost).collect();
    assert_eq!(costs, [3.0, 2.0, -1.0, 0.0, 4.0]);
    let rows: Vec<(&str, usize, f64, f64)> = model
        .rows
        .iter()
        .map(|row| (row.name.as_str(), row.terms.len(), row.lower, row.upper))
        .collect();
    let (low, high) = (f64::NEG_INFINITY, f64::INFINITY);
    assert_eq!(
        rows,
        [("cap", 3, low, 10.0), ("R2", 2, -2.0, 8.0), ("low", 1, 3.0, high), ("eq", 2, -4.0, -4.0)]
    );
    let bounds: Vec<(f64, f64, Kind)> = model
        .variables
        .iter()
        .map(|variable| (variable.lower, variable.upper, variable.kind))
        .collect();
    let (real, whole) = (Kind::Continuous, Kind::Integer);
    assert_eq!(
        bounds,
        [
            (0.0, 8.0, whole),
            (-1.0, 5.0, whole),
            (low, high, real),
            (0.0, 1.0, whole),
            (1.0, 1.0, real)
        ]
    );
}

#[test]
fn operators_infinities_and_signs_in_all_spellings() {
    let text = "min\n x\nst\n a: x =< 5\n b: x => 1\n c: x < 5\n d: x > 1\n e: 5 >= x\n f: - -2 x >= - 1e0\n g: -inf <= x <= 3\n h: x >= -Infinity\n x + y\n >= 2\nbounds\n -INF <= x <= +infinity\n y >= -1e30\nend";
    let model = model(text);
    let limits: Vec<(f64, f64)> = model.rows.iter().map(|row| (row.lower, row.upper)).collect();
    let (low, high) = (f64::NEG_INFINITY, f64::INFINITY);
    assert_eq!(limits[..4], [(low, 5.0), (1.0, high), (low, 5.0), (1.0, high)]);
    assert_eq!(limits[4..], [(low, 5.0), (-1.0, high), (low, 3.0), (low, high), (2.0, high)]);
    assert!((model.rows[5].terms[0].coefficient - 2.0).abs() < f64::EPSILON);
    assert_eq!((model.variables[0].lower, model.variables[0].upper), (low, high));
    assert_eq!((model.variables[1].lower, model.variables[1].upper), (low, high));
}

#[test]
fn a_variable_that_occurs_twice_counts_with_its_sum() {
    let model = model("Minimize\n x + x\nSubject To\n a: 2 x + y - 2 x >= 1\nEnd");
    assert!((model.variables[0].cost - 2.0).abs() < f64::EPSILON);
    assert_eq!(model.rows[0].terms.len(), 1);
    assert_eq!(model.rows[0].terms[0].variable, 1);
}

#[test]
fn a_negative_upper_bound_leaves_the_lower_one() {
    let model = model("Minimize\n x\nSubject To\n a: x <= 5\nBounds\n x <= -5\nEnd");
    assert_eq!((model.variables[0].lower, model.variables[0].upper), (0.0, -5.0));
}

#[test]
fn errors_name_the_line_and_the_fix() {
    let cases = [
        ("x + y", 1, "expected `Minimize` or `Maximize`"),
        ("Minimize\n x\nEnd", 3, "no `Subject To`"),
        (
            "Minimize\n x\nSubject To\n a: x >= 1\n",
            4,
            "expected the next section or `End` at the end of the file",
        ),
        ("Minimize\n x\nSubject To\n a: x >=", 4, "expected an expression at the end of the file"),
        ("Minimize\n x\nSubject To\n a: x\nEnd", 5, "expected <=, >= or ="),
        ("Minimize\n x\nSubject To\n a: x >= 1\n a: x <= 2\nEnd", 5, "row `a` is there twice"),
        ("Minimize\n x\nSubject To\n a: x >= y\nEnd", 5, "variables on both sides"),
        ("Minimize\n x\nSubject To\n a: x + 3 >= 1\nEnd", 4, "has a constant"),
        ("Minimize\n x\nSubject To\n a: x >= inf\nEnd", 4, "lower limit inf"),
        ("Minimize\n x\nSubject To\n a: x >= 1\nBounds\n z <= 4\nEnd", 6, "unknown variable `z`"),
        ("Minimize\n x\nSubject To\n a: x >= 1\nBounds\n X <= 4\nEnd", 6, "unknown variable `X`"),
        ("Minimize\n [ x ^ 2 ]\nSubject To\nEnd", 2, "character `[`"),
        ("Minimize\n 1e999 x\nSubject To\nEnd", 3, "an infinite coefficient"),
        ("Minimize\n x\nSubject To\n a: x >= 1\nSOS\n s: x\nEnd", 6, "expected <=, >= or ="),
        ("Minimize\n x\nSubject To\nMinimize\n y\nEnd", 5, "a second objective"),
        ("Minimize\n x\nSubject To\nEnd\n x", 5, "expected nothing after `End`"),
        (
            "Minimize\n x\nSubject To infinity = 0 a: x >= 1\nEnd",
            3,
            "row `R1` compares an infinite number with another",
        ),
        (
            "Minimize\n x\nSubject To\n c: 1e30 = 0\nEnd",
            4,
            "row `c` compares an infinite number with another",
        ),
        ("Minimize\n x\nSubject To\n c: -9e29 >= 9e29\nEnd", 4, "lower limit 1.8e30"),
        ("Minimize\n - - - x\nSubject To\nEnd", 2, "three signs"),
    ];
    for (text, line, problem) in cases {
        let error = error(text);
        assert!(error.problem.contains(problem), "{error} for {text}");
        assert_eq!(error.line, line, "{error} for {text}");
    }
}

#[test]
fn names_that_read_as_something_else_are_not_written() {
    for name in ["", "a b", "3x", "e5", "End", "free", "inf", "a:b", "x+y", ".x", "a\nb"] {
        let mut model = model("Minimize\n x\nSubject To\n a: x >= 1\nEnd");
        name.clone_into(&mut model.variables[0].name);
        assert!(write_lp(&model).is_err(), "{name:?}");
    }
}
