//! The pairs as lines, those of held-out tasks apart.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::io::{BufWriter, Write};

use whetstone_core::preference::Preference;
use whetstone_core::wire::{Object, Wire};
use whetstone_record::batch::replace_output;
use whetstone_record::error::FileError;

use super::choose::ChosenPair;
use super::error::PairError;
use super::given::{GivenPair, read_file};
use super::groups::{ReplyGroup, ReplyGroups};
use super::place::{Digest, place};
use super::rows::{GivenRows, KeptRow, task_key};
use super::summary::PairSummary;
use super::{GivenFile, HeldOut, Pairing};

/// Distinct origins that rows may name; further ones have that of their file.
const MAX_ORIGINS: usize = 100;

/// Writes both files, each as a whole or not at all.
pub(super) fn write(
    pairing: &Pairing<'_>,
    groups: &ReplyGroups<'_>,
    rows: &GivenRows,
    summary: &mut PairSummary,
) -> Result<(), PairError> {
    let keys = keys(groups, rows);
    if keys.is_empty() {
        return Err(summary.nothing());
    }
    let held_out = pairing.held_out.map(|part| held_out(&keys, pairing, part)).transpose()?;
    summary.v = 1;
    (summary.tasks, summary.tasks_held_out) =
        (keys.len() as u64, held_out.as_ref().map_or(0, HashSet::len) as u64);
    let held_out = held_out.unwrap_or_default();
    replace_output(pairing.out, |train| {
        let mut write = |validation: Option<&mut BufWriter<File>>| {
            let mut out = Outputs { pairing, train, validation, held_out: &held_out, summary };
            of_groups(groups, &mut out)?;
            of_rows(rows, &mut out)
        };
        match pairing.held_out {
            None => write(None),
            Some(part) => replace_output(part.out, |validation| write(Some(validation))),
        }
    })
}

/// The tasks of all pairs.
fn keys(groups: &ReplyGroups<'_>, rows: &GivenRows) -> BTreeSet<Digest> {
    let with_pairs = groups.groups.iter().filter(|group| !group.pairs.is_empty());
    let of_groups = with_pairs.map(|group| task_key(group.task.as_str()));
    of_groups.chain(rows.files.iter().flatten().map(|row| row.key)).collect()
}

/// The tasks that are held out: the first in the order of the seed.
fn held_out(
    keys: &BTreeSet<Digest>,
    pairing: &Pairing<'_>,
    part: HeldOut<'_>,
) -> Result<HashSet<Digest>, PairError> {
    if keys.len() < 2 {
        return Err(PairError::OneTask);
    }
    let mut order: Vec<Digest> = keys.iter().copied().collect();
    order.sort_by_key(|key| (place(pairing.seed, "pairs/split", key), *key));
    order.truncate(crate::prepare::validation_count(order.len(), part.fraction));
    Ok(order.into_iter().collect())
}

/// Where lines go.
struct Outputs<'a> {
    pairing: &'a Pairing<'a>,
    train: &'a mut BufWriter<File>,
    validation: Option<&'a mut BufWriter<File>>,
    held_out: &'a HashSet<Digest>,
    summary: &'a mut PairSummary,
}

impl Outputs<'_> {
    fn write(&mut self, key: &Digest, pair: &Preference) -> Result<(), PairError> {
        let (out, path) = match (&mut self.validation, self.pairing.held_out) {
            (Some(out), Some(part)) if self.held_out.contains(key) => {
                self.summary.pairs_held_out += 1;
                (&mut **out, part.out)
            }
            _ => (&mut *self.train, self.pairing.out),
        };
        serde_json::to_writer(&mut *out, &pair.to_object())
            .map_err(std::io::Error::from)
            .and_then(|()| out.write_all(b"\n"))
            .map_err(FileError::at("write", path))?;
        self.summary.pairs += 1;
        *self.summary.by_origin.entry(pair.origin.clone()).or_default() += 1;
        (self.pairing.on_progress)("writing pairs", self.summary.pairs, 0);
        Ok(())
    }
}

fn of_groups(groups: &ReplyGroups<'_>, out: &mut Outputs<'_>) -> Result<(), PairError> {
    let mut counts: HashMap<&str, u64> = HashMap::new();
    for group in &groups.groups {
        let key = task_key(group.task.as_str());
        for pair in &group.pairs {
            let count = counts.entry(group.task.as_str()).or_default();
            let line = line(groups, group, pair, *count)?;
            *count += 1;
            out.write(&key, &line)?;
        }
    }
    Ok(())
}

/// The line of two replies; `number` is its place among the pairs of the task.
fn line(
    groups: &ReplyGroups<'_>,
    group: &ReplyGroup,
    pair: &ChosenPair,
    number: u64,
) -> Result<Preference, PairError> {
    let chosen = groups.reply(group, pair.chosen)?;
    let rejected = groups.reply(group, pair.rejected)?;
    Ok(Preference {
        id: format!("{}:{number}", group.task),
        task_id: Some(group.task.clone()),
        prompt: chosen.prompt,
        chosen: chosen.text,
        rejected: rejected.text,
        margin: pair.margin,
        origin: format!("{}:{}", group.source.noun(), pair.rule.name()),
        rest: Object::new(),
    })
}

fn of_rows(rows: &GivenRows, out: &mut Outputs<'_>) -> Result<(), PairError> {
    let mut origins = BTreeSet::new();
    for (file, kept) in out.pairing.given.iter().zip(&rows.files) {
        let mut next = kept.iter();
        let mut wanted = next.next();
        let mut written = Ok(());
        read_file(&file.path, &mut |row, pair| {
            let Some(expected) = wanted.filter(|wanted| wanted.row == row && written.is_ok())
            else {
                return;
            };
            written = of_row(expected, pair.ok(), file, &mut origins)
                .and_then(|line| out.write(&expected.key, &line));
            wanted = next.next();
        })?;
        written?;
        if wanted.is_some() {
            return Err(PairError::Changed { path: file.path.clone() });
        }
    }
    Ok(())
}

fn of_row(
    expected: &KeptRow,
    pair: Option<GivenPair>,
    file: &GivenFile,
    origins: &mut BTreeSet<String>,
) -> Result<Preference, PairError> {
    let changed = || PairError::Changed { path: file.path.clone() };
    let pair = pair.filter(|pair| expected.is_of(pair)).ok_or_else(changed)?;
    let own = pair.origin.filter(|origin| {
        is_origin(origin) && (origins.len() < MAX_ORIGINS || origins.contains(origin))
    });
    if let Some(own) = &own {
        origins.insert(own.clone());
    }
    Ok(Preference {
        id: format!("hub:{}:{}", file.name, expected.row),
        task_id: pair.task_id,
        prompt: pair.prompt,
        chosen: pair.chosen,
        rejected: pair.rejected,
        margin: pair.margin,
        origin: own.unwrap_or_else(|| format!("hub:{}", file.name)),
        rest: Object::new(),
    })
}

/// Whether a text of a file can stand in tables as an origin: `rollouts:pass_over_fail`.
fn is_origin(text: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./:".contains(letter);
    text.contains(':') && text.len() <= 80 && text.chars().all(is_plain)
}
