//! What names and functions of a piece of test code stand for, and what in it decides.
//!
//! Scopes are not told apart: a name stands for everything that it is assigned anywhere.

use std::collections::BTreeMap;

use ruff_python_ast::visitor::{Visitor, walk_comprehension, walk_expr, walk_stmt};
use ruff_python_ast::{Comprehension, Expr, ExprCall, Parameters, Stmt};

/// Expressions whose truth decides, and calls that are statements.
#[derive(Default)]
pub(super) struct Deciders<'a> {
    /// Those of `assert`, and of conditions under which a test raises.
    pub(super) tests: Vec<&'a Expr>,
    /// Other conditions.
    pub(super) conditions: Vec<&'a Expr>,
    pub(super) calls: Vec<&'a Expr>,
    /// There is an `assert` or a `raise`.
    pub(super) any: bool,
}

impl<'a> Deciders<'a> {
    fn condition(&mut self, test: &'a Expr, body: &'a [Stmt]) {
        let raises = body.iter().any(|one| matches!(one, Stmt::Raise(_) | Stmt::Assert(_)));
        if raises { self.tests.push(test) } else { self.conditions.push(test) }
    }
}

impl<'a> Visitor<'a> for Deciders<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::Assert(assert) => {
                self.any = true;
                self.tests.push(&assert.test);
            }
            Stmt::Raise(_) => self.any = true,
            Stmt::If(choice) => {
                let otherwise = choice.elif_else_clauses.iter();
                let all = otherwise.clone().flat_map(|clause| &clause.body).chain(&choice.body);
                let raises = all.into_iter().any(|one| one.is_raise_stmt() || one.is_assert_stmt());
                let tests = if raises { &mut self.tests } else { &mut self.conditions };
                tests.push(&choice.test);
                tests.extend(otherwise.filter_map(|clause| clause.test.as_ref()));
            }
            Stmt::While(again) => self.condition(&again.test, &again.body),
            Stmt::Expr(expression) if expression.value.is_call_expr() => {
                self.calls.push(&expression.value);
            }
            _ => {}
        }
        walk_stmt(self, statement);
    }
}

/// What names stand for.
#[derive(Default)]
pub(super) struct Values<'a> {
    /// What each name is assigned, or takes its elements from.
    pub(super) assigned: BTreeMap<&'a str, Vec<&'a Expr>>,
    /// What each function returns.
    pub(super) returned: BTreeMap<&'a str, Vec<&'a Expr>>,
    /// The parameters of each function.
    pub(super) parameters: BTreeMap<&'a str, Vec<&'a str>>,
    /// Every call.
    pub(super) calls: Vec<&'a ExprCall>,
    /// The functions that the walk is in.
    within: Vec<&'a str>,
}

impl<'a> Values<'a> {
    fn assign(&mut self, target: &'a Expr, value: &'a Expr) {
        match (target, value) {
            (Expr::Name(name), Expr::Lambda(lambda)) => {
                self.returned.entry(&name.id).or_default().push(&lambda.body);
                lambda.parameters.iter().for_each(|all| self.parameters(&name.id, all));
            }
            (Expr::Name(name), _) => self.assigned.entry(&name.id).or_default().push(value),
            (Expr::Tuple(targets), Expr::Tuple(values)) if targets.len() == values.len() => {
                targets.iter().zip(values).for_each(|(to, value)| self.assign(to, value));
            }
            (Expr::Tuple(targets), _) => targets.iter().for_each(|to| self.assign(to, value)),
            (Expr::List(targets), _) => targets.iter().for_each(|to| self.assign(to, value)),
            (Expr::Starred(target), _) => self.assign(&target.value, value),
            // What holds an answer counts as one: `found[0] = f(1)`.
            (Expr::Subscript(target), _) => self.assign(&target.value, value),
            (Expr::Attribute(target), _) => self.assign(&target.value, value),
            _ => {}
        }
    }

    fn parameters(&mut self, function: &'a str, parameters: &'a Parameters) {
        let names = parameters.iter().map(|one| one.name().as_str());
        self.parameters.entry(function).or_default().extend(names);
    }
}

impl<'a> Visitor<'a> for Values<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::Assign(assign) => {
                assign.targets.iter().for_each(|target| self.assign(target, &assign.value));
            }
            Stmt::AnnAssign(assign) => {
                assign.value.iter().for_each(|value| self.assign(&assign.target, value));
            }
            Stmt::AugAssign(assign) => self.assign(&assign.target, &assign.value),
            Stmt::For(each) => self.assign(&each.target, &each.iter),
            Stmt::Return(returned) => {
                if let (Some(name), Some(value)) = (self.within.last(), &returned.value) {
                    self.returned.entry(name).or_default().push(value);
                }
            }
            Stmt::FunctionDef(def) => {
                self.parameters(&def.name, &def.parameters);
                self.within.push(&def.name);
                walk_stmt(self, statement);
                self.within.pop();
                return;
            }
            _ => {}
        }
        walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Named(named) => self.assign(&named.target, &named.value),
            Expr::Call(call) => self.calls.push(call),
            _ => {}
        }
        walk_expr(self, expression);
    }

    fn visit_comprehension(&mut self, each: &'a Comprehension) {
        self.assign(&each.target, &each.iter);
        walk_comprehension(self, each);
    }
}
