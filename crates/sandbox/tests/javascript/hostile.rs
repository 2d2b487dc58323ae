//! Programs that want a reward without an answer, or more than their share. The families are those
//! of `SECURITY.md`; each must be judged the same twice.

use std::fs;
use std::path::Path;
use std::time::Duration;

use whetstone_core::verdict::Verdict;

use crate::{add, calls, judge, judge_within, load_error, raised};

/// Time for programs that are to run out of it.
const SOON: Duration = Duration::from_millis(300);

#[track_caller]
fn judged(source: &str, verdict: &Verdict) {
    let cpu = if *verdict == Verdict::Timeout { SOON } else { Duration::from_secs(2) };
    for _ in 0..2 {
        assert_eq!(&judge_within(source, &add(), cpu), verdict, "{source}");
    }
}

const NO_ANSWER: Verdict = Verdict::Unserialisable { test: 0 };
const WRONG: Verdict = Verdict::Wrong { test: 0 };

#[test]
fn leaving_is_no_pass() {
    judged("process.exit(0);", &load_error("exit"));
    judged("function add() { process.exit(0); }", &raised("exit"));
    // Nobody waits for a timer that no answer depends on.
    judged("setTimeout(() => process.exit(0)); const add = () => null;", &WRONG);
    judged(
        "setTimeout(() => process.exit(0)); const add = () => new Promise(() => {});",
        &raised("exit"),
    );
    judged("process.on('exit', () => { process.exitCode = 0; }); const add = () => null;", &WRONG);
    judged("process.exitCode = 0; throw new Error();", &load_error("Error"));
    judged(
        "try { process.exit(0); } finally { function add(a, b) { return a + b; } }",
        &load_error("exit"),
    );
}

#[test]
fn bent_prototypes_and_conversions_do_not_reach_the_judge() {
    judged(
        "Array.prototype.every = () => true; Object.prototype.equals = () => true; JSON.stringify = () => '5';
         Object.is = () => true; Object.prototype.valueOf = () => 5; const add = () => ({});",
        &WRONG,
    );
    judged("Number.prototype.valueOf = () => 5; const add = () => new Number(1);", &NO_ANSWER);
    judged(
        "const add = () => ({ valueOf: () => 5, toJSON: () => 5, [Symbol.toPrimitive]: () => 5 });",
        &NO_ANSWER,
    );
    judged(
        "const add = () => new Proxy(function () {}, { apply: () => 5, get: () => 5 });",
        &NO_ANSWER,
    );
    judged("Promise.prototype.then = (f) => f(5); async function add() { return 4; }", &WRONG);
    judged("const add = () => ({ then(f) { f(5); } });", &NO_ANSWER);
    judged(
        "Function.prototype.call = () => 5; Reflect.apply = () => 5; const add = () => 4;",
        &WRONG,
    );
    judged("globalThis.undefined = 5; const add = () => {};", &WRONG);
}

#[test]
fn what_never_ends_is_stopped() {
    judged("for (;;);", &Verdict::Timeout);
    judged("const f = () => { Promise.resolve().then(f); }; f();", &Verdict::Timeout);
    let never = "const add = () => new Promise(() => {});";
    judged(&format!("const f = () => setTimeout(f, 1); f(); {never}"), &Verdict::Timeout);
    judged(&format!("setInterval(() => {{}}, 1); {never}"), &Verdict::Timeout);
    judged(&format!("{never} setInterval(() => {{}}, 2 ** 30);"), &Verdict::Timeout);
    judged(never, &NO_ANSWER);
}

#[test]
fn what_never_ends_in_the_middle_of_a_test_is_stopped() {
    judged(
        "const add = () => { try { for (;;); } catch { return 5; } finally { return 5; } };",
        &Verdict::Timeout,
    );
    judged("const add = () => /(a+)+$/.test('a'.repeat(64) + 'b');", &Verdict::Timeout);
    judged("const add = () => ({ get five() { for (;;); } });", &NO_ANSWER);
}

#[test]
fn memory_is_bounded() {
    judged("const x = []; for (;;) x.push(new ArrayBuffer(64 << 20));", &Verdict::Memory);
    judged(
        "const x = []; for (;;) x.push({ x, y: 'y'.repeat(1000).split('') });",
        &Verdict::Memory,
    );
    judged("const add = () => { let x = []; for (;;) x = [...x, x, ...x]; };", &Verdict::Memory);
    judged(
        "const x = []; try { for (;;) x.push(new Uint8Array(1 << 20).fill(1)); } catch {} x.length = 0; const add = (a, b) => a + b;",
        &Verdict::Pass,
    );
    judged(
        "const map = new Map(); for (let i = 0; ; i++) map.set(i, new Array(1000).fill(i));",
        &Verdict::Memory,
    );
}

