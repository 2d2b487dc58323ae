//! The report of scoring a file: the numbers behind the summary.
//!
//! The scored lines hold nothing that differs from run to run; what does (times, cache hits) is
//! here.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;
use whetstone_core::extract::CauseCounts;
use whetstone_core::judgement::Isolation;
use whetstone_core::reward::Reward;
use whetstone_core::task::TaskId;
use whetstone_env::phaser::{self, PhaserFigures};

use super::records::Found;
use super::sampled::Sampled;
use crate::cache;

/// Slowest programs that are named.
const SLOWEST: usize = 10;
/// Distinct error messages that are counted apart.
const MESSAGES: usize = 50;
/// The gate of replies without a program.
pub const CODE_GATE: &str = "code";
/// What further messages are counted under.
const OTHER_MESSAGES: &str = "other errors";

/// The report of scoring a file.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ScoreSummary {
    /// Version of the report.
    pub v: u32,
    /// Lines with something on them.
    pub lines: u64,
    /// Lines that have a reward.
    pub scored: u64,
    /// Lines that could not be judged, and so have none.
    pub failed: u64,
    /// Why they could not, and how often.
    pub errors: BTreeMap<String, u64>,
    /// Lines that are no rollout of a known task.
    pub rejected: u64,
    /// The first of them.
    pub rejected_lines: Vec<BadLine>,
    /// Lines of the task file that are no task.
    pub bad_tasks: u64,
    /// The first of them.
    pub bad_task_lines: Vec<BadLine>,
    /// Groups: lines with the same step and prompt.
    pub groups: u64,
    /// Groups that teach nothing: their tests, or without tests their rewards, are all the same.
    pub dead_groups: u64,
    /// Groups in which no line could be judged.
    pub unjudged_groups: u64,
    /// How often each verdict was given.
    pub verdicts: BTreeMap<String, u64>,
    /// How often a verdict that is about the form of the reply had each cause.
    #[serde(skip_serializing_if = "CauseCounts::is_empty")]
    pub causes: CauseCounts,
    /// Lines whose programs were not run, as asked, or since their tasks have no tests.
    pub not_run: u64,
    /// Lines whose tasks have no tests: their rewards are of static terms alone.
    pub untested: u64,
    /// Lines with a reward above 0 that were run, passed no hidden test or check and did not solve their task; none if no
    /// line was run.
    pub paid_without_pass: Option<u64>,
    /// Lines with a verdict that are paid and passed nothing, whether anything was run or not.
    #[serde(skip)]
    pub unearned: u64,
    /// Some line was run.
    #[serde(skip)]
    pub any_run: bool,
    /// How the rollouts were sampled, as far as their lines say it.
    #[serde(skip)]
    pub sampled: Sampled,
    /// The total and each term of the reward.
    pub rewards: BTreeMap<String, Spread>,
    /// How often each gate held and did not.
    pub gates: BTreeMap<String, GateCount>,
    /// The first line whose reply holds no program, counted from 1; the gate `code` counts them.
    pub first_without_code: Option<u64>,
    /// What came of replies to Phaser tasks, if there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phaser: Option<PhaserFigures>,
    /// How programs were held.
    pub isolation: BTreeMap<Level, u64>,
    /// The programs that took most CPU time.
    pub slowest: Vec<Slow>,
    /// Hits and misses of the cache, if there was one.
    pub cache: Option<CacheReport>,
    /// Lines that an earlier run had judged before it was ended.
    pub resumed: u64,
    /// Seconds from start to end.
    pub wall_seconds: f64,
    /// Lines a second, without those that an earlier run had judged.
    pub lines_per_second: f64,
}

/// A line that was not used, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BadLine {
    /// Counted from 1.
    pub line: u64,
    /// What is wrong with it.
    pub reason: String,
}

/// How values are spread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Spread {
    /// How many.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation (of the population).
    pub std: f64,
    #[serde(skip)]
    squares: f64,
}

/// How often a gate held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct GateCount {
    /// Held.
    pub passed: u64,
    /// Did not, and capped the total.
    pub failed: u64,
}

/// A level of isolation, as a key of JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Level(pub Isolation);

/// A slow program.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Slow {
    /// Its line, counted from 1.
    pub line: u64,
    /// The task it answers.
    pub prompt_id: String,
    /// Its CPU time.
    pub cpu_ms: f64,
    /// What the judge saw.
    pub verdict: String,
}

/// Hits and misses of the cache.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CacheReport {
    /// Counts.
    #[serde(flatten)]
    pub stats: cache::Stats,
    /// Hits among all lookups.
    pub hit_rate: f64,
}

/// The little of a `validation` that is counted.
#[derive(serde::Deserialize)]
struct Seen<'a> {
    #[serde(borrow, default)]
    verdict: Option<&'a str>,
    #[serde(default)]
    isolation: Option<Isolation>,
    #[serde(default)]
    tests_passed: u64,
    /// Of other environments: which it is, and whether the task was solved.
    #[serde(default)]
    solved: Option<bool>,
    #[serde(borrow, default)]
    kind: Option<Cow<'a, str>>,
}

