//! The values of parameters, and the values that are put into names and attributes.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::{Arguments, Expr, ExprCall, ExprLambda, Identifier, Parameters};
use ruff_text_size::{Ranged, TextRange};

use super::places::{AssignmentTarget, places};
use super::{
    Called, FlowValue, FlowValues, MAX_BYTES, TextOrigin, bytes, called_name, is_asserting,
};
use crate::plan::function::ProgramFunction;
use crate::plan::names::ScopeNames;
use crate::plan::python::is_module;
use crate::plan::question::first;
use crate::plan::source::SourceError;

/// The parameters of a function.
pub(super) struct ArgumentsTaken<'a> {
    positional: Vec<&'a str>,
    /// Those that may be named, and where the others go.
    all: Vec<&'a str>,
    rest: Option<&'a str>,
    keywords: Option<&'a str>,
    /// The scope in which they are valid.
    within: TextRange,
}

impl<'a> ArgumentsTaken<'a> {
    pub(super) fn of(parameters: &'a Parameters, skipped: usize, within: TextRange) -> Self {
        let positional = parameters.posonlyargs.iter().chain(&parameters.args);
        Self {
            positional: positional.skip(skipped).map(|one| one.name().as_str()).collect(),
            all: parameters.iter().skip(skipped).map(|one| one.name().as_str()).collect(),
            rest: parameters.vararg.as_ref().map(|one| one.name.as_str()),
            keywords: parameters.kwarg.as_ref().map(|one| one.name.as_str()),
            within,
        }
    }

    /// The fields of a class, which what makes an object of it takes.
    pub(super) fn fields(fields: Vec<&'a str>, within: TextRange) -> Self {
        Self { positional: fields.clone(), all: fields, rest: None, keywords: None, within }
    }

    /// The parameters that get an argument of this name, or of unknown names.
    fn named(&self, name: Option<&str>) -> Vec<&'a str> {
        let Some(name) = name else { return self.all.clone() };
        let found = self.all.iter().copied().find(|one| *one == name);
        found.or(self.keywords).into_iter().collect()
    }

    /// The arguments of a call by parameter; the first may be for `self`.
    fn given(&self, arguments: &'a Arguments, skipped: usize) -> Vec<(&'a str, &'a Expr)> {
        let mut given = Vec::new();
        let mut spread = false;
        for (at, argument) in arguments.args.iter().skip(skipped).enumerate() {
            spread |= argument.is_starred_expr();
            match self.positional.get(at) {
                _ if spread => given.extend(self.all.iter().map(|to| (*to, argument))),
                Some(to) => given.push((to, argument)),
                None => given.extend(self.rest.map(|to| (to, argument))),
            }
        }
        for keyword in &arguments.keywords {
            let name = keyword.arg.as_ref().map(Identifier::as_str);
            given.extend(self.named(name).into_iter().map(|to| (to, &keyword.value)));
        }
        given
    }
}

type Functions<'f> = BTreeMap<&'f str, ProgramFunction>;

impl<'a> FlowValues<'a> {
    /// Hands the arguments of every call to the parameters that they are for, `programs` being the functions of
    /// the program. An error if there is more to follow than can be.
    pub(in crate::plan) fn link(&mut self, programs: &Functions<'_>) -> Result<(), SourceError> {
        for Called { call, origin } in self.calls.clone() {
            self.pass_arguments(call, origin);
            self.keep(call, origin);
            let is_programs = first(&call.func).is_some_and(|name| programs.contains_key(name));
            if !is_programs && !self.is_defined(&call.func) {
                self.pass_functions(call, origin);
            }
            self.check_bytes()?;
        }
        for Called { call, origin } in self.statements.clone() {
            let root = first(&call.func);
            let is_programs = root.is_some_and(|name| programs.contains_key(name));
            let is_local = root.is_some_and(|name| self.names.contains_key(name));
            if !is_programs && !is_local && !self.is_defined(&call.func) {
                self.fill_arguments(call, origin);
            }
        }
        for field in std::mem::take(&mut self.fields) {
            let values = self.names.get(field).into_iter().flatten().copied();
            self.attributes.entry(field).or_default().extend(values);
        }
        self.find_unknown(programs);
        self.merge_puts()
    }

