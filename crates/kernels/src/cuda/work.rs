//! Lists of pieces of work for the kernels of attention: rows of packed sequences.

use std::cmp::Reverse;

use super::Cuda;
use super::elementwise::blocks;
use crate::buffer::Buffer;
use crate::offsets::Offsets;

/// Rows of a tile.
pub(super) const ROWS: usize = 64;

/// Words of a piece; `Work` of the sources.
pub(super) const WORDS: usize = 8;

/// Some rows of a sequence, as kernels are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Work {
    /// Which one.
    pub(super) sequence: u32,
    pub(super) begin: u32,
    pub(super) length: u32,
    pub(super) first: u32,
    /// Where the sequence begins among rows in whole tiles.
    pub(super) padded: u32,
}

/// All sequences, `rows` at a time from their beginnings, and how many rows whole tiles of them have.
pub(super) fn works(offsets: Offsets<'_>, rows: usize) -> (Vec<Work>, usize) {
    let (mut all, mut padded) = (Vec::new(), 0);
    for (sequence, ends) in offsets.windows(2).enumerate() {
        let length = ends[1] - ends[0];
        all.extend((0..length).step_by(rows).map(|first| Work {
            sequence: blocks(sequence),
            begin: blocks(ends[0]),
            length: blocks(length),
            first: blocks(first),
            padded: blocks(padded),
        }));
        padded += length.next_multiple_of(ROWS);
    }
    (all, padded)
}

/// Keys that most queries see come first, so that the last to end are short.
pub(super) fn by_keys(mut works: Vec<Work>) -> Vec<Work> {
    works.sort_by_key(|work| (Reverse(work.length - work.first), work.begin));
    works
}

/// Queries that see most keys come first.
pub(super) fn by_queries(mut works: Vec<Work>) -> Vec<Work> {
    works.sort_by_key(|work| (Reverse(work.first), work.begin));
    works
}

impl Work {
    pub(super) fn words(&self) -> [u32; WORDS] {
        [self.sequence, self.begin, self.length, self.first, self.padded, 0, 0, 0]
    }
}

pub(super) fn upload(cuda: &Cuda, works: &[Work]) -> Buffer<u32> {
    let words: Vec<u32> = works.iter().flat_map(Work::words).collect();
    let mut to: Buffer<u32> = cuda.take(words.len());
    cuda.write(&mut to.view_mut(), &words);
    to
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_divided_within_their_sequences_and_padded_to_whole_tiles() {
        let (all, padded) = works(&[0, 130, 130, 131, 195], 64);
        let firsts: Vec<_> = all.iter().map(|w| (w.begin, w.first, w.padded)).collect();
        assert_eq!(firsts, [(0, 0, 0), (0, 64, 0), (0, 128, 0), (130, 0, 192), (131, 0, 256)]);
        assert_eq!(padded, 192 + 64 + 64);
        // Blocks of 128 queries have the same places among padded rows.
        let (wide, same) = works(&[0, 130, 130, 131, 195], 128);
        assert_eq!((wide.len(), same), (4, padded));
        assert_eq!(works(&[0], 64), (Vec::new(), 0));
    }

    #[test]
    fn the_longest_work_comes_first() {
        let firsts =
            |works: Vec<Work>| works.iter().map(|w| (w.begin, w.first)).collect::<Vec<_>>();
        let all = || works(&[0, 130, 230], 64).0;
        assert_eq!(firsts(by_keys(all())), [(0, 0), (130, 0), (0, 64), (130, 64), (0, 128)]);
        assert_eq!(firsts(by_queries(all())), [(0, 128), (0, 64), (130, 64), (0, 0), (130, 0)]);
    }

    #[test]
    fn a_piece_is_laid_out_as_kernels_read_it() {
        let (all, _) = works(&[0, 10, 80], 64);
        assert_eq!(all[1].words(), [1, 10, 70, 0, 64, 0, 0, 0]);
        assert_eq!(all[2].words(), [1, 10, 70, 64, 64, 0, 0, 0]);
    }
}
