//! The report of collecting traces: the numbers behind the table.

use std::collections::BTreeMap;

use serde::Serialize;
use whetstone_core::program::Language;
use whetstone_core::task::TaskId;
use whetstone_core::taught::TaughtEpisode;
use whetstone_core::trace::Trace;

use super::kept::Keep;
use super::teacher::Failure;
use crate::score::BadLine;

/// Kinds of failures and errors that are counted apart.
const KINDS: usize = 50;
/// What further ones are counted under.
const OTHERS: &str = "other reasons";

/// The report of collecting traces.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TeachSummary {
    /// Version of the report.
    pub v: u32,
    /// Tasks that traces were wanted of.
    pub tasks: u64,
    /// Lines of the task file that are no task.
    pub bad_tasks: u64,
    /// The first of them.
    pub bad_task_lines: Vec<BadLine>,
    /// Responses that stand in the output.
    pub responses: u64,
    /// With thinking.
    pub with_thinking: u64,
    /// With code.
    pub with_code: u64,
    /// With Python that compiles.
    pub valid_python: u64,
    /// With a program that passes every hidden test, or solved in another environment.
    pub passing: u64,
    /// Without code that could be found, where a program was asked for.
    pub parse_failures: u64,
    /// Cut off by the limit on tokens.
    pub cut_off: u64,
    /// Responses that are whole episodes of several turns.
    pub episodes: u64,
    /// Turns of these episodes.
    pub turns: u64,
    /// Rows that were written.
    pub rows: u64,
    /// What became of the samples, by teacher.
    pub teachers: BTreeMap<String, TeacherCounts>,
    /// Tasks with at least one passing trace.
    pub solved_tasks: u64,
    /// How often each verdict was given.
    pub verdicts: BTreeMap<String, u64>,
    /// Responses whose program was not run, as asked.
    pub not_run: u64,
    /// Responses that could not be judged; a later run judges them again.
    pub unjudged: u64,
    /// Why they could not, and how often.
    pub errors: BTreeMap<String, u64>,
    /// Responses that nothing can judge: their tasks' tests are at fault.
    pub broken_tests: u64,
    /// These tasks and what is wrong with them, the first of them.
    pub broken_tasks: BTreeMap<String, String>,
    /// Tokens of all responses.
    pub tokens: Tokens,
    /// Samples that an earlier run had stored.
    pub resumed: u64,
    /// Samples for which this run has no answer; a later run asks again.
    pub failed: u64,
    /// Why it has none.
    pub failures: BTreeMap<String, FailureCount>,
    /// Samples of which the teacher has nothing, however often it is asked.
    pub without_trace: u64,
    /// Questions that were asked, each once however often it was tried.
    pub requests: u64,
    /// Tries that failed and were repeated, by what failed: `429`, `timeout`.
    pub retried: BTreeMap<String, u64>,
    /// Seconds from start to end.
    pub wall_seconds: f64,
    /// Questions a second, from start to end.
    pub requests_per_second: f64,
}

/// Tokens that were paid for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Tokens {
    /// Read.
    pub prompt: u64,
    /// Written.
    pub completion: u64,
}

/// What became of the samples of a teacher.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TeacherCounts {
    /// Solved, within `teacher.max_kept_turns` and from `teacher.min_kept_reward` on: those of which rows are made.
    pub kept: u64,
    /// Not solved.
    pub unsolved: u64,
    /// Solved, but with more turns than `teacher.max_kept_turns`.
    pub too_long: u64,
    /// Solved, but the limit on tokens cut a reply off.
    pub cut_off: u64,
    /// Solved, in an episode whose reward is below `teacher.min_kept_reward`.
    pub low_reward: u64,
    /// Without an answer in this run; a later run asks again.
    pub failed: u64,
    /// Not judged: nothing was run, or the environment broke, which is no failure of the teacher.
    pub not_judged: u64,
}

/// How often something failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FailureCount {
    /// Samples.
    pub samples: u64,
    /// What was said the first time.
    pub example: String,
}

impl TeachSummary {
    /// An empty report.
    pub(super) fn new() -> Self {
        Self { v: 1, ..Self::default() }
    }

