//! Whether a program may do something else the next time.
//!
//! A verdict is cached only for programs that do the same each time. Everything varies that is not
//! known to be steady ([`steady`]): a module that is not listed, or a name of it that is not; a name
//! that neither the program binds nor a steady builtin has; attributes with double underscores. What
//! is left is built from arithmetic, text and containers, and two things of these can still differ
//! between runs, because objects lie at other addresses: the text of an object that shows its
//! address, and the order of a set whose members are hashed by it.
//!
//! It says yes too often rather than too rarely: a false alarm costs one run of the program.
//! Plain `random.random()` is not flagged: the judge seeds that generator. Nor is the order of a set
//! of strings: the judge fixes the seed of their hashes.
//!
//! Not seen: an iterator or a bound method that reaches `str` through a container or a parameter.

mod names;
mod steady;

use std::collections::BTreeSet;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{self as ast, ExceptHandler, Expr, Stmt};

use self::names::Bound;
use self::steady::Names;
use super::syntax::Module;
use crate::stack::BigStack;

/// Calls that make an iterator, which shows its address as text.
const ITERATORS: [&str; 6] = ["map", "filter", "zip", "enumerate", "iter", "reversed"];

/// Calls that are handed functions every day, and neither show nor keep them.
const TAKES_FUNCTIONS: [&str; 16] = [
    "map",
    "filter",
    "sorted",
    "sort",
    "min",
    "max",
    "reduce",
    "isinstance",
    "issubclass",
    "super",
    "cmp_to_key",
    "partial",
    "defaultdict",
    "takewhile",
    "groupby",
    "accumulate",
];

/// Whether two runs of a program may differ.
pub fn may_vary(module: &Module<'_>, _stack: &BigStack) -> bool {
    let body = &module.parsed.syntax().body;
    let bound = Bound::of(body);
    let mut walk = Walk::new(&bound);
    walk.visit_body(body);
    walk.verdict()
}

#[expect(clippy::struct_excessive_bools, reason = "each is a finding of its own")]
struct Walk<'b> {
    bound: &'b Bound,
    varies: bool,
    /// There may be a value that shows its address as text.
    shows_address: bool,
    /// There may be a value that is hashed by its address.
    hashed_by_address: bool,
    /// Something is made into text.
    shows: bool,
    /// There is a set.
    sets: bool,
    /// Attributes that are read and not called.
    read: BTreeSet<String>,
}

impl<'b> Walk<'b> {
    fn new(bound: &'b Bound) -> Self {
        Self {
            bound,
            varies: false,
            shows_address: false,
            hashed_by_address: false,
            shows: false,
            sets: false,
            read: BTreeSet::new(),
        }
    }

    fn verdict(&self) -> bool {
        // What is no field of the program's own is a bound method for all we know.
        let is_data = |name: &String| {
            self.bound.fields.contains(name) || steady::DATA.contains(&name.as_str())
        };
        let shows_address = self.shows_address || !self.read.iter().all(is_data);
        self.varies || (self.shows && shows_address) || (self.sets && self.hashed_by_address)
    }

    fn flag(&mut self, condition: bool) {
        self.varies |= condition;
    }

    /// A value that is told from others by its address.
    fn has_address(&mut self) {
        (self.shows_address, self.hashed_by_address) = (true, true);
    }

    /// A name that is read, whatever for.
    fn name(&mut self, name: &str) {
        let is_error = name.ends_with("Error") || name.ends_with("Warning");
        let steady = is_error || steady::BUILTINS.contains(&name);
        self.flag(steady::UNSTEADY_BUILTINS.contains(&name));
        self.flag(!steady && !self.bound.all.contains(name));
        // How much memory or stack is left differs from run to run.
        self.flag(matches!(name, "MemoryError" | "RecursionError"));
        self.sets |= matches!(name, "set" | "frozenset");
        // Types are hashed by their addresses.
        self.hashed_by_address |= name == "type";
    }

    /// A name that is read for its value: not called, and no base of an attribute.
    fn value(&mut self, name: &str) {
        self.name(name);
        self.flag(is_out_of_sight(name));
        // A module that is handed on is used out of sight.
        self.flag(self.bound.module(name).is_some());
        self.shows |= is_shown_by(name);
        if self.bound.definitions.contains(name) {
            self.has_address();
        }
    }

    fn imported(&mut self, module: &str, name: &str) {
        let inner = steady::of_module(&format!("{module}.{name}")).is_some();
        let steady = match steady::of_module(module) {
            None => false,
            Some(Names::Only(names)) => names.contains(&name),
            Some(Names::Public) => {
                !name.starts_with('_') && name != "*" && !steady::INNER_MODULES.contains(&name)
            }
        };
        self.flag(!steady && !inner);
    }

