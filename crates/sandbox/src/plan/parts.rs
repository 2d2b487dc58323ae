//! The process that runs each statement of a setup.
//!
//! | part | runs in | when |
//! |---|---|---|
//! | before | the program's process and the checker | once before the program; before each test |
//! | after | the program's process | once, after the program |
//! | checker | the checker | before each test, in its place among the first |
//!
//! A setup that is split must do what it does as a whole. So a statement stays in the second part only where
//! the order of the parts and the repetition of the third change nothing:
//!
//! - what it uses is not made anew or changed by a later statement of the first part;
//! - what it makes or changes is not used by a statement of the third part that runs by itself, rather than
//!   when a test calls it: `t = Tree()` with `for x in xs: t.add(x)` is made in the checker as a whole.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{Expr, ExprCall, Stmt};

use super::comparing::is_told;
use super::given::ProgramNames;
use super::names::ScopeNames;
use super::python::is_builtin;

/// The process that runs a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatementRunner {
    /// Both, before the program.
    Before,
    /// The program's process, after it.
    After,
    /// The checker.
    Checker,
}

/// The process that runs each statement; `bound` are the names that the setup defines.
pub(super) fn parts(
    statements: &[Stmt],
    names: &[ScopeNames],
    bound: &BTreeSet<String>,
) -> Vec<StatementRunner> {
    let of_program = |name: &str| !is_builtin(name) && !bound.contains(name);
    let split = StatementUses::new(statements, names);
    let needs = (0..names.len()).filter(|at| names[*at].free().any(of_program));
    let late = split.late(needs.collect());
    let of_late: BTreeSet<&str> = late.iter().flat_map(|at| &split.touched[*at]).copied().collect();
    let is_of_program = |name: &str| of_program(name) || of_late.contains(name);
    let is_checkers = |at: &usize| {
        !hands_over(&statements[*at], &is_of_program) || split.is_overtaken(*at, &late)
    };
    let checked = split.checked(late.iter().copied().filter(is_checkers).collect(), &late);
    let part = |at| match (checked.contains(&at), late.contains(&at)) {
        (true, _) => StatementRunner::Checker,
        (false, true) => StatementRunner::After,
        (false, false) => StatementRunner::Before,
    };
    (0..statements.len()).map(part).collect()
}

/// The names that statements share.
struct StatementUses<'a> {
    statements: &'a [Stmt],
    names: &'a [ScopeNames],
    /// The names that each makes, or whose objects it may change.
    touched: Vec<BTreeSet<&'a str>>,
    /// The statements that use a name, and those that touch it.
    using: BTreeMap<&'a str, Vec<usize>>,
    touching: BTreeMap<&'a str, Vec<usize>>,
}

impl<'a> StatementUses<'a> {
    fn new(statements: &'a [Stmt], names: &'a [ScopeNames]) -> Self {
        let helpers = Helpers::of(statements, names);
        let touched: Vec<BTreeSet<&str>> = statements
            .iter()
            .zip(names)
            .map(|(statement, names)| touched(statement, names, &helpers))
            .collect();
        let (mut using, mut touching) = (BTreeMap::new(), BTreeMap::new());
        for (at, touched) in touched.iter().enumerate() {
            for name in names[at].free().chain(touched.iter().copied()) {
                using.entry(name).or_insert_with(Vec::new).push(at);
            }
            for name in touched {
                touching.entry(*name).or_insert_with(Vec::new).push(at);
            }
        }
        Self { statements, names, touched, using, touching }
    }

    /// These statements, and all that use what one of them touches.
    fn late(&self, mut waiting: Vec<usize>) -> BTreeSet<usize> {
        let (mut late, mut seen) = (BTreeSet::new(), BTreeSet::new());
        while let Some(at) = waiting.pop() {
            if !late.insert(at) {
                continue;
            }
            for name in &self.touched[at] {
                if seen.insert(*name) {
                    waiting.extend(self.using.get(name).into_iter().flatten());
                }
            }
        }
        late
    }

    /// Whether a later statement, which would run before this one, touches what it uses.
    fn is_overtaken(&self, at: usize, late: &BTreeSet<usize>) -> bool {
        let overtakes = |other: &usize| {
            *other > at && !late.contains(other) && !is_definition(&self.statements[*other])
        };
        self.names[at].free().any(|name| {
            self.touching.get(name).is_some_and(|touching| touching.iter().any(overtakes))
        })
    }

