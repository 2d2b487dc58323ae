//! Tasks by the student's own pass rate: those that it solves now and then are kept.
//!
//! Rollouts of a task that is never solved, or always, have the same reward, and so no advantage (the dead groups of GRPO).
//! Rates are those of an evaluation (`whet eval`) or of scored rollouts, and hold for the model that was measured alone: a file
//! of another model is refused. A task without a rate is left out, and counted.
//!
//! Not here: the order of tasks during training (`grpo.curriculum`), which follows the rates as they change.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use whetstone_core::Task;
use whetstone_core::config::Config;
use whetstone_core::jsonl::{Records, read_tasks};
use whetstone_core::rollout::{RolloutLine, Score};
use whetstone_core::task::TaskId;
use whetstone_core::wire::Object;
use whetstone_eval::{RESULTS, Results, suite};
use whetstone_record::batch::check_outputs;
use whetstone_rollout::collect::record::MODEL;

use crate::failure::Failure;
use crate::filtered::{FEW_SAMPLES, FilterError, FilterSummary};
use crate::pairs::file_of;
use crate::tasks;

/// The lowest rate that is kept, unless another is given.
pub const DEFAULT_MIN: f64 = 0.05;
/// The highest rate that is kept, unless another is given.
pub const DEFAULT_MAX: f64 = 0.9;
/// The setting of an evaluation with the temperature of its samples.
const TEMPERATURE: &str = "eval.temperature";

/// Tasks to filter.
#[derive(Debug, Clone)]
pub struct FilterRequest {
    /// The directory or the results of an evaluation, or a file of scored rollouts.
    pub rates: PathBuf,
    /// The tasks.
    pub tasks: PathBuf,
    /// Where those go that are kept.
    pub out: PathBuf,
    /// The lowest rate that is kept.
    pub min: f64,
    /// The highest.
    pub max: f64,
    /// The model that is to be trained; the setting `student.model_name` if none is given.
    pub model: Option<String>,
    /// Whether rates of another model are taken too.
    pub any_model: bool,
}

/// Samples of a task and how many of them passed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct PassCount {
    samples: u64,
    passed: u64,
}

/// Pass counts by task, and what they were measured with.
#[derive(Debug, Default)]
struct Rates {
    by_task: HashMap<TaskId, PassCount>,
    first: Option<TaskId>,
    models: BTreeSet<String>,
    temperature: Option<f64>,
    /// The digest of all measured tasks.
    suite: Option<String>,
}

/// Keeps the tasks with a rate between the bounds.
///
/// # Errors
///
/// If a file cannot be read or written, the rates are of another model or of other tasks, or no task is left.
pub fn run(request: &FilterRequest, config: &Config) -> Result<FilterSummary, Failure> {
    let FilterRequest { min, max, .. } = *request;
    if min > max {
        return Err(FilterError::Bounds { min, max }.into());
    }
    let inputs = [request.rates.as_path(), request.tasks.as_path()];
    let inputs = inputs.into_iter().filter(|path| path.is_file());
    check_outputs(inputs, [request.out.as_path()])?;
    let rates = read_rates(&request.rates)?;
    if !request.any_model {
        let expected = request.model.as_ref().unwrap_or(&config.student.model_name);
        check_model(&rates, expected, &request.rates)?;
    }
    let all = read_tasks(&request.tasks)?;
    let (kept, summary) = filter(&all, &rates, [min, max]);
    if summary.no_rate == summary.tasks {
        let (rates_file, tasks) = (request.rates.clone(), request.tasks.clone());
        return Err(FilterError::NoRates { rates: rates_file, tasks, first: rates.first }.into());
    }
    if kept.is_empty() {
        return Err(FilterError::Nothing { summary: Box::new(summary), min, max }.into());
    }
    tasks::write(&request.out, &kept)?;
    Ok(summary)
}

