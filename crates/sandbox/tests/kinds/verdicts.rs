//! Every verdict that a run can have, and tests that are themselves broken.

use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
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
        said.starts_with("cannot judge: hidden test 2 cannot be used: it is not valid"),
        "{said}"
    );
    let said = says("import no_such_module", &["assert abs(f(1)) == 1"]);
    assert_ne!(said, "pass, 1 of 1");
    let said = says("x = =", &["assert f(1) == 1"]);
    assert!(said.starts_with("cannot judge: the setup cannot be used: it is not valid"), "{said}");
    let said = says("", &["assert f(1) == 1", "assert f(abs) == abs"]);
    assert_eq!(
        said,
        "cannot judge: hidden test 2 is broken: it calls the program with what is no plain data"
    );
    let script = json!({"kind": "script", "entry_point": "f", "hidden": ["def test(f): pass"]});
    let said = bench.says("def f(x): return x", "", &script);
    assert!(
        said.starts_with("cannot judge: hidden test 1 cannot be used: it defines no"),
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

/// Only where the machine breaks is a second try worth its time.
#[test]
fn a_broken_test_is_judged_once() {
    let tests = json!({"kind": "asserts", "hidden": ["while True: pass"]});
    let bench = Bench::new();
    let limit = bench.limits.cpu;
    let said = bench.says("def f(x): return x", "", &tests);
    assert!(said.contains("does not come to an end"), "{said}");
    drop(bench);
    // The kernel adds up all children of a process, and under `cargo test` those of other tests are among them.
    if std::env::var_os("NEXTEST").is_none() {
        println!(
            "SKIPPED: the CPU time of one test is counted in a process of its own (cargo-nextest)"
        );
        return;
    }
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    let spent = usage.user_time() + usage.system_time();
    let spent = Duration::from_micros(u64::try_from(spent.num_microseconds()).unwrap());
    assert!(spent >= limit && spent < limit * 3 / 2, "{spent:?} of {limit:?}");
}

#[test]
fn that_a_program_did_not_load_is_known_whatever_ended_it() {
    let bench = Bench::new();
    let checker = "def check(input, expected, answer): return answer == expected";
    let calls = json!({"kind": "calls", "entry_point": "f", "hidden": [{"expected": 1}]});
    let mut checked = calls.clone();
    checked["checker"] = json!(checker);
    for tests in [calls, checked, json!({"kind": "asserts", "hidden": ["assert f() == 1"]})] {
        let is_of_loading = |program: &str| bench.judgement(program, "", &tests).is_of_loading();
        for ends in [
            "raise MemoryError",
            "x = 'x' * (1 << 40)",
            "import os; os.abort()",
            "import os; os._exit(0)",
            "exit()",
            "while True: print('x' * 1000000)",
            "class MemoryError(Exception): pass\nraise MemoryError",
        ] {
            assert!(is_of_loading(&format!("{ends}\ndef f(): return 0")), "{ends}");
            let later = ends.replace('\n', "\n    ");
            assert!(!is_of_loading(&format!("def f():\n    {later}")), "{ends}");
        }
    }
    let asserts = json!({"kind": "asserts", "hidden": ["assert f() == 1"]});
    assert!(bench.judgement("while True: pass", "", &asserts).is_of_loading());
    assert!(!bench.judgement("def f(): return 1", "", &asserts).is_of_loading());
}
