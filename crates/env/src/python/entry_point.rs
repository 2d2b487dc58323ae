//! Whether a program defines what its tests call: the gate `entry_point`.
//!
//! It is read off the program and not off a verdict, so that it also holds where nothing is run. A
//! program *defines* a name that is bound at the top of its module whichever way it goes: by `def`,
//! `class`, an import or an assignment, in both branches of an `if`. A name that is bound on the way
//! through a loop or one branch, or that could be bound out of sight (`globals()["f"] = …`, `exec`),
//! is *unknown*: where the program ran, only a test that passed shows that it is there; where nothing
//! was run it is not held against the program.

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Alias, ElifElseClause, ExceptHandler, Expr, ExprContext, Stmt, StmtTry};
use whetstone_core::task::Task;
use whetstone_core::tests::Tests;
use whetstone_sandbox::plan::{bound_names, is_builtin};

use super::roots;
use super::syntax::Module;
use crate::stack::BigStack;

/// Functions through which names can be bound out of sight.
const INDIRECT: [&str; 7] = ["exec", "eval", "globals", "locals", "vars", "setattr", "__import__"];

/// What can be said of what the tests call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryPoint {
    /// The program defines it.
    Defined,
    /// Nobody can say without running it.
    Unknown,
    /// The program has nothing of that name.
    Absent,
}

/// Whether a program defines what the tests of `task` call.
pub(super) fn of(module: &Module<'_>, task: &Task, _stack: &BigStack) -> EntryPoint {
    let wanted = wanted(task);
    let body = &module.parsed.syntax().body;
    if wanted.is_empty() || binds(body, &wanted) {
        return EntryPoint::Defined;
    }
    let mut ways = Ways { wanted: &wanted, found: false };
    ways.visit_body(body);
    if ways.found { EntryPoint::Unknown } else { EntryPoint::Absent }
}

/// Names of which the program must bind one; none if nobody can say.
fn wanted(task: &Task) -> Vec<&str> {
    match &task.tests {
        Tests::Calls { entry_point, .. } | Tests::Script { entry_point, .. } => {
            roots::of_entry_point(entry_point)
        }
        Tests::Asserts(suite) => {
            let of_setup = bound_names(&task.setup);
            let own = |name: &&str| !is_builtin(name) && !of_setup.contains(*name);
            roots::called_by_themselves(suite).into_iter().filter(own).collect()
        }
        Tests::Stdio(_) | Tests::Absent => Vec::new(),
    }
}

/// Whether statements bind one of the names whichever way they go.
fn binds(body: &[Stmt], wanted: &[&str]) -> bool {
    let is_wanted = |name: &str| wanted.contains(&name);
    body.iter().any(|stmt| match stmt {
        Stmt::FunctionDef(function) => is_wanted(&function.name),
        Stmt::ClassDef(class) => is_wanted(&class.name),
        Stmt::Import(import) => import.names.iter().any(|alias| is_wanted(imported(alias))),
        Stmt::ImportFrom(import) => import.names.iter().any(|alias| is_wanted(imported(alias))),
        Stmt::Assign(assign) => assign.targets.iter().any(|target| stores(target, wanted)),
        Stmt::AnnAssign(assign) => assign.value.is_some() && stores(&assign.target, wanted),
        Stmt::With(with) => binds(&with.body, wanted),
        Stmt::If(choice) => {
            let clauses = &choice.elif_else_clauses;
            let has_else = clauses.last().is_some_and(|clause| clause.test.is_none());
            let each = |clause: &ElifElseClause| binds(&clause.body, wanted);
            has_else && binds(&choice.body, wanted) && clauses.iter().all(each)
        }
        Stmt::Try(tried) => tries(tried, wanted),
        _ => false,
    })
}

