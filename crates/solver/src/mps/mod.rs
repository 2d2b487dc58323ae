//! MPS files.
//!
//! Read: fixed format (fields at columns 2, 5, 15, 25, 40 and 50; names may hold spaces) and free format (fields
//! between blanks; the names of right-hand sides, ranges and bounds may be left out). Sections NAME, OBJSENSE, ROWS,
//! COLUMNS with integer markers, RHS, RANGES, BOUNDS and ENDATA. Where readers differ:
//!
//! - The first `N` row is the objective; others stay in the model as free rows.
//! - A right-hand side of the objective is its constant with the sign turned; the constant becomes the cost of a
//!   variable that is fixed at 1 ([`CONSTANT`](crate::CONSTANT)).
//! - A negative upper bound without a lower bound makes the lower one `-inf`, as in CPLEX, SAS and `HiGHS`.
//! - An integer variable without any bound lies within 0 and 1; with one, the other is 0 or `inf`.
//! - Numbers from 1e30 on are infinite as limits and bounds, and plain numbers as coefficients.
//!
//! Not read: quadratic parts, cones, special ordered sets, semi-continuous variables. They are refused.
//!
//! Written: free format, with every bound of an integer variable spelt out.

mod bounds;
mod error;
mod fields;
mod read;
mod row;
mod section;
mod write;

pub use self::read::read_mps;
pub use self::write::write_mps;
