//! One `assert` of a task, as the step that asks the program for the least.
//!
//! `f(x) == literal`: the call goes to the program and its value is compared here. So do names of
//! the program and what is taken out of them, `f(x).y[0] == literal`: the program works that out,
//! but it does not know what is expected. `f(x)` and `not f(x)`: only the truth of its value counts.
//! That holds for plain questions ([`question`](super::question)); everything else is left as it is
//! and runs in a checker, in which the names of the program are proxies.
//!
//! What makes a name the program's: neither Python nor the setup has it. One built-in name can be
//! the program's too: that of the call itself, where nothing else in the test could be its
//! (`sum(10, 15) == 6` of a program that defines `sum`).

use ruff_python_ast::{CmpOp, Expr, Stmt, StmtAssert, UnaryOp};
use ruff_text_size::Ranged;

use super::judged::refuse_self_judged;
use super::names::ScopeNames;
use super::python::{is_builtin, is_module};
use super::question::{Against, is_called, is_plain};
use super::setup::TestSetup;
use super::source::{ParsedSource, SourceError};
use super::unused::mark_unused;
use super::{Expected, Step};
use crate::value::{EqualityRule, Value, literal};

/// The step of one assert, or of whatever stands in its place.
pub(super) fn step(test: &str, setup: &TestSetup) -> Result<Step, SourceError> {
    let source = ParsedSource::parse(test)?;
    let statements = source.tree.suite();
    let names = ScopeNames::of(statements);
    if names.outside {
        return Err(SourceError::Outside);
    }
    if let [Stmt::Assert(assert)] = statements.as_slice()
        && let Some(step) = direct(assert, &source, setup)
    {
        // What the setup had the program make is an answer as well.
        if names.free().any(|name| setup.makes(name)) {
            refuse_self_judged(&source, &names, setup, None)?;
        }
        return Ok(step);
    }
    checked(&source, &names, setup, None)
}

/// Test code for a checker.
///
/// An error if a function that only the program can define would judge the program's answer.
pub(super) fn checked(
    source: &ParsedSource,
    names: &ScopeNames,
    setup: &TestSetup,
    entry_point: Option<&str>,
) -> Result<Step, SourceError> {
    refuse_self_judged(source, names, setup, entry_point)?;
    let foreign = names.free().filter(|name| !is_builtin(name) && !setup.binds(name));
    let (modules, mut proxies): (Vec<String>, Vec<String>) =
        foreign.map(str::to_owned).partition(|name| is_module(name) && !names.calls(name));
    proxies.extend(setup.proxies.iter().cloned());
    proxies.sort();
    proxies.dedup();
    let entry_point = entry_point.map(str::to_owned);
    Ok(Step::Check { code: mark_unused(source, &setup.reads), proxies, modules, entry_point })
}

/// The step of an assert that needs no checker.
fn direct(assert: &StmtAssert, source: &ParsedSource, setup: &TestSetup) -> Option<Step> {
    let truth = |expression: &Expr, expected| {
        if !expression.is_call_expr() || !is_plain(expression, Against::Truth, setup) {
            return None;
        }
        Some(Step::Truth { expression: text(expression, source)?, expected })
    };
    match assert.test.as_ref() {
        Expr::Call(_) => truth(&assert.test, true),
        Expr::UnaryOp(not) if not.op == UnaryOp::Not => truth(&not.operand, false),
        Expr::Compare(compare) if *compare.ops == [CmpOp::Eq] => {
            let (left, right) = (compare.left.as_ref(), compare.comparators.first()?);
            let (call, value) = match constant(right, setup) {
                Some(value) => (left, value),
                None => (right, constant(left, setup)?),
            };
            let against = match value {
                Value::Bool(_) | Value::None => Against::Truth,
                _ => Against::Value,
            };
            // A name by itself, and what is taken out of one, has no arguments.
            let against = if is_called(call) { against } else { Against::Value };
            if !is_plain(call, against, setup) {
                return None;
            }
            let expected = Expected { any_of: vec![value], rule: EqualityRule::default() };
            Some(Step::Value { expression: text(call, source)?, expected })
        }
        _ => None,
    }
}

/// The value of a literal in which `set` and the like mean what they always mean.
fn constant(expression: &Expr, setup: &TestSetup) -> Option<Value> {
    let value = literal(expression)?;
    let names = ScopeNames::of_expression(expression);
    let plain = names.free().all(|name| !setup.star && !setup.binds(name));
    plain.then_some(value)
}

