//! Ids of a file, compared within bounds: 16 bytes of a digest and a line number for each.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::report::{IdCounts, RepeatedId};

/// Ids that are compared: with their lines about 200 MB at most.
pub(super) const MAX_IDS: usize = 4_000_000;

/// The ids of the lines before.
#[derive(Default)]
pub(super) struct SeenIds {
    lines: HashMap<[u8; 16], u64>,
    counts: IdCounts,
}

impl SeenIds {
    /// Notes the id of a line, and returns the line that had it first, if there is one.
    pub(super) fn note(&mut self, id: &str, line: u64) -> Option<u64> {
        let mut digest = [0; 16];
        digest.copy_from_slice(&blake3::hash(id.as_bytes()).as_bytes()[..16]);
        let is_full = self.lines.len() >= MAX_IDS;
        match self.lines.entry(digest) {
            Entry::Vacant(entry) => {
                self.counts.distinct += 1;
                if !is_full {
                    entry.insert(line);
                }
                None
            }
            Entry::Occupied(entry) => {
                let earlier = *entry.get();
                self.counts.repeated += 1;
                let id = crate::text::plain(id, 100);
                self.counts.first.get_or_insert(RepeatedId { id, line, earlier });
                Some(earlier)
            }
        }
    }

    /// The counts; `None` if no line had an id.
    pub(super) fn counts(self) -> Option<IdCounts> {
        (self.counts.distinct > 0).then_some(self.counts)
    }

    /// Whether there were more ids than are compared.
    pub(super) fn is_full(&self) -> bool {
        self.lines.len() >= MAX_IDS
    }
}
