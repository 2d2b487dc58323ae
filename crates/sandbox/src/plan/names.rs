//! The names that a piece of Python code reads from outside, and those it defines.
//!
//! Scopes are followed for functions, classes, lambdas and comprehensions. Within a scope a name
//! that is bound anywhere counts as bound everywhere: tests do not use a name before they make it.

use std::collections::BTreeSet;

use ruff_python_ast::visitor::{
    Visitor, walk_except_handler, walk_expr, walk_parameters, walk_pattern, walk_stmt,
    walk_type_param,
};
use ruff_python_ast::{
    Alias, ExceptHandler, Expr, ExprContext, Identifier, Parameters, Pattern, Stmt, TypeParam,
};

use super::stars;

/// The names of one scope.
#[derive(Debug, Default)]
pub(super) struct ScopeNames {
    /// Read here or in an inner scope that does not bind them.
    used: BTreeSet<String>,
    /// Called by themselves, as `f(x)`.
    called: BTreeSet<String>,
    /// Made here.
    pub(super) bound: BTreeSet<String>,
    /// Declared `global` in here.
    global: BTreeSet<String>,
    /// A star import of an unknown module defines unknown names.
    pub(super) star: bool,
    /// `return`, `yield` or `await` where no function is.
    pub(super) outside: bool,
    in_function: bool,
}

impl ScopeNames {
    /// The names of statements.
    pub(super) fn of(statements: &[Stmt]) -> Self {
        let mut names = Self::default();
        names.visit_body(statements);
        names
    }

    /// The names of an expression.
    pub(super) fn of_expression(expression: &Expr) -> Self {
        let mut names = Self::default();
        names.visit_expr(expression);
        names
    }

    /// Names that must come from outside.
    pub(super) fn free(&self) -> impl Iterator<Item = &str> {
        self.used.difference(&self.bound).map(String::as_str)
    }

    /// Whether the name is called by itself, as no module is.
    pub(super) fn calls(&self, name: &str) -> bool {
        self.called.contains(name)
    }

    fn bind(&mut self, name: &str) {
        self.bound.insert(name.to_owned());
    }

    fn function(&mut self, parameters: Option<&Parameters>, visit: impl FnOnce(&mut Self)) {
        if let Some(parameters) = parameters {
            walk_parameters(self, parameters);
        }
        let mut inner = Self { in_function: true, ..Self::default() };
        for parameter in parameters.into_iter().flat_map(Parameters::iter) {
            inner.bind(parameter.name().as_str());
        }
        visit(&mut inner);
        self.enclose(&inner);
    }

    fn enclose(&mut self, inner: &Self) {
        let outer = |name: &String| !inner.bound.contains(name) || inner.global.contains(name);
        self.used.extend(inner.used.iter().filter(|name| outer(name)).cloned());
        self.called.extend(inner.called.iter().filter(|name| outer(name)).cloned());
        self.bound.extend(inner.bound.intersection(&inner.global).cloned());
        self.star |= inner.star;
        self.outside |= inner.outside;
    }

    fn import(&mut self, alias: &Alias, module: Option<&str>) {
        let name = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
        match (name, module.and_then(stars::names)) {
            ("*", Some(names)) => names.iter().for_each(|name| self.bind(name)),
            ("*", None) => self.star = true,
            _ => self.bind(name.split('.').next().unwrap_or(name)),
        }
    }
}

