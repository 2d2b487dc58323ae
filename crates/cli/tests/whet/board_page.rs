//! The board in a real browser, during a run: what appears without a reload, and what stays.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::path::Path;

use serde_json::Value;
use whetstone_record::event::{Event, Suspect};

use crate::board::RunningBoard;
use crate::browser::{self, Browser};
use crate::growing_run::GrowingRun;
use crate::hostile_run::{ESCAPES, MARKUP};

#[test]
fn a_new_step_appears_without_reloading_and_what_is_looked_at_stays() {
    let Some(program) = browser::find() else { return };
    let dir = tempfile::tempdir().unwrap();
    let runs = dir.path().join("runs");
    let mut run = GrowingRun::begin(&runs, "live");
    let mut board = RunningBoard::start(dir.path(), &[]);
    let url = board.line();
    let mut browser = Browser::start(&program);
    browser.look(1200, "light");
    browser.visit(&url);
    a_run_that_begins_later_is_listed(&mut browser, &runs);
    is_quiet(&browser, &url);
    browser.visit(&format!("{url}runs/live"));
    // Gone as soon as the page is loaded again.
    browser.value("window.first = true");
    the_first_step_appears(&mut browser, &mut run);
    what_is_looked_at_stays(&mut browser, &mut run);
    hostile_text_that_arrives_is_text(&mut browser, &mut run);
    a_search_goes_on(&mut browser, &mut run);
    half_a_group_becomes_whole(&mut browser, &mut run);
    an_alarm_appears_and_leads_to_its_completions(&mut browser, &mut run);
    run.ends();
    browser.wait_until(
        "document.getElementById('live')?.textContent.includes('The run ended: completed')",
    );
    assert_eq!(browser.value("window.first"), true, "it was never loaded again");
    assert_eq!(browser.value("typeof window.owned"), "undefined");
    it_fits_a_phone(&mut browser);
    is_quiet(&browser, &url);
    let _going = another_run_of_the_name_is_loaded(&mut browser, &runs);
    drop(board);
    browser.wait_until("document.getElementById('live')?.textContent.includes('does not answer')");
}

/// No complaint, and no question to anybody else.
#[track_caller]
fn is_quiet(browser: &Browser, url: &str) {
    assert_eq!(browser.complaints(), Vec::<String>::new());
    let strangers: Vec<String> =
        browser.asked_for().filter(|address| !address.starts_with(url)).collect();
    assert_eq!(strangers, Vec::<String>::new());
}

fn a_run_that_begins_later_is_listed(browser: &mut Browser, runs: &Path) {
    let listed = "[...document.querySelectorAll('#runs tr')].map((it) => it.textContent).join()";
    assert!(browser.value(listed).as_str().unwrap().starts_with("liverunning"));
    browser.value("document.querySelector('#runs a').focus()");
    let mut later = GrowingRun::begin(runs, "later");
    browser.wait_until("document.querySelectorAll('#runs tr').length === 2");
    assert!(browser.value(listed).as_str().unwrap().starts_with("laterrunning"));
    assert_eq!(browser.value("document.activeElement.textContent"), "live");
    later.steps(7, "");
    browser.wait_until("document.querySelector('#runs tr').textContent.includes('grpo70.7')");
    drop(later);
    browser.wait_until("document.querySelector('#runs tr').textContent.includes('killed')");
    let padding = browser.value("getComputedStyle(document.querySelector('.state')).padding");
    assert_eq!(padding, "0px", "the state stands in the line of its run");
}

fn the_first_step_appears(browser: &mut Browser, run: &mut GrowingRun) {
    assert_eq!(browser.value("document.getElementById('completions').hidden"), true);
    run.steps(1, "def f(x): return x");
    browser.wait_until("document.querySelector('#group .sample')");
    let live = browser.value("document.getElementById('live').textContent");
    assert!(live.as_str().unwrap().starts_with("Liveupdated "), "{live}");
    let found = browser.value("document.getElementById('found').textContent");
    assert_eq!(found, "4 completions in 2 groups");
    let asked = browser.value("document.querySelector('#group .statement').textContent");
    assert_eq!(asked, "Solve x/0.", "a task without completions when the page was made");
    let label = browser
        .value("document.querySelector('[data-chart=Reward] svg').getAttribute('aria-label')");
    assert!(label.as_str().unwrap().starts_with("Reward, 1 step:"), "{label}");
}

