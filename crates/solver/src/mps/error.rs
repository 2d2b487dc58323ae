//! Errors of the reader of MPS files.

use crate::format::{FormatError, shown};

pub(super) fn unknown_section(keyword: &str, line: usize) -> FormatError {
    let problem = format!("section `{}`", shown(keyword));
    let hint = "expected NAME, OBJSENSE, ROWS, COLUMNS, RHS, RANGES, BOUNDS or ENDATA; data lines begin with a blank";
    FormatError::new(line, problem, hint)
}

pub(super) fn bad_row(text: &str, line: usize) -> FormatError {
    let problem = format!("`{}` is no line of ROWS", shown(text.trim()));
    FormatError::new(line, problem, "expected N, L, G or E and the name of the row")
}

pub(super) fn bad_bound(text: &str, line: usize) -> FormatError {
    let problem = format!("`{}` is no line of BOUNDS", shown(text.trim()));
    FormatError::new(line, problem, "expected a kind such as UP, a column and a number")
}

pub(super) fn twice(what: &str, name: &str, line: usize) -> FormatError {
    let problem = format!("{what} `{}` is there twice", shown(name));
    FormatError::new(line, problem, "keep one of them, or give one another name")
}

pub(super) fn unknown(what: &str, name: &str, line: usize) -> FormatError {
    let problem = format!("unknown {what} `{}`", shown(name));
    FormatError::new(
        line,
        problem,
        format!("name the {what} in its section first; names keep their case"),
    )
}
