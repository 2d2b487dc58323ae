//! What `compile()` refuses in a program that parses.
//!
//! A walk in the order in which `CPython` evaluates, that keeps the scopes, drives Ruff's semantic
//! checker and adds the rules Ruff leaves out: a star where nothing is unpacked, blocks nested too
//! deep, leaving an `except*` block, `__debug__` as attribute or keyword.

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{self as ast, Expr, ExprContext, ModModule, Pattern, PythonVersion, Stmt};
use ruff_python_parser::semantic_errors::SemanticSyntaxChecker;
use ruff_text_size::{Ranged, TextSize};

use super::context::Context;
use super::scopes::Kind;
use super::{Problem, patterns};

/// Walks a whole program; the first problem wins.
pub(super) fn check(
    module: &ModModule,
    source: &str,
    version: PythonVersion,
) -> Result<(), Problem> {
    let context = Context::new(source, version);
    let mut walk = Walk { checker: SemanticSyntaxChecker::new(), context, depth: 0, formats: 0 };
    walk.visit_body(&module.body);
    walk.close();
    walk.context.problem.into_inner().map_or(Ok(()), Err)
}

/// How deep `CPython` follows a tree: its recursion limit while compiling, less a few levels.
fn max_depth(version: PythonVersion) -> u32 {
    if version < PythonVersion::PY313 { 2_985 } else { 9_990 }
}

/// The walk.
pub(super) struct Walk<'a> {
    pub(super) checker: SemanticSyntaxChecker,
    pub(super) context: Context<'a>,
    pub(super) depth: u32,
    /// Formats of f-strings around the current place, within one f-string.
    formats: u32,
}

impl<'a> Walk<'a> {
    pub(super) fn refuse(&self, at: TextSize, message: &str) {
        self.note(Err(Problem { at, message: message.to_owned() }));
    }

    pub(super) fn note(&self, found: Result<(), Problem>) {
        if let Err(problem) = found {
            self.context.problem.borrow_mut().get_or_insert(problem);
        }
    }

    /// Goes one level deeper; `false` when there is no use in going on.
    pub(super) fn enter(&mut self, at: TextSize) -> bool {
        if self.context.problem.borrow().is_some() {
            return false;
        }
        if self.depth >= max_depth(self.context.version) {
            self.refuse(at, "nested too deeply");
            return false;
        }
        self.depth += 1;
        true
    }

    fn close(&mut self) {
        let closed = self.context.scopes.close();
        self.note(closed);
    }

    pub(super) fn binds(&mut self, name: &'a ast::Identifier) {
        self.context.scopes.binds(name.as_str());
    }

    fn function(&mut self, function: &'a ast::StmtFunctionDef) {
        self.binds(&function.name);
        for decorator in &function.decorator_list {
            self.visit_decorator(decorator);
        }
        if let Some(type_params) = &function.type_params {
            self.visit_type_params(type_params);
        }
        self.visit_parameters(&function.parameters);
        if let Some(returns) = &function.returns {
            self.visit_annotation(returns);
        }
        self.context.scopes.open(Kind::Function { is_async: function.is_async });
        self.parameters(&function.parameters);
        self.visit_body(&function.body);
        self.close();
    }

    fn parameters(&mut self, parameters: &'a ast::Parameters) {
        for parameter in parameters {
            self.context.scopes.parameter(parameter.name().as_str());
        }
    }

    fn class(&mut self, class: &'a ast::StmtClassDef) {
        self.binds(&class.name);
        for decorator in &class.decorator_list {
            self.visit_decorator(decorator);
        }
        if let Some(type_params) = &class.type_params {
            self.visit_type_params(type_params);
        }
        if let Some(arguments) = &class.arguments {
            self.visit_arguments(arguments);
        }
        self.context.scopes.open(Kind::Class);
        self.visit_body(&class.body);
        self.close();
    }

    /// The first iterable is evaluated outside; all else in the comprehension's own scope.
    fn comprehension(
        &mut self,
        generators: &'a [ast::Comprehension],
        elements: [Option<&'a Expr>; 2],
        lazy: bool,
    ) {
        let is_async = generators.iter().any(|generator| generator.is_async);
        let Some((first, _)) = generators.split_first() else { return };
        self.visit_expr(&first.iter);
        self.context.scopes.open(Kind::Comprehension { lazy, is_async });
        for (index, generator) in generators.iter().enumerate() {
            if index > 0 {
                self.visit_expr(&generator.iter);
            }
            self.visit_expr(&generator.target);
            for condition in &generator.ifs {
                self.visit_expr(condition);
            }
        }
        for element in elements.into_iter().flatten() {
            self.visit_expr(element);
        }
        self.close();
    }

    /// An expression in a place where a star unpacks.
    fn element(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Starred(starred) => self.visit_expr(&starred.value),
            other => self.visit_expr(other),
        }
    }

    fn element_of_string(&mut self, value: &'a ast::InterpolatedElement, formats: u32) {
        self.visit_expr(&value.expression);
        self.formats = formats + 1;
        for part in value.format_spec.iter().flat_map(|format| &format.elements) {
            self.visit_interpolated_string_element(part);
        }
    }

    fn elements(&mut self, exprs: &'a [Expr]) {
        for expr in exprs {
            self.element(expr);
        }
    }

