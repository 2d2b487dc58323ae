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

mod model;

pub use self::model::{Kind, Model, ModelError, Objective, Row, Term, Variable};
