//! Programs whose functions are called.

use std::time::Duration;

use whetstone_core::verdict::Verdict;

use crate::{add, calls, judge, judge_within, load_error, raised, tests};

#[track_caller]
fn passes(source: &str) {
    assert_eq!(judge(source, &add(), ""), Verdict::Pass, "{source}");
}

#[test]
fn a_function_is_found_wherever_a_program_leaves_it() {
    passes("function add(a, b) { return a + b; }");
    passes("const add = (a, b) => a + b;");
    passes("let add = function (a, b) { return a + b; };");
    passes("var add = (a, b) => { return a + b };");
    passes("module.exports.add = (a, b) => a + b;");
    passes("exports.add = (a, b) => a + b;");
    passes("module.exports = { add(a, b) { return a + b; } };");
    passes("module.exports = (a, b) => a + b;");
    passes("class Solution { add(a, b) { return this.sum(a, b); } sum(a, b) { return a + b; } }");
    passes(
        "#!/usr/bin/env node\n'use strict';\nconst add = (a, b) => a + b;\nmodule.exports = { add };",
    );
    passes("\u{feff}function add(a, b) { return a + b; }");
}

#[test]
fn a_module_is_run_as_a_module() {
    passes("export function add(a, b) { return a + b; }");
    passes("export const add = (a, b) => a + b;");
    passes("const add = (a, b) => a + b;\nexport { add };");
    passes("export default function add(a, b) { return a + b; }");
    passes("export default (a, b) => a + b;");
    passes("export class Solution { add(a, b) { return a + b; } }");
    passes("const one = await Promise.resolve(1);\nexport const add = (a, b) => a + b * one;");
    passes("\u{feff}#!/usr/bin/env node\nexport function add(a, b) { return a + b; }");
    // Words that do not make a module.
    passes("// export and import\nfunction add(a, b) { return a + b; }");
    passes("const add = async (a, b) => { await 1; return a + b; };");
    passes("#!/usr/bin/env node\n// import\nfunction add(a, b) { return a + b; }");
    passes("x = 010; function add(a, b) { return a + b; } // sloppy, and exported by nobody");
    let verdict = |source: &str| judge(source, &add(), "");
    assert_eq!(verdict("export function sub(a, b) { return a + b; }"), raised("ReferenceError"));
    assert_eq!(verdict("export const add = (a, b) => a - b;"), Verdict::Wrong { test: 0 });
    assert_eq!(verdict("export const add = 1; throw new RangeError();"), load_error("RangeError"));
    assert_eq!(verdict("export const add = ;"), load_error("SyntaxError"));
    let io = tests(r#"{"kind":"stdio","hidden":[{"input":"","output":"3"}]}"#);
    assert_eq!(judge("export {};\nconsole.log(await Promise.resolve(3));", &io, ""), Verdict::Pass);
}

#[test]
fn a_method_is_called_on_an_instance_of_its_class() {
    let tests = calls("Solution.add", &[("[2,3]", "105")]);
    let verdict = |source: &str| judge(source, &tests, "");
    let class = "class Solution { constructor() { this.base = 100; } add(a, b) { return this.base + a + b; } }";
    assert_eq!(verdict(class), Verdict::Pass);
    let function = "var Solution = function () { this.base = 100; };
        Solution.prototype.add = function (a, b) { return this.base + a + b; };";
    assert_eq!(verdict(function), Verdict::Pass);
    assert_eq!(
        verdict("class Solution { static add(a, b) { return 100 + a + b; } }"),
        Verdict::Pass
    );
    assert_eq!(verdict("const Solution = { add: (a, b) => 100 + a + b };"), Verdict::Pass);
    assert_eq!(verdict("class Solution { sub() {} }"), raised("TypeError"));
    assert_eq!(verdict("class Other { add() {} }"), raised("ReferenceError"));
}

/// Within 200 ms of CPU: a timer that is left to itself would use all of them.
#[track_caller]
fn passes_soon(source: &str) {
    let verdict = judge_within(source, &add(), Duration::from_millis(200));
    assert_eq!(verdict, Verdict::Pass, "{source}");
}

#[test]
fn a_timer_that_no_answer_waits_for_delays_none() {
    let add = "function add(a, b) { return a + b; }";
    passes_soon(&format!("setInterval(() => {{}}, 10); {add}"));
    passes_soon(&format!("const tick = () => setTimeout(tick, 0); tick(); {add}"));
    passes_soon(&format!("const tick = () => setImmediate(tick); tick(); {add}"));
    passes_soon("function add(a, b) { setInterval(() => {}, 1); return a + b; }");
    passes_soon("async function add(a, b) { setInterval(() => {}, 1); return a + b; }");
    passes_soon(&format!("setTimeout(() => {{ throw new Error('late'); }}, 1); {add}"));
    passes_soon(&format!("setTimeout(() => {{ for (;;); }}); {add}"));
}

#[test]
fn timers_run_for_as_long_as_an_answer_waits_for_them() {
    let sleep = "const sleep = (ms) => new Promise((done) => setTimeout(done, ms));";
    passes_soon(&format!("{sleep} async function add(a, b) {{ await sleep(1e6); return a + b; }}"));
    passes_soon(&format!(
        "{sleep} setInterval(() => {{}}, 1e4);
         async function add(a, b) {{ await sleep(1e5); await sleep(1e5); return a + b; }}"
    ));
    passes_soon(
        "const add = (a, b) => new Promise((done) => {
             let n = 0; const every = setInterval(() => { if (++n === 5) done(a + b); }, 10); });",
    );
    // What was set while loading runs when a call waits, in its order.
    passes_soon(&format!(
        "{sleep} let ready = 0; setTimeout(() => {{ ready = 1; }}, 5);
         async function add(a, b) {{ await sleep(10); return ready ? a + b : null; }}"
    ));
}

