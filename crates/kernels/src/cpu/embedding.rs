//! The twin of [`crate::embedding`].

#![expect(unsafe_code, reason = "rows of a table for different threads")]

use super::shared::Shared;
use super::threads::Threads;

/// Rows that a thread takes at a time.
const BLOCK: usize = 256;

pub(crate) fn gather(threads: &Threads, to: &mut [f32], table: &[f32], ids: &[u32]) {
    let width = to.len() / ids.len();
    threads.pieces(to, BLOCK * width, |block, to| {
        for (to, &id) in to.chunks_exact_mut(width).zip(&ids[block * BLOCK..]) {
            to.copy_from_slice(&table[id as usize * width..][..width]);
        }
    });
}

/// Each thread takes the tokens of its own rows of the table, so that a row's sum has one order.
pub(crate) fn scatter(threads: &Threads, dtable: &mut [f32], dy: &[f32], ids: &[u32]) {
    let width = dy.len() / ids.len();
    let rows = dtable.len() / width;
    assert!(ids.iter().all(|&id| (id as usize) < rows), "a token that the table does not have");
    let parts = threads.count();
    let dtable = Shared::new(dtable);
    threads.each(parts, |part| {
        for (dy, &id) in dy.chunks_exact(width).zip(ids) {
            if id as usize % parts == part {
                // SAFETY: a row belongs to one part.
                let to = unsafe { dtable.part(id as usize * width, width) };
                for (to, dy) in to.iter_mut().zip(dy) {
                    *to += dy;
                }
            }
        }
    });
}
