//! Any text as the replies of an episode that repairs a model, divided at lines of `---`: no reply breaks it, every
//! answer says the status, and the reward is within its bounds.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use whetstone_core::config::Config;
use whetstone_core::extract::Reply;
use whetstone_core::seed::Seed;
use whetstone_core::task::Task;
use whetstone_core::wire::Wire;
use whetstone_env::environment::{Environment, Next, Setup, StartError};
use whetstone_env::registry::Environments;
use whetstone_env::solver::Action;

/// x + y <= 10 and x + y >= 15, with a base model and without one; `y` must be an integer.
const MODEL: &str = r#"{"objective":"maximize","variables":[{"name":"x","cost":3},{"name":"y","cost":2,"upper":50,"integer":true}],"rows":[{"name":"room","terms":[["x",1],["y",1]],"upper":10}WISH]}"#;
const WISH: &str = r#",{"name":"wish","terms":[["x",1],["y",1]],"lower":15}"#;

static TASKS: LazyLock<[Task; 2]> = LazyLock::new(|| {
    let broken = MODEL.replace("WISH", WISH);
    let base = format!(r#","base":{},"undo":["DROP_CONSTRAINT wish"]"#, MODEL.replace("WISH", ""));
    [base.as_str(), r#","show_iis":false"#].map(|more| {
        let body = format!(r#"{{"kind":"solver","broken":{broken}{more}}}"#);
        let line = format!(r#"{{"v":3,"id":"s/1","statement":"s","body":{body}}}"#);
        Task::from_object(serde_json::from_str(&line).expect("JSON")).expect("a task")
    })
});

static ENVIRONMENTS: LazyLock<Environments> = LazyLock::new(|| {
    let config = Config::default();
    let start_judge = || Err(StartError::Refused("no programs here".to_owned()));
    let setup = Setup { config: &config, skip_runtime: false, start_judge: &start_judge };
    Environments::for_tasks(&setup, TASKS.iter()).expect("environments")
});

fuzz_target!(|text: &str| {
    if let Ok(action) = Action::parse(text) {
        assert!(!action.to_string().is_empty());
    }
    let task = &TASKS[text.len() % 2];
    let mut episode = ENVIRONMENTS.open(task, Seed::new(1)).expect("an episode");
    for reply in text.split("\n---\n").take(10) {
        match episode.reply(Reply::text(reply)).expect("a reply is data") {
            Next::Ask => {
                let told = &episode.messages().last().expect("an answer").content;
                assert!(told.contains("Status: "), "{told}");
            }
            Next::Done(outcome) => {
                assert!((0.0..=1.0).contains(&outcome.reward.total()), "{outcome:?}");
                return;
            }
        }
    }
    let outcome = episode.cut_short().expect("an outcome");
    assert!((0.0..=1.0).contains(&outcome.reward.total()), "{outcome:?}");
});
