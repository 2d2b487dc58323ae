//! How well a program is written, in a way that cannot be bought.
//!
//! ```text
//! complexity    = 0.65 cognitive + 0.20 size + 0.15 nesting
//! readability   = 0.40 names + 0.30 layout + 0.30 hygiene
//! documentation = docstrings, and at most 0.12 for comments
//! ```
//!
//! Every sub-score counts what is bad, in totals and in the worst unit, and never takes a mean over
//! all there is: a mean can be diluted with padding, a total cannot. So adding code of whatever kind
//! can only lower complexity and readability. Documentation looks at what the tests call, and at the
//! least documented of these. Code that cannot run earns nothing and counts against hygiene.
//!
//! Laws, held by `tests/quality_laws.rs`: comments add at most 0.04 with the default weights;
//! unreachable code, padding and dead code add nothing; only layout sees formatting.

mod comments;
mod documentation;
mod flow;
mod hygiene;
mod layout;
mod live;
mod names;
mod shape;
mod words;

use super::Quality;
use super::syntax::Module;
use crate::stack::BigStack;

/// The sub-scores, each in [0, 1].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QualityScores {
    /// Little to keep in mind: Sonar's cognitive complexity.
    pub cognitive: f64,
    /// Few statements, and none too dense.
    pub size: f64,
    /// Shallow nesting.
    pub nesting: f64,
    /// Names that say something.
    pub names: f64,
    /// Lines as a reader expects them.
    pub layout: f64,
    /// Free of traps, leftovers and dead code.
    pub hygiene: f64,
    /// Says what it does and what it takes.
    pub documentation: f64,
}

/// Looks at a program that compiles.
///
/// `roots` are the names that the tests use; those which the program does not define are passed
/// over. Without any, all that is defined at the top counts.
pub fn report(module: &Module<'_>, roots: &[&str], _stack: &BigStack) -> QualityScores {
    let live = live::Live::of(&module.parsed.syntax().body, roots);
    if live.is_empty() {
        return NOTHING;
    }
    let shape = shape::Shape::of(&live);
    let words = words::Words::of(&live);
    QualityScores {
        cognitive: shape.cognitive(),
        size: shape.size(),
        nesting: shape.nesting(),
        names: names::score(&live),
        layout: layout::score(module),
        hygiene: hygiene::score(&live),
        documentation: documentation::score(module, &live, &words, shape.statements),
    }
}

/// A program without any code has no quality.
const NOTHING: QualityScores = QualityScores {
    cognitive: 0.0,
    size: 0.0,
    nesting: 0.0,
    names: 0.0,
    layout: 0.0,
    hygiene: 0.0,
    documentation: 0.0,
};

impl QualityScores {
    /// The three parts that are reported.
    pub fn quality(&self) -> Quality {
        Quality {
            complexity: 0.65 * self.cognitive + 0.2 * self.size + 0.15 * self.nesting,
            readability: 0.4 * self.names + 0.3 * self.layout + 0.3 * self.hygiene,
            documentation: self.documentation,
        }
    }
}

/// 1 up to `good`, 0 from `bad` on, a straight line between.
fn ramp(value: u32, good: u32, bad: u32) -> f64 {
    let (value, good, bad) = (f64::from(value), f64::from(good), f64::from(bad));
    ((bad - value) / (bad - good)).clamp(0.0, 1.0)
}

/// 1 without any bad points, a half at `half` of them, never quite 0.
fn fade(points: u32, half: u32) -> f64 {
    f64::from(half) / f64::from(half.saturating_add(points))
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX / 4)
}
