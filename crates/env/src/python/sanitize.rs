//! What a program's entry point needs of it, cut out of the source: `eval.sanitize = "entry_point"`.
//!
//! Kept, in their order: imports, and each statement of the module that binds a name which the tests call, or
//! which a kept statement uses. So helpers, constants and classes stay, and asserts, prints, calls and
//! `if __name__ == "__main__"` go. EvalPlus does the same before it runs a program (`evalplus.sanitize`). Here,
//! unlike there, a decorated function is kept, and so are later definitions of a name and a block that binds one
//! (`try: import … except`); a local variable of a function does not keep a global of its name.
//!
//! Of a program that does not parse, the statements before the broken one are taken, as far as they hold the entry
//! point: replies are cut off in tests of their own. (EvalPlus takes the longest run of lines that parses.)
//!
//! Of several blocks the last one counts that holds the entry point, not the last of all.
//!
//! Statements are slices of the source; nothing is printed anew. For evaluation alone: to pay the rest of a
//! program would teach the student to write what is not run.

// size: one rule and its cases; a third are tests.

use std::collections::{BTreeSet, HashMap, HashSet};

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor, TraversalSignal};
use ruff_python_ast::{AnyNodeRef, Expr, ExprContext, ExprName, PythonVersion, Stmt};
use ruff_text_size::Ranged;
use whetstone_core::extract::{self, Form, Reply};
use whetstone_core::program::{Language, Program};
use whetstone_core::task::Task;

use super::roots;
use super::syntax::{self, Module};
use crate::normal_form::bindings::{Bindings, OpenScopes};
use crate::stack::BigStack;

/// A statement of the module, and the names of the module that it binds and uses.
struct Part<'a> {
    stmt: &'a Stmt,
    binds: BTreeSet<&'a str>,
    uses: HashSet<&'a str>,
}

/// Blocks of a reply that are looked at, the last ones.
const MAX_BLOCKS: usize = 8;

/// Ends of a program that does not parse that are left out in turn.
const MAX_ENDS: usize = 8;

/// The program in the last closed block of a reply that holds what the tests of `task` call, as far as they need it;
/// `None` if no block does. Replies often end in a block with an example of a call.
pub(super) fn find(
    task: &Task,
    reply: Reply<'_>,
    version: PythonVersion,
    stack: &BigStack,
) -> Option<Program> {
    let needed = |source: &str| needed(source, task, version, stack);
    let blocks = extract::blocks(reply, Form::ThinkPython);
    let mut last = blocks.iter().rev().take(MAX_BLOCKS);
    let source = last.find_map(|source| needed(source))?;
    Some(Program { language: Language::Python, source, truncated: false })
}

/// What the tests of `task` need of a program; `None` if whole programs are asked for, if it binds nothing that the
/// tests call, or if it does not parse.
pub(super) fn needed(
    source: &str,
    task: &Task,
    version: PythonVersion,
    stack: &BigStack,
) -> Option<String> {
    let needed = roots::needed(&task.tests);
    match syntax::check(source, version, stack) {
        Ok(module) => of_module(&module, &needed),
        Err(_) if needed.is_empty() => None,
        Err(error) => beginnings(source, error.line)
            .filter_map(|beginning| syntax::check(beginning, version, stack).ok())
            .find_map(|module| of_module(&module, &needed)),
    }
}

/// The statements of a module before the one with a problem in this line, then fewer: what a reply that was cut off
/// holds of a program.
fn beginnings(source: &str, line: usize) -> impl Iterator<Item = &str> {
    let starts_statement =
        |text: &str| text.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '@');
    let mut ends: Vec<usize> = Vec::new();
    let mut at = 0;
    for text in source.split_inclusive('\n').take(line) {
        if starts_statement(text) {
            ends.push(at);
        }
        at += text.len();
    }
    ends.into_iter().rev().take(MAX_ENDS).map(|end| &source[..end])
}