impl Seen<'_> {
    /// Whether a test passed, or the task was solved.
    fn got_anywhere(&self) -> bool {
        self.tests_passed > 0 || self.solved == Some(true)
    }
}

impl Spread {
    fn add(&mut self, value: f64) {
        self.count += 1;
        #[expect(clippy::cast_precision_loss, reason = "lines of a file are far below 2^53")]
        let count = self.count as f64;
        let delta = value - self.mean;
        self.mean += delta / count;
        self.squares += delta * (value - self.mean);
        self.std = (self.squares / count).sqrt();
    }
}

impl ScoreSummary {
    pub(super) fn new() -> Self {
        Self { v: 1, ..Self::default() }
    }

    /// Counts a line that has a reward.
    pub(super) fn count_scored(
        &mut self,
        found: &Found,
        prompt_id: &TaskId,
    ) -> Result<(), serde_json::Error> {
        self.scored += 1;
        let raw =
            |part: &Option<Box<RawValue>>| part.as_deref().map_or("null", RawValue::get).to_owned();
        let validation = raw(&found.validation);
        let seen: Seen<'_> = serde_json::from_str(&validation)?;
        let game = if seen.solved.is_some() && seen.kind.as_deref() == Some(phaser::KIND) {
            Some(self.phaser.get_or_insert_default().count(&validation)?)
        } else {
            None
        };
        let solved = seen.solved.filter(|_| !game.is_some_and(|game| game.not_run));
        // A reply without a program, or one that does not parse, has a verdict where nothing was run.
        let has_verdict = seen.verdict.is_some() || solved.is_some();
        self.any_run |= seen.isolation.is_some() || (solved.is_some() && game.is_none());
        self.any_run |= self.phaser.as_ref().is_some_and(|games| !games.stages.is_empty());
        match (seen.verdict, solved) {
            (Some(verdict), _) => count(&mut self.verdicts, verdict),
            (None, Some(true)) => count(&mut self.verdicts, "solved"),
            (None, Some(false)) => count(&mut self.verdicts, "unsolved"),
            (None, None) => self.not_run += 1,
        }
        if let Some(isolation) = seen.isolation {
            *self.isolation.entry(Level(isolation)).or_default() += 1;
            self.count_time(found, prompt_id, seen.verdict.unwrap_or_default());
        }
        let reward = serde_json::from_str(&raw(&found.reward))?;
        self.count_reward(&reward);
        self.note_code(&reward, found.line);
        let passed = seen.got_anywhere() || game.is_some_and(|game| game.passed);
        self.unearned += u64::from(has_verdict && !passed && reward.total() > 0.0);
        self.paid_without_pass = self.any_run.then_some(self.unearned);
        Ok(())
    }

    /// Counts a line that could not be judged.
    pub(super) fn count_failed(&mut self, error: &str) {
        self.failed += 1;
        let known = self.errors.len() < MESSAGES || self.errors.contains_key(error);
        count(&mut self.errors, if known { error } else { OTHER_MESSAGES });
    }

    fn count_reward(&mut self, reward: &Reward) {
        let terms = reward.terms().iter().map(|(name, term)| (name.as_str(), term.value));
        for (name, value) in terms.chain([("total", reward.total())]) {
            match self.rewards.get_mut(name) {
                Some(spread) => spread.add(value),
                None => self.rewards.entry(name.to_owned()).or_default().add(value),
            }
        }
        for (name, gate) in reward.gates() {
            let counts = match self.gates.get_mut(name) {
                Some(counts) => counts,
                None => self.gates.entry(name.clone()).or_default(),
            };
            *(if gate.passed { &mut counts.passed } else { &mut counts.failed }) += 1;
        }
    }

    /// Keeps the first line without a program.
    fn note_code(&mut self, reward: &Reward, line: u64) {
        let has_none = reward.gates().get(CODE_GATE).is_some_and(|gate| !gate.passed);
        if has_none {
            self.first_without_code.get_or_insert(line + 1);
        }
    }

    fn count_time(&mut self, found: &Found, prompt_id: &TaskId, verdict: &str) {
        let at = self.slowest.partition_point(|slow| slow.cpu_ms >= found.cpu_ms);
        if at < SLOWEST {
            let (prompt_id, verdict) = (prompt_id.to_string(), verdict.to_owned());
            let slow = Slow { line: found.line + 1, prompt_id, cpu_ms: found.cpu_ms, verdict };
            self.slowest.insert(at, slow);
            self.slowest.truncate(SLOWEST);
        }
    }
}