    fn import(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Import(statement) => {
                for alias in &statement.names {
                    self.flag(steady::of_module(&alias.name).is_none());
                }
            }
            Stmt::ImportFrom(statement) => {
                self.flag(statement.level > 0);
                let module = statement.module.as_deref().unwrap_or_default();
                statement.names.iter().for_each(|alias| self.imported(module, &alias.name));
            }
            _ => {}
        }
    }

    fn attribute(&mut self, name: &str) {
        let inside = name.starts_with("__") && name.ends_with("__");
        self.flag(inside && !steady::HARMLESS.contains(&name));
        self.flag(steady::UNSTEADY_ATTRIBUTES.contains(&name));
        self.shows |= name == "format";
    }

    /// An attribute, and what it is of.
    fn attribute_of(&mut self, attribute: &ast::ExprAttribute) {
        let name = attribute.attr.as_str();
        let base = attribute.value.as_name_expr().map(|base| base.id.as_str());
        match base.and_then(|base| self.bound.module(base)) {
            Some(module) => self.imported(module, name),
            None => self.attribute(name),
        }
        match base {
            Some(base) => self.name(base),
            None => self.visit_expr(&attribute.value),
        }
    }

    fn class(&mut self, class: &ast::StmtClassDef) {
        let methods = || class.body.iter().filter_map(Stmt::as_function_def_stmt);
        let has = |name: &str| methods().any(|method| method.name.as_str() == name);
        self.flag(has("__del__") || has("__hash__"));
        if !is_plain_data(class) {
            self.shows_address |= !has("__repr__");
            self.hashed_by_address = true;
        }
    }

    fn call(&mut self, call: &ast::ExprCall) {
        let name = match &*call.func {
            Expr::Name(name) => {
                self.name(&name.id);
                self.flag(name.id.as_str() == "object");
                name.id.as_str()
            }
            Expr::Attribute(attribute) => {
                self.attribute_of(attribute);
                attribute.attr.as_str()
            }
            other => {
                self.visit_expr(other);
                ""
            }
        };
        self.shows |= is_shown_by(name);
        self.special(name, &call.arguments);
        let shows = is_shown_by(name);
        for argument in &call.arguments.args {
            self.argument(argument, name);
            self.shows_address |= shows && is_iterator(argument);
        }
        for keyword in &call.arguments.keywords {
            // `key=len`, `default_factory=list`: called and not kept.
            let takes =
                matches!(keyword.arg.as_deref(), Some("key" | "default_factory" | "default"));
            self.argument(&keyword.value, if takes { "sorted" } else { name });
        }
    }

    /// An argument of a call of `function`.
    fn argument(&mut self, argument: &Expr, function: &str) {
        match argument {
            Expr::Name(name) if TAKES_FUNCTIONS.contains(&function) => {
                self.name(&name.id);
                self.flag(self.bound.module(&name.id).is_some());
                self.flag(is_out_of_sight(&name.id));
                self.shows |= is_shown_by(&name.id);
            }
            Expr::Lambda(lambda) if TAKES_FUNCTIONS.contains(&function) => {
                visitor::walk_expr(self, &Expr::Lambda(lambda.clone()));
            }
            other => self.visit_expr(other),
        }
    }

    /// Calls that are steady only with the right arguments.
    fn special(&mut self, name: &str, arguments: &ast::Arguments) {
        match name {
            // Without a seed, or with none, the seed comes from the system; with a function it can
            // come from its address.
            "seed" | "Random" => {
                let is_value = |seed: &Expr| {
                    let definition = seed
                        .as_name_expr()
                        .is_some_and(|name| self.bound.definitions.contains(name.id.as_str()));
                    !definition && !seed.is_none_literal_expr() && !seed.is_lambda_expr()
                };
                let seeded = arguments.args.first().is_some_and(is_value);
                self.flag(!seeded);
            }
            "getattr" | "setattr" | "hasattr" => match arguments.args.get(1) {
                Some(Expr::StringLiteral(text)) => self.attribute(text.value.to_str()),
                _ => self.flag(true),
            },
            // With three arguments it makes a class out of sight.
            "type" => self.flag(arguments.args.len() != 1),
            _ => {}
        }
    }

    fn handler(&mut self, handler: &ast::ExceptHandlerExceptHandler) {
        // These catch that memory or stack ran out, too.
        let is_wide = |expr: &Expr| {
            expr.as_name_expr()
                .is_some_and(|name| matches!(name.id.as_str(), "Exception" | "BaseException"))
        };
        let wide = match handler.type_.as_deref() {
            None => true,
            Some(Expr::Tuple(tuple)) => tuple.iter().any(is_wide),
            Some(expr) => is_wide(expr),
        };
        self.flag(wide);
    }
}

