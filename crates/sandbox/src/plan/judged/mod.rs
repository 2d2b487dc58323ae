//! Tests in which the program would judge its own answer.
//!
//! `assert is_close(add(2, 3), 5)`, where nobody defines `is_close`: it would be the program's, and
//! be asked in the program's process, with the expected value as an argument. Such a test is broken,
//! whatever the program does. The same goes for `np.allclose(add(2, 3), 5)` without an import of `np`,
//! and for `is_valid(solve(3))`.
//!
//! A *judge* is a call of a function of the program, other than the one that is asked for, with an answer
//! of the program among its arguments. What becomes of its value must be known to be harmless:
//!
//! | its value is | a judge of answers alone | a judge that is told more |
//! |---|---|---|
//! | a side of `==` or `!=`, where another side is not the program's | fine | fine |
//! | a side of another comparison of that kind | fine | refused |
//! | in the condition of a branch or a loop that raises nothing | fine | refused |
//! | handed to a function of the program, or shown | fine | fine |
//! | anything else: true or false, matched, returned to somebody who is not known | refused | refused |
//!
//! Values are followed through names, attributes, collections, and functions and classes of the test and
//! the setup ([`follow`](super::follow), [`answers`](super::answers)). `decode(encode(text), key) == text`
//! is fine: what it compares is the answer. A test in which the program has one function alone has no
//! judge.
//!
//! Methods of the program's objects are no judges: what they are told is the author's choice
//! (`docs/guides/write-tasks.md`).

mod functions;
mod uses;

#[cfg(test)]
mod tests;

use std::cell::OnceCell;
use std::collections::BTreeMap;

use ruff_python_ast::{CmpOp, Expr, ExprCall, ExprCompare, Stmt};
use ruff_text_size::Ranged;

use self::functions::{candidate, functions};
use self::uses::{Use, Uses};
use super::answers::{Answers, Function, ROUNDS};
use super::follow::{Called, Origin, Value, Values, called_name, is_asserting};
use super::names::Names;
use super::python::is_builtin;
use super::question::first;
use super::setup::Setup;
use super::source::{Source, SourceError};

/// An error if a function of the program would judge the answer it is given.
pub(super) fn refuse_self_judged(
    source: &Source,
    names: &Names,
    setup: &Setup,
    entry_point: Option<&str>,
) -> Result<(), SourceError> {
    let statements = source.tree.suite();
    let functions = functions(names, setup, candidate(statements), entry_point);
    let others = functions.values().filter(|one| **one == Function::Other).count();
    if others == 0 || others == functions.len() && others == 1 {
        return Ok(());
    }
    let made = Source::parse(&setup.after)?;
    let helpers = Source::parse(&setup.checker)?;
    let mut values = Values::default();
    values.read(statements, Origin::Test);
    values.read(helpers.tree.suite(), Origin::Setup);
    values.read(made.tree.suite(), Origin::Beside);
    values.link()?;
    let answers = Answers::find(&values, functions);
    let mut search = Search::new(&values, &answers);
    search.follow_names();
    search.statements(helpers.tree.suite(), Origin::Setup);
    search.statements(made.tree.suite(), Origin::Beside);
    search.statements(statements, Origin::Test);
    let Some(Judge { at, name, origin }) = search.found else { return Ok(()) };
    let line = |text: &str| text.get(..at).unwrap_or_default().matches('\n').count() + 1;
    let name = name.to_owned();
    Err(match origin {
        Origin::Test => SourceError::SelfJudged { line: line(&source.text), name },
        Origin::Setup => SourceError::SelfJudgedInSetup { line: line(&helpers.text), name },
        Origin::Beside => SourceError::SelfJudgedInSetup { line: line(&made.text), name },
    })
}

/// Where a judge is called, and by what name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Judge<'a> {
    at: usize,
    name: &'a str,
    origin: Origin,
}

/// A judge whose value is used.
#[derive(Clone, Copy)]
struct Used<'a> {
    judge: Judge<'a>,
    /// It is told more than answers.
    more: bool,
    /// Its value has a name in between.
    named: bool,
    by: Use,
}

impl Used<'_> {
    fn is_refused(&self) -> bool {
        match self.by {
            Use::Decides => true,
            Use::Ordered => self.more,
            Use::Leads => self.more && !self.named,
            Use::Kept | Use::Free => false,
        }
    }
}

/// Judges whose values a name may stand for: the first of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Holds<'a> {
    answers_alone: Option<Judge<'a>>,
    more: Option<Judge<'a>>,
}

type Held<'a> = BTreeMap<&'a str, Holds<'a>>;

struct Search<'a> {
    values: &'a Values<'a>,
    answers: &'a Answers<'a>,
    names: Held<'a>,
    attributes: Held<'a>,
    returned: Held<'a>,
    /// How often each name is handed to a judge by a statement.
    handed: OnceCell<BTreeMap<&'a str, usize>>,
    found: Option<Judge<'a>>,
}

