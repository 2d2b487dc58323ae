//! What names, attributes and functions of a piece of test code stand for.
//!
//! Scopes are not told apart: a name stands for everything that it is assigned anywhere, and a parameter
//! for everything that a function of its name is called with.

use std::collections::BTreeMap;

use ruff_python_ast::visitor::{
    Visitor, walk_comprehension, walk_expr, walk_pattern, walk_stmt, walk_with_item,
};
use ruff_python_ast::{
    Comprehension, Expr, ExprCall, ExprLambda, Identifier, Parameters, Pattern, Stmt, StmtClassDef,
    StmtFunctionDef, WithItem,
};
use ruff_text_size::Ranged;

use super::source::SourceError;

/// Whose text an expression is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Test,
    /// The part of the setup that the checker runs.
    Setup,
    /// The part that runs beside the program.
    Beside,
}

/// An expression and whose it is.
#[derive(Clone, Copy)]
pub(super) struct Value<'a> {
    pub(super) expression: &'a Expr,
    pub(super) origin: Origin,
}

/// A call and whose it is.
#[derive(Clone, Copy)]
pub(super) struct Called<'a> {
    pub(super) call: &'a ExprCall,
    pub(super) origin: Origin,
}

type Stands<'a> = BTreeMap<&'a str, Vec<Value<'a>>>;

/// Bytes of all the expressions that names stand for, one that several names stand for counted for each. All of
/// them are looked through several times; a test as long as a test may be has 64 KiB.
const MAX_BYTES: usize = 1 << 20;

/// What names stand for.
#[derive(Default)]
pub(super) struct Values<'a> {
    /// What each name is assigned, or takes its elements from.
    pub(super) names: Stands<'a>,
    /// The same of attributes, by their names, whatever they are of.
    pub(super) attributes: Stands<'a>,
    /// What each function and method returns.
    pub(super) returned: Stands<'a>,
    /// Calls that are statements.
    pub(super) statements: Vec<Called<'a>>,
    /// How often each name is read, and how often only to hold it against `None`.
    pub(super) reads: BTreeMap<&'a str, usize>,
    pub(super) against_none: BTreeMap<&'a str, usize>,
    parameters: BTreeMap<&'a str, Vec<Taken<'a>>>,
    calls: Vec<Called<'a>>,
    bytes: usize,
    origin: Option<Origin>,
    /// The functions that the walk is in, and the class that it is right inside of.
    within: Vec<&'a str>,
    class: Option<&'a str>,
}

/// The parameters of a function.
struct Taken<'a> {
    positional: Vec<&'a str>,
    /// Those that may be named, and where the others go.
    all: Vec<&'a str>,
    rest: Option<&'a str>,
}

impl<'a> Taken<'a> {
    fn of(parameters: &'a Parameters, skipped: usize) -> Self {
        let positional = parameters.posonlyargs.iter().chain(&parameters.args);
        Self {
            positional: positional.skip(skipped).map(|one| one.name().as_str()).collect(),
            all: parameters.iter().skip(skipped).map(|one| one.name().as_str()).collect(),
            rest: parameters.vararg.as_ref().map(|one| one.name.as_str()),
        }
    }

    /// The parameters that get an argument.
    fn positional(&self, at: usize, argument: &Expr) -> Vec<&'a str> {
        match self.positional.get(at) {
            _ if argument.is_starred_expr() => self.all.clone(),
            Some(name) => vec![name],
            None => self.rest.into_iter().collect(),
        }
    }
}

impl<'a> Values<'a> {
    /// Reads statements of the test or of the setup.
    pub(super) fn read(&mut self, statements: &'a [Stmt], origin: Origin) {
        self.origin = Some(origin);
        self.visit_body(statements);
    }