    /// Of the late statements these, all that use what one of them touches, and all that touch what one of
    /// them uses when it runs.
    fn checked(&self, mut waiting: Vec<usize>, late: &BTreeSet<usize>) -> BTreeSet<usize> {
        let (mut checked, mut touched) = (BTreeSet::new(), BTreeSet::new());
        let mut reached: BTreeSet<&str> = BTreeSet::new();
        while let Some(at) = waiting.pop() {
            if !late.contains(&at) || !checked.insert(at) {
                continue;
            }
            for name in &self.touched[at] {
                if touched.insert(*name) {
                    waiting.extend(self.using.get(name).into_iter().flatten());
                }
            }
            if is_definition(&self.statements[at]) {
                continue;
            }
            let mut used: Vec<&str> = self.names[at].free().collect();
            while let Some(name) = used.pop() {
                if !reached.insert(name) {
                    continue;
                }
                for other in self.touching.get(name).into_iter().flatten() {
                    // What a function that it calls uses, it uses.
                    if is_definition(&self.statements[*other]) {
                        used.extend(self.names[*other].free());
                    } else {
                        waiting.push(*other);
                    }
                }
            }
        }
        checked
    }
}

/// Whether a statement defines something, and runs when that is called.
fn is_definition(statement: &Stmt) -> bool {
    match statement {
        Stmt::FunctionDef(_) | Stmt::ClassDef(_) | Stmt::Import(_) | Stmt::ImportFrom(_) => true,
        Stmt::Assign(assign) => assign.value.is_lambda_expr(),
        _ => false,
    }
}

/// The effects of calling the functions of a setup.
#[derive(Default)]
struct Helpers<'a> {
    /// The names that may be changed: those that a setup makes, but for modules, functions and classes.
    variables: BTreeSet<&'a str>,
    /// The variables that each function touches, and the other functions that it names.
    touched: BTreeMap<&'a str, BTreeSet<&'a str>>,
    named: BTreeMap<&'a str, BTreeSet<&'a str>>,
}

impl<'a> Helpers<'a> {
    fn of(statements: &'a [Stmt], names: &'a [ScopeNames]) -> Self {
        let mut helpers = Self::default();
        let all = || statements.iter().zip(names);
        let bound = |names: &'a ScopeNames| names.bound.iter().map(String::as_str);
        helpers.variables =
            all().filter(|one| !is_definition(one.0)).flat_map(|one| bound(one.1)).collect();
        for (statement, names) in all().filter(|one| is_definition(one.0)) {
            let free: BTreeSet<&str> = names.free().collect();
            let mut touches = Touches { helpers: &helpers, found: BTreeSet::new() };
            touches.body_of(statement);
            let touched: Vec<&str> = touches.found.intersection(&free).copied().collect();
            for name in bound(names) {
                helpers.touched.entry(name).or_default().extend(&touched);
                helpers.named.entry(name).or_default().extend(&free);
            }
        }
        helpers
    }

    /// Adds the variables that a call of this function may touch.
    fn reached(&self, name: &'a str, found: &mut BTreeSet<&'a str>) {
        let (mut waiting, mut seen) = (vec![name], BTreeSet::from([name]));
        while let Some(name) = waiting.pop() {
            found.extend(self.touched.get(name).into_iter().flatten());
            let named = self.named.get(name).into_iter().flatten();
            waiting.extend(named.copied().filter(|other| seen.insert(other)));
        }
    }
}

/// The names that a statement makes, or whose objects it may change: `a` of `a.b = 1`, of `a[0] = 1`,
/// of `a.add(1)`, of `order(a)` and of `for b in a: …`.
fn touched<'a>(
    statement: &'a Stmt,
    names: &'a ScopeNames,
    helpers: &Helpers<'a>,
) -> BTreeSet<&'a str> {
    let mut touches = Touches { helpers, found: BTreeSet::new() };
    touches.visit_stmt(statement);
    touches.found.extend(names.bound.iter().map(String::as_str));
    touches.found
}

/// The names that a statement may change when it runs.
struct Touches<'a, 'h> {
    helpers: &'h Helpers<'a>,
    found: BTreeSet<&'a str>,
}

