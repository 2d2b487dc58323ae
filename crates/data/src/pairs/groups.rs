//! Replies by task and prompt, and the pairs that are chosen of them.

use std::collections::{HashMap, HashSet};
use std::fs::File;

use whetstone_core::jsonl::MAX_LINE_BYTES;
use whetstone_core::task::TaskId;
use whetstone_env::normal_form::NormalProgram;
use whetstone_env::stack::BigStack;
use whetstone_record::batch::{Input, Line, read_at};
use whetstone_record::error::BatchError;

use super::Pairing;
use super::choose::{ChoiceRules, ChosenPair, ComparedReply, bounded, choose};
use super::error::PairError;
use super::place::{Digest, digest};
use super::replies::{JudgedReply, ReplyReader, ReplySource, Unused};
use super::summary::PairSummary;

/// The place of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LinePlace {
    /// The number of its file.
    file: u32,
    /// Its first byte.
    offset: u64,
    bytes: u32,
}

/// A reply in its file.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeptReply {
    place: LinePlace,
    digest: Digest,
    solved: Option<bool>,
    total: f64,
}

/// Replies to one task under one prompt.
#[derive(Debug)]
pub(super) struct ReplyGroup {
    pub(super) source: ReplySource,
    pub(super) task: TaskId,
    replies: Vec<KeptReply>,
    pub(super) pairs: Vec<ChosenPair>,
}

/// All groups, in the order of their first replies.
pub(super) struct ReplyGroups<'a> {
    reader: ReplyReader<'a>,
    files: Vec<File>,
    pub(super) groups: Vec<ReplyGroup>,
}

/// What a group is found by.
type GroupKey = (ReplySource, TaskId, Digest);

impl<'a> ReplyGroups<'a> {
    /// Reads all files of replies.
    pub(super) fn read(
        pairing: &Pairing<'a>,
        summary: &mut PairSummary,
    ) -> Result<Self, PairError> {
        let rollouts = pairing.rollouts.iter().map(|path| (ReplySource::Rollouts, path));
        let traces = pairing.traces.iter().map(|path| (ReplySource::Traces, path));
        let reader = ReplyReader::new(pairing.tasks, pairing.prompt);
        let mut found = Found { groups: Vec::new(), by_key: HashMap::new(), texts: HashSet::new() };
        let (mut files, mut count) = (Vec::new(), 0);
        for (source, path) in rollouts.chain(traces) {
            let input = Input { noun: source.noun(), files: std::slice::from_ref(path) };
            let number = u32::try_from(files.len()).unwrap_or(u32::MAX);
            files.push(input.open(path)?);
            let mut lines = input.lines();
            while let Some(line) = lines.next()? {
                count += 1;
                (pairing.on_progress)("reading replies", count, 0);
                if line.is_blank() {
                    continue;
                }
                match read_line(&reader, source, &line) {
                    Err(reason) => summary.bad("bad_line", path, line.number, reason),
                    Ok(Err(unused)) => summary.unused(unused.name()),
                    Ok(Ok(reply)) => {
                        let bytes = u32::try_from(line.content().len()).unwrap_or(u32::MAX);
                        let place =
                            LinePlace { file: number, offset: line.content_offset(), bytes };
                        found.add(source, &reply, place, summary);
                    }
                }
            }
        }
        Ok(Self { reader, files, groups: found.groups })
    }

    /// Chooses the pairs of every group.
    pub(super) fn choose(
        &mut self,
        pairing: &Pairing<'_>,
        summary: &mut PairSummary,
        stack: &BigStack,
    ) -> Result<(), PairError> {
        let &Pairing { seed, min_gap, min_distance, per_task, .. } = pairing;
        let rules = ChoiceRules { seed, min_gap, min_distance, per_task };
        let all = self.groups.len();
        (pairing.on_progress)("choosing pairs", 0, all as u64);
        for at in 0..all {
            let group = &self.groups[at];
            let results: Vec<(Digest, bool)> = group
                .replies
                .iter()
                .map(|reply| (reply.digest, reply.solved == Some(true)))
                .collect();
            let kept = bounded(&results, seed);
            let over = (results.len() - kept.len()) as u64;
            if over > 0 {
                *summary.replies_left_out.entry("over_limit").or_default() += over;
            }
            let compared = kept
                .iter()
                .map(|&at| self.compared(&group.replies[at], group.source, stack))
                .collect::<Result<Vec<_>, PairError>>()?;
            let mut pairs = choose(&compared, &rules, &mut summary.pairs_left_out);
            for pair in &mut pairs {
                let count = |at: usize| compared[at].text.chars().count() as u64;
                summary.lengths.add(count(pair.chosen), count(pair.rejected));
                (pair.chosen, pair.rejected) = (kept[pair.chosen], kept[pair.rejected]);
            }
            self.groups[at].pairs = pairs;
            (pairing.on_progress)("choosing pairs", at as u64 + 1, all as u64);
        }
        Ok(())
    }

    /// The reply in this place of a group, read again.
    pub(super) fn reply(&self, group: &ReplyGroup, at: usize) -> Result<JudgedReply, PairError> {
        self.load(&group.replies[at], group.source)
    }

    fn compared(
        &self,
        kept: &KeptReply,
        source: ReplySource,
        stack: &BigStack,
    ) -> Result<ComparedReply, PairError> {
        let reply = self.load(kept, source)?;
        let program = reply.program().map(|program| NormalProgram::of(&program, stack));
        let KeptReply { digest, solved, total, .. } = *kept;
        Ok(ComparedReply { digest, solved, total, text: reply.text, program })
    }

    fn load(&self, kept: &KeptReply, source: ReplySource) -> Result<JudgedReply, PairError> {
        let LinePlace { file, offset, bytes } = kept.place;
        let changed = || PairError::from(BatchError::Changed { noun: source.noun() });
        let line =
            read_at(&self.files[file as usize], offset, bytes as usize).ok_or_else(changed)?;
        match self.reader.read(source, &line) {
            Ok(Ok(reply)) if digest(&[reply.text.as_bytes()]) == kept.digest => Ok(reply),
            _ => Err(changed()),
        }
    }
}

/// The reply of a line, or why there is none.
fn read_line(
    reader: &ReplyReader<'_>,
    source: ReplySource,
    line: &Line<'_>,
) -> Result<Result<JudgedReply, Unused>, String> {
    if line.is_too_long() {
        return Err(format!("longer than {} MiB", MAX_LINE_BYTES >> 20));
    }
    reader.read(source, line.content())
}

/// Groups while they are found.
struct Found {
    groups: Vec<ReplyGroup>,
    by_key: HashMap<GroupKey, usize>,
    /// Texts of each group.
    texts: HashSet<(usize, Digest)>,
}

impl Found {
    fn add(
        &mut self,
        source: ReplySource,
        reply: &JudgedReply,
        place: LinePlace,
        summary: &mut PairSummary,
    ) {
        let key = (source, reply.task.clone(), digest(&[&reply.prompt_bytes()]));
        let groups = &mut self.groups;
        let at = *self.by_key.entry(key).or_insert_with(|| {
            let (replies, pairs) = (Vec::new(), Vec::new());
            groups.push(ReplyGroup { source, task: reply.task.clone(), replies, pairs });
            groups.len() - 1
        });
        let digest = digest(&[reply.text.as_bytes()]);
        if !self.texts.insert((at, digest)) {
            summary.unused(Unused::Duplicate.name());
            return;
        }
        summary.replies += 1;
        let (solved, total) = (reply.solved, reply.total);
        self.groups[at].replies.push(KeptReply { place, digest, solved, total });
    }
}
