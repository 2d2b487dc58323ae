//! The page of a run in a real browser: what is drawn, what can be found, what never happens.
//!
//! One browser for all of it. Without one, the test says SKIPPED and why; `cargo xtask ci`
//! has a row for it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::binary::whet_in;
use crate::browser::{self, Browser};
use crate::hostile_run::{ESCAPES, MARKUP, hostile_run};

/// Six steps of two tasks with four samples each: enough for every curve and every verdict filter.
const QUICKSTART: [&str; 9] = [
    "training.max_steps=6",
    "training.save_steps=3",
    "training.per_device_train_batch_size=8",
    "training.gradient_accumulation_steps=1",
    "grpo.kl_coef=0.01",
    "grpo.max_completion_length=120",
    "lora.rank=4",
    "eval.num_samples=4",
    "quickstart.held_out_tasks=4",
];

/// What must be among the charts, whatever a run measures.
const CHARTS: [&str; 18] = [
    "pass@k before and after",
    "Verdicts before and after",
    "Phases of the run",
    "Reward",
    "Pass rate",
    "Verdicts",
    "Reward by term",
    "Dead groups",
    "Lengths",
    "Loss",
    "KL divergence",
    "Entropy",
    "Clip fraction",
    "Gradient norms by source",
    "Learning rate",
    "Phases of a step",
    "Tokens a second",
    "Programs a second",
];

