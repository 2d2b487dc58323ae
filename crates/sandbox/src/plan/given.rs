//! Values that a program may get in its own process: those that reveal nothing about the expected answers.
//!
//! Test code that works something out of what the program has made (an operator, a comparison, a function
//! without a name, a comprehension, a call of another function) may hold what is expected, and the program's
//! objects are told of it: `solve(3) == 9` calls `__eq__` with 9. So an argument is free of the program's
//! names, or one of them as it is, an attribute or an element of one, an object that a class of the program
//! makes of such values, or a list of these. There is no list of what is not allowed: every other expression
//! with a name of the program in it goes to a checker.
//!
//! The same rule holds for the arguments of a test's question and for a setup's.

use ruff_python_ast::{Arguments, Expr, ExprCall};

use super::names::ScopeNames;

/// The names that belong to the program.
#[derive(Clone, Copy)]
pub(super) struct ProgramNames<'a> {
    is_of_program: &'a dyn Fn(&str) -> bool,
}

impl<'a> ProgramNames<'a> {
    pub(super) fn new(is_of_program: &'a dyn Fn(&str) -> bool) -> Self {
        Self { is_of_program }
    }

    /// Whether all arguments may be given to the program.
    pub(super) fn arguments(self, arguments: &Arguments) -> bool {
        let named = arguments.keywords.iter().map(|keyword| &keyword.value);
        arguments.args.iter().chain(named).all(|one| self.value(one))
    }

    /// Whether a value may be given to the program.
    pub(super) fn value(self, expression: &Expr) -> bool {
        match expression {
            Expr::Name(_) => true,
            Expr::Attribute(attribute) => self.value(&attribute.value),
            Expr::Subscript(subscript) => {
                self.value(&subscript.value) && self.is_free(&subscript.slice)
            }
            Expr::Starred(starred) => self.value(&starred.value),
            Expr::List(list) => list.elts.iter().all(|one| self.value(one)),
            Expr::Tuple(tuple) => tuple.elts.iter().all(|one| self.value(one)),
            // Keys are compared with one another.
            Expr::Dict(dict) => dict.items.iter().all(|item| {
                item.key.as_ref().is_some_and(|key| self.is_free(key)) && self.value(&item.value)
                    || self.is_free(&item.value) && item.key.is_none()
            }),
            Expr::Call(call) if self.is_object(call) => true,
            other => self.is_free(other),
        }
    }

    /// Whether there is no name of the program in an expression.
    pub(super) fn is_free(self, expression: &Expr) -> bool {
        !ScopeNames::of_expression(expression).free().any(self.is_of_program)
    }

    /// Whether a class of the program makes an object here of what it may be given.
    fn is_object(self, call: &ExprCall) -> bool {
        let Expr::Name(name) = call.func.as_ref() else { return false };
        name.id.starts_with(char::is_uppercase)
            && (self.is_of_program)(&name.id)
            && self.arguments(&call.arguments)
    }
}
