//! Any bytes as the answer of a teacher: nothing panics, no more comes than was asked for, what it
//! cost can be added up, and what is shown of it is one short line without the key.

#![no_main]

use libfuzzer_sys::fuzz_target;
use whetstone_remote::fuzzing::{beginning, completions, models, scores, server_message};
use whetstone_remote::secret::Secret;

fuzz_target!(|bytes: &[u8]| {
    let Some((&wanted, body)) = bytes.split_first() else { return };
    let wanted = usize::from(wanted % 8) + 1;
    match completions(body, wanted) {
        Ok(response) => {
            assert!((1..=wanted).contains(&response.completions.len()));
            let usage = response.usage;
            let sum = usage.prompt_tokens + usage.completion_tokens;
            assert!(sum.max(usage.total_tokens) < 1 << 34);
            assert!(usage.is_reported || sum == 0);
            assert!(
                response
                    .completions
                    .iter()
                    .all(|completion| completion.reasoning.as_deref() != Some(""))
            );
        }
        Err(reason) => assert!(!reason.is_empty()),
    }
    drop(models(body));
    match scores(body) {
        Ok(scores) => assert!(scores.len() == 2 && scores.iter().all(|score| *score <= 0.0)),
        Err(reason) => assert!(!reason.is_empty()),
    }
    // The first characters of the answer are the key: it may then stand anywhere in it.
    let key: String = body.iter().take(12).map(|byte| char::from(b'a' + byte % 26)).collect();
    let echo = [body, key.as_bytes(), body, key.as_bytes()].concat();
    let secret = Secret::new(&key).expect("letters");
    for shown in [server_message(&echo, secret.as_ref()), beginning(&echo, secret.as_ref())] {
        assert!(shown.chars().count() <= 301, "{shown}");
        assert!(!shown.chars().any(char::is_control), "{shown:?}");
        assert!(key.len() < 6 || !shown.contains(&key), "{shown} shows {key}");
    }
});