#[test]
fn promises_are_waited_for() {
    passes("async function add(a, b) { await null; return a + b; }");
    passes("const add = (a, b) => new Promise((done) => setTimeout(() => done(a + b), 1e6));");
    passes(
        "const later = (f) => new Promise((done) => setImmediate(() => done(f())));
         async function add(a, b) { let sum = 0; for (const x of [a, b]) sum += await later(() => x); return sum; }",
    );
    passes(
        "let ready = false; Promise.resolve().then(() => { ready = true; });
        function add(a, b) { return ready ? a + b : null; }",
    );
    let verdict = |source: &str| judge(source, &add(), "");
    let rejects = "class TooBig extends Error {} async function add() { throw new TooBig(); }";
    assert_eq!(verdict(rejects), raised("TooBig"));
    let handled =
        "async function add(a, b) { try { await Promise.reject(1); } catch { return a + b; } }";
    assert_eq!(verdict(handled), Verdict::Pass);
    let never = "const add = () => new Promise(() => {});";
    assert_eq!(verdict(never), Verdict::Unserialisable { test: 0 });
    let forgotten = "function add(a, b) { Promise.reject(new RangeError()); return a + b; }";
    assert_eq!(verdict(forgotten), raised("RangeError"));
}

#[test]
fn an_exception_is_named_after_its_class() {
    let verdict = |source: &str| judge(source, &add(), "");
    assert_eq!(verdict("function add() { return null.x; }"), raised("TypeError"));
    assert_eq!(
        verdict("class Odd extends RangeError {} function add() { throw new Odd(); }"),
        raised("Odd")
    );
    assert_eq!(verdict("function add() { throw 'text'; }"), raised("string"));
    assert_eq!(verdict("throw new Error('no');"), load_error("Error"));
    assert_eq!(verdict("function add( {"), load_error("SyntaxError"));
    assert_eq!(verdict("function add(a, b) { return a + b; }\nadd(;"), load_error("SyntaxError"));
    assert_eq!(verdict("const x = 1;"), raised("ReferenceError"));
    assert_eq!(verdict("const add = 5;"), raised("TypeError"));
}

#[test]
fn the_setup_runs_before_the_program_and_named_arguments_follow_the_others() {
    let json = r#"{"kind":"calls","entry_point":"add","hidden":[
        {"args":[1],"kwargs":{"b":2},"expected":1003}]}"#;
    let verdict = judge("const add = (a, b) => base + a + b;", &tests(json), "const base = 1000;");
    assert_eq!(verdict, Verdict::Pass);
}

#[test]
fn a_wrong_answer_is_counted_from_the_first_test() {
    let verdict = judge("const add = (a, b) => (a > 5 ? 31 : a + b);", &add(), "");
    assert_eq!(verdict, Verdict::Wrong { test: 2 });
}

#[test]
fn a_main_guard_stays_shut_and_output_is_no_answer() {
    passes(
        "function add(a, b) { console.log('debug', a, b); return a + b; }
         if (require.main === module) { process.exit(1); }",
    );
    passes("console.error({ deep: [1, [2, [3, [4]]]] }); const add = (a, b) => a + b;");
}

#[test]
fn deep_recursion_is_an_exception_that_can_be_caught() {
    passes(
        "const down = (n) => (n === 0 ? 0 : 1 + down(n - 1)); down(9000); const add = (a, b) => a + b;",
    );
    let verdict =
        judge("const down = (n) => 1 + down(n + 1); const add = () => down(0);", &add(), "");
    assert_eq!(verdict, raised("RangeError"));
}

#[test]
fn random_numbers_are_the_same_in_every_run() {
    let first = "const add = () => Math.random();";
    let seen = calls("add", &[("[]", "0.6270739405881613")]);
    assert_eq!(judge(first, &seen, ""), Verdict::Pass);
    assert_eq!(judge(first, &seen, ""), Verdict::Pass);
}
