//! What counts as an answer, and what it is equal to.

use whetstone_core::verdict::Verdict;

use crate::{calls, judge};

/// What becomes of a program that returns `answer`, where `expected` is right.
#[track_caller]
fn returning(answer: &str, expected: &str) -> Verdict {
    judge(&format!("const f = () => ({answer});"), &calls("f", &[("[]", expected)]), "")
}

#[track_caller]
fn right(answer: &str, expected: &str) {
    assert_eq!(returning(answer, expected), Verdict::Pass, "{answer} for {expected}");
}

#[track_caller]
fn wrong(answer: &str, expected: &str) {
    assert_eq!(returning(answer, expected), Verdict::Wrong { test: 0 }, "{answer} for {expected}");
}

#[track_caller]
fn no_answer(answer: &str) {
    assert_eq!(returning(answer, "5"), Verdict::Unserialisable { test: 0 }, "{answer}");
}

#[test]
fn plain_values_are_compared_by_value() {
    right("null", "null");
    right("undefined", "null");
    right("true", "true");
    wrong("'true'", "true");
    right("[1, [2.5, 'x'], {a: {b: []}}]", r#"[1,[2.5,"x"],{"a":{"b":[]}}]"#);
    right("({b: 1, a: 2})", r#"{"a":2,"b":1}"#);
    wrong("({a: 1})", r#"{"a":1,"b":null}"#);
    right("Object.assign(Object.create(null), {a: 1})", r#"{"a":1}"#);
    right("JSON.parse('{\"__proto__\": 1}')", r#"{"__proto__":1}"#);
    right("[, 1]", "[null,1]");
    right("'abcabc'.match(/b/g)", r#"["b","b"]"#);
    wrong("[1, 2]", "[2,1]");
}

#[test]
fn numbers_are_exact() {
    right("3.0", "3");
    right("-0", "0");
    right("0.1 + 0.2", "0.30000000000000004");
    wrong("0.1 + 0.2", "0.3");
    wrong("NaN", "null");
    wrong("NaN", "0");
    wrong("Infinity", "1e308");
    right("2 ** 53", "9007199254740992");
    wrong("2 ** 53", "9007199254740993");
    right("1e21", "1000000000000000000000");
    right("2n ** 64n + 1n", "18446744073709551617");
    right("-(2n ** 64n)", "-18446744073709551616");
    right("0n", "0");
    wrong("'5'", "5");
}

#[test]
fn strings_are_unicode_and_half_a_pair_is_a_string_too() {
    right("'aß€😀\\0'", r#""aß€😀\u0000""#);
    right("'\\ud800'", r#""\ud800""#);
    right("'😀'[0] + '😀'[1]", r#""😀""#);
    wrong("'😀'[0]", r#""😀""#);
}

#[test]
fn arguments_arrive_as_json_has_them() {
    let tests = calls(
        "f",
        &[
            (r#"[{"__proto__":[1],"b":null},"é\ud800",1e400]"#, "true"),
            ("[123456789012345678901234567890,-9007199254740993,[true,2.5]]", "false"),
        ],
    );
    let source = r#"
        Object.defineProperty(Object.prototype, "b", { set() { throw new Error("seen"); } });
        Object.defineProperty(Array.prototype, 0, { set() { throw new Error("seen"); } });
        function f(a, b, c) {
          if (typeof a === "number") {
            if (a !== 123456789012345678901234567890 || b !== -9007199254740992) throw new RangeError();
            return c[0] !== true || c[1] !== 2.5;
          }
          const own = Object.getOwnPropertyDescriptor(a, "__proto__");
          return own.value[0] === 1 && own.enumerable && a.b === null && b === "é\ud800" && c === Infinity;
        }"#;
    assert_eq!(judge(source, &tests, ""), Verdict::Pass);
}

#[test]
fn what_is_no_plain_value_is_no_answer() {
    no_answer("() => 5");
    no_answer("Symbol('5')");
    no_answer("new Number(5)");
    no_answer("new (class { value = 5 })()");
    no_answer("new Map([[1, 5]])");
    no_answer("new Set([5])");
    no_answer("new Date(5)");
    no_answer("/5/");
    no_answer("new Uint8Array([5])");
    no_answer("[() => 5]");
    no_answer("({[Symbol.iterator]: 5})");
    no_answer("[Promise.resolve(5)]");
    no_answer("new Error('5')");
    no_answer("new (class extends Array {})(5)");
    no_answer("globalThis");
}

#[test]
fn no_code_of_the_program_runs_while_its_answer_is_read() {
    no_answer("({ get five() { return 5; } })");
    no_answer("Object.defineProperty([0], 0, { get: () => 5 })");
    no_answer("new Proxy({}, { ownKeys: () => ['a'], get: () => 5 })");
    no_answer("new Proxy([5], {})");
    no_answer("({ toJSON: () => 5 })");
    no_answer("({ valueOf: () => 5, toString: () => '5', [Symbol.toPrimitive]: () => 5 })");
    wrong("(Object.prototype.toJSON = () => 5, [])", "5");
    wrong("(Object.defineProperty(Array.prototype, 0, { get: () => 5 }), [,])", "[5]");
    wrong("(Array.prototype.toString = () => '5', [])", "5");
}

#[test]
fn an_answer_that_is_too_much_is_none() {
    no_answer("(() => { const a = []; a.push(a); return a; })()");
    no_answer("(() => { const a = {}; a.a = a; return a; })()");
    no_answer("(() => { let a = 5; for (let i = 0; i < 100; i++) a = [a]; return a; })()");
    no_answer("(() => { let a = 5; for (let i = 0; i < 50; i++) a = [a, a]; return a; })()");
    no_answer("new Array(2 ** 32 - 1)");
    no_answer("'x'.repeat(2 ** 21)");
    right(
        "(() => { let a = 5; for (let i = 0; i < 50; i++) a = [a]; return a; })()",
        &format!("{}5{}", "[".repeat(50), "]".repeat(50)),
    );
}