    fn is_defined(&self, callee: &Expr) -> bool {
        called_name(callee).is_some_and(|name| self.defines(name))
    }

    fn check_bytes(&self) -> Result<(), SourceError> {
        if self.bytes > MAX_BYTES { Err(SourceError::Tangled) } else { Ok(()) }
    }

    fn pass_arguments(&mut self, call: &'a ExprCall, origin: TextOrigin) {
        let mut given = Vec::new();
        let name = called_name(&call.func);
        // `Case.check(case, answer)`
        let of = call.func.as_attribute_expr().map(|method| method.value.as_ref());
        let is_class = of.is_some_and(|of| of.is_name_expr() && self.is_defined(of));
        let taken = name.and_then(|name| self.parameters.get(name));
        // Each function of this name costs something, also one that takes nothing.
        self.bytes += taken.map_or(0, Vec::len);
        for taken in taken.into_iter().flatten() {
            given.extend(taken.given(&call.arguments, usize::from(is_class)));
        }
        if let Expr::Lambda(lambda) = call.func.as_ref() {
            self.linked.insert(std::ptr::from_ref(lambda));
            let taken =
                lambda.parameters.iter().map(|all| ArgumentsTaken::of(all, 0, lambda.range()));
            given.extend(taken.flat_map(|taken| taken.given(&call.arguments, 0)));
        }
        for (to, expression) in given {
            self.bind(to, FlowValue { expression, origin });
        }
    }