fn page(dir: &Path, run: &str) -> PathBuf {
    let ran = whet_in(dir, &["report", run, "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    dir.join(report["report"].as_str().unwrap())
}

fn quickstart(dir: &Path) -> PathBuf {
    let settings = QUICKSTART.iter().flat_map(|&set| ["--set", set]);
    let args: Vec<&str> =
        ["quickstart", "--json", "--threads", "1"].into_iter().chain(settings).collect();
    let ran = whet_in(dir, &args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    page(dir, "runs/quickstart")
}

#[test]
fn the_page_draws_finds_and_holds_still() {
    let Some(program) = browser::find() else { return };
    let dir = tempfile::tempdir().unwrap();
    let real = quickstart(dir.path());
    let mut browser = Browser::start(&program);
    browser.look(1200, "light");
    browser.open(&real);
    every_chart_has_data(&mut browser);
    shares_are_rounded_as_in_the_terminal(&mut browser);
    completions_are_found_by_verdict_and_by_text(&mut browser);
    the_keyboard_is_enough(&mut browser);
    it_fits_a_phone_in_both_schemes(&mut browser);
    new_records_are_drawn(&mut browser);
    an_alarm_leads_to_the_completions(&mut browser);
    assert_eq!(browser.complaints(), Vec::<String>::new());
    assert_eq!(browser.requests(&real), Vec::<String>::new());
    hostile_run(dir.path());
    let hostile = page(dir.path(), "./hostile");
    browser.open(&hostile);
    hostile_text_is_shown_as_text(&mut browser);
    assert_eq!(browser.complaints(), Vec::<String>::new());
    assert_eq!(browser.requests(&hostile), Vec::<String>::new());
    the_policy_stops_scripts_that_are_not_the_pages(&mut browser);
}

fn every_chart_has_data(browser: &mut Browser) {
    let empty = browser.value(
        "[...document.querySelectorAll('[data-chart]')].filter((it) => \
         !it.querySelector('path[d^=M], circle, .piece')).map((it) => it.dataset.chart)",
    );
    assert_eq!(empty, Value::Array(vec![]), "charts without a line, a point or a bar");
    let titles = browser
        .value("[...document.querySelectorAll('[data-chart]')].map((it) => it.dataset.chart)");
    for chart in CHARTS {
        assert!(titles.as_array().unwrap().contains(&chart.into()), "{chart} in {titles}");
    }
    let numbers = browser.value(
        "(async () => { const it = document.querySelector('[data-chart=Reward] .numbers'); it.open = true; \
         await new Promise(requestAnimationFrame); await new Promise(requestAnimationFrame); \
         return it.querySelectorAll('tbody tr').length; })()",
    );
    assert_eq!(numbers, 6, "a row of numbers for each step");
    let words = browser.value("document.querySelector('[data-chart=Loss]').textContent");
    assert!(words.as_str().unwrap().contains("advantages of a group sum to 0"), "{words}");
}

/// Ties such as 22.25 go to the even digit in both.
fn shares_are_rounded_as_in_the_terminal(browser: &mut Browser) {
    let shares = [0.2225, 0.2475, 0.5825, -0.0025, 0.29, 0.0, 1.0];
    let dom = include_str!("../../../../assets/report/dom.js");
    let script = format!("(() => {{ {dom}\nreturn {shares:?}.map(percentPoints); }})()");
    let printed = shares.map(|share| format!("{:.1}", 100.0 * share));
    assert_eq!(browser.value(&script), json!(printed));
}

/// Presses a filter and waits until the list is that of the filter.
fn filter(browser: &mut Browser, action: &str) -> (Value, Value) {
    let script = format!(
        "(async () => {{ const found = document.getElementById('found'); const changed = new Promise((done) => \
         new MutationObserver(() => /group|Nothing/.test(found.textContent) && done()).observe(found, {{ childList: true }})); \
         {action}; await changed; await new Promise((done) => setTimeout(done)); \
         const shown = [...document.querySelectorAll('#group .sample:not(.faded)')]; \
         return [found.textContent, shown.map((it) => it.dataset.verdict)]; }})()"
    );
    let mut found = browser.value(&script);
    (found[0].take(), found[1].take())
}

fn completions_are_found_by_verdict_and_by_text(browser: &mut Browser) {
    let chips = "[...document.querySelectorAll('#filter-verdicts b')].reduce((all, it) => \
                 all + Number(it.textContent), 0)";
    let (last, _) = filter(browser, &set("filter-step", "2"));
    assert_eq!((last, browser.value(chips)), ("8 completions in 2 groups".into(), 8.into()));
    let (all, _) = filter(browser, &set("filter-step", ""));
    assert_eq!(all, "48 completions in 12 groups");
    assert_eq!(browser.value(chips), 48, "each verdict with its count in what is chosen");
    let chip = "document.querySelector('.chip[data-verdict=wrong]').click()";
    let (wrong, shown) = filter(browser, chip);
    assert_ne!(wrong, all, "fewer are wrong than there are");
    assert!(shown.as_array().unwrap().iter().all(|verdict| verdict == "wrong"), "{shown}");
    let failing = browser
        .value("document.querySelector('#group .sample[data-verdict=wrong] .failing').textContent");
    let failing = failing.as_str().unwrap();
    assert!(
        ["is the first that fails", "expected", "got"].iter().all(|part| failing.contains(part)),
        "{failing}"
    );
    let (none, _) = filter(browser, &set("filter-text", "no model says this"));
    assert_eq!(none, "Nothing matches.");
    let (some, _) = filter(browser, &set("filter-text", "DEF "));
    assert!(some.as_str().unwrap().contains("completion"), "{some}");
    let difference = browser.value("document.querySelector('.diff').children.length");
    assert!(difference.as_u64().unwrap() > 0, "two samples are compared");
}

/// Sets a filter as a person would.
fn set(id: &str, value: &str) -> String {
    format!(
        "(() => {{ const it = document.getElementById('{id}'); it.value = '{value}'; \
         for (const kind of ['input', 'change']) it.dispatchEvent(new Event(kind)); }})()"
    )
}

fn the_keyboard_is_enough(browser: &mut Browser) {
    browser.value("document.querySelector('[data-chart=Reward] svg').focus()");
    browser.press("ArrowRight");
    let tip = browser.value("document.querySelector('[data-chart=Reward] .tip').textContent");
    assert!(tip.as_str().unwrap().starts_with("Step 1mean reward"), "{tip}");
    browser.press("Enter");
    let opened = browser.value("document.getElementById('found').textContent");
    assert_eq!(opened, "8 completions in 2 groups");
    let chosen = "document.querySelector('#groups [aria-current]').dataset.place";
    assert_eq!(browser.value(chosen), "0");
    browser.value("document.querySelector('#groups [aria-current]').focus()");
    browser.press("ArrowDown");
    assert_eq!(browser.value(chosen), "1");
    let outline = "getComputedStyle(document.activeElement).outlineStyle";
    assert_eq!(browser.value(outline), "solid", "focus is seen");
}

fn it_fits_a_phone_in_both_schemes(browser: &mut Browser) {
    for (scheme, is_dark) in [("dark", true), ("light", false)] {
        browser.look(390, scheme);
        let overflow = browser
            .value("document.documentElement.scrollWidth - document.documentElement.clientWidth");
        assert_eq!(overflow, 0, "nothing is wider than the screen");
        let cut = browser.value(
            "[...document.querySelectorAll('.figures')].map((table) => table.scrollWidth - table.clientWidth)",
        );
        assert_eq!(cut, json!([0]), "no column of pass@k before and after is out of sight");
        let red = browser
            .value("Number(getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0])");
        assert_eq!(red.as_u64().unwrap() < 128, is_dark, "{scheme}");
    }
}

/// What a page that is served would do.
fn new_records_are_drawn(browser: &mut Browser) {
    let steps = browser.value(
        "(() => { const values = { 'grpo/mean_reward': 0.5 }; \
         whet.ingest([{ type: 'metrics', time_ms: Date.now(), stage: 'grpo', step: 7, values }]); \
         return document.querySelector('[data-chart=Reward] svg').getAttribute('aria-label'); })()",
    );
    assert!(steps.as_str().unwrap().starts_with("Reward, 7 steps"), "{steps}");
    let cut = browser.value(
        "(() => { const values = { 'speed/sampled_tokens_per_s': 834567 }; \
         whet.ingest([{ type: 'metrics', time_ms: Date.now(), stage: 'grpo', step: 8, values }]); \
         const ticks = [...document.querySelectorAll('[data-chart=\"Tokens a second\"] .tick')]; \
         return [ticks.some((it) => /^[1-9]00,000$/.test(it.textContent)), ticks.filter((it) => it.getBBox().x < 0).length]; })()",
    );
    assert_eq!(cut, json!([true, 0]), "large numbers beside an axis are whole");
}

fn an_alarm_leads_to_the_completions(browser: &mut Browser) {
    assert_eq!(browser.value("document.querySelectorAll('#alarms li').length"), 0);
    let script = "(async () => { \
        const step = document.getElementById('filter-step'); step.value = '6'; \
        step.dispatchEvent(new Event('input')); \
        await new Promise((done) => setTimeout(done, 100)); \
        const [name] = [...document.querySelectorAll('#groups .name')].map((it) => it.textContent).sort().reverse(); \
        step.value = ''; step.dispatchEvent(new Event('input')); \
        whet.ingest([{ type: 'alarm', time_ms: Date.now(), step: 6, code: 'term_rises_alone', \
            message: 'the term <img src=x> \\u001b[31m rose', suspects: [{ prompt_id: name, group_id: 2 }] }]); \
        const text = document.querySelector('#alarms li').textContent; \
        const chips = document.querySelectorAll('#alarms button'); chips[1].click(); \
        await new Promise((done) => setTimeout(done, 300)); \
        const title = document.querySelector('#group h3').textContent; \
        return { text, name, title, step: step.value, chips: chips.length }; })()";
    let found = browser.value(script);
    let text = found["text"].as_str().unwrap();
    assert!(
        text.contains("term rises alone, step 6. The term <img src=x> \u{241b}[31m rose."),
        "{text}"
    );
    assert_eq!((&found["chips"], &found["step"]), (&2.into(), &"6".into()));
    assert_eq!(found["title"], found["name"], "the completions of that task");
}

fn hostile_text_is_shown_as_text(browser: &mut Browser) {
    assert_eq!(browser.value("typeof window.owned"), "undefined");
    let strangers =
        "document.querySelectorAll('img, iframe, object, svg [onload], main style').length";
    assert_eq!(browser.value(strangers), 0);
    assert_eq!(browser.value("document.querySelectorAll('script:not([type])').length"), 1);
    let shown =
        browser.value("[...document.querySelectorAll('.reply')].map((it) => it.textContent)");
    let shown: Vec<&str> =
        shown.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    assert!(shown.contains(&MARKUP), "the markup, letter by letter");
    let escapes = shown.iter().find(|text| text.contains("red")).unwrap();
    assert!(escapes.contains("\u{241b}[31mred") && escapes.contains("U+202E"), "{escapes}");
    let quiet = |text: &&str| {
        !text.chars().any(|letter| ESCAPES.contains(letter) && !(' '..='\u{7e}').contains(&letter))
    };
    assert!(shown.iter().all(quiet), "no control is left");
    assert!(shown.iter().any(|text| text.contains("caf\u{fffd}")), "broken bytes are marks");
    let long = shown.iter().find(|text| text.starts_with("xxxx")).unwrap();
    assert_eq!(long.len(), 16 << 10, "a line of a megabyte is cut");
    assert_eq!(
        browser
            .value("document.documentElement.scrollWidth - document.documentElement.clientWidth"),
        0
    );
}

fn the_policy_stops_scripts_that_are_not_the_pages(browser: &mut Browser) {
    let stopped = browser.value(
        "(() => { const it = document.createElement('script'); it.textContent = 'window.owned = 9'; \
         document.body.append(it); return typeof window.owned; })()",
    );
    assert_eq!(stopped, "undefined");
    assert!(
        browser.complaints().iter().any(|complaint| complaint.contains("Content Security Policy"))
    );
}