#[test]
fn there_is_nothing_to_escape_to() {
    for module in [
        "child_process",
        "worker_threads",
        "net",
        "http",
        "vm",
        "module",
        "cluster",
        "fs/../child_process",
    ] {
        let source = format!("const it = require('{module}'); const add = (a, b) => a + b;");
        judged(&source, &load_error("Error"));
    }
    for path in
        ["/etc/passwd", "/proc/self/maps", "/dev/fd/3", "/proc/self/fd/3", "/tmp/solution.js"]
    {
        let source = format!(
            "const add = (a, b) => {{ try {{ require('fs').readFileSync('{path}'); return a + b; }} catch {{ return null; }} }};"
        );
        judged(&source, &WRONG);
    }
    for global in [
        "WebAssembly",
        "Worker",
        "process.dlopen",
        "process.binding",
        "std",
        "os",
        "importScripts",
        "fetch",
        "Deno",
        "process.kill",
    ] {
        let source =
            format!("const add = (a, b) => (typeof {global} === 'undefined' ? null : a + b);");
        judged(&source, &WRONG);
    }
    judged(
        "const add = async (a, b) => { await import('fs'); return a + b; };",
        &raised("ReferenceError"),
    );
    judged(
        "const add = (a, b) => { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); return a + b; };",
        &raised("TypeError"),
    );
}

#[test]
fn the_channel_has_no_name_in_javascript() {
    let frame = "'\\u0006\\0\\0\\0vi\\u0005\\0\\0\\0'";
    judged(
        &format!("require('fs').writeSync(3, {frame}); const add = () => null;"),
        &load_error("Error"),
    );
    judged(
        &format!(
            "for (const fd of [1, 2]) require('fs').writeSync(fd, {frame}); const add = () => null;"
        ),
        &WRONG,
    );
    judged(
        "process.stdout.fd = 3; process.stdout.write('x'); console.log.fd = 3; const add = () => null;",
        &WRONG,
    );
    judged(
        "require('fs').readSync(3, Buffer.alloc(8)); const add = () => null;",
        &load_error("Error"),
    );
}

#[test]
fn a_flood_is_stopped() {
    // How long it takes to reach the limit of what may be written is the machine's affair.
    for source in [
        "for (;;) console.log('x'.repeat(1e5));",
        "const add = () => { for (;;) process.stderr.write('x'.repeat(1e5)); };",
    ] {
        for _ in 0..2 {
            let verdict = judge_within(source, &add(), Duration::from_secs(20));
            assert_eq!(verdict, Verdict::Output, "{source}");
        }
    }
}

#[test]
fn errors_cannot_confuse_the_judge() {
    judged(
        "throw { get name() { for (;;); }, constructor: { get name() { for (;;); } } };",
        &load_error("exception"),
    );
    judged(
        "throw new Proxy({}, { get() { for (;;); }, getPrototypeOf() { for (;;); } });",
        &load_error("exception"),
    );
    judged(
        "class E extends Error {} Object.defineProperty(E, 'name', { value: 'x'.repeat(1e6) }); throw new E();",
        &load_error(&"x".repeat(80)),
    );
    judged(
        "Error.prepareStackTrace = () => { for (;;); }; Error.stackTraceLimit = 1e9; null.x;",
        &Verdict::Timeout,
    );
    judged(
        "const deep = () => { try { deep(); } finally { deep(); } }; const add = () => deep();",
        &Verdict::Timeout,
    );
}

/// What the setup has made is not the program's, by whatever name it is asked for.
#[test]
fn a_setup_answers_for_no_program() {
    const ADD: &str = "(a, b) { return a + b; }";
    let class = format!("class Solution {{ add{ADD} }}");
    for setup in [
        format!("function add{ADD}"),
        format!("var add = function{ADD};"),
        format!("const add = function{ADD};"),
        format!("module.exports = {{ add{ADD} }};"),
        format!("module.exports = function{ADD};"),
        class.clone(),
    ] {
        let verdict = judge("1", &add(), &setup);
        assert_eq!(verdict, raised("ReferenceError"), "{setup}");
    }
    let dotted = calls("Solution.add", &[("[2,3]", "5")]);
    assert_eq!(judge("1", &dotted, &class), raised("ReferenceError"));
    for (setup, program) in [
        (format!("function add{ADD}"), format!("function add{ADD}")),
        (format!("var add = function{ADD};"), "add = (a, b) => a + b;".to_owned()),
        (format!("const add = function{ADD};"), format!("export function add{ADD}")),
        ("function other() {}".to_owned(), class.clone()),
    ] {
        assert_eq!(judge(&program, &add(), &setup), Verdict::Pass, "{setup}\n{program}");
    }
}

#[test]
fn the_hostile_corpus_is_judged_as_its_first_lines_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/hostile/js");
    let Ok(entries) = fs::read_dir(&folder) else {
        eprintln!("SKIPPED: there is no corpus of hostile programs beside the repository");
        return;
    };
    let mut count = 0;
    for entry in entries {
        let path = entry.expect("an entry").path();
        let source = fs::read_to_string(&path).expect("a program");
        let first = source.lines().next().unwrap_or_default();
        assert!(first.contains("kind=call"), "{first}");
        for _ in 0..2 {
            let honest = first.contains("EXPECT=PASS");
            let verdict =
                judge_within(&source, &add(), if honest { Duration::from_secs(2) } else { SOON });
            assert_eq!(verdict.is_pass(), honest, "{path:?}: {verdict:?}");
        }
        count += 1;
    }
    assert!(count > 0, "the corpus is empty");
}