    /// Counts a trace of the output; of a task that asks for a program, with its language.
    pub(super) fn count(&mut self, trace: &Trace, language: Option<Language>) {
        let has = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.trim().is_empty());
        let verdict = trace.verdict.map(whetstone_core::trace::VerdictName::as_str);
        self.responses += 1;
        self.with_thinking += u64::from(has(&trace.thinking));
        self.with_code += u64::from(trace.code.is_some());
        self.parse_failures += u64::from(trace.code.is_none() && language.is_some());
        let compiles = trace.code.is_some() && verdict != Some("syntax_error");
        self.valid_python += u64::from(compiles && language == Some(Language::Python));
        self.passing += u64::from(trace.passes());
        self.cut_off += u64::from(trace.rest.get("finish").is_some());
        if let Ok(Some(episode)) = TaughtEpisode::of(trace) {
            self.episodes += 1;
            self.turns += episode.turns().len() as u64;
        }
        if let Some(verdict) = verdict {
            *self.verdicts.entry(verdict.to_owned()).or_default() += 1;
        }
        if let Some(usage) = &trace.usage {
            self.tokens.prompt += usage.prompt_tokens;
            self.tokens.completion += usage.completion_tokens;
        }
    }

    /// Counts whether a trace is kept.
    pub(super) fn count_keep(&mut self, teacher: &str, keep: Keep) {
        let counts = self.of_teacher(teacher);
        let count = match keep {
            Keep::Kept => &mut counts.kept,
            Keep::Unsolved => &mut counts.unsolved,
            Keep::TooLong => &mut counts.too_long,
            Keep::CutOff => &mut counts.cut_off,
            Keep::LowReward => &mut counts.low_reward,
            Keep::NotJudged => &mut counts.not_judged,
        };
        *count += 1;
    }

    fn of_teacher(&mut self, teacher: &str) -> &mut TeacherCounts {
        self.teachers.entry(teacher.to_owned()).or_default()
    }

    /// Counts samples that have no answer.
    pub(super) fn count_failure(&mut self, teacher: &str, samples: u64, failure: &Failure) {
        self.failed += samples;
        self.of_teacher(teacher).failed += samples;
        let known = self.failures.len() < KINDS || self.failures.contains_key(&failure.reason);
        let reason = if known { failure.reason.as_str() } else { OTHERS };
        let example = || FailureCount { samples: 0, example: failure.detail.clone() };
        self.failures.entry(reason.to_owned()).or_insert_with(example).samples += samples;
    }

    /// Counts a response that could not be judged, or an episode whose environment broke.
    pub(super) fn count_error(&mut self, error: &str) {
        self.unjudged += 1;
        let known = self.errors.len() < KINDS || self.errors.contains_key(error);
        let error = if known { error } else { OTHERS };
        *self.errors.entry(error.to_owned()).or_default() += 1;
    }

    /// Counts a response to a task whose tests judge nothing.
    pub(super) fn count_broken_tests(&mut self, task: &TaskId, problem: String) {
        self.broken_tests += 1;
        if self.broken_tasks.len() < KINDS {
            self.broken_tasks.entry(task.to_string()).or_insert(problem);
        }
    }

    /// Whether a later run could add something.
    pub fn is_incomplete(&self) -> bool {
        self.failed > 0 || self.unjudged > 0
    }
}

#[cfg(test)]
mod tests {
    use whetstone_core::wire::Wire;

    use super::*;

    fn trace(fields: &str) -> Trace {
        let line =
            format!(r#"{{"task_id":"a","sample":0,"prompt":"p","text":"t","model":"m",{fields}}}"#);
        Trace::from_object(serde_json::from_str(&line).unwrap()).unwrap()
    }

    #[test]
    fn every_row_of_the_table_counts_what_it_says() {
        let mut report = TeachSummary::new();
        for fields in [
            r#""thinking":"hm","code":"x","verdict":"pass","usage":{"prompt_tokens":3,"completion_tokens":4}"#,
            r#""thinking":"","code":"x","verdict":"wrong","finish":"length""#,
            r#""thinking":"hm","code":"x(","verdict":"syntax_error""#,
            r#""thinking":null,"code":null,"verdict":"no_code""#,
            r#""code":"x","verdict":null"#,
        ] {
            report.count(&trace(fields), Some(Language::Python));
        }
        assert_eq!(
            (report.responses, report.with_thinking, report.with_code, report.valid_python),
            (5, 2, 4, 3)
        );
        assert_eq!((report.passing, report.parse_failures, report.cut_off), (1, 1, 1));
        assert_eq!(report.tokens, Tokens { prompt: 3, completion: 4 });
        assert_eq!(report.verdicts.values().sum::<u64>(), 4);
    }

    #[test]
    fn kinds_of_failures_are_bounded_and_none_is_lost() {
        let mut report = TeachSummary::new();
        for n in 0..200 {
            let failure = Failure { reason: format!("reason {n}"), detail: "d".to_owned() };
            report.count_failure("m", 2, &failure);
            report.count_error(&format!("error {n}"));
        }
        assert_eq!((report.failures.len(), report.errors.len()), (KINDS + 1, KINDS + 1));
        assert_eq!(report.failures.values().map(|count| count.samples).sum::<u64>(), 400);
        assert_eq!((report.failed, report.unjudged), (400, 200));
    }
}
