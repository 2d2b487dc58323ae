//! Whole programs that read and write.

use whetstone_core::tests::Tests;
use whetstone_core::verdict::Verdict;

use crate::{judge, raised, tests};

fn io(input: &str, output: &str) -> Tests {
    let test = serde_json::json!({"kind": "stdio", "hidden": [{"input": input, "output": output}]});
    tests(&test.to_string())
}

#[track_caller]
fn check(source: &str, input: &str, output: &str) {
    assert_eq!(judge(source, &io(input, output), ""), Verdict::Pass, "{source}");
}

const NUMBERS: &str = "2\n3 4\n5 6\n";

#[test]
fn input_can_be_read_at_once() {
    for read in [
        "require('fs').readFileSync(0, 'utf8')",
        "require('fs').readFileSync('/dev/stdin').toString()",
        "require('node:fs').readFileSync(process.stdin.fd, { encoding: 'utf-8' })",
    ] {
        let source = format!(
            "const lines = {read}.trim().split('\\n');
             for (const line of lines.slice(1)) {{ const [a, b] = line.split(' ').map(Number); console.log(a + b); }}"
        );
        check(&source, NUMBERS, "7\n11\n");
    }
    let bytes = "const data = require('fs').readFileSync(0); let n = 0; for (const b of data) if (b === 10) n++; console.log(n, data.length);";
    check(bytes, NUMBERS, "3 10\n");
}

#[test]
fn input_can_be_read_line_by_line() {
    let events = "const rl = require('readline').createInterface({ input: process.stdin, output: process.stdout });
        const lines = []; rl.on('line', (line) => lines.push(line)); rl.on('close', () => console.log(lines.join('|')));";
    check(events, NUMBERS, "2|3 4|5 6\n");
    let iterated = "(async () => { let sum = 0;
        for await (const line of require('readline').createInterface({ input: process.stdin })) sum += line.length;
        console.log(sum); })();";
    check(iterated, NUMBERS, "7\n");
    let asked = "const rl = require('readline').createInterface({ input: process.stdin });
        const ask = () => new Promise((done) => rl.question('', done));
        (async () => { const n = Number(await ask()); for (let i = 0; i < n; i++) console.log(await ask()); rl.close(); })();";
    check(asked, NUMBERS, "3 4\n5 6\n");
}

#[test]
fn input_can_be_streamed() {
    let events = "let text = ''; process.stdin.setEncoding('utf8');
        process.stdin.on('data', (chunk) => { text += chunk; });
        process.stdin.on('end', () => process.stdout.write(text.trim().split(/\\s+/).join(',')));";
    check(events, NUMBERS, "2,3,4,5,6");
    let iterated = "(async () => { let text = ''; for await (const chunk of process.stdin) text += chunk; console.log(text.length); })();";
    check(iterated, NUMBERS, "10\n");
    let readable = "let text = ''; process.stdin.on('readable', () => { let c; while ((c = process.stdin.read()) !== null) text += c; });
        process.stdin.on('end', () => console.log(text.length));";
    check(readable, NUMBERS, "10\n");
    check(
        "let n = 0; process.stdin.on('data', () => n++).on('end', () => console.log(n));",
        "",
        "0\n",
    );
}

#[test]
fn values_are_printed_as_node_prints_them() {
    let source = r#"
        console.log(1, -0, "a", true, null, undefined, 10n, 1.5, NaN);
        console.log([1, "b", [2]], {a: 1, "b c": {d: []}}, [], {});
        console.log("%s is %d%%", "x", 5, [1]);
        console.log(new Map([["k", 1]]), new Set([1]), [,1], () => 1, class A {}, {n: {n: {n: {}}}});
        console.log(Symbol("s"), new (class P { x = 1 })(), "quote's", ["quote's"]);
        console.log();
        process.stdout.write("é\u{1F600}\ud800|");"#;
    let output = "1 -0 a true null undefined 10n 1.5 NaN
[ 1, 'b', [ 2 ] ] { a: 1, 'b c': { d: [] } } [] {}
x is 5% [ 1 ]
Map(1) { 'k' => 1 } Set(1) { 1 } [ <1 empty item>, 1 ] [Function (anonymous)] [class A] { n: { n: { n: {} } } }
Symbol(s) P { x: 1 } quote's [ \"quote's\" ]

é\u{1F600}\u{FFFD}|";
    check(source, "", output);
}

#[test]
fn leaving_early_is_judged_by_what_was_written() {
    check("console.log('done'); process.exit(1); console.log('more');", "", "done");
    let early = judge("process.exit(0);", &io("", "done"), "");
    assert_eq!(early, Verdict::Wrong { test: 0 });
}

#[test]
fn an_exception_fails_a_test_whatever_was_written() {
    let verdict = |source: &str| judge(source, &io("", "done"), "");
    assert_eq!(verdict("console.log('done'); throw new RangeError();"), raised("RangeError"));
    assert_eq!(verdict("console.log('done'); (async () => { null.x; })();"), raised("TypeError"));
    assert_eq!(
        verdict("console.log('done'); setTimeout(() => { throw new URIError(); }, 5);"),
        raised("URIError")
    );
    assert_eq!(
        verdict("console.log('done'); queueMicrotask(() => { throw new EvalError(); });"),
        raised("EvalError")
    );
}

#[test]
fn timers_run_in_the_order_of_their_times() {
    let source = "setTimeout(() => console.log(3), 1000); setTimeout(() => console.log(2), 10); setImmediate(() => console.log(1));
        process.nextTick(() => console.log(0)); const gone = setTimeout(() => console.log('never'), 5); clearTimeout(gone);
        let n = 0; const every = setInterval(() => { console.log('tick', ++n); if (n === 2) clearInterval(every); }, 600);";
    check(source, "", "0\n1\n2\ntick 1\n3\ntick 2\n");
}

#[test]
fn each_test_is_a_run_of_its_own_and_the_main_guard_is_open() {
    let json =
        r#"{"kind":"stdio","hidden":[{"input":"1","output":"1"},{"input":"2","output":"1"}]}"#;
    let source = "globalThis.runs = (globalThis.runs ?? 0) + 1; if (require.main === module) console.log(globalThis.runs);";
    assert_eq!(judge(source, &tests(json), ""), Verdict::Pass);
}

#[test]
fn small_modules_of_node_are_there() {
    let source = "const assert = require('assert'); assert(true); assert.deepStrictEqual([{ a: [1] }], [{ a: [1] }]);
        assert.throws(() => assert.strictEqual(1, 2), assert.AssertionError);
        const { EOL } = require('os'); const Events = require('events'); const e = new Events();
        e.once('x', (v) => console.log('got', v)); e.emit('x', 1); e.emit('x', 2);
        const deep = structuredClone({ a: new Map([[1, [2]]]) }); console.log(deep.a.get(1)[0] + EOL.length);
        try { require('left-pad'); } catch (error) { console.log(error.code); }";
    check(source, "", "got 1\n3\nMODULE_NOT_FOUND\n");
}
