//! Proofs that a model has no solution in integers: branch-and-bound trees with exact leaves.
//!
//! An inner node splits an integer variable at a whole number, `x <= k` or `x >= k + 1`. A leaf is a linear program
//! without solution, by exact Farkas multipliers of the rows and of the bounds at that leaf; or, at the root, a
//! row over integer variables whose coefficients have a common divisor with no multiple between its limits.

use std::collections::BTreeSet;

use num_bigint::BigInt;
use num_integer::Integer;

use crate::check::holds;
use crate::conflict::{self, Norm};
use crate::limits::{Limits, SolverError};
use crate::model::Kind;
use crate::point;
use crate::simplex::{self, Answer};
use crate::verdict::{InfeasibilityProof, Member, Multiplier};
use crate::view::{RowView, View};
use crate::whole::{Dyadic, Whole};

/// The distance to an integer from which a value counts as fractional.
const FRACTIONAL: f64 = 1e-6;

/// A tree that proves that a model has no solution; node 0 is the root.
#[derive(Debug, Clone, PartialEq)]
pub struct Refutation {
    /// The nodes; children come after their parents.
    pub nodes: Vec<Node>,
}

/// A node of a refutation.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// The variable is at most `at`, or at least `at + 1`.
    Branch {
        /// The index of the variable.
        variable: usize,
        /// The whole number at which the values are split.
        at: f64,
        /// The node for the values up to `at`.
        below: usize,
        /// The node for the values above.
        above: usize,
    },
    /// Exact Farkas multipliers of the rows and of the bounds that hold at this node.
    Leaf {
        /// The multipliers.
        multipliers: Vec<Multiplier>,
    },
    /// The coefficients of this row have a common divisor without a multiple between its limits.
    Divisibility {
        /// The index of the row.
        row: usize,
    },
}

/// A node that is yet to be refuted.
struct Open<'a> {
    index: usize,
    view: View<'a>,
}

impl Refutation {
    /// Refutes a view with integers, or fails.
    pub(crate) fn build(view: &View<'_>, limits: &Limits) -> Result<Self, SolverError> {
        if let Some(found) = Self::by_divisibility(view) {
            return Ok(found);
        }
        let mut nodes = vec![Node::Leaf { multipliers: Vec::new() }];
        let mut open = vec![Open { index: 0, view: view.without_objective() }];
        while let Some(Open { index, view }) = open.pop() {
            if nodes.len() > limits.max_nodes {
                return Err(limits.out_of_nodes());
            }
            match branching(&view, limits)? {
                None => nodes[index] = Node::Leaf { multipliers: leaf(&view, limits)? },
                Some(Split { variable, at }) => {
                    let (below, above) = (nodes.len(), nodes.len() + 1);
                    nodes[index] = Node::Branch { variable, at, below, above };
                    nodes.extend([
                        Node::Leaf { multipliers: Vec::new() },
                        Node::Leaf { multipliers: Vec::new() },
                    ]);
                    open.push(Open { index: above, view: view.at_least(variable, at + 1.0) });
                    open.push(Open { index: below, view: view.at_most(variable, at) });
                }
            }
        }
        Ok(Self { nodes })
    }

    /// A row over integer variables that no whole numbers satisfy, whatever their bounds.
    pub(crate) fn by_divisibility(view: &View<'_>) -> Option<Self> {
        let mut rows = view.rows.iter();
        let row = rows.position(|row| is_indivisible(view, row))?;
        Some(Self { nodes: vec![Node::Divisibility { row }] })
    }

    /// Whether the tree proves that the view has no solution.
    pub(crate) fn proves(&self, view: &View<'_>) -> bool {
        self.walk(view, &mut |view, node| match node {
            Node::Leaf { multipliers } => holds(view, multipliers),
            Node::Divisibility { row } => {
                view.rows.get(*row).is_some_and(|row| is_indivisible(view, row))
            }
            Node::Branch { .. } => true,
        })
    }

    /// The rows and the bounds of the view that the tree uses.
    pub(crate) fn members(&self, view: &View<'_>) -> Vec<Member> {
        let mut members = BTreeSet::new();
        self.walk(view, &mut |at, node| {
            match node {
                Node::Leaf { multipliers } => {
                    let used = multipliers.iter().map(|entry| entry.member);
                    members.extend(used.filter(|member| !is_branch(view, at, *member)));
                }
                Node::Divisibility { row } => drop(members.insert(Member::Row(*row))),
                Node::Branch { .. } => (),
            }
            true
        });
        members.into_iter().collect()
    }