fn count(counts: &mut BTreeMap<String, u64>, name: &str) {
    match counts.get_mut(name) {
        Some(count) => *count += 1,
        None => drop(counts.insert(name.to_owned(), 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_mean_and_standard_deviation() {
        let mut spread = Spread::default();
        for value in [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0] {
            spread.add(value);
        }
        assert_eq!(spread.count, 8);
        assert!((spread.mean - 5.0).abs() < 1e-12 && (spread.std - 2.0).abs() < 1e-12);
    }

    #[test]
    fn errors_are_counted_by_message_and_their_number_is_bounded() {
        let mut report = ScoreSummary::new();
        for n in 0..200 {
            report.count_failed(&format!("message {n}"));
            report.count_failed("the disk is full");
        }
        assert_eq!((report.failed, report.errors["the disk is full"]), (400, 200));
        assert_eq!(report.errors.len(), MESSAGES + 1);
        assert_eq!(report.errors.values().sum::<u64>(), 400);
    }

    #[test]
    fn lines_that_are_paid_without_a_passed_test_are_counted() {
        let ran = |passed: u32| {
            let verdict = if passed == 2 { "pass" } else { "wrong" };
            let test = if passed == 2 { "" } else { r#""test":0,"# };
            format!(
                r#"{{"verdict":"{verdict}",{test}"tests_passed":{passed},"tests_total":2,"cpu_ms":0.0,"isolation":"full"}}"#
            )
        };
        let not_run = r#"{"skipped":"runtime"}"#.to_owned();
        let id = TaskId::try_from("a".to_owned()).unwrap();
        let mut report = ScoreSummary::new();
        let lines = [(ran(0), 0.5), (ran(0), 0.0), (ran(1), 0.5), (ran(2), 1.0), (not_run, 0.3)];
        for (line, (validation, total)) in (0..).zip(lines) {
            let reward = format!(r#"{{"total":{total},"terms":{{"form":{total}}}}}"#);
            let raw = |text| RawValue::from_string(text).ok();
            let (validation, reward) = (raw(validation), raw(reward));
            let found = Found { line, error: None, cpu_ms: 0.0, validation, reward };
            report.count_scored(&found, &id).unwrap();
        }
        assert_eq!((report.scored, report.paid_without_pass), (5, Some(1)), "of the four that ran");
    }

    #[test]
    fn a_game_that_was_not_run_is_neither_solved_nor_unsolved_and_a_passed_check_is_a_pass() {
        let game = |facts: &str, total: f64| {
            let raw = |text| RawValue::from_string(text).ok();
            let validation = raw(format!(r#"{{"kind":"phaser","solved":false,"facts":{facts}}}"#));
            let reward = raw(format!(r#"{{"total":{total},"terms":{{"form":{total}}}}}"#));
            Found { line: 0, error: None, cpu_ms: 0.0, validation, reward }
        };
        let run = |outcome: &str| {
            format!(
                r#"{{"parse":{{"ok":true}},"runtime":{{"stage":"done"}},"task":[{{"outcome":"{outcome}"}}]}}"#
            )
        };
        let lines = [
            game(r#"{"parse":{"ok":true},"not_run":["runtime","task"]}"#, 0.5),
            game(&run("passed"), 0.9),
            game(&run("failed"), 0.6),
            game(r#"{"parse":{"ok":false}}"#, 0.0),
        ];
        let id = TaskId::try_from("a".to_owned()).unwrap();
        let mut report = ScoreSummary::new();
        for line in &lines {
            report.count_scored(line, &id).unwrap();
        }
        assert_eq!((report.not_run, report.verdicts["unsolved"]), (1, 3));
        assert_eq!(
            report.paid_without_pass,
            Some(1),
            "what passed no check, and not what was not run"
        );
        let mut unrun = ScoreSummary::new();
        for line in [&lines[0], &lines[3]] {
            unrun.count_scored(line, &id).unwrap();
        }
        assert_eq!(unrun.paid_without_pass, None, "nothing was checked");
        assert_eq!(report.phaser.unwrap().not_run_terms, ["runtime", "task"]);
    }

    #[test]
    fn the_first_line_without_a_program_is_named() {
        let raw = |text: String| RawValue::from_string(text).ok();
        let id = TaskId::try_from("a".to_owned()).unwrap();
        let mut report = ScoreSummary::new();
        for (line, has_code) in (0..).zip([true, false, true, false]) {
            let validation = raw(r#"{"skipped":"runtime"}"#.to_owned());
            let reward = raw(format!(
                r#"{{"total":0.0,"terms":{{}},"gates":{{"code":{{"passed":{has_code},"cap":0.0}}}}}}"#
            ));
            let found = Found { line, error: None, cpu_ms: 0.0, validation, reward };
            report.count_scored(&found, &id).unwrap();
        }
        assert_eq!((report.first_without_code, report.gates[CODE_GATE].failed), (Some(2), 2));
    }

    #[test]
    fn the_slowest_are_named_in_order() {
        let mut report = ScoreSummary::new();
        let id = TaskId::try_from("a".to_owned()).unwrap();
        for (line, cpu_ms) in (0..50_u64).zip((0..50_u32).map(|n| f64::from(n * 7 % 50))) {
            let found = Found { line, error: None, cpu_ms, validation: None, reward: None };
            report.count_time(&found, &id, "pass");
        }
        let times: Vec<_> = report.slowest.iter().map(|slow| slow.cpu_ms).collect();
        assert_eq!(times, [49.0, 48.0, 47.0, 46.0, 45.0, 44.0, 43.0, 42.0, 41.0, 40.0]);
    }
}
