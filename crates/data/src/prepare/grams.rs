//! The n-grams that are compared: of tokens in a task's statement and in its reference.
//!
//! An n-gram ("shingle") is three tokens of a statement or five of a program. Blank tokens pad the
//! beginning and the end, so that a word at the end counts as much as one in the middle: without
//! them, "the area of a cube" and "the area of a cone" would differ in one n-gram of many.

use whetstone_core::task::Task;

use super::tokens;

const STATEMENT_RUN: usize = 3;
const PROGRAM_RUN: usize = 5;

/// The runs of one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Grams {
    /// The tokens in their order, as one number: equal for texts that are the same.
    pub(super) whole: [u8; 32],
    /// The runs, sorted, each once.
    pub(super) runs: Vec<u64>,
}

/// The n-grams of a task. A text without tokens is not compared.
#[derive(Debug, Clone)]
pub(super) struct Compared {
    pub(super) statement: Option<Grams>,
    pub(super) solution: Option<Grams>,
}

impl Compared {
    pub(super) fn of(task: &Task) -> Self {
        let program = task.reference.as_deref().unwrap_or_default();
        // Statements of other environments are made from a pattern: all of one kind look alike.
        let statement = if task.body.is_some() { "" } else { &task.statement };
        Self {
            statement: Grams::of(&tokens::statement(statement), STATEMENT_RUN),
            solution: Grams::of(&tokens::program(program, task.language), PROGRAM_RUN),
        }
    }
}

impl Grams {
    fn of(tokens: &[u64], run: usize) -> Option<Self> {
        if tokens.is_empty() {
            return None;
        }
        let blank = vec![0; run - 1];
        let padded = [&blank, tokens, &blank].concat();
        let mut runs: Vec<_> = padded.windows(run).map(mix).collect();
        runs.sort_unstable();
        runs.dedup();
        let mut whole = blake3::Hasher::new();
        for token in tokens {
            whole.update(&token.to_le_bytes());
        }
        Some(Self { whole: whole.finalize().into(), runs })
    }

    /// Runs in common, and runs in either.
    pub(super) fn overlap(&self, other: &Self) -> (usize, usize) {
        let (mut at, mut common) = (0, 0);
        for run in &self.runs {
            while other.runs.get(at).is_some_and(|theirs| theirs < run) {
                at += 1;
            }
            common += usize::from(other.runs.get(at) == Some(run));
        }
        (common, self.runs.len() + other.runs.len() - common)
    }
}

/// One number for a run of tokens. Rotation keeps their order in it.
fn mix(tokens: &[u64]) -> u64 {
    tokens.iter().fold(0x9e37_79b9_7f4a_7c15, |sum, token| {
        (sum.rotate_left(23) ^ token).wrapping_mul(0xff51_afd7_ed55_8ccd)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grams(text: &str) -> Grams {
        Grams::of(&tokens::statement(text), STATEMENT_RUN).unwrap()
    }

    #[test]
    fn runs_are_counted_with_both_ends() {
        // _ _ a, _ a b, a b c, b c _, c _ _
        assert_eq!(grams("a b c").runs.len(), 5);
        assert_eq!(grams("a").runs.len(), 3);
        assert_eq!(Grams::of(&[], 3), None);
    }

    #[test]
    fn one_word_changed_at_the_end_costs_as_much_as_in_the_middle() {
        let base = grams("find the area of a cube");
        assert_eq!(base.overlap(&grams("find the area of a cone")), (5, 11));
        assert_eq!(base.overlap(&grams("find the side of a cube")), (5, 11));
        assert_eq!(base.overlap(&base), (8, 8));
        assert_ne!(base.whole, grams("find the area of a cone").whole);
    }
}
