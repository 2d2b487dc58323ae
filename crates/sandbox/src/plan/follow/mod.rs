//! The values of names, attributes and functions in a piece of test code.
//!
//! Scopes are not told apart: a name stands for everything that it is assigned anywhere, and a parameter
//! for everything that a function of its name is called with.

mod link;
mod places;
mod walk;

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::visitor::Visitor;
use ruff_python_ast::{Expr, ExprCall, ExprLambda, ExprName, Stmt};
use ruff_text_size::{Ranged, TextRange};

use self::link::ArgumentsTaken;
pub(super) use self::link::arguments;
pub(super) use self::places::{AssignmentTarget, places};

/// The text that an expression is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextOrigin {
    Test,
    /// The part of the setup that the checker runs.
    Setup,
    /// The part that runs beside the program.
    Beside,
}

/// An expression and whose it is.
#[derive(Clone, Copy)]
pub(super) struct FlowValue<'a> {
    pub(super) expression: &'a Expr,
    pub(super) origin: TextOrigin,
}

/// A call and whose it is.
#[derive(Clone, Copy)]
pub(super) struct Called<'a> {
    pub(super) call: &'a ExprCall,
    pub(super) origin: TextOrigin,
}

pub(super) type Stands<'a> = BTreeMap<&'a str, Vec<FlowValue<'a>>>;

/// Bytes of all the expressions that names stand for, one that several names stand for counted for each. All of
/// them are looked through several times; a test as long as a test may be has 64 KiB.
const MAX_BYTES: usize = 1 << 20;

/// The values of names.
#[derive(Default)]
pub(super) struct FlowValues<'a> {
    /// The expressions that each name is assigned, iterates over, or contains.
    pub(super) names: Stands<'a>,
    /// The expressions assigned to attributes, by attribute name, for any object.
    pub(super) attributes: Stands<'a>,
    /// The return values of each function and method, and for a class those of all its methods and
    /// attributes.
    pub(super) returned: Stands<'a>,
    /// The conditions under which names are assigned and functions return.
    pub(super) conditions: Stands<'a>,
    /// Names that may stand for anything, and where.
    unknown: BTreeMap<&'a str, Vec<TextRange>>,
    /// Parameters that may be given anything, and where.
    given: BTreeMap<&'a str, Vec<TextRange>>,
    /// Names that `with` binds, whose attributes may come from what is done there: an exception.
    captured: BTreeSet<&'a str>,
    /// Names are looked up by their text, so one that is assigned nowhere may stand for anything.
    pub(super) by_text: bool,
    /// Calls that are statements.
    pub(super) statements: Vec<Called<'a>>,
    /// The number of reads of each name, and of those that only compare it with `None`.
    pub(super) reads: BTreeMap<&'a str, usize>,
    pub(super) against_none: BTreeMap<&'a str, usize>,
    /// The number of uses of each name as a value, not as a callee.
    handed: BTreeMap<&'a str, usize>,
    /// Calls whose values get a name, and those that are held against `None` at once.
    assigned: Vec<(&'a str, Called<'a>)>,
    void: Vec<Called<'a>>,
    parameters: BTreeMap<&'a str, Vec<ArgumentsTaken<'a>>>,
    imported: BTreeSet<&'a str>,
    decorated: Vec<(&'a str, FlowValue<'a>)>,
    /// Fields of classes: `class Case: answer: int`.
    fields: BTreeSet<&'a str>,
    /// The names that `with` binds, and what is done there.
    contexts: Vec<(Vec<AssignmentTarget<'a>>, &'a [Stmt])>,
    lambdas: Vec<&'a ExprLambda>,
    /// Those whose parameters are known.
    linked: BTreeSet<*const ExprLambda>,
    calls: Vec<Called<'a>>,
    puts: Vec<(AssignmentTarget<'a>, FlowValue<'a>)>,
    bytes: usize,
    origin: Option<TextOrigin>,
    /// The functions, the classes and the branches that the walk is in, and the class that it is right inside of.
    within: Vec<&'a str>,
    classes: Vec<&'a str>,
    branches: Vec<&'a Expr>,
    class: Option<&'a str>,
}

impl<'a> FlowValues<'a> {
    /// Reads statements of the test or of the setup.
    pub(super) fn read(&mut self, statements: &'a [Stmt], origin: TextOrigin) {
        self.origin = Some(origin);
        self.visit_body(statements);
    }

    /// Whether a function, method or class of this name is defined here.
    pub(super) fn defines(&self, name: &str) -> bool {
        self.parameters.contains_key(name)
    }

