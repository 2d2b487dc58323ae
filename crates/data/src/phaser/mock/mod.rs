//! Mock rollouts: replies of planted quality, to try scoring and training without a model.
//!
//! A deck with every quality is shuffled and dealt until it is empty, then the next one: so each quality occurs in
//! every eleven lines, and groups are mixed. `meta.mock` has the quality; nothing that scores reads it.

mod deck;
mod programs;
mod quality;
mod text;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;
use whetstone_core::jsonl::read_tasks;
use whetstone_core::rollout::RolloutLine;
use whetstone_core::wire::{Object, Wire};
use whetstone_core::{Seed, Task};
use whetstone_record::atomic;

use self::deck::Deck;
pub use self::programs::half_good;
pub use self::quality::{Quality, Trick};
use super::error::PromptError;
use super::prompt_sets::make_folder;
use super::seed::KIND;
use super::split::shuffle;
use crate::random::Random;

/// Sampling parameters that mock rollouts name.
const TEMPERATURE: f64 = 0.7;
const TOP_P: f64 = 0.9;
const MAX_NEW_TOKENS: u64 = 1800;

/// Mock rollouts to make.
#[derive(Debug, Clone, Copy)]
pub struct MockRollouts<'a> {
    /// The file of tasks.
    pub prompts: &'a Path,
    /// Where rollouts go.
    pub out: &'a Path,
    /// The step that they are for.
    pub step: u64,
    /// Tasks to draw.
    pub num_prompts: usize,
    /// Replies to each.
    pub group_size: usize,
    /// The seed of the draw.
    pub seed: Seed,
}

/// Mock rollouts that were made.
#[derive(Debug, Clone, Serialize)]
pub struct MockSummary {
    /// The version of this report.
    pub v: u64,
    /// Where they are.
    pub out: PathBuf,
    /// The step that they are for.
    pub step: u64,
    /// Tasks that were drawn.
    pub prompts: usize,
    /// Lines.
    pub rollouts: usize,
    /// Lines by quality.
    pub qualities: BTreeMap<&'static str, usize>,
    /// Drawn tasks without a reference program, of which no reply is good.
    pub without_reference: usize,
    /// The checksum of the file.
    pub blake3: String,
}

/// Draws tasks, makes replies to each, and writes them as rollouts.
pub fn write_mock_rollouts(mock: &MockRollouts<'_>) -> Result<MockSummary, PromptError> {
    if same_file(mock.prompts, mock.out) {
        return Err(PromptError::SameFile { path: mock.out.to_owned() });
    }
    let mut tasks = read_tasks(mock.prompts).map_err(PromptError::Tasks)?;
    tasks.retain(|task| task.kind() == Some(KIND));
    if tasks.len() < mock.num_prompts {
        let (file, asked) = (mock.prompts.to_owned(), mock.num_prompts);
        return Err(PromptError::TooFewPrompts { file, tasks: tasks.len(), asked });
    }
    shuffle(&mut tasks, &mut Random::new(mock.seed.derive("mock-prompts", mock.step)));
    tasks.truncate(mock.num_prompts);
    let replies = replies(mock, &tasks);
    let lines: Vec<String> = replies.iter().map(|reply| reply.line.to_line() + "\n").collect();
    let text = lines.concat();
    make_folder(mock.out)?;
    atomic::replace(mock.out, text.as_bytes())?;
    let mut qualities = BTreeMap::new();
    for reply in &replies {
        *qualities.entry(reply.quality.name()).or_default() += 1;
    }
    Ok(MockSummary {
        v: 1,
        out: mock.out.to_owned(),
        step: mock.step,
        prompts: tasks.len(),
        rollouts: replies.len(),
        qualities,
        without_reference: tasks.iter().filter(|task| task.reference.is_none()).count(),
        blake3: blake3::hash(text.as_bytes()).to_hex().to_string(),
    })
}

/// A reply, and the quality that was planted.
#[derive(Debug)]
pub(super) struct MockReply {
    pub(super) quality: Quality,
    pub(super) line: RolloutLine,
}

/// The replies to these tasks, group after group.
pub(super) fn replies(mock: &MockRollouts<'_>, tasks: &[Task]) -> Vec<MockReply> {
    let mut random = Random::new(mock.seed.derive("mock-replies", mock.step));
    let mut deck = Deck::default();
    let mut replies = Vec::new();
    for task in tasks {
        for sample in 0..mock.group_size {
            let quality = deck.deal(&mut random).of_task(task);
            let line = RolloutLine {
                step: mock.step,
                prompt_id: task.id.clone(),
                group_id: Some(sample as u64),
                text: text::reply(quality, task, &mut random),
                meta: meta(quality),
                score: None,
                rest: Object::new(),
            };
            replies.push(MockReply { quality, line });
        }
    }
    replies
}

fn meta(quality: Quality) -> Object {
    let mut meta = Object::new();
    meta.put("mock", &quality.name());
    if let Quality::Hostile(trick) = quality {
        meta.put("mock_trick", &trick.name());
    }
    meta.put("temperature", &TEMPERATURE);
    meta.put("top_p", &TOP_P);
    meta.put("max_new_tokens", &MAX_NEW_TOKENS);
    meta
}

fn same_file(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path)).ok();
    real(one) == real(other)
}
