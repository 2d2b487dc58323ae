//! Tests in which the program would judge its own answer.
//!
//! `assert is_close(add(2, 3), 5)`, where `is_close` is not defined: it would be the program's, and
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
//! | a side of another comparison of that kind, or only its size or truth is compared | fine | refused |
//! | in the condition of a branch or a loop below which nothing raises | fine | refused |
//! | handed to a function of the program, or shown | fine | fine |
//! | anything else: true or false, matched, a choice, returned to an unknown caller | refused | refused |
//!
//! What is assigned or returned in a branch has the value of its condition as well.
//!
//! Values are followed through names, attributes, collections, and functions and classes of the test and
//! the setup ([`follow`](super::follow)). What cannot be followed counts as an answer
//! ([`answers`](super::answers)). `decode(encode(text), key) == text` is fine: what it compares is the answer. A
//! test in which the program has one function alone has no judge.
//!
//! Methods of the program's objects are not judges: what they are told is the author's choice
//! (`docs/guides/write-tasks.md`). Nor is a comparison of two functions of the program with each other.

mod functions;
mod used;
mod uses;

#[cfg(test)]
mod tests;

use std::cell::OnceCell;
use std::collections::BTreeMap;

use ruff_python_ast::visitor::{Visitor, walk_expr};
use ruff_python_ast::{CmpOp, Expr, ExprCall, ExprCompare};
use ruff_text_size::Ranged;

use self::functions::{candidate, functions};
use self::used::{Judges, UseJudge, Used, hold};
use self::uses::{ExpressionUses, Raising, Use};
use super::answers::{ProgramAnswers, ROUNDS, is_class, is_equality};
use super::follow::{
    Called, FlowValue, FlowValues, Stands, TextOrigin, arguments, called_name, is_asserting,
};
use super::function::ProgramFunction;
use super::names::ScopeNames;
use super::python::is_builtin;
use super::setup::TestSetup;
use super::source::{ParsedSource, SourceError};

/// An error if a function of the program would judge the answer it is given.
pub(super) fn refuse_self_judged(
    source: &ParsedSource,
    names: &ScopeNames,
    setup: &TestSetup,
    entry_point: Option<&str>,
) -> Result<(), SourceError> {
    let statements = source.tree.suite();
    let functions = functions(names, setup, candidate(statements), entry_point);
    let others = functions.values().filter(|one| **one == ProgramFunction::Other).count();
    if others == 0 || others == functions.len() && others == 1 {
        return Ok(());
    }
    let made = ParsedSource::parse(&setup.after)?;
    let helpers = ParsedSource::parse(&setup.checker)?;
    let mut values = FlowValues::default();
    values.read(statements, TextOrigin::Test);
    values.read(helpers.tree.suite(), TextOrigin::Setup);
    values.read(made.tree.suite(), TextOrigin::Beside);
    values.link(&functions)?;
    let answers = ProgramAnswers::find(&values, functions);
    let raising = Raising::of(&[helpers.tree.suite(), statements]);
    let mut search = Search::new(&values, &answers);
    search.follow_names()?;
    search.statements(ExpressionUses::of(helpers.tree.suite(), &raising), TextOrigin::Setup);
    search.statements(ExpressionUses::of(made.tree.suite(), &raising), TextOrigin::Beside);
    search.statements(ExpressionUses::of(statements, &raising), TextOrigin::Test);
    let Some(UseJudge { at, name, origin }) = search.found else { return Ok(()) };
    let line = |text: &str| text.get(..at).unwrap_or_default().matches('\n').count() + 1;
    let name = name.to_owned();
    Err(match origin {
        TextOrigin::Test => SourceError::SelfJudged { line: line(&source.text), name },
        TextOrigin::Setup => SourceError::SelfJudgedInSetup { line: line(&helpers.text), name },
        TextOrigin::Beside => SourceError::SelfJudgedInSetup { line: line(&made.text), name },
    })
}

type Held<'a> = BTreeMap<&'a str, Judges<'a>>;

struct Search<'a> {
    values: &'a FlowValues<'a>,
    answers: &'a ProgramAnswers<'a>,
    names: Held<'a>,
    attributes: Held<'a>,
    returned: Held<'a>,
    /// The number of times that a statement passes each name to a judge.
    handed: OnceCell<BTreeMap<&'a str, usize>>,
    found: Option<UseJudge<'a>>,
}

impl<'a> Search<'a> {
    fn new(values: &'a FlowValues<'a>, answers: &'a ProgramAnswers<'a>) -> Self {
        let (names, attributes, returned) = (Held::new(), Held::new(), Held::new());
        Self { values, answers, names, attributes, returned, handed: OnceCell::new(), found: None }
    }

    /// Finds the names, attributes and functions that stand for values of judges.
    fn follow_names(&mut self) -> Result<(), SourceError> {
        for _ in 0..ROUNDS {
            let names = self.held(&self.values.names);
            let attributes = self.held(&self.values.attributes);
            let returned = self.held(&self.values.returned);
            let is_same =
                names == self.names && attributes == self.attributes && returned == self.returned;
            (self.names, self.attributes, self.returned) = (names, attributes, returned);
            if is_same {
                return Ok(());
            }
        }
        Err(SourceError::Tangled)
    }

