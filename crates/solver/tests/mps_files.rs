//! MPS files as they come.

use whetstone_solver::{CONSTANT, FormatError, Kind, Model, Objective, read_mps, write_mps};

fn read(text: &str) -> Model {
    read_mps(text).expect("a model")
}

fn error(text: &str) -> FormatError {
    read_mps(text).expect_err("an error")
}

/// A file with one column `x` of coefficient 1 in row `a`, and these lines after COLUMNS.
fn with(lines: &str) -> String {
    format!(
        "NAME t\nROWS\n N obj\n L a\n G b\n E c\nCOLUMNS\n x obj 1 a 1\n x b 1 c 1\n{lines}\nENDATA\n"
    )
}

#[test]
fn a_free_file_with_everything() {
    let text = "* a comment\nNAME plan\nOBJSENSE\n    MAX\nROWS\n N profit\n L cap\n G need\n E balance\n N spare\nCOLUMNS\n x profit 3 cap 1\n x need 1\n M1 'MARKER' 'INTORG'\n y profit -2 cap 2\n y balance 1\n M2 'MARKER' 'INTEND'\n z spare 7\nRHS\n R cap 10 need 2\n R balance 4 profit -5\nRANGES\n S cap 6\nBOUNDS\n UP B x 8\n MI B z\nENDATA\n";
    let model = read(text);
    assert_eq!((model.name.as_str(), model.objective), ("plan", Objective::Maximize));
    let limits: Vec<(&str, f64, f64)> =
        model.rows.iter().map(|row| (row.name.as_str(), row.lower, row.upper)).collect();
    let (low, high) = (f64::NEG_INFINITY, f64::INFINITY);
    assert_eq!(
        limits,
        [("cap", 4.0, 10.0), ("need", 2.0, high), ("balance", 4.0, 4.0), ("spare", low, high)]
    );
    let bounds: Vec<(f64, f64, Kind)> = model
        .variables
        .iter()
        .map(|variable| (variable.lower, variable.upper, variable.kind))
        .collect();
    let (real, whole) = (Kind::Continuous, Kind::Integer);
    assert_eq!(bounds, [(0.0, 8.0, real), (0.0, 1.0, whole), (low, high, real), (1.0, 1.0, real)]);
    assert_eq!((model.variables[3].name.as_str(), model.variables[3].cost), (CONSTANT, 5.0));
}

#[test]
fn names_with_spaces_are_read_in_fixed_format() {
    let text = "NAME          FIXED\nROWS\n N  COST\n L  MY ROW 1\nCOLUMNS\n    MY COL    COST               1.    MY ROW 1          2.\nRHS\n    RHS       MY ROW 1           4.\nBOUNDS\n UP BND       MY COL             3.\nENDATA\n";
    let model = read(text);
    assert_eq!((model.rows[0].name.as_str(), model.rows[0].upper), ("MY ROW 1", 4.0));
    assert_eq!((model.variables[0].name.as_str(), model.variables[0].upper), ("MY COL", 3.0));
}

#[test]
fn ranges_follow_the_table_of_the_format() {
    let model = read(&with("RHS\n a 4 b 4\n c 4\nRANGES\n a -3 b -3\n c -3"));
    let limits: Vec<(f64, f64)> = model.rows.iter().map(|row| (row.lower, row.upper)).collect();
    assert_eq!(limits, [(1.0, 4.0), (4.0, 7.0), (1.0, 4.0)]);
    let model = read(&with("RHS\n c 4\nRANGES\n c 3"));
    assert_eq!((model.rows[2].lower, model.rows[2].upper), (4.0, 7.0));
}

