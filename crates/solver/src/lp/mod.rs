//! LP files: the format of CPLEX, as far as `HiGHS`, Gurobi and CPLEX write linear and mixed-integer models in it.
//!
//! ```text
//! \ a comment
//! Maximize
//!  profit: 3 x + 2 y
//! Subject To
//!  cap: x + y <= 4
//!  mix: -2 <= x - y <= 8
//! Bounds
//!  x <= 3
//!  y free
//! General
//!  x
//! End
//! ```
//!
//! An expression goes on over as many lines as it likes. Rows without a name are `R1`, `R2`, … by their place. A
//! variable lies within 0 and `inf` unless Bounds says otherwise: `x <= -5` alone leaves the 0, as in CPLEX. A constant
//! in the objective becomes the cost of a variable that is fixed at 1 ([`CONSTANT`](crate::CONSTANT)). A variable
//! that occurs twice in an expression counts with the sum of its coefficients.
//!
//! Not read: quadratic terms, special ordered sets, semi-continuous variables, lazy rows. They are refused.

mod expression;
mod read;
mod relation;
mod section;
mod token;
mod write;

pub use self::read::read_lp;
pub use self::write::write_lp;
