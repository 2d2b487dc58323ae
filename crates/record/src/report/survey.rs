//! Statistics of the rollouts of every step: counted line by line, without their texts.

// size: one pass over the samples; its parts share what was read.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use whetstone_core::completion::Finish;
use whetstone_core::config::Config;
use whetstone_core::extract::Cause;
use whetstone_core::group::Spread;
use whetstone_core::reward::Reward;
use whetstone_core::rollout::{RolloutLine, Score};
use whetstone_core::task::TaskId;

use super::game;
use super::limits::{
    MAX_COMPLETION_BYTES, MAX_COMPLETIONS, MAX_LENGTHS, MAX_NAME_BYTES, MAX_STEPS,
    MAX_SURVEYED_STEPS, MAX_TASK_NAME_BYTES, MAX_TERMS, MAX_TEXT_BYTES,
};
use super::rollouts::{self, Journals, Rollouts};
use super::turns::ShownEpisode;
use crate::error::ViewError;
use crate::journal::Position;
use crate::run_dir::RunView;

/// Memory for a name in addition to its text.
const TASK_NAME_OVERHEAD_BYTES: usize = 64;

/// Statistics of all rollouts.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub(super) steps: BTreeMap<u64, StepSurvey>,
    pub(super) completions: u64,
    /// Text of them all, each cut as a page would.
    text_bytes: u64,
    /// Every task with a completion.
    pub(super) tasks: HashSet<TaskId>,
    task_name_bytes: usize,
    /// Names of terms, each once however many steps have it.
    terms: Vec<String>,
    /// Lengths of completions that are held, of all steps.
    lengths: usize,
    group: Option<GroupSurvey>,
    /// Minimal spread of rewards in a live group without tests.
    floor: f64,
    /// The position reached.
    pub(super) reach: SurveyReach,
}

/// A position in the rollout journals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct SurveyReach {
    /// Of which journals.
    pub(super) journals: Journals,
    /// Position before the last step, in the last journal: reading resumes there and counts that
    /// step again, since more of it may have arrived.
    pub(super) last_step: Position,
    /// Behind everything.
    pub(super) end: Position,
    /// The number of that step.
    pub(super) step: Option<u64>,
}

/// Statistics of one step.
#[derive(Debug, Default)]
pub(super) struct StepSurvey {
    completions: u64,
    groups: u64,
    dead_groups: u64,
    truncated: u64,
    rewarded: u64,
    reward: f64,
    verdicts: BTreeMap<&'static str, u64>,
    /// Of verdicts that are about the form of the reply.
    causes: BTreeMap<&'static str, u64>,
    /// Weighted values, added up.
    terms: Vec<TermSum>,
    tokens: Vec<u32>,
}

/// One term of a step.
#[derive(Debug)]
struct TermSum {
    /// The place of its name.
    place: usize,
    sum: f64,
}

/// Consecutive lines of one task.
#[derive(Debug)]
struct GroupSurvey {
    step: u64,
    task: TaskId,
    spread: Spread,
}

/// A step in the feed.
#[derive(Debug, Serialize)]
pub(super) struct StepRecord<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    step: u64,
    completions: u64,
    groups: u64,
    dead_groups: u64,
    truncated: u64,
    reward: Option<f64>,
    verdicts: &'a BTreeMap<&'static str, u64>,
    causes: &'a BTreeMap<&'static str, u64>,
    /// Mean contribution of each term to the reward.
    terms: BTreeMap<&'a str, f64>,
    /// The shortest, a tenth, the half, nine tenths, the longest.
    tokens: Option<[u64; 5]>,
}

/// Reads every rollout of a run.
pub(super) fn read(view: &RunView) -> Result<Survey, ViewError> {
    let mut rollouts = rollouts::read(view)?;
    let mut survey = Survey::of(view);
    while survey.next(&mut rollouts)?.is_some() {}
    survey.end(&rollouts);
    Ok(survey)
}

/// Reads rollouts that are not of a run.
pub(super) fn of_lines(
    path: &Path,
    lines: impl Iterator<Item = Result<RolloutLine, ViewError>>,
) -> Result<Survey, ViewError> {
    let mut survey = Survey::default();
    for line in lines {
        survey.add(&line?);
        survey.check_size(path)?;
    }
    survey.end_group();
    Ok(survey)
}

