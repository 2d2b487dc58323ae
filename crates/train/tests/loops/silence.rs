//! A judge that hangs is named, told of while it hangs, and recorded afterwards.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use whetstone_record::event::Event;
use whetstone_train::grpo::STAGE;
use whetstone_train::watch::Watch;
use whetstone_train::watchdog::Watchdog;

use crate::school::{School, nobody, parity};

/// Nobody waits so long; a test that does has failed.
const PATIENCE: Duration = Duration::from_mins(1);

#[test]
fn a_judge_that_hangs_is_named_while_it_hangs() {
    let (spoken, heard) = channel::<()>();
    let heard = Mutex::new(Some(heard));
    let mut school = School::new();
    school.config.training.max_steps = 2;
    // The first reply is judged when the watchdog has spoken.
    school.worth = Arc::new(move |_, reply| {
        if let Some(heard) = heard.lock().unwrap().take() {
            heard.recv_timeout(PATIENCE).unwrap();
        }
        Ok(parity(reply))
    });
    let said = Mutex::new(Vec::new());
    let on_silence = |sentence: &str| {
        said.lock().unwrap().push(sentence.to_owned());
        // Nobody listens any more when it speaks again.
        let _ = spoken.send(());
    };
    let dog = Watchdog::new(1, &on_silence);
    let session = school.create("run", STAGE);
    school.grpo_on(session, None, Watch { dog: &dog, ..nobody() }).unwrap();

    let said = said.into_inner().unwrap();
    let first = &said[0];
    assert!(first.starts_with("judging has been at "), "{first}");
    assert!(first.contains(" of 16 for 1 s (task t/"), "{first}");
    let warnings: Vec<String> = school
        .events("run")
        .into_iter()
        .filter_map(|event| match event {
            Event::Warning { code, message } if code == "silence" => Some(message),
            _ => None,
        })
        .collect();
    assert_eq!(warnings, said);
}