/// The tasks between the lowest and the highest rate, both included, in their order.
fn filter(all: &[Task], rates: &Rates, [min, max]: [f64; 2]) -> (Vec<Task>, FilterSummary) {
    let mut summary = FilterSummary {
        v: 1,
        models: rates.models.iter().cloned().collect(),
        temperature: rates.temperature,
        tasks: all.len() as u64,
        same_tasks: same_tasks(all, rates),
        ..FilterSummary::default()
    };
    let mut kept = Vec::new();
    for task in all {
        let count = rates.by_task.get(&task.id).copied().unwrap_or_default();
        if count.samples == 0 {
            summary.no_rate += 1;
            continue;
        }
        summary.few_samples += u64::from(count.samples < FEW_SAMPLES);
        let rate = count.rate();
        if rate < min {
            summary.too_hard += 1;
            summary.never_solved += u64::from(count.passed == 0);
        } else if rate > max {
            summary.too_easy += 1;
            summary.always_solved += u64::from(count.passed == count.samples);
        } else {
            kept.push(task.clone());
        }
    }
    summary.kept = kept.len() as u64;
    let known: BTreeSet<&TaskId> = all.iter().map(|task| &task.id).collect();
    let is_other = |id: &&TaskId| !known.contains(id);
    summary.other_tasks = rates.by_task.keys().filter(is_other).count() as u64;
    (kept, summary)
}

/// Whether the tasks with a rate have the digest of those that were measured. Where some of these are missing, it cannot be told.
fn same_tasks(all: &[Task], rates: &Rates) -> Option<bool> {
    let measured = rates.suite.as_ref()?;
    let rated: Vec<Task> =
        all.iter().filter(|task| rates.by_task.contains_key(&task.id)).cloned().collect();
    (rated.len() == rates.by_task.len()).then(|| suite(&rated) == *measured)
}

fn check_model(rates: &Rates, expected: &str, path: &Path) -> Result<(), FilterError> {
    let place = |name: &str| fs::canonicalize(name).ok();
    let is_same = |found: &str| {
        found == expected || place(found).is_some_and(|found| Some(found) == place(expected))
    };
    match rates.models.iter().find(|found| !is_same(found)) {
        Some(found) => Err(FilterError::OtherModel {
            path: path.to_owned(),
            found: found.clone(),
            expected: expected.to_owned(),
        }),
        None => Ok(()),
    }
}

/// The rates of an evaluation, or else of scored rollouts.
fn read_rates(path: &Path) -> Result<Rates, Failure> {
    let is_results = path.join(RESULTS).is_file()
        || path.extension().is_some_and(|extension| extension == "json");
    if is_results {
        return Ok(Rates::of_results(Results::read(path)?));
    }
    let mut rates = Rates::default();
    for record in Records::<RolloutLine, _>::open(&file_of(path))? {
        rates.add(&record?.record);
    }
    Ok(rates)
}

impl Rates {
    fn of_results(results: Results) -> Self {
        let counts = results.by_task.iter().map(|task| {
            let count = PassCount { samples: task.samples, passed: task.passed };
            (task.id.clone(), count)
        });
        Self {
            by_task: counts.collect(),
            first: results.by_task.first().map(|task| task.id.clone()),
            models: Some(results.model).filter(|model| !model.is_empty()).into_iter().collect(),
            temperature: results.settings.get(TEMPERATURE).and_then(|text| text.parse().ok()),
            suite: Some(results.suite),
        }
    }

    /// Adds a rollout. What was not judged, because nothing was run or the machine failed, counts nowhere.
    fn add(&mut self, rollout: &RolloutLine) {
        self.first.get_or_insert_with(|| rollout.prompt_id.clone());
        self.models.extend(noted::<String>(&rollout.meta, MODEL));
        self.temperature = noted(&rollout.meta, "temperature").or(self.temperature);
        let count = self.by_task.entry(rollout.prompt_id.clone()).or_default();
        if let Some(Score::Scored { outcome, .. }) = &rollout.score
            && let Some(solved) = outcome.evidence.solved()
        {
            count.samples += 1;
            count.passed += u64::from(solved);
        }
    }
}

