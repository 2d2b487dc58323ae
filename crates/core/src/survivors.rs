//! Items of each source that filtering kept, and the reasons why others were left out.
//!
//! A source without any items left has no effect, whatever the settings say: a run that continues without
//! it must say so, with the source, its number of items, and the most frequent reasons.

use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Reasons that are named.
const NAMED: usize = 3;

/// Items by their source, kept or left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Survivors {
    sources: BTreeMap<String, SourceCounts>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct SourceCounts {
    kept: u64,
    reasons: BTreeMap<String, u64>,
}

impl Survivors {
    /// Counts an item of a source that is kept.
    pub fn keep(&mut self, source: &str) {
        self.source(source).kept += 1;
    }

    /// Counts an item of a source that is left out.
    pub fn leave_out(&mut self, source: &str, reason: &str) {
        self.leave_out_many(source, reason, 1);
    }

    /// Like [`Survivors::leave_out`], for several items.
    pub fn leave_out_many(&mut self, source: &str, reason: &str, count: u64) {
        if count > 0 {
            *self.source(source).reasons.entry(reason.to_owned()).or_default() += count;
        }
    }

    /// One sentence for each source that had items and of which none is left; `noun` is one item.
    pub fn lost(&self, noun: &str) -> Vec<String> {
        let lost = self.sources.iter().filter(|(_, source)| source.kept == 0);
        lost.map(|(name, source)| source.sentence(name, noun)).collect()
    }

    fn source(&mut self, name: &str) -> &mut SourceCounts {
        self.sources.entry(name.to_owned()).or_default()
    }
}

impl SourceCounts {
    fn sentence(&self, name: &str, noun: &str) -> String {
        let all: u64 = self.reasons.values().sum();
        let mut reasons: Vec<(&String, &u64)> = self.reasons.iter().collect();
        reasons.sort_by_key(|(_, count)| Reverse(**count));
        let more = reasons.len().saturating_sub(NAMED);
        let named =
            reasons.into_iter().take(NAMED).map(|(reason, count)| format!("{count} {reason}"));
        let mut named: Vec<String> = named.collect();
        named.extend((more > 0).then(|| format!("and {more} more reasons")));
        let ending = if all == 1 { "" } else { "s" };
        format!("nothing is left of {name}: {all} {noun}{ending}, {}", named.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_is_gone_is_named_with_its_size_and_why() {
        let mut found = Survivors::default();
        found.keep("`mbpp`");
        found.leave_out("`mbpp`", "too long");
        found.leave_out_many("`apps`", "too long", 99);
        found.leave_out("`apps`", "not passing");
        found.leave_out("`apps`", "not passing");
        found.leave_out_many("`none`", "too long", 0);
        found.leave_out("`one`", "too long");
        assert_eq!(
            found.lost("task"),
            [
                "nothing is left of `apps`: 101 tasks, 99 too long, 2 not passing",
                "nothing is left of `one`: 1 task, 1 too long",
            ]
        );
    }

    #[test]
    fn the_most_frequent_reasons_come_first_and_the_rest_is_counted() {
        let mut found = Survivors::default();
        for (reason, count) in [("a", 1), ("b", 4), ("c", 2), ("d", 3), ("e", 1)] {
            found.leave_out_many("x", reason, count);
        }
        let expected = "nothing is left of x: 11 traces, 4 b, 3 d, 2 c, and 2 more reasons";
        assert_eq!(found.lost("trace"), [expected]);
    }
}