    fn inner_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) => match name.ctx {
                ExprContext::Store | ExprContext::Del => self.context.scopes.binds(&name.id),
                ExprContext::Load | ExprContext::Invalid => self.context.scopes.uses(&name.id),
            },
            Expr::Named(named) => {
                self.visit_expr(&named.value);
                self.checker.visit_expr(&named.target, &self.context);
                if let Expr::Name(name) = &*named.target {
                    self.context.scopes.binds_outside_comprehensions(&name.id);
                }
            }
            Expr::Lambda(lambda) => {
                if let Some(parameters) = &lambda.parameters {
                    self.visit_parameters(parameters);
                }
                self.context.scopes.open(Kind::Lambda);
                if let Some(parameters) = &lambda.parameters {
                    self.parameters(parameters);
                }
                self.visit_expr(&lambda.body);
                self.close();
            }
            Expr::ListComp(ast::ExprListComp { elt, generators, .. })
            | Expr::SetComp(ast::ExprSetComp { elt, generators, .. }) => {
                self.comprehension(generators, [Some(elt), None], false);
            }
            Expr::DictComp(ast::ExprDictComp { key, value, generators, .. }) => {
                self.comprehension(generators, [key.as_deref(), Some(value)], false);
            }
            Expr::Generator(ast::ExprGenerator { elt, generators, .. }) => {
                self.comprehension(generators, [Some(elt), None], true);
            }
            Expr::List(ast::ExprList { elts, .. })
            | Expr::Tuple(ast::ExprTuple { elts, .. })
            | Expr::Set(ast::ExprSet { elts, .. }) => self.elements(elts),
            Expr::Subscript(subscript) => {
                self.visit_expr(&subscript.value);
                self.element(&subscript.slice);
            }
            Expr::Starred(_) => self.refuse(expr.start(), "can't use starred expression here"),
            Expr::Attribute(attribute) => {
                if attribute.attr.as_str() == "__debug__" && attribute.ctx == ExprContext::Store {
                    self.refuse(expr.start(), "cannot assign to `__debug__`");
                }
                self.visit_expr(&attribute.value);
            }
            _ => visitor::walk_expr(self, expr),
        }
    }
}

impl<'a> Visitor<'a> for Walk<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if !self.enter(stmt.start()) {
            return;
        }
        self.checker.visit_stmt(stmt, &self.context);
        match stmt {
            Stmt::FunctionDef(function) => self.function(function),
            Stmt::ClassDef(class) => self.class(class),
            Stmt::Global(statement) => {
                for name in &statement.names {
                    let declared = self.context.scopes.global(name.as_str(), name.range);
                    self.note(declared);
                }
            }
            Stmt::Nonlocal(statement) => {
                for name in &statement.names {
                    let declared = self.context.scopes.nonlocal(name.as_str(), name.range);
                    self.note(declared);
                }
            }
            Stmt::Import(statement) => self.imports(&statement.names),
            Stmt::ImportFrom(statement) => {
                let future = statement.module.as_deref() == Some("__future__");
                let is_annotations = |alias: &ast::Alias| alias.name.as_str() == "annotations";
                self.context.future_annotations |=
                    future && statement.names.iter().any(is_annotations);
                self.imports(&statement.names);
            }
            Stmt::AnnAssign(statement) => self.annotated(statement),
            Stmt::For(statement) => {
                self.visit_expr(&statement.iter);
                self.visit_expr(&statement.target);
                self.loop_body(&statement.body, &statement.orelse);
            }
            Stmt::While(statement) => {
                self.visit_expr(&statement.test);
                self.loop_body(&statement.body, &statement.orelse);
            }
            Stmt::If(statement) => self.if_statement(statement),
            Stmt::With(statement) => self.with_statement(statement),
            Stmt::Try(statement) => self.try_statement(statement),
            Stmt::Break(_) | Stmt::Continue(_) => self.leaves(stmt),
            Stmt::Return(_) => {
                self.leaves(stmt);
                visitor::walk_stmt(self, stmt);
            }
            _ => visitor::walk_stmt(self, stmt),
        }
        self.depth = self.depth.saturating_sub(1);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if !self.enter(expr.start()) {
            return;
        }
        self.checker.visit_expr(expr, &self.context);
        self.inner_expr(expr);
        self.depth = self.depth.saturating_sub(1);
    }

    /// A star stands in the annotation of `*args` alone; the parser refuses it elsewhere.
    fn visit_annotation(&mut self, expr: &'a Expr) {
        self.element(expr);
    }

    fn visit_arguments(&mut self, arguments: &'a ast::Arguments) {
        self.elements(&arguments.args);
        for keyword in &arguments.keywords {
            if keyword.arg.as_ref().is_some_and(|name| name.as_str() == "__debug__") {
                self.refuse(keyword.start(), "cannot assign to `__debug__`");
            }
            self.visit_expr(&keyword.value);
        }
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        self.note(patterns::check(pattern));
        match pattern {
            Pattern::MatchAs(ast::PatternMatchAs { name: Some(name), .. })
            | Pattern::MatchStar(ast::PatternMatchStar { name: Some(name), .. })
            | Pattern::MatchMapping(ast::PatternMatchMapping { rest: Some(name), .. }) => {
                self.binds(name);
            }
            _ => {}
        }
        visitor::walk_pattern(self, pattern);
    }

    /// A format may hold formatted values of its own, but not without end.
    fn visit_interpolated_string_element(&mut self, element: &'a ast::InterpolatedStringElement) {
        let ast::InterpolatedStringElement::Interpolation(value) = element else { return };
        let most = if self.context.version < PythonVersion::PY312 { 1 } else { 2 };
        if self.formats > most {
            self.refuse(value.start(), "f-string: expressions nested too deeply");
            return;
        }
        let formats = std::mem::take(&mut self.formats);
        self.element_of_string(value, formats);
        self.formats = formats;
    }
}
