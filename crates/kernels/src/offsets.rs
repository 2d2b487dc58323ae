//! Offsets of sequences in contiguous rows.
//!
//! The contribution of a sequence to a gradient is summed within that sequence, from zero, and then
//! added to the gradient. So the bits of a step's gradient depend on the sequences and their order,
//! and not on their division into batches.

use std::ops::Range;

/// The beginnings of sequences, and the end of the last: `[0, 5, 9]` are five rows and four.
pub type Offsets<'a> = &'a [usize];

/// # Panics
///
/// If the sequences are not these rows, one after another.
pub(crate) fn check(offsets: Offsets<'_>, rows: usize) {
    let rising =
        offsets.is_sorted() && offsets.first() == Some(&0) && offsets.last() == Some(&rows);
    assert!(rising, "sequences that cover {rows} rows");
}

/// The rows of each sequence, `size` at a time from its beginning.
pub(crate) fn blocks(offsets: Offsets<'_>, size: usize) -> Vec<Range<usize>> {
    let of = |ends: &[usize]| {
        let (begin, end) = (ends[0], ends[1]);
        (begin..end).step_by(size).map(move |first| first..end.min(first + size))
    };
    offsets.windows(2).flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_begins_with_its_sequence_and_ends_in_it() {
        assert_eq!(blocks(&[0, 5, 5, 7], 3), [0..3, 3..5, 5..7]);
        assert_eq!(blocks(&[0], 3), []);
    }

    #[test]
    fn sequences_cover_all_rows() {
        check(&[0, 2, 2, 5], 5);
        for wrong in [&[0, 2][..], &[1, 5], &[0, 6, 5], &[]] {
            assert!(std::panic::catch_unwind(|| check(wrong, 5)).is_err(), "{wrong:?}");
        }
    }
}