impl Survey {
    /// An empty survey of a run, whose settings define when a group is alive. Settings that cannot
    /// be read, such as those of another version, are replaced by the defaults.
    pub(super) fn of(view: &RunView) -> Self {
        let text = view.config_text().unwrap_or_default();
        let config: Config = toml::from_str(&text).unwrap_or_default();
        Self { floor: config.alive_floor(), ..Self::default() }
    }

    /// Every how many steps the page has texts of.
    pub(super) fn text_stride(&self) -> usize {
        let by_count = self.completions.div_ceil(MAX_COMPLETIONS);
        let by_bytes = self.text_bytes.div_ceil(MAX_TEXT_BYTES);
        usize::try_from(by_count.max(by_bytes).max(1)).unwrap_or(usize::MAX)
    }

    /// The steps as the page draws them.
    pub(super) fn records(&self) -> impl Iterator<Item = StepRecord<'_>> {
        let stride = self.steps.len().div_ceil(MAX_STEPS).max(1);
        self.steps.iter().step_by(stride).map(|(&step, seen)| seen.record(step, &self.terms))
    }

    /// Counts the next rollout, and hands it on.
    pub(super) fn next(
        &mut self,
        rollouts: &mut Rollouts,
    ) -> Result<Option<RolloutLine>, ViewError> {
        let before = rollouts.place();
        let Some(rollout) = rollouts.next().transpose()? else { return Ok(None) };
        // Earlier journals are not read again, so a new journal starts from its beginning.
        let is_same_journal = rollouts.place().records() == before.records() + 1;
        if !is_same_journal {
            self.reach.last_step = Position::default();
        } else if self.reach.step != Some(rollout.step) {
            self.reach.last_step = before;
        }
        self.reach.step = Some(rollout.step);
        self.add(&rollout);
        self.check_size(rollouts.folder())?;
        Ok(Some(rollout))
    }

    /// Memory of a survey: a few hundred bytes per step, the names of the tasks and the lengths of
    /// the completions.
    fn check_size(&self, path: &Path) -> Result<(), ViewError> {
        let limit = if self.steps.len() > MAX_SURVEYED_STEPS {
            format!("{MAX_SURVEYED_STEPS} steps")
        } else if self.task_name_bytes > MAX_TASK_NAME_BYTES {
            format!("{} MiB of names of tasks", MAX_TASK_NAME_BYTES >> 20)
        } else if self.lengths > MAX_LENGTHS {
            format!("{MAX_LENGTHS} completions")
        } else {
            return Ok(());
        };
        Err(ViewError::TooLarge { path: path.to_owned(), limit })
    }

    /// Says that this was all, for now.
    pub(super) fn end(&mut self, rollouts: &Rollouts) {
        self.end_group();
        self.reach.journals = rollouts.journals();
        self.reach.end = rollouts.place();
    }

    fn add(&mut self, rollout: &RolloutLine) {
        self.completions += 1;
        self.text_bytes += rollout.text.len().min(MAX_COMPLETION_BYTES) as u64;
        self.text_bytes += ShownEpisode::text_bytes_of(rollout) + game::text_bytes_of(rollout);
        self.join_group(rollout);
        if !self.tasks.contains(&rollout.prompt_id) {
            self.task_name_bytes += rollout.prompt_id.as_str().len() + TASK_NAME_OVERHEAD_BYTES;
            self.tasks.insert(rollout.prompt_id.clone());
        }
        let step = self.steps.entry(rollout.step).or_default();
        step.completions += 1;
        *step.verdicts.entry(rollouts::verdict(rollout)).or_default() += 1;
        // Exceptions have many names, and are no matter of form.
        if let Some(cause) = rollout.cause().filter(|cause| !matches!(cause, Cause::Exception(_))) {
            *step.causes.entry(cause.name()).or_default() += 1;
        }
        if let Some(reward) = reward(rollout) {
            step.pay(reward, &mut self.terms);
        }
        if let Some(tokens) = noted::<u64>(rollout, "tokens") {
            step.tokens.push(u32::try_from(tokens).unwrap_or(u32::MAX));
            self.lengths += 1;
        }
        step.truncated += u64::from(noted(rollout, "finish") == Some(Finish::Length));
    }

    fn join_group(&mut self, rollout: &RolloutLine) {
        let same =
            |group: &GroupSurvey| group.step == rollout.step && group.task == rollout.prompt_id;
        if !self.group.as_ref().is_some_and(same) {
            self.end_group();
            let (step, task) = (rollout.step, rollout.prompt_id.clone());
            self.group = Some(GroupSurvey { step, task, spread: Spread::default() });
        }
        if let (Some(group), Some(reward)) = (&mut self.group, reward(rollout)) {
            group.spread.add(reward.into());
        }
    }

    fn end_group(&mut self) {
        if let Some(group) = self.group.take() {
            let step = self.steps.entry(group.step).or_default();
            step.groups += 1;
            step.dead_groups += u64::from(!group.spread.is_alive(self.floor));
        }
    }
}

