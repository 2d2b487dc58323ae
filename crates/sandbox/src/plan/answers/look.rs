//! The answers that one expression holds, given those of names, attributes and functions.

use ruff_python_ast::visitor::{Visitor, walk_expr};
use ruff_python_ast::{Expr, ExprCall, ExprName};

use super::{Holds, NamedFunction, ParameterValues, ProgramAnswers, ValuesHeld, is_class};
use crate::plan::follow::{arguments, called_name, is_asserting};
use crate::plan::function::ProgramFunction;
use crate::plan::python::is_builtin;
use crate::plan::question::first;
use crate::plan::unused::is_by_text;

/// Looks for what an expression holds.
#[derive(Clone, Copy)]
pub(super) struct ValueFinder<'s, 'a> {
    pub(super) answers: &'s ProgramAnswers<'a>,
    pub(super) given: ParameterValues,
    pub(super) found: Holds<'a>,
}

impl<'a> ValueFinder<'_, 'a> {
    pub(super) fn at(self, expression: &Expr) -> Holds<'a> {
        let mut look = Self { found: Holds::default(), ..self };
        look.visit_expr(expression);
        look.found
    }

    fn known(&self) -> &ValuesHeld<'a> {
        match self.given {
            ParameterValues::Answers => &self.answers.found,
            ParameterValues::Nothing => &self.answers.brought,
        }
    }

    /// The values that a name may hold.
    fn name(&self, name: &ExprName) -> Holds<'a> {
        let answers = self.answers;
        let is_given = self.given == ParameterValues::Answers && answers.values.is_given(name);
        let is_unknown = !answers.is_settled || is_given || answers.values.is_unknown(name);
        let name = name.id.as_str();
        let known = answers.functions.get(name);
        let is_unknown = is_unknown || answers.values.by_text && known.is_some();
        Holds::of_all([
            Holds { object: known.is_some() && is_class(name), ..Holds::default() },
            Holds { function: known.filter(|_| !is_class(name)).copied(), ..Holds::default() },
            Holds { changed: answers.changed.contains(name), ..Holds::default() },
            self.known().names.get(name).copied().unwrap_or_default(),
            answers.brought.returned.get(name).copied().unwrap_or_default(),
            if is_unknown { answers.anything } else { Holds::default() },
        ])
    }

    fn attribute(&self, name: &str) -> Holds<'a> {
        Holds::of_all([
            Holds { changed: self.answers.changed.contains(name), ..Holds::default() },
            self.known().attributes.get(name).copied().unwrap_or_default(),
            self.answers.brought.returned.get(name).copied().unwrap_or_default(),
        ])
    }

    /// The values that any attribute may hold.
    fn attributes(&self) -> Holds<'a> {
        let returned = self.answers.brought.returned.values();
        Holds::of_all(self.known().attributes.values().chain(returned).copied())
    }

    /// The function that a callee is.
    pub(super) fn callee(&self, callee: &Expr) -> Callee<'a> {
        let answers = self.answers;
        match callee {
            Expr::Name(called) => {
                let name = called.id.as_str();
                let value = match name {
                    "getattr" => self.attributes(),
                    _ if is_by_text(name) => answers.anything,
                    _ => self.name(called),
                };
                // What a function of the test returns is not what it is.
                let returned = answers.brought.returned.contains_key(name);
                let assigned = self.known().names.get(name).and_then(|holds| holds.function);
                let handed = if returned { assigned } else { value.function };
                Callee { function: handed.max(answers.functions.get(name).copied()), value }
            }
            Expr::Attribute(method) => {
                let name = method.attr.as_str();
                let of = self.at(&method.value);
                let root = first(callee).filter(|_| !has_call(callee));
                let named = root.and_then(|name| answers.functions.get(name).copied());
                let held = self.known().attributes.get(name).and_then(|holds| holds.function);
                // `errors.append(e)`
                let is_clear =
                    |known: &NamedFunction<'_>| known.function != ProgramFunction::Unclear;
                let function = named.max(held).max(of.function.filter(is_clear));
                let is_programs = of.answer || of.object || function.is_some();
                let value = if is_programs { Holds::of_program() } else { Holds::default() };
                let value = value.or(of).or(self.attribute(name));
                Callee { function: function.filter(|_| !answers.values.defines(name)), value }
            }
            other => {
                let value = self.at(other);
                let value = if value.object { value.or(Holds::of_program()) } else { value };
                Callee { function: value.function.filter(|_| !other.is_lambda_expr()), value }
            }
        }
    }

    /// The answers that the value of a call may hold.
    fn call(&self, call: &ExprCall) -> Holds<'a> {
        let each: Vec<_> = arguments(call).map(|one| self.at(one)).collect();
        let given = Holds::of_all(each.iter().copied());
        if called_name(&call.func) == Some("partial") {
            let function = given.function.map(|known| match known.function {
                ProgramFunction::EntryPoint => known,
                _ => NamedFunction { function: ProgramFunction::Bound, ..known },
            });
            return Holds { function, ..given };
        }
        if self.answers.is_object(call) {
            return Holds { object: true, function: None, ..given };
        }
        let Callee { function, value } = self.callee(&call.func);
        if function.is_some() {
            let is_taken_out = call.func.is_attribute_expr();
            let function = value.function.filter(|_| is_taken_out);
            return Holds { function, ..Holds::of_program() };
        }
        let is_defined =
            called_name(&call.func).is_some_and(|name| self.answers.values.defines(name));
        if is_defined {
            return value.or(Holds { function: None, ..given });
        }
        if applied(call, &each).is_some() {
            return value.or(given).or(Holds::of_program());
        }
        value.or(given)
    }
}

