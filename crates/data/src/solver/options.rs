//! How difficult problems are, and how they look. In a stage file:
//!
//! ```toml
//! solver_options = { injections = ["row", "sense"], conflicts = [1, 2], views = ["lp"], names = "plain" }
//! ```

use std::ops::RangeInclusive;

use serde::{Deserialize, Deserializer};
use whetstone_env::solver::View;

use super::injection_kind::InjectionKind;
use super::names::Names;
use crate::random::Random;

/// The largest end of a range.
const LARGEST: usize = 20;

/// What problems are generated.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SolverOptions {
    /// Families; all if empty.
    pub families: Vec<String>,
    /// Kinds of injections.
    pub injections: Vec<InjectionKind>,
    /// Conflicts of a problem.
    #[serde(deserialize_with = "range")]
    pub conflicts: RangeInclusive<usize>,
    /// Size of a model: larger ones have more rows and variables.
    #[serde(deserialize_with = "range")]
    pub size: RangeInclusive<usize>,
    /// Members of the IIS that is shown first.
    #[serde(deserialize_with = "range")]
    pub iis: RangeInclusive<usize>,
    /// Forms in which models are shown.
    pub views: Vec<View>,
    /// How rows and variables are named.
    pub names: Names,
    /// Whether the IIS is shown, or has to be asked for.
    pub show_iis: bool,
}

impl Default for SolverOptions {
    fn default() -> Self {
        Self {
            families: Vec::new(),
            injections: InjectionKind::ALL.to_vec(),
            conflicts: 1..=3,
            size: 2..=4,
            iis: 3..=12,
            views: vec![View::Code, View::Lp, View::Table],
            names: Names::Words,
            show_iis: true,
        }
    }
}

impl SolverOptions {
    pub(super) fn has_family(&self, name: &str) -> bool {
        self.families.is_empty() || self.families.iter().any(|family| family == name)
    }

    pub(super) fn takes_iis(&self, members: usize) -> bool {
        self.iis.contains(&members)
    }

    /// A size; a model of several conflicts has at least as much room, if the options allow it.
    pub(super) fn draw_size(&self, conflicts: usize, random: &mut Random) -> usize {
        within(&self.size, random).max(conflicts.min(*self.size.end()))
    }

    pub(super) fn draw_conflicts(&self, random: &mut Random) -> usize {
        within(&self.conflicts, random)
    }

    pub(super) fn draw_injection(&self, random: &mut Random) -> InjectionKind {
        self.injections[random.below(self.injections.len())]
    }

    /// How many rows a new one contradicts: with it they are an IIS of the sizes that are wanted, bounds aside.
    pub(super) fn draw_parents(&self, most: usize, random: &mut Random) -> usize {
        let parents = |members: usize| (members - 1).clamp(1, most);
        within(&(parents(*self.iis.start())..=parents(*self.iis.end())), random)
    }

    pub(super) fn draw_view(&self, random: &mut Random) -> View {
        self.views[random.below(self.views.len())]
    }
}

/// `[1, 3]`.
fn range<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RangeInclusive<usize>, D::Error> {
    let [low, high] = <[usize; 2]>::deserialize(deserializer)?;
    checked_range(low, high).map_err(serde::de::Error::custom)
}

/// A range from at least 1 to at most 20.
///
/// # Errors
///
/// A sentence about what is expected.
pub fn checked_range(low: usize, high: usize) -> Result<RangeInclusive<usize>, String> {
    if 1 <= low && low <= high && high <= LARGEST {
        return Ok(low..=high);
    }
    Err(format!("expected two numbers from 1 to {LARGEST}, the smaller one first"))
}

fn within(range: &RangeInclusive<usize>, random: &mut Random) -> usize {
    range.start() + random.below(range.end() - range.start() + 1)
}
