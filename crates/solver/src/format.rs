//! What the readers and writers of model files share: errors, numbers, names.

use std::fmt::Write as _;

use crate::model::{Kind, Model, Variable};

/// Limits and bounds of this size and above are infinite, as the formats have it.
pub const INFINITE: f64 = 1e30;

/// The longest text that is read.
pub const MAX_BYTES: usize = 256 << 20;

/// The variable, fixed at 1, whose cost is the constant of the objective.
pub const CONSTANT: &str = "objective_constant";

const MAX_NAME: usize = 255;

/// A model file is not what its format asks for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}\nhint: {hint}")]
pub struct FormatError {
    /// The number of the line, from 1.
    pub line: usize,
    /// What was found and what was expected.
    pub problem: String,
    /// How to mend it.
    pub hint: String,
}

/// A model cannot be written in a format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// The format cannot express a name.
    #[error("name `{name}` cannot be written: {reason}\nhint: rename it")]
    Name {
        /// The name.
        name: String,
        /// The rule of the format.
        reason: &'static str,
    },
    /// The format cannot express the two limits of a row.
    #[error(
        "row `{row}` cannot be written: its limits {lower} and {upper} are no range\nhint: write an LP file"
    )]
    Range {
        /// The row.
        row: String,
        /// Its lower limit.
        lower: String,
        /// Its upper limit.
        upper: String,
    },
}

impl FormatError {
    pub(crate) fn new(line: usize, problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { line, problem: problem.into(), hint: hint.into() }
    }
}

/// A piece of the file for a message: short, without control characters.
pub(crate) fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(40).flat_map(char::escape_debug).collect();
    if text.chars().nth(40).is_some() {
        shown.push('…');
    }
    shown
}

/// Refuses texts that are too long to be read.
pub(crate) fn check_size(text: &str) -> Result<(), FormatError> {
    if text.len() <= MAX_BYTES {
        return Ok(());
    }
    let problem = format!("the text has {} bytes, at most {MAX_BYTES} are read", text.len());
    Err(FormatError::new(1, problem, "leave out rows and columns"))
}

/// Refuses names that are too long.
pub(crate) fn check_name(name: &str, line: usize) -> Result<(), FormatError> {
    if name.len() <= MAX_NAME {
        return Ok(());
    }
    let problem =
        format!("name `{}` has {} bytes, at most {MAX_NAME} are read", shown(name), name.len());
    Err(FormatError::new(line, problem, "shorten the name"))
}

/// A coefficient: finite.
pub(crate) fn coefficient(text: &str, line: usize) -> Result<f64, FormatError> {
    let value = limit(text, line)?;
    if value.is_finite() {
        return Ok(value);
    }
    let problem = format!("coefficient `{}`, expected a finite number", shown(text));
    Err(FormatError::new(line, problem, "an infinite coefficient means that the row has no limit"))
}

/// A limit or bound, which may be infinite but not NaN.
pub(crate) fn limit(text: &str, line: usize) -> Result<f64, FormatError> {
    match text.parse::<f64>() {
        Ok(value) if !value.is_nan() => Ok(value),
        _ => {
            let problem = format!("`{}`, expected a number", shown(text));
            Err(FormatError::new(line, problem, "write it as 12, -0.5 or 1e-3"))
        }
    }
}

/// A limit, infinite from [`INFINITE`] on.
pub(crate) fn bounded(value: f64) -> f64 {
    if value.abs() >= INFINITE { f64::INFINITY.copysign(value) } else { value }
}

/// A lower limit: one of `inf` or `1e30` asks for something that no number satisfies.
pub(crate) fn lower(value: f64, line: usize) -> Result<f64, FormatError> {
    match bounded(value) {
        f64::INFINITY => Err(FormatError::new(
            line,
            format!("lower limit {value:e}, expected a number below {INFINITE:e}"),
            "write `-inf`, or leave the limit out, if there is none",
        )),
        value => Ok(value),
    }
}

/// An upper limit: one of `-inf` or `-1e30` asks for something that no number satisfies.
pub(crate) fn upper(value: f64, line: usize) -> Result<f64, FormatError> {
    match bounded(value) {
        f64::NEG_INFINITY => Err(FormatError::new(
            line,
            format!("upper limit {value:e}, expected a number above -{INFINITE:e}"),
            "write `inf`, or leave the limit out, if there is none",
        )),
        value => Ok(value),
    }
}

/// The shortest text that reads as the same number.
pub(crate) fn number(value: f64) -> String {
    let plain = value.to_string();
    if plain.len() <= 17 { plain } else { format!("{value:e}") }
}

/// Appends a line.
pub(crate) fn push_line(text: &mut String, line: std::fmt::Arguments<'_>) {
    text.write_fmt(line).expect("a string takes everything");
    text.push('\n');
}

/// Puts the constant of the objective on a variable that is fixed at 1.
pub(crate) fn add_constant(model: &mut Model, constant: f64) {
    if constant == 0.0 {
        return;
    }
    let mut name = CONSTANT.to_owned();
    while model.variable(&name).is_some() {
        name.push('_');
    }
    model.variables.push(Variable {
        name,
        cost: constant,
        lower: 1.0,
        upper: 1.0,
        kind: Kind::Continuous,
    });
}
