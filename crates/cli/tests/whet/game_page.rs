//! Replies to Phaser tasks in a page: findings at their lines, checks, the last frame, and hostile facts.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use whetstone_record::event::{Event, Outcome, TimedEvent};
use whetstone_record::journal::Journal;
use whetstone_record::run_dir::RunDir;

use crate::binary::whet_in;
use crate::browser::{self, Browser};
use crate::hostile_run::{ESCAPES, MARKUP};

const REPLY: &str = "[PLAN]\nShow a box.\n[/PLAN]\n```javascript\nclass Main extends Phaser.Scene {\n  create() {\n    \
    this.add.rectangel(9, 9);\n    this.add.circle();\n  }\n}\nnew Phaser.Game({ scene: Main });\n```\n";

fn line(sample: usize, text: &str, facts: &Value) -> Value {
    json!({
        "step": 1, "prompt_id": "seed/1", "group_id": sample, "text": text,
        "meta": {"turns": [{"prompt": [], "finish": "stop"}], "asked": [[{"role": "user", "content": "A box."}]]},
        "validation": {"kind": "phaser", "solved": false, "facts": facts}, "advantage": 0.5,
        "reward": {"total": 0.225, "terms": {"api": 0.5, "task": 0.5}, "weights": {"api": 0.2, "task": 0.25},
            "gates": {"known_api": {"passed": false, "cap": 0.6}, "parses": {"passed": true, "cap": 0.05}}},
    })
}

/// A game with an invented name, a call without arguments, a failure, three objects and three checks.
fn calm() -> Value {
    let unknown =
        json!({"line": 3, "column": 14, "what": "Factory.rectangel", "nearest": "rectangle"});
    let few = json!({"line": 4, "column": 14, "what": "Factory.circle", "given": 0, "needed": 2});
    let objects = json!([
        {"id": 0, "kind": "Arc", "x": 100.0, "y": 80.0, "width": 40.0, "height": 40.0, "color": 0x00_ff_00},
        {"id": 1, "kind": "Text", "x": 10.0, "y": 10.0, "width": 90.0, "height": 20.0, "origin": [0.0, 0.0], "text": "Score: 3"},
        {"id": 2, "kind": "Rectangle", "x": 900.0, "y": 300.0, "width": 20.0, "height": 20.0},
    ]);
    let check = |check: &str, outcome: &str, reason: Option<&str>| json!({"check": check, "outcome": outcome, "reason": reason});
    let facts = json!({
        "format": {"plan": 0.5, "block": true, "code": true},
        "parse": {"ok": true, "mode": "script", "errors": []},
        "api": {"resolved": 6, "unknown": [unknown], "few_args": [few]},
        "lifecycle": {"preload": false, "create": true, "update": false, "scene_class": true, "new_game": true},
        "runtime": {"stage": "frames", "ok": false, "class": "fault", "error": "TypeError: not a function", "line": 3,
            "frames": 17, "scenes": ["default"], "object_count": 3, "objects": objects, "assets": ["box.png"]},
        "task": [check("a box is shown", "passed", None), check("it falls", "failed", Some("it never moves")),
            check("it stops", "not_measurable", Some("nothing is meant"))],
    });
    line(0, REPLY, &facts)
}

/// Hostile text wherever text can be, and numbers that cannot be drawn.
fn hostile() -> Value {
    let place = json!({"line": u32::MAX, "column": 0, "what": MARKUP, "nearest": ESCAPES, "message": MARKUP, "given": 0, "needed": u32::MAX});
    let at_line_1 = json!({"line": 1, "column": 1, "what": MARKUP, "nearest": MARKUP});
    let object = json!({"kind": MARKUP, "x": 1e300, "y": -1e300, "width": 1e308, "height": -5.0, "rotation": 1e200,
        "alpha": -7.0, "color": u32::MAX, "text": format!("{MARKUP}{ESCAPES}"), "texture": MARKUP, "origin": [1e300, -1e300]});
    let nowhere = json!({"kind": "Arc", "x": null, "y": null});
    let tiny = json!({"kind": "Star", "x": 5.0, "y": 5.0, "width": 1e-9, "height": 1e-9});
    let facts = json!({
        "format": {"plan": 1e300, "block": false, "code": true},
        "parse": {"ok": true, "mode": MARKUP, "errors": [place.clone()]},
        "api": {"resolved": 0, "unknown": [place.clone(), at_line_1], "few_args": [place]},
        "lifecycle": MARKUP,
        "runtime": {"stage": MARKUP, "ok": false, "class": MARKUP, "error": MARKUP, "line": 0, "frames": u32::MAX,
            "scenes": [MARKUP], "object_count": u64::MAX, "objects": [object, nowhere, tiny], "assets": [ESCAPES],
            "area": {"width": -1e9, "height": 1e300, "scroll": [1e300, 0.0]}},
        "task": [{"check": MARKUP, "outcome": MARKUP, "reason": ESCAPES}],
    });
    line(1, &format!("```js\n{MARKUP}\n{ESCAPES}\n```\n"), &facts)
}