    /// Visits every node with the view that holds there, as long as the visitor says yes. Whether it always did,
    /// and the nodes are a tree.
    fn walk(&self, view: &View<'_>, visit: &mut dyn FnMut(&View<'_>, &Node) -> bool) -> bool {
        let mut open = vec![Open { index: 0, view: view.clone() }];
        let mut visited = 0;
        while let Some(Open { index, view }) = open.pop() {
            visited += 1;
            let Some(node) = self.nodes.get(index) else { return false };
            if visited > self.nodes.len() || !visit(&view, node) {
                return false;
            }
            if let Node::Branch { variable, at, below, above } = node {
                let column = view.columns.get(*variable);
                if !column.is_some_and(|column| column.kind == Kind::Integer) || at.fract() != 0.0 {
                    return false;
                }
                open.push(Open { index: *above, view: view.at_least(*variable, at + 1.0) });
                open.push(Open { index: *below, view: view.at_most(*variable, *at) });
            }
        }
        true
    }
}

impl View<'_> {
    fn at_least(&self, variable: usize, bound: f64) -> Self {
        let mut view = self.clone();
        view.columns[variable].lower = view.columns[variable].lower.max(bound);
        view
    }

    fn at_most(&self, variable: usize, bound: f64) -> Self {
        let mut view = self.clone();
        view.columns[variable].upper = view.columns[variable].upper.min(bound);
        view
    }
}

/// Whether a bound at a node comes from branching, not from the model.
#[expect(clippy::float_cmp, reason = "a bound that branching left alone is the very same number")]
fn is_branch(root: &View<'_>, node: &View<'_>, member: Member) -> bool {
    match member {
        Member::Row(_) => false,
        Member::LowerBound(variable) => {
            root.columns[variable].lower != node.columns[variable].lower
        }
        Member::UpperBound(variable) => {
            root.columns[variable].upper != node.columns[variable].upper
        }
    }
}

struct Split {
    variable: usize,
    at: f64,
}

/// Where to split a node; `None` if its linear relaxation has no solution.
fn branching(view: &View<'_>, limits: &Limits) -> Result<Option<Split>, SolverError> {
    if view.columns.iter().any(|column| column.lower > column.upper) {
        return Ok(None);
    }
    let Answer::Point(point) = simplex::run(&view.relaxed(), limits)? else { return Ok(None) };
    if let Some(split) = most_fractional(view, &point) {
        return Ok(Some(split));
    }
    if point::witness(view, &point, limits)?.is_some() {
        let reason = "a point within tolerance satisfies the model".to_owned();
        return Err(SolverError::NoCertificate { verdict: "infeasible", reason });
    }
    match undecided(view, &point) {
        Some(split) => Ok(Some(split)),
        None => Ok(None),
    }
}

fn integers<'a>(view: &'a View<'_>) -> impl Iterator<Item = usize> + 'a {
    let columns = view.columns.iter().enumerate();
    columns.filter(|(_, column)| column.kind == Kind::Integer).map(|(index, _)| index)
}

fn most_fractional(view: &View<'_>, point: &[f64]) -> Option<Split> {
    let distance = |variable: &usize| (point[*variable] - point[*variable].round()).abs();
    let variable = integers(view).max_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    (distance(&variable) > FRACTIONAL).then(|| Split { variable, at: point[variable].floor() })
}

/// A variable that is integral at the point but not fixed.
fn undecided(view: &View<'_>, point: &[f64]) -> Option<Split> {
    let variable = integers(view).find(|variable| {
        let column = &view.columns[*variable];
        column.lower < column.upper
    })?;
    let at = point[variable].round();
    Some(Split { variable, at: if at < view.columns[variable].upper { at } else { at - 1.0 } })
}

fn leaf(view: &View<'_>, limits: &Limits) -> Result<Vec<Multiplier>, SolverError> {
    if let Some(InfeasibilityProof::Exact { multipliers }) =
        conflict::find(&view.relaxed(), Norm::Uniform, limits)?.map(|found| found.proof)
    {
        Ok(multipliers)
    } else {
        let reason = "a leaf of the search has no exact Farkas certificate".to_owned();
        Err(SolverError::NoCertificate { verdict: "infeasible", reason })
    }
}

/// Whether a row over integer variables has no value between its limits by divisibility.
fn is_indivisible(view: &View<'_>, row: &RowView<'_>) -> bool {
    let terms = || row.terms.iter().filter(|term| term.coefficient != 0.0);
    if !terms().all(|term| view.columns[term.variable].kind == Kind::Integer)
        || terms().next().is_none()
        || !row.lower.is_finite()
        || !row.upper.is_finite()
    {
        return false;
    }
    let (lower, upper) = (Dyadic::of(row.lower), Dyadic::of(row.upper));
    let coefficients = terms().map(|term| Dyadic::of(term.coefficient));
    let exponents = coefficients.clone().chain([lower, upper]).map(|number| number.exponent);
    let exponent = exponents.min().unwrap_or(0);
    let whole = |number: Dyadic| number.scaled::<BigInt>(exponent).expect("the least exponent");
    let divisor = coefficients.fold(BigInt::small(0), |sum, number| sum.gcd(&whole(number)));
    whole(lower).div_ceil(&divisor) > whole(upper).div_floor(&divisor)
}
