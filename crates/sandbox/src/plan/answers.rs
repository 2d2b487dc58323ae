//! Which expressions of a piece of test code hold what the program has made, and which of them stand for
//! its functions.
//!
//! An expression holds an answer unless that is ruled out: a literal holds none, nor does what Python's own
//! functions and operators make of expressions without one, nor a name all of whose values are such
//! expressions. What a function of the program returned is an answer, wherever it was put since, and so is
//! whatever nobody can follow: an exception, an argument of a function that is handed on, the value of a
//! callee that is not known. An object that the test made of a class of the program (`Node(1)`) is none, but
//! what its methods return is.
//!
//! A callee is a function of the program if one may have got there: by another name, in a collection, as
//! what a function returns, or in a way that nobody can follow.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::visitor::{Visitor, walk_expr};
use ruff_python_ast::{Expr, ExprCall};

use super::follow::{Place, Stands, Value, Values, arguments, called_name, is_asserting, places};
use super::python::is_builtin;
use super::question::first;
use super::unused::is_by_text;

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

/// What an expression may hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Holds<'a> {
    /// An answer.
    pub(super) answer: bool,
    /// What a function of the program was handed and may have changed: `sort(xs)`.
    pub(super) changed: bool,
    /// An object of a class of the program.
    object: bool,
    /// A function of the program.
    pub(super) function: Option<Known<'a>>,
}

impl Holds<'_> {
    fn or(self, other: Self) -> Self {
        Self {
            answer: self.answer || other.answer,
            changed: self.changed || other.changed,
            object: self.object || other.object,
            function: self.function.max(other.function),
        }
    }

    fn of_all(all: impl IntoIterator<Item = Self>) -> Self {
        all.into_iter().fold(Self::default(), Self::or)
    }

    /// The value of a call of the program.
    fn of_program() -> Self {
        Self { answer: true, ..Self::default() }
    }
}

type Held<'a> = BTreeMap<&'a str, Holds<'a>>;

/// Answers of the program in a piece of test code.
pub(super) struct Answers<'a> {
    values: &'a Values<'a>,
    functions: BTreeMap<&'a str, Known<'a>>,
    names: Held<'a>,
    attributes: Held<'a>,
    returned: Held<'a>,
    /// Names and attributes that a function of the program may have changed.
    changed: BTreeSet<&'a str>,
    /// Everything was followed to its end.
    is_settled: bool,
    /// What nobody can follow: an answer, or a function that the test uses as a value.
    anything: Holds<'a>,
}

