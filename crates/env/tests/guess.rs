//! The example environment of the guide: what its episodes are worth, and that the guide shows it as it is.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use whetstone_core::config::Config;
use whetstone_core::extract::Reply;
use whetstone_core::seed::Seed;
use whetstone_core::task::Task;
use whetstone_core::wire::Wire;
use whetstone_env::environment::{Environment, Next, Outcome, Setup, StartError};
use whetstone_env::registry::Environments;

/// Lines that a newcomer may need for an environment.
const MOST_LINES: usize = 90;

fn task() -> Task {
    let line = r#"{"id":"g/1","statement":"Guess.","body":{"kind":"guess","number":7}}"#;
    Task::from_object(serde_json::from_str(line).unwrap()).unwrap()
}

/// Plays these replies; `None` where the episode is cut short after them.
fn play(replies: &[&str]) -> (Vec<String>, Option<Outcome>) {
    let start_judge = || Err(StartError::Refused("no program is run".to_owned()));
    let config = Config::default();
    let setup = Setup::new(&config, &start_judge);
    let task = task();
    let environment = Environments::for_tasks(&setup, [&task]).unwrap();
    let mut episode = environment.open(&task, Seed::new(0)).unwrap();
    let mut outcome = None;
    for reply in replies {
        match episode.reply(Reply::text(reply)).unwrap() {
            Next::Done(done) => outcome = Some(done),
            Next::Ask => assert!(outcome.is_none()),
        }
    }
    let said = episode.messages().iter().map(|message| message.content.clone()).collect();
    (said, outcome)
}

#[track_caller]
fn check(replies: &[&str], solved: bool, worth: f64) {
    let outcome = play(replies).1.unwrap();
    assert_eq!(outcome.is_solved(), solved, "{outcome:?}");
    assert!((outcome.reward.total() - worth).abs() < 1e-12, "{outcome:?}");
    assert!(outcome.judgement().is_none(), "no program was judged: {outcome:?}");
}

#[test]
fn the_first_guess_is_worth_more_than_the_second_and_a_number_more_than_none() {
    check(&["I say 7."], true, 1.0);
    check(&["3", "7"], true, 0.55);
    check(&["9", "8"], false, 0.1);
    check(&["?", "?"], false, 0.0);
    check(&["99999999999999999999", "7"], true, 0.55);
}

#[test]
fn a_wrong_guess_is_answered_with_a_hint() {
    for (reply, hint) in [("3", "Higher."), ("9", "Lower."), ("?", "Say a number.")] {
        assert_eq!(play(&[reply]), (vec!["Guess.".into(), reply.into(), hint.into()], None));
    }
}

#[test]
fn the_guide_shows_the_environment_as_it_is() {
    let guide = include_str!("../../../docs/guides/add-an-environment.md");
    let source = include_str!("../src/guess/mod.rs");
    let shown = guide.split("```rust\n").nth(1).and_then(|rest| rest.split("```\n").next());
    assert_eq!(shown, Some(source), "copy crates/env/src/guess/mod.rs into the guide");
    assert!(source.lines().count() <= MOST_LINES, "{} lines", source.lines().count());
}
