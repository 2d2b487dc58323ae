//! Where a value can be put without any name being bound anew: `rows[0].append(f(1))` puts one into `rows`.

use ruff_python_ast::{Expr, ExprAttribute};

use crate::plan::python::is_builtin;

/// The target of an assignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::plan) enum AssignmentTarget<'a> {
    Name(&'a str),
    /// An attribute by its name, whatever it is of.
    Attribute(&'a str),
}

impl<'a> AssignmentTarget<'a> {
    pub(in crate::plan) fn name(self) -> &'a str {
        let (Self::Name(name) | Self::Attribute(name)) = self;
        name
    }
}

/// The places that an expression leads to.
pub(in crate::plan) fn places(expression: &Expr) -> Vec<AssignmentTarget<'_>> {
    let mut found = Vec::new();
    collect(expression, &mut found);
    found
}

fn collect<'a>(expression: &'a Expr, found: &mut Vec<AssignmentTarget<'a>>) {
    match expression {
        Expr::Name(name) => found.push(AssignmentTarget::Name(&name.id)),
        Expr::Attribute(attribute) => {
            found.push(AssignmentTarget::Attribute(&attribute.attr));
            if !is_of_self(attribute) {
                collect(&attribute.value, found);
            }
        }
        Expr::Subscript(subscript) => collect(&subscript.value, found),
        Expr::Starred(starred) => collect(&starred.value, found),
        Expr::Named(named) => {
            collect(&named.target, found);
            collect(&named.value, found);
        }
        Expr::If(choice) => {
            collect(&choice.body, found);
            collect(&choice.orelse, found);
        }
        Expr::List(list) => list.elts.iter().for_each(|one| collect(one, found)),
        Expr::Tuple(tuple) => tuple.elts.iter().for_each(|one| collect(one, found)),
        Expr::Dict(dict) => dict.iter_values().for_each(|one| collect(one, found)),
        Expr::Call(call) => match call.func.as_ref() {
            Expr::Attribute(method) => collect(&method.value, found),
            // `vars(t)`, `next(iter(rows))`, `enumerate(rows)`.
            Expr::Name(name) if is_builtin(&name.id) => {
                call.arguments.args.iter().for_each(|one| collect(one, found));
            }
            _ => {}
        },
        _ => {}
    }
}

/// Whether this is an attribute of the object that a method is of. By its name alone it is known well enough:
/// the object's other attributes are not told apart from it otherwise.
fn is_of_self(attribute: &ExprAttribute) -> bool {
    let name = attribute.value.as_name_expr().map(|name| name.id.as_str());
    matches!(name, Some("self" | "cls"))
}
