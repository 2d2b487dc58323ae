//! Writes MPS files in free format.

use std::collections::HashSet;

use crate::format::{WriteError, number, push_line};
use crate::model::{Kind, Model, Objective, Row, Variable};

/// The text of an MPS file in free format that reads as the same model.
///
/// Finite limits of 1e30 and more read as infinite. A name with blanks, and a row whose lower limit is above its
/// upper one, cannot be written.
pub fn write_mps(model: &Model) -> Result<String, WriteError> {
    model.rows.iter().try_for_each(|row| check_name(&row.name))?;
    model.variables.iter().try_for_each(|variable| check_name(&variable.name))?;
    let ranges: Vec<Sides> = model.rows.iter().map(Sides::of).collect::<Result<_, _>>()?;
    let objective = objective_name(model);
    let mut text = String::new();
    head(model, &objective, &ranges, &mut text);
    columns(model, &objective, &mut text);
    right_hand_sides(model, &ranges, &mut text);
    push_line(&mut text, format_args!("BOUNDS"));
    model.variables.iter().for_each(|variable| bounds(variable, &mut text));
    push_line(&mut text, format_args!("ENDATA"));
    Ok(text)
}

/// A row as MPS has it.
struct Sides {
    kind: char,
    rhs: f64,
    range: Option<f64>,
}

impl Sides {
    #[expect(clippy::float_cmp, reason = "what is read must be the very same number")]
    fn of(row: &Row) -> Result<Self, WriteError> {
        let one = |kind, rhs| Ok(Self { kind, rhs, range: None });
        match (row.lower.is_finite(), row.upper.is_finite()) {
            (false, false) => one('N', 0.0),
            (true, false) => one('G', row.lower),
            (false, true) => one('L', row.upper),
            (true, true) if row.lower == row.upper => one('E', row.lower),
            (true, true) => Self::range(row).ok_or_else(|| WriteError::Range {
                row: row.name.clone(),
                lower: row.lower.to_string(),
                upper: row.upper.to_string(),
            }),
        }
    }

    /// A range whose sum or difference with one limit is exactly the other.
    #[expect(clippy::float_cmp, reason = "what is read must be the very same number")]
    fn range(row: &Row) -> Option<Self> {
        let width = row.upper - row.lower;
        let candidates = [width, width.next_up(), width.next_down()];
        let fits = |width: &f64| *width > 0.0 && width.is_finite();
        candidates.into_iter().filter(fits).find_map(|width| {
            if row.lower + width == row.upper {
                return Some(Self { kind: 'G', rhs: row.lower, range: Some(width) });
            }
            (row.upper - width == row.lower).then_some(Self {
                kind: 'L',
                rhs: row.upper,
                range: Some(width),
            })
        })
    }
}

fn check_name(name: &str) -> Result<(), WriteError> {
    let reason = if name.is_empty() {
        "it is empty"
    } else if name.len() > 255 {
        "it has more than 255 bytes"
    } else if name.contains(char::is_whitespace) {
        "fields of MPS files lie between blanks"
    } else if name == "'MARKER'" {
        "it marks integer columns"
    } else {
        return Ok(());
    };
    Err(WriteError::Name { name: name.to_owned(), reason })
}

/// A name for the objective that no row has.
fn objective_name(model: &Model) -> String {
    let names: HashSet<&str> = model.rows.iter().map(|row| row.name.as_str()).collect();
    let mut name = "OBJ".to_owned();
    while names.contains(name.as_str()) {
        name.push('_');
    }
    name
}

fn head(model: &Model, objective: &str, ranges: &[Sides], text: &mut String) {
    let name: String = model.name.split_whitespace().collect::<Vec<_>>().join(" ");
    push_line(text, format_args!("NAME {name}"));
    if model.objective == Objective::Maximize {
        push_line(text, format_args!("OBJSENSE\n    MAX"));
    }
    push_line(text, format_args!("ROWS\n N {objective}"));
    for (row, sides) in model.rows.iter().zip(ranges) {
        push_line(text, format_args!(" {} {}", sides.kind, row.name));
    }
}

fn columns(model: &Model, objective: &str, text: &mut String) {
    let mut entries: Vec<Vec<(usize, f64)>> = vec![Vec::new(); model.variables.len()];
    for (index, row) in model.rows.iter().enumerate() {
        for term in &row.terms {
            entries[term.variable].push((index, term.coefficient));
        }
    }
    push_line(text, format_args!("COLUMNS"));
    let mut kind = Kind::Continuous;
    for (variable, entries) in model.variables.iter().zip(&entries) {
        if std::mem::replace(&mut kind, variable.kind) != variable.kind {
            marker(kind, text);
        }
        // Each column is named at least once, and in the order of the model.
        push_line(text, format_args!(" {} {objective} {}", variable.name, number(variable.cost)));
        for (row, value) in entries {
            push_line(
                text,
                format_args!(" {} {} {}", variable.name, model.rows[*row].name, number(*value)),
            );
        }
    }
    if kind == Kind::Integer {
        marker(Kind::Continuous, text);
    }
}

fn marker(kind: Kind, text: &mut String) {
    let word = match kind {
        Kind::Integer => "'INTORG'",
        Kind::Continuous => "'INTEND'",
    };
    push_line(text, format_args!(" MARKER 'MARKER' {word}"));
}

fn right_hand_sides(model: &Model, ranges: &[Sides], text: &mut String) {
    push_line(text, format_args!("RHS"));
    for (row, sides) in model.rows.iter().zip(ranges).filter(|(_, sides)| sides.rhs != 0.0) {
        push_line(text, format_args!(" RHS {} {}", row.name, number(sides.rhs)));
    }
    push_line(text, format_args!("RANGES"));
    for (row, sides) in model.rows.iter().zip(ranges) {
        if let Some(range) = sides.range {
            push_line(text, format_args!(" RANGES {} {}", row.name, number(range)));
        }
    }
}

fn bounds(variable: &Variable, text: &mut String) {
    let mut line = |kind: &str, value: Option<f64>| {
        let value = value.map(number).unwrap_or_default();
        push_line(text, format_args!(" {kind} BOUNDS {} {value}", variable.name));
    };
    let is_integer = variable.kind == Kind::Integer;
    if variable.lower == f64::NEG_INFINITY {
        line("MI", None);
    } else if variable.lower != 0.0 || variable.upper < 0.0 || is_integer {
        line("LO", Some(variable.lower));
    }
    if variable.upper.is_finite() {
        line("UP", Some(variable.upper));
    } else if is_integer {
        line("PL", None);
    }
}
