//! Episodes driven with a generator: groups of rollouts, judged while others are still sampled.
//!
//! ```text
//!            this thread                      judges
//! prompts ─► generator ─► finished sample ─► episode.reply ─► over: a place in its group
//!    ▲                                            │
//!    └──────────── prompt of its next turn ◄──────┴──► asks again
//! ```
//!
//! The generator begins with every task's prompt and all of its samples. A finished sample goes to the judges at
//! once, and the next turn of its episode to the generator as soon as it was answered, beside episodes in other
//! turns. So what is waited for at the end is the judging of the last ones only ([`Timeline`] has the figures).
//! A generator that takes its prompts in one call, such as a server, goes in waves: the next turn of all
//! episodes when all are answered.
//!
//! **The same completions make the same groups,** whatever the threads do: a rollout has its place
//! by its task and number, the seed of a turn is made from its group's, its turn and its sample, and no time is
//! in a group.
//!
//! **A broken machine is never a reward.** When an environment fails or panics, a fresh episode is
//! told the same replies; if that fails too, the rollout is left out of its group and counted with
//! its reason. Only if nothing at all could be judged is that an error.
//!
//! **An episode that does not end by itself** has earned what [`Episode::cut_short`] says. It is not
//! dropped: not to come to an end is the model's doing, and dropping unfinished episodes would inflate
//! the advantage of the rest.
//!
//! **The prompt of a later turn** keeps the tokens that were sampled before it, so that an episode is one
//! sequence to train on (`next_turn`).
//!
//! All episodes of a group are opened with one seed, since an advantage compares rollouts that began
//! alike; only the sampling differs. They are opened when their first reply is there: an episode
//! may hold a task's tests, and thousands of them need not.
//!
//! Not here: what replies are worth (`env`), completions (`infer`), and what is learnt from a group.
//!
//! [`Episode::cut_short`]: whetstone_env::environment::Episode::cut_short

mod alive;
mod driver;
mod error;
mod group;
mod judging;
mod next_turn;
pub mod record;
mod timeline;

use std::error::Error;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use whetstone_core::message::Message;
use whetstone_core::seed::Seed;
use whetstone_core::task::{Task, TaskId};
use whetstone_env::environment::Environment;
use whetstone_infer::{Generator, Rule, Usage};

use self::driver::{PATIENCE, Taker};
pub(crate) use self::judging::broken;

pub use self::alive::{Alive, Supply, collect_alive};
pub use self::error::CollectError;
pub use self::group::{Dropped, End, Group, Rollout, Turn};
pub use self::next_turn::prompt as next_prompt;
pub use self::timeline::{Span, Timeline};

/// One group to collect.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The task.
    pub task: &'a Task,
    /// Count of rollouts.
    pub samples: usize,
    /// The seed of everything random in the group: samples and episodes.
    pub seed: Seed,
}

/// Turns a conversation into the tokens of a prompt, after which the model speaks.
pub type Render<'a> = dyn Fn(&[Message]) -> Result<Vec<u32>, RenderError> + Sync + 'a;

/// Why a conversation is no prompt.
pub type RenderError = Box<dyn Error + Send + Sync>;

/// Settings for collecting rollouts.
pub struct Collecting<'a> {
    /// The environment that judges replies.
    pub environment: &'a dyn Environment,
    /// Renders a conversation as a prompt. Called from any thread.
    pub render: &'a Render<'a>,
    /// Whether a rendered prompt ends inside the thinking tag, so that completions begin with thinking.
    pub thinking_opened: bool,
    /// Sampling parameters.
    pub rule: Rule,
    /// Strings that end a completion.
    pub stop: &'a [String],
    /// Tokens of a completion at most.
    pub max_tokens: usize,
    /// Tokens of a prompt at most. A task with a longer one is dropped; an episode whose
    /// conversation grows beyond it is cut short.
    pub max_prompt_tokens: usize,
    /// Threads that judge, at least one.
    pub judges: usize,
    /// Called after every sample and every judgement, on the thread that collects: what was judged
    /// while no sample ended is told with the next one. `Break` ends the collection.
    pub on_event: &'a dyn Fn(Progress<'_>) -> ControlFlow<()>,
}

/// `Break` once the flag is set. For [`Collecting::on_event`].
pub fn check_stop(stop: &AtomicBool) -> ControlFlow<()> {
    if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// The progress of a collection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress<'a> {
    /// Completions that were sampled.
    pub sampled: usize,
    /// Completions that the judges are done with.
    pub judged: usize,
    /// Rollouts that are over and have a reward.
    pub over: usize,
    /// Rollouts that were left out.
    pub dropped: usize,
    /// The first task, with the number of its rollout, that is being judged, or else sampled.
    pub waits_for: Option<(&'a TaskId, usize)>,
}

/// Collected groups.
#[derive(Debug, Clone, PartialEq)]
pub struct Collected {
    /// One for each group that was asked for, in that order.
    pub groups: Vec<Group>,
    /// The generator's work, over all turns.
    pub usage: Usage,
    /// Times of sampling and judging.
    pub timeline: Timeline,
}

/// Collects the groups that are `asked` for.
///
/// # Errors
///
/// If a task cannot be rendered, the generator fails, not one rollout could be judged, or
/// [`Collecting::on_event`] ended it.
pub fn collect(
    collecting: &Collecting<'_>,
    generator: &mut dyn Generator,
    asked: &[Asked<'_>],
) -> Result<Collected, CollectError> {
    let collected = driver::collect_all(collecting, generator, asked)?;
    error::something_judged(&collected.groups)?;
    Ok(collected)
}

/// Collects the groups that are `asked` for and gives each to `each` as soon as it is over, with its index,
/// whether or not anything could be judged. A collection that
/// [`Collecting::on_event`] ends goes on judging what was sampled for a few seconds, and then gives the
/// groups that have begun as they are.
///
/// # Errors
///
/// If a task cannot be rendered, the generator fails, or [`Collecting::on_event`] ended it.
pub fn collect_each(
    collecting: &Collecting<'_>,
    generator: &mut dyn Generator,
    asked: &[Asked<'_>],
    each: &mut dyn FnMut(usize, Group),
) -> Result<(Usage, Timeline), CollectError> {
    let taker = Taker { each, patience: PATIENCE };
    driver::collect_each(collecting, generator, asked, taker)
}
