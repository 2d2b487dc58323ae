//! Sequences side by side, and which of their tokens are asked about.

use std::ops::Range;

use whetstone_kernels::{Buffer, Device};

/// One sequence of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sequence<'a> {
    /// All of its tokens.
    pub tokens: &'a [u32],
    /// The positions whose prediction is requested. Position `i` is predicted from the tokens
    /// before it, so 0 is invalid; the position after the last token is valid, but has no
    /// log-probability.
    pub asked: Range<usize>,
}

/// Why tokens are not a valid batch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// No sequence, or none that asks.
    #[error("the batch requests no predictions")]
    NothingAsked,
    /// Places that cannot be asked for.
    #[error("sequence {sequence}: positions {asked:?} of {length} tokens cannot be predicted")]
    Asked {
        /// Index of the sequence.
        sequence: usize,
        /// The requested positions.
        asked: Range<usize>,
        /// The length of the sequence.
        length: usize,
    },
    /// A token that the model does not have.
    #[error("sequence {sequence}: token {token} is not among the model's {vocab}")]
    Token {
        /// Index of the sequence.
        sequence: usize,
        /// The token.
        token: u32,
        /// Size of the vocabulary.
        vocab: usize,
    },
    /// Longer than the tables of positions.
    #[error("sequence {sequence} has {length} tokens; the model was loaded for {limit}")]
    TooLong {
        /// Index of the sequence.
        sequence: usize,
        /// The length of the sequence.
        length: usize,
        /// The limit.
        limit: usize,
    },
}

/// Sequences on a device, one after another without padding.
#[derive(Debug)]
pub struct Batch {
    pub(crate) ids: Buffer<u32>,
    pub(crate) positions: Buffer<u32>,
    pub(crate) offsets: Vec<usize>,
    /// The rows that predict the requested positions.
    pub(crate) rows: Buffer<u32>,
    /// The beginning of each sequence among these.
    pub(crate) asked_offsets: Vec<usize>,
    /// The actual tokens; 0 at the position after the last.
    pub(crate) targets: Buffer<u32>,
}

/// The limits of a model.
#[derive(Debug, Clone, Copy)]
pub(super) struct BatchLimits {
    /// Tokens of its vocabulary.
    pub(super) vocab: usize,
    /// Tokens of the longest sequence.
    pub(super) positions: usize,
}

impl Batch {
    /// Checks and uploads.
    pub(super) fn new(
        device: &Device,
        sequences: &[Sequence<'_>],
        limits: BatchLimits,
    ) -> Result<Self, BatchError> {
        let mut packed = Host::default();
        for (index, sequence) in sequences.iter().enumerate() {
            check(index, sequence, limits)?;
            packed.add(sequence);
        }
        if packed.rows.is_empty() {
            return Err(BatchError::NothingAsked);
        }
        packed.offsets.push(packed.ids.len());
        packed.asked_offsets.push(packed.rows.len());
        Ok(Self {
            ids: device.upload(&packed.ids),
            positions: device.upload(&packed.positions),
            offsets: packed.offsets,
            rows: device.upload(&packed.rows),
            asked_offsets: packed.asked_offsets,
            targets: device.upload(&packed.targets),
        })
    }

    /// Tokens of all sequences.
    pub fn tokens(&self) -> usize {
        self.ids.len()
    }

    /// Places asked for.
    pub fn asked(&self) -> usize {
        self.rows.len()
    }
}

fn check(index: usize, sequence: &Sequence<'_>, limits: BatchLimits) -> Result<(), BatchError> {
    let Sequence { tokens, asked } = sequence;
    let length = tokens.len();
    if length == 0 || asked.start == 0 || asked.start > asked.end || asked.end > length + 1 {
        return Err(BatchError::Asked { sequence: index, asked: asked.clone(), length });
    }
    let BatchLimits { vocab, positions } = limits;
    if length > positions {
        return Err(BatchError::TooLong { sequence: index, length, limit: positions });
    }
    match tokens.iter().find(|&&token| token as usize >= vocab) {
        Some(&token) => Err(BatchError::Token { sequence: index, token, vocab }),
        None => Ok(()),
    }
}

/// A batch before it is uploaded.
#[derive(Debug, Default)]
struct Host {
    ids: Vec<u32>,
    positions: Vec<u32>,
    offsets: Vec<usize>,
    rows: Vec<u32>,
    asked_offsets: Vec<usize>,
    targets: Vec<u32>,
}

impl Host {
    #[expect(clippy::cast_possible_truncation, reason = "a batch has fewer than 2^32 tokens")]
    fn add(&mut self, sequence: &Sequence<'_>) {
        let begin = self.ids.len();
        self.offsets.push(begin);
        self.asked_offsets.push(self.rows.len());
        self.ids.extend_from_slice(sequence.tokens);
        self.positions.extend(0..sequence.tokens.len() as u32);
        for place in sequence.asked.clone() {
            self.rows.push((begin + place - 1) as u32);
            self.targets.push(sequence.tokens.get(place).copied().unwrap_or(0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(sequences: &[Sequence<'_>]) -> Result<Batch, BatchError> {
        Batch::new(&Device::cpu(1).unwrap(), sequences, BatchLimits { vocab: 10, positions: 4 })
    }

    #[test]
    fn a_row_predicts_the_token_after_it() {
        let device = Device::cpu(1).unwrap();
        let first = Sequence { tokens: &[5, 6, 7], asked: 1..3 };
        let second = Sequence { tokens: &[8, 9], asked: 2..3 };
        let batch = batch(&[first, second]).unwrap();
        assert_eq!(device.read(batch.ids.view()), [5, 6, 7, 8, 9]);
        assert_eq!(device.read(batch.positions.view()), [0, 1, 2, 0, 1]);
        assert_eq!(batch.offsets, [0, 3, 5]);
        assert_eq!(device.read(batch.rows.view()), [0, 1, 4]);
        assert_eq!(batch.asked_offsets, [0, 2, 3]);
        assert_eq!(device.read(batch.targets.view()), [6, 7, 0]);
    }

    #[test]
    fn what_cannot_be_asked_is_refused() {
        let refused = |tokens: &[u32], asked: Range<usize>| batch(&[Sequence { tokens, asked }]);
        assert!(matches!(refused(&[1, 2], 0..1), Err(BatchError::Asked { .. })));
        assert!(matches!(refused(&[1, 2], 1..4), Err(BatchError::Asked { .. })));
        let backwards = Range { start: 2, end: 1 };
        assert!(matches!(refused(&[1, 2], backwards), Err(BatchError::Asked { .. })));
        assert!(matches!(refused(&[], 1..1), Err(BatchError::Asked { .. })));
        assert!(matches!(refused(&[1, 10], 1..2), Err(BatchError::Token { token: 10, .. })));
        assert!(matches!(refused(&[1; 5], 1..2), Err(BatchError::TooLong { length: 5, .. })));
        assert_eq!(refused(&[1, 2], 1..1).unwrap_err(), BatchError::NothingAsked);
        assert_eq!(batch(&[]).unwrap_err(), BatchError::NothingAsked);
    }
}
