//! Rows of files of pairs: which of them are taken.

use std::collections::{BTreeMap, HashMap};

use super::Pairing;
use super::choose::{LeftOut, is_longer_alone, same_words};
use super::error::PairError;
use super::given::{GivenPair, read_file};
use super::place::{Digest, digest, place};
use super::replies::{MAX_PROMPT_BYTES, MAX_REPLY_BYTES};
use super::summary::PairSummary;

/// A row that is a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KeptRow {
    /// The row in its file, from 1.
    pub(super) row: u64,
    /// Its task, or its prompt where it names none.
    pub(super) key: Digest,
    /// Its texts.
    digest: Digest,
    lengths: [u32; 2],
}

/// The rows that are taken, file by file, in their order.
#[derive(Debug, Default)]
pub(super) struct GivenRows {
    pub(super) files: Vec<Vec<KeptRow>>,
}

impl GivenRows {
    /// Reads all files of pairs.
    pub(super) fn read(
        pairing: &Pairing<'_>,
        summary: &mut PairSummary,
    ) -> Result<Self, PairError> {
        let mut known = HashMap::new();
        let mut rows = Self::default();
        let mut count = 0;
        for file in pairing.given {
            let mut kept = Vec::new();
            read_file(&file.path, &mut |row, pair| {
                count += 1;
                (pairing.on_progress)("reading pairs", count, 0);
                match pair {
                    Err(problem) => {
                        summary.bad(problem.name(), &file.path, row, problem.to_string());
                    }
                    Ok(pair) => match look_at(row, &pair, &mut known) {
                        Ok(row) => kept.push(row),
                        Err(reason) => summary.left_out(reason, 1),
                    },
                }
            })?;
            rows.files.push(kept);
        }
        rows.limit(pairing, summary);
        for row in rows.files.iter().flatten() {
            summary.lengths.add(row.lengths[0].into(), row.lengths[1].into());
        }
        Ok(rows)
    }

    /// Leaves out what a task has beyond its limit, by the seed.
    fn limit(&mut self, pairing: &Pairing<'_>, summary: &mut PairSummary) {
        let mut by_key: BTreeMap<Digest, Vec<(u64, usize, u64)>> = BTreeMap::new();
        for (file, rows) in self.files.iter().enumerate() {
            for row in rows {
                let place = place(pairing.seed, "pairs/rows", &row.digest);
                by_key.entry(row.key).or_default().push((place, file, row.row));
            }
        }
        let mut over = Vec::new();
        for rows in by_key.values_mut().filter(|rows| rows.len() > pairing.per_task) {
            rows.sort_unstable();
            over.extend(rows.drain(pairing.per_task..).map(|(_, file, row)| (file, row)));
        }
        summary.left_out(LeftOut::OverLimit.name(), over.len() as u64);
        over.sort_unstable();
        for (file, rows) in self.files.iter_mut().enumerate() {
            rows.retain(|row| over.binary_search(&(file, row.row)).is_err());
        }
    }
}

/// What a pair's task is known by: its name, or else its prompt.
pub(super) fn key(pair: &GivenPair) -> Digest {
    match &pair.task_id {
        Some(task) => task_key(task.as_str()),
        None => digest(&[b"prompt", &prompt_bytes(pair)]),
    }
}

/// What a task is known by.
pub(super) fn task_key(task: &str) -> Digest {
    digest(&[b"task", task.as_bytes()])
}

/// The digest of a row's texts.
pub(super) fn texts(pair: &GivenPair) -> Digest {
    digest(&[&prompt_bytes(pair), pair.chosen.as_bytes(), pair.rejected.as_bytes()])
}

impl KeptRow {
    /// Whether this is still the row.
    pub(super) fn is_of(&self, pair: &GivenPair) -> bool {
        self.digest == texts(pair)
    }
}

fn prompt_bytes(pair: &GivenPair) -> Vec<u8> {
    serde_json::to_vec(&pair.prompt).unwrap_or_default()
}

/// The row of a pair, or why it is left out. `known` has the pairs before it, by their texts in either order.
fn look_at(
    row: u64,
    pair: &GivenPair,
    known: &mut HashMap<Digest, Digest>,
) -> Result<KeptRow, &'static str> {
    let GivenPair { chosen, rejected, .. } = pair;
    let prompt = prompt_bytes(pair);
    let longest = chosen.len().max(rejected.len());
    if longest > MAX_REPLY_BYTES || prompt.len() > MAX_PROMPT_BYTES {
        return Err("too_long");
    }
    if is_longer_alone(chosen, rejected) {
        return Err(LeftOut::LengthAlone.name());
    }
    if same_words(chosen, rejected) {
        return Err(LeftOut::NearEqual.name());
    }
    let mut sides = [chosen.as_bytes(), rejected.as_bytes()];
    sides.sort_unstable();
    let (either, this) = (digest(&[&prompt, sides[0], sides[1]]), texts(pair));
    match known.insert(either, this) {
        Some(before) if before == this => return Err(LeftOut::Duplicate.name()),
        Some(before) => {
            known.insert(either, before);
            return Err(LeftOut::Contradicts.name());
        }
        None => {}
    }
    let count = |text: &str| u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
    Ok(KeptRow { row, key: key(pair), digest: this, lengths: [count(chosen), count(rejected)] })
}
