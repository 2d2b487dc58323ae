//! Similarity search without comparing all pairs.
//!
//! Two texts are similar if the Jaccard index of their n-grams reaches a threshold. Every such pair
//! is found, without approximation: of sets ordered by the rarity of their n-grams, two that
//! overlap by `t` must share one of their first `n - ⌈t·n⌉ + 1` n-grams, so only those are indexed
//! and looked up (prefix filtering; Chaudhuri, Ganti and Kaushik, 2006). Candidates are then
//! compared exactly. Rare n-grams come first, so there are few candidates.

use std::collections::HashMap;

use super::grams::Grams;

/// Document frequency of each n-gram over all texts to be compared.
#[derive(Debug, Default)]
pub(super) struct GramFrequencies(HashMap<u64, u32>);

/// An index of texts for similarity queries.
#[derive(Debug)]
pub(super) struct SimilarityIndex<'a> {
    percent: usize,
    frequencies: &'a GramFrequencies,
    texts: Vec<&'a Grams>,
    names: Vec<usize>,
    whole: HashMap<[u8; 32], usize>,
    by_run: HashMap<u64, Vec<u32>>,
}

/// Something seen that a text is like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Alike {
    /// Its name when it was added.
    pub(super) name: usize,
    /// Runs in common over runs in either; 1 if the texts are the same.
    pub(super) similarity: f64,
    /// Whether the texts are the same, token for token.
    pub(super) same: bool,
}

impl GramFrequencies {
    pub(super) fn count<'a>(texts: impl Iterator<Item = &'a Grams>) -> Self {
        let mut counts = HashMap::new();
        for run in texts.flat_map(|text| &text.runs) {
            *counts.entry(*run).or_insert(0) += 1;
        }
        Self(counts)
    }
}

impl<'a> SimilarityIndex<'a> {
    /// Nothing seen yet; texts are alike from an overlap of `percent` on.
    pub(super) fn new(percent: usize, frequencies: &'a GramFrequencies) -> Self {
        Self {
            percent,
            frequencies,
            texts: Vec::new(),
            names: Vec::new(),
            whole: HashMap::new(),
            by_run: HashMap::new(),
        }
    }

    /// Adds a text under a name.
    pub(super) fn add(&mut self, text: &'a Grams, name: usize) {
        let number = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        for run in self.rarest(text) {
            self.by_run.entry(run).or_default().push(number);
        }
        self.whole.entry(text.whole).or_insert(name);
        self.texts.push(text);
        self.names.push(name);
    }

    /// The first that was added and is the same text; else the first that is like it.
    pub(super) fn find(&self, text: &Grams) -> Option<Alike> {
        if let Some(&name) = self.whole.get(&text.whole) {
            return Some(Alike { name, similarity: 1.0, same: true });
        }
        let mut candidates: Vec<u32> = Vec::new();
        for run in self.rarest(text) {
            candidates.extend(self.by_run.get(&run).into_iter().flatten());
        }
        candidates.sort_unstable();
        candidates.dedup();
        candidates.into_iter().find_map(|number| {
            let number = number as usize;
            let similarity = self.similarity(text, self.texts[number])?;
            Some(Alike { name: self.names[number], similarity, same: false })
        })
    }

    /// The overlap of two texts, if it is enough.
    #[expect(clippy::cast_precision_loss, reason = "runs of a text are far below 2^53")]
    fn similarity(&self, one: &Grams, other: &Grams) -> Option<f64> {
        let (short, long) =
            (one.runs.len().min(other.runs.len()), one.runs.len().max(other.runs.len()));
        if short * 100 < self.percent * long {
            return None;
        }
        let (common, either) = one.overlap(other);
        (common * 100 >= self.percent * either).then(|| common as f64 / either as f64)
    }

    /// The runs that any text alike must share one of.
    fn rarest(&self, text: &Grams) -> Vec<u64> {
        let mut runs: Vec<_> = text
            .runs
            .iter()
            .map(|run| (self.frequencies.0.get(run).copied().unwrap_or(0), *run))
            .collect();
        runs.sort_unstable();
        let needed = (self.percent * runs.len()).div_ceil(100);
        runs.truncate(runs.len() - needed + 1);
        runs.into_iter().map(|(_, run)| run).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A text with these n-grams.
    fn text(runs: &[u64]) -> Grams {
        let mut runs = runs.to_vec();
        runs.sort_unstable();
        runs.dedup();
        let bytes: Vec<u8> = runs.iter().flat_map(|run| run.to_le_bytes()).collect();
        Grams { whole: blake3::hash(&bytes).into(), runs }
    }

    #[test]
    fn the_threshold_itself_is_alike() {
        let seen = text(&[1, 2, 3, 4, 5, 6, 7, 8, 9]);
        let counts = GramFrequencies::default();
        let mut index = SimilarityIndex::new(80, &counts);
        index.add(&seen, 7);
        // Eight in common, ten in either.
        let alike = index.find(&text(&[1, 2, 3, 4, 5, 6, 7, 8, 10])).unwrap();
        assert_eq!(alike, Alike { name: 7, similarity: 0.8, same: false });
        // Seven in common, eleven in either.
        assert_eq!(index.find(&text(&[1, 2, 3, 4, 5, 6, 7, 10, 11])), None);
        assert!(index.find(&seen).unwrap().same);
    }

    proptest! {
        /// The index finds the same pairs as a comparison of all pairs.
        #[test]
        fn no_pair_is_missed(
            sets in prop::collection::vec(prop::collection::vec(0..12u64, 1..12), 1..24),
            percent in prop::sample::select(vec![50, 80, 85, 100]),
        ) {
            let texts: Vec<_> = sets.iter().map(|set| text(set)).collect();
            let counts = GramFrequencies::count(texts.iter());
            let mut index = SimilarityIndex::new(percent, &counts);
            for (at, one) in texts.iter().enumerate() {
                let same = texts[..at].iter().position(|other| other.whole == one.whole);
                let like = texts[..at].iter().position(|other| {
                    let (common, either) = one.overlap(other);
                    common * 100 >= percent * either
                });
                prop_assert_eq!(index.find(one).map(|alike| alike.name), same.or(like));
                index.add(one, at);
            }
        }
    }
}
