//! Whether a task's own code may do something else the next time: its setup, its tests, its checker.

use ruff_python_ast::PythonVersion;
use ruff_python_ast::visitor::Visitor;
use whetstone_core::task::Task;
use whetstone_core::tests::{Suite, Tests};

use super::DeterminismWalk;
use super::names::Bound;
use crate::python::syntax::check;
use crate::stack::BigStack;

/// Whether a verdict may differ because a task's own code does: it uses clocks, files, or chance without a
/// seed.
///
/// Its author is trusted to hide nothing: names that nobody binds are the program's, and values that differ
/// by their addresses are not looked for. Code that does not parse may vary.
pub fn tests_may_vary(task: &Task, python: PythonVersion, stack: &BigStack) -> bool {
    let (texts, checker) = match &task.tests {
        Tests::Asserts(suite) | Tests::Script { suite, .. } => {
            (suite.hidden.for_the_judge().to_vec(), checker(suite))
        }
        Tests::Calls { suite, .. } => (Vec::new(), checker(suite)),
        Tests::Stdio(suite) => (Vec::new(), checker(suite)),
        Tests::Absent => return false,
    };
    let mut tests = task.setup.clone();
    for text in texts {
        tests.push('\n');
        tests.push_str(&text);
    }
    // Whole by itself: it has neither the setup nor the tests.
    code_may_vary(&tests, python, stack) || code_may_vary(checker, python, stack)
}

fn checker<T>(suite: &Suite<T>) -> &str {
    suite.checker.as_ref().map_or("", |checker| checker.for_the_judge())
}

fn code_may_vary(source: &str, python: PythonVersion, stack: &BigStack) -> bool {
    let Ok(module) = check(source, python, stack) else { return true };
    let body = &module.parsed.syntax().body;
    let bound = Bound::of(body);
    let mut walk = DeterminismWalk::new(&bound);
    walk.beside_program = true;
    walk.visit_body(body);
    walk.varies || (walk.makes_generator && walk.asks_for_types)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::on_big_stack;
    use whetstone_core::wire::Wire as _;

    fn varies(line: &str) -> bool {
        let task = Task::from_object(serde_json::from_str(line).unwrap()).expect(line);
        on_big_stack(|stack| tests_may_vary(&task, PythonVersion::PY313, stack)).unwrap()
    }

    fn task(setup: &str, test: &str) -> String {
        let tests = serde_json::json!({"kind": "asserts", "visible": [], "hidden": [test]});
        let task = serde_json::json!({"id": "t", "statement": "s", "setup": setup, "tests": tests});
        task.to_string()
    }

    #[test]
    fn chance_in_tests_is_seen() {
        for (setup, test) in [
            ("import time", "assert add(1, 2) == 3"),
            ("", "import os\nassert add(1, int.from_bytes(os.urandom(1), 'big')) > 0"),
            ("from random import SystemRandom", "assert add(1, 2) == 3"),
            ("import random", "r = random.Random()\nassert add(r.random(), 1) > 1"),
            ("", "assert add(id(1), 2) > 3"),
            ("", "assert add(secrets.randbelow(2), 2) > 1"),
        ] {
            assert!(varies(&task(setup, test)), "{setup}; {test}");
        }
    }

    #[test]
    fn tests_that_do_the_same_each_time_are_kept() {
        for (setup, test) in [
            ("", "assert add(1, 2) == 3"),
            ("import math", "assert math.isclose(add(1.0, 2.0), 3.0, rel_tol=1e-9)"),
            (
                "",
                "def check(candidate):\n    assert candidate([1]) == {1}, str(candidate)\ncheck(add)",
            ),
            ("import random", "random.seed(1)\nassert add(random.random(), 1) > 1"),
            (
                "class Node:\n    def __init__(self, value): self.value = value\n",
                "assert add(Node(1), Node(2)).value == 3",
            ),
        ] {
            assert!(!varies(&task(setup, test)), "{setup}; {test}");
        }
    }

    #[test]
    fn chance_in_a_checker_is_seen() {
        let line = |checker: &str| {
            let tests = serde_json::json!({"kind": "calls", "entry_point": "add", "visible": [],
                "hidden": [{"args": [1, 2], "expected": 3}], "checker": checker});
            serde_json::json!({"v": 2, "id": "t", "statement": "s", "tests": tests}).to_string()
        };
        let steady = "def check(input, expected, answer): return answer == expected";
        assert!(!varies(&line(steady)));
        assert!(varies(&line(&format!("import time\n{steady}"))));
    }
}
