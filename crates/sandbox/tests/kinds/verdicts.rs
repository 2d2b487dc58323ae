//! Every verdict that a run can have, and tests that are themselves broken.

use serde_json::json;

use crate::Bench;

#[test]
fn a_broken_test_names_itself_and_is_no_verdict() {
    let bench = Bench::new();
    let says = |setup: &str, tests: &[&str]| {
        bench.says("def f(x): return x", setup, &json!({"kind": "asserts", "hidden": tests}))
    };
    let said = says("", &["assert f(1) == 1", "assert f(1) =="]);
    assert!(
        said.starts_with("cannot judge: hidden test 1 cannot be used: it is not valid"),
        "{said}"
    );
    let said = says("import no_such_module", &["assert abs(f(1)) == 1"]);
    assert_ne!(said, "pass, 1 of 1");
    let said = says("x = =", &["assert f(1) == 1"]);
    assert!(said.starts_with("cannot judge: the setup cannot be used: it is not valid"), "{said}");
    let said = says("", &["assert f(1) == 1", "assert f(abs) == abs"]);
    assert_eq!(
        said,
        "cannot judge: hidden test 1 is broken: it calls the program with what is no plain data"
    );
    let script = json!({"kind": "script", "entry_point": "f", "hidden": ["def test(f): pass"]});
    let said = bench.says("def f(x): return x", "", &script);
    assert!(
        said.starts_with("cannot judge: hidden test 0 cannot be used: it defines no"),
        "{said}"
    );
}

#[test]
fn every_verdict_of_a_run_can_be_had() {
    let bench = Bench::new();
    let test = ["assert f(0) == 0", "assert f(1) == 1"];
    let says = |body: &str, said: &str| {
        let program =
            format!("import os, signal, time\ndef f(x):\n    if x == 0: return 0\n    {body}");
        bench.asserts(&program, "", &test, said);
    };
    says("return 1", "pass, 2 of 2");
    says("return 2", "wrong 1, 1 of 2");
    says("return [][0]", "raised 1 IndexError, 1 of 2");
    says("exit()", "raised 1 SystemExit, 1 of 2");
    says("os._exit(0)", "raised 1 exit, 1 of 2");
    says("return f", "unserialisable 1, 1 of 2");
    says("return '1' * (2 << 20)", "unserialisable 1, 1 of 2");
    says("while True: pass", "timeout, 1 of 2");
    says("return bytearray(1 << 40)", "memory, 1 of 2");
    says("while True: x = [x] * 1000000 + [x]", "memory, 1 of 2");
    says("while True: print('x' * 1000000)", "output, 1 of 2");
    says("import ctypes; ctypes.string_at(0)", "crashed 11, 1 of 2");
    bench.asserts("1 / 0", "", &test, "load_error ZeroDivisionError, 0 of 2");
    bench.asserts("x = 'x' * (1 << 40)", "", &test, "memory, 0 of 2");
    bench.asserts("while True: pass", "", &test, "timeout, 0 of 2");
}
