//! What `compile()` refuses in a program that parses.
//!
//! A walk in the order in which `CPython` evaluates, that keeps the scopes, drives Ruff's semantic
//! checker and adds the rules Ruff leaves out: a star where nothing is unpacked, blocks nested too
//! deep, leaving an `except*` block, `__debug__` as attribute or keyword.
//!
//! `global` and `nonlocal` are [`super::scopes`]' business, so the checker is told nothing of them.

use std::cell::RefCell;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{self as ast, Expr, ExprContext, ModModule, Pattern, PythonVersion, Stmt};
use ruff_python_parser::semantic_errors::{
    LazyImportContext, SemanticSyntaxChecker, SemanticSyntaxContext, SemanticSyntaxError,
};
use ruff_text_size::{Ranged, TextRange, TextSize};

use super::scopes::{Kind, Scopes};
use super::{Problem, patterns};

/// Walks a whole program; the first problem wins.
pub(super) fn check(
    module: &ModModule,
    source: &str,
    version: PythonVersion,
) -> Result<(), Problem> {
    let context = Context {
        source,
        version,
        scopes: Scopes::new(),
        future_annotations: false,
        problem: RefCell::new(None),
    };
    let mut walk = Walk { checker: SemanticSyntaxChecker::new(), context, depth: 0, formats: 0 };
    walk.visit_body(&module.body);
    walk.close();
    walk.context.problem.into_inner().map_or(Ok(()), Err)
}

/// How deep `CPython` follows a tree: its recursion limit while compiling, less a few levels.
fn max_depth(version: PythonVersion) -> u32 {
    if version < PythonVersion::PY313 { 2_985 } else { 9_990 }
}

/// `CO_MAXBLOCKS`, with the change in how 3.13 counts.
fn max_blocks(version: PythonVersion) -> u32 {
    match version {
        v if v < PythonVersion::PY313 => 20,
        PythonVersion::PY313 => 21,
        _ => 40,
    }
}

struct Context<'a> {
    source: &'a str,
    version: PythonVersion,
    scopes: Scopes<'a>,
    future_annotations: bool,
    problem: RefCell<Option<Problem>>,
}

struct Walk<'a> {
    checker: SemanticSyntaxChecker,
    context: Context<'a>,
    depth: u32,
    /// Formats of f-strings around the current place, within one f-string.
    formats: u32,
}

impl<'a> Walk<'a> {
    fn refuse(&self, at: TextSize, message: &str) {
        self.note(Err(Problem { at, message: message.to_owned() }));
    }

    fn note(&self, found: Result<(), Problem>) {
        if let Err(problem) = found {
            self.context.problem.borrow_mut().get_or_insert(problem);
        }
    }