/// Whether a `try` binds one of the names, also where an exception is caught.
fn tries(tried: &StmtTry, wanted: &[&str]) -> bool {
    let handled = |handler: &ExceptHandler| {
        let ExceptHandler::ExceptHandler(handler) = handler;
        let leaves = handler.body.iter().any(Stmt::is_raise_stmt);
        leaves || binds(&handler.body, wanted)
    };
    let tries = binds(&tried.body, wanted) || binds(&tried.orelse, wanted);
    binds(&tried.finalbody, wanted) || tries && tried.handlers.iter().all(handled)
}

/// Whether an assignment to `target` binds one of the names.
fn stores(target: &Expr, wanted: &[&str]) -> bool {
    match target {
        Expr::Name(name) => wanted.contains(&name.id.as_str()),
        Expr::Tuple(tuple) => tuple.elts.iter().any(|one| stores(one, wanted)),
        Expr::List(list) => list.elts.iter().any(|one| stores(one, wanted)),
        Expr::Starred(starred) => stores(&starred.value, wanted),
        _ => false,
    }
}

/// The name that an import binds.
fn imported(alias: &Alias) -> &str {
    let name = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
    name.split('.').next().unwrap_or(name)
}

/// Looks for ways in which one of the names may be bound after all.
struct Ways<'w> {
    wanted: &'w [&'w str],
    found: bool,
}

impl Ways<'_> {
    fn bind(&mut self, name: &str) {
        self.found |= self.wanted.contains(&name);
    }

    /// What a function does is seen only where it reaches beyond its own names.
    fn inside(&mut self, body: &[Stmt]) {
        let mut inner = Reach { wanted: self.wanted, found: false };
        inner.visit_body(body);
        self.found |= inner.found;
    }
}

impl<'a> Visitor<'a> for Ways<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(function) => {
                self.bind(&function.name);
                return self.inside(&function.body);
            }
            Stmt::ClassDef(class) => {
                self.bind(&class.name);
                return self.inside(&class.body);
            }
            // An annotation alone binds nothing.
            Stmt::AnnAssign(assign) if assign.value.is_none() => return,
            Stmt::Import(import) => import.names.iter().for_each(|one| self.bind(imported(one))),
            Stmt::ImportFrom(import) => {
                for alias in &import.names {
                    self.found |= alias.name.as_str() == "*";
                    self.bind(imported(alias));
                }
            }
            _ => {}
        }
        visitor::walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Name(name) = expr
            && name.ctx == ExprContext::Store
        {
            // A loop over nothing binds nothing, and what may be nothing is unknown.
            self.bind(&name.id);
        }
        self.found |= reaches_out(expr, self.wanted);
        visitor::walk_expr(self, expr);
    }
}

/// Looks for ways out of a function's own names.
struct Reach<'w> {
    wanted: &'w [&'w str],
    found: bool,
}

impl<'a> Visitor<'a> for Reach<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if let Stmt::Global(global) = stmt {
            self.found |= global.names.iter().any(|name| self.wanted.contains(&name.as_str()));
        }
        visitor::walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        self.found |= reaches_out(expr, self.wanted);
        visitor::walk_expr(self, expr);
    }
}

