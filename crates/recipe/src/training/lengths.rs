//! Default sequence and reply lengths of a training, limited to the context length of the student.

use whetstone_config::Loaded;

use crate::failure::Failure;
use crate::find::{Around, find};
use crate::observer::Observer;

const MAX_LENGTH: &str = "training.max_length";

/// Limits default lengths to the student's context length, and replies to half of it, as in an evaluation. A length that
/// was set stays, and is refused later where it exceeds the context.
///
/// # Errors
///
/// If the student cannot be found or opened.
pub(crate) fn fit(mut loaded: Loaded, observer: &dyn Observer) -> Result<Loaded, Failure> {
    if loaded.places.contains_key(MAX_LENGTH) {
        return Ok(loaded);
    }
    let found = find(&loaded.config.student.model_name, &Around::of(&loaded.config, observer))?;
    let made_for = u32::try_from(found.open()?.config.positions).unwrap_or(u32::MAX);
    let config = &mut loaded.config;
    if made_for >= config.training.max_length {
        return Ok(loaded);
    }
    config.training.max_length = made_for;
    let replies = (made_for / 2).max(1);
    for (key, tokens) in [
        ("grpo.max_completion_length", &mut config.grpo.max_completion_length),
        ("ppo.max_completion_length", &mut config.ppo.max_completion_length),
    ] {
        if !loaded.places.contains_key(key) {
            *tokens = replies.min(*tokens);
        }
    }
    observer.note(&format_args!(
        "the student was made for {made_for} tokens: sequences have as many at most, and replies {replies}; `{MAX_LENGTH}` \
         and `grpo.max_completion_length` set other limits"
    ));
    Ok(loaded)
}