    /// Goes one level deeper; `false` when there is no use in going on.
    fn enter(&mut self, at: TextSize) -> bool {
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

    fn binds(&mut self, name: &'a ast::Identifier) {
        self.context.scopes.binds(name.as_str());
    }

    /// Walks a body inside `count` more blocks.
    fn body_in_blocks(&mut self, body: &'a [Stmt], count: u32) {
        let scope = self.context.scopes.current();
        scope.blocks += count;
        if scope.blocks > max_blocks(self.context.version)
            && let Some(first) = body.first()
        {
            self.refuse(first.start(), "too many statically nested blocks");
        }
        self.visit_body(body);
        self.context.scopes.current().blocks -= count;
    }

    fn loop_body(&mut self, body: &'a [Stmt], orelse: &'a [Stmt]) {
        self.context.scopes.current().loops += 1;
        self.body_in_blocks(body, 1);
        self.context.scopes.current().loops -= 1;
        self.visit_body(orelse);
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

    /// `CPython` counts a block for each of: `finally`, a body with handlers, and two for a handler.
    fn try_statement(&mut self, statement: &'a ast::StmtTry) {
        let in_finally = u32::from(!statement.finalbody.is_empty());
        let has_handlers = u32::from(!statement.handlers.is_empty());
        if let (0, Some(first)) = (has_handlers, statement.orelse.first()) {
            self.refuse(first.start(), "`else` of a `try` without `except`");
        }
        self.body_in_blocks(&statement.body, in_finally + has_handlers);
        for (index, handler) in statement.handlers.iter().enumerate() {
            let ast::ExceptHandler::ExceptHandler(handler) = handler;
            if handler.type_.is_none() && index + 1 < statement.handlers.len() {
                self.refuse(handler.start(), "default `except:` must be last");
            }
            if let Some(kind) = &handler.type_ {
                self.visit_expr(kind);
            }
            if let Some(name) = &handler.name {
                self.binds(name);
            }
            let outer = self.context.scopes.current().except_star;
            if statement.is_star {
                let scope = self.context.scopes.current();
                scope.except_star = Some(scope.loops);
            }
            self.body_in_blocks(&handler.body, in_finally + 2);
            self.context.scopes.current().except_star = outer;
        }
        self.body_in_blocks(&statement.orelse, in_finally);
        self.body_in_blocks(&statement.finalbody, in_finally);
    }

    /// `break`, `continue` and `return` do not lead out of an `except*` block.
    fn leaves(&mut self, stmt: &Stmt) {
        let scope = self.context.scopes.current();
        let Some(loops) = scope.except_star else { return };
        if stmt.is_return_stmt() || scope.loops == loops {
            self.refuse(stmt.start(), "`break`, `continue` and `return` cannot leave `except*`");
        }
    }

    fn imports(&mut self, names: &'a [ast::Alias]) {
        for alias in names {
            let bound = match &alias.asname {
                Some(name) => name.as_str(),
                None => alias.name.split('.').next().unwrap_or_default(),
            };
            if bound != "*" {
                self.context.scopes.imports(bound);
            }
        }
    }

    fn annotated(&mut self, statement: &'a ast::StmtAnnAssign) {
        if let Some(value) = &statement.value {
            self.visit_expr(value);
        }
        self.visit_annotation(&statement.annotation);
        if self.context.future_annotations {
            let mut found = NotInAnnotation(None);
            found.visit_expr(&statement.annotation);
            if let Some(at) = found.0 {
                self.refuse(at, "`yield`, `await` and `:=` cannot be used within an annotation");
            }
        }
        if let (Expr::Name(name), true) = (&*statement.target, statement.simple) {
            let annotated = self.context.scopes.annotates(name.id.as_str(), name.range);
            self.note(annotated);
            self.checker.visit_expr(&statement.target, &self.context);
        } else if !statement.target.is_name_expr() || statement.value.is_some() {
            self.visit_expr(&statement.target);
        }
    }

    fn if_statement(&mut self, statement: &'a ast::StmtIf) {
        self.visit_expr(&statement.test);
        self.visit_body(&statement.body);
        let depth = self.depth;
        for clause in &statement.elif_else_clauses {
            // CPython's tree nests each `elif` in the `else` of the one before.
            if self.enter(clause.start()) {
                self.visit_elif_else_clause(clause);
            }
        }
        self.depth = depth;
    }

    fn with_statement(&mut self, statement: &'a ast::StmtWith) {
        for item in &statement.items {
            self.visit_with_item(item);
        }
        let count = u32::try_from(statement.items.len()).unwrap_or(u32::MAX / 2);
        self.body_in_blocks(&statement.body, count);
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

/// Finds what an annotation that is kept as text cannot hold.
struct NotInAnnotation(Option<TextSize>);

impl Visitor<'_> for NotInAnnotation {
    fn visit_expr(&mut self, expr: &Expr) {
        if matches!(expr, Expr::Yield(_) | Expr::YieldFrom(_) | Expr::Await(_) | Expr::Named(_)) {
            self.0.get_or_insert(expr.start());
        }
        visitor::walk_expr(self, expr);
    }
}

impl Context<'_> {
    /// The kinds of the scopes around, without comprehensions.
    fn outside_comprehensions(&self) -> Kind {
        let mut kinds = self.scopes.inside_out().map(|scope| scope.kind);
        kinds.find(|kind| !matches!(kind, Kind::Comprehension { .. })).unwrap_or(Kind::Module)
    }

    /// Whether one of the comprehensions around, up to the next other scope, is such.
    fn in_comprehension(&self, such: impl Fn(bool, bool) -> bool) -> bool {
        let kinds = self.scopes.inside_out().map(|scope| scope.kind);
        kinds
            .map_while(|kind| match kind {
                Kind::Comprehension { lazy, is_async } => Some((lazy, is_async)),
                _ => None,
            })
            .any(|(lazy, is_async)| such(lazy, is_async))
    }
}

impl SemanticSyntaxContext for Context<'_> {
    fn future_annotations_or_stub(&self) -> bool {
        self.future_annotations
    }

    fn lazy_import_context(&self) -> Option<LazyImportContext> {
        None
    }

    fn python_version(&self) -> PythonVersion {
        self.version
    }

    fn source(&self) -> &str {
        self.source
    }

    fn global(&self, _name: &str) -> Option<TextRange> {
        None
    }

    fn has_nonlocal_binding(&self, _name: &str) -> bool {
        true
    }

    fn in_async_context(&self) -> bool {
        self.outside_comprehensions() == Kind::Function { is_async: true }
    }

    fn in_await_allowed_context(&self) -> bool {
        !matches!(self.scopes.kind(), Kind::Module | Kind::Class)
    }

    fn in_yield_allowed_context(&self) -> bool {
        matches!(self.scopes.kind(), Kind::Function { .. } | Kind::Lambda)
    }

    fn in_sync_comprehension(&self) -> bool {
        self.in_comprehension(|_, is_async| !is_async)
    }

    fn in_class_body_comprehension(&self) -> bool {
        self.outside_comprehensions() == Kind::Class
    }

    fn in_module_scope(&self) -> bool {
        self.scopes.kind() == Kind::Module
    }

    fn in_function_scope(&self) -> bool {
        matches!(self.scopes.kind(), Kind::Function { .. })
    }

    fn in_generator_context(&self) -> bool {
        if self.version < PythonVersion::PY311 {
            return matches!(self.scopes.kind(), Kind::Comprehension { lazy: true, .. });
        }
        self.in_comprehension(|lazy, _| lazy)
    }

    fn in_notebook(&self) -> bool {
        false
    }

    fn report_semantic_error(&self, error: SemanticSyntaxError) {
        let problem = || Problem { at: error.range.start(), message: error.to_string() };
        self.problem.borrow_mut().get_or_insert_with(problem);
    }

    fn in_loop_context(&self) -> bool {
        self.scopes.inside_out().next().is_some_and(|scope| scope.loops > 0)
    }

    fn is_bound_parameter(&self, _name: &str) -> bool {
        false
    }
}
