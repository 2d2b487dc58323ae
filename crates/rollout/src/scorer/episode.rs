//! Replies that are there already, told to an episode: how tasks that ask for no program are scored.
//!
//! The replies of all turns are told in order. An episode that asks on after the last one is cut short, as it
//! was when the replies were sampled.

use whetstone_core::extract::Reply;
use whetstone_core::judgement::Infrastructure;
use whetstone_core::outcome::Outcome;
use whetstone_core::seed::Seed;
use whetstone_core::task::Task;
use whetstone_env::environment::{Environment, Next};

use crate::collect::broken;

/// What these replies to a task are worth.
pub(super) fn outcome(
    environment: &dyn Environment,
    task: &Task,
    seed: Seed,
    replies: &[Reply<'_>],
) -> Result<Outcome, Infrastructure> {
    let mut episode = environment.open(task, seed).map_err(broken)?;
    for &reply in replies {
        if let Next::Done(outcome) = episode.reply(reply).map_err(broken)? {
            return Ok(outcome);
        }
    }
    episode.cut_short().map_err(broken)
}