impl<'a> Search<'a> {
    fn new(values: &'a Values<'a>, answers: &'a Answers<'a>) -> Self {
        let (names, attributes, returned) = (Held::new(), Held::new(), Held::new());
        Self { values, answers, names, attributes, returned, handed: OnceCell::new(), found: None }
    }

    /// Finds the names, attributes and functions that stand for values of judges.
    fn follow_names(&mut self) {
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
    }

    fn held(&mut self, stands: &'a BTreeMap<&'a str, Vec<Value<'a>>>) -> Held<'a> {
        let mut held = Held::new();
        for (name, values) in stands {
            let mut holds = Holds::default();
            for Value { expression, origin } in values {
                for used in self.looked_at(expression, Use::Kept, *origin) {
                    let place = if used.more { &mut holds.more } else { &mut holds.answers_alone };
                    place.get_or_insert(used.judge);
                }
            }
            if holds != Holds::default() {
                held.insert(name, holds);
            }
        }
        held
    }

    /// Looks at everything in statements that uses a value.
    fn statements(&mut self, statements: &'a [Stmt], origin: Origin) {
        for (expression, by) in Uses::of(statements) {
            self.looked_at(expression, by, origin);
        }
        for Called { call, .. } in self.values.statements.iter().filter(|one| one.origin == origin)
        {
            self.statement(call, origin);
        }
    }

    /// A call that is a statement: a judge can still raise.
    fn statement(&mut self, call: &'a ExprCall, origin: Origin) {
        let Some((judge, _)) = self.judge(call, origin) else {
            let is_local = match call.func.as_ref() {
                Expr::Name(name) => is_builtin(&name.id) || self.values.defines(&name.id),
                Expr::Attribute(method) => !is_asserting(&method.attr),
                _ => false,
            };
            let by = if is_local { Use::Free } else { Use::Decides };
            let mut used = Vec::new();
            self.call(call, by, origin, &mut used);
            self.refuse(&used);
            return;
        };
        // It may change an answer that the test looks at afterwards: `insert(tree, 5)`.
        let arguments = &call.arguments;
        let all = arguments.args.iter().chain(arguments.keywords.iter().map(|one| &one.value));
        let mut told = all.filter(|one| self.answers.has_returned(one)).peekable();
        if told.peek().is_some() && !told.any(|one| self.is_looked_at(one)) {
            self.found.get_or_insert(judge);
        }
    }

    /// Whether an answer that a judge is given is read in other places than such statements.
    fn is_looked_at(&self, argument: &Expr) -> bool {
        let Expr::Name(name) = argument else { return argument.is_attribute_expr() };
        let count = |counts: &BTreeMap<&str, usize>| counts.get(name.id.as_str()).copied();
        let handed = count(self.handed.get_or_init(|| self.handed())).unwrap_or_default();
        let reads = count(&self.values.reads).unwrap_or_default();
        let against_none = count(&self.values.against_none).unwrap_or_default();
        self.answers.is_answer(&name.id) && reads > handed + against_none
    }

    /// How often each name is handed to a judge by a statement.
    fn handed(&self) -> BTreeMap<&'a str, usize> {
        let mut handed = BTreeMap::new();
        let statements = self.values.statements.iter();
        for one in statements.filter(|one| self.judge(one.call, one.origin).is_some()) {
            for name in one.call.arguments.args.iter().filter_map(Expr::as_name_expr) {
                *handed.entry(name.id.as_str()).or_default() += 1;
            }
        }
        handed
    }

