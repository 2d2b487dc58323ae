//! Launchers of [`crate::sample`]. Shapes were checked by the caller.
//!
//! Logits are gone over once: by the temperature, and tile by tile as in training's head, which is
//! where the log-probability comes from. Where there are penalties they are gone over a second time
//! with these. A block then chooses each row's token. The random number is the host's: it depends on
//! nothing that the device computes.

use super::Cuda;
use super::driver::{Argument, Launch};
use super::elementwise::blocks;
use super::head::{a_warp_each, take_tiles, tiles};
use crate::buffer::{Buffer, View};
use crate::matmul::MatrixMut;
use crate::philox::uniform;
use crate::sample::{Cuts, Request, Rule, Sampled, Uploaded};
use Argument::{Address, U32, U64};

/// Words of a rule on the device; `Rule` of `sample.cu`.
pub(crate) const WORDS: usize = 16;

/// Candidates of a row with cuts that are listed in shared memory; where there are more, the row is
/// gone through again and again.
const LISTED: u32 = 23 << 10;

/// What rows ask for, as the device has it: a rule for each, and the ids of those with penalties.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wishes {
    rules: Vec<u32>,
    ids: Vec<u32>,
    /// Whether a row has cuts.
    cut: bool,
}

impl Wishes {
    fn new(requests: &[Request<'_>]) -> Self {
        let rules = Vec::with_capacity(requests.len() * WORDS);
        let mut wishes = Self { rules, ids: Vec::new(), cut: false };
        for request in requests {
            wishes.push(request);
        }
        wishes
    }

    /// A prompt is looked at for the repetition penalty alone, and without penalties nothing is.
    fn push(&mut self, request: &Request<'_>) {
        let Rule { temperature, top_k, top_p, min_p, presence_penalty, repetition_penalty } =
            request.rule;
        let repetition = (repetition_penalty - 1.0).abs() > 0.0;
        let prompt = if repetition { request.prompt } else { &[] };
        let sampled = if request.rule.has_penalties() { request.sampled } else { &[] };
        let number = uniform(request.seed, request.sequence, request.position).to_bits();
        let greedy = temperature <= 0.0;
        self.cut |= request.rule.has_cuts();
        let inverse = if greedy { 1.0 } else { 1.0 / temperature };
        #[expect(clippy::cast_possible_truncation, reason = "the halves of it")]
        let halves = [number as u32, (number >> 32) as u32];
        self.rules.extend(halves);
        let floats = [inverse, top_p, min_p, presence_penalty, repetition_penalty];
        self.rules.extend(floats.map(f32::to_bits));
        self.rules.push(u32::try_from(top_k).unwrap_or(u32::MAX));
        self.rules.push(u32::from(greedy));
        self.rules.extend([self.ids.len(), prompt.len(), sampled.len()].map(blocks));
        self.rules.extend([0; 4]);
        debug_assert!(self.rules.len().is_multiple_of(WORDS), "whole rules");
        self.ids.extend_from_slice(prompt);
        self.ids.extend_from_slice(sampled);
    }
}

/// Candidates that are listed in shared memory.
fn listed(cut: bool) -> u32 {
    if cut { LISTED } else { 0 }
}

fn shared_bytes(cut: bool) -> u32 {
    listed(cut) * 4
}

/// The rules of requests without penalties.
pub(crate) fn words(requests: &[Request<'_>]) -> Vec<u32> {
    Wishes::new(requests).rules
}

/// Rows of logits with their rules on the device, and what penalties need if there are any.
struct Rows<'a> {
    data: Argument,
    stride: Argument,
    count: usize,
    vocabulary: usize,
    rules: View<'a, u32>,
    penalties: Option<Penalties>,
    cut: bool,
}

/// Ids that rows look at, and what their logits were.
struct Penalties {
    ids: Buffer<u32>,
    before: Buffer<f32>,
}

pub(crate) fn sample(
    cuda: &Cuda,
    to: Sampled<'_>,
    logits: &mut MatrixMut<'_, f32>,
    requests: &[Request<'_>],
) {
    let wishes = Wishes::new(requests);
    let upload = |words: &[u32]| {
        let mut to: Buffer<u32> = cuda.take(words.len());
        cuda.write(&mut to.view_mut(), words);
        to
    };
    let rules = upload(&wishes.rules);
    let penalties = (!wishes.ids.is_empty())
        .then(|| Penalties { ids: upload(&wishes.ids), before: cuda.take(wishes.ids.len()) });
    let cuts = if wishes.cut { Cuts::Some } else { Cuts::None };
    choose(cuda, to, &rows_of(logits, rules.view(), penalties, cuts));
}

pub(crate) fn sample_uploaded(
    cuda: &Cuda,
    to: Sampled<'_>,
    logits: &mut MatrixMut<'_, f32>,
    by: Uploaded<'_>,
) {
    choose(cuda, to, &rows_of(logits, by.requests, None, by.cuts));
}

fn rows_of<'a>(
    logits: &mut MatrixMut<'_, f32>,
    rules: View<'a, u32>,
    penalties: Option<Penalties>,
    cuts: Cuts,
) -> Rows<'a> {
    let cut = cuts == Cuts::Some;
    let (data, stride) = (Address(logits.data.cuda().address), U64(logits.stride as u64));
    Rows { data, stride, count: logits.rows, vocabulary: logits.cols, rules, penalties, cut }
}

