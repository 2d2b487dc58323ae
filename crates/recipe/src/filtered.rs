//! What became of tasks that were filtered by pass rates, or why none could be; [`crate::filtering`] does it.

use std::path::PathBuf;

use serde::Serialize;
use whetstone_core::task::TaskId;

use crate::text::plain;

/// A rate of fewer samples is hardly one.
pub const FEW_SAMPLES: u64 = 4;

/// What became of the tasks.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct FilterSummary {
    /// The version of the document.
    pub v: u64,
    /// The models that the rates are of; none if the file names none.
    pub models: Vec<String>,
    /// The temperature of their samples, if the file says it.
    pub temperature: Option<f64>,
    /// Tasks that were read.
    pub tasks: u64,
    /// Tasks that were kept.
    pub kept: u64,
    /// Tasks below the lowest rate.
    pub too_hard: u64,
    /// Of these, the ones that were never solved.
    pub never_solved: u64,
    /// Tasks above the highest rate.
    pub too_easy: u64,
    /// Of these, the ones that were always solved.
    pub always_solved: u64,
    /// Tasks without a rate.
    pub no_rate: u64,
    /// Tasks whose rate is of fewer than [`FEW_SAMPLES`] samples.
    pub few_samples: u64,
    /// Rates of tasks that are not in the file.
    pub other_tasks: u64,
    /// Whether the tasks are, by their digest, those that were measured; none where only a part of them is here.
    pub same_tasks: Option<bool>,
}

/// Why tasks cannot be filtered.
#[derive(Debug, thiserror::Error)]
pub enum FilterError {
    /// The rates are of another model than the one that is trained.
    #[error("the rates of `{}` are of the model `{}`, and the model to train is `{}`", path.display(), plain(found, 200), plain(expected, 200))]
    OtherModel {
        /// The file of rates.
        path: PathBuf,
        /// Its model.
        found: String,
        /// The model that is trained.
        expected: String,
    },
    /// The lowest rate is above the highest.
    #[error("`--min` is {min} and `--max` is {max}: no rate is between them")]
    Bounds {
        /// The lowest.
        min: f64,
        /// The highest.
        max: f64,
    },
    /// No rate belongs to one of the tasks.
    #[error("`{}` has no rate of any task of `{}`: its first is `{}`", rates.display(), tasks.display(), first.as_ref().map_or_else(|| "none".to_owned(), |id| plain(id.as_str(), 100)))]
    NoRates {
        /// The file of rates.
        rates: PathBuf,
        /// The file of tasks.
        tasks: PathBuf,
        /// The first task of the rates.
        first: Option<TaskId>,
    },
    /// No task has a rate between the bounds.
    #[error("no task is left of {}: {} below {min}, {} above {max}, {} without a rate", summary.tasks, summary.too_hard, summary.too_easy, summary.no_rate)]
    Nothing {
        /// What became of them.
        summary: Box<FilterSummary>,
        /// The lowest rate.
        min: f64,
        /// The highest.
        max: f64,
    },
}

impl FilterError {
    /// A suggestion for the user.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::OtherModel { .. } => {
                "measure the model itself: `whet eval --tasks TASKS --model MODEL --out DIR`; if it is the one that training \
                 begins with, name it with `--model`; `--any-model` takes the rates as they are"
            }
            Self::Bounds { .. } => "name a lower `--min` or a higher `--max`",
            Self::NoRates { .. } => "measure these tasks: `whet eval --tasks TASKS`",
            Self::Nothing { .. } => "widen `--min` and `--max`, or measure other tasks",
        }
    }
}
