//! A verdict with its evidence, as it stands in a scored line under `validation`:
//!
//! ```json
//! {"verdict":"wrong","test":1,"got":"[2, 1]","tests_passed":1,"tests_total":3,"cpu_ms":1.9,"isolation":"full"}
//! {"verdict":"timeout","loading":true,"tests_passed":0,"tests_total":3,"cpu_ms":5000.0,"isolation":"full"}
//! {"error":"the zygote died twice"}
//! {"skipped":"runtime"}
//! {"kind":"guess","solved":true,"facts":{"guesses":2}}
//! ```
//!
//! `got` is what the program answered to the test that it is wrong in, for people: the beginning of it, as Python
//! writes it. Nothing is computed from it; runs record it, and `whet score` leaves it out, since it may be another text
//! each time. The second did not get as far as its first test, whatever its verdict is. The third could not be
//! judged. The fourth was not run, because it was not requested: its reward is made of static terms
//! and no verdict is claimed. The fifth is the observation of an environment that runs no programs.
//!
//! A judgement that contradicts itself (`pass` with a test missing, `wrong` with all passed) is
//! refused when it is made and when it is read: a reward is computed from these numbers.
// size: the wire form and what it refuses stand beside the type that they guard.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::validation::Validation;
use crate::verdict::Verdict;

/// The verdict on one program with its evidence and isolation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawJudgement", into = "RawJudgement")]
pub struct Judgement {
    verdict: Verdict,
    tests_passed: u32,
    tests_total: u32,
    cpu_ms: f64,
    isolation: Option<Isolation>,
    while_loading: bool,
    got: Option<String>,
}

/// Characters of an answer that are kept for people.
pub const MAX_GOT_CHARS: usize = 200;

/// The isolation of a program from the machine.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// Resource limits and a system call filter.
    Rlimit,
    /// These and Landlock.
    Landlock,
    /// These and fresh namespaces.
    Full,
}

impl Isolation {
    /// The level's name in settings and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rlimit => "rlimit",
            Self::Landlock => "landlock",
            Self::Full => "full",
        }
    }
}

/// The machine broke: we do not know what the program would have done.
///
/// Never a reward. The sample is tried again, then left out of its group and counted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot judge: {0}")]
pub struct Infrastructure(pub String);

/// Why a judgement contradicts itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JudgementError {
    /// The counts do not belong to the verdict.
    #[error("`{verdict}` with {passed} of {total} tests passed")]
    Counts {
        /// The verdict's name.
        verdict: &'static str,
        /// Tests said to have passed.
        passed: u32,
        /// Tests said to exist.
        total: u32,
    },
    /// The failing test is not one of the tests.
    #[error("test {test} of {total}: tests are counted from 0")]
    Test {
        /// The test named.
        test: u32,
        /// Tests said to exist.
        total: u32,
    },
    /// A program that does not load is asked for no test.
    #[error("`{verdict}` comes from a test, and so not from loading")]
    Loading {
        /// The verdict's name.
        verdict: &'static str,
    },
    /// Time cannot be negative or NaN.
    #[error("`cpu_ms` is not a finite number at least 0")]
    CpuTime,
    /// A program that ran was held somehow; one that did not was not.
    #[error("`{verdict}` {}", if *.ran { "needs an `isolation`" } else { "has no `isolation`" })]
    Isolation {
        /// The verdict's name.
        verdict: &'static str,
        /// Whether that verdict comes from a run.
        ran: bool,
    },
    /// The verdict is not one we know, or lacks a detail.
    #[error("{0}")]
    Verdict(String),
}

/// Numbers of passed tests and of all tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Hidden tests that passed.
    pub passed: u32,
    /// Hidden tests there are.
    pub total: u32,
}

/// CPU time and isolation of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Held {
    /// CPU time of the program, in milliseconds.
    pub cpu_ms: f64,
    /// The isolation it ran with.
    pub isolation: Isolation,
}

impl Judgement {
    /// Of a program that ran.
    pub fn of_run(verdict: Verdict, counts: Counts, held: Held) -> Result<Self, JudgementError> {
        let (tests_passed, tests_total) = (counts.passed, counts.total);
        let (cpu_ms, isolation) = (held.cpu_ms, Some(held.isolation));
        let (while_loading, got) = (verdict.is_load_error(), None);
        Self { verdict, tests_passed, tests_total, cpu_ms, isolation, while_loading, got }.checked()
    }