    /// Hands the arguments of every call to the parameters that they are for. An error if there is more to
    /// follow than can be.
    pub(super) fn link(&mut self) -> Result<(), SourceError> {
        for Called { call, origin } in self.calls.clone() {
            let name = called_name(&call.func);
            let taken = name.and_then(|name| self.parameters.get(name));
            let mut handed: Vec<(&'a str, &'a Expr)> = Vec::new();
            // Each function of this name costs something, also one that takes nothing.
            self.bytes += taken.map_or(0, Vec::len);
            for taken in taken.into_iter().flatten() {
                for (at, argument) in call.arguments.args.iter().enumerate() {
                    handed.extend(
                        taken.positional(at, argument).into_iter().map(|to| (to, argument)),
                    );
                }
                for keyword in &call.arguments.keywords {
                    let named =
                        |to: &&&str| keyword.arg.as_ref().is_none_or(|name| name.as_str() == **to);
                    handed.extend(taken.all.iter().filter(named).map(|to| (*to, &keyword.value)));
                }
            }
            // A function without a name is called with what stands beside it: `map(lambda x: …, xs)`.
            for lambda in call.arguments.args.iter().filter_map(Expr::as_lambda_expr) {
                let others = call.arguments.args.iter().filter(|one| !one.is_lambda_expr());
                handed
                    .extend(others.flat_map(|one| {
                        parameters_of(lambda).into_iter().map(move |to| (to, one))
                    }));
            }
            for (to, expression) in handed {
                self.bytes += bytes(expression);
                self.names.entry(to).or_default().push(Value { expression, origin });
            }
            self.keep(call, origin);
            if self.bytes > MAX_BYTES {
                return Err(SourceError::Tangled);
            }
        }
        if self.bytes > MAX_BYTES { Err(SourceError::Tangled) } else { Ok(()) }
    }

    /// Whether a function or method of this name is defined here.
    pub(super) fn defines(&self, name: &str) -> bool {
        self.parameters.contains_key(name)
    }

    /// What a method is called with, its object may keep: `found.append(f(1))`.
    fn keep(&mut self, call: &'a ExprCall, origin: Origin) {
        let Expr::Attribute(method) = call.func.as_ref() else { return };
        if is_asserting(&method.attr) {
            return;
        }
        let kept = match method.value.as_ref() {
            Expr::Name(name) => self.names.get_mut(name.id.as_str()),
            Expr::Attribute(of) => self.attributes.get_mut(of.attr.as_str()),
            _ => None,
        };
        if let Some(kept) = kept {
            self.bytes += call.arguments.args.iter().map(bytes).sum::<usize>();
            kept.extend(call.arguments.args.iter().map(|expression| Value { expression, origin }));
        }
    }