fn text(expression: &Expr, source: &ParsedSource) -> Option<String> {
    let range = expression.range();
    let text = source.text.get(range.start().to_usize()..range.end().to_usize())?;
    // In brackets an expression may go over several lines.
    Some(if text.contains('\n') { format!("({text})") } else { text.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(test: &str, setup: &str) -> Step {
        step(test, &TestSetup::split(setup).unwrap()).unwrap()
    }

    #[track_caller]
    fn value(test: &str, call: &str, expected: &Value) {
        match made(test, "import re") {
            Step::Value { expression, expected: Expected { any_of, rule } } => {
                assert_eq!(
                    (expression.as_str(), any_of.as_slice()),
                    (call, &[expected.clone()][..])
                );
                assert_eq!(rule, EqualityRule::default());
            }
            other => panic!("{test}: {other:?}"),
        }
    }

    #[track_caller]
    fn truth(test: &str, call: &str, truth: bool) {
        match made(test, "import re") {
            Step::Truth { expression, expected } => {
                assert_eq!((expression.as_str(), expected), (call, truth));
            }
            other => panic!("{test}: {other:?}"),
        }
    }

    #[track_caller]
    fn check(test: &str, setup: &str, free: &str, imported: &str) {
        match made(test, setup) {
            Step::Check { code, proxies, modules, entry_point } => {
                assert_eq!(code, test);
                assert_eq!(
                    (proxies.join(" ").as_str(), modules.join(" ").as_str()),
                    (free, imported)
                );
                assert_eq!(entry_point, None);
            }
            other => panic!("{test}: {other:?}"),
        }
    }

    #[test]
    fn a_call_and_a_literal_are_compared_here() {
        value("assert f(1) == 2", "f(1)", &Value::int(2));
        value("assert 2 == f(1), 'message'", "f(1)", &Value::int(2));
        value(
            "assert (f ( [1, x] )) == (2,)\n",
            "f ( [1, x] )",
            &Value::Tuple(vec![Value::int(2)]),
        );
        value("assert (f\n (1)) == None", "(f\n (1))", &Value::None);
        value("assert Solution().f(1) == 2", "Solution().f(1)", &Value::int(2));
        value("assert root.height() == set()", "root.height()", &Value::Set(vec![]));
        value("assert f(re.I) == -1", "f(re.I)", &Value::int(-1));
        value("assert sum(10, 15) == 6", "sum(10, 15)", &Value::int(6));
        value("assert bisect([1], 2) == 1", "bisect([1], 2)", &Value::int(1));
        value("assert f(1)[0] == 2", "f(1)[0]", &Value::int(2));
        value("assert f(1)(2).x[3:] == 2", "f(1)(2).x[3:]", &Value::int(2));
        value("assert seen == []", "seen", &Value::List(vec![]));
        value("assert f.count == 2", "f.count", &Value::int(2));
    }

    #[test]
    fn of_a_bare_call_only_the_truth_counts() {
        truth("assert f(1)", "f(1)", true);
        truth("assert not f(1)", "f(1)", false);
        truth("assert (not (f(1))), 'message'", "f(1)", false);
    }

    #[test]
    fn other_shapes_go_to_a_checker() {
        check("assert math.isclose(f(1), 2)", "import math", "f", "");
        check("assert math.isclose(f(1), 2)", "", "f", "math");
        check("assert f((1,)) == sys.getsizeof((1,))", "", "f", "sys");
        check("assert set(f(1)) == {1}", "", "f", "");
        check("assert len(f(1)) == 1", "", "f", "");
        check("assert f(1) is True", "", "f", "");
        check("assert f(1) != 2", "", "f", "");
        check("assert f(1) == f(2) == 3", "", "f", "");
        check("assert f(1) == f(2)", "", "f", "");
        check("assert f(1)[0] == f(2)", "", "f", "");
        check("assert f(1)[0]", "", "f", "");
        check("assert f(1).strip() == ''", "", "f", "");
        check("assert math.f(1).strip() == ''", "import math\nf = 1", "", "");
        check("assert len(f(1)).real == 2", "", "f", "");
        check("assert f(1)[0] == 2", "from numpy import *", "f", "");
        check("assert f(1).isdigit()", "", "f", "");
        check("x = f(1)\nassert x == 2", "", "f", "");
        check("for x in g:\n    assert f(x) == x", "", "f g", "");
        check("assert helper(f(1)) == 2", "def helper(x): return x", "f", "");
        check("assert f(1) == {1: 2, **g}", "", "f g", "");
        check("assert f(1) == set()", "set = list", "f", "");
        check("assert isclose(f(1), 2)", "from math import *", "f", "");
        check("assert g(root) + 1 == 2", "root = Node(1)", "g root", "");
    }

    /// In none of these the program's process may see what is expected, or decide.
    #[test]
    fn what_is_not_proven_to_be_a_plain_question_goes_to_a_checker() {
        let setup = "def close(x, y, want): return abs(add(x, y) - want) < 1e-6";
        check("assert close(2, 3, 5)", setup, "add", "");
        check("assert not close(2, 3, 5)", setup, "add", "");
        check("assert close(2, 3, 5) == True", setup, "add", "");
        check("assert add(close, 3) == 4", setup, "add", "");
        let residual =
            "def inner(x): return add(x, 1)\ndef residual(x, want): return inner(x) - want";
        check("assert residual(2, 3) < 1e-6", residual, "add", "");
        check("assert residual(2, 3) == 0", residual, "add", "");
        check("assert FizzBuzz(5).startswith('1 2 Fizz')", "", "FizzBuzz", "");
        check("assert FizzBuzz(5).startswith('1 2 Fizz') == True", "", "FizzBuzz", "");
        check("assert FizzBuzz(5).starts_with('1 2 Fizz')", "", "FizzBuzz", "");
        check("assert FizzBuzz().startswith('1 2 Fizz')", "", "FizzBuzz", "");
        check("assert Primes(10).difference({2, 3, 5, 7}) == set()", "", "Primes", "");
        check("assert Primes().union({2, 3}) == {2, 3}", "", "Primes", "");
        check("assert words.count('a') == 1", "", "words", "");
        check("assert words.count('a') == 1", "words = f()", "words", "");
        check("assert Answer().__eq__(5) == True", "", "Answer", "");
        check("assert Answer(3).__sub__(5) == 0", "", "Answer", "");
        check("assert words.issuperset({1})", "", "words", "");
        check("assert half(add(2, 3)) < 3", "", "add half", "");
        check("assert f(g(1)) == 2", "", "f g", "");
        check("assert f(Solution().g(1)) == 2", "", "Solution f", "");
        check("assert f(1)[g(2)] == 2", "", "f g", "");
        check("assert f(1)(2)", "", "f", "");
        for name in ["eval", "exec", "compile", "globals", "vars", "getattr", "isinstance"] {
            check(&format!("assert {name}('add(2, 3) == 5')"), "", "", "");
            check(&format!("assert {name}('add(2, 3)') == 5"), "", "", "");
        }
        check("assert all(add(x, 1) == y for x, y in [(1, 2)])", "", "add", "");
        check("assert callable(add)", "", "add", "");
        check("assert add", "", "add", "");
        check("assert label(TOTAL == 55) == 'ok'", "", "TOTAL label", "");
        check("assert g(t.total == 55) == 55", "t = Tree()", "g t", "");
        check("assert is_even(TOTAL - 55)", "", "TOTAL is_even", "");
        check("assert label(lambda: TOTAL == 55) == 'ok'", "", "TOTAL label", "");
        check("assert label([x == 55 for x in TOTALS]) == 'ok'", "", "TOTALS label", "");
        check("assert label(TOTAL)[TOTAL - 55] == 'ok'", "", "TOTAL label", "");
        check("assert label(f'{TOTAL:55}') == 'ok'", "", "TOTAL label", "");
    }

    #[test]
    fn objects_that_the_program_makes_are_arguments_like_others() {
        value(
            "assert f([Pair(1, 2), Pair(3, 4)], 2) == 3",
            "f([Pair(1, 2), Pair(3, 4)], 2)",
            &Value::int(3),
        );
        truth("assert Solution().valid('()')", "Solution().valid('()')", true);
        value(
            "assert Solution().valid('()') == True",
            "Solution().valid('()')",
            &Value::Bool(true),
        );
        value(
            "assert Solution().partition('aab') == ['aa', 'b']",
            "Solution().partition('aab')",
            &Value::List(vec![Value::str("aa"), Value::str("b")]),
        );
        value("assert Stack([1]).pop(0) == 1", "Stack([1]).pop(0)", &Value::int(1));
        value("assert Point(1).x == None", "Point(1).x", &Value::None);
        check("assert f(Pair(1, 2), 2)", "", "Pair f", "");
        match made("assert root.contains(2)", "root = Node(1)") {
            Step::Truth { expression, .. } => assert_eq!(expression, "root.contains(2)"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_test_in_which_the_program_would_judge_itself_is_refused() {
        let problem = |test: &str| step(test, &TestSetup::default()).unwrap_err().to_string();
        assert_eq!(
            problem("assert np.allclose(add(2, 3), 5)"),
            "line 1: neither Python nor the setup has `np`, so it would be the program that says \
             whether its own answer is right; define or import it in the setup"
        );
        assert!(problem("x = 5\nassert is_close(add(2, 3), x)").starts_with("line 2: "));
        assert!(problem("assert is_right(add(2, 3))").contains("`is_right`"));
        assert!(problem("assert is_right(add(2, 3)) == True").contains("`is_right`"));
    }

    #[test]
    fn names_that_the_late_setup_makes_are_the_programs() {
        match made("assert root.height() == 2", "root = Node(1)") {
            Step::Value { expression, .. } => assert_eq!(expression, "root.height()"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn line_ends_in_strings_are_those_of_python() {
        let test = "assert f() == '''a\r\nb'''";
        match made(test, "") {
            Step::Value { expected, .. } => assert_eq!(expected.any_of, [Value::str("a\nb")]),
            other => panic!("{other:?}"),
        }
    }
}
