//! Hostile programs: none outlives its limits, none is seen as what it is not, and none breaks the judge.

use std::time::{Duration, Instant};

use whetstone_sandbox::phaser::FailureClass::{
    self, EnvLimit, Fault, Memory, Stack, Tampering, Timeout,
};
use whetstone_sandbox::phaser::{PlayJob, Run, Settings, SourceKind};

use super::{class, game, judges, limits, play};

/// A program, and what it may be found to be. No class is a run without failure, all of whose frames
/// passed.
struct Hostile {
    name: &'static str,
    source: String,
    kind: SourceKind,
    found: &'static [Option<FailureClass>],
}

fn script(name: &'static str, source: &str, found: &'static [Option<FailureClass>]) -> Hostile {
    Hostile { name, source: source.to_owned(), kind: SourceKind::Script, found }
}

fn create(name: &'static str, body: &str, found: &'static [Option<FailureClass>]) -> Hostile {
    Hostile { name, source: game(body, ""), kind: SourceKind::Script, found }
}

fn update(name: &'static str, body: &str, found: &'static [Option<FailureClass>]) -> Hostile {
    let made = "this.n = 0; this.box = this.add.rectangle(10, 10, 5, 5, 0xff);";
    Hostile {
        name,
        source: game(made, &format!("this.n++; {body}")),
        kind: SourceKind::Script,
        found,
    }
}

fn module(name: &'static str, source: &str, found: &'static [Option<FailureClass>]) -> Hostile {
    Hostile { kind: SourceKind::Module, ..script(name, source, found) }
}

const FAULT: &[Option<FailureClass>] = &[Some(Fault)];
const CLEAN: &[Option<FailureClass>] = &[None];
const TIME: &[Option<FailureClass>] = &[Some(Timeout)];
const TAMPERED: &[Option<FailureClass>] = &[Some(Tampering)];
const STACK: &[Option<FailureClass>] = &[Some(Stack)];
/// What takes all memory may be told so by an error of the engine's.
const SPACE: &[Option<FailureClass>] = &[Some(Memory), Some(Fault), Some(Timeout)];
/// A program that stops its own game, or whose game no longer steps.
const STOPPED: &[Option<FailureClass>] = &[Some(Fault), Some(Tampering)];

fn endless() -> Vec<Hostile> {
    vec![
        script("a loop at the top", "while (true) {}", TIME),
        create("a loop in create", "for (;;) {}", TIME),
        update("a loop in update", "if (this.n > 20) for (;;) {}", TIME),
        update(
            "a loop that catches everything",
            "while (true) { try { while (true) {} } catch (e) {} }",
            TIME,
        ),
        script(
            "a loop in a constructor",
            "class M extends Phaser.Scene { constructor() { super('m'); for (;;) {} } } new Phaser.Game({ scene: M });",
            TIME,
        ),
        create(
            "a loop in toString",
            "this.add.text(0, 0, { toString() { for (;;) {} } } + '');",
            TIME,
        ),
        create(
            "a loop in a getter",
            "this.add.text(0, 0, Object.defineProperty({}, 'words', { get() { for (;;) {} } }).words);",
            &[Some(Timeout), Some(Fault)],
        ),
        script(
            "promises without end",
            "const f = () => { Promise.resolve().then(f); }; f();",
            TIME,
        ),
        script(
            "promises in promises without end",
            "const f = () => Promise.resolve().then(f); f();",
            SPACE,
        ),
        update(
            "promises without end in update",
            "const f = () => { Promise.resolve().then(f); }; f();",
            TIME,
        ),
        script(
            "an async generator without end",
            "(async () => { async function* g() { for (;;) yield 1; } for await (const x of g()) {} })(); ",
            TIME,
        ),
        create(
            "loads without end",
            "const load = () => { const i = new Image(); i.onload = load; i.src = 'a.png'; }; load();",
            TIME,
        ),
        create("timers that start timers", "const f = () => setTimeout(f, 0); f();", CLEAN),
        create(
            "a hundred thousand timers",
            "for (let i = 0; i < 1e5; i++) setInterval(() => { this.n = i; }, 0);",
            &[Some(Timeout), Some(Memory)],
        ),
        create("a regular expression", "/^(a+)+$/.test('a'.repeat(40) + 'b');", TIME),
        create("a comparison without end", "[3, 2, 1].sort(() => { for (;;) {} });", TIME),
        create(
            "a number that converts itself without end",
            "this.add.rectangle(0, 0, 5, 5).setX({ valueOf() { for (;;) {} } }).x + 1;",
            TIME,
        ),
        create(
            "objects without number",
            "for (let i = 0; ; i++) this.add.rectangle(i, i, 1, 1);",
            &[Some(Timeout), Some(Memory)],
        ),
        create(
            "a wait for another thread",
            "Atomics.wait(new Int32Array(new SharedArrayBuffer(8)), 0, 0);",
            FAULT,
        ),
        create(
            "a power that takes all time",
            "(2n ** 300000n) ** 3000n;",
            &[Some(Timeout), Some(Fault), Some(Memory)],
        ),
    ]
}

