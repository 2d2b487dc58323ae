//! Verdicts on a model, each with the evidence it was accepted on.
//!
//! | verdict | evidence | checked |
//! |---|---|---|
//! | optimal | a feasible point; for LPs a dual bound equal to its objective | exactly where the point is a vertex of few variables, else within [`FEASIBILITY`]; bound within [`OPTIMALITY`] |
//! | unbounded | a feasible point and a direction that improves for ever | the same |
//! | infeasible | an IIS and its Farkas multipliers, or a branch-and-bound tree of them | exactly |

use num_bigint::BigInt;

use crate::refutation::Refutation;

/// The relative violation of a row or bound up to which a point counts as feasible.
pub const FEASIBILITY: f64 = 1e-6;

/// The relative gap between a point's objective and the dual bound up to which it counts as optimal.
pub const OPTIMALITY: f64 = 1e-6;

/// The largest residual of a Farkas certificate in floating point, see [`InfeasibilityProof::Float`].
pub const RESIDUAL: f64 = 1e-9;

/// The answer to a model.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// It has a best solution.
    Optimal(Optimum),
    /// Its objective improves without limit.
    Unbounded(Unboundedness),
    /// It has no solution.
    Infeasible(Infeasibility),
}

/// Whether a model has a solution.
#[derive(Debug, Clone, PartialEq)]
pub enum Existence {
    /// A value for each variable, within [`FEASIBILITY`] of every row and bound.
    Solution(Vec<f64>),
    /// It has none.
    Infeasible(Infeasibility),
}

/// A best solution.
#[derive(Debug, Clone, PartialEq)]
pub struct Optimum {
    /// The objective at `values`.
    pub objective: f64,
    /// The value of each variable; integer variables have integral values.
    pub values: Vec<f64>,
    /// The evidence that `values` is feasible.
    pub feasibility: Feasibility,
    /// The evidence that nothing is better.
    pub proof: OptimumProof,
}

/// How far a point satisfies the rows and bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feasibility {
    /// In exact arithmetic.
    Exact,
    /// A vertex in rational numbers satisfies them in exact arithmetic; the values are its rounded coordinates.
    Rounded,
    /// Within [`FEASIBILITY`], relative to the size of the row.
    Tolerance,
}

/// The evidence that nothing is better than an optimum.
#[derive(Debug, Clone, PartialEq)]
pub enum OptimumProof {
    /// Multipliers of the rows prove this bound on the objective, which the optimum meets within [`OPTIMALITY`].
    Dual {
        /// The bound.
        bound: f64,
        /// How the multipliers were checked.
        arithmetic: Arithmetic,
    },
    /// The branch-and-bound search of microlp ended; its tree is not kept.
    Search,
}

/// The numbers in which a certificate was checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arithmetic {
    /// Rational numbers.
    Exact,
    /// Floating point, within [`OPTIMALITY`].
    Float,
}

/// A direction in which the objective improves without limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Unboundedness {
    /// A feasible point.
    pub witness: Vec<f64>,
    /// The direction: `witness + t · ray` is feasible for every `t >= 0` and improves with `t`.
    pub ray: Vec<f64>,
}

/// An irreducible infeasible subsystem: no solution with all members, one without any of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Infeasibility {
    /// The members: rows in row order, then bounds.
    pub members: Vec<Member>,
    /// The evidence.
    pub proof: InfeasibilityProof,
}

/// A member of an irreducible infeasible subsystem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Member {
    /// The row with this index.
    Row(usize),
    /// The lower bound of the variable with this index.
    LowerBound(usize),
    /// The upper bound of the variable with this index.
    UpperBound(usize),
}

/// The evidence that a set of members is an irreducible infeasible subsystem.
#[derive(Debug, Clone, PartialEq)]
pub enum InfeasibilityProof {
    /// Exact Farkas multipliers. For a model without integers they prove minimality too.
    Exact {
        /// One for each side of a row or bound that takes part.
        multipliers: Vec<Multiplier>,
    },
    /// Farkas multipliers that hold within [`RESIDUAL`], where none were found that hold exactly. The members are
    /// infeasible as far as floating point tells, and not proven irreducible.
    Float {
        /// One for each side that takes part.
        multipliers: Vec<FloatMultiplier>,
        /// The largest coefficient left in the combination, relative to the size of its terms.
        residual: f64,
    },
    /// The members have no solution in integers.
    Integer {
        /// A branch-and-bound tree whose leaves have exact Farkas multipliers.
        refutation: Refutation,
        /// For each member a solution of the others, which proves that it cannot be spared; `None` where the
        /// search for one ran out of nodes.
        witnesses: Vec<Option<Vec<f64>>>,
    },
}

/// The side of a row or bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sense {
    /// `expression >= lower`.
    Lower,
    /// `expression <= upper`.
    Upper,
}

impl Sense {
    /// The other side.
    pub(crate) fn opposite(self) -> Self {
        match self {
            Self::Lower => Self::Upper,
            Self::Upper => Self::Lower,
        }
    }
}

/// The weight of one side in a Farkas certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Multiplier {
    /// The row or bound.
    pub member: Member,
    /// The side of it.
    pub sense: Sense,
    /// Its positive weight.
    pub weight: BigInt,
}

/// The weight of one side in a Farkas certificate in floating point.
#[derive(Debug, Clone, PartialEq)]
pub struct FloatMultiplier {
    /// The row or bound.
    pub member: Member,
    /// The side of it.
    pub sense: Sense,
    /// Its positive weight.
    pub weight: f64,
}
