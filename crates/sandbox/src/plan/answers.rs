//! Which names of a piece of test code stand for functions of the program, and which expressions hold
//! what the program has made.
//!
//! An answer is what a function of the program returned, wherever it was put since, and what a function
//! was handed as a statement and may have changed (`sort(xs)`). An object that the test made of a class of
//! the program (`Node(1)`) is none, but what its methods return is.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::visitor::{Visitor, walk_expr};
use ruff_python_ast::{Expr, ExprCall};

use super::follow::{Value, Values, called_name};
use super::python::{is_builtin, is_module};
use super::question::first;

/// A value is followed from name to name this many times: more than any test hands it on, and few enough for
/// a test of thousands of names.
pub(super) const ROUNDS: usize = 64;

/// What a function of the program is to a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Function {
    /// The one that is asked for.
    EntryPoint,
    /// Another one.
    Other,
    /// Another one that may have got arguments already: `partial(is_close, 5)`.
    Bound,
}

/// A function of the program, by the name that the program has for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Known<'a> {
    pub(super) function: Function,
    pub(super) name: &'a str,
}

/// Answers of the program in a piece of test code.
pub(super) struct Answers<'a> {
    values: &'a Values<'a>,
    functions: BTreeMap<&'a str, Known<'a>>,
    names: BTreeSet<&'a str>,
    attributes: BTreeSet<&'a str>,
    /// Functions of the test that return an answer.
    returned: BTreeSet<&'a str>,
    /// Names of objects of the program's classes.
    objects: BTreeSet<&'a str>,
    /// Names of what a call that is a statement may have changed.
    changed: BTreeSet<&'a str>,
}

impl<'a> Answers<'a> {
    /// Finds them, given the functions of the program.
    pub(super) fn find(values: &'a Values<'a>, functions: BTreeMap<&'a str, Function>) -> Self {
        let known = functions.into_iter().map(|(name, function)| (name, Known { function, name }));
        let mut answers = Self {
            values,
            functions: known.collect(),
            names: BTreeSet::new(),
            attributes: BTreeSet::new(),
            returned: BTreeSet::new(),
            objects: BTreeSet::new(),
            changed: BTreeSet::new(),
        };
        answers.find_functions();
        for call in values.statements.iter().map(|one| one.call) {
            if answers.function(&call.func).is_some() {
                let names = call.arguments.args.iter().filter_map(Expr::as_name_expr);
                answers.changed.extend(names.map(|name| name.id.as_str()));
            }
        }
        answers.find_answers();
        answers
    }

