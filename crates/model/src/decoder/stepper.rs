//! A step of decoding with the choice of every sequence's next token, as a GPU repeats it.
//!
//! All inputs of a step are in one buffer at a fixed address, filled by one copy; the work on it is
//! captured once for each number of rows and replayed ([`Device::capture_or_replay`]). Numbers of
//! rows are rounded up to a few values; spare rows repeat the first one and write nothing. A token
//! that the previous step chose need not be known to the host: it is referred to by its row.
//!
//! On processors, and where penalties look at the tokens before, a step is computed as it is.

use whetstone_kernels::paged::{Cache, PAGE, Stored, Tables};
use whetstone_kernels::sample::{
    Cuts, REQUEST_WORDS, Request, Sampled, Uploaded, request_words, sample, sample_uploaded,
};
use whetstone_kernels::{Buffer, Device, Graphs, MatrixMut, Pending, View, embedding};

use super::Decoder;
use super::step::{Attend, DecodeInput, DecodeStep};

/// Lists of a step besides requests and pages: ids, positions, slots, page offsets, lengths.
const LISTS: usize = 5;

/// No slot: nothing is written.
const NO_SLOT: u32 = u32::MAX;

/// The most that steps may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Most {
    /// Sequences of a step.
    pub rows: usize,
    /// Tokens of a sequence.
    pub tokens: usize,
}

/// Buffers of steps on one cache, and their captured graphs.
#[derive(Debug)]
pub struct Stepper {
    most: Most,
    fixed: Option<Fixed>,
}

#[derive(Debug)]
struct Fixed {
    inputs: Buffer<u32>,
    tokens: Buffer<u32>,
    logps: Buffer<f32>,
    graphs: Graphs,
}

/// The tokens of a step, one for each sequence, and their log-probabilities.
#[derive(Debug)]
pub struct Chosen {
    tokens: Pending<u32>,
    logps: Pending<f32>,
}

impl Chosen {
    /// Waits for them. After a failure of the device they mean nothing.
    pub fn wait(self) -> (Vec<u32>, Vec<f32>) {
        (self.tokens.wait(), self.logps.wait())
    }
}

impl Stepper {
    /// Whether steps of so much are possible.
    pub fn has_room(&self, most: Most) -> bool {
        self.most.rows >= most.rows && self.most.tokens >= most.tokens
    }
}

/// The padded number of rows: one of a few values, so that few graphs are captured.
fn padded(rows: usize) -> usize {
    match rows {
        0..=8 => 8,
        9..=64 => rows.next_multiple_of(16),
        65..=256 => rows.next_multiple_of(32),
        _ => rows.next_multiple_of(64),
    }
}

/// Numbers of a step's inputs, without pages.
fn listed(rows: usize) -> usize {
    rows * (REQUEST_WORDS + LISTS)
}

fn capacity(most: Most) -> usize {
    let rows = padded(most.rows);
    listed(rows) + rows * most.tokens.div_ceil(PAGE)
}

/// The inputs of a step as they are uploaded: requests, the lists, pages.
fn inputs(step: &DecodeStep, requests: &[u32], rows: usize) -> Vec<u32> {
    let spare = rows - step.rows();
    let mut all = Vec::with_capacity(listed(rows) + step.pages.len());
    all.extend_from_slice(requests);
    all.extend(std::iter::repeat_n(&requests[..REQUEST_WORDS], spare).flatten());
    let DecodeStep { ids, positions, slots, starts, lengths, pages } = step;
    let lists = [
        (ids, ids[0]),
        (positions, positions[0]),
        (slots, NO_SLOT),
        (starts, starts[0]),
        (lengths, lengths[0]),
    ];
    for (list, repeated) in lists {
        all.extend_from_slice(list);
        all.extend(std::iter::repeat_n(repeated, spare));
    }
    all.extend_from_slice(pages);
    all
}

/// The parts of uploaded inputs.
struct Inputs<'a> {
    requests: View<'a, u32>,
    lists: [View<'a, u32>; LISTS],
    pages: View<'a, u32>,
}

impl<'a> Inputs<'a> {
    fn new(all: View<'a, u32>, rows: usize) -> Self {
        let begin = rows * REQUEST_WORDS;
        let list = |at: usize| all.part(begin + at * rows..begin + (at + 1) * rows);
        Self {
            requests: all.part(0..begin),
            lists: [list(0), list(1), list(2), list(3), list(4)],
            pages: all.part(listed(rows)..all.len()),
        }
    }
}

impl Decoder {
    /// Steps of up to so much; they are captured on a GPU.
    pub fn stepper(&self, most: Most) -> Stepper {
        let device = &self.device;
        let rows = padded(most.rows);
        let fixed = matches!(device, Device::Cuda(_)).then(|| Fixed {
            inputs: device.take(capacity(most)),
            tokens: device.zeros(rows),
            logps: device.zeros(rows),
            graphs: device.graphs(),
        });
        Stepper { most, fixed }
    }