fn choose(cuda: &Cuda, mut to: Sampled<'_>, rows: &Rows<'_>) {
    let Rows { data, stride, count, vocabulary, ref penalties, cut, .. } = *rows;
    let at = |buffer: &Buffer<f32>| Address(buffer.view().cuda().address);
    let rules = Address(rows.rules.cuda().address);
    let tile_count = tiles(vocabulary);
    let (tokens, tile_words) = (U32(blocks(vocabulary)), U32(blocks(tile_count)));
    let over = |to: &Buffer<f32>, rules: Argument| {
        let arguments = [at(to), data, stride, rules, U64(count as u64), tokens, tile_words];
        let launch = a_warp_each(count * tile_count).programmatic();
        cuda.launch("sample_tiles", launch, &arguments);
    };
    let plain = take_tiles(cuda, count, vocabulary);
    over(&plain, rules);
    let (mut penalised, mut ids, mut before) = (None, Address(0), Address(0));
    if let Some(penalties) = penalties {
        ids = Address(penalties.ids.view().cuda().address);
        before = at(&penalties.before);
        let arguments = [data, stride, rules, ids, before, tokens];
        cuda.launch("penalise_logits", Launch::new(blocks(count), 256), &arguments);
        let tiles = take_tiles(cuda, count, vocabulary);
        over(&tiles, Address(0));
        penalised = Some(tiles);
    }
    let arguments = [
        Address(to.tokens.cuda().address),
        Address(to.logps.cuda().address),
        data,
        stride,
        at(&plain),
        at(penalised.as_ref().unwrap_or(&plain)),
        rules,
        ids,
        before,
        tokens,
        tile_words,
        U32(listed(cut)),
    ];
    let launch = Launch { shared_bytes: shared_bytes(cut), ..Launch::new(blocks(count), 512) };
    cuda.launch("choose_tokens", launch.programmatic(), &arguments);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(rule: Rule) -> Request<'static> {
        Request { rule, seed: 7, sequence: 3, position: 2, prompt: &[5, 6, 5], sampled: &[9, 8] }
    }

    #[test]
    fn a_rule_is_laid_out_as_the_kernel_reads_it() {
        let rule = Rule {
            temperature: 0.5,
            top_k: 40,
            top_p: 0.9,
            min_p: 0.1,
            presence_penalty: 0.3,
            repetition_penalty: 1.2,
        };
        let Wishes { rules, ids, .. } = Wishes::new(&[request(Rule::default()), request(rule)]);
        assert_eq!(rules.len(), 2 * WORDS);
        let number = u64::from(rules[WORDS + 1]) << 32 | u64::from(rules[WORDS]);
        assert_eq!(number, uniform(7, 3, 2).to_bits());
        let floats = [2.0f32, 0.9, 0.1, 0.3, 1.2].map(f32::to_bits);
        assert_eq!(rules[WORDS + 2..WORDS + 7], floats);
        assert_eq!(rules[WORDS + 7..], [40, 0, 0, 3, 2, 0, 0, 0, 0]);
        assert_eq!(rules[7..WORDS], [0; 9], "the first has no penalties and no cuts");
        assert_eq!(ids, [5, 6, 5, 9, 8]);
    }

    #[test]
    fn only_ids_that_a_penalty_looks_at_are_sent() {
        let presence = Rule { presence_penalty: 0.5, ..Rule::default() };
        assert_eq!(Wishes::new(&[request(presence)]).ids, [9, 8]);
        assert!(Wishes::new(&[request(Rule::default())]).ids.is_empty());
        let greedy = Rule { temperature: 0.0, ..Rule::default() };
        let Wishes { rules, .. } = Wishes::new(&[request(greedy)]);
        assert_eq!((f32::from_bits(rules[2]), rules[8]), (1.0, 1));
    }

    #[test]
    fn shared_memory_is_for_cuts_alone() {
        let (plain, cut) = (Rule::default(), Rule { top_k: 2, ..Rule::default() });
        let bytes = |rules: &[Rule]| {
            let requests: Vec<_> = rules.iter().map(|rule| request(*rule)).collect();
            shared_bytes(Wishes::new(&requests).cut)
        };
        assert_eq!(bytes(&[plain, plain]), 0);
        assert_eq!(bytes(&[plain, cut]), 92 << 10);
        assert_eq!(bytes(&[Rule { temperature: 0.0, ..cut }]), 0, "the most probable has none");
        // With what the kernel declares, within the 99 KiB of every chip.
        assert!(bytes(&[cut]) + 3_500 <= 99 << 10);
    }
}