/// Facts that are missing, and facts of another form.
fn odd() -> [Value; 3] {
    let foreign =
        json!({"parse": 7, "runtime": {"objects": "none"}, "task": {}, "api": [], "steps": 3});
    [
        line(2, "No program.", &json!({})),
        line(3, REPLY, &foreign),
        line(4, REPLY, &json!({"task": []})),
    ]
}

fn run(dir: &Path) -> PathBuf {
    let mut run = RunDir::create(&dir.join("runs"), "games", "seed = 1\n", 1).unwrap();
    let started = Event::RunStarted { command: "whet".into(), version: "0".into(), seed: 1 };
    let ended = Event::RunFinished { outcome: Outcome::Completed, message: String::new() };
    for event in [started, ended] {
        run.append_event(&TimedEvent { time_ms: 1, event }).unwrap();
    }
    let journal = run.view().rollouts_dir().join("rollouts.jsonl");
    let (mut journal, _) = Journal::open(&journal).unwrap();
    for line in [calm(), hostile()].into_iter().chain(odd()) {
        journal.append(&line).unwrap();
    }
    run.view().dir().to_owned()
}

/// An evaluation of the same replies, as `whet eval` leaves it.
fn evaluation(dir: &Path) -> PathBuf {
    let dir = dir.join("measured");
    fs::create_dir(&dir).unwrap();
    let figure = |value: f64| json!({"value": value, "low": 0.1, "high": 0.9, "tasks": 2});
    let episodes = json!({"max_turns": 1, "solved_within": {"1": figure(0.25)},
        "means": {"reward": figure(0.5), "turns": figure(1.0), "phaser/checks_passed": figure(0.375)}});
    let part = json!({"tasks": 1, "episodes": episodes});
    let results = json!({"v": 1, "model": "m", "tasks": 2, "num_samples": 1, "episodes": episodes,
        "by_source": {"phaser/fall": part, "phaser/jump": part}});
    fs::write(dir.join("evaluation_results.json"), results.to_string()).unwrap();
    let mut line = calm();
    line["meta"] = json!({});
    fs::write(dir.join("rollouts.jsonl"), format!("{line}\n")).unwrap();
    dir
}