/// Whether an expression may bind a name of the module without saying so.
fn reaches_out(expr: &Expr, wanted: &[&str]) -> bool {
    match expr {
        Expr::Call(call) => {
            call.func.as_name_expr().is_some_and(|name| INDIRECT.contains(&name.id.as_str()))
        }
        Expr::Attribute(attribute) if attribute.ctx == ExprContext::Store => {
            wanted.contains(&attribute.attr.as_str())
        }
        Expr::Attribute(attribute) => attribute.attr.as_str() == "__dict__",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use whetstone_core::wire::Wire;

    use super::*;
    use crate::python::PythonVersion;
    use crate::python::syntax::check;
    use crate::stack::on_big_stack;

    fn task(setup: &str, tests: &serde_json::Value) -> Task {
        let line = serde_json::json!({"id": "a", "statement": "s", "setup": setup, "tests": tests});
        Task::from_object(serde_json::from_str(&line.to_string()).unwrap()).unwrap()
    }

    fn asserts(assert: &str) -> serde_json::Value {
        serde_json::json!({"kind": "asserts", "hidden": [assert]})
    }

    #[track_caller]
    fn says(task: &Task, source: &str, expected: EntryPoint) {
        let found = on_big_stack(|stack| {
            let module = check(source, PythonVersion::latest(), stack).expect(source);
            of(&module, task, stack)
        });
        assert_eq!(found.unwrap(), expected, "{source}");
    }

    #[test]
    fn a_name_counts_that_is_bound_whichever_way_the_module_goes() {
        let task = task("", &asserts("assert sorted(add(1, 2)) == [3]"));
        for source in [
            "def add(a, b): return a",
            "async def add(a, b): return a",
            "class add: pass",
            "add = lambda a, b: a",
            "(add, other) = f, g",
            "from operator import add",
            "from operator import sub as add",
            "if x:\n    add = 1\nelse:\n    def add(): pass",
            "try:\n    from fast import add\nexcept ImportError:\n    def add(a, b): return a",
            "try:\n    add = 1\nexcept ImportError:\n    raise",
            "with x:\n    add = 1",
        ] {
            says(&task, source, EntryPoint::Defined);
        }
        for source in [
            "from operator import *",
            "if x:\n    add = 1",
            "try:\n    from fast import add\nexcept ImportError:\n    pass",
            "def make():\n    global add\n    add = 1\nmake()",
            "globals()['a' + 'dd'] = 1",
            "locals()['add'] = 1",
            "exec('add = 1')",
            "import sys\nsys.modules['__main__'].__dict__['add'] = 1",
            "import sys\nsys.modules[__name__].add = lambda a, b: a",
            "def f(m):\n    setattr(m, 'add', 1)",
            "for add in [f]: pass",
            "for add in []: pass",
        ] {
            says(&task, source, EntryPoint::Unknown);
        }
        for source in [
            "pass",
            "x = 1",
            "eval",
            "x = globals, exec",
            "def g(add):\n    return add",
            "def g():\n    add = 1",
            "class A:\n    def add(self): pass",
            "add: int",
            "def plus(a, b): return a + b",
            "print(add)",
            "'add'",
            "import add.x as y",
        ] {
            says(&task, source, EntryPoint::Absent);
        }
    }

    #[test]
    fn helpers_of_the_setup_and_builtins_are_not_asked_of_the_program() {
        let setup = "import math\nfrom x import near\ndef close(want):\n    return abs(add() - want)\nlimit = max\nif True:\n    (near2, far) = near, near\nwith x as deep: pass";
        for assert in [
            "assert close(5)",
            "assert near(math.pi)",
            "assert limit(RESULT)",
            "assert near2(RESULT) and deep(RESULT)",
            "assert len(RESULT) == 1",
            "assert RESULT",
        ] {
            says(
                &task(setup, &asserts(assert)),
                "RESULT = [1]\ndef add(): return 1",
                EntryPoint::Defined,
            );
        }
        let both = task(setup, &asserts("assert close(add(1))"));
        says(&both, "def add(x): return x", EntryPoint::Defined);
        says(&both, "def sub(x): return x", EntryPoint::Absent);
    }

    #[test]
    fn an_entry_point_may_be_a_method() {
        let calls = |name: &str| {
            let hidden = serde_json::json!([{"args": [], "expected": 1}]);
            task("", &serde_json::json!({"kind": "calls", "entry_point": name, "hidden": hidden}))
        };
        says(&calls("add"), "class Solution:\n    def add(self): return 1", EntryPoint::Defined);
        says(&calls("add"), "class Other:\n    def sub(self): return 1", EntryPoint::Absent);
        says(&calls("Queue.push"), "class Queue: pass", EntryPoint::Defined);
        says(&calls("Queue.push"), "class Stack: pass", EntryPoint::Absent);
        let stdio = serde_json::json!({"kind": "stdio", "hidden": [{"input": "", "output": "1"}]});
        says(&task("", &stdio), "pass", EntryPoint::Defined);
    }
}