impl StepSurvey {
    fn pay(&mut self, reward: &Reward, names: &mut Vec<String>) {
        self.rewarded += 1;
        self.reward += reward.total();
        for (name, term) in reward.terms() {
            let Some(place) = place_of(name, names) else { continue };
            match self.terms.iter_mut().find(|seen| seen.place == place) {
                Some(seen) => seen.sum += term.paid(),
                None => self.terms.push(TermSum { place, sum: term.paid() }),
            }
        }
    }

    fn record<'a>(&'a self, step: u64, names: &'a [String]) -> StepRecord<'a> {
        let mean = |sum: f64| round(sum / number(self.rewarded.max(1)));
        StepRecord {
            kind: "rollouts",
            step,
            completions: self.completions,
            groups: self.groups,
            dead_groups: self.dead_groups,
            truncated: self.truncated,
            reward: (self.rewarded > 0).then(|| mean(self.reward)),
            verdicts: &self.verdicts,
            causes: &self.causes,
            terms: self
                .terms
                .iter()
                .filter_map(|term| Some((names.get(term.place)?.as_str(), mean(term.sum))))
                .collect(),
            tokens: quantiles(&self.tokens),
        }
    }
}

/// The place of a term's name; a new one gets the next, as long as there are few and it is short.
fn place_of(name: &str, names: &mut Vec<String>) -> Option<usize> {
    if let Some(place) = names.iter().position(|known| known == name) {
        return Some(place);
    }
    (names.len() < MAX_TERMS && name.len() <= MAX_NAME_BYTES).then(|| {
        names.push(name.to_owned());
        names.len() - 1
    })
}

/// The reward of a rollout, if it has one.
pub(super) fn reward(rollout: &RolloutLine) -> Option<&Reward> {
    match &rollout.score {
        Some(Score::Scored { outcome, .. }) => Some(&outcome.reward),
        _ => None,
    }
}

/// A field recorded at sampling time. In files of other tools it may have any type; then it is not
/// counted.
fn noted<T: DeserializeOwned>(rollout: &RolloutLine, field: &str) -> Option<T> {
    serde_json::from_str(rollout.meta.get(field)?).ok()
}

/// Rounds to six digits, which is what a page shows, to save bytes.
pub(super) fn round(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

#[expect(clippy::cast_precision_loss, reason = "counts of a step")]
fn number(count: u64) -> f64 {
    count as f64
}

fn quantiles(values: &[u32]) -> Option<[u64; 5]> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let last = sorted.len().checked_sub(1)?;
    Some([0, 1, 5, 9, 10].map(|tenths| u64::from(sorted[last * tenths / 10])))
}

#[cfg(test)]
mod tests {
    use whetstone_core::wire::Wire as _;

    use super::*;

    #[test]
    fn quantiles_are_values_that_were_seen() {
        assert_eq!(quantiles(&[]), None);
        assert_eq!(quantiles(&[7]), Some([7; 5]));
        let mixed: Vec<u32> = (0..=20).rev().collect();
        assert_eq!(quantiles(&mixed), Some([0, 2, 10, 18, 20]));
    }

    /// One line whose terms have these names.
    fn line(step: u64, names: &[String]) -> RolloutLine {
        let terms: BTreeMap<&String, f64> = names.iter().map(|name| (name, 1.0)).collect();
        let text = serde_json::json!({
            "step": step, "prompt_id": "x/0", "group_id": 0, "text": "", "meta": {"tokens": 1},
            "validation": {"verdict": "wrong", "test": 0, "tests_passed": 0, "tests_total": 1,
                           "cpu_ms": 1.0, "isolation": "full"},
            "reward": {"total": names.len(), "terms": terms, "weights": terms, "gates": {}},
        });
        RolloutLine::from_object(serde_json::from_value(text).unwrap()).unwrap()
    }