/// The view of a user: what is open, chosen, focused and scrolled to.
const LOOKED_AT: &str = "(() => { const chart = document.querySelector('[data-chart=Reward]'); return [ \
    window.marks[0] === document.querySelector('#group .sample'), window.marks[1] === chart, \
    chart.querySelector('.numbers').open, document.activeElement === window.marks[2], \
    document.getElementById('filter-step').value, window.scrollY, \
    document.querySelector('#groups [aria-current] .name').textContent, \
    document.querySelector('.chip[data-verdict=wrong]').getAttribute('aria-pressed')]; })()";

fn what_is_looked_at_stays(browser: &mut Browser, run: &mut GrowingRun) {
    browser.value(
        "(async () => { const step = document.getElementById('filter-step'); step.value = ''; \
         step.dispatchEvent(new Event('input')); await new Promise((done) => setTimeout(done, 50)); \
         document.querySelector('.chip[data-verdict=wrong]').click(); \
         await new Promise((done) => setTimeout(done, 50)); \
         document.querySelectorAll('#groups button')[1].click(); \
         document.querySelector('[data-chart=Reward] .numbers').open = true; })()",
    );
    browser.wait_until("document.querySelector('#group h3').textContent === 'x/1'");
    browser.wait_until("document.querySelector('[data-chart=Reward] .numbers tbody tr')");
    browser.value(
        "(() => { const button = document.querySelectorAll('#groups button')[1]; button.focus(); \
         window.marks = [document.querySelector('#group .sample'), \
         document.querySelector('[data-chart=Reward]'), button]; window.scrollTo(0, 700); })()",
    );
    browser.value("new Promise((done) => { let y = -1; const look = () => { \
         if (window.scrollY === y) done(); else { y = window.scrollY; setTimeout(look, 100); } }; look(); })");
    let before = browser.value(LOOKED_AT);
    run.steps(2, "def f(x): return 2");
    browser.wait_until(
        "document.querySelectorAll('[data-chart=Reward] .numbers tbody tr').length === 2",
    );
    browser
        .wait_until("document.getElementById('found').textContent === '4 completions in 4 groups'");
    let after = browser.value(LOOKED_AT);
    assert_eq!(after, before);
    assert_eq!(
        after.as_array().unwrap()[..5],
        [true.into(), true.into(), true.into(), true.into(), Value::from("")]
    );
    let steps =
        browser.value("[...document.getElementById('filter-step').options].map((it) => it.value)");
    assert_eq!(steps, serde_json::json!(["", "1", "2"]));
    let chips = browser
        .value("[...document.querySelectorAll('.chip[data-verdict]')].map((it) => it.textContent)");
    assert_eq!(chips, serde_json::json!(["pass 4", "wrong 4"]));
    let listed = browser.value("document.querySelectorAll('#groups button').length");
    assert_eq!(listed, 4, "the new groups stand behind the others");
}

/// Chooses a step as a person would, without any other filter.
fn choose_step(browser: &mut Browser, step: u64) {
    browser.value(&format!(
        "(() => {{ const chip = document.querySelector('.chip[aria-pressed=true][data-verdict]'); chip?.click(); \
         const it = document.getElementById('filter-step'); it.value = '{step}'; \
         it.dispatchEvent(new Event('input')); }})()"
    ));
    browser.wait_until(&format!(
        "document.querySelector('#group p').textContent.startsWith('Step {step},')"
    ));
}