    /// Takes one token of each sequence and chooses the next one of each. Steps of a stepper are on the
    /// same cache.
    ///
    /// # Panics
    ///
    /// If the number of requests differs from that of sequences, or the stepper is too small.
    pub fn step_and_sample(
        &self,
        cache: &mut Cache,
        stepper: &mut Stepper,
        step: &DecodeStep,
        requests: &[Request<'_>],
    ) -> Chosen {
        assert_eq!(step.rows(), requests.len(), "a request for each sequence");
        let penalties = requests.iter().any(|request| request.rule.has_penalties());
        match &mut stepper.fixed {
            Some(fixed) if !penalties => self.repeated(cache, fixed, step, requests),
            _ => {
                let mut logits = self.step(cache, step);
                self.choose(&mut logits, requests)
            }
        }
    }

    /// A token for each row of logits, which are used up.
    ///
    /// # Panics
    ///
    /// If the number of requests differs from that of rows.
    pub fn choose(&self, logits: &mut Buffer<f32>, requests: &[Request<'_>]) -> Chosen {
        let (device, rows) = (&self.device, requests.len());
        let (mut tokens, mut logps) = (device.take(rows), device.take(rows));
        let all = MatrixMut::new(logits.view_mut(), rows, self.config.vocab);
        let chosen = Sampled { tokens: tokens.view_mut(), logps: logps.view_mut() };
        sample(device, chosen, all, requests);
        let (tokens, logps) = (device.read_later(tokens.view()), device.read_later(logps.view()));
        Chosen { tokens, logps }
    }

    fn repeated(
        &self,
        cache: &mut Cache,
        fixed: &mut Fixed,
        step: &DecodeStep,
        requests: &[Request<'_>],
    ) -> Chosen {
        let (device, rows) = (&self.device, padded(step.rows()));
        let Fixed { inputs: buffer, tokens, logps, graphs } = fixed;
        let words = inputs(step, &request_words(requests), rows);
        device.upload_into(&mut buffer.view_mut().part(0..words.len()), &words);
        let is_cut = requests.iter().any(|request| request.rule.has_cuts());
        let (cuts, key) = if is_cut { (Cuts::Some, 1) } else { (Cuts::None, 0) };
        let Inputs { requests: rules, lists, pages } = Inputs::new(buffer.view(), rows);
        let [named, positions, slots, starts, lengths] = lists;
        device.capture_or_replay(graphs, 2 * rows as u64 + key, &mut || {
            let mut ids = device.take(rows);
            embedding::resolve(device, &mut ids.view_mut(), named, tokens.view());
            let attend = Attend::Paged(Tables { pages, starts, lengths, stored: Stored::Last });
            let x =
                self.decode_rows(cache, &DecodeInput { ids: ids.view(), positions, slots, attend });
            let mut logits = self.logits(x.view());
            drop((ids, x));
            let all = MatrixMut::new(logits.view_mut(), rows, self.config.vocab);
            let (mut tokens, mut logps) = (tokens.view_mut(), logps.view_mut());
            let to = Sampled { tokens: tokens.part(0..rows), logps: logps.part(0..rows) };
            sample_uploaded(device, to, all, Uploaded { requests: rules, cuts });
        });
        let known = 0..step.rows();
        Chosen {
            tokens: device.read_later(tokens.view().part(known.clone())),
            logps: device.read_later(logps.view().part(known)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_rounded_up_to_few_numbers() {
        for (rows, expected) in [
            (1, 8),
            (8, 8),
            (9, 16),
            (17, 32),
            (33, 48),
            (64, 64),
            (65, 96),
            (256, 256),
            (257, 320),
            (1000, 1024),
        ] {
            assert_eq!(padded(rows), expected, "{rows}");
        }
        let all: std::collections::BTreeSet<usize> = (1..=256).map(padded).collect();
        assert_eq!(all.len(), 11);
    }

    #[test]
    fn spare_rows_repeat_the_first_and_write_nothing() {
        let mut step = DecodeStep::default();
        step.add(7, 17, &[4, 5]);
        step.add_sampled(1, 3, &[9]);
        let requests: Vec<u32> = (0..).take(2 * REQUEST_WORDS).collect();
        let all = inputs(&step, &requests, 8);
        assert_eq!(all[..requests.len()], requests);
        assert_eq!(all[7 * REQUEST_WORDS..8 * REQUEST_WORDS], requests[..REQUEST_WORDS]);
        let list = |at: usize| all[8 * REQUEST_WORDS + at * 8..][..8].to_vec();
        assert_eq!(list(0), [7, embedding::SAMPLED + 1, 7, 7, 7, 7, 7, 7]);
        assert_eq!(list(1), [17, 3, 17, 17, 17, 17, 17, 17]);
        let none = NO_SLOT;
        assert_eq!(list(2), [5 * 16 + 1, 9 * 16 + 3, none, none, none, none, none, none]);
        assert_eq!(list(3), [0, 2, 0, 0, 0, 0, 0, 0]);
        assert_eq!(list(4), [18, 4, 18, 18, 18, 18, 18, 18]);
        assert_eq!(all[listed(8)..], [4, 5, 9]);
        assert!(all.len() <= capacity(Most { rows: 2, tokens: 18 }));
    }
}
