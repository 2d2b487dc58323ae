//! Any bytes as a row of preference pairs: nothing panics, a row is a pair with two different replies and a
//! prompt, or has a reason that a terminal can show.

#![no_main]

use libfuzzer_sys::fuzz_target;
use whetstone_core::wire::Object;
use whetstone_data::pairs::read_row;

fuzz_target!(|bytes: &[u8]| {
    let Ok(row) = serde_json::from_slice::<Object>(bytes) else { return };
    match read_row(row) {
        Ok(pair) => {
            assert!(!pair.chosen.trim().is_empty() && !pair.rejected.trim().is_empty());
            assert_ne!(pair.chosen.trim(), pair.rejected.trim());
            assert!(pair.prompt.iter().any(|message| !message.content.trim().is_empty()));
            assert!(pair.margin.is_finite() && pair.margin >= 0.0);
        }
        Err(problem) => {
            let reason = problem.to_string();
            assert!(!reason.is_empty() && reason.chars().count() < 2000, "{reason}");
            assert!(!reason.chars().any(char::is_control), "{reason:?}");
        }
    }
});
