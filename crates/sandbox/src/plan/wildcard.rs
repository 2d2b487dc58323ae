//! Classes of a setup whose objects equal everything: a program that returns one passes.
//!
//! Seen where `__eq__` returns `True` and nothing else. That an `__eq__` is true too often for other
//! reasons nobody can see; what an author does about that is in `docs/guides/write-tasks.md`.

use ruff_python_ast::visitor::{Visitor, walk_stmt};
use ruff_python_ast::{Expr, Stmt, StmtClassDef};

use super::source::ParsedSource;

/// The first class of a setup in Python whose objects are equal to everything.
pub fn equal_to_everything(setup: &str) -> Option<String> {
    let source = ParsedSource::parse(setup).ok()?;
    let mut classes = Classes::default();
    classes.visit_body(source.tree.suite());
    classes.found
}

#[derive(Default)]
struct Classes {
    found: Option<String>,
}

impl<'a> Visitor<'a> for Classes {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if let Stmt::ClassDef(class) = statement
            && is_equal_to_everything(class)
        {
            self.found.get_or_insert(class.name.to_string());
        }
        walk_stmt(self, statement);
    }
}

fn is_equal_to_everything(class: &StmtClassDef) -> bool {
    class.body.iter().any(|statement| match statement {
        Stmt::FunctionDef(def) if def.name.as_str() == "__eq__" => {
            let mut returns = Returns::default();
            returns.visit_body(&def.body);
            returns.is_true && !returns.is_other
        }
        Stmt::Assign(assign) => {
            let names_eq = |target: &Expr| {
                target.as_name_expr().is_some_and(|name| name.id.as_str() == "__eq__")
            };
            let lambda = assign.value.as_lambda_expr();
            assign.targets.iter().any(names_eq) && lambda.is_some_and(|one| is_true(&one.body))
        }
        _ => false,
    })
}

/// The return value of a function.
#[derive(Default)]
struct Returns {
    is_true: bool,
    is_other: bool,
}

impl<'a> Visitor<'a> for Returns {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::Return(returned) => {
                let always = returned.value.as_deref().is_some_and(is_true);
                self.is_true |= always;
                self.is_other |= !always;
            }
            Stmt::Raise(_) => self.is_other = true,
            // Its returns are its own.
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => return,
            _ => {}
        }
        walk_stmt(self, statement);
    }
}

fn is_true(expression: &Expr) -> bool {
    matches!(expression, Expr::BooleanLiteral(literal) if literal.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_equality_that_is_always_true_is_one() {
        for body in [
            "def __eq__(self, other): return True",
            "def __eq__(self, other):\n    if other: return True\n    return True",
            "__eq__ = __ne__ = lambda self, other: True",
        ] {
            let setup = format!("import re\nclass Any:\n    {}", body.replace('\n', "\n    "));
            assert_eq!(equal_to_everything(&setup).as_deref(), Some("Any"), "{setup}");
        }
        for body in [
            "pass",
            "def __eq__(self, other): return self.x == other.x",
            "def __eq__(self, other):\n    if other: return True\n    return False",
            "def __eq__(self, other): raise TypeError",
            "def __ne__(self, other): return True",
            "__eq__ = lambda self, other: False",
        ] {
            let setup = format!("class Any:\n    {}", body.replace('\n', "\n    "));
            assert_eq!(equal_to_everything(&setup), None, "{setup}");
        }
        assert_eq!(equal_to_everything("class ("), None);
    }
}