    /// Calls whose values are not read.
    pub(super) fn dropped(&self) -> impl Iterator<Item = Called<'a>> {
        let assigned = self.assigned.iter().filter(|(name, _)| self.reads(name) == 0);
        self.statements.iter().chain(assigned.map(|(_, called)| called)).copied()
    }

    /// Calls whose values are held against `None` at most, by which a test sees changed arguments.
    pub(super) fn changing(&self) -> impl Iterator<Item = Called<'a>> {
        let held = |name: &str| self.against_none.get(name).copied().unwrap_or_default();
        let assigned = self.assigned.iter().filter(move |(name, _)| self.reads(name) == held(name));
        let assigned = assigned.map(|(_, called)| called);
        self.statements.iter().chain(&self.void).chain(assigned).copied()
    }

    /// Whether a name may stand for anything where it is read.
    pub(super) fn is_unknown(&self, name: &ExprName) -> bool {
        is_within(&self.unknown, name)
    }

    /// Whether a name is a parameter that may be given anything.
    pub(super) fn is_given(&self, name: &ExprName) -> bool {
        is_within(&self.given, name)
    }

    /// Whether attributes of a name may be anything.
    pub(super) fn captures(&self, name: &str) -> bool {
        self.captured.contains(name)
    }

    /// Whether a name is used as a value.
    pub(super) fn hands_on(&self, name: &str) -> bool {
        self.handed.contains_key(name)
    }

    /// The number of reads of a name.
    pub(super) fn reads(&self, name: &str) -> usize {
        self.reads.get(name).copied().unwrap_or_default()
    }

    fn value(&self, expression: &'a Expr) -> FlowValue<'a> {
        FlowValue { expression, origin: self.origin.unwrap_or(TextOrigin::Test) }
    }

    fn called(&self, call: &'a ExprCall) -> Called<'a> {
        Called { call, origin: self.origin.unwrap_or(TextOrigin::Test) }
    }

    /// A name stands for a value. Beyond the bound nothing more is kept: `link` refuses it.
    fn bind(&mut self, name: &'a str, value: FlowValue<'a>) {
        self.bytes += bytes(value.expression);
        if self.bytes <= MAX_BYTES {
            self.names.entry(name).or_default().push(value);
        }
    }

    /// A value is put into whatever an expression leads to.
    fn put(&mut self, into: &'a Expr, value: FlowValue<'a>) {
        for place in places(into) {
            self.bytes += bytes(value.expression);
            if self.bytes <= MAX_BYTES {
                self.puts.push((place, value));
            }
            self.lead(place.name());
        }
    }

    /// What happens to a name here depends on the branches that this is in.
    fn lead(&mut self, name: &'a str) {
        for condition in self.branches.clone() {
            let condition = self.value(condition);
            self.bytes += bytes(condition.expression);
            if self.bytes <= MAX_BYTES {
                self.conditions.entry(name).or_default().push(condition);
            }
        }
    }

    /// The return values of the current function; its class counts as returning them too.
    fn give_back(&mut self, value: &'a Expr) {
        let value = self.value(value);
        let Some(name) = self.within.last().copied() else { return };
        self.returned.entry(name).or_default().push(value);
        self.lead(name);
        self.be_part(value);
    }

    /// A value is part of the classes that the walk is in.
    fn be_part(&mut self, value: FlowValue<'a>) {
        for class in &self.classes {
            self.bytes += bytes(value.expression);
            self.returned.entry(class).or_default().push(value);
        }
    }

    fn assign(&mut self, target: &'a Expr, value: &'a Expr) {
        let made = self.value(value);
        match (target, value) {
            (Expr::Name(name), Expr::Lambda(lambda)) => {
                self.linked.insert(std::ptr::from_ref(lambda));
                let returned = self.value(&lambda.body);
                self.returned.entry(&name.id).or_default().push(returned);
                let taken =
                    lambda.parameters.iter().map(|all| ArgumentsTaken::of(all, 0, lambda.range()));
                self.parameters.entry(&name.id).or_default().extend(taken);
            }
            (Expr::Name(name), _) => {
                self.bind(&name.id, made);
                self.lead(&name.id);
                if self.class.is_some() {
                    self.attributes.entry(&name.id).or_default().push(made);
                    self.be_part(made);
                }
            }
            (Expr::Tuple(targets), Expr::Tuple(values)) if targets.len() == values.len() => {
                targets.iter().zip(values).for_each(|(to, value)| self.assign(to, value));
            }
            (Expr::Tuple(targets), _) => targets.iter().for_each(|to| self.assign(to, value)),
            (Expr::List(targets), _) => targets.iter().for_each(|to| self.assign(to, value)),
            (Expr::Starred(target), _) => self.assign(&target.value, value),
            (Expr::Attribute(_), _) => {
                self.put(target, made);
                self.be_part(made);
            }
            // What holds an answer counts as one: `found[0] = f(1)`.
            _ => self.put(target, made),
        }
    }

    /// The target of a loop gets the elements of what it goes over.
    fn assign_each(&mut self, target: &'a Expr, over: &'a Expr) {
        let Expr::Tuple(targets) = target else { return self.assign(target, over) };
        let rows: &[Expr] = match over {
            Expr::List(list) => &list.elts,
            Expr::Tuple(tuple) => &tuple.elts,
            _ => &[],
        };
        let cells = |row: &'a Expr| match row {
            Expr::Tuple(row) if row.len() == targets.len() => Some(&*row.elts),
            _ => None,
        };
        if let Some(rows) = rows.iter().map(cells).collect::<Option<Vec<_>>>()
            && !rows.is_empty()
        {
            for row in rows {
                targets.iter().zip(row).for_each(|(to, value)| self.assign(to, value));
            }
            return;
        }
        match over {
            Expr::Call(call)
                if called_name(&call.func) == Some("zip")
                    && call.arguments.args.len() == targets.len() =>
            {
                let columns = targets.iter().zip(&call.arguments.args);
                columns.for_each(|(to, value)| self.assign_each(to, value));
            }
            _ => self.assign(target, over),
        }
    }
}

/// Whether a method of this name asserts something: `self.assertTrue(…)`.
pub(super) fn is_asserting(method: &str) -> bool {
    method.starts_with("assert") || method.starts_with("fail")
}

/// The name of the function or the method that is called.
pub(super) fn called_name(callee: &Expr) -> Option<&str> {
    match callee {
        Expr::Name(name) => Some(&name.id),
        Expr::Attribute(method) => Some(&method.attr),
        _ => None,
    }
}

/// The length of an expression.
fn bytes(expression: &Expr) -> usize {
    expression.range().len().to_usize()
}

fn is_within(places: &BTreeMap<&str, Vec<TextRange>>, name: &ExprName) -> bool {
    let mut within = places.get(name.id.as_str()).into_iter().flatten();
    within.any(|range| range.contains_range(name.range()))
}
