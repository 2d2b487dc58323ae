//! Prompt sets in files: tasks to train on and tasks to evaluate on.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use whetstone_core::Seed;
use whetstone_core::wire::Wire;
use whetstone_record::atomic;
use whetstone_record::error::FileError;

use super::embedded::embedded;
use super::error::PromptError;
use super::read::read_seeds;
use super::seed::PromptSeed;
use super::split::{SplitCounts, split};

/// Prompt sets to make.
#[derive(Debug, Clone)]
pub struct PromptSets<'a> {
    /// The file of seeds; the embedded ones if there is none.
    pub seeds: Option<&'a Path>,
    /// Where tasks to train on go.
    pub out_train: &'a Path,
    /// Where tasks to evaluate on go.
    pub out_eval: &'a Path,
    /// How many of each.
    pub counts: SplitCounts,
    /// The seed of the draw.
    pub seed: Seed,
}

/// Prompt sets that were made.
#[derive(Debug, Clone, Serialize)]
pub struct PromptSummary {
    /// The version of this report.
    pub v: u64,
    /// The file of seeds, or `embedded`.
    pub prompt_seeds: String,
    /// Seeds that there were.
    pub seeds: usize,
    /// Families that there were.
    pub families: usize,
    /// The seed of the draw.
    pub seed: u64,
    /// The tasks to train on.
    pub train: PromptSetSummary,
    /// The tasks to evaluate on.
    pub eval: PromptSetSummary,
}

/// A file of tasks that was written.
#[derive(Debug, Clone, Serialize)]
pub struct PromptSetSummary {
    /// Its path.
    pub file: PathBuf,
    /// Its tasks.
    pub prompts: usize,
    /// Their checks.
    pub checks: usize,
    /// Tasks without a check: their programs are not run.
    pub unchecked: usize,
    /// Tasks with a reference program.
    pub references: usize,
    /// The checksum of the file.
    pub blake3: String,
}

/// Draws two sets without overlap and writes them as tasks.
pub fn write_prompt_sets(sets: &PromptSets<'_>) -> Result<PromptSummary, PromptError> {
    check_paths(sets)?;
    let seeds = match sets.seeds {
        Some(path) => read_seeds(path)?,
        None => embedded(),
    };
    let halves = split(&seeds, sets.counts, sets.seed)?;
    let mut families: Vec<&str> = seeds.iter().map(PromptSeed::family).collect();
    families.sort_unstable();
    families.dedup();
    Ok(PromptSummary {
        v: 1,
        prompt_seeds: sets.seeds.map_or("embedded".to_owned(), |path| path.display().to_string()),
        seeds: seeds.len(),
        families: families.len(),
        seed: sets.seed.get(),
        train: write(sets.out_train, &halves.train)?,
        eval: write(sets.out_eval, &halves.eval)?,
    })
}

fn check_paths(sets: &PromptSets<'_>) -> Result<(), PromptError> {
    let real = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let (train, eval) = (real(sets.out_train), real(sets.out_eval));
    let seeds = sets.seeds.map(real);
    for path in [&train, &eval] {
        if train == eval || seeds.as_ref() == Some(path) {
            return Err(PromptError::SameFile { path: path.clone() });
        }
    }
    Ok(())
}

/// Makes the folder that a file goes into.
pub(super) fn make_folder(file: &Path) -> Result<(), PromptError> {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => fs::create_dir_all(folder)
            .map_err(FileError::at("create", folder))
            .map_err(PromptError::from),
        _ => Ok(()),
    }
}

fn write(file: &Path, seeds: &[PromptSeed]) -> Result<PromptSetSummary, PromptError> {
    let lines: Vec<String> = seeds.iter().map(|seed| seed.task().to_line() + "\n").collect();
    let text = lines.concat();
    make_folder(file)?;
    atomic::replace(file, text.as_bytes())?;
    Ok(PromptSetSummary {
        file: file.to_owned(),
        prompts: seeds.len(),
        checks: seeds.iter().map(|seed| seed.game.checks().len()).sum(),
        unchecked: seeds.iter().filter(|seed| seed.game.checks().is_empty()).count(),
        references: seeds.iter().filter(|seed| seed.reference.is_some()).count(),
        blake3: blake3::hash(text.as_bytes()).to_hex().to_string(),
    })
}