fn space() -> Vec<Hostile> {
    vec![
        create(
            "an array without end",
            "const a = []; for (;;) a.push(new Array(1000).fill(0));",
            SPACE,
        ),
        create("a text that doubles", "let s = 'x'; for (;;) s += s;", SPACE),
        create("buffers", "const a = []; for (;;) a.push(new Uint8Array(1 << 24).fill(1));", SPACE),
        create(
            "a canvas of all memory",
            "document.createElement('canvas').getContext('2d').getImageData(0, 0, 1e5, 1e5);",
            SPACE,
        ),
        create(
            "memory that is caught",
            "const a = []; for (;;) { try { a.push('y'.repeat(1 << 20) + a.length); } catch (e) {} }",
            SPACE,
        ),
        create("recursion", "const f = (n) => f(n + 1) + 1; f(0);", STACK),
        create(
            "recursion through the engine",
            "const a = []; a[0] = a; const f = (x) => [x].map(f); f(1);",
            STACK,
        ),
        create(
            "deep data",
            "let a = []; for (let i = 0; i < 1e6; i++) a = [a]; JSON.stringify(a);",
            &[Some(Stack), Some(Timeout)],
        ),
        Hostile {
            source: format!("{}1{}", "(".repeat(60_000), ")".repeat(60_000)),
            ..script("deep source", "", &[Some(Stack), Some(Fault)])
        },
        Hostile {
            source: "[".repeat(100_000),
            ..script("deep brackets", "", &[Some(Stack), Some(Fault)])
        },
        Hostile {
            source: format!("/*{}*/", "x".repeat(1 << 20)),
            ..script("a long program", "", FAULT)
        },
        update(
            "a flood of lines",
            "for (let i = 0; i < 1000; i++) console.log('x'.repeat(10000));",
            &[None, Some(Timeout)],
        ),
        update(
            "names of a million letters",
            "this.box.name = 'n'.repeat(1e6); this.scene.settings.key = 'k'.repeat(1e6);",
            CLEAN,
        ),
        update(
            "a text of a million letters",
            "if (!this.t) this.t = this.add.text(0, 0, ''); this.t._text = 't'.repeat(1e6);",
            CLEAN,
        ),
    ]
}

fn tampering() -> Vec<Hostile> {
    vec![
        script(
            "a step that does nothing",
            &format!("Phaser.Game.prototype.headlessStep = () => {{}};{}", game("", "")),
            STOPPED,
        ),
        script(
            "a loop that does nothing",
            &format!("Phaser.Core.TimeStep.prototype.step = () => {{}};{}", game("", "")),
            STOPPED,
        ),
        script(
            "a scene manager that does nothing",
            &format!("Phaser.Scenes.SceneManager.prototype.update = () => {{}};{}", game("", "")),
            TAMPERED,
        ),
        create(
            "events that do nothing",
            "Phaser.Events.EventEmitter.prototype.emit = () => true;",
            TAMPERED,
        ),
        update("a step of the game's own", "this.game.headlessStep = () => {};", TAMPERED),
        create(
            "frames that never come",
            "window.requestAnimationFrame = () => 0; this.game.loop.raf.stop();",
            STOPPED,
        ),
        create(
            "a clock that stands still",
            "Date.now = () => 0; performance.now = () => 0;",
            TAMPERED,
        ),
        create("no randomness", "Math.random = () => 0.5;", TAMPERED),
        create(
            "a list that filters nothing",
            "Array.prototype.filter = function () { return this; };",
            TAMPERED,
        ),
        create("a name that every object has", "Object.prototype.passed = true;", TAMPERED),
        update(
            "a failure after tampering",
            "if (this.n === 5) { Math.floor = () => 0; throw new Error('no'); }",
            TAMPERED,
        ),
        create(
            "other names for what is guarded",
            "const O = Object; globalThis.Object = { prototype: {} }; O.prototype.passed = true;",
            &[Some(Tampering), Some(Fault)],
        ),
        create(
            "a method of its own for arrays",
            "Array.prototype.second = function () { return this[1]; }; this.add.text(1, 1, [1, 2].second());",
            CLEAN,
        ),
        update(
            "time of its own",
            "if (this.n === 5) for (let i = 0; i < 50; i++) this.game.headlessStep(i * 16, 16);",
            &[None, Some(Stack), Some(Fault)],
        ),
        update("a frame counter of its own", "this.game.loop.frame = 1e9;", CLEAN),
    ]
}