impl<'e> Visitor<'e> for ValueFinder<'_, '_> {
    fn visit_expr(&mut self, expression: &'e Expr) {
        let found = match expression {
            Expr::Call(call) => self.call(call),
            Expr::Name(name) => self.name(name),
            Expr::Attribute(attribute) => {
                let name = attribute.value.as_name_expr().map(|name| name.id.as_str());
                let is_captured = name.is_some_and(|name| self.answers.values.captures(name));
                let of =
                    if is_captured { self.answers.anything } else { self.at(&attribute.value) };
                of.or(self.attribute(&attribute.attr))
            }
            Expr::Lambda(lambda) => {
                Self { given: ParameterValues::Nothing, ..*self }.at(&lambda.body)
            }
            _ => {
                if expression.is_yield_expr() {
                    self.found = self.found.or(self.answers.anything);
                }
                return walk_expr(self, expression);
            }
        };
        self.found = self.found.or(found);
    }
}

/// The callee.
pub(super) struct Callee<'a> {
    /// The function of the program that it may be.
    pub(super) function: Option<NamedFunction<'a>>,
    /// Its return value, apart from its arguments, if it is not a function of the program.
    value: Holds<'a>,
}

/// The function that a call of Python's own may call, of arguments that hold this.
pub(super) fn applied<'a>(
    call: &ExprCall,
    holds: &[Holds<'a>],
) -> Option<(usize, NamedFunction<'a>)> {
    if is_equality(call) {
        return None;
    }
    let positional = call.arguments.args.len();
    let is_taken = |at: usize| at >= positional || takes_functions(&call.func);
    let mut functions = holds.iter().enumerate().filter(|(at, _)| is_taken(*at));
    functions.find_map(|(at, one)| Some((at, one.function?)))
}

/// Whether a callee may call its arguments: of Python's built-ins, few do.
fn takes_functions(callee: &Expr) -> bool {
    match callee {
        Expr::Name(name) if is_builtin(&name.id) => {
            matches!(name.id.as_str(), "map" | "filter")
        }
        // Methods of text call no function: `''.join(words)`.
        Expr::Attribute(method) => !is_asserting(&method.attr) && !method.value.is_literal_expr(),
        _ => true,
    }
}

/// Whether a call that is not the program's compares its arguments.
pub(in crate::plan) fn is_equality(call: &ExprCall) -> bool {
    let name = called_name(&call.func).unwrap_or_default();
    name.starts_with("assert") && name.contains("Equal") || matches!(name, "isclose" | "allclose")
}

/// Whether there is a call among what a callee is taken out of.
fn has_call(callee: &Expr) -> bool {
    match callee {
        Expr::Attribute(attribute) => has_call(&attribute.value),
        Expr::Subscript(subscript) => has_call(&subscript.value),
        other => other.is_call_expr(),
    }
}
