//! Programs with names, comments and layout normalised, and the distance between two of them.
//!
//! ```text
//! distance(a, b) = 1 − |A ∩ B| / |A ∪ B|       A, B: the multisets of 4-grams of normalised tokens
//! diversity      = mean of distance over all pairs of a task's programs
//! ```
//!
//! That is the Jaccard distance of multisets: 0 for the same normal form, 1 for nothing in common, symmetric,
//! and it obeys the triangle inequality. Both are in [0, 1].
//!
//! A Python program that compiles is normalised from its syntax tree ([`tree`]): comments, docstrings,
//! annotations, parentheses, quotes and line breaks are not in it, and each name that the program binds is
//! written as how recently it was used, not as it is spelled. Other programs are normalised from their text
//! ([`lexical`]). Two programs are compared by their trees if both have one, and by their texts otherwise: so a
//! program with one typing error is as near to its corrected twin as two programs that differ in one token.
//!
//! Not here: whether programs do the same. Two spellings of one algorithm have a distance, and a sign that
//! turns a right answer into a wrong one is a small one.

pub(crate) mod bindings;
mod grams;
mod lexical;
mod recency;
mod tree;

use ruff_python_ast::PythonVersion;
use whetstone_core::program::{Language, Program};

use self::grams::Grams;
use crate::python::syntax;
use crate::stack::BigStack;

/// Programs of a task whose pairs are compared, the first ones: 2016 pairs.
pub const MAX_COMPARED: usize = 64;

/// A program as it is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NormalProgram {
    tree: Option<Grams>,
    text: Grams,
}

impl NormalProgram {
    /// Normalises a program. Of source beyond [`syntax::MAX_SOURCE_BYTES`] only the beginning is read.
    pub fn of(program: &Program, stack: &BigStack) -> Self {
        let end = program.source.floor_char_boundary(syntax::MAX_SOURCE_BYTES);
        let source = &program.source[..end];
        let tree = match program.language {
            Language::Python => syntax::check(source, PythonVersion::latest(), stack).ok(),
            Language::Javascript => None,
        };
        let tree = tree.map(|module| Grams::of(&tree::tokens(&module, stack)));
        Self { tree, text: Grams::of(&lexical::tokens(source, program.language)) }
    }

    /// The distance to another program, in [0, 1].
    pub fn distance(&self, other: &Self) -> f64 {
        let (one, other) = self.compared(other);
        one.distance(other)
    }

    /// Whether both are the same but for names, comments and layout.
    pub fn is_same(&self, other: &Self) -> bool {
        let (one, other) = self.compared(other);
        one == other
    }

    fn compared<'a>(&'a self, other: &'a Self) -> (&'a Grams, &'a Grams) {
        match (&self.tree, &other.tree) {
            (Some(one), Some(other)) => (one, other),
            _ => (&self.text, &other.text),
        }
    }
}

/// The mean distance over all pairs of the first [`MAX_COMPARED`] programs; `None` of fewer than two.
pub fn diversity(programs: &[NormalProgram]) -> Option<f64> {
    let programs = &programs[..programs.len().min(MAX_COMPARED)];
    let (mut sum, mut pairs) = (0.0, 0_u32);
    for (at, one) in programs.iter().enumerate() {
        for other in &programs[at + 1..] {
            sum += one.distance(other);
            pairs += 1;
        }
    }
    (pairs > 0).then(|| sum / f64::from(pairs))
}

#[cfg(test)]
mod tests;
