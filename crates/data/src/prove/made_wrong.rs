//! The reference with answers that are wrong, and a yes for every yes or no.
//!
//! Tests that pass an answer of the program to another function of the program, and ask that one
//! whether it is right, reward a program that always says yes. This program passes all such tests:
//! each of its functions returns the reference's answer far too high, then far too low, with every
//! part of it changed, `True` in place of a truth value, and raises no error where the reference
//! raises none or where it is handed a wrong answer.
//!
//! It fails on purpose where there is nothing to make wrong (a function that returns `None` or an object), so a
//! task is never dropped because the answer was left as it was.

use std::fmt::Write;

use whetstone_core::tests::Tests;
use whetstone_sandbox::plan::{Plan, Step};

use super::trivial::Trivial;

/// Wraps a function. Calls that it makes itself are left as they are: a recursion on wrong values may not end.
const WRAPPER: &str = "
whet_depth = 0
whet_wrongs = []
whet_far = -10 ** 15 - 7

def whet_changed(value):
    if value is True or value is False:
        return True
    if isinstance(value, (int, float, complex)):
        return value + whet_far if value + whet_far != value else 0
    if type(value) in (str, bytes):
        return (value + value[:1] + type(value)(b'?' if type(value) is bytes else '?'))[1:]
    if type(value) in (list, tuple):
        return type(value)(map(whet_changed, value)) + type(value)([None])
    if type(value) is dict:
        return {**{key: whet_changed(item) for key, item in value.items()}, '?': None}
    if type(value) in (set, frozenset):
        return type(value)(map(whet_changed, value)) | {'?'}
    return value

def whet_made_wrong(value):
    global whet_far
    if value is True or value is False:
        return True
    if not isinstance(value, (int, float, complex, str, bytes, list, tuple, dict, set, frozenset)):
        raise TypeError('cannot be made wrong')
    # Who reports errors reports none.
    if isinstance(value, (list, tuple, dict, set, frozenset)) and not value:
        return value
    whet_far = -whet_far
    whet_wrongs.append(whet_changed(value))
    return whet_wrongs[-1]

def whet_wrap(function):
    if not callable(function) or isinstance(function, type):
        raise TypeError('not a function')
    def wrapper(*args, **kwargs):
        global whet_depth
        # Who is handed a wrong answer has no objection to it.
        given = [*args, *kwargs.values()]
        is_judge = not whet_depth and any(type(one) is type(wrong) and one == wrong for one in given for wrong in whet_wrongs)
        whet_depth += 1
        try:
            value = function(*args, **kwargs)
        except Exception:
            if is_judge:
                return None
            raise
        finally:
            whet_depth -= 1
        if whet_depth or is_judge and value is None:
            return value
        return whet_made_wrong(value)
    return wrapper
";

/// That program, where test code asks two functions of the program or more.
pub(super) fn made_wrong(tests: &Tests, reference: &str, plan: &Plan) -> Option<Trivial> {
    let names = names(tests, plan);
    if names.len() < 2 {
        return None;
    }
    let mut source = format!("{reference}\n{WRAPPER}\n");
    for name in names {
        let first = name.split('.').next().unwrap_or_default();
        // Writing to a string does not fail.
        let _ = writeln!(source, "if '{first}' in globals():\n    {name} = whet_wrap({name})");
    }
    Some(("the reference's answers made wrong, with a yes for every yes or no".to_owned(), source))
}

/// The functions of the program that test code asks.
fn names(tests: &Tests, plan: &Plan) -> Vec<String> {
    let mut names: Vec<String> = tests.entry_point().map(str::to_owned).into_iter().collect();
    for step in &plan.steps {
        if let Step::Check { proxies, .. } = step {
            // A name in capitals is that of a class, with which the test makes arguments.
            let is_function = |name: &&String| !name.starts_with(|c: char| c.is_uppercase());
            names.extend(proxies.iter().filter(is_function).cloned());
        }
    }
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use whetstone_core::program::Language;
    use whetstone_core::tests::Suite;
    use whetstone_sandbox::plan::plan;

    use super::*;

    fn tried(test: &str) -> Option<String> {
        let tests = Tests::Asserts(Suite::new(Vec::new(), vec![test.to_owned()]).unwrap());
        let plan = plan(&tests, "", Language::Python).unwrap();
        made_wrong(&tests, "def f(n): return n", &plan).map(|(_, source)| source)
    }

    #[test]
    fn every_function_that_test_code_asks_is_wrapped() {
        let test = "n = 0\nif is_good(f(3)):\n    n += 1\nassert n == 1\nassert Node(3).x";
        let source = tried(test).unwrap();
        assert!(source.starts_with("def f(n): return n\n"), "{source}");
        for name in ["f", "is_good"] {
            let line = format!("if '{name}' in globals():\n    {name} = whet_wrap({name})\n");
            assert!(source.contains(&line), "{source}");
        }
        assert!(!source.contains("whet_wrap(Node)"), "{source}");
    }

    #[test]
    fn where_one_function_is_asked_nobody_else_can_say_that_it_is_right() {
        assert_eq!(tried("assert f(3) == 3"), None);
        assert_eq!(tried("r = f(3)\nassert r > 2 and r < 4"), None);
    }
}