    #[test]
    fn causes_are_counted_by_step_and_exceptions_are_not() {
        let judged = |kind: &str| {
            serde_json::json!({"verdict": "load_error", "kind": kind, "tests_passed": 0, "tests_total": 1,
                               "cpu_ms": 1.0, "isolation": "full"})
        };
        let mut survey = Survey::default();
        for kind in ["AssertionError", "NameError", "AssertionError"] {
            let line = serde_json::json!({
                "step": 3, "prompt_id": "x", "text": "", "validation": judged(kind),
                "reward": {"total": 0.0, "terms": {}},
            });
            survey.add(&RolloutLine::from_object(serde_json::from_value(line).unwrap()).unwrap());
        }
        let told = serde_json::to_value(survey.records().next().unwrap()).unwrap();
        assert_eq!(told["causes"], serde_json::json!({"own_test_failed": 2}));
        assert_eq!(told["verdicts"], serde_json::json!({"load_error": 3}));
    }

    #[test]
    fn names_of_terms_are_held_once_and_few_of_them() {
        let mut survey = Survey::default();
        for step in 0..300 {
            let long = |n: u64| format!("{:0>500}", step * 24 + n);
            survey.add(&line(step, &(0..24).map(long).collect::<Vec<_>>()));
        }
        let held: usize = survey.terms.iter().map(String::len).sum();
        assert_eq!((survey.steps.len(), survey.terms.len()), (300, MAX_TERMS));
        assert!(held <= MAX_TERMS * MAX_NAME_BYTES, "{held} bytes of names");
        let told: usize = survey.records().map(|step| step.terms.len()).sum();
        assert_eq!(told, MAX_TERMS, "the first ones are told apart, in the steps that have them");
        // An upper bound for any input: each vector may have capacity for twice its length, and the
        // verdicts of a step take less than a kilobyte, the causes a third of one.
        let step = size_of::<StepSurvey>() + 2 * MAX_TERMS * size_of::<TermSum>() + 1024 + 340;
        assert!(MAX_SURVEYED_STEPS * step + 8 * MAX_LENGTHS + MAX_TASK_NAME_BYTES < 200 << 20);
    }

    /// Two rewards without tests that are 0.3 apart: the run's own settings say whether that is alive.
    #[test]
    fn a_group_is_alive_by_the_settings_of_its_run() {
        let dir = tempfile::tempdir().unwrap();
        let dead = |name: &str, config: &str| {
            let run = crate::run_dir::RunDir::create(dir.path(), name, config, 0).unwrap();
            let mut survey = Survey::of(run.view());
            for total in [0.2, 0.5] {
                let line = serde_json::json!({
                    "step": 0, "prompt_id": "x/0", "text": "",
                    "validation": {"verdict": "wrong", "test": 0, "tests_passed": 0,
                                   "tests_total": 1, "cpu_ms": 1.0, "isolation": "full"},
                    "reward": {"total": total, "terms": {"form": total}, "gates": {}},
                });
                let line = serde_json::from_value(line).unwrap();
                survey.add(&RolloutLine::from_object(line).unwrap());
            }
            survey.end_group();
            survey.steps[&0].dead_groups
        };
        assert_eq!(dead("default", "seed = 1\n"), 0);
        assert_eq!(dead("wide", "[grpo]\nalive_spread = 0.4\n"), 1);
        assert_eq!(dead("newer", "[grpo]\nalive_spread = 0.4\nof_a_newer_version = 1\n"), 0);
    }

    #[test]
    fn a_larger_run_shows_the_texts_of_fewer_steps() {
        let stride = |completions, text_bytes| {
            Survey { completions, text_bytes, ..Survey::default() }.text_stride()
        };
        assert_eq!(stride(0, 0), 1);
        assert_eq!(stride(MAX_COMPLETIONS, MAX_TEXT_BYTES), 1);
        assert_eq!(stride(MAX_COMPLETIONS + 1, 0), 2);
        assert_eq!(stride(10, 3 * MAX_TEXT_BYTES), 3);
    }
}
