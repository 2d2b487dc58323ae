//! `evaluation_results.json`: what came of an evaluation.
//!
//! ```json
//! {"v":1,"model":"…","tasks":164,"num_samples":10,
//!  "pass_at_k":{"1":{"value":0.4523,"low":0.41,"high":0.49,"tasks":164,"left_out":0}},
//!  "greedy":{…},"code":{"code_rate":{…},"pass_given_code":{…}},"greedy_code":{…},"by_source":{"mbpp":{…}},"by_difficulty":{…},
//!  "verdicts":{"pass":742,"wrong":890,"no_code":8},"greedy_verdicts":{…},
//!  "causes":{"no_code":{"in_thinking":8}},"greedy_causes":{…},"errors":0,"errors_by_reason":{},
//!  "cut_off":3,"rejected":0,"suite":"9f2c…","settings":{"eval.temperature":"1"},
//!  "figures":{"syntax_rate":{"value":0.95,…},"tests_passed":{…},"quality":{…},"diversity":{…},"diversity_passing":{…}},
//!  "by_task":[{"id":"mbpp/11","samples":10,"passed":4,"greedy":true,"no_code":{"samples":1,"greedy":false},"figures":{"syntax_rate":1.0,…}}]}
//! ```
//!
//! Files that were written before there were `code`, `figures`, `episodes` or `by_temperature` are read, and compared without them. Where tasks have
//! episodes ([`crate::episodes`]), there is more:
//!
//! ```json
//! {"episodes":{"max_turns":10,"solved_within":{"1":{…},"2":{…}},"means":{"reward":{…},"turns":{…},"solver/rows_kept":{…}}},
//!  "by_source":{"solver/transport":{"tasks":12,"pass_at_k":{…},"greedy":{…},"episodes":{…}}},
//!  "by_task":[{"id":"…","episodes":{"solved_within":{"1":0.25,"2":0.5},"means":{"reward":0.41,"turns":3.5}}}]}
//! ```
//!
//! Of an evaluation at several temperatures, pass@k above is that at the first (`eval.temperature`), and of each further one
//! there is, beside `greedy_episodes` of tasks with episodes:
//!
//! ```json
//! {"by_temperature":{"T=0.6":{"pass_at_k":{"1":{…}},"episodes":{…}}},
//!  "by_task":[{"id":"…","by_temperature":{"T=0.6":{"samples":10,"passed":5}}}]}
//! ```
//!
//! It is a function of the samples: nothing in it depends on when or how fast they were drawn.

mod baseline;
pub(crate) mod best_of;
mod count;
mod decoded;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use whetstone_core::Task;
use whetstone_core::extract::CauseCounts;
use whetstone_core::task::TaskId;
use whetstone_core::wire::Wire;
use whetstone_record::atomic;
use whetstone_record::error::FileError;
use whetstone_record::plain_file::read_plain;

use crate::baseline::Baseline;
use crate::best_of::BestOf;
use crate::code::CodeFigures;
use crate::decoding::Decoding;
use crate::episodes::Episodes;
use crate::error::EvalError;
use crate::estimate::Estimate;
use crate::figure::Figure;
use crate::task_count::TaskCount;

/// The figures, in the directory of an evaluation.
pub const RESULTS: &str = "evaluation_results.json";

/// The version of the file.
const VERSION: u64 = 1;

/// Upper limit for a file of results.
const LIMIT_BYTES: u64 = 256 << 20;

/// The model and the settings of an evaluation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct About {
    /// The model's name.
    pub model: String,
    /// Values of k for which pass@k is wanted.
    pub k: Vec<u32>,
    /// Replies at most of the tasks whose episodes may have several.
    pub max_turns: BTreeMap<TaskId, u32>,
    /// Every setting that influences a sample or its verdict, with its value: only an evaluation
    /// with the same settings may resume another.
    pub settings: BTreeMap<String, String>,
}