    /// Which function of the program a callee is.
    pub(super) fn function(&self, callee: &Expr) -> Option<Known<'a>> {
        match callee {
            Expr::Name(name) => self.functions.get(name.id.as_str()).copied(),
            Expr::Subscript(subscript) => self.function(&subscript.value),
            Expr::Named(named) => self.function(&named.value),
            Expr::If(choice) => self.function(&choice.body).max(self.function(&choice.orelse)),
            // `np.allclose`, and not `Solution().f`: what the program returns is its own to ask.
            Expr::Attribute(_) if !has_call(callee) => {
                first(callee).and_then(|name| self.functions.get(name).copied())
            }
            Expr::Call(_) => self.handed_on(callee),
            _ => None,
        }
    }

    /// The function of the program that a value is, or has in it.
    fn handed_on(&self, value: &Expr) -> Option<Known<'a>> {
        let any = |values: &[Expr]| values.iter().filter_map(|one| self.handed_on(one)).max();
        match value {
            Expr::Name(name) if is_class(&name.id) => None,
            Expr::Name(_) => self.function(value),
            Expr::If(choice) => self.handed_on(&choice.body).max(self.handed_on(&choice.orelse)),
            Expr::List(list) => any(&list.elts),
            Expr::Tuple(tuple) => any(&tuple.elts),
            Expr::Set(set) => any(&set.elts),
            Expr::Dict(dict) => dict.iter_values().filter_map(|one| self.handed_on(one)).max(),
            Expr::Call(call) if called_name(&call.func) == Some("partial") => {
                any(&call.arguments.args).map(|one| match one.function {
                    Function::EntryPoint => one,
                    _ => Known { function: Function::Bound, ..one },
                })
            }
            _ => None,
        }
    }

    /// Whether there is an answer in an expression.
    pub(super) fn has_answer(&self, expression: &Expr) -> bool {
        self.looked_through(expression, Changed::Counts)
    }

    /// The same without what was only changed.
    pub(super) fn has_returned(&self, expression: &Expr) -> bool {
        self.looked_through(expression, Changed::Ignored)
    }

    /// Whether this is the name of an answer.
    pub(super) fn is_answer(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    fn looked_through(&self, expression: &Expr, changed: Changed) -> bool {
        let mut look = Look { answers: self, changed, any: false };
        look.visit_expr(expression);
        look.any
    }

    /// Finds other names of functions.
    fn find_functions(&mut self) {
        for _ in 0..ROUNDS {
            let mut more = Vec::new();
            for (name, values) in &self.values.names {
                let found = values.iter().filter_map(|value| self.handed_on(value.expression));
                let found = found.max();
                if found > self.functions.get(name).copied() {
                    more.extend(found.map(|found| (*name, found)));
                }
            }
            if more.is_empty() {
                return;
            }
            self.functions.extend(more);
        }
    }

    fn find_answers(&mut self) {
        let is_made = |value: &Value<'_>| match value.expression {
            Expr::Call(call) => self.is_object(call),
            _ => false,
        };
        let objects = self.values.names.iter().filter(|(_, values)| values.iter().any(is_made));
        self.objects = objects.map(|(name, _)| *name).collect();
        let values: &'a Values<'a> = self.values;
        for _ in 0..ROUNDS {
            let found = |stands: &BTreeMap<&'a str, Vec<Value<'a>>>| -> BTreeSet<&'a str> {
                let is_told = |value: &Value<'_>| self.has_returned(value.expression);
                let told = stands.iter().filter(|(_, all)| all.iter().any(is_told));
                told.map(|(name, _)| *name).collect()
            };
            let names = found(&values.names);
            let attributes = found(&values.attributes);
            let returned = found(&values.returned);
            let before = self.names.len() + self.attributes.len() + self.returned.len();
            let after = names.len() + attributes.len() + returned.len();
            (self.names, self.attributes, self.returned) = (names, attributes, returned);
            if after == before {
                return;
            }
        }
    }

    /// Whether a call makes an object of a class of the program.
    fn is_object(&self, call: &ExprCall) -> bool {
        let name = call.func.as_name_expr().map(|name| name.id.as_str());
        name.is_some_and(|name| is_class(name) && self.functions.contains_key(name))
    }

    fn returns_answer(&self, call: &ExprCall) -> bool {
        if self.is_object(call) {
            return false;
        }
        let root = first(&call.func);
        let of_program = root.is_some_and(|name| self.functions.contains_key(name));
        let of_object = root.is_some_and(|name| self.objects.contains(name));
        let of_test = called_name(&call.func).is_some_and(|name| self.returned.contains(name));
        of_program
            || self.function(&call.func).is_some()
            || of_object && call.func.is_attribute_expr()
            || of_test
            || self.applied(call).is_some()
    }

    /// The function of the program that a call of Python's own will call: `map(is_valid, answers)`.
    pub(super) fn applied(&self, call: &ExprCall) -> Option<Known<'a>> {
        let keys = call.arguments.keywords.iter().map(|keyword| &keyword.value);
        let taken = if takes_functions(call) { &*call.arguments.args } else { &[] };
        keys.chain(taken).find_map(|one| self.handed_on(one))
    }
}

/// Whether a name is one of a class, by custom.
pub(super) fn is_class(name: &str) -> bool {
    name.starts_with(char::is_uppercase)
}

/// Whether a callee may call its arguments: a function of a module, or one of Python's that does.
fn takes_functions(call: &ExprCall) -> bool {
    match call.func.as_ref() {
        Expr::Name(name) if is_builtin(&name.id) => {
            matches!(name.id.as_str(), "map" | "filter" | "iter")
        }
        Expr::Name(_) => true,
        callee => first(callee).is_some_and(is_module),
    }
}

/// Whether there is a call among what a callee is taken out of.
fn has_call(callee: &Expr) -> bool {
    match callee {
        Expr::Attribute(attribute) => has_call(&attribute.value),
        Expr::Subscript(subscript) => has_call(&subscript.value),
        other => other.is_call_expr(),
    }
}

/// Whether what a function was handed and may have changed counts as its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Changed {
    Counts,
    Ignored,
}

/// Looks for answers in an expression.
struct Look<'s, 'a> {
    answers: &'s Answers<'a>,
    changed: Changed,
    any: bool,
}

impl<'e> Visitor<'e> for Look<'_, '_> {
    fn visit_expr(&mut self, expression: &'e Expr) {
        match expression {
            Expr::Call(call) => self.any |= self.answers.returns_answer(call),
            Expr::Attribute(attribute) => {
                self.any |= self.answers.attributes.contains(attribute.attr.as_str());
            }
            Expr::Name(name) => {
                let name = name.id.as_str();
                let is_changed = || self.answers.changed.contains(name);
                self.any |= self.answers.names.contains(name);
                self.any |= self.changed == Changed::Counts && is_changed();
            }
            _ => {}
        }
        walk_expr(self, expression);
    }
}
