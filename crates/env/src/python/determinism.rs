//! Whether a program may do something else the next time.
//!
//! A verdict is cached only for programs that do the same each time. This looks for what can differ
//! between two runs: clocks, threads, chance beyond the seeded generator, addresses, files, the
//! environment, and the doors through which any of these can be reached unseen. It says yes too
//! often rather than too rarely: a false alarm costs one run of the program.
//!
//! Plain `random.random()` is not flagged: the judge seeds that generator. Nor is the order of sets:
//! the judge fixes the seed of string hashes.

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{self as ast, Expr, Stmt};

use super::syntax::Module;
use crate::stack::BigStack;

/// Modules that have no other use, or too many.
const MODULES: [&str; 52] = [
    "_thread",
    "aiohttp",
    "asyncio",
    "atexit",
    "builtins",
    "code",
    "codecs",
    "concurrent",
    "ctypes",
    "dis",
    "faulthandler",
    "fcntl",
    "gc",
    "getpass",
    "glob",
    "http",
    "imp",
    "importlib",
    "inspect",
    "locale",
    "logging",
    "mmap",
    "multiprocessing",
    "nturl2path",
    "os",
    "pathlib",
    "pickle",
    "pkgutil",
    "platform",
    "posix",
    "pwd",
    "requests",
    "resource",
    "runpy",
    "sched",
    "secrets",
    "select",
    "shutil",
    "signal",
    "site",
    "socket",
    "ssl",
    "subprocess",
    "tempfile",
    "threading",
    "time",
    "timeit",
    "traceback",
    "tracemalloc",
    "urllib",
    "uuid",
    "weakref",
];

/// Builtins that show an address, a hash, a file or any module.
const NAMES: [&str; 17] = [
    "__builtins__",
    "__file__",
    "__import__",
    "__loader__",
    "__spec__",
    "breakpoint",
    "compile",
    "delattr",
    "dir",
    "eval",
    "exec",
    "globals",
    "hash",
    "id",
    "locals",
    "open",
    "vars",
];

/// Attributes that show the clock, the system, or the inside of an object.
const ATTRIBUTES: [&str; 28] = [
    "SystemRandom",
    "_getframe",
    "cr_frame",
    "currentframe",
    "environ",
    "f_back",
    "f_globals",
    "f_locals",
    "format_map",
    "getrefcount",
    "getstate",
    "gi_frame",
    "intern",
    "modules",
    "now",
    "perf_counter",
    "settrace",
    "setprofile",
    "setrecursionlimit",
    "setswitchinterval",
    "stdin",
    "tb_frame",
    "time",
    "time_ns",
    "today",
    "urandom",
    "utcnow",
    "setstate",
];

/// Double underscores that are written every day and show nothing.
const HARMLESS: [&str; 6] =
    ["__init__", "__name__", "__doc__", "__len__", "__getitem__", "__contains__"];

/// Whether two runs of a program may differ.
pub fn may_vary(module: &Module<'_>, _stack: &BigStack) -> bool {
    let mut walk = Walk::default();
    walk.visit_body(&module.parsed.syntax().body);
    walk.varies || (walk.bare_class && walk.shows)
}

#[derive(Debug, Default)]
struct Walk {
    varies: bool,
    /// A class whose instances show their address when printed.
    bare_class: bool,
    /// Something is made into text.
    shows: bool,
}

impl Walk {
    fn flag(&mut self, condition: bool) {
        self.varies |= condition;
    }

    fn module(&mut self, path: &str) {
        let first = path.split('.').next().unwrap_or(path);
        self.flag(MODULES.contains(&first) || path == "numpy.random");
    }

    fn attribute(&mut self, name: &str) {
        let inside = name.starts_with("__") && name.ends_with("__") && !HARMLESS.contains(&name);
        self.flag(inside || ATTRIBUTES.contains(&name));
    }

    fn class(&mut self, class: &ast::StmtClassDef) {
        let methods = || class.body.iter().filter_map(Stmt::as_function_def_stmt);
        let has = |name: &str| methods().any(|method| method.name.as_str() == name);
        self.bare_class |= !has("__repr__");
        self.flag(has("__del__") || has("__hash__"));
    }

