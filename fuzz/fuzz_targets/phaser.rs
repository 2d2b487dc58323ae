//! Any text as the reply to a Phaser task, read and not run, and any text as a task's body: no reply breaks the
//! check, and its reward is within the bounds of static terms.

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

/// The most that a program is paid that is not run.
const STATIC_TERMS: f64 = 0.5;

static TASK: LazyLock<Task> = LazyLock::new(|| {
    task(r#"{"kind":"phaser","checks":[{"kind":"count","select":{},"at_least":1}]}"#)
        .expect("a task")
});

static ENVIRONMENTS: LazyLock<Environments> = LazyLock::new(|| {
    let config = Config::default();
    let start_judge = || Err(StartError::Refused("nothing is run here".to_owned()));
    let setup = Setup { config: &config, skip_runtime: true, start_judge: &start_judge };
    Environments::for_tasks(&setup, [&*TASK]).expect("environments")
});

fn task(body: &str) -> Option<Task> {
    let line = format!(
        r#"{{"v":3,"id":"p/1","statement":"s","language":"javascript","body":{body}}}"#
    );
    Task::from_object(serde_json::from_str(&line).ok()?).ok()
}

fuzz_target!(|text: &str| {
    if let Some(task) = task(text).filter(|task| task.kind() == Some("phaser")) {
        // An answer of either kind will do, as long as there is one.
        let _ = ENVIRONMENTS.check(&task);
    }
    for reply in [text.to_owned(), format!("```javascript\n{text}\n```")] {
        let mut episode = ENVIRONMENTS.open(&TASK, Seed::new(1)).expect("an episode");
        let next = episode.reply(Reply::text(&reply)).expect("a reply is data");
        let Next::Done(outcome) = next else { panic!("one reply ends an episode") };
        let total = outcome.reward.total();
        assert!((0.0..=STATIC_TERMS + 1e-9).contains(&total), "{outcome:?}");
        assert!(!outcome.is_solved());
    }
});
