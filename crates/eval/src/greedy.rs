//! What an evaluation marks a sample with before it is kept.

use whetstone_core::rollout::RolloutLine;

/// A sample as it is kept.
pub(crate) fn kept(mut rollout: RolloutLine, is_greedy: bool) -> RolloutLine {
    if is_greedy {
        rollout.meta.put(GREEDY, &true);
    }
    rollout
}

/// Whether a sample is the greedy one of its task.
pub fn is_greedy(rollout: &RolloutLine) -> bool {
    rollout.meta.get(GREEDY) == Some("true")
}

/// The field of a sample's `meta` that says that it was not drawn by chance.
pub(crate) const GREEDY: &str = "greedy";