    fn held(&mut self, stands: &'a Stands<'a>) -> Held<'a> {
        let mut held = Held::new();
        for (name, values) in stands {
            let mut holds = Judges::default();
            let conditions = self.values.conditions.get(name).into_iter().flatten();
            for FlowValue { expression, origin } in values.iter().chain(conditions) {
                for used in self.looked_at(expression, Use::Kept, *origin) {
                    let place = if used.more { &mut holds.more } else { &mut holds.answers_alone };
                    place.get_or_insert(used.judge);
                }
            }
            if holds != Judges::default() {
                held.insert(name, holds);
            }
        }
        held
    }

    /// Looks at everything in a text that uses a value.
    fn statements(&mut self, uses: Vec<(&'a Expr, Use)>, origin: TextOrigin) {
        for (expression, by) in uses {
            self.looked_at(expression, by, origin);
        }
        for Called { call, .. } in self.values.dropped().filter(|one| one.origin == origin) {
            self.statement(call, origin);
        }
    }

    /// A call that is a statement: a judge can still raise.
    fn statement(&mut self, call: &'a ExprCall, origin: TextOrigin) {
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
        let is_answer = |one: &&Expr| self.answers.holds(one).answer;
        let mut told = arguments(call).filter(is_answer).peekable();
        if told.peek().is_some() && !told.any(|one| self.is_looked_at(one)) {
            self.found.get_or_insert(judge);
        }
    }

    /// Whether an answer that a judge is given is read in other places than such statements.
    fn is_looked_at(&self, argument: &Expr) -> bool {
        let Expr::Name(name) = argument else { return argument.is_attribute_expr() };
        let count = |counts: &BTreeMap<&str, usize>| counts.get(name.id.as_str()).copied();
        let handed = count(self.handed.get_or_init(|| self.handed())).unwrap_or_default();
        let reads = self.values.reads(&name.id);
        let against_none = count(&self.values.against_none).unwrap_or_default();
        self.answers.holds(argument).answer && reads > handed + against_none
    }

    /// The number of times that a statement passes each name to a judge.
    fn handed(&self) -> BTreeMap<&'a str, usize> {
        let mut handed = BTreeMap::new();
        for one in self.values.dropped().filter(|one| self.judge(one.call, one.origin).is_some()) {
            for name in one.call.arguments.args.iter().filter_map(Expr::as_name_expr) {
                *handed.entry(name.id.as_str()).or_default() += 1;
            }
        }
        handed
    }

    /// The judges of an expression whose value is used like this, and is not used up within it.
    fn looked_at(&mut self, expression: &'a Expr, by: Use, origin: TextOrigin) -> Vec<Used<'a>> {
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

    fn expression(
        &self,
        expression: &'a Expr,
        by: Use,
        origin: TextOrigin,
        used: &mut Vec<Used<'a>>,
    ) {
        match expression {
            Expr::Call(call) => self.call(call, by, origin, used),
            Expr::Compare(compare) => self.compared(compare, by, origin, used),
            Expr::Name(name) => {
                hold(self.names.get(name.id.as_str()), by, used);
                hold(self.returned.get(name.id.as_str()), by, used);
            }
            Expr::Attribute(attribute) => {
                hold(self.attributes.get(attribute.attr.as_str()), by, used);
                hold(self.returned.get(attribute.attr.as_str()), by, used);
                self.object(&attribute.value, by, origin, used);
            }
            Expr::If(choice) => {
                self.expression(&choice.test, Use::Decides, origin, used);
                self.expression(&choice.body, by, origin, used);
                self.expression(&choice.orelse, by, origin, used);
            }
            Expr::BoolOp(each) => {
                let all = each.values.iter();
                all.for_each(|one| self.expression(one, by.of_part(), origin, used));
            }
            other => JudgedParts::of(other)
                .into_iter()
                .for_each(|part| self.expression(part, by, origin, used)),
        }
    }

    /// What an object has is not the object (`tree.root`), unless a class made it of answers to say
    /// something about them: `Report(solve(3)).ok`.
    fn object(&self, object: &'a Expr, by: Use, origin: TextOrigin, used: &mut Vec<Used<'a>>) {
        let mut of_object = Vec::new();
        self.expression(object, by, origin, &mut of_object);
        if object.is_name_expr() {
            of_object.retain(|one| is_class(one.judge.name));
        }
        used.append(&mut of_object);
    }

    /// Where values are compared with an answer that is right, the comparison decides.
    fn compared(
        &self,
        compare: &'a ExprCompare,
        by: Use,
        origin: TextOrigin,
        used: &mut Vec<Used<'a>>,
    ) {
        let sides = || std::iter::once(compare.left.as_ref()).chain(&compare.comparators);
        let is_not = compare.ops.iter().all(|op| matches!(op, CmpOp::IsNot | CmpOp::NotEq));
        let equal = compare.ops.iter().all(|op| matches!(op, CmpOp::Eq | CmpOp::NotEq));
        let by = if sides().any(|side| self.is_right(side)) {
            if equal { Use::Free } else { Use::Ordered }
        } else if sides().any(Expr::is_none_literal_expr) {
            // `assert root is not None` says that something was made, not that it is right; `assert error is None`
            // and `if error is not None: raise` may say that.
            match by {
                Use::Asserted if is_not => Use::Leads,
                Use::Asserted | Use::Raises | Use::Kept => by,
                _ => Use::Leads,
            }
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

    fn call(&self, call: &'a ExprCall, by: Use, origin: TextOrigin, used: &mut Vec<Used<'a>>) {
        if let Some((judge, more)) = self.judge(call, origin) {
            let is_chosen = (0..arguments(call).count()).any(|at| chooses(call, at));
            let by = if is_chosen { Use::Decides } else { by };
            used.push(Used { judge, more, named: false, by });
            return;
        }
        self.callee(&call.func, by, origin, used);
        if self.answers.function(&call.func).is_some() {
            return;
        }
        let name = called_name(&call.func).unwrap_or_default();
        let by = match name {
            // Its parameters have been followed.
            _ if self.values.defines(name) => Use::Free,
            "isinstance" | "callable" | "type" | "print" => Use::Free,
            "all" | "any" | "bool" | "len" | "max" | "min" | "sum" => by.of_part(),
            _ if is_equality(call) && arguments(call).any(|one| self.is_right(one)) => Use::Free,
            _ if call.func.is_attribute_expr() && is_asserting(name) => Use::Decides,
            _ => by,
        };
        for (at, argument) in arguments(call).enumerate() {
            let by = if chooses(call, at) { Use::Decides } else { by };
            self.expression(argument, by, origin, used);
        }
    }

    /// The value of a callee that is not the program's.
    fn callee(&self, callee: &'a Expr, by: Use, origin: TextOrigin, used: &mut Vec<Used<'a>>) {
        match callee {
            // A method of an answer is asked for what it is (`decode(…).startswith("a")`), one of a
            // collection for what is in it.
            Expr::Attribute(method) => {
                hold(self.attributes.get(method.attr.as_str()), by, used);
                hold(self.returned.get(method.attr.as_str()), by, used);
                let is_answer = match method.value.as_ref() {
                    Expr::Call(call) => self.answers.is_programs(&call.func),
                    other => {
                        other.is_name_expr()
                            || other.is_attribute_expr()
                            || other.is_subscript_expr()
                    }
                };
                if !is_answer || method.attr.starts_with("__") {
                    self.expression(&method.value, by, origin, used);
                }
            }
            other => self.expression(other, by, origin, used),
        }
    }

    /// The judge that a call is, and whether it is told more than answers.
    fn judge(&self, call: &'a ExprCall, origin: TextOrigin) -> Option<(UseJudge<'a>, bool)> {
        let is_defined = called_name(&call.func).is_some_and(|name| self.values.defines(name));
        let (known, applied) = match self.answers.function(&call.func) {
            Some(known) => (known, None),
            None if is_defined => return None,
            None => self.answers.applied(call).map(|(at, known)| (known, Some(at)))?,
        };
        let is_told = |at: usize| known.function == ProgramFunction::Bound || applied != Some(at);
        let mut told = arguments(call).enumerate().filter(|(at, _)| is_told(*at));
        if known.function == ProgramFunction::EntryPoint
            || !told.any(|(_, one)| self.answers.has_answer(one))
        {
            return None;
        }
        let judge = UseJudge { at: call.start().to_usize(), name: known.name, origin };
        let more = applied.is_some()
            || arguments(call).count() > 1
            || known.function == ProgramFunction::Bound;
        Some((judge, more))
    }
}

/// Whether an argument of a call of Python's own decides what becomes of the others: `max(xs, key=f)`.
fn chooses(call: &ExprCall, at: usize) -> bool {
    let keyword = at.checked_sub(call.arguments.args.len());
    let keyword = keyword.and_then(|at| call.arguments.keywords.get(at)?.arg.as_ref());
    let name = called_name(&call.func);
    keyword.is_some_and(|name| name.as_str() == "key")
        || at == 0 && matches!(name, Some("filter" | "filterfalse" | "takewhile" | "dropwhile"))
}

/// The expressions that another is made of.
#[derive(Default)]
struct JudgedParts<'a>(Vec<&'a Expr>);

impl<'a> JudgedParts<'a> {
    fn of(expression: &'a Expr) -> Vec<&'a Expr> {
        let mut parts = Self::default();
        walk_expr(&mut parts, expression);
        parts.0
    }
}

impl<'a> Visitor<'a> for JudgedParts<'a> {
    fn visit_expr(&mut self, expression: &'a Expr) {
        self.0.push(expression);
    }
}