impl<'a> Visitor<'a> for ScopeNames {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(def) => {
                self.bind(def.name.as_str());
                def.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
                def.type_params.iter().for_each(|parameters| self.visit_type_params(parameters));
                def.returns.iter().for_each(|returns| self.visit_annotation(returns));
                self.function(Some(&def.parameters), |inner| inner.visit_body(&def.body));
            }
            Stmt::ClassDef(def) => {
                self.bind(def.name.as_str());
                def.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
                def.type_params.iter().for_each(|parameters| self.visit_type_params(parameters));
                def.arguments.iter().for_each(|arguments| self.visit_arguments(arguments));
                let mut inner = Self::default();
                inner.visit_body(&def.body);
                self.enclose(&inner);
            }
            Stmt::Import(import) => {
                import.names.iter().for_each(|alias| self.import(alias, None));
            }
            Stmt::ImportFrom(import) => {
                let module = import.module.as_ref().map(Identifier::as_str);
                import.names.iter().for_each(|alias| self.import(alias, module));
            }
            Stmt::Global(global) => {
                self.global.extend(global.names.iter().map(ToString::to_string));
            }
            Stmt::Return(_) => {
                self.outside |= !self.in_function;
                walk_stmt(self, statement);
            }
            _ => walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Name(name) => {
                match name.ctx {
                    ExprContext::Load => self.used.insert(name.id.to_string()),
                    _ => self.bound.insert(name.id.to_string()),
                };
            }
            Expr::Lambda(lambda) => {
                self.function(lambda.parameters.as_deref(), |inner| inner.visit_expr(&lambda.body));
            }
            Expr::ListComp(_) | Expr::SetComp(_) | Expr::DictComp(_) | Expr::Generator(_) => {
                let mut inner = Self { in_function: self.in_function, ..Self::default() };
                walk_expr(&mut inner, expression);
                self.enclose(&inner);
            }
            Expr::Yield(_) | Expr::YieldFrom(_) | Expr::Await(_) => {
                self.outside |= !self.in_function;
                walk_expr(self, expression);
            }
            Expr::Call(call) => {
                if let Expr::Name(name) = call.func.as_ref() {
                    self.called.insert(name.id.to_string());
                }
                walk_expr(self, expression);
            }
            _ => walk_expr(self, expression),
        }
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(except) = handler;
        except.name.iter().for_each(|name| self.bind(name.as_str()));
        walk_except_handler(self, handler);
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        if let Some(name) = captured(pattern) {
            self.bind(name);
        }
        walk_pattern(self, pattern);
    }

    fn visit_type_param(&mut self, parameter: &'a TypeParam) {
        self.bind(parameter.name().as_str());
        walk_type_param(self, parameter);
    }
}

/// The name that a pattern binds itself, apart from those of the patterns in it.
pub(super) fn captured(pattern: &Pattern) -> Option<&str> {
    let name = match pattern {
        Pattern::MatchAs(pattern) => pattern.name.as_ref(),
        Pattern::MatchStar(pattern) => pattern.name.as_ref(),
        Pattern::MatchMapping(pattern) => pattern.rest.as_ref(),
        _ => None,
    };
    name.map(Identifier::as_str)
}

#[cfg(test)]
mod tests {
    use ruff_python_parser::parse_module;

    use super::*;

    #[track_caller]
    fn check(source: &str, free: &str, bound: &str) {
        let tree = parse_module(source).unwrap();
        let names = ScopeNames::of(tree.suite());
        assert_eq!(names.free().collect::<Vec<_>>().join(" "), free, "free in {source}");
        let found: Vec<_> = names.bound.iter().map(String::as_str).collect();
        assert_eq!(found.join(" "), bound, "bound in {source}");
    }

    #[test]
    fn names_are_followed_into_scopes() {
        check("assert f(x, y=z.a) == 1", "f x z", "");
        check("a = b\nc.d = a", "b c", "a");
        check("def f(a, *b, c=d, **e) -> g: return a + h + f", "d g h", "f");
        check("def check(candidate):\n x = candidate(1)\n assert x == y", "y", "check");
        check("[x + y for x in z]\nx", "x y z", "");
        check("{k: v for k, v in d.items() if k}", "d", "");
        check("f(lambda x, y=u: x + w)", "f u w", "");
        check("class A(B):\n c = d\n def m(self): return self.c", "B d", "A");
        check("import a.b, c as d\nfrom e import f as g, h", "", "a d g h");
        check("for i in r: pass\nwith o as p: pass", "o r", "i p");
        check("try: pass\nexcept E as e: e", "E", "e");
        check(
            "match s:\n case {'a': x, **r}: pass\n case [*t] | C(u) as w: pass",
            "C s",
            "r t u w x",
        );
        check("def f():\n global g\n g = 1\ng", "", "f g");
        check("f'{a} {b!r:{c}}'", "a b c", "");
        check("if (n := f()): n", "f", "n");
        check("def f[T](x: T): pass", "", "T f");
    }

    #[test]
    fn a_star_import_is_noticed() {
        assert!(ScopeNames::of(parse_module("from numpy import *").unwrap().suite()).star);
        let known = parse_module("from math import *").unwrap();
        let known = ScopeNames::of(known.suite());
        assert!(!known.star && known.bound.contains("sqrt"));
        assert!(!ScopeNames::of(parse_module("from math import pi").unwrap().suite()).star);
    }

    #[test]
    fn what_belongs_in_a_function_is_noticed_outside_of_one() {
        for source in ["return 1", "yield", "x = [(yield)]", "f(await g)", "class A: return"] {
            assert!(ScopeNames::of(parse_module(source).unwrap().suite()).outside, "{source}");
        }
        for source in ["def f(): return 1", "lambda: (yield)", "async def f(): await g"] {
            assert!(!ScopeNames::of(parse_module(source).unwrap().suite()).outside, "{source}");
        }
    }
}