/// Whether `name` can be called with anything once it is handed on.
fn is_out_of_sight(name: &str) -> bool {
    matches!(name, "object" | "getattr" | "setattr" | "hasattr")
}

/// Whether calling `name` makes text of its arguments.
fn is_shown_by(name: &str) -> bool {
    matches!(name, "repr" | "ascii" | "str" | "format" | "print")
}

fn is_iterator(expr: &Expr) -> bool {
    match expr {
        Expr::Generator(_) => true,
        Expr::Call(call) => {
            call.func.as_name_expr().is_some_and(|name| ITERATORS.contains(&name.id.as_str()))
        }
        _ => false,
    }
}

/// Whether instances show their fields, and are hashed by them or not at all.
fn is_plain_data(class: &ast::StmtClassDef) -> bool {
    let plain_base = |base: &Expr| {
        let name = base.as_name_expr().map_or("", |name| name.id.as_str());
        matches!(name, "Enum" | "IntEnum" | "NamedTuple" | "TypedDict")
            || name.ends_with("Error")
            || name.ends_with("Exception")
    };
    let dataclass =
        |expr: &Expr| expr.as_name_expr().is_some_and(|name| name.id.as_str() == "dataclass");
    class.bases().iter().any(plain_base)
        || class.decorator_list.iter().any(|decorator| match &decorator.expression {
            Expr::Call(call) => {
                let changes = |word: &ast::Keyword| {
                    !matches!(word.arg.as_deref(), Some("frozen" | "order" | "slots"))
                };
                dataclass(&call.func) && !call.arguments.keywords.iter().any(changes)
            }
            other => dataclass(other),
        })
}

/// Whether a format such as `{0.real}` reads attributes or items: it names them out of sight.
fn reads_inside(text: &str) -> bool {
    text.split('{').skip(1).any(|field| {
        let name = field.split(['}', ':', '!']).next().unwrap_or_default();
        name.contains(['.', '['])
    })
}

