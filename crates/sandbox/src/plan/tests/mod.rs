//! Tests of every kind as steps, and what is said of those that cannot be used.

mod corpus;

use std::error::Error;

use whetstone_core::tests::Suite;

use super::*;

fn asserts(tests: &[&str]) -> Tests {
    Tests::Asserts(Suite::new(vec![], tests.iter().map(ToString::to_string).collect()).unwrap())
}

fn tests(json: &str) -> Tests {
    serde_json::from_str(json).unwrap()
}

#[track_caller]
fn fails(tests: &Tests, setup: &str, language: Language, message: &str) {
    let err = plan(tests, setup, language).unwrap_err();
    let cause = err.source().map_or(String::new(), |cause| format!(": {cause}"));
    assert_eq!(format!("{err}{cause}"), message);
}

#[test]
fn calls_take_their_values_from_json_where_tuples_are_lists() {
    let text = r#"{"kind":"calls","entry_point":"S.f","hidden":[
        {"args":[1,[2.5]],"kwargs":{"b":null,"a":"x"},"expected":[1,2],"alternatives":[[2,1]]}]}"#;
    let plan = plan(&tests(text), "import re", Language::Python).unwrap();
    assert_eq!((plan.before.as_str(), plan.after.as_str()), ("import re", ""));
    let [Step::Call { entry_point, args, kwargs, expected }] = plan.steps.as_slice() else {
        panic!("{plan:?}");
    };
    assert_eq!(entry_point, "S.f");
    assert_eq!(args, &[Value::int(1), Value::List(vec![Value::Float(2.5)])]);
    assert_eq!(kwargs[0], ("b".to_owned(), Value::None));
    assert_eq!(kwargs[1], ("a".to_owned(), Value::str("x")));
    assert!(expected.accepts(&Value::Tuple(vec![Value::int(2), Value::int(1)])));
    assert!(expected.accepts(&Value::List(vec![Value::int(1), Value::Float(2.0)])));
    assert!(!expected.accepts(&Value::List(vec![Value::int(1)])));
}

#[test]
fn runs_keep_every_output_that_is_right() {
    let text = r#"{"kind":"stdio","hidden":[{"input":"1","output":"2","alternatives":["3"]}]}"#;
    let plan = plan(&tests(text), "not Python", Language::Javascript).unwrap();
    assert_eq!(plan.before, "not Python");
    let any_of = vec![b"2".to_vec(), b"3".to_vec()];
    assert_eq!(plan.steps, [Step::Run { input: b"1".to_vec(), any_of }]);
}

#[test]
fn a_script_is_one_check_of_its_entry_point() {
    let code = "METADATA = {}\ndef check(candidate):\n    assert poly(candidate(1)) < math.pi\n";
    let suite = Suite::new(vec![], vec![code.to_owned()]).unwrap();
    let tests = Tests::Script { entry_point: "f".to_owned(), suite };
    let plan = plan(&tests, "", Language::Python).unwrap();
    let expected = Step::Check {
        code: code.to_owned(),
        proxies: vec!["poly".to_owned()],
        modules: vec!["math".to_owned()],
        entry_point: Some("f".to_owned()),
    };
    assert_eq!(plan.steps, [expected]);
}