fn of_module(module: &Module<'_>, needed: &[&str]) -> Option<String> {
    let parts = parts(&module.parsed.syntax().body);
    let needed: Vec<&str> = needed.iter().copied().filter(|name| is_bound(name, &parts)).collect();
    if needed.is_empty() {
        return None;
    }
    let kept = reached(&needed, &parts);
    let is_kept = |(at, part): &(usize, &Part<'_>)| is_import(part.stmt) || kept.contains(at);
    let kept = parts.iter().enumerate().filter(is_kept);
    let slices: Vec<&str> = kept.map(|(_, part)| &module.source[part.stmt.range()]).collect();
    Some(slices.join("\n") + "\n")
}

fn is_bound(name: &str, parts: &[Part<'_>]) -> bool {
    parts.iter().any(|part| part.binds.contains(name))
}

/// The numbers of the statements that bind what is needed, by the program's own needs too.
fn reached(needed: &[&str], parts: &[Part<'_>]) -> HashSet<usize> {
    let mut binders: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, part) in parts.iter().enumerate().filter(|(_, part)| may_be_kept(part.stmt)) {
        for name in &part.binds {
            binders.entry(name).or_default().push(at);
        }
    }
    let mut kept = HashSet::new();
    let mut open = needed.to_vec();
    while let Some(name) = open.pop() {
        for at in binders.remove(name).unwrap_or_default() {
            if kept.insert(at) {
                open.extend(&parts[at].uses);
            }
        }
    }
    kept
}

fn is_import(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Import(_) | Stmt::ImportFrom(_))
}

/// Whether a statement may be needed for a name that it binds.
fn may_be_kept(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Assert(_) | Stmt::Expr(_) | Stmt::Delete(_) => false,
        Stmt::If(choice) => !mentions(&choice.test, "__name__"),
        _ => true,
    }
}

fn mentions(expr: &Expr, name: &str) -> bool {
    let mut names = AllNames::default();
    names.visit_expr(expr);
    names.0.contains(name)
}

/// The statements of a module with their names.
fn parts(body: &[Stmt]) -> Vec<Part<'_>> {
    let bindings = Bindings::of(body);
    let mut open = OpenScopes::new();
    let part = |stmt| {
        let (binds, uses) = (BTreeSet::new(), HashSet::new());
        let mut names =
            ModuleNames { bindings: &bindings, open: &mut open, part: Part { stmt, binds, uses } };
        names.visit_stmt(stmt);
        names.part
    };
    body.iter().map(part).collect()
}

/// Collects the names of a statement that are the module's.
struct ModuleNames<'a, 'b> {
    bindings: &'b Bindings<'a>,
    open: &'b mut OpenScopes,
    part: Part<'a>,
}

impl<'a> ModuleNames<'a, '_> {
    fn name(&mut self, name: &'a ExprName) {
        let (is_read, id) = (name.ctx == ExprContext::Load, name.id.as_str());
        if !self.bindings.owner(self.open, id).is_module() {
            return;
        }
        if !is_read {
            self.part.binds.insert(id);
        }
        // A function that declares a name global needs it, whatever it does to it.
        if is_read || !self.open.is_module() {
            self.part.uses.insert(id);
        }
    }

    /// What stands in the module's own scope: names that are no expressions, and stores into a name's object.
    fn of_module(&mut self, node: AnyNodeRef<'a>) {
        match node {
            AnyNodeRef::StmtFunctionDef(function) => {
                self.part.binds.insert(function.name.as_str());
            }
            AnyNodeRef::StmtClassDef(class) => {
                self.part.binds.insert(class.name.as_str());
            }
            AnyNodeRef::Alias(alias) => {
                let name = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
                self.part.binds.extend(name.split('.').next());
            }
            AnyNodeRef::ExprAttribute(to) if to.ctx == ExprContext::Store => self.store(&to.value),
            AnyNodeRef::ExprSubscript(to) if to.ctx == ExprContext::Store => self.store(&to.value),
            _ => {}
        }
    }

    /// A store into a part of `object`, which counts as binding its name.
    fn store(&mut self, mut object: &'a Expr) {
        loop {
            object = match object {
                Expr::Attribute(attribute) => &attribute.value,
                Expr::Subscript(subscript) => &subscript.value,
                Expr::Name(name) => {
                    self.part.binds.insert(name.id.as_str());
                    return;
                }
                _ => return,
            };
        }
    }

    /// Defaults and decorators are evaluated outside of their function, where a parameter of the same name
    /// hides nothing.
    fn of_header(&mut self, node: AnyNodeRef<'a>) {
        let AnyNodeRef::StmtFunctionDef(function) = node else { return };
        let mut names = AllNames::default();
        for decorator in &function.decorator_list {
            names.visit_expr(&decorator.expression);
        }
        for parameter in function.parameters.iter_non_variadic_params() {
            parameter.default().into_iter().for_each(|default| names.visit_expr(default));
        }
        self.part.uses.extend(names.0);
    }
}