#[test]
fn a_game_is_shown_with_its_findings_and_its_last_frame() {
    let Some(program) = browser::find() else { return };
    let dir = tempfile::tempdir().unwrap();
    let run = run(dir.path());
    let ran = whet_in(dir.path(), &["report", run.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let page = run.join("report.html");
    let mut browser = Browser::start(&program);
    browser.look(1280, "light");
    browser.open(&page);
    findings_stand_at_their_lines(&mut browser);
    checks_and_reward_are_told(&mut browser);
    the_last_frame_is_drawn(&mut browser);
    hostile_facts_are_text(&mut browser);
    missing_facts_are_said(&mut browser);
    for (width, scheme) in [(1280, "light"), (1280, "dark"), (390, "dark"), (390, "light")] {
        browser.look(width, scheme);
        browser.value("for (const it of document.querySelectorAll('details')) it.open = true");
        let wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
        assert_eq!(browser.value(wider), 0, "nothing is wider than {width} px");
    }
    assert_eq!(browser.complaints(), Vec::<String>::new());
    assert_eq!(browser.requests(&page), Vec::<String>::new());
    let measured = evaluation(dir.path());
    assert_eq!(whet_in(dir.path(), &["report", "measured"]).code, 0);
    browser.open(&measured.join("report.html"));
    an_evaluation_shows_the_same(&mut browser);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// The text of the first element that matches, in the card of a sample, counted from 1.
fn text(browser: &mut Browser, sample: usize, place: &str) -> String {
    let found = format!(
        "document.querySelector('[aria-label^=\"Sample {sample}\"]').querySelector('{place}').textContent"
    );
    browser.value(&found).as_str().unwrap().to_owned()
}

fn findings_stand_at_their_lines(browser: &mut Browser) {
    let notes = browser.value(
        "[...document.querySelectorAll('[aria-label^=\"Sample 1\"] .code-line.marked')].map((it) => { \
         const notes = []; for (let next = it.nextElementSibling; next && next.className.startsWith('line-note'); \
         next = next.nextElementSibling) notes.push(next.textContent.trim()); \
         return [it.dataset.line, it.querySelector('mark')?.textContent ?? '', notes]; })",
    );
    let unknown = "unknown name: Factory.rectangel; nearest: rectangle";
    let few = "too few arguments: Factory.circle needs 2, 0 given";
    let expected =
        json!(
            [["3", "rectangel", [unknown, "TypeError: not a function"]], ["4", "circle", [few]],]
        );
    assert_eq!(notes, expected);
    let first = text(browser, 1, ".code-line");
    assert_eq!(first, "class Main extends Phaser.Scene {\n", "lines are those of the program");
    let found = text(browser, 1, ".findings");
    for part in [
        "a closed block of JavaScript",
        "earns 0.5 of 1",
        "parses as a script",
        "6 known uses, 1 unknown name",
        "line 3, column 14: Factory.rectangel; nearest: rectangle",
        "create, a scene class, new Phaser.Game",
        "failed while frames were passing, after 17 frames",
        "its own fault",
        "line 3: TypeError: not a function",
        "box.png",
    ] {
        assert!(found.contains(part), "{part} in {found}");
    }
}

fn checks_and_reward_are_told(browser: &mut Browser) {
    let all = browser.value(
        "[...document.querySelectorAll('[aria-label^=\"Sample 1\"] .checks li')].map((it) => it.textContent)",
    );
    let expected = [
        "passeda box is shown",
        "failedit falls (it never moves)",
        "not measurableit stops (nothing is meant)",
    ];
    assert_eq!(all, json!(expected));
    let card = browser.value("document.querySelector('[aria-label^=\"Sample 1\"]').textContent");
    let card = card.as_str().unwrap();
    for part in
        ["Not solved: 1 of 3 checks passed", "gate known api", "Gates passed: parses.", "A box."]
    {
        assert!(card.contains(part), "{part} in {card}");
    }
}

fn the_last_frame_is_drawn(browser: &mut Browser) {
    let shapes = browser.value(
        "(() => { const svg = document.querySelector('[aria-label^=\"Sample 1\"] .frame > svg'); \
         const arc = svg.querySelector('ellipse'); const of = (name) => arc.getAttribute(name); \
         return [svg.getAttribute('viewBox'), of('cx'), of('cy'), of('rx'), of('fill'), \
         svg.querySelector('text').textContent, svg.querySelectorAll('.outside').length]; })()",
    );
    assert_eq!(shapes, json!(["-26 -26 852 652", "100", "80", "20", "#00ff00", "Score: 3", 1]));
    let said = text(browser, 1, ".frame figcaption");
    assert_eq!(
        said,
        "After 17 frames: 3 objects; 1 outside the game area, at the arrows; drawn on 800 \u{d7} 600."
    );
}

fn hostile_facts_are_text(browser: &mut Browser) {
    assert_eq!(browser.value("typeof window.owned"), "undefined");
    let strangers = "document.querySelectorAll('img, iframe, object, svg [onload], main style, main script').length";
    assert_eq!(browser.value(strangers), 0);
    let numbers = browser.value(
        "[...document.querySelectorAll('[aria-label^=\"Sample 2\"] .frame svg *')].flatMap((it) => \
         [...it.attributes]).filter((it) => /NaN|Infinity|undefined|null|e\\+/.test(it.value)).map((it) => it.name + it.value)",
    );
    assert_eq!(numbers, json!([]));
    let all = browser.value("document.querySelector('[aria-label^=\"Sample 2\"]').textContent");
    let all = all.as_str().unwrap();
    assert!(all.contains("\u{241b}[31mred") && all.contains("U+202E"), "{all}");
    let hidden = |letter: char| ESCAPES.contains(letter) && !(' '..='\u{7e}').contains(&letter);
    assert!(!all.chars().any(hidden), "no control is left");
    assert!(all.contains("In a form that this page cannot read: lifecycle."), "{all}");
}

fn missing_facts_are_said(browser: &mut Browser) {
    assert!(text(browser, 3, ".game").contains("There is no program in this reply"));
    let odd = text(browser, 4, ".game");
    assert!(odd.contains("cannot read: parse, api, runtime, task."), "{odd}");
    assert!(odd.contains("The program was not run."), "{odd}");
    assert_eq!(text(browser, 5, ".failing"), "Not solved");
}

fn an_evaluation_shows_the_same(browser: &mut Browser) {
    let frames = browser.value("document.querySelectorAll('.frame ellipse').length");
    assert_eq!(frames, 1);
    let table = browser.value("document.querySelector('[data-table=Results]').textContent");
    let table = table.as_str().unwrap();
    assert!(table.contains("checks passed0.375") && !table.contains("turns"), "{table}");
    let head =
        browser.value("document.querySelector('[data-table=\"By source\"] thead').textContent");
    assert_eq!(head, "taskssolvedrewardchecks passed");
}