    /// A function that Python's own is given is called with what stands beside it: `map(lambda x: …, xs)`.
    fn pass_functions(&mut self, call: &'a ExprCall, origin: TextOrigin) {
        let receiver = call.func.as_attribute_expr().map(|method| method.value.as_ref());
        for function in arguments(call) {
            let taken: Vec<&'a str> = match function {
                Expr::Lambda(lambda) => {
                    self.linked.insert(std::ptr::from_ref(lambda));
                    parameters_of(lambda)
                }
                other => {
                    let name = called_name(other).filter(|name| self.defines(name));
                    let Some(name) = name else { continue };
                    let times = self.handed.entry(name).or_default();
                    *times = times.saturating_sub(1);
                    let all = self.parameters.get(name).into_iter().flatten();
                    all.flat_map(|taken| taken.all.iter().copied()).collect()
                }
            };
            for to in taken {
                let is_value = |one: &&Expr| !one.is_lambda_expr() && !self.is_defined(one);
                let others: Vec<_> = arguments(call).filter(is_value).chain(receiver).collect();
                for expression in others {
                    self.bind(to, FlowValue { expression, origin });
                }
            }
        }
    }

    /// What a method is called with, its object may keep: `found.append(f(1))`. A module keeps nothing.
    fn keep(&mut self, call: &'a ExprCall, origin: TextOrigin) {
        let Expr::Attribute(method) = call.func.as_ref() else { return };
        let is_imported = |name: &str| self.imported.contains(name) || is_module(name);
        let of = first(&method.value).filter(|name| !self.names.contains_key(name));
        if !is_asserting(&method.attr) && !of.is_some_and(is_imported) {
            let values = arguments(call).map(|expression| FlowValue { expression, origin });
            values.for_each(|value| self.put(&method.value, value));
        }
    }

    /// A statement may put some of its arguments into others: `heapq.heappush(heap, f(1))`.
    fn fill_arguments(&mut self, call: &'a ExprCall, origin: TextOrigin) {
        let name = called_name(&call.func).unwrap_or_default();
        if is_asserting(name) {
            return;
        }
        // `print` writes into a file.
        let positional = if name == "print" { &[] } else { &*call.arguments.args };
        let named = call.arguments.keywords.iter().map(|keyword| &keyword.value);
        for into in positional.iter().chain(named) {
            let others = arguments(call).filter(|one| !std::ptr::eq(*one, into));
            others.for_each(|expression| self.put(into, FlowValue { expression, origin }));
        }
    }

    /// Parameters of functions with unknown callers, and the values of context managers.
    fn find_unknown(&mut self, programs: &Functions<'_>) {
        // What a decorator of the test or of the program makes of a function is what that returns.
        for (name, decorator) in std::mem::take(&mut self.decorated) {
            let is_own = |name: &str| self.defines(name) || programs.contains_key(name);
            if first(decorator.expression).is_none_or(is_own) {
                self.bind(name, decorator);
                self.handed.insert(name, 1);
            }
        }
        for (names, body) in std::mem::take(&mut self.contexts) {
            let body = ScopeNames::of(body);
            if body.free().any(|name| self.defines(name) || programs.contains_key(name)) {
                self.captured.extend(names.into_iter().map(AssignmentTarget::name));
            }
        }
        for (name, taken) in &self.parameters {
            if self.handed.get(name).is_some_and(|times| *times > 0) {
                for taken in taken {
                    for one in &taken.all {
                        self.given.entry(one).or_default().push(taken.within);
                    }
                }
            }
        }
        for lambda in &self.lambdas {
            if !self.linked.contains(&std::ptr::from_ref(*lambda)) {
                for one in parameters_of(lambda) {
                    self.given.entry(one).or_default().push(lambda.range());
                }
            }
        }
    }

    /// What is put into a name is put into everything that the name may be another name of.
    fn merge_puts(&mut self) -> Result<(), SourceError> {
        let mut merged = Vec::new();
        let mut aliases = BTreeMap::new();
        for (place, value) in std::mem::take(&mut self.puts) {
            for place in aliases.entry(place).or_insert_with(|| self.aliases([place])).iter() {
                self.bytes += bytes(value.expression);
                merged.push((*place, value));
            }
            self.check_bytes()?;
        }
        for (place, value) in merged {
            match place {
                AssignmentTarget::Attribute(name) => {
                    self.attributes.entry(name).or_default().push(value);
                }
                AssignmentTarget::Name(name) if self.defines(name) => {
                    self.returned.entry(name).or_default().push(value);
                }
                // Nothing is put into a module.
                AssignmentTarget::Name(name) => {
                    if let Some(values) = self.names.get_mut(name) {
                        values.push(value);
                    }
                }
            }
        }
        Ok(())
    }

    /// Places, and those that they may be other names of.
    pub(in crate::plan) fn aliases(
        &self,
        from: impl IntoIterator<Item = AssignmentTarget<'a>>,
    ) -> BTreeSet<AssignmentTarget<'a>> {
        let mut next: Vec<_> = from.into_iter().collect();
        let mut found: BTreeSet<_> = next.iter().copied().collect();
        while let Some(place) = next.pop() {
            let values = match place {
                AssignmentTarget::Name(name) => self.names.get(name),
                AssignmentTarget::Attribute(name) => self.attributes.get(name),
            };
            let led_to = values.into_iter().flatten().flat_map(|value| places(value.expression));
            next.extend(led_to.filter(|one| found.insert(*one)));
        }
        found
    }
}

/// All arguments of a call.
pub(in crate::plan) fn arguments(call: &ExprCall) -> impl Iterator<Item = &Expr> {
    let named = call.arguments.keywords.iter().map(|keyword| &keyword.value);
    call.arguments.args.iter().chain(named)
}

fn parameters_of(lambda: &ExprLambda) -> Vec<&str> {
    let parameters = lambda.parameters.iter().flat_map(|all| all.iter());
    parameters.map(|one| one.name().as_str()).collect()
}
