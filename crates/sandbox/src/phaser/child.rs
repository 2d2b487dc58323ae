//! A child of the zygote: one program, one answer.

use std::time::Duration;

use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage};
use serde::{Deserialize, Serialize};

use super::engine::Engine;
use super::play::Playing;
use super::run::{Run, Settings};
use crate::javascript::channel::{receive, send};

/// The kind of a child that runs a game, and of its question and answer.
pub(super) const GAME: i32 = 5;
pub(crate) const QUESTION: u8 = b'G';
pub(crate) const ANSWER: u8 = b'g';

/// What a child is asked.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Question {
    pub(crate) source: String,
    pub(crate) settings: Settings,
    /// Milliseconds of CPU time after which it stops by itself, before it is stopped.
    pub(crate) cpu_ms: u64,
}

/// Answers its question. The jail is shut: from here on everything in this process may turn against
/// us.
pub(super) fn run(engine: &Engine, kind: i32) {
    if kind == GAME {
        let _ = answer(engine);
    }
}

fn answer(engine: &Engine) -> Option<()> {
    let frame = receive().filter(|frame| frame.kind == QUESTION)?;
    let question: Question = serde_json::from_slice(&frame.payload).ok()?;
    engine.runtime.set_memory_limit(heap());
    engine.told.deadline.set(Some(Duration::from_millis(question.cpu_ms)));
    let mut run: Run = engine
        .context
        .with(|ctx| Playing::new(engine, ctx, &question.settings).run(&question.source));
    let usage = getrusage(UsageWho::RUSAGE_SELF).ok()?;
    run.memory = u64::try_from(usage.max_rss()).unwrap_or(0) * 1024;
    send(ANSWER, &serde_json::to_vec(&run).ok()?)
}

/// The kernel holds the whole process to its limit; the engine is left a little less, so that it
/// can still say that it has run out.
fn heap() -> usize {
    let (limit, _) = getrlimit(Resource::RLIMIT_DATA).unwrap_or((256 << 20, 0));
    usize::try_from(limit - limit / 8).unwrap_or(usize::MAX)
}