fn hostile_text_that_arrives_is_text(browser: &mut Browser, run: &mut GrowingRun) {
    run.says(3, 0, 0, MARKUP);
    run.says(3, 0, 1, ESCAPES);
    run.measures(3);
    browser.wait_until("document.querySelector('#filter-step option[value=\"3\"]')");
    choose_step(browser, 3);
    let shown = browser
        .value("[...document.querySelectorAll('#group .reply')].map((it) => it.textContent)");
    assert_eq!(shown[0], MARKUP, "letter by letter");
    assert!(shown[1].as_str().unwrap().contains("\u{241b}[31mred"), "{shown}");
    let strangers =
        "document.querySelectorAll('img, iframe, object, svg [onload], main style').length";
    assert_eq!(browser.value(strangers), 0);
    assert_eq!(browser.value("document.querySelectorAll('script:not([type])').length"), 1);
}

fn a_search_goes_on(browser: &mut Browser, run: &mut GrowingRun) {
    browser.value(
        "(() => { for (const [id, value] of [['filter-step', ''], ['filter-text', 'needle']]) { \
         const it = document.getElementById(id); it.value = value; it.dispatchEvent(new Event('input')); } })()",
    );
    browser.wait_until("document.getElementById('found').textContent === 'Nothing matches.'");
    run.steps(4, "a NEEDLE in a haystack");
    browser
        .wait_until("document.getElementById('found').textContent === '4 completions in 2 groups'");
    browser.wait_until("document.querySelector('#group .reply')?.textContent.includes('NEEDLE')");
}

fn half_a_group_becomes_whole(browser: &mut Browser, run: &mut GrowingRun) {
    run.says(5, 1, 0, "first needle");
    browser.wait_until("document.querySelector('#filter-step option[value=\"5\"]')");
    browser.wait_until("document.querySelectorAll('#groups button').length === 3");
    browser.value("document.querySelectorAll('#groups button')[2].click()");
    browser.wait_until("document.querySelectorAll('#group .sample').length === 1");
    run.says(5, 1, 1, "second needle");
    run.measures(5);
    browser.wait_until("document.querySelectorAll('#group .sample').length === 2");
    let detail = browser.value("document.querySelectorAll('#groups button')[2].textContent");
    assert!(detail.as_str().unwrap().ends_with("1 of 2 pass"), "{detail}");
    let dead = browser.value(
        "document.querySelector('[data-chart=\"Dead groups\"] svg').getAttribute('aria-label')",
    );
    assert!(
        dead.as_str().unwrap().contains("5 steps: of the step's groups from 0.0 % to 0.0 %"),
        "{dead}"
    );
}

fn an_alarm_appears_and_leads_to_its_completions(browser: &mut Browser, run: &mut GrowingRun) {
    let suspects = vec![Suspect { prompt_id: "x/1".to_owned(), group_id: 1 }];
    let (code, message) = ("term_rises_alone".to_owned(), "look at `x/1`".to_owned());
    run.happens(Event::Alarm { step: 2, code, message, suspects });
    browser.wait_until("document.querySelector('#alarms li')");
    let said = browser.value("document.querySelector('#alarms li').textContent");
    assert!(said.as_str().unwrap().starts_with("term rises alone, step 2. Look at x/1."), "{said}");
    browser.value("document.querySelectorAll('#alarms button')[1].click()");
    browser.wait_until("document.querySelector('#group p').textContent.startsWith('Step 2,')");
    assert_eq!(browser.value("document.querySelector('#group h3').textContent"), "x/1");
}

fn it_fits_a_phone(browser: &mut Browser) {
    for scheme in ["dark", "light"] {
        browser.look(390, scheme);
        let overflow =
            "document.documentElement.scrollWidth - document.documentElement.clientWidth";
        assert_eq!(browser.value(overflow), 0, "nothing is wider than the screen");
    }
}

fn another_run_of_the_name_is_loaded(browser: &mut Browser, runs: &Path) -> GrowingRun {
    std::fs::remove_dir_all(runs.join("live")).unwrap();
    let mut run = GrowingRun::begin(runs, "live");
    run.steps(9, "other");
    // An ended run is polled rarely, but at once when its tab becomes visible again.
    browser.value("void document.dispatchEvent(new Event('visibilitychange'))");
    browser.wait_for_reload();
    browser.wait_until("document.getElementById('filter-step')?.value === '9'");
    run
}