impl<'a> Answers<'a> {
    /// Finds them, given the functions of the program.
    pub(super) fn find(values: &'a Values<'a>, functions: BTreeMap<&'a str, Function>) -> Self {
        let known = functions.into_iter().map(|(name, function)| (name, Known { function, name }));
        let functions: BTreeMap<_, _> = known.collect();
        let is_handed = |one: &&Known<'_>| {
            one.function == Function::Other && !is_class(one.name) && values.hands_on(one.name)
        };
        let handed = functions.values().filter(is_handed).max().copied();
        let mut answers = Self {
            values,
            functions,
            names: Held::new(),
            attributes: Held::new(),
            returned: Held::new(),
            changed: BTreeSet::new(),
            is_settled: true,
            anything: Holds { function: handed, ..Holds::of_program() },
        };
        answers.settle();
        let calls = values.changing().map(|one| one.call);
        let changing = calls.filter(|call| answers.function(&call.func).is_some());
        let changed = values.aliases(changing.flat_map(arguments).flat_map(places));
        answers.changed = changed.into_iter().map(Place::name).collect();
        answers.settle();
        answers
    }

    /// Which function of the program a callee may be.
    pub(super) fn function(&self, callee: &Expr) -> Option<Known<'a>> {
        self.callee(callee).function
    }

    /// Whether a callee begins with a name of the program.
    pub(super) fn is_programs(&self, callee: &Expr) -> bool {
        first(callee).is_some_and(|name| self.functions.contains_key(name))
    }

    /// What an expression may hold.
    pub(super) fn holds(&self, expression: &Expr) -> Holds<'a> {
        let mut look = Look { answers: self, found: Holds::default() };
        look.visit_expr(expression);
        look.found
    }

    /// Whether there may be an answer in an expression.
    pub(super) fn has_answer(&self, expression: &Expr) -> bool {
        let holds = self.holds(expression);
        holds.answer || holds.changed
    }

    /// Whether this is the name of an answer.
    pub(super) fn is_answer(&self, name: &str) -> bool {
        self.name(name).answer
    }

    /// The function of the program that a call of Python's own may call, and which argument it is:
    /// `map(is_valid, answers)`.
    pub(super) fn applied(&self, call: &ExprCall) -> Option<(usize, Known<'a>)> {
        let holds: Vec<_> = arguments(call).map(|one| self.holds(one)).collect();
        applied(call, &holds)
    }

    /// Follows values until nothing new is found.
    fn settle(&mut self) {
        for _ in 0..ROUNDS {
            let names = self.held(&self.values.names);
            let attributes = self.held(&self.values.attributes);
            let returned = self.held(&self.values.returned);
            let is_same =
                names == self.names && attributes == self.attributes && returned == self.returned;
            (self.names, self.attributes, self.returned) = (names, attributes, returned);
            if is_same {
                return;
            }
        }
        self.is_settled = false;
    }

    fn held(&self, stands: &Stands<'a>) -> Held<'a> {
        let all = |values: &[Value<'a>]| {
            Holds::of_all(values.iter().map(|value| self.holds(value.expression)))
        };
        stands.iter().map(|(name, values)| (*name, all(values))).collect()
    }

    /// What a name may hold as a value.
    fn name(&self, name: &str) -> Holds<'a> {
        let known = self.functions.get(name);
        let is_unknown =
            !self.is_settled || self.values.by_text || self.values.unknown.contains(name);
        Holds::of_all([
            Holds { object: known.is_some() && is_class(name), ..Holds::default() },
            Holds { function: known.filter(|_| !is_class(name)).copied(), ..Holds::default() },
            Holds { changed: self.changed.contains(name), ..Holds::default() },
            self.names.get(name).copied().unwrap_or_default(),
            self.returned.get(name).copied().unwrap_or_default(),
            if is_unknown { self.anything } else { Holds::default() },
        ])
    }

    fn attribute(&self, name: &str) -> Holds<'a> {
        Holds::of_all([
            Holds { changed: self.changed.contains(name), ..Holds::default() },
            self.attributes.get(name).copied().unwrap_or_default(),
            self.returned.get(name).copied().unwrap_or_default(),
        ])
    }

    /// What a callee is.
    fn callee(&self, callee: &Expr) -> Callee<'a> {
        match callee {
            Expr::Name(name) => {
                let name = name.id.as_str();
                let by_text = is_by_text(name) || name == "getattr";
                let value = if by_text { self.anything } else { self.name(name) };
                let is_unknown = self.values.unknown.contains(name);
                let assigned = if is_unknown { Some(&self.anything) } else { self.names.get(name) };
                let assigned = assigned.and_then(|holds| holds.function);
                Callee { function: assigned.max(self.functions.get(name).copied()), value }
            }
            Expr::Attribute(method) => {
                let name = method.attr.as_str();
                let of = self.holds(&method.value);
                let root = first(callee).filter(|_| !has_call(callee));
                let named = root.and_then(|name| self.functions.get(name).copied());
                let held = self.attributes.get(name).and_then(|holds| holds.function);
                let function = named.max(held).max(of.function);
                let is_programs = of.answer || of.object || function.is_some();
                let value = if is_programs { Holds::of_program() } else { Holds::default() };
                let value = value.or(of).or(self.attribute(name));
                Callee { function: function.filter(|_| !self.values.defines(name)), value }
            }
            other => {
                let value = self.holds(other);
                Callee { function: value.function.filter(|_| !other.is_lambda_expr()), value }
            }
        }
    }

    /// What the value of a call may hold.
    fn call(&self, call: &ExprCall) -> Holds<'a> {
        let each: Vec<_> = arguments(call).map(|one| self.holds(one)).collect();
        let given = Holds::of_all(each.iter().copied());
        if called_name(&call.func) == Some("partial") {
            let function = given.function.map(|known| match known.function {
                Function::EntryPoint => known,
                _ => Known { function: Function::Bound, ..known },
            });
            return Holds { function, ..given };
        }
        if self.is_object(call) {
            return Holds { object: true, function: None, ..given };
        }
        let Callee { function, value } = self.callee(&call.func);
        if function.is_some() {
            let is_taken_out = call.func.is_attribute_expr();
            let function = value.function.filter(|_| is_taken_out);
            return Holds { function, ..Holds::of_program() };
        }
        let is_defined = called_name(&call.func).is_some_and(|name| self.values.defines(name));
        if is_defined {
            return value.or(Holds { function: None, ..given });
        }
        if applied(call, &each).is_some() {
            return value.or(given).or(Holds::of_program());
        }
        value.or(given)
    }

    /// Whether a call makes an object of a class of the program.
    fn is_object(&self, call: &ExprCall) -> bool {
        let name = call.func.as_name_expr().map(|name| name.id.as_str());
        name.is_some_and(|name| is_class(name) && self.functions.contains_key(name))
    }
}

/// What is called.
struct Callee<'a> {
    /// The function of the program that it may be.
    function: Option<Known<'a>>,
    /// What it returns, apart from its arguments, if it is none.
    value: Holds<'a>,
}

/// The function that a call of Python's own may call, of arguments that hold this.
fn applied<'a>(call: &ExprCall, holds: &[Holds<'a>]) -> Option<(usize, Known<'a>)> {
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
        // Text calls nobody: `''.join(words)`.
        Expr::Attribute(method) => !is_asserting(&method.attr) && !method.value.is_literal_expr(),
        _ => true,
    }
}

/// Whether a call that is not the program's compares its arguments.
pub(super) fn is_equality(call: &ExprCall) -> bool {
    let name = called_name(&call.func).unwrap_or_default();
    name.starts_with("assert") && name.contains("Equal") || matches!(name, "isclose" | "allclose")
}

/// Whether a name is one of a class, by custom.
pub(super) fn is_class(name: &str) -> bool {
    name.starts_with(char::is_uppercase)
}

/// Whether there is a call among what a callee is taken out of.
fn has_call(callee: &Expr) -> bool {
    match callee {
        Expr::Attribute(attribute) => has_call(&attribute.value),
        Expr::Subscript(subscript) => has_call(&subscript.value),
        other => other.is_call_expr(),
    }
}

/// Looks for what an expression holds.
struct Look<'s, 'a> {
    answers: &'s Answers<'a>,
    found: Holds<'a>,
}

impl<'e> Visitor<'e> for Look<'_, '_> {
    fn visit_expr(&mut self, expression: &'e Expr) {
        let found = match expression {
            Expr::Call(call) => self.answers.call(call),
            Expr::Name(name) => self.answers.name(&name.id),
            Expr::Attribute(attribute) => {
                let of = self.answers.holds(&attribute.value);
                of.or(self.answers.attribute(&attribute.attr))
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