    fn value(&self, expression: &'a Expr) -> Value<'a> {
        Value { expression, origin: self.origin.unwrap_or(Origin::Test) }
    }

    fn assign(&mut self, target: &'a Expr, value: &'a Expr) {
        // Beyond the bound nothing more is kept: `link` refuses it.
        self.bytes += bytes(value);
        if self.bytes > MAX_BYTES {
            return;
        }
        let made = self.value(value);
        match (target, value) {
            (Expr::Name(name), Expr::Lambda(lambda)) => {
                let returned = self.value(&lambda.body);
                self.returned.entry(&name.id).or_default().push(returned);
                let taken = lambda.parameters.iter().map(|all| Taken::of(all, 0));
                self.parameters.entry(&name.id).or_default().extend(taken);
            }
            (Expr::Name(name), _) => self.names.entry(&name.id).or_default().push(made),
            (Expr::Tuple(targets), Expr::Tuple(values)) if targets.len() == values.len() => {
                targets.iter().zip(values).for_each(|(to, value)| self.assign(to, value));
            }
            (Expr::Tuple(targets), _) => targets.iter().for_each(|to| self.assign(to, value)),
            (Expr::List(targets), _) => targets.iter().for_each(|to| self.assign(to, value)),
            (Expr::Starred(target), _) => self.assign(&target.value, value),
            // What holds an answer counts as one: `found[0] = f(1)`.
            (Expr::Subscript(target), _) => self.assign(&target.value, value),
            (Expr::Attribute(target), _) => {
                self.attributes.entry(&target.attr).or_default().push(made);
            }
            _ => {}
        }
    }

    fn function(&mut self, def: &'a StmtFunctionDef) {
        let is_static = def.decorator_list.iter().any(|one| {
            one.expression.as_name_expr().is_some_and(|name| name.id.as_str() == "staticmethod")
        });
        let class = self.class.take();
        let skipped = usize::from(class.is_some() && !is_static);
        let name = match class {
            Some(class) if def.name.as_str() == "__init__" => class,
            _ => def.name.as_str(),
        };
        self.parameters.entry(name).or_default().push(Taken::of(&def.parameters, skipped));
        self.within.push(&def.name);
        self.visit_body(&def.body);
        self.within.pop();
        self.class = class;
    }

    fn class(&mut self, def: &'a StmtClassDef) {
        let outer = self.class.replace(&def.name);
        self.visit_body(&def.body);
        self.class = outer;
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
            Stmt::Match(choice) => {
                let mut names = Captured::default();
                choice.cases.iter().for_each(|case| names.visit_pattern(&case.pattern));
                for name in names.0 {
                    let subject = self.value(&choice.subject);
                    self.names.entry(name).or_default().push(subject);
                }
            }
            Stmt::Return(returned) => {
                if let (Some(name), Some(value)) = (self.within.last(), &returned.value) {
                    let value = self.value(value);
                    self.returned.entry(name).or_default().push(value);
                }
            }
            Stmt::Expr(statement) => {
                if let Expr::Call(call) = statement.value.as_ref() {
                    let origin = self.origin.unwrap_or(Origin::Test);
                    self.statements.push(Called { call, origin });
                }
            }
            Stmt::FunctionDef(def) => return self.function(def),
            Stmt::ClassDef(def) => return self.class(def),
            _ => {}
        }
        walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Named(named) => self.assign(&named.target, &named.value),
            Expr::Call(call) => {
                let origin = self.origin.unwrap_or(Origin::Test);
                self.calls.push(Called { call, origin });
            }
            Expr::Name(name) if name.ctx.is_load() => {
                *self.reads.entry(&name.id).or_default() += 1;
            }
            Expr::Compare(compare)
                if compare.comparators.iter().any(Expr::is_none_literal_expr) =>
            {
                if let Expr::Name(name) = compare.left.as_ref() {
                    *self.against_none.entry(&name.id).or_default() += 1;
                }
            }
            Expr::Yield(yielded) => {
                if let (Some(name), Some(value)) = (self.within.last(), &yielded.value) {
                    let value = self.value(value);
                    self.returned.entry(name).or_default().push(value);
                }
            }
            _ => {}
        }
        walk_expr(self, expression);
    }

    fn visit_comprehension(&mut self, each: &'a Comprehension) {
        self.assign(&each.target, &each.iter);
        walk_comprehension(self, each);
    }

    fn visit_with_item(&mut self, item: &'a WithItem) {
        item.optional_vars.iter().for_each(|target| self.assign(target, &item.context_expr));
        walk_with_item(self, item);
    }
}

/// The names that patterns bind.
#[derive(Default)]
struct Captured<'a>(Vec<&'a str>);

impl<'a> Visitor<'a> for Captured<'a> {
    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        let name = match pattern {
            Pattern::MatchAs(pattern) => pattern.name.as_ref(),
            Pattern::MatchStar(pattern) => pattern.name.as_ref(),
            Pattern::MatchMapping(pattern) => pattern.rest.as_ref(),
            _ => None,
        };
        self.0.extend(name.map(Identifier::as_str));
        walk_pattern(self, pattern);
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

/// How long an expression is.
fn bytes(expression: &Expr) -> usize {
    expression.range().len().to_usize()
}

fn parameters_of(lambda: &ExprLambda) -> Vec<&str> {
    let parameters = lambda.parameters.iter().flat_map(|all| all.iter());
    parameters.map(|one| one.name().as_str()).collect()
}
