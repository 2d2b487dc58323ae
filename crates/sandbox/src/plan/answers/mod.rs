//! Which expressions of a piece of test code hold what the program has made, and which of them stand for
//! its functions.
//!
//! An expression holds an answer unless that is ruled out: a literal holds none, nor does what Python's own
//! functions and operators make of expressions without one, nor a name all of whose values are such
//! expressions. What a function of the program returned is an answer, wherever it was put since, and so is
//! whatever cannot be followed: an exception, an argument of a function that is handed on, the value of a
//! callee that is not known. An object that the test made of a class of the program (`Node(1)`) is none, but
//! what its methods return is.
//!
//! A callee is a function of the program if one may have got there: by another name, in a collection, as
//! what a function returns, or in a way that cannot be followed.

mod look;

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::{Expr, ExprCall};

pub(super) use self::look::is_equality;
use self::look::{ValueFinder, applied};
use super::follow::{AssignmentTarget, FlowValue, FlowValues, Stands, arguments, places};
use super::function::ProgramFunction;
use super::question::first;

/// A value is followed from name to name this many times: more than any test hands it on, and few enough for
/// a test of thousands of names.
pub(super) const ROUNDS: usize = 64;

/// A function of the program, by the name that the program has for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NamedFunction<'a> {
    pub(super) function: ProgramFunction,
    pub(super) name: &'a str,
}

/// The answers that an expression may hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Holds<'a> {
    /// An answer.
    pub(super) answer: bool,
    /// Arguments that a function of the program may have changed: `sort(xs)`.
    pub(super) changed: bool,
    /// An object of a class of the program.
    object: bool,
    /// A function of the program.
    pub(super) function: Option<NamedFunction<'a>>,
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

/// The values that names, attributes and functions hold.
#[derive(Default, PartialEq, Eq)]
struct ValuesHeld<'a> {
    names: Held<'a>,
    attributes: Held<'a>,
    returned: Held<'a>,
}

/// Whether parameters that may be given anything hold an answer. Where a function is looked at as a value they
/// hold none: what it will be given is nothing that it brings along.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ParameterValues {
    Answers,
    Nothing,
}

/// Answers of the program in a piece of test code.
pub(super) struct ProgramAnswers<'a> {
    values: &'a FlowValues<'a>,
    functions: BTreeMap<&'a str, NamedFunction<'a>>,
    /// The values of names and attributes if parameters hold answers.
    found: ValuesHeld<'a>,
    /// All values if parameters hold nothing.
    brought: ValuesHeld<'a>,
    /// Names and attributes that a function of the program may have changed.
    changed: BTreeSet<&'a str>,
    /// Everything was followed to its end.
    is_settled: bool,
    /// Values that cannot be followed: an answer, or a function that the test uses as a value.
    anything: Holds<'a>,
}

impl<'a> ProgramAnswers<'a> {
    /// Finds them, given the functions of the program.
    pub(super) fn find(
        values: &'a FlowValues<'a>,
        functions: BTreeMap<&'a str, ProgramFunction>,
    ) -> Self {
        let known =
            functions.into_iter().map(|(name, function)| (name, NamedFunction { function, name }));
        let functions: BTreeMap<_, _> = known.collect();
        let is_handed = |one: &&NamedFunction<'_>| {
            one.function == ProgramFunction::Other
                && !is_class(one.name)
                && values.hands_on(one.name)
        };
        let handed = functions.values().filter(is_handed).max();
        let handed =
            handed.map(|known| NamedFunction { function: ProgramFunction::Unclear, ..*known });
        let mut answers = Self {
            values,
            functions,
            found: ValuesHeld::default(),
            brought: ValuesHeld::default(),
            changed: BTreeSet::new(),
            is_settled: true,
            anything: Holds { function: handed, ..Holds::of_program() },
        };
        answers.settle(ParameterValues::Nothing);
        let calls = values.changing().map(|one| one.call);
        let look = answers.look(ParameterValues::Nothing);
        let changing = calls.filter(|call| look.callee(&call.func).function.is_some());
        let changed = values.aliases(changing.flat_map(arguments).flat_map(places));
        answers.changed = changed.into_iter().map(AssignmentTarget::name).collect();
        answers.settle(ParameterValues::Nothing);
        answers.settle(ParameterValues::Answers);
        answers
    }

    /// The function of the program that a callee may be.
    pub(super) fn function(&self, callee: &Expr) -> Option<NamedFunction<'a>> {
        self.look(ParameterValues::Answers).callee(callee).function
    }

    /// Whether a callee begins with a name of the program.
    pub(super) fn is_programs(&self, callee: &Expr) -> bool {
        first(callee).is_some_and(|name| self.functions.contains_key(name))
    }

    /// The answers that an expression may hold.
    pub(super) fn holds(&self, expression: &Expr) -> Holds<'a> {
        self.look(ParameterValues::Answers).at(expression)
    }

    /// Whether there may be an answer in an expression.
    pub(super) fn has_answer(&self, expression: &Expr) -> bool {
        let holds = self.holds(expression);
        holds.answer || holds.changed
    }

    /// The function of the program that a call of Python's own may call, and which argument it is:
    /// `map(is_valid, answers)`.
    pub(super) fn applied(&self, call: &ExprCall) -> Option<(usize, NamedFunction<'a>)> {
        let holds: Vec<_> = arguments(call).map(|one| self.holds(one)).collect();
        applied(call, &holds)
    }

    fn look(&self, given: ParameterValues) -> ValueFinder<'_, 'a> {
        ValueFinder { answers: self, given, found: Holds::default() }
    }

    /// Follows values until nothing new is found.
    fn settle(&mut self, given: ParameterValues) {
        for _ in 0..ROUNDS {
            let names = self.held(&self.values.names, given);
            let attributes = self.held(&self.values.attributes, given);
            let (next, found) = match given {
                ParameterValues::Answers => {
                    (ValuesHeld { names, attributes, returned: Held::new() }, &mut self.found)
                }
                ParameterValues::Nothing => {
                    let returned = self.held(&self.values.returned, given);
                    (ValuesHeld { names, attributes, returned }, &mut self.brought)
                }
            };
            let before = std::mem::replace(found, next);
            if before == *found {
                return;
            }
        }
        self.is_settled = false;
    }

    fn held(&self, stands: &Stands<'a>, given: ParameterValues) -> Held<'a> {
        let all = |values: &[FlowValue<'a>]| {
            Holds::of_all(values.iter().map(|value| self.look(given).at(value.expression)))
        };
        stands.iter().map(|(name, values)| (*name, all(values))).collect()
    }

    /// Whether a call makes an object of a class of the program.
    fn is_object(&self, call: &ExprCall) -> bool {
        let name = call.func.as_name_expr().map(|name| name.id.as_str());
        name.is_some_and(|name| is_class(name) && self.functions.contains_key(name))
    }
}

/// Whether a name is one of a class, by custom.
pub(super) fn is_class(name: &str) -> bool {
    name.starts_with(char::is_uppercase)
}
