//! Documentation: does what the tests call say what it does and what it takes?
//!
//! The least documented of these decides, so that documented padding does not help. A docstring
//! earns nothing with fewer than five words that the name does not have already, if it repeats
//! itself, or if none of its words is a name of the program.

use std::collections::HashSet;

use ruff_python_ast::{Expr, Parameters, Stmt};

use super::comments::Comments;
use super::live::{Definition, Described, Live};
use super::words::{self, Words};
use super::{count, fade};
use crate::python::syntax::Module;

/// The most that comments can earn.
const COMMENTS: f64 = 0.12;
/// A function of so many statements ought to be documented even if only the program calls it.
const HELPER: usize = 4;

pub(super) fn score(module: &Module<'_>, live: &Live<'_>, names: &Words, statements: u32) -> f64 {
    let body = live.body;
    let least = live.described.iter().map(|described| docstring_score(*described, body, names));
    let least = least.fold(1.0, f64::min);
    let least = if live.described.is_empty() { 0.0 } else { least };
    let comments = Comments::of(module, live, names);
    let earned = if live.known { comment_score(&comments, statements) } else { 0.0 };
    let kept = fade(comments.junk, 10) * helpers(live, names);
    (least * kept + earned).min(1.0)
}

fn comment_score(comments: &Comments, statements: u32) -> f64 {
    let enough = f64::from(statements.div_ceil(5).max(1));
    let volume = f64::from(8 * statements.max(1)) / f64::from(comments.words.max(1));
    COMMENTS * (f64::from(comments.good) / enough).min(1.0) * volume.min(1.0)
}

/// Between 0.8 and 1, by how many of the larger helpers are documented.
fn helpers(live: &Live<'_>, names: &Words) -> f64 {
    let described = |function: &str| live.described.iter().any(|d| is(*d, function));
    let (mut all, mut documented) = (0, 0);
    for definition in &live.definitions {
        let large = definition.body().len() >= HELPER;
        if !large || !live.known || described(definition.name()) {
            continue;
        }
        all += 1;
        let score = docstring_score(Described::Definition(*definition), live.body, names);
        documented += u32::from(score > 0.0);
    }
    if all == 0 { 1.0 } else { 0.8 + 0.2 * f64::from(documented) / f64::from(all) }
}

fn is(described: Described<'_>, name: &str) -> bool {
    matches!(described, Described::Definition(definition) if definition.name() == name)
}

fn docstring_score(described: Described<'_>, body: &[Stmt], names: &Words) -> f64 {
    let no_parameters = Parameters::default();
    match described {
        Described::Module => text_score(docstring(body), "", &no_parameters, names),
        Described::Definition(Definition::Function(function)) => {
            text_score(docstring(&function.body), &function.name, &function.parameters, names)
        }
        Described::Definition(Definition::Class(class)) => {
            text_score(docstring(&class.body), &class.name, &no_parameters, names)
        }
        Described::Method(class, method) => {
            let own = text_score(docstring(&method.body), &method.name, &method.parameters, names);
            own.max(0.6 * text_score(docstring(&class.body), &class.name, &no_parameters, names))
        }
    }
}

fn docstring(body: &[Stmt]) -> &str {
    match body.first() {
        Some(Stmt::Expr(statement)) => match &*statement.value {
            Expr::StringLiteral(literal) => literal.value.to_str(),
            _ => "",
        },
        _ => "",
    }
}

fn text_score(text: &str, name: &str, parameters: &Parameters, names: &Words) -> f64 {
    let said = words::text(text);
    let all: HashSet<&str> = said.iter().map(String::as_str).collect();
    let own: Vec<String> = words::parts(name).collect();
    let news = all.iter().filter(|word| !own.iter().any(|part| part == **word)).count();
    let taken: Vec<&str> = parameters
        .iter()
        .map(|parameter| parameter.name().as_str())
        .filter(|name| !matches!(*name, "self" | "cls"))
        .collect();
    let lower = |name: &&&str| all.contains(name.to_lowercase().as_str());
    let told = taken.iter().filter(lower).count();
    let about = told > 0 || all.iter().any(|word| names.contains(word));
    if news < 5 || all.len() * 2 < said.len() || !about {
        return 0.0;
    }
    let coverage =
        if taken.is_empty() { 1.0 } else { f64::from(count(told)) / f64::from(count(taken.len())) };
    (0.6 + 0.4 * coverage) * (150.0 / f64::from(count(said.len()).max(1))).min(1.0)
}