    /// The judges of an expression whose value is used like this, and is not used up within it.
    fn looked_at(&mut self, expression: &'a Expr, by: Use, origin: Origin) -> Vec<Used<'a>> {
        let mut used = Vec::new();
        self.expression(expression, by, origin, &mut used);
        self.refuse(&used);
        used.retain(|one| one.by == Use::Kept);
        used
    }

    fn refuse(&mut self, used: &[Used<'a>]) {
        if let Some(refused) = used.iter().find(|one| one.is_refused()) {
            self.found.get_or_insert(refused.judge);
        }
    }

    fn expression(&self, expression: &'a Expr, by: Use, origin: Origin, used: &mut Vec<Used<'a>>) {
        let all = |these: &'a [Expr], used: &mut Vec<Used<'a>>| {
            for one in these {
                self.expression(one, by, origin, used);
            }
        };
        match expression {
            Expr::Call(call) => self.call(call, by, origin, used),
            Expr::Compare(compare) => self.compared(compare, by, origin, used),
            Expr::Name(name) => hold(self.names.get(name.id.as_str()), by, used),
            Expr::Attribute(attribute) => {
                hold(self.attributes.get(attribute.attr.as_str()), by, used);
                // What an object has is not the object: `tree.root`.
                if !attribute.value.is_name_expr() {
                    self.expression(&attribute.value, by, origin, used);
                }
            }
            Expr::UnaryOp(one) => self.expression(&one.operand, by, origin, used),
            Expr::BoolOp(each) => all(&each.values, used),
            Expr::BinOp(two) => {
                self.expression(&two.left, by, origin, used);
                self.expression(&two.right, by, origin, used);
            }
            Expr::If(choice) => {
                self.expression(&choice.test, Use::Decides, origin, used);
                self.expression(&choice.body, by, origin, used);
                self.expression(&choice.orelse, by, origin, used);
            }
            Expr::Named(named) => self.expression(&named.value, by, origin, used),
            Expr::Lambda(lambda) => self.expression(&lambda.body, by, origin, used),
            Expr::Starred(starred) => self.expression(&starred.value, by, origin, used),
            Expr::Await(awaited) => self.expression(&awaited.value, by, origin, used),
            Expr::Subscript(subscript) => {
                self.expression(&subscript.value, by, origin, used);
                self.expression(&subscript.slice, by, origin, used);
            }
            Expr::List(list) => all(&list.elts, used),
            Expr::Tuple(tuple) => all(&tuple.elts, used),
            Expr::Set(set) => all(&set.elts, used),
            Expr::Dict(dict) => {
                dict.iter_values().for_each(|one| self.expression(one, by, origin, used));
            }
            Expr::Generator(each) => self.expression(&each.elt, by, origin, used),
            Expr::ListComp(each) => self.expression(&each.elt, by, origin, used),
            Expr::SetComp(each) => self.expression(&each.elt, by, origin, used),
            Expr::DictComp(each) => self.expression(&each.value, by, origin, used),
            _ => {}
        }
    }

    /// Where values are compared with an answer that is right, the comparison decides.
    fn compared(
        &self,
        compare: &'a ExprCompare,
        by: Use,
        origin: Origin,
        used: &mut Vec<Used<'a>>,
    ) {
        let sides = || std::iter::once(compare.left.as_ref()).chain(&compare.comparators);
        let equal = compare.ops.iter().all(|op| matches!(op, CmpOp::Eq | CmpOp::NotEq));
        let by = if sides().any(|side| self.is_right(side)) {
            if equal { Use::Free } else { Use::Ordered }
        } else if sides().any(Expr::is_none_literal_expr) {
            // `assert root is not None` says that something was made, not that it is right.
            Use::Leads
        } else {
            by
        };
        sides().for_each(|side| self.expression(side, by, origin, used));
    }

    /// Whether this is something to compare an answer with: not the program's, and no yes or no.
    fn is_right(&self, expression: &Expr) -> bool {
        !matches!(expression, Expr::BooleanLiteral(_) | Expr::NoneLiteral(_))
            && !self.answers.has_answer(expression)
    }

    fn call(&self, call: &'a ExprCall, by: Use, origin: Origin, used: &mut Vec<Used<'a>>) {
        if let Some((judge, more)) = self.judge(call, origin) {
            used.push(Used { judge, more, named: false, by });
            return;
        }
        if self.answers.function(&call.func).is_some() {
            return;
        }
        let arguments = &call.arguments;
        let all = || arguments.args.iter().chain(arguments.keywords.iter().map(|one| &one.value));
        let name = called_name(&call.func).unwrap_or_default();
        let by = match name {
            _ if self.values.defines(name) => {
                // Its parameters have been followed.
                hold(self.returned.get(name), by, used);
                Use::Free
            }
            "isinstance" | "callable" | "type" | "print" => Use::Free,
            _ if is_equality(call) && all().any(|one| self.is_right(one)) => Use::Free,
            _ if call.func.is_attribute_expr() && is_asserting(name) => Use::Decides,
            _ => by,
        };
        all().for_each(|one| self.expression(one, by, origin, used));
    }

    /// The judge that a call is, and whether it is told more than answers.
    fn judge(&self, call: &'a ExprCall, origin: Origin) -> Option<(Judge<'a>, bool)> {
        let arguments = &call.arguments;
        let all = || arguments.args.iter().chain(arguments.keywords.iter().map(|one| &one.value));
        let is_defined = called_name(&call.func).is_some_and(|name| self.values.defines(name));
        let (known, is_applied) = match self.answers.function(&call.func) {
            Some(known) => (known, false),
            None if is_defined => return None,
            None => (self.answers.applied(call)?, true),
        };
        if known.function == Function::EntryPoint || !all().any(|one| self.answers.has_answer(one))
        {
            return None;
        }
        let judge = Judge { at: call.start().to_usize(), name: known.name, origin };
        let more = is_applied || all().count() > 1 || known.function == Function::Bound;
        Some((judge, more))
    }
}

/// The judges whose values something stands for.
fn hold<'a>(holds: Option<&Holds<'a>>, by: Use, used: &mut Vec<Used<'a>>) {
    let Some(holds) = holds else { return };
    let alone = holds.answers_alone.map(|judge| Used { judge, more: false, named: true, by });
    let more = holds.more.map(|judge| Used { judge, more: true, named: true, by });
    used.extend(alone.into_iter().chain(more));
}

/// Whether a call of Python's own compares its arguments.
fn is_equality(call: &ExprCall) -> bool {
    let Expr::Attribute(method) = call.func.as_ref() else { return false };
    let name = method.attr.as_str();
    let is_unittest = name.starts_with("assert") && name.contains("Equal");
    is_unittest || matches!(first(&call.func), Some("math" | "cmath")) && name == "isclose"
}
