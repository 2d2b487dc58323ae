//! Writes LP files.

use super::token::is_name;
use crate::format::{WriteError, number, push_line};
use crate::model::{Kind, Model, Objective, Row, Term, Variable};

/// Terms on one line: readers have limits on its length.
const TERMS: usize = 6;

/// The text of an LP file that reads as the same model, but for its name.
///
/// Finite limits of 1e30 and more read as infinite. Names that the format would read as something else cannot be
/// written.
pub fn write_lp(model: &Model) -> Result<String, WriteError> {
    model.rows.iter().try_for_each(|row| check_name(&row.name))?;
    model.variables.iter().try_for_each(|variable| check_name(&variable.name))?;
    let mut text = String::new();
    push_line(
        &mut text,
        format_args!(
            "{}",
            match model.objective {
                Objective::Minimize => "Minimize",
                Objective::Maximize => "Maximize",
            }
        ),
    );
    objective(model, &mut text);
    push_line(&mut text, format_args!("Subject To"));
    model.rows.iter().for_each(|line| row(model, line, &mut text));
    push_line(&mut text, format_args!("Bounds"));
    model.variables.iter().for_each(|variable| bounds(variable, &mut text));
    integers(model, &mut text);
    push_line(&mut text, format_args!("End"));
    Ok(text)
}

/// Every variable, in the order of the model, be its cost 0: this is where a reader meets them first.
fn objective(model: &Model, text: &mut String) {
    let terms = model.variables.iter().enumerate();
    let terms: Vec<Term> = terms
        .map(|(index, variable)| Term { variable: index, coefficient: variable.cost })
        .collect();
    push_line(text, format_args!(" obj:{}", expression(model, &terms)));
}

fn row(model: &Model, row: &Row, text: &mut String) {
    let zero = [Term { variable: 0, coefficient: 0.0 }];
    let expression = match (&row.terms[..], model.variables.is_empty()) {
        ([], true) => " 0".to_owned(),
        ([], false) => expression(model, &zero),
        (terms, _) => expression(model, terms),
    };
    let (name, lower, upper) = (&row.name, number(row.lower), number(row.upper));
    #[expect(clippy::float_cmp, reason = "an equation has the very same limit twice")]
    let is_equation = row.lower == row.upper;
    match (row.lower.is_finite(), row.upper.is_finite()) {
        (true, true) if is_equation => {
            push_line(text, format_args!(" {name}:{expression} = {lower}"));
        }
        (true, true) => push_line(text, format_args!(" {name}: {lower} <={expression} <= {upper}")),
        (false, true) => push_line(text, format_args!(" {name}:{expression} <= {upper}")),
        (_, false) => push_line(text, format_args!(" {name}:{expression} >= {lower}")),
    }
}

fn expression(model: &Model, terms: &[Term]) -> String {
    let mut text = String::new();
    for (index, term) in terms.iter().enumerate() {
        if index > 0 && index % TERMS == 0 {
            text.push_str("\n   ");
        }
        let (value, name) = (term.coefficient, &model.variables[term.variable].name);
        let sign = if value.is_sign_negative() { '-' } else { '+' };
        match (index, sign) {
            (0, '+') => text.push(' '),
            _ => text.extend([' ', sign, ' ']),
        }
        #[expect(clippy::float_cmp, reason = "a factor of exactly 1 is left out")]
        let is_one = value.abs() == 1.0;
        if !is_one {
            text.push_str(&number(value.abs()));
            text.push(' ');
        }
        text.push_str(name);
    }
    text
}

fn bounds(variable: &Variable, text: &mut String) {
    let (name, lower, upper) = (&variable.name, number(variable.lower), number(variable.upper));
    match (variable.lower.is_finite(), variable.upper.is_finite()) {
        (false, false) => push_line(text, format_args!(" {name} free")),
        (true, false) if variable.lower == 0.0 => (),
        (true, false) => push_line(text, format_args!(" {name} >= {lower}")),
        _ => push_line(text, format_args!(" {lower} <= {name} <= {upper}")),
    }
}

fn integers(model: &Model, text: &mut String) {
    let names = model.variables.iter().filter(|variable| variable.kind == Kind::Integer);
    let names: Vec<&str> = names.map(|variable| variable.name.as_str()).collect();
    if !names.is_empty() {
        push_line(text, format_args!("General"));
        names.chunks(TERMS).for_each(|line| push_line(text, format_args!(" {}", line.join(" "))));
    }
}

fn check_name(name: &str) -> Result<(), WriteError> {
    let mut characters = name.chars();
    let first = characters.next();
    let reason = if first.is_none() {
        "it is empty"
    } else if name.len() > 255 {
        "it has more than 255 bytes"
    } else if !name.chars().all(is_name) {
        "names of LP files have letters, digits and some signs, no blanks"
    } else if first.is_some_and(|first| first.is_ascii_digit() || first == '.') {
        "it begins like a number"
    } else if is_exponent(name) {
        "it reads as the exponent of a number"
    } else if is_keyword(name) {
        "it is a keyword"
    } else {
        return Ok(());
    };
    Err(WriteError::Name { name: name.to_owned(), reason })
}

/// `3 e5` is `3 e5` or 300,000.
fn is_exponent(name: &str) -> bool {
    let rest = name.strip_prefix(['e', 'E']);
    rest.is_some_and(|rest| rest.starts_with(|character: char| character.is_ascii_digit()))
}

fn is_keyword(name: &str) -> bool {
    let words = [
        "minimize", "minimise", "minimum", "min", "maximize", "maximise", "maximum", "max",
        "subject", "such", "st", "s.t.", "st.", "bounds", "bound", "general", "generals", "gen",
        "integer", "integers", "int", "binary", "binaries", "bin", "end", "free", "inf",
        "infinity",
    ];
    words.contains(&name.to_ascii_lowercase().as_str())
}