impl<'a> Visitor<'a> for Walk<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Import(_) | Stmt::ImportFrom(_) => self.import(stmt),
            Stmt::FunctionDef(function) => self.flag(function.is_async),
            Stmt::ClassDef(class) => {
                self.class(class);
                for base in class.bases() {
                    if let Expr::Name(name) = base {
                        self.name(&name.id);
                    } else {
                        self.visit_expr(base);
                    }
                }
                class.keywords().iter().for_each(|word| self.visit_expr(&word.value));
                class.decorator_list.iter().for_each(|item| self.visit_decorator(item));
                self.visit_body(&class.body);
                return;
            }
            Stmt::Assign(assign) => {
                let kept = assign.targets.iter().any(Expr::is_name_expr);
                self.shows_address |= kept && is_iterator(&assign.value);
            }
            _ => {}
        }
        visitor::walk_stmt(self, stmt);
    }

    fn visit_decorator(&mut self, decorator: &'a ast::Decorator) {
        match &decorator.expression {
            Expr::Name(name) => self.name(&name.id),
            other => self.visit_expr(other),
        }
    }

    /// Annotations are neither shown nor kept, but what they name is looked up.
    fn visit_annotation(&mut self, annotation: &'a Expr) {
        let before = (self.shows, self.shows_address, self.hashed_by_address, self.sets);
        let read = self.read.clone();
        self.visit_expr(annotation);
        (self.shows, self.shows_address, self.hashed_by_address, self.sets) = before;
        self.read = read;
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(inner) = handler;
        self.handler(inner);
        visitor::walk_except_handler(self, handler);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) if name.ctx.is_load() => self.value(&name.id),
            Expr::Attribute(attribute) => {
                let of_module = attribute.value.as_name_expr();
                let of_module = of_module.is_some_and(|n| self.bound.module(&n.id).is_some());
                if attribute.ctx.is_load() && !of_module {
                    self.read.insert(attribute.attr.to_string());
                }
                self.attribute_of(attribute);
                return;
            }
            Expr::Call(call) => return self.call(call),
            Expr::Await(_) => self.flag(true),
            Expr::Lambda(_) => self.has_address(),
            Expr::Yield(_) | Expr::YieldFrom(_) => self.shows_address = true,
            Expr::Set(_) | Expr::SetComp(_) => self.sets = true,
            Expr::FString(_) | Expr::TString(_) => self.shows = true,
            Expr::BinOp(binary) => self.shows |= binary.op == ast::Operator::Mod,
            Expr::StringLiteral(text) => {
                let text = text.value.to_str();
                self.flag(text.contains(".__") || text.contains("[__") || reads_inside(text));
            }
            _ => {}
        }
        visitor::walk_expr(self, expr);
    }

    fn visit_interpolated_string_element(&mut self, element: &'a ast::InterpolatedStringElement) {
        if let ast::InterpolatedStringElement::Interpolation(shown) = element {
            self.shows_address |= is_iterator(&shown.expression);
        }
        visitor::walk_interpolated_string_element(self, element);
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
            // Chance by ways that no list of forbidden things had.
            "import io\nio.open('/dev/urandom', 'rb').read(1)",
            "from io import FileIO\nFileIO('/dev/urandom')",
            "import fileinput\nfileinput.input('/dev/urandom')",
            "import sqlite3\nsqlite3.connect(':memory:').execute('select random()')",
            "from email.utils import make_msgid\nmake_msgid()",
            "import cProfile",
            "def f(): pass\nstr(f)",
            "def f(): pass\nx = [f]\nprint(x)",
            "random = lambda: 0\nprint(random)",
            // Modules through modules that are steady.
            "import random\nrandom._urandom(4)",
            "import random\nrandom._os.urandom(4)",
            "from random import _urandom",
            "import dataclasses\ndataclasses.sys",
            "from dataclasses import inspect",
            "import re as r\nm = r\nm.enum.sys",
            "import collections\nf(collections)",
            "import typing\ntyping.get_type_hints(f)",
            "import json.tool",
            // Addresses without `id`: order of sets, texts of iterators and methods.
            "class A: pass\nlist({A(), A()})",
            "def f(): pass\ndef g(): pass\nlist({f, g})",
            "[*{type(1), type('')}][0]",
            "set([lambda: 1, lambda: 2]).pop()",
            "str(x for x in [])",
            "repr(map(abs, []))",
            "f'{zip()}'",
            "i = iter([])\nprint(i)",
            "def g():\n    yield 1\nstr(g())",
            "x = []\nstr(x.append)",
            "import random\ndef f(): pass\nrandom.seed(f)",
            // How much there is left.
            "try:\n    x = [0] * 10 ** 9\nexcept MemoryError:\n    pass",
            "try:\n    f()\nexcept:\n    pass",
            "try:\n    f()\nexcept (ValueError, Exception):\n    pass",
            // Attributes and names out of sight.
            "from operator import attrgetter\nattrgetter('x')",
            "from functools import reduce\nreduce(getattr, ['x'], 1)",
            "'{0.gi_frame}'.format(1)",
            "'{0[x]}'.format({})",
            "type('A', (), {})",
            "unknown_name",
            "def f():\n    id = 1\nid(f)",
            "from . import x",
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
            "a = 1\ngetattr(a, 'x')",
            "import sys\nsys.maxsize",
            "print('a %s' % 1)",
            "from typing import List\ndef f(x: List[int]) -> str:\n    return str(sum(x))",
            "from collections import defaultdict, Counter\nd = defaultdict(list)\nprint(Counter('ab'))",
            "import collections.abc\nfrom collections import abc\ncollections.deque([1])",
            "def f(words):\n    return sorted(set(words), key=lambda w: (len(w), w))",
            "def key(x): return -x\ndef f(x): return [str(y) for y in sorted(set(x), key=key)]",
            "import math\ndef f(x): return f'{math.pi * x:.2f} {{}}'",
            "def f(x):\n    try:\n        return int(x)\n    except (ValueError, TypeError) as e:\n        return str(e)",
            "from functools import lru_cache\n@lru_cache(maxsize=None)\ndef f(n):\n    return f(n - 1) if n else 0\nprint(f(3))",
            "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\nprint(P(1).x, {1, 2})",
            "class Node:\n    def __init__(self, value): self.value, self.next = value, None\n    def __repr__(self): return str(self.value)\nprint(Node(1).next)",
            "class Stack(object):\n    def push(self, x): self._items = [x]\nStack().push(1)",
            "a, b = map(int, '1 2'.split())\nprint(a + b, ' '.join(map(str, [a, b])))",
            "match [1]:\n    case [x, *rest]: print(x, rest)",
            "def f(x):\n    raise Exception('no')",
            "print(*(x for x in [1]))",
        ] {
            assert!(!varies(source), "{source}");
        }
    }
}