fn forgery() -> Vec<Hostile> {
    vec![
        update(
            "a place that is a getter",
            "Object.defineProperty(this.box, 'x', { get: () => this.n * 10 });",
            TAMPERED,
        ),
        update(
            "a body that is a getter",
            "Object.defineProperty(this.box, 'body', { get: () => ({ velocity: { x: 1, y: 1 } }) });",
            TAMPERED,
        ),
        update("a proxy on display", "this.children.list.push(new Proxy(this.box, {}));", TAMPERED),
        update(
            "an object that is none of Phaser's",
            "this.children.list.push({ type: 'Sprite', x: 1, y: 2, visible: true });",
            STOPPED,
        ),
        create(
            "a list of its own",
            "this.sys.displayList = { list: [{ type: 'Sprite', x: 1, y: 2 }] };",
            STOPPED,
        ),
        update(
            "scenes of its own",
            "this.game.scene = { scenes: [], update() {}, isProcessing: false };",
            STOPPED,
        ),
        script("a game of its own", "Phaser.Game = function () {}; new Phaser.Game({});", FAULT),
        script("no game", "var x = 1;", FAULT),
        create(
            "a getter for all objects",
            "Object.defineProperty(Object.prototype, 'x', { get: () => 777, set() {}, configurable: true });",
            &[None, Some(Fault), Some(Tampering)],
        ),
        create(
            "arrays that throw",
            "Array.prototype.push = () => { throw new Error('no'); };",
            TAMPERED,
        ),
        create(
            "functions that lie",
            "Function.prototype.call = function () {}; Function.prototype.apply = function () {};",
            TAMPERED,
        ),
        create(
            "a trace of calls of its own",
            "Error.prepareStackTrace = () => 'at f (phaser.js:1:1)'; this.load.image('a', 'a.png'); const e = new TypeError('no frame of this texture'); e.stack = 'at f (phaser.js:1:1)'; throw e;",
            FAULT,
        ),
        update("the end of the game", "if (this.n === 10) this.game.destroy(true);", FAULT),
        update("a loop that is stopped", "if (this.n === 10) this.game.loop.stop();", FAULT),
        create(
            "many games",
            "if (!window.many) { window.many = 1; for (let i = 0; i < 50; i++) new Phaser.Game({ scene: {} }); }",
            &[None, Some(Timeout), Some(Memory)],
        ),
    ]
}

fn odd() -> Vec<Hostile> {
    vec![
        script("a process", "process.exit(0);", FAULT),
        script("a module of Node's", "require('fs').readFileSync('/etc/passwd');", FAULT),
        module("an import", "import fs from 'fs';", FAULT),
        module("an import of its own", "import './game.js';", &[Some(Fault)]),
        create("an import at run time", "import('fs');", FAULT),
        create(
            "a text that is run",
            "(0, eval)('this.escaped = 1'); new Function('return this')().escaped = 2;",
            CLEAN,
        ),
        create("nothing is thrown", "throw undefined;", FAULT),
        create("null is thrown", "throw null;", &[Some(Memory), Some(Fault)]),
        create("a symbol is thrown", "throw Symbol('s');", FAULT),
        create("a proxy is thrown", "throw new Proxy({}, { get() { for (;;) {} } });", FAULT),
        create(
            "an object with getters is thrown",
            "throw { get message() { for (;;) {} }, get stack() { for (;;) {} }, get constructor() { for (;;) {} } };",
            FAULT,
        ),
        create("a rejected promise", "Promise.reject(new Error('late'));", FAULT),
        create(
            "an error that is swallowed",
            "window.onerror = () => true; window.addEventListener('error', (e) => e.preventDefault()); missing();",
            FAULT,
        ),
        create(
            "WebGL",
            "document.createElement('canvas').getContext('webgl').createShader(1);",
            &[Some(Fault), Some(EnvLimit)],
        ),
    ]
}

#[test]
fn hostile_programs_are_found_to_be_what_they_are() {
    let programs: Vec<Hostile> =
        [endless(), space(), tampering(), forgery(), odd()].into_iter().flatten().collect();
    assert!(programs.len() >= 40);
    for judge in judges() {
        let mut wrong = Vec::new();
        for hostile in &programs {
            let settings = Settings { kind: hostile.kind, ..Settings::default() };
            let began = Instant::now();
            let job = PlayJob { source: &hostile.source, settings: &settings, limits: limits() };
            let run = judge.play(job).expect(hostile.name);
            let slow = began.elapsed() > Duration::from_secs(30) || run.cpu_ms > 3000.0;
            if slow || !hostile.found.contains(&class(&run)) || !is_whole(&run) {
                let (class, error, ms) = (run.class, &run.error, run.cpu_ms);
                wrong.push(format!(
                    "{}: {class:?} {error:?} {} frames, {ms:.0} ms",
                    hostile.name, run.frames
                ));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        let honest =
            play(&judge, &game("this.add.text(1, 1, 'still here');", ""), &Settings::default());
        assert!(honest.ok, "{honest:?}");
    }
}

/// A run without failure has all its frames; one with a failure says what it is. All of it is bounded.
fn is_whole(run: &Run) -> bool {
    let ends = if run.ok { run.class.is_none() && run.frames == 120 } else { run.error.is_some() };
    let short = |text: &String| text.chars().count() <= 500;
    ends && run.log.len() <= 64
        && run.log.iter().chain(&run.scenes).chain(&run.error).all(short)
        && run.objects.len() <= 200
}
