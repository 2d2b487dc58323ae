//! Episodes in a page, turn by turn: of a run, with hostile text in every place, and of an evaluation.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use whetstone_record::event::{Event, Outcome, TimedEvent};
use whetstone_record::journal::Journal;
use whetstone_record::run_dir::RunDir;

use crate::binary::whet_in;
use crate::browser::{self, Browser};
use crate::episode_eval::evaluation;
use crate::hostile_run::{ESCAPES, MARKUP};

/// A turn that is valid and brings the episode forward where it says so.
fn transition(state: &str, action: &str, next_state: &str) -> Value {
    let progress = state != next_state;
    json!({"state": state, "action": action, "next_state": next_state, "valid": progress, "progress": progress})
}

/// An episode of three turns: the second is refused, the third solves it.
fn calm() -> Value {
    let [first, second] =
        ["Status: INFEASIBLE\nIIS: 3 [c1, c4, c7]", "Status: INFEASIBLE\nIIS: 2 [c2, c5]"];
    let reply = |action: &str| {
        format!("<think>\n1. Look at the IIS.\n</think>\nDiagnosis: c4\nAction: {action}")
    };
    let (drop, again, relax) = ("DROP_CONSTRAINT(c4)", "DROP_CONSTRAINT(c99)", "RELAX(c5, 2)");
    json!({
        "step": 1, "prompt_id": "solver/1", "group_id": 0, "text": reply(relax),
        "meta": {
            "tokens": 60, "finish": "stop",
            "turns": [{"prompt": [], "text": reply(drop), "finish": "stop"},
                {"prompt": [], "text": reply(again), "finish": "length"}, {"prompt": [], "finish": "stop"}],
            "asked": [[{"role": "user", "content": format!("Model:\nmin x\n{first}")}],
                [{"role": "user", "content": second}], [{"role": "user", "content": "There is no c99."}]],
        },
        "validation": {"kind": "solver", "solved": true, "facts": {"steps": 3, "invalid": 1, "ended": "optimal"},
            "transitions": [transition(first, drop, second), transition(second, again, second),
                transition(second, relax, "Status: OPTIMAL")]},
        "advantage": 0.5, "reward": {"total": 0.9, "terms": {"solved": 1.0}, "weights": {"solved": 0.9}},
    })
}

/// An episode of five turns with hostile text wherever text can be.
fn hostile() -> Value {
    let turn = json!({"prompt": [], "text": MARKUP, "reasoning": ESCAPES, "finish": MARKUP});
    let step = transition(MARKUP, ESCAPES, &format!("{MARKUP}{ESCAPES}"));
    json!({
        "step": 1, "prompt_id": "solver/1", "group_id": 1, "text": ESCAPES,
        "meta": {"turns": vec![turn; 5], "asked": vec![json!([{"role": "user", "content": MARKUP}]); 5]},
        "validation": {"kind": MARKUP, "solved": false, "facts": {MARKUP: ESCAPES}, "transitions": vec![step; 5]},
        "advantage": -0.5, "reward": {"total": 0.0, "terms": {}},
    })
}

fn run(dir: &Path) -> PathBuf {
    let mut run = RunDir::create(&dir.join("runs"), "episodes", "seed = 1\n", 1).unwrap();
    let started = Event::RunStarted { command: "whet".into(), version: "0".into(), seed: 1 };
    let ended = Event::RunFinished { outcome: Outcome::Completed, message: String::new() };
    for event in [started, ended] {
        run.append_event(&TimedEvent { time_ms: 1, event }).unwrap();
    }
    let journal = run.view().rollouts_dir().join("rollouts.jsonl");
    let (mut journal, _) = Journal::open(&journal).unwrap();
    for line in [calm(), hostile()] {
        journal.append(&line).unwrap();
    }
    run.view().dir().to_owned()
}