impl<'a> Touches<'a, '_> {
    /// The functions that a call runs.
    fn body_of(&mut self, definition: &'a Stmt) {
        match definition {
            Stmt::FunctionDef(def) => self.visit_body(&def.body),
            Stmt::ClassDef(def) => def.body.iter().for_each(|one| self.body_of(one)),
            Stmt::Assign(assign) => {
                if let Expr::Lambda(lambda) = assign.value.as_ref() {
                    self.visit_expr(&lambda.body);
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, name: &'a str) {
        if self.helpers.variables.contains(name) {
            self.found.insert(name);
        }
    }

    /// The object with which an expression begins.
    fn object_of(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Name(name) => self.add(&name.id),
            Expr::Attribute(attribute) => self.object_of(&attribute.value),
            Expr::Subscript(subscript) => self.object_of(&subscript.value),
            Expr::Call(call) if call.func.is_attribute_expr() => self.object_of(&call.func),
            Expr::Tuple(tuple) => tuple.elts.iter().for_each(|one| self.object_of(one)),
            Expr::List(list) => list.elts.iter().for_each(|one| self.object_of(one)),
            Expr::Starred(starred) => self.object_of(&starred.value),
            _ => {}
        }
    }

    /// A function that is called as a statement is there for what it changes.
    fn called_for_change(&mut self, call: &'a ExprCall) {
        const HARMLESS: [&str; 3] = ["len", "print", "repr"];
        if call.func.as_name_expr().is_some_and(|name| HARMLESS.contains(&name.id.as_str())) {
            return;
        }
        let named = call.arguments.keywords.iter().map(|keyword| &keyword.value);
        call.arguments.args.iter().chain(named).for_each(|one| self.object_of(one));
    }
}

impl<'a> Visitor<'a> for Touches<'a, '_> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(_) => return,
            Stmt::Assign(assign) => {
                assign.targets.iter().for_each(|target| self.object_of(target));
            }
            Stmt::AugAssign(assign) => self.object_of(&assign.target),
            Stmt::AnnAssign(assign) => self.object_of(&assign.target),
            Stmt::Delete(delete) => delete.targets.iter().for_each(|one| self.object_of(one)),
            Stmt::For(each) => self.object_of(&each.iter),
            Stmt::With(with) => {
                with.items.iter().for_each(|item| self.object_of(&item.context_expr));
            }
            Stmt::Expr(expression) => {
                if let Expr::Call(call) = expression.value.as_ref() {
                    self.called_for_change(call);
                }
            }
            _ => {}
        }
        walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        if let Expr::Call(call) = expression {
            match call.func.as_ref() {
                Expr::Name(name) if matches!(name.id.as_str(), "next" | "setattr" | "delattr") => {
                    self.called_for_change(call);
                }
                Expr::Name(name) => self.helpers.reached(&name.id, &mut self.found),
                callee => self.object_of(callee),
            }
        }
        walk_expr(self, expression);
    }
}

/// Whether a statement does nothing but give values to the program and keep what it returns.
fn hands_over(statement: &Stmt, is_of_program: &dyn Fn(&str) -> bool) -> bool {
    let given = ProgramNames::new(is_of_program);
    let is_made = |value: &Expr| is_made(value, is_of_program);
    match statement {
        Stmt::Assign(assign) => assign.targets.iter().all(|target| match target {
            Expr::Name(_) => is_made(&assign.value),
            Expr::Attribute(_) => {
                root(target).is_some_and(is_of_program)
                    && given.value(target)
                    && (is_made(&assign.value) || given.value(&assign.value))
            }
            _ => false,
        }),
        Stmt::Expr(expression) => expression.value.is_call_expr() && is_made(&expression.value),
        _ => false,
    }
}

/// Whether a value is the program's own, made of what it may be given: by a call of it, or several of those.
fn is_made(expression: &Expr, is_of_program: &dyn Fn(&str) -> bool) -> bool {
    let given = ProgramNames::new(is_of_program);
    let is_programs = |one: &Expr| root(one).is_some_and(is_of_program) && given.value(one);
    match expression {
        Expr::Call(call) => {
            let is_called = match call.func.as_ref() {
                Expr::Name(name) => is_of_program(&name.id),
                Expr::Attribute(method) => {
                    is_programs(&method.value)
                        && !root(&method.value).is_none_or(|name| is_told(name, &method.attr))
                }
                callee @ Expr::Call(_) => is_made(callee, is_of_program),
                callee => is_programs(callee),
            };
            is_called && given.arguments(&call.arguments)
        }
        Expr::Name(_) | Expr::Attribute(_) => is_programs(expression),
        Expr::List(list) => list.elts.iter().all(|one| is_made(one, is_of_program)),
        Expr::Tuple(tuple) => tuple.elts.iter().all(|one| is_made(one, is_of_program)),
        _ => false,
    }
}

/// The name with which an expression begins.
fn root(expression: &Expr) -> Option<&str> {
    match expression {
        Expr::Name(name) => Some(&name.id),
        Expr::Attribute(attribute) => root(&attribute.value),
        Expr::Subscript(subscript) => root(&subscript.value),
        Expr::Call(call) => root(&call.func),
        _ => None,
    }
}
