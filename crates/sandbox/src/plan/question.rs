//! Which expressions are plain questions: a program's process may work them out, because nothing in
//! them can be what is expected.
//!
//! A plain question is a call of the program, a name of it, or something taken out of one of these:
//! `f(x).y[0]`. Its arguments are what a program may be given ([`given`](super::given)): values, names that
//! the program may know, and objects that the program's classes make of such values (`Node(1)`). A call of
//! the program within the arguments of another (`is_close(add(2, 3), 5)`) is no plain question, for the outer
//! one may be there to judge the inner one's answer; nor is anything else that is worked out of what is the
//! program's (`label(TOTAL == 55)`).
//!
//! Where the answer is yes or no, a method of what the program returns is not its to work out either,
//! for its arguments may be what is expected: `FizzBuzz(5).startswith("1 2 Fizz")`. Nor is, whatever
//! the answer, a method by which text or a set is compared with its argument:
//! `Primes(10).difference({2, 3, 5, 7}) == set()`.

use ruff_python_ast::visitor::{Visitor, walk_expr};
use ruff_python_ast::{Arguments, Expr, ExprAttribute, ExprCall};

use super::comparing::is_told;
use super::given::ProgramNames;
use super::names::ScopeNames;
use super::python::{is_builtin, is_module, is_redefinable};
use super::setup::TestSetup;

/// The expected value of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Against {
    /// A value.
    Value,
    /// Yes or no: also `True`, `False` and `None`.
    Truth,
}

/// Whether an expression is a plain question.
pub(super) fn is_plain(expression: &Expr, against: Against, setup: &TestSetup) -> bool {
    let names = ScopeNames::of_expression(expression);
    let known = names.free().all(|name| !setup.is_checked(name));
    !setup.star && known && is_asked(expression, against, setup)
}

/// Whether a name is the program's: neither Python nor the setup has it.
pub(super) fn is_of_program(name: &str, setup: &TestSetup) -> bool {
    !is_builtin(name) && !is_module(name) && !setup.binds(name)
}

/// Whether an expression is a call or a name of the program, or something taken out of one.
fn is_asked(expression: &Expr, against: Against, setup: &TestSetup) -> bool {
    match expression {
        Expr::Call(call) if is_call(call, against, setup) => true,
        Expr::Call(call) => {
            let Expr::Call(inner) = call.func.as_ref() else { return false };
            against == Against::Value
                && is_handed(&call.arguments, against, setup)
                && is_asked(&Expr::Call(inner.clone()), against, setup)
        }
        Expr::Attribute(attribute) => is_asked(&attribute.value, against, setup),
        Expr::Subscript(subscript) => {
            let is_of_program = |name: &str| is_of_program(name, setup);
            ProgramNames::new(&is_of_program).is_free(&subscript.slice)
                && is_asked(&subscript.value, against, setup)
        }
        Expr::Name(name) => is_of_program(&name.id, setup),
        _ => false,
    }
}

/// Whether this is a call of the program with arguments that it may know.
fn is_call(call: &ExprCall, against: Against, setup: &TestSetup) -> bool {
    let is_called = match call.func.as_ref() {
        Expr::Name(name) if is_builtin(&name.id) => {
            let names = ScopeNames::of_expression(&Expr::Call(call.clone()));
            let alone = names.free().all(|name| is_builtin(name) || setup.binds(name));
            is_redefinable(&name.id) && !setup.binds(&name.id) && alone
        }
        // A module cannot be called, so such a name is a function's: `bisect([1], 2)`.
        Expr::Name(name) => !setup.binds(&name.id),
        Expr::Attribute(method) => is_method(method, against, setup),
        _ => false,
    };
    is_called && is_handed(&call.arguments, against, setup)
}

/// Whether this is a method of an object that the program has made: `tree.root.height`, and
/// `Solution().height`, for a name in capitals is that of a class.
fn is_method(method: &ExprAttribute, against: Against, setup: &TestSetup) -> bool {
    let Some((name, made_with)) = object(&method.value) else { return false };
    if is_told(name, &method.attr) {
        return false;
    }
    let is_object = match (against, made_with) {
        (Against::Value, None) => true,
        (Against::Value, Some(arguments)) => is_handed(arguments, against, setup),
        (Against::Truth, None) => setup.makes(name),
        (Against::Truth, Some(arguments)) => arguments.is_empty() && !is_predicate(&method.attr),
    };
    is_object && is_of_program(name, setup)
}

/// Whether text or a set has a method of this name that answers yes or no.
fn is_predicate(name: &str) -> bool {
    const NAMES: [&str; 17] = [
        "endswith",
        "isalnum",
        "isalpha",
        "isascii",
        "isdecimal",
        "isdigit",
        "isdisjoint",
        "isidentifier",
        "islower",
        "isnumeric",
        "isprintable",
        "isspace",
        "issubset",
        "issuperset",
        "istitle",
        "isupper",
        "startswith",
    ];
    NAMES.contains(&name)
}

/// Whether there is a call among what an expression takes out of what.
pub(super) fn is_called(expression: &Expr) -> bool {
    match expression {
        Expr::Call(_) => true,
        Expr::Attribute(attribute) => is_called(&attribute.value),
        Expr::Subscript(subscript) => is_called(&subscript.value),
        _ => false,
    }
}

/// The name of an object, and what it is made with where it is made on the spot.
fn object(expression: &Expr) -> Option<(&str, Option<&Arguments>)> {
    match expression {
        Expr::Name(name) => Some((&name.id, None)),
        Expr::Attribute(attribute) => object(&attribute.value),
        Expr::Call(call) => match call.func.as_ref() {
            Expr::Name(name) if name.id.starts_with(char::is_uppercase) => {
                Some((&name.id, Some(&call.arguments)))
            }
            _ => None,
        },
        _ => None,
    }
}

/// Whether arguments are what the program may be given; where the answer is yes or no, none that it makes.
fn is_handed(arguments: &Arguments, against: Against, setup: &TestSetup) -> bool {
    let of_program = |name: &str| is_of_program(name, setup);
    ProgramNames::new(&of_program).arguments(arguments)
        && (against == Against::Value || !Calls::are_in(arguments, setup))
}

/// Looks for calls of the program.
struct Calls<'a> {
    setup: &'a TestSetup,
    found: bool,
}

impl<'a> Calls<'a> {
    fn are_in(arguments: &Arguments, setup: &'a TestSetup) -> bool {
        let mut calls = Self { setup, found: false };
        calls.visit_arguments(arguments);
        calls.found
    }
}

impl<'a> Visitor<'a> for Calls<'_> {
    fn visit_expr(&mut self, expression: &'a Expr) {
        if let Expr::Call(call) = expression {
            self.found |= first(&call.func).is_some_and(|name| is_of_program(name, self.setup));
        }
        walk_expr(self, expression);
    }
}

/// The name with which a callee begins.
pub(super) fn first(expression: &Expr) -> Option<&str> {
    match expression {
        Expr::Name(name) => Some(&name.id),
        Expr::Attribute(attribute) => first(&attribute.value),
        Expr::Subscript(subscript) => first(&subscript.value),
        Expr::Call(call) => first(&call.func),
        _ => None,
    }
}