#[test]
fn an_episode_is_shown_turn_by_turn() {
    let Some(program) = browser::find() else { return };
    let dir = tempfile::tempdir().unwrap();
    let run = run(dir.path());
    let ran = whet_in(dir.path(), &["report", run.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let page = run.join("report.html");
    let mut browser = Browser::start(&program);
    browser.look(1280, "light");
    browser.open(&page);
    every_turn_is_there(&mut browser);
    hostile_text_is_text(&mut browser);
    earlier_turns_are_searched(&mut browser);
    for (width, scheme) in [(1280, "light"), (1280, "dark"), (390, "dark"), (390, "light")] {
        browser.look(width, scheme);
        let wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
        browser.value("for (const it of document.querySelectorAll('details')) it.open = true");
        assert_eq!(browser.value(wider), 0, "nothing is wider than {width} px");
    }
    assert_eq!(browser.complaints(), Vec::<String>::new());
    assert_eq!(browser.requests(&page), Vec::<String>::new());
    assert_eq!(evaluation(dir.path()).code, 0);
    assert_eq!(whet_in(dir.path(), &["report", "measured", "--tasks=guess.jsonl"]).code, 0);
    browser.open(&dir.path().join("measured/report.html"));
    the_figures_of_an_evaluation_are_drawn(&mut browser);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

fn every_turn_is_there(browser: &mut Browser) {
    let texts = "[...document.querySelectorAll('[aria-label^=\"Sample 1\"] .turn')].map((it) => it.textContent)";
    let turns = browser.value(texts);
    let turns: Vec<&str> =
        turns.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    assert_eq!(turns.len(), 3);
    let parts = [
        "Turn 1",
        "valid",
        "progress",
        "Prompt",
        "Thinking",
        "Action: DROP_CONSTRAINT(c4)",
        "State before",
        "IIS: 3",
        "State after",
        "IIS: 2",
    ];
    for part in parts {
        assert!(turns[0].contains(part), "{part} in {}", turns[0]);
    }
    for part in ["DROP_CONSTRAINT(c99)", "invalid", "no progress", "Cut off by the token limit"] {
        assert!(turns[1].contains(part), "{part} in {}", turns[1]);
    }
    assert!(
        turns[2].contains("There is no c99.") && turns[2].contains("Status: OPTIMAL"),
        "{}",
        turns[2]
    );
    let thinking = "document.querySelector('.turn .thinking').parentNode.open";
    assert_eq!(browser.value(thinking), false, "thinking is folded");
    let order = "(() => { const it = document.querySelector('.episode'); \
        return it.querySelector('.turns').compareDocumentPosition(it.querySelector('table')) & 4; })()";
    assert_eq!(browser.value(order), 4, "the reward stands behind the turns");
    let opened = browser.value(
        "(() => { const card = document.querySelector('[aria-label^=\"Sample 2\"]'); const before = \
         card.querySelectorAll('.turn > details[open]').length; card.querySelector('button').click(); \
         return [before, card.querySelectorAll('.turn > details[open]').length]; })()",
    );
    assert_eq!(opened, json!([0, 5]), "a long episode is opened as a whole");
    let passes = browser.value("document.querySelector('#groups .detail').textContent");
    assert!(passes.as_str().unwrap().contains("1 of 2 pass"), "{passes}");
}

fn hostile_text_is_text(browser: &mut Browser) {
    assert_eq!(browser.value("typeof window.owned"), "undefined");
    let strangers =
        "document.querySelectorAll('img, iframe, object, svg [onload], main style').length";
    assert_eq!(browser.value(strangers), 0);
    for place in [".asked", ".reply", ".state"] {
        let shown = browser.value(&format!(
            "document.querySelector('[aria-label^=\"Sample 2\"] .turn {place}').textContent"
        ));
        assert!(shown.as_str().unwrap().starts_with(MARKUP), "{place}: {shown}");
    }
    let all = browser.value("document.querySelector('[aria-label^=\"Sample 2\"]').textContent");
    let all = all.as_str().unwrap();
    assert!(all.contains("\u{241b}[31mred") && all.contains("U+202E"), "{all}");
    let hidden = |letter: char| ESCAPES.contains(letter) && !(' '..='\u{7e}').contains(&letter);
    assert!(!all.chars().any(hidden), "no control is left");
}

fn earlier_turns_are_searched(browser: &mut Browser) {
    let found = browser.value(
        "(async () => { const it = document.getElementById('filter-text'); const found = document.getElementById('found'); \
         const look = async (text) => { it.value = text; it.dispatchEvent(new Event('input')); \
         await new Promise((done) => setTimeout(done, 500)); return found.textContent; }; \
         const texts = [await look('c99'), await look('nobody says this')]; await look(''); return texts; })()",
    );
    assert_eq!(found, json!(["1 completion in 1 group", "Nothing matches."]));
}

fn the_figures_of_an_evaluation_are_drawn(browser: &mut Browser) {
    let table = browser.value("document.querySelector('[data-table=Results]').textContent");
    for part in ["pass@1", "solved within 1 turn", "50.0 %", "turns", "guesses"] {
        assert!(table.as_str().unwrap().contains(part), "{part} in {table}");
    }
    assert_eq!(
        browser.value("document.querySelectorAll('[data-table=\"By source\"] tbody tr').length"),
        2
    );
    assert_eq!(browser.value("document.getElementById('learning').hidden"), true);
    let statement = browser.value("document.querySelector('.statement').textContent");
    assert_eq!(statement, "Guess.");
}
