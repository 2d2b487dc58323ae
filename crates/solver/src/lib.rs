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

// The models that unit tests share with `tests/` name the crate.
#[cfg(test)]
extern crate self as whetstone_solver;

mod bounds;
mod certificate;
mod check;
mod conflict;
mod deletion;
mod dense;
mod dual;
mod elimination;
mod exact;
mod farkas;
mod float;
mod format;
mod integer;
mod limits;
mod lp;
mod model;
mod modular;
mod mps;
mod point;
mod ray;
mod refutation;
mod scaling;
mod side;
mod simplex;
mod solve;
mod tableau;
mod verdict;
mod vertex;
mod view;
mod whole;

pub use self::check::{CertificateError, check_infeasibility};
pub use self::format::{CONSTANT, FormatError, INFINITE, MAX_BYTES, WriteError};
pub use self::limits::{Limits, SolverError};
pub use self::lp::{read_lp, write_lp};
pub use self::model::{Kind, Model, ModelError, Objective, Row, Term, Variable};
pub use self::mps::{read_mps, write_mps};
pub use self::refutation::{Node, Refutation};
pub use self::solve::{find_iis, find_solution, solve};
pub use self::verdict::{
    Arithmetic, Existence, FEASIBILITY, Feasibility, FloatMultiplier, Infeasibility,
    InfeasibilityProof, Member, Multiplier, OPTIMALITY, Optimum, OptimumProof, RESIDUAL, Sense,
    Unboundedness, Verdict,
};