impl<'a> SourceOrderVisitor<'a> for ModuleNames<'a, '_> {
    fn enter_node(&mut self, node: AnyNodeRef<'a>) -> TraversalSignal {
        match node {
            AnyNodeRef::ExprName(name) => self.name(name),
            _ if self.open.is_module() => self.of_module(node),
            _ => {}
        }
        self.of_header(node);
        self.open.enter(node);
        TraversalSignal::Traverse
    }

    fn leave_node(&mut self, node: AnyNodeRef<'a>) {
        self.open.leave(node);
    }

    /// The walk that collected the scopes leaves annotations out, so all names of one are used.
    fn visit_annotation(&mut self, expr: &'a Expr) {
        let mut names = AllNames::default();
        names.visit_expr(expr);
        self.part.uses.extend(names.0);
    }
}

/// Every name of an expression, whosever it is.
#[derive(Default)]
struct AllNames<'a>(HashSet<&'a str>);

impl<'a> SourceOrderVisitor<'a> for AllNames<'a> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Name(name) = expr {
            self.0.insert(name.id.as_str());
        }
        source_order::walk_expr(self, expr);
    }
}

#[cfg(test)]
mod tests {
    use whetstone_core::wire::Wire;

    use super::*;
    use crate::stack::on_big_stack;

    fn task(tests: &serde_json::Value) -> Task {
        let line = serde_json::json!({"id": "a", "statement": "s", "tests": tests});
        Task::from_object(serde_json::from_str(&line.to_string()).unwrap()).unwrap()
    }

    fn asserts() -> Task {
        task(&serde_json::json!({"kind": "asserts", "hidden": ["assert sorted(f(1)) == [1]"]}))
    }

    fn cut(task: &Task, source: &str) -> Option<String> {
        on_big_stack(|stack| needed(source, task, PythonVersion::latest(), stack)).unwrap()
    }

    #[track_caller]
    fn check_kept(source: &str, kept: &str) {
        assert_eq!(cut(&asserts(), source).as_deref(), Some(kept), "{source}");
    }

    #[test]
    fn what_a_model_writes_around_its_function_goes() {
        check_kept(
            "'''Doc.'''\nimport math\n\ndef f(x):\n    # A comment.\n    return [x]\n\n\
             assert f(1) == [2]\nprint(f(1))\nresult = f(3)\nfor x in range(3):\n    print(f(x))\n\
             if __name__ == '__main__':\n    f(int(input()))\n",
            "import math\ndef f(x):\n    # A comment.\n    return [x]\n",
        );
    }

    #[test]
    fn helpers_constants_and_classes_stay_as_far_as_they_are_reached() {
        check_kept(
            "MAX = 3\nLIMITS = [MAX]\nUNUSED = 1\nclass Node:\n    size = LIMITS\n\
             def unused():\n    return UNUSED\ndef f(x):\n    return g(x)\ndef g(x):\n    return Node()\n",
            "MAX = 3\nLIMITS = [MAX]\nclass Node:\n    size = LIMITS\n\
             def f(x):\n    return g(x)\ndef g(x):\n    return Node()\n",
        );
        check_kept("f = lambda x: [x]; print(f(1))", "f = lambda x: [x]\n");
        check_kept("def g(x):\n    return x\nf = g\nf(1)", "def g(x):\n    return x\nf = g\n");
    }

    #[test]
    fn a_local_variable_keeps_no_global_of_its_name() {
        check_kept(
            "n = int(input())\nresult = 0\ndef f(n):\n    result = [i for i in [n]]\n    return result\ni = 1/0",
            "def f(n):\n    result = [i for i in [n]]\n    return result\n",
        );
        check_kept(
            "n = 3\ncount = 0\ndef f(x):\n    global count\n    count += n\n    return [x]",
            "n = 3\ncount = 0\ndef f(x):\n    global count\n    count += n\n    return [x]\n",
        );
        check_kept(
            "memo = {}\ndef f(x, memo=memo):\n    return [x]",
            "memo = {}\ndef f(x, memo=memo):\n    return [x]\n",
        );
    }

