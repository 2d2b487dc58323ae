//! A model as text: Python code that builds it, an LP file, or a table.

use std::fmt::Write;

use whetstone_solver::{Kind, Member, Model, Objective, Row, Term, Variable};

use super::number::show;
use super::problem::View;

/// The model as the one that repairs it sees it.
pub fn model(model: &Model, view: View) -> String {
    match view {
        View::Code => code(model),
        View::Lp => lp(model),
        View::Table => table(model),
    }
}

/// A length that the text of a model has at least, without writing it: a table of a large model is very long.
pub(super) fn least_bytes(model: &Model, view: View) -> usize {
    let terms: usize = model.rows.iter().map(|row| row.terms.len()).sum();
    match view {
        View::Code | View::Lp => 2 * (terms + model.rows.len()),
        View::Table => model.rows.len().saturating_mul(model.variables.len()).saturating_mul(4),
    }
}

/// A row's condition, such as `2 x1 + x2 <= 60`.
pub fn condition(model: &Model, row: &Row) -> String {
    limited(&expression(model, &row.terms, " "), row.lower, row.upper)
}

/// The name of a member of an IIS: a row's, or `lb(x)` and `ub(x)` for bounds.
pub fn member(model: &Model, member: Member) -> String {
    match member {
        Member::Row(row) => model.rows[row].name.clone(),
        Member::LowerBound(variable) => format!("lb({})", model.variables[variable].name),
        Member::UpperBound(variable) => format!("ub({})", model.variables[variable].name),
    }
}

/// `x <= 3`, `x >= 3`, `x = 3` or `1 <= x <= 3`; a free expression has no limit.
#[expect(clippy::float_cmp, reason = "an equation has two equal limits")]
fn limited(expression: &str, lower: f64, upper: f64) -> String {
    match (lower.is_finite(), upper.is_finite()) {
        (true, true) if lower == upper => format!("{expression} = {}", show(lower)),
        (true, true) => format!("{} <= {expression} <= {}", show(lower), show(upper)),
        (true, false) => format!("{expression} >= {}", show(lower)),
        (false, true) => format!("{expression} <= {}", show(upper)),
        (false, false) => format!("{expression} free"),
    }
}

#[expect(clippy::float_cmp, reason = "a coefficient of exactly 1 is not written")]
fn expression(model: &Model, terms: &[Term], times: &str) -> String {
    let mut text = String::new();
    for term in terms {
        let name = &model.variables[term.variable].name;
        let size = term.coefficient.abs();
        let sign = if term.coefficient < 0.0 { "-" } else { "+" };
        match (text.is_empty(), sign) {
            (true, "+") => {}
            (true, _) => text.push_str("- "),
            (false, _) => {
                let _ = write!(text, " {sign} ");
            }
        }
        if size != 1.0 {
            let _ = write!(text, "{}{times}", show(size));
        }
        text.push_str(name);
    }
    if text.is_empty() { "0".to_owned() } else { text }
}

fn objective_terms(model: &Model) -> Vec<Term> {
    let costs = model.variables.iter().enumerate().filter(|(_, variable)| variable.cost != 0.0);
    costs.map(|(variable, of)| Term { variable, coefficient: of.cost }).collect()
}

fn lp(model: &Model) -> String {
    let goal = match model.objective {
        Objective::Minimize => "Minimize",
        Objective::Maximize => "Maximize",
    };
    let mut text =
        format!("{goal}\n obj: {}\nSubject To\n", expression(model, &objective_terms(model), " "));
    for row in &model.rows {
        let _ = writeln!(text, " {}: {}", row.name, condition(model, row));
    }
    let bounds: Vec<String> = model.variables.iter().filter_map(bounds).collect();
    if !bounds.is_empty() {
        let _ = writeln!(text, "Bounds\n {}", bounds.join("\n "));
    }
    let integers: Vec<&str> = integers(model).collect();
    if !integers.is_empty() {
        let _ = writeln!(text, "General\n {}", integers.join(" "));
    }
    text.push_str("End");
    text
}

fn integers(model: &Model) -> impl Iterator<Item = &str> {
    let integers = model.variables.iter().filter(|variable| variable.kind == Kind::Integer);
    integers.map(|variable| variable.name.as_str())
}

/// The bounds of a variable, unless they are 0 and infinity.
fn bounds(variable: &Variable) -> Option<String> {
    let Variable { name, lower, upper, .. } = variable;
    match (*lower, *upper) {
        (0.0, f64::INFINITY) => None,
        (0.0, upper) => Some(format!("{name} <= {}", show(upper))),
        (lower, upper) => Some(limited(name, lower, upper)),
    }
}

fn code(model: &Model) -> String {
    let mut text = String::from("m = Model()\n");
    for variable in &model.variables {
        let mut options = Vec::new();
        if variable.lower != 0.0 {
            options.push(format!("lb={}", show(variable.lower)));
        }
        if variable.upper.is_finite() {
            options.push(format!("ub={}", show(variable.upper)));
        }
        if variable.kind == Kind::Integer {
            options.push("vtype=INTEGER".to_owned());
        }
        let _ = writeln!(text, "{} = m.addVar({})", variable.name, options.join(", "));
    }
    let goal = match model.objective {
        Objective::Minimize => "MINIMIZE",
        Objective::Maximize => "MAXIMIZE",
    };
    let _ = writeln!(
        text,
        "m.setObjective({}, {goal})",
        expression(model, &objective_terms(model), "*")
    );
    for row in &model.rows {
        let condition = limited(&expression(model, &row.terms, "*"), row.lower, row.upper);
        let condition = condition.replace(" = ", " == ");
        let _ = writeln!(text, "m.addConstr({condition}, name=\"{}\")", row.name);
    }
    text.trim_end().to_owned()
}

fn table(model: &Model) -> String {
    let names: Vec<&str> = model.variables.iter().map(|variable| variable.name.as_str()).collect();
    let mut text = format!("row | {} | limit\n", names.join(" | "));
    let goal = match model.objective {
        Objective::Minimize => "minimize",
        Objective::Maximize => "maximize",
    };
    let costs: Vec<String> = model.variables.iter().map(|of| show(of.cost)).collect();
    let _ = writeln!(text, "objective | {} | {goal}", costs.join(" | "));
    for row in &model.rows {
        let cells = (0..names.len()).map(|variable| show(row.coefficient(variable)));
        let cells: Vec<String> = cells.collect();
        let limit = limited("", row.lower, row.upper);
        let _ = writeln!(text, "{} | {} | {}", row.name, cells.join(" | "), limit.trim());
    }
    for bound in model.variables.iter().filter_map(bounds) {
        let _ = writeln!(text, "bound: {bound}");
    }
    let integers: Vec<&str> = integers(model).collect();
    if !integers.is_empty() {
        let _ = writeln!(text, "integer: {}", integers.join(", "));
    }
    text.trim_end().to_owned()
}
