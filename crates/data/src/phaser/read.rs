//! Files of prompt seeds, read within bounds.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::BufRead;
use std::path::Path;

use whetstone_core::jsonl::{LineError, LineProblem, Numbered, Records};
use whetstone_core::wire::Wire;

use super::error::PromptError;
use super::seed::PromptSeed;

/// Bytes of a line, at most.
const MAX_LINE_BYTES: usize = 1 << 20;
/// Seeds of a file, at most.
const MAX_SEEDS: usize = 100_000;

/// Reads a file of seeds; the first bad line, repeated id or repeated prompt is the error.
pub fn read_seeds(path: &Path) -> Result<Vec<PromptSeed>, PromptError> {
    collect(path, Records::open(path).map_err(PromptError::Seeds)?)
}

/// Reads seeds from `reader`; `name` stands in messages.
pub fn read_seeds_from(name: &Path, reader: impl BufRead) -> Result<Vec<PromptSeed>, PromptError> {
    collect(name, Records::new(name, reader))
}

fn collect(
    file: &Path,
    records: Records<PromptSeed, impl BufRead>,
) -> Result<Vec<PromptSeed>, PromptError> {
    let (mut ids, mut prompts) = (HashMap::new(), HashMap::new());
    let mut seeds = Vec::new();
    for read in records.with_limit(MAX_LINE_BYTES) {
        let Numbered { line, record: seed } = read.map_err(PromptError::Seeds)?;
        let id = seed.id.to_string();
        if let Some(first) = ids.insert(id.clone(), line) {
            let problem = LineProblem::DuplicateId { noun: PromptSeed::NOUN, id, first };
            let file = file.to_owned();
            return Err(PromptError::Seeds(LineError { file, line, problem }));
        }
        match prompts.entry(seed.prompt.trim().to_owned()) {
            Entry::Occupied(entry) => {
                let (file, first) = (file.to_owned(), *entry.get());
                return Err(PromptError::SamePrompt { file, line, id, first });
            }
            Entry::Vacant(entry) => entry.insert(line),
        };
        seeds.push(seed);
        if seeds.len() > MAX_SEEDS {
            return Err(PromptError::TooMany { file: file.to_owned(), most: MAX_SEEDS });
        }
    }
    Ok(seeds)
}
