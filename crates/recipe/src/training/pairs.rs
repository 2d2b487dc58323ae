//! Preference pairs of a file: read, checked, held out, and what is said of them.

use std::collections::BTreeMap;
use std::path::Path;

use whetstone_core::jsonl::{Numbered, Records};
use whetstone_core::preference::Preference;
use whetstone_train::TrainError;
use whetstone_train::reward_model::{Split, TokenPairs, hold_out, shared};

use crate::failure::Failure;
use crate::observer::Observer;
use crate::text::{counted, plain};

/// Characters of a pair's name that are shown.
const NAME: usize = 100;

/// Reads a file of preference pairs.
///
/// # Errors
///
/// If a line is not one, a name stands twice, or there is none.
pub fn read_pairs(path: &Path) -> Result<Vec<Preference>, Failure> {
    let mut lines: BTreeMap<String, u64> = BTreeMap::new();
    let mut pairs = Vec::new();
    for record in Records::<Preference, _>::open(path).map_err(Failure::Pairs)? {
        let Numbered { line, record } = record.map_err(Failure::Pairs)?;
        if let Some(first) = lines.insert(record.id.clone(), line) {
            let problem = format!(
                "its `id` stands in lines {first} and {line} of `{}`, and names a pair once",
                path.display()
            );
            return Err(TrainError::Pair { id: plain(&record.id, NAME), problem }.into());
        }
        pairs.push(record);
    }
    if pairs.is_empty() {
        return Err(Failure::NoPairs { path: path.to_owned() });
    }
    Ok(pairs)
}

/// The pairs of a training: those of a second file are measured by, or else a `fraction` of the first.
pub(super) fn split(
    pairs: &Path,
    held_out: Option<&Path>,
    fraction: f64,
    seed: u64,
) -> Result<Split, Failure> {
    let train = read_pairs(pairs)?;
    let Some(path) = held_out else { return Ok(hold_out(train, fraction, seed)?) };
    let held_out = read_pairs(path)?;
    if let Some(pair) = shared(&train, &held_out) {
        let of = pair.task_id.as_ref().map_or_else(
            || "its prompt is".to_owned(),
            |task| format!("its task `{}` is", plain(task.as_str(), NAME)),
        );
        let problem = format!(
            "{of} also one of `{}`, and held-out pairs of `{}` must be of others",
            pairs.display(),
            path.display()
        );
        return Err(TrainError::Pair { id: plain(&pair.id, NAME), problem }.into());
    }
    Ok(Split { train, held_out })
}

/// Refuses pairs of which nothing is left.
pub(crate) fn check(made: &TokenPairs, pairs: usize, limit: usize) -> Result<(), TrainError> {
    if !made.pairs.is_empty() {
        return Ok(());
    }
    let TokenPairs { too_long, same_tokens, longest, .. } = *made;
    Err(TrainError::NoPairs { pairs, too_long, same_tokens, limit, longest })
}

/// Says the counts of pairs by outcome.
pub(crate) fn say(what: &str, made: &TokenPairs, limit: usize, observer: &dyn Observer) {
    let TokenPairs { pairs, too_long, same_tokens, longest, .. } = made;
    observer.note(&format_args!(
        "{} {what}; left out: {too_long} longer than {limit} tokens (the longest has {longest}), \
         {same_tokens} with replies of the same tokens",
        counted(pairs.len(), "pair")
    ));
}