/// A fact of a rollout. Lines of other tools may have anything there; what is no field of ours is taken for unknown.
fn noted<T: DeserializeOwned>(meta: &Object, field: &str) -> Option<T> {
    serde_json::from_str(meta.get(field)?).ok()
}

impl PassCount {
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    fn rate(self) -> f64 {
        self.passed as f64 / self.samples as f64
    }
}

#[cfg(test)]
mod tests {
    use whetstone_core::wire::Wire;

    use super::*;

    fn task(id: &str) -> Task {
        let line = format!(r#"{{"id":"{id}","statement":"s {id}","tests":["assert f() == 1"]}}"#);
        Task::from_object(serde_json::from_str(&line).unwrap()).unwrap()
    }

    fn rates(counts: &[(&str, u64, u64)]) -> Rates {
        let by_task = counts.iter().map(|&(id, passed, samples)| {
            (TaskId::try_from(id.to_owned()).unwrap(), PassCount { samples, passed })
        });
        Rates { by_task: by_task.collect(), ..Rates::default() }
    }

    #[test]
    fn tasks_between_the_bounds_are_kept_with_the_bounds_and_the_others_are_counted() {
        let ids = ["never", "rare", "low", "half", "high", "often", "always", "unknown"];
        let tasks: Vec<Task> = ids.map(task).into();
        let counts = [
            ("never", 0, 20),
            ("rare", 1, 40),
            ("low", 1, 20),
            ("half", 1, 2),
            ("high", 18, 20),
            ("often", 19, 20),
            ("always", 20, 20),
            ("elsewhere", 3, 20),
        ];
        let (kept, summary) = filter(&tasks, &rates(&counts), [0.05, 0.9]);
        let kept: Vec<_> = kept.iter().map(|task| task.id.as_str()).collect();
        assert_eq!(kept, ["low", "half", "high"]);
        let expected = FilterSummary {
            v: 1,
            tasks: 8,
            kept: 3,
            too_hard: 2,
            never_solved: 1,
            too_easy: 2,
            always_solved: 1,
            no_rate: 1,
            few_samples: 1,
            other_tasks: 1,
            ..FilterSummary::default()
        };
        assert_eq!(summary, expected);
    }

    #[test]
    fn the_digest_tells_changed_tasks_from_those_that_were_measured() {
        let tasks = vec![task("a"), task("b"), task("c")];
        let measured =
            Rates { suite: Some(suite(&tasks[..2])), ..rates(&[("a", 1, 4), ("b", 1, 4)]) };
        assert_eq!(same_tasks(&tasks, &measured), Some(true), "a part of the file was measured");
        let mut changed = tasks.clone();
        changed[1].statement.push('!');
        assert_eq!(same_tasks(&changed, &measured), Some(false));
        assert_eq!(same_tasks(&tasks[1..], &measured), None, "a measured task is missing");
        assert_eq!(same_tasks(&tasks, &rates(&[("a", 1, 4)])), None, "rollouts have no digest");
    }

    #[test]
    fn rates_of_another_model_are_refused_with_both_names() {
        let of = |models: &[&str]| Rates {
            models: models.iter().map(|&model| model.to_owned()).collect(),
            ..Rates::default()
        };
        let check = |models: &[&str]| check_model(&of(models), "org/student", Path::new("eval/a"));
        assert!(check(&["org/student"]).is_ok() && check(&[]).is_ok());
        let refused = check(&["org/student", "org/other"]).unwrap_err().to_string();
        assert_eq!(
            refused,
            "the rates of `eval/a` are of the model `org/other`, and the model to train is `org/student`"
        );
        let dir = tempfile::tempdir().unwrap();
        let [plain, dotted] = ["", "/."].map(|end| format!("{}{end}", dir.path().display()));
        assert!(check_model(&of(&[&plain]), &dotted, Path::new("r")).is_ok(), "one directory");
    }
}