    #[test]
    fn whatever_binds_or_fills_a_needed_name_stays() {
        let all = "import functools\ntry:\n    from fast import g\nexcept ImportError:\n    def g(x):\n        return x\n\
                   table = [0] * 3\nfor i in range(3):\n    table[i] = i\ntable[0] += 1\n\
                   @functools.cache\ndef f(x: T) -> T:\n    return [g(table[x])]\nf = functools.wraps(f)(f)\n";
        check_kept(&format!("{all}T = 3\nU = 4\ntable.append(4)\n"), &format!("{all}T = 3\n"));
        check_kept(
            "if 1:\n    def f(x): return [x]\nelse:\n    f = 0",
            "if 1:\n    def f(x): return [x]\nelse:\n    f = 0\n",
        );
        check_kept(
            "def f(x): return 0\ndef f(x): return [x]",
            "def f(x): return 0\ndef f(x): return [x]\n",
        );
    }

    #[test]
    fn of_a_program_that_was_cut_off_the_beginning_stays_if_it_holds_the_entry_point() {
        let function = "def f(x):\n    return [x]\n";
        for end in [
            "assert f(1) == [",
            "print(f('",
            "def g(x):\n    if x",
            "class A:\n    x = (\n",
            "Note: it works",
            "for x in f(\n",
        ] {
            check_kept(&format!("{function}\n{end}"), function);
        }
        check_kept(&format!("{function}x = [\n1,\n2,\n"), function);
        check_kept(
            &format!("{function}assert f(1)\nSo it is.\n\ndef g():\n    return (\n"),
            function,
        );
        for broken in ["def f(x):\n    return [", "import math\ndef f(x) return 1", "x = 1\ny = ["]
        {
            assert_eq!(cut(&asserts(), broken), None, "{broken}");
        }
        let stdio = serde_json::json!({"kind": "stdio", "hidden": [{"input": "", "output": "1"}]});
        assert_eq!(cut(&task(&stdio), "print(1)\nprint("), None);
    }

    #[test]
    fn of_several_blocks_the_last_one_counts_that_holds_the_entry_point() {
        let find = |text: &str| {
            let version = PythonVersion::latest();
            let found = on_big_stack(|stack| find(&asserts(), Reply::text(text), version, stack));
            found.unwrap().map(|program| program.source)
        };
        let block = |code: &str| format!("So:\n```python\n{code}\n```\n");
        let (one, two) = ("def f(x):\n    return [1]\n", "def f(x):\n    return [x]\n");
        let both = [block(one), block(two), block("print(f(1))"), block("f(")].concat();
        assert_eq!(find(&both).as_deref(), Some(two));
        assert_eq!(find(&block("print(f(1))")), None);
        let thought = format!("<think>{}</think>{}", block(two), block("print(f(1))"));
        assert_eq!(find(&thought), None, "never from the thinking");
    }

    #[test]
    fn the_tests_say_what_is_needed() {
        let source =
            "class Solution:\n    def f(self): pass\nclass Queue: pass\ndef g(): pass\nprint()\n";
        let calls = |name: &str| {
            let hidden = serde_json::json!([{"args": [], "expected": 1}]);
            task(&serde_json::json!({"kind": "calls", "entry_point": name, "hidden": hidden}))
        };
        let solution = "class Solution:\n    def f(self): pass\n";
        assert_eq!(cut(&calls("f"), source).as_deref(), Some(solution));
        assert_eq!(cut(&calls("Queue.push"), source).as_deref(), Some("class Queue: pass\n"));
        let check = "def check(candidate):\n    assert candidate(1) == g()";
        let script = serde_json::json!({"kind": "script", "entry_point": "f", "hidden": [check]});
        let both = format!("{solution}def g(): pass\n");
        assert_eq!(cut(&task(&script), source).as_deref(), Some(&*both));
    }

    #[test]
    fn a_program_that_is_asked_for_whole_or_lacks_its_entry_point_stays_as_it_is() {
        let stdio = serde_json::json!({"kind": "stdio", "hidden": [{"input": "", "output": "1"}]});
        assert_eq!(cut(&task(&stdio), "print(1)"), None);
        assert_eq!(cut(&asserts(), "def other(x):\n    return x\nprint(other(1))"), None);
    }
}
