//! Episodes for the tests of this module.

use whetstone_core::outcome::Transition;

use super::episodes::LabelledEpisode;

/// A transition between two states.
pub(super) fn transition(state: &str, next_state: &str, progress: bool) -> Transition {
    Transition {
        state: state.to_owned(),
        action: "act".to_owned(),
        next_state: next_state.to_owned(),
        valid: true,
        progress,
    }
}

/// An episode of a task.
pub(super) fn episode(task: &str, transitions: &[Transition], solved: bool) -> LabelledEpisode {
    let task = task.to_owned().try_into().unwrap();
    LabelledEpisode { task, solved, transitions: transitions.to_vec() }
}
