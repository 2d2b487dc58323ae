//! Whether a program defines what its tests call: the gate `entry_point`.
//!
//! It is read off the program and not off a verdict, so that it also holds where nothing is run. It
//! says no only if none of the names that the tests call is bound anywhere in the program, and the
//! program has no way to bind a name out of sight. A program that passed a test defines what the test
//! called, whatever is said here.

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Alias, Expr, ExprContext, Stmt};
use whetstone_core::task::Task;
use whetstone_core::tests::Tests;

use super::roots;
use super::syntax::Module;
use crate::stack::BigStack;

/// A method of a class with this name is found under the method's own name.
const SOLUTION: &str = "Solution";

/// Names through which others can be bound out of sight.
const INDIRECT: [&str; 6] = ["exec", "eval", "globals", "vars", "setattr", "__builtins__"];

/// Functions that asserts call around the program's.
const BUILTINS: [&str; 44] = [
    "abs",
    "all",
    "any",
    "ascii",
    "bin",
    "bool",
    "bytearray",
    "bytes",
    "callable",
    "chr",
    "complex",
    "dict",
    "divmod",
    "enumerate",
    "filter",
    "float",
    "format",
    "frozenset",
    "getattr",
    "hasattr",
    "hex",
    "int",
    "isinstance",
    "issubclass",
    "iter",
    "len",
    "list",
    "map",
    "max",
    "min",
    "next",
    "oct",
    "ord",
    "pow",
    "range",
    "repr",
    "reversed",
    "round",
    "set",
    "sorted",
    "str",
    "sum",
    "tuple",
    "zip",
];

/// Whether a program may define what the tests of `task` call.
pub(super) fn may_be_defined(module: &Module<'_>, task: &Task, _stack: &BigStack) -> bool {
    let wanted = wanted(task);
    if wanted.is_empty() {
        return true;
    }
    let mut bindings = Bindings { wanted: &wanted, found: false };
    bindings.visit_body(&module.parsed.syntax().body);
    bindings.found
}

/// Names of which the program must bind one; none if nobody can say.
fn wanted(task: &Task) -> Vec<&str> {
    match &task.tests {
        Tests::Calls { entry_point, .. } | Tests::Script { entry_point, .. } => {
            match entry_point.split_once('.') {
                Some((class, _)) => vec![class],
                None => vec![entry_point, SOLUTION],
            }
        }
        Tests::Asserts(suite) => {
            let own = |name: &&str| !BUILTINS.contains(name) && !is_bound_by(&task.setup, name);
            roots::called_by_themselves(suite).into_iter().filter(own).collect()
        }
        Tests::Stdio(_) => Vec::new(),
    }
}

/// Whether a line of the task's setup binds `name`, as far as its first words show.
fn is_bound_by(setup: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    setup.lines().any(|line| {
        let mut words = line.split(|c: char| !is_part(c)).filter(|word| !word.is_empty());
        match words.next() {
            Some("def" | "class") => words.next() == Some(name),
            Some("async") => words.nth(1) == Some(name),
            Some("import" | "from") => words.any(|word| word == name),
            Some(first) => {
                first == name && line.trim_start()[name.len()..].trim_start().starts_with('=')
            }
            None => false,
        }
    })
}

struct Bindings<'w> {
    wanted: &'w [&'w str],
    found: bool,
}

impl Bindings<'_> {
    fn bind(&mut self, name: &str) {
        self.found |= self.wanted.contains(&name);
    }

    fn import(&mut self, alias: &Alias) {
        let name = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
        self.found |= name == "*";
        self.bind(name.split('.').next().unwrap_or(name));
    }
}

impl<'a> Visitor<'a> for Bindings<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if self.found {
            return;
        }
        match stmt {
            Stmt::FunctionDef(function) => self.bind(&function.name),
            Stmt::ClassDef(class) => self.bind(&class.name),
            Stmt::Import(import) => import.names.iter().for_each(|alias| self.import(alias)),
            Stmt::ImportFrom(import) => import.names.iter().for_each(|alias| self.import(alias)),
            _ => {}
        }
        visitor::walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) if name.ctx == ExprContext::Store => self.bind(&name.id),
            Expr::Name(name) => self.found |= INDIRECT.contains(&name.id.as_str()),
            Expr::Attribute(attribute) => self.found |= attribute.attr.as_str() == "__dict__",
            _ => {}
        }
        visitor::walk_expr(self, expr);
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
    fn says(task: &Task, source: &str, expected: bool) {
        let found = on_big_stack(|stack| {
            let module = check(source, PythonVersion::latest(), stack).expect(source);
            may_be_defined(&module, task, stack)
        });
        assert_eq!(found.unwrap(), expected, "{source}");
    }

    #[test]
    fn a_name_counts_however_it_is_bound() {
        let task = task("", &asserts("assert sorted(add(1, 2)) == [3]"));
        for source in [
            "def add(a, b): return a",
            "async def add(a, b): return a",
            "class add: pass",
            "add = lambda a, b: a",
            "(add, other) = f, g",
            "from operator import add",
            "from operator import sub as add",
            "from operator import *",
            "if True:\n    add = 1",
            "def make():\n    global add\n    add = 1\nmake()",
            "globals()['a' + 'dd'] = 1",
            "exec('add = 1')",
            "import sys\nsys.modules['__main__'].__dict__['add'] = 1",
            "for add in [f]: pass",
        ] {
            says(&task, source, true);
        }
        for source in [
            "pass",
            "x = 1",
            "def plus(a, b): return a + b",
            "print(add)",
            "'add'",
            "import add.x as y",
        ] {
            says(&task, source, false);
        }
    }

    #[test]
    fn helpers_of_the_setup_and_builtins_are_not_asked_of_the_program() {
        let setup = "import math\nfrom x import near\ndef close(want):\n    return abs(add() - want)\nlimit = max";
        for assert in [
            "assert close(5)",
            "assert near(math.pi)",
            "assert limit(RESULT)",
            "assert len(RESULT) == 1",
            "assert RESULT",
        ] {
            says(&task(setup, &asserts(assert)), "RESULT = [1]\ndef add(): return 1", true);
        }
        let both = task(setup, &asserts("assert close(add(1))"));
        says(&both, "def add(x): return x", true);
        says(&both, "def sub(x): return x", false);
    }

    #[test]
    fn an_entry_point_may_be_a_method() {
        let calls = |name: &str| {
            let hidden = serde_json::json!([{"args": [], "expected": 1}]);
            task("", &serde_json::json!({"kind": "calls", "entry_point": name, "hidden": hidden}))
        };
        says(&calls("add"), "class Solution:\n    def add(self): return 1", true);
        says(&calls("add"), "class Other:\n    def sub(self): return 1", false);
        says(&calls("Queue.push"), "class Queue: pass", true);
        says(&calls("Queue.push"), "class Stack: pass", false);
        let stdio = serde_json::json!({"kind": "stdio", "hidden": [{"input": "", "output": "1"}]});
        says(&task("", &stdio), "pass", true);
    }
}