#[test]
fn bounds_of_every_kind() {
    let (low, high) = (f64::NEG_INFINITY, f64::INFINITY);
    let (real, whole) = (Kind::Continuous, Kind::Integer);
    let cases = [
        ("LO B x 2", 2.0, high, real),
        ("UP B x 2", 0.0, 2.0, real),
        ("UP B x -2", low, -2.0, real),
        ("LO B x -9\n UP B x -2", -9.0, -2.0, real),
        ("FX B x 2", 2.0, 2.0, real),
        ("FR B x", low, high, real),
        ("FR x", low, high, real),
        ("MI B x", low, high, real),
        ("PL B x", 0.0, high, real),
        ("BV B x", 0.0, 1.0, whole),
        ("LI B x 2", 2.0, high, whole),
        ("UI B x 2", 0.0, 2.0, whole),
        ("UP x 2", 0.0, 2.0, real),
        ("UP B x 1e30", 0.0, high, real),
        ("LO B x -1e30", low, high, real),
    ];
    for (line, lower, upper, kind) in cases {
        let model = read(&with(&format!("BOUNDS\n {line}")));
        let variable = &model.variables[0];
        assert_eq!((variable.lower, variable.upper, variable.kind), (lower, upper, kind), "{line}");
    }
}

#[test]
fn errors_name_the_line_and_the_fix() {
    let cases = [
        (with("RHS\n R d 4"), 11, "unknown row `d`"),
        (with("BOUNDS\n UP B y 4"), 11, "unknown column `y`"),
        (with("BOUNDS\n SC B x 4"), 11, "bound of kind `SC`"),
        (with("BOUNDS\n LO B x 1e30"), 11, "lower limit 1e30"),
        (with("BOUNDS\n UP B x nan"), 11, "`nan`, expected a number"),
        (with("RHS\n R a 4x"), 11, "`4x`, expected a number"),
        (with("RHS\n R a 4\n R a 5"), 12, "right-hand side of row `a` is there twice"),
        (with("RHS\n R a 4\n S b 5"), 12, "a second set `S`"),
        (with(" x a 2"), 10, "coefficient in row `a` is there twice"),
        (with(" y a inf"), 10, "coefficient `inf`"),
        (with(" y a 1\n x a 1"), 11, "column `x` is there twice"),
        (with("QUADOBJ\n x x 2"), 10, "section `QUADOBJ`"),
        ("NAME t\nROWS\n N obj\n L a\n G a\nENDATA\n".to_owned(), 5, "row `a` is there twice"),
        ("NAME t\nROWS\n X a\nENDATA\n".to_owned(), 3, "`X a` is no line of ROWS"),
        ("NAME t\nROWS\n N obj\nCOLU".to_owned(), 4, "section `COLU`"),
        ("NAME t\nROWS\n N obj\nCOLUMNS\n".to_owned(), 4, "the file ends within COLUMNS"),
        (String::new(), 1, "the file ends within its head"),
        (" x y\n".to_owned(), 1, "before any section"),
    ];
    for (text, line, problem) in cases {
        let error = error(&text);
        assert!(error.problem.contains(problem), "{error} for {text}");
        assert_eq!(error.line, line, "{error} for {text}");
        assert!(error.to_string().contains("\nhint: "), "{error}");
    }
}

#[test]
fn a_file_cut_off_anywhere_is_an_error() {
    let text = write_mps(&read(&with("RHS\n a 4\nBOUNDS\n UP B x 8"))).expect("a text");
    for end in 0..text.len() - "ENDATA".len() {
        assert!(read_mps(&text[..end]).is_err(), "{}", &text[..end]);
    }
}

#[test]
fn a_hundred_thousand_rows_are_read_in_time_linear_in_their_number() {
    use std::fmt::Write as _;
    let mut text = "NAME big\nROWS\n N obj\n".to_owned();
    (0..100_000).for_each(|row| writeln!(text, " L r{row}").expect("a string"));
    text.push_str("COLUMNS\n");
    (0..100_000).for_each(|row| writeln!(text, " x{row} r{row} 1").expect("a string"));
    text.push_str("ENDATA\n");
    let started = std::time::Instant::now();
    let model = read(&text);
    assert_eq!((model.rows.len(), model.variables.len()), (100_000, 100_000));
    // A quadratic reader takes minutes.
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}