    /// Of a program that did not get as far as its first test, of `tests_total`.
    pub fn of_loading(
        verdict: Verdict,
        tests_total: u32,
        held: Held,
    ) -> Result<Self, JudgementError> {
        let counts = Counts { passed: 0, total: tests_total };
        Self { while_loading: true, ..Self::of_run(verdict, counts, held)? }.checked()
    }

    /// Of a reply without a program that could run.
    pub fn of_reply(verdict: Verdict, tests_total: u32) -> Result<Self, JudgementError> {
        let (tests_passed, cpu_ms, isolation, while_loading, got) = (0, 0.0, None, false, None);
        Self { verdict, tests_passed, tests_total, cpu_ms, isolation, while_loading, got }.checked()
    }

    /// The same with what the program answered to the test that it is wrong in, cut to
    /// [`MAX_GOT_CHARS`]. Other verdicts have none.
    #[must_use]
    pub fn with_got(self, got: Option<&str>) -> Self {
        let got = got.filter(|_| matches!(self.verdict, Verdict::Wrong { .. })).map(cut);
        Self { got, ..self }
    }

    /// The program's answer to the failing test, if it is known.
    pub fn got(&self) -> Option<&str> {
        self.got.as_deref()
    }

    /// Replaces the CPU time.
    pub fn with_cpu_ms(self, cpu_ms: f64) -> Result<Self, JudgementError> {
        Self { cpu_ms, ..self }.checked()
    }

    /// Whether a program was run that did not get as far as its first test: it raised, ran out of
    /// something or ended while it was loaded.
    pub fn is_of_loading(&self) -> bool {
        self.while_loading
    }

    /// The verdict.
    pub fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    /// Hidden tests that passed, of how many.
    pub fn counts(&self) -> Counts {
        Counts { passed: self.tests_passed, total: self.tests_total }
    }

    /// CPU time of the program, in milliseconds.
    pub fn cpu_ms(&self) -> f64 {
        self.cpu_ms
    }

    /// The isolation of the run; `None` if nothing ran.
    pub fn isolation(&self) -> Option<Isolation> {
        self.isolation
    }

    fn checked(self) -> Result<Self, JudgementError> {
        let (passed, total) = (self.tests_passed, self.tests_total);
        let verdict = self.verdict.name();
        let all = passed == total && total > 0;
        if passed > total || all != self.verdict.is_pass() {
            return Err(JudgementError::Counts { verdict, passed, total });
        }
        let of_test = passed > 0 || failing_test(&self.verdict).is_some();
        if self.while_loading && of_test && !self.verdict.is_load_error() {
            return Err(JudgementError::Loading { verdict });
        }
        if let Some(test) = failing_test(&self.verdict).filter(|&test| test >= total) {
            return Err(JudgementError::Test { test, total });
        }
        if !(self.cpu_ms.is_finite() && self.cpu_ms >= 0.0) {
            return Err(JudgementError::CpuTime);
        }
        let ran = self.verdict.ran();
        if ran != self.isolation.is_some() {
            return Err(JudgementError::Isolation { verdict, ran });
        }
        Ok(self)
    }
}

