//! What the walk tells Ruff's semantic checker of the place it has reached.
//!
//! `global` and `nonlocal` are [`super::scopes`]' business, so the checker is told that all is well
//! with them.

use std::cell::RefCell;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, PythonVersion};
use ruff_python_parser::semantic_errors::{
    LazyImportContext, SemanticSyntaxContext, SemanticSyntaxError,
};
use ruff_text_size::{Ranged, TextRange, TextSize};

use super::Problem;
use super::scopes::{Kind, Scopes};

/// Where in a program the walk is.
pub(super) struct Context<'a> {
    pub(super) source: &'a str,
    pub(super) version: PythonVersion,
    pub(super) scopes: Scopes<'a>,
    pub(super) future_annotations: bool,
    pub(super) problem: RefCell<Option<Problem>>,
}

impl<'a> Context<'a> {
    pub(super) fn new(source: &'a str, version: PythonVersion) -> Self {
        let (scopes, problem) = (Scopes::new(), RefCell::new(None));
        Self { source, version, scopes, future_annotations: false, problem }
    }

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

/// Finds what an annotation that is kept as text cannot hold.
pub(super) struct NotInAnnotation(pub(super) Option<TextSize>);

impl Visitor<'_> for NotInAnnotation {
    fn visit_expr(&mut self, expr: &Expr) {
        if matches!(expr, Expr::Yield(_) | Expr::YieldFrom(_) | Expr::Await(_) | Expr::Named(_)) {
            self.0.get_or_insert(expr.start());
        }
        visitor::walk_expr(self, expr);
    }
}