    fn call(&mut self, call: &ast::ExprCall) {
        let arguments = &call.arguments;
        let name = match &*call.func {
            Expr::Name(name) => name.id.as_str(),
            Expr::Attribute(attribute) => attribute.attr.as_str(),
            _ => return,
        };
        match name {
            // Without a seed, or with none, the seed comes from the system.
            "seed" | "Random" | "default_rng" | "RandomState" => {
                let seeded =
                    arguments.args.first().is_some_and(|seed| !seed.is_none_literal_expr());
                self.flag(!seeded);
            }
            "getattr" | "setattr" | "hasattr" | "attrgetter" | "methodcaller" => {
                let literal = |expr: &Expr| expr.as_string_literal_expr().is_some();
                let at = usize::from(name.ends_with("attr"));
                match arguments.args.get(at) {
                    Some(Expr::StringLiteral(text)) => self.attribute(text.value.to_str()),
                    Some(other) => self.flag(!literal(other)),
                    None => self.flag(true),
                }
            }
            "object" => self.flag(true),
            "repr" | "ascii" | "str" | "format" | "print" => self.shows = true,
            _ => {}
        }
        let shown = matches!(name, "repr" | "ascii" | "str" | "format");
        self.flag(shown && arguments.args.iter().any(Expr::is_lambda_expr));
    }
}

impl<'a> Visitor<'a> for Walk {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Import(statement) => {
                statement.names.iter().for_each(|alias| self.module(&alias.name));
            }
            Stmt::ImportFrom(statement) => {
                let path = statement.module.as_deref().unwrap_or_default();
                self.module(path);
                for alias in &statement.names {
                    self.flag(alias.name.as_str() == "*");
                    self.attribute(&alias.name);
                    self.module(&format!("{path}.{}", alias.name.as_str()));
                }
            }
            Stmt::FunctionDef(function) => self.flag(function.is_async),
            Stmt::ClassDef(class) => self.class(class),
            _ => {}
        }
        visitor::walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) => {
                self.flag(NAMES.contains(&name.id.as_str()));
                // Handing one of these on lets them be called out of sight.
                self.shows |= matches!(name.id.as_str(), "repr" | "ascii" | "str" | "format");
            }
            Expr::Attribute(attribute) => {
                self.attribute(&attribute.attr);
                let numpy = attribute.value.as_name_expr().is_some_and(|name| {
                    matches!(name.id.as_str(), "np" | "numpy")
                        && attribute.attr.as_str() == "random"
                });
                self.flag(numpy);
                self.shows |= attribute.attr.as_str() == "format";
            }
            Expr::Call(call) => self.call(call),
            Expr::Await(_) => self.flag(true),
            Expr::FString(_) | Expr::TString(_) => self.shows = true,
            Expr::BinOp(binary) => self.shows |= binary.op == ast::Operator::Mod,
            // A format such as "{0.__class__}" looks inside without an attribute in sight.
            Expr::StringLiteral(text) => {
                let text = text.value.to_str();
                self.flag(text.contains(".__") || text.contains("[__"));
            }
            _ => {}
        }
        visitor::walk_expr(self, expr);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::python::PythonVersion;
    use crate::python::syntax::check;
    use crate::stack::on_big_stack;

    fn varies(source: &str) -> bool {
        on_big_stack(|stack| {
            may_vary(&check(source, PythonVersion::PY313, stack).expect(source), stack)
        })
        .unwrap()
    }

    #[test]
    fn what_differs_between_runs_is_flagged() {
        for source in [
            "import time",
            "from time import perf_counter as p",
            "import os.path",
            "from datetime import datetime\ndatetime.now()",
            "import datetime as d\nd.date.today()",
            "import threading",
            "async def f(): pass",
            "import random\nrandom.seed()",
            "import random\nrandom.seed(None)",
            "from random import SystemRandom",
            "import random\nrandom.Random().random()",
            "import secrets",
            "import uuid",
            "import numpy as np\nnp.random.rand()",
            "from numpy import random",
            "id(1)",
            "f = hash",
            "object()",
            "str(lambda: 1)",
            "class A: pass\nprint(A())",
            "class A: pass\nlist(map(str, [A()]))",
            "open('x')",
            "import gc",
            "import sys\nsys._getframe()",
            "import sys\nsys.modules",
            "__import__('time')",
            "exec('1')",
            "eval('1')",
            "globals()",
            "getattr(a, b)",
            "getattr(a, '__class__')",
            "().__class__.__subclasses__()",
            "'{0.__class__}'.format(1)",
            "import ctypes",
            "from sys import *",
            "class A:\n    def __del__(self): pass",
        ] {
            assert!(varies(source), "{source}");
        }
    }

    #[test]
    fn what_is_the_same_in_each_run_is_not() {
        for source in [
            "import random\nrandom.random()",
            "import random\nrandom.seed(7)\nrandom.shuffle([1])",
            "import math, re, collections, itertools, heapq\nmath.sqrt(2)",
            "from datetime import date\ndate(2020, 1, 1)",
            "def f(x):\n    return sorted(set(x))",
            "class A:\n    def __init__(self): self.x = 1\n    def __repr__(self): return f'{self.x}'",
            "class A:\n    def __init__(self): self.x = 1\na = A().x + 1",
            "getattr(a, 'x')",
            "import sys\nsys.maxsize",
            "print('a %s' % 1)",
        ] {
            assert!(!varies(source), "{source}");
        }
    }
}