/// The beginning of an answer; one that was cut keeps its mark.
fn cut(text: &str) -> String {
    let mut shown: String = text.chars().take(MAX_GOT_CHARS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

fn failing_test(verdict: &Verdict) -> Option<u32> {
    match verdict {
        Verdict::Wrong { test }
        | Verdict::Raised { test, .. }
        | Verdict::Unserialisable { test } => Some(*test),
        _ => None,
    }
}

/// The wire form. Details that we do not know are passed over: later judges say more.
#[derive(Serialize, Deserialize)]
struct RawJudgement {
    verdict: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    test: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signal: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    got: Option<String>,
    /// It happened while the program was loaded; not said of `load_error`, which always does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    loading: bool,
    tests_passed: u32,
    tests_total: u32,
    cpu_ms: f64,
    isolation: Option<Isolation>,
}

impl TryFrom<RawJudgement> for Judgement {
    type Error = JudgementError;

    fn try_from(raw: RawJudgement) -> Result<Self, JudgementError> {
        let RawJudgement { tests_passed, tests_total, cpu_ms, isolation, loading, .. } = raw;
        let (verdict, said) = read_verdict(raw)?;
        let (while_loading, got) = (loading || verdict.is_load_error(), None);
        let read =
            Self { verdict, tests_passed, tests_total, cpu_ms, isolation, while_loading, got };
        read.with_got(said.as_deref()).checked()
    }
}

/// The verdict, and what the program answered.
fn read_verdict(raw: RawJudgement) -> Result<(Verdict, Option<String>), JudgementError> {
    let (name, got) = (raw.verdict, raw.got);
    let verdict = match (name.as_str(), raw.test, raw.kind, raw.signal) {
        ("pass", None, None, None) => Verdict::Pass,
        ("wrong", Some(test), None, None) => Verdict::Wrong { test },
        ("raised", Some(test), Some(kind), None) => Verdict::Raised { test, kind },
        ("timeout", None, None, None) => Verdict::Timeout,
        ("memory", None, None, None) => Verdict::Memory,
        ("output", None, None, None) => Verdict::Output,
        ("crashed", None, None, Some(signal)) => Verdict::Crashed { signal },
        ("load_error", None, Some(kind), None) => Verdict::LoadError { kind },
        ("no_code", None, None, None) => Verdict::NoCode,
        ("syntax_error", None, None, None) => Verdict::SyntaxError,
        ("unserialisable", Some(test), None, None) => Verdict::Unserialisable { test },
        _ => {
            let problem = format!("`{name}` is no verdict, or its details do not belong to it");
            return Err(JudgementError::Verdict(problem));
        }
    };
    Ok((verdict, got))
}

impl From<Judgement> for RawJudgement {
    fn from(judgement: Judgement) -> Self {
        let loading = judgement.while_loading && !judgement.verdict.is_load_error();
        let Judgement { verdict, tests_passed, tests_total, cpu_ms, isolation, got, .. } =
            judgement;
        let test = failing_test(&verdict);
        let name = verdict.name().to_owned();
        let (kind, signal) = match verdict {
            Verdict::Raised { kind, .. } | Verdict::LoadError { kind } => (Some(kind), None),
            Verdict::Crashed { signal } => (None, Some(signal)),
            _ => (None, None),
        };
        Self {
            verdict: name,
            test,
            kind,
            signal,
            got,
            loading,
            tests_passed,
            tests_total,
            cpu_ms,
            isolation,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Evidence;

    const HELD: Held = Held { cpu_ms: 1.5, isolation: Isolation::Full };

    fn every_verdict() -> Vec<Verdict> {
        let kind = "IndexError".to_owned();
        vec![
            Verdict::Pass,
            Verdict::Wrong { test: 0 },
            Verdict::Raised { test: 2, kind: kind.clone() },
            Verdict::Timeout,
            Verdict::Memory,
            Verdict::Output,
            Verdict::Crashed { signal: 11 },
            Verdict::LoadError { kind },
            Verdict::NoCode,
            Verdict::SyntaxError,
            Verdict::Unserialisable { test: 1 },
        ]
    }

    fn judgement(verdict: Verdict) -> Judgement {
        let passed = if verdict.is_pass() { 3 } else { 0 };
        if verdict.ran() {
            Judgement::of_run(verdict, Counts { passed, total: 3 }, HELD).unwrap()
        } else {
            Judgement::of_reply(verdict, 3).unwrap()
        }
    }

    #[test]
    fn every_verdict_comes_back_from_its_line() {
        for verdict in every_verdict() {
            let judged = Validation::from(judgement(verdict));
            let json = serde_json::to_string(&judged).unwrap();
            assert_eq!(serde_json::from_str::<Validation>(&json).unwrap(), judged, "{json}");
        }
    }

    #[test]
    fn that_a_program_did_not_load_is_kept_whatever_its_verdict_is() {
        let kind = "NameError".to_owned();
        for verdict in
            [Verdict::Timeout, Verdict::Memory, Verdict::Output, Verdict::LoadError { kind }]
        {
            let is_named = verdict.is_load_error();
            let judged = Judgement::of_loading(verdict.clone(), 3, HELD).unwrap();
            let json = serde_json::to_string(&judged).unwrap();
            assert_eq!(json.contains(r#""loading":true"#), !is_named, "{json}");
            let read: Judgement = serde_json::from_str(&json).unwrap();
            assert!(read.is_of_loading() && read == judged, "{json}");
            let other = Judgement::of_run(verdict, Counts { passed: 0, total: 3 }, HELD).unwrap();
            assert_eq!(other.is_of_loading(), is_named);
        }
        assert!(Judgement::of_loading(Verdict::Wrong { test: 0 }, 3, HELD).is_err());
        assert!(Judgement::of_loading(Verdict::Pass, 3, HELD).is_err());
        refused(
            r#"{"verdict":"timeout","loading":true,"tests_passed":1,"tests_total":3,"cpu_ms":0,"isolation":"full"}"#,
            "comes from a test",
        );
    }

    #[test]
    fn what_was_answered_is_kept_of_a_wrong_program_and_cut() {
        let wrong = judgement(Verdict::Wrong { test: 0 }).with_got(Some("[2, 1]"));
        let json = serde_json::to_string(&wrong).unwrap();
        assert!(json.contains(r#""test":0,"got":"[2, 1]""#), "{json}");
        let read: Judgement = serde_json::from_str(&json).unwrap();
        assert_eq!((read.got(), &read), (Some("[2, 1]"), &wrong));
        assert_eq!(judgement(Verdict::Timeout).with_got(Some("7")).got(), None);
        let long = json.replace("[2, 1]", &"ß".repeat(5000));
        let read: Judgement = serde_json::from_str(&long).unwrap();
        assert_eq!(read.got().unwrap().chars().count(), MAX_GOT_CHARS + 1);
        let again: Judgement =
            serde_json::from_str(&serde_json::to_string(&read).unwrap()).unwrap();
        assert_eq!(again.got(), read.got(), "cut once");
    }

    #[test]
    fn a_program_that_was_not_run_has_no_verdict() {
        let line = r#"{"skipped":"runtime"}"#;
        let read: Validation = serde_json::from_str(line).unwrap();
        assert_eq!(read, Validation::Seen(Evidence::NotRun));
        assert_eq!(serde_json::to_string(&read).unwrap(), line);
        refused(r#"{"skipped":"runtime","verdict":"pass"}"#, "unknown field `verdict`");
        refused(r#"{"skipped":"tests"}"#, "unknown variant `tests`");
    }

    #[test]
    fn only_pass_means_that_every_test_passed() {
        for verdict in every_verdict().into_iter().filter(Verdict::ran) {
            let pass = verdict.is_pass();
            let all = Counts { passed: 3, total: 3 };
            let name = verdict.name();
            assert_eq!(Judgement::of_run(verdict.clone(), all, HELD).is_ok(), pass, "{name} 3/3");
            let some = Counts { passed: 2, total: 3 };
            assert_eq!(Judgement::of_run(verdict.clone(), some, HELD).is_ok(), !pass, "{name} 2/3");
            let more = Counts { passed: 4, total: 3 };
            assert!(Judgement::of_run(verdict.clone(), more, HELD).is_err(), "{name} 4/3");
            let none = Counts { passed: 0, total: 0 };
            let nothing = Judgement::of_run(verdict, none, HELD);
            assert!(!pass || nothing.is_err(), "no test at all must not pass");
        }
    }

    #[track_caller]
    fn refused(line: &str, message: &str) {
        let err = serde_json::from_str::<Validation>(line).unwrap_err().to_string();
        assert!(err.contains(message), "{err}");
    }

    #[test]
    fn a_line_that_contradicts_itself_is_refused() {
        let line = |verdict: &str| {
            format!(
                r#"{{{verdict},"tests_passed":2,"tests_total":3,"cpu_ms":0,"isolation":"full"}}"#
            )
        };
        refused(&line(r#""verdict":"pass""#), "`pass` with 2 of 3 tests passed");
        refused(&line(r#""verdict":"wrong","test":3"#), "test 3 of 3: tests are counted from 0");
        refused(&line(r#""verdict":"wrong""#), "its details do not belong to it");
        refused(&line(r#""verdict":"timeout","signal":9"#), "its details do not belong to it");
        refused(&line(r#""verdict":"great""#), "`great` is no verdict");
        refused(&line(r#""verdict":"no_code""#), "`no_code` has no `isolation`");
    }

    #[test]
    fn a_program_that_ran_was_held_somehow() {
        let line =
            r#"{"verdict":"timeout","tests_passed":0,"tests_total":1,"cpu_ms":0,"isolation":null}"#;
        refused(line, "`timeout` needs an `isolation`");
        refused(&line.replace(":0,\"iso", ":-1,\"iso"), "`cpu_ms` is not a finite number");
    }

    #[test]
    fn levels_are_ordered_so_that_a_minimum_can_be_asked_for() {
        assert!(Isolation::Rlimit < Isolation::Landlock && Isolation::Landlock < Isolation::Full);
    }
}
