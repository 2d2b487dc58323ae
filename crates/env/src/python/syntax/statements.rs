//! Statements that open blocks, bind names or leave blocks, as `CPython` compiles them.

use ruff_python_ast::visitor::Visitor;
use ruff_python_ast::{self as ast, Expr, PythonVersion, Stmt};
use ruff_text_size::Ranged;

use super::context::NotInAnnotation;
use super::semantic::Walk;

/// `CO_MAXBLOCKS`, with the change in how 3.13 counts.
fn max_blocks(version: PythonVersion) -> u32 {
    match version {
        v if v < PythonVersion::PY313 => 20,
        PythonVersion::PY313 => 21,
        _ => 40,
    }
}

impl<'a> Walk<'a> {
    /// Walks a body inside `count` more blocks.
    pub(super) fn body_in_blocks(&mut self, body: &'a [Stmt], count: u32) {
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

    pub(super) fn loop_body(&mut self, body: &'a [Stmt], orelse: &'a [Stmt]) {
        self.context.scopes.current().loops += 1;
        self.body_in_blocks(body, 1);
        self.context.scopes.current().loops -= 1;
        self.visit_body(orelse);
    }

    /// `CPython` counts a block for each of: `finally`, a body with handlers, and two for a handler.
    pub(super) fn try_statement(&mut self, statement: &'a ast::StmtTry) {
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
    pub(super) fn leaves(&mut self, stmt: &Stmt) {
        let scope = self.context.scopes.current();
        let Some(loops) = scope.except_star else { return };
        if stmt.is_return_stmt() || scope.loops == loops {
            self.refuse(stmt.start(), "`break`, `continue` and `return` cannot leave `except*`");
        }
    }

    pub(super) fn imports(&mut self, names: &'a [ast::Alias]) {
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

    pub(super) fn annotated(&mut self, statement: &'a ast::StmtAnnAssign) {
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

    pub(super) fn if_statement(&mut self, statement: &'a ast::StmtIf) {
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

    pub(super) fn with_statement(&mut self, statement: &'a ast::StmtWith) {
        for item in &statement.items {
            self.visit_with_item(item);
        }
        let count = u32::try_from(statement.items.len()).unwrap_or(u32::MAX / 2);
        self.body_in_blocks(&statement.body, count);
    }
}