/// The results of an evaluation.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Results {
    /// The version of the format.
    pub v: u64,
    /// The model's name.
    pub model: String,
    /// Tasks of the suite.
    pub tasks: usize,
    /// Samples of each; of the task with most, if they differ.
    pub num_samples: u64,
    /// By k.
    pub pass_at_k: BTreeMap<u32, Estimate>,
    /// pass@1 with greedy decoding.
    pub greedy: Option<Estimate>,
    /// Replies with code, over all samples but the greedy ones; absent in files from before it was counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<CodeFigures>,
    /// The same for greedy samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub greedy_code: Option<CodeFigures>,
    /// pass@k and episodes at further temperatures.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub by_temperature: BTreeMap<Decoding, AtTemperature>,
    /// Figures of the programs, over all samples but the greedy ones.
    pub figures: BTreeMap<Figure, Estimate>,
    /// Figures of episodes, over all samples but the greedy ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub episodes: Option<Episodes>,
    /// The same for greedy samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub greedy_episodes: Option<Episodes>,
    /// The best of N samples by a reward model, by N.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub best_of: BTreeMap<u32, BestOf>,
    /// The directory of that reward model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reward_model: Option<String>,
    /// pass@k by data set.
    pub by_source: BTreeMap<String, Part>,
    /// pass@k by the difficulty that the data sets give.
    pub by_difficulty: BTreeMap<String, Part>,
    /// Number of samples per verdict.
    pub verdicts: BTreeMap<String, u64>,
    /// The same for greedy samples.
    pub greedy_verdicts: BTreeMap<String, u64>,
    /// Number of samples per cause of a verdict that is about the form of the reply.
    #[serde(skip_serializing_if = "CauseCounts::is_empty")]
    pub causes: CauseCounts,
    /// The same for greedy samples.
    #[serde(skip_serializing_if = "CauseCounts::is_empty")]
    pub greedy_causes: CauseCounts,
    /// Samples that could not be judged. They count as not passed, unless nothing of their task
    /// could be judged: then the task is left out.
    pub errors: u64,
    /// Why not.
    pub errors_by_reason: BTreeMap<String, u64>,
    /// Samples that the limit on tokens cut off.
    pub cut_off: u64,
    /// Tokens of a sample, without the greedy ones; absent where lines do not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_tokens: Option<f64>,
    /// The model with other prompts, measured greedily before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub baseline_prompts: Vec<Baseline>,
    /// Lines of given samples that belong to none of these tasks.
    pub rejected: u64,
    /// A digest of the tasks and their tests.
    pub suite: String,
    /// The settings that influence a sample or its verdict.
    pub settings: BTreeMap<String, String>,
    /// The counts of each task, in the order of the suite.
    pub by_task: Vec<TaskCount>,
}

/// Figures at a further temperature.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct AtTemperature {
    /// By k; without those for which no task has enough samples.
    pub pass_at_k: BTreeMap<u32, Estimate>,
    /// Figures of episodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub episodes: Option<Episodes>,
}

/// Figures of some of the tasks.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Part {
    /// Number of tasks.
    pub tasks: usize,
    /// By k; without those for which no task has enough samples.
    pub pass_at_k: BTreeMap<u32, Estimate>,
    /// pass@1 with greedy decoding.
    pub greedy: Option<Estimate>,
    /// Figures of episodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub episodes: Option<Episodes>,
}

impl Results {
    /// Reads the results of an evaluation: its directory, or the file itself.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or is something else.
    pub fn read(path: &Path) -> Result<Self, EvalError> {
        let is_dir = path.is_dir();
        let path = if is_dir { path.join(RESULTS) } else { path.to_owned() };
        // A file that the user names may be a link; in a directory, it may not.
        let file = if is_dir { None } else { fs::canonicalize(&path).ok() };
        let refused = |problem: String| EvalError::NotResults { path: path.clone(), problem };
        let text = read_plain(file.as_ref().unwrap_or(&path), LIMIT_BYTES)
            .map_err(|err| refused(err.to_string()))?;
        let results: Self =
            serde_json::from_slice(&text).map_err(|err| refused(err.to_string()))?;
        match results.v {
            VERSION if results.by_task.is_empty() => Err(refused("it counts no task".to_owned())),
            VERSION => Ok(results),
            0 => Err(refused("field `v` is missing".to_owned())),
            newer => {
                Err(refused(format!("version {newer} is newer than this whet reads ({VERSION})")))
            }
        }
    }

    /// Writes them.
    ///
    /// # Errors
    ///
    /// If the file cannot be replaced.
    pub fn write(&self, path: &Path) -> Result<(), EvalError> {
        let mut text = serde_json::to_vec_pretty(self).map_err(|err| {
            let (step, path) = ("write", path.to_owned());
            FileError { step, path, source: err.into() }
        })?;
        text.push(b'\n');
        Ok(atomic::replace(path, &text)?)
    }
}

/// A digest of tasks, in whatever order they come: the same tests have the same.
pub fn suite(tasks: &[Task]) -> String {
    let mut lines: Vec<String> = tasks.iter().map(Task::to_line).collect();
    lines.sort_unstable();
    let mut hasher = blake3::Hasher::new();
    for line in &lines {
        hasher.update(&(line.len() as u64).to_le_bytes());
        hasher.update(line.as_bytes());
    }
    hasher.finalize().to_hex()[..32].to_owned()
}