#[test]
fn a_test_that_cannot_be_used_is_named() {
    let python = Language::Python;
    fails(
        &asserts(&["assert f(1) == 2", "assert f(1) ==\n"]),
        "",
        python,
        "hidden test 2 cannot be used: it is not valid Python: line 1, column 15: \
         Expected an expression",
    );
    fails(
        &asserts(&["assert f((yield)) == 1"]),
        "",
        python,
        "hidden test 1 cannot be used: it is not valid Python: `return`, `yield` or `await` \
         outside of a function",
    );
    let setup = plan(&asserts(&["assert f(1)"]), "import", python);
    assert!(matches!(setup, Err(PlanError::Setup(SourceError::Syntax { line: 1, .. }))));
    let script = r#"{"kind":"script","entry_point":"f","hidden":["assert True"]}"#;
    fails(
        &tests(script),
        "",
        python,
        "hidden test 1 cannot be used: it defines no function `check`",
    );
    let twice = r#"{"kind":"calls","entry_point":"f","hidden":[{"expected":1},
        {"args":[1,{"a":1,"a":2}],"expected":1}]}"#;
    fails(
        &tests(twice),
        "",
        python,
        "hidden test 2 cannot be used: `args[1]` is no value: an element of a set or a key of \
         a dict stands there twice",
    );
    let numbers = vec!["0"; 300_000].join(",");
    let long = format!(
        r#"{{"kind":"calls","entry_point":"f","hidden":[{{"args":[[{numbers}]],"expected":1}},
        {{"expected":[{numbers}]}}]}}"#
    );
    fails(
        &tests(&long),
        "",
        python,
        "hidden test 2 cannot be used: `expected` is longer than an answer may be",
    );
    fails(
        &asserts(&["assert f(1)"]),
        "",
        Language::Javascript,
        "tests of kind `asserts` are Python; for JavaScript there are `calls` and `stdio`",
    );
}

#[test]
fn the_deepest_tests_are_planned_on_a_small_stack() {
    let brackets = format!("assert f({}{}) == 1", "[".repeat(198), "]".repeat(198));
    let value = format!("assert f(1) == {}{}", "[".repeat(199), "]".repeat(199));
    let chains = ["-", "not ", "lambda a, b: ", "1 + ", "1 ** "];
    let chains = chains.map(|link| format!("assert f({}1) == 1", link.repeat(490)));
    let calls = format!("assert f(1){} == 1", "().a".repeat(490));
    let both = format!("assert {}{}1{}", "-(".repeat(198), "-".repeat(790), ")".repeat(198));
    let indented: Vec<String> = (0..340).map(|at| " ".repeat(at) + "if f(1):\n").collect();
    let blocks = indented.concat() + &" ".repeat(340) + "pass";
    let one = [&[brackets, value, calls, both, blocks], &chains[..]].concat();
    // With two functions of the program, their values are followed.
    let two = one.iter().map(|test| format!("x = g(1)\n{test}\nassert f(x, 1) == 2"));
    let many: Vec<String> = (1..2000).map(|n| format!("y{n} = f(y{}, 1)\n", n - 1)).collect();
    let many = format!("y0 = g(1)\n{}assert y1999 == 1", many.concat());
    let two: Vec<String> = two.chain([many]).collect();
    let all = [one, two].concat();
    let count = all.len();
    let work = move || {
        let tests = Tests::Asserts(Suite::new(vec![], all).unwrap());
        plan(&tests, "", Language::Python).map(|plan| plan.steps.len())
    };
    let small = std::thread::Builder::new().stack_size(2 << 20);
    assert_eq!(small.spawn(work).unwrap().join().unwrap(), Ok(count));
}

#[test]
fn what_cannot_be_followed_in_a_known_time_is_refused() {
    let chain: Vec<String> = (0..64).map(|at| format!("y{at} = y{}\n", at + 1)).collect();
    let chain = format!("{}y64 = g(1)\nassert h(y0) == 1\n", chain.concat());
    let both = format!("{}{chain}{}", "def f(a): 0\n".repeat(1500), "f(y0)\n".repeat(5000));
    let none = format!("{}{chain}{}", "def f(): 0\n".repeat(1500), "f()\n".repeat(5000));
    let names: Vec<String> = (0..4000).map(|at| format!("x{at}, ")).collect();
    let values = format!("{chain}{} = [{}]", names.concat(), "1, ".repeat(4000));
    for test in [both, none, values] {
        let problem = plan(&asserts(&[&test]), "", Language::Python).unwrap_err();
        let tangled = PlanError::Test { test: 0, problem: SourceError::Tangled };
        assert_eq!(problem, tangled, "{}", &test[..40]);
    }
    // As many calls of one function are fine.
    let calls = format!("def f(a): 0\n{chain}{}", "f(y0)\n".repeat(5000));
    assert_eq!(plan(&asserts(&[&calls]), "", Language::Python).map(|plan| plan.steps.len()), Ok(1));
}
