//! Deduplication: which of several similar tasks is kept.
//!
//! Two tasks are duplicates if their statements, or their references, are the same after what does
//! not matter is left out, or nearly so: an overlap of at least 80 % of the runs of three words, or
//! of 85 % of the runs of five tokens of the program. On MBPP this finds the problems that were
//! written twice, and leaves apart those that differ in one word (largest, smallest), which are
//! different problems.
//!
//! Tasks are visited in a fixed order, and one is dropped if it is similar to one that was kept
//! before. So the kept tasks are free of duplicates, and so are the two parts they are split into.

use super::gather::{Benchmarks, PreparedTask};
use super::grams::{Compared, Grams};
use super::report::{By, Contaminated, Duplicate};
use super::similar::{Alike, GramFrequencies, SimilarityIndex};

/// Minimal overlap of two statements' n-grams, in percent.
const STATEMENT_PERCENT: usize = 80;
/// Minimal overlap of two references' n-grams, in percent.
const SOLUTION_PERCENT: usize = 85;

/// The decision about an entry.
#[derive(Debug)]
pub(super) enum Fate {
    Kept,
    Duplicate(Duplicate),
    Contaminated(Contaminated),
}

/// The fate of each entry, in their order, which decides which of two duplicates is kept.
pub(super) fn fates(entries: &[PreparedTask], known: &Benchmarks) -> Vec<Fate> {
    let all = || {
        let benchmarks = known.tasks.iter().map(|task| &task.compared);
        entries.iter().map(|entry| &entry.compared).chain(benchmarks)
    };
    let statements = GramFrequencies::count(all().filter_map(|one| one.statement.as_ref()));
    let solutions = GramFrequencies::count(all().filter_map(|one| one.solution.as_ref()));
    let mut benchmarks = Looks::new(&statements, &solutions);
    for (at, task) in known.tasks.iter().enumerate() {
        benchmarks.add(&task.compared, at);
    }
    let mut kept = Looks::new(&statements, &solutions);
    let mut fates = Vec::with_capacity(entries.len());
    for (at, entry) in entries.iter().enumerate() {
        let fate = match contaminated(entry, known, &benchmarks) {
            Some(contaminated) => Fate::Contaminated(contaminated),
            None => fate_among(entries, entry, &kept),
        };
        if matches!(fate, Fate::Kept) {
            kept.add(&entry.compared, at);
        }
        fates.push(fate);
    }
    fates
}

/// Dropped if it is like one that was kept.
fn fate_among(entries: &[PreparedTask], entry: &PreparedTask, kept: &Looks<'_>) -> Fate {
    let Some((by, alike)) = kept.find(&entry.compared) else { return Fate::Kept };
    Fate::Duplicate(Duplicate {
        dropped: entry.id.to_string(),
        kept: entries[alike.name].id.to_string(),
        by,
        similarity: (alike.similarity * 1000.0).floor() / 1000.0,
    })
}

fn contaminated(
    entry: &PreparedTask,
    known: &Benchmarks,
    looks: &Looks<'_>,
) -> Option<Contaminated> {
    let (task, by, evidence) = if let Some((task, words)) = &entry.recognised {
        (*task, By::Words, crate::source::brief(words))
    } else {
        let (by, alike) = looks.find(&entry.compared)?;
        (alike.name, by, format!("{:.0} % alike", (alike.similarity * 100.0).floor()))
    };
    let benchmark = known.tasks[task].id.clone();
    Some(Contaminated { dropped: entry.id.to_string(), benchmark, by, evidence })
}

/// Tasks that were seen, by their statements and by their references.
struct Looks<'a> {
    statements: SimilarityIndex<'a>,
    solutions: SimilarityIndex<'a>,
}

impl<'a> Looks<'a> {
    fn new(statements: &'a GramFrequencies, solutions: &'a GramFrequencies) -> Self {
        Self {
            statements: SimilarityIndex::new(STATEMENT_PERCENT, statements),
            solutions: SimilarityIndex::new(SOLUTION_PERCENT, solutions),
        }
    }

    fn add(&mut self, task: &'a Compared, name: usize) {
        let add = |seen: &mut SimilarityIndex<'a>, text: &'a Option<Grams>| {
            if let Some(text) = text {
                seen.add(text, name);
            }
        };
        add(&mut self.statements, &task.statement);
        add(&mut self.solutions, &task.solution);
    }

    fn find(&self, task: &Compared) -> Option<(By, Alike)> {
        let find = |seen: &SimilarityIndex<'_>, text: &Option<Grams>, same: By, like: By| {
            let alike = seen.find(text.as_ref()?)?;
            Some((if alike.same { same } else { like }, alike))
        };
        find(&self.statements, &task.statement, By::SameStatement, By::LikeStatement)
            .or_else(|| find(&self.solutions, &task.solution, By::SameSolution, By::LikeSolution))
    }
}
