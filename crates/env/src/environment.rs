//! The shape of every environment: a state machine that is driven from outside.
//!
//! An environment never calls the model itself. So one loop can advance thousands of episodes and
//! send all their prompts as one batch, and a test can play the model with a list of strings.

use whetstone_core::extract::Reply;
use whetstone_core::judgement::{Infrastructure, Judgement};
use whetstone_core::message::Message;
use whetstone_core::reward::Reward;
use whetstone_core::seed::Seed;
use whetstone_core::task::Task;

/// Opens episodes on tasks of one kind.
pub trait Environment: Send + Sync {
    /// Name in configs, metrics and run directories; stable across versions.
    fn name(&self) -> &'static str;

    /// Starts an episode. Everything random in it follows from `seed`.
    fn open(&self, task: &Task, seed: Seed) -> Result<Box<dyn Episode>, EnvError>;
}

/// One conversation about one task.
pub trait Episode: Send {
    /// The whole conversation so far: what the model sees next.
    fn messages(&self) -> &[Message];

    /// Takes the model's next reply.
    ///
    /// `Err` means the world broke, not the reply: the rollout is dropped and counted, and no
    /// reward is recorded. A malformed reply is the model's doing and earns its verdict.
    fn reply(&mut self, reply: Reply<'_>) -> Result<Next, EnvError>;

    /// Ends an episode whose model may say no more: it has had all its turns, or the conversation
    /// fills its context. What the episode is worth as it stands.
    ///
    /// Not to have come to an end is the model's doing: it earns a verdict. `Err` means the world
    /// broke, as for a reply.
    fn cut_short(&mut self) -> Result<Outcome, EnvError>;
}

/// What follows a reply.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// [`Episode::messages`] has grown; ask the model again.
    Ask,
    /// The episode is over.
    Done(Outcome),
}

/// How an episode ended, and what it is worth.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// What the judge saw; none where there was nothing to run against, so that static terms alone are paid.
    pub judgement: Option<Judgement>,
    /// What that is worth, with its terms and gates.
    pub reward: Reward,
}

impl Outcome {
    /// Whether every test passed. What was not run passed none.
    pub fn is_pass(&self) -> bool {
        self.judgement.as_ref().is_some_and(|judgement| judgement.verdict().is_pass())
    }
}

/// The environment could not judge a reply.
#[derive(Debug, thiserror::Error)]
pub enum EnvError {
    /// The judge failed.
    #[error("cannot judge the reply")]
    Judge(#[from] Infrastructure),
    /// No thread to read the reply on.
    #[error("cannot start a thread to read the reply on")]
    Thread(#[from] std::io::Error),
    /// The caller goes on after the end.
    #[error("the episode is over: it takes no more replies")]
    Over,
}
