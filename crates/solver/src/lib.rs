//! Linear and mixed-integer optimization models: what they are, whether they have a solution, and why not.
//!
//! ```text
//! .mps, .lp ─► Model ─► solve ─► Optimal (witness) | Unbounded (ray) | Infeasible (IIS with its certificate)
//! ```
//!
//! The simplex method and branch and bound are microlp's. Nothing it says is taken on trust: a verdict is
//! returned only with a certificate that was checked here, in exact arithmetic. Every finite `f64` is a rational
//! number, so "exact" needs no tolerance on the data.
//!
//! Not here: what a repair is worth, and how models are generated (`env`).

mod certificate;
mod check;
mod conflict;
mod elimination;
mod farkas;
mod integer;
mod limits;
mod model;
mod point;
mod ray;
mod refutation;
mod side;
mod simplex;
mod solve;
mod verdict;
mod view;
mod whole;

pub use self::check::{CertificateError, check_infeasibility};
pub use self::limits::{Limits, SolverError};
pub use self::model::{Kind, Model, ModelError, Objective, Row, Term, Variable};
pub use self::refutation::{Node, Refutation};
pub use self::solve::{find_iis, solve};
pub use self::verdict::{
    FEASIBILITY, Feasibility, FloatMultiplier, Infeasibility, InfeasibilityProof, Member,
    Multiplier, OPTIMALITY, Optimum, OptimumProof, Sense, Unboundedness, Verdict,
};
