//! Answers that a checker of the task's author decides, because several are right.
//!
//! ```text
//! program's process ── values ──► supervisor ── input, expected, answer ──► checker's process ── bool
//! ```
//!
//! All answers are gathered first. Then the program is ended and its scratch space cleared, and each
//! answer gets a checker of its own: a fresh process that never loaded the program, in the same jail,
//! to which the answer is plain data. So a program reaches a checker by its answer alone.
//!
//! That answer can still be one that an honest checker does not expect: of another type, huge, deep.
//! The checker raises, or never ends. A program must not be able to look like a broken machine in this
//! way, and a broken checker must not look like a wrong program. The two are told apart by a control:
//! a checker that fails on an answer is asked, in another fresh process, about the expected answer.
//! If it accepts that, it works, and the answer is wrong. If it does not, the task is broken, which is
//! never a reward.
//!
//! The same holds for time: what a checker spends on all answers of a program is bounded.

use std::time::Duration;

use whetstone_core::program::Language;
use whetstone_core::verdict::Verdict;

use super::broken::Broken;
use super::child::{ChildKind, ChildProcess};
use super::setting::token;
use super::slot::{How, Judged, Slot, limits};
use super::steps::{ProgramSession, StepFailure, shown};
use super::stop::Stop;
use super::tally::TestTally;
use crate::job::Limits;
use crate::plan::{CheckerInput, Plan, Step};
use crate::protocol::JudgeRequest;
use crate::value::{self, Value, decode, encode};

/// Bytes of all answers of a program that are kept until it has ended.
const ANSWERS_MAX: usize = 64 << 20;
/// The time of all checkers of one program, as a multiple of the limit of one.
const BUDGET: u32 = 4;

/// The checking of one program's answers.
#[derive(Debug)]
pub(super) struct Checking<'a> {
    code: &'a str,
    /// The program's language; checkers are Python.
    language: Language,
    limits: Limits,
    spent: Duration,
}

/// The result of checking an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CheckResult {
    Right,
    Wrong,
    /// Wrong, and the checker does not end on it: others may cost as much.
    Endless,
    /// There is no time left to check it.
    OutOfTime,
}

/// The reply of a checker's process.
enum CheckerReply {
    Accepts,
    Rejects,
    Fails { problem: String, endless: bool },
}

/// A program's answer to a test in `marshal` form, or its verdict there.
type Gathered = Result<Vec<u8>, Verdict>;

impl<'a> Checking<'a> {
    pub(super) fn new(code: &'a str, request: &JudgeRequest) -> Self {
        let (language, limits) = (request.program.language, limits(request));
        Self { code, language, limits, spent: Duration::ZERO }
    }
}

impl CheckResult {
    /// Counts a test with its answer; returns whether to continue with the next.
    pub(super) fn enter(
        self,
        tally: &mut TestTally,
        test: u32,
        got: impl FnOnce() -> Option<String>,
    ) -> bool {
        match self {
            Self::Right => tally.pass(),
            Self::Wrong | Self::Endless => tally.wrong(test, got()),
            Self::OutOfTime => tally.fail(Verdict::Timeout),
        }
        matches!(self, Self::Right | Self::Wrong)
    }
}

impl Slot {
    /// Loads the program once, asks it for each test, and has its answers checked when it has ended.
    pub(super) fn call_for_checker(
        &mut self,
        request: &JudgeRequest,
        plan: &Plan,
        checker: &str,
    ) -> Judged {
        let limits = limits(request);
        let mut tally = TestTally::new(plan.steps.len());
        let mut child = self.fork(ChildKind::Program, limits, None)?;
        self.set_up(&mut child, plan, limits)?;
        let loaded = ProgramSession::new(&mut child).load(&request.program.source, &plan.after);
        let mut answers = Vec::new();
        let mut stop = None;
        match loaded {
            Ok(()) => {
                stop = gather(&mut child, &plan.steps, &mut answers)?;
                if stop.is_some() {
                    let test = u32::try_from(answers.len()).unwrap_or(u32::MAX);
                    let how = self.how(&mut child, stop.as_ref(), limits)?;
                    answers.push(Err(how.verdict(Some(test))));
                }
            }
            Err(StepFailure::Stopped(problem)) => {
                tally.fail_loading(self.how(&mut child, Some(&problem), limits)?.verdict(None));
                stop = Some(problem);
            }
            Err(failure) => tally.fail_loading(failure.while_loading()),
        }
        let cpu = match stop {
            Some(_) => child.end(stop.as_ref()).cpu,
            None => child.leave(),
        };
        self.leaving = Some(child);
        let mut checking = Checking::new(checker, request);
        for (test, (step, answer)) in (0..).zip(plan.steps.iter().zip(answers)) {
            match answer {
                Err(verdict) => tally.fail(verdict),
                Ok(answer) => {
                    let found = self.check_answer(&mut checking, step, &answer, test)?;
                    let got = || Some(shown(&decode(&answer, value::ValueLimits::default()).ok()?));
                    if !found.enter(&mut tally, test, got) {
                        break;
                    }
                }
            }
        }
        Ok(tally.judgement(self.held(cpu))?)
    }

    /// Checks the output of a whole program. Output that is not UTF-8 is wrong.
    pub(super) fn check_output(
        &mut self,
        checking: &mut Checking<'_>,
        step: &Step,
        output: &[u8],
        test: u32,
    ) -> Result<CheckResult, Broken> {
        match std::str::from_utf8(output) {
            Ok(text) => self.check_answer(checking, step, &encode(&Value::str(text)), test),
            Err(_) => Ok(CheckResult::Wrong),
        }
    }

    fn check_answer(
        &mut self,
        checking: &mut Checking<'_>,
        step: &Step,
        answer: &[u8],
        test: u32,
    ) -> Result<CheckResult, Broken> {
        if checking.spent > BUDGET * checking.limits.cpu {
            return Ok(CheckResult::OutOfTime);
        }
        let broken = |problem: String| Broken::test(test, &problem);
        let Some(asked) = CheckerInput::of(step) else {
            return Err(broken("it has no answer to check".to_owned()));
        };
        let [input, expected] = [&asked.input, &asked.expected].map(encode);
        let (problem, endless) = match self.ask_checker(checking, &[&input, &expected, answer])? {
            CheckerReply::Accepts => return Ok(CheckResult::Right),
            CheckerReply::Rejects => return Ok(CheckResult::Wrong),
            CheckerReply::Fails { problem, endless } => (problem, endless),
        };
        let control = match self.ask_checker(checking, &[&input, &expected, &expected])? {
            CheckerReply::Accepts if endless => return Ok(CheckResult::Endless),
            CheckerReply::Accepts => return Ok(CheckResult::Wrong),
            CheckerReply::Rejects => "it rejects it".to_owned(),
            CheckerReply::Fails { problem, .. } => problem,
        };
        Err(broken(format!(
            "its checker fails, on an answer: {problem}; on the expected answer: {control}"
        )))
    }

    /// Asks a fresh checker about an input, an expected value and an answer, when nothing of the program
    /// is left.
    fn ask_checker(
        &mut self,
        checking: &mut Checking<'_>,
        told: &[&[u8]],
    ) -> Result<CheckerReply, Broken> {
        self.rest();
        self.speak(Language::Python);
        let forked = self.fork(ChildKind::AnswerChecker, checking.limits, None);
        self.speak(checking.language);
        let mut child = forked?;
        let token = token();
        let about = [token.as_bytes(), checking.code.as_bytes()];
        let message = parts(&[&about, told].concat());
        let fails = |problem: String| CheckerReply::Fails { problem, endless: false };
        let said = match child.send(b'A', &[&message]).and_then(|()| child.receive()) {
            Ok(frame) => match (frame.kind, frame.payload.strip_prefix(token.as_bytes())) {
                (b'p', Some(_)) => CheckerReply::Accepts,
                (b'n', Some(_)) => CheckerReply::Rejects,
                (b'f', Some(problem)) => fails(String::from_utf8_lossy(problem).into_owned()),
                _ => fails("it writes to the judge's channel".to_owned()),
            },
            Err(stop) => {
                let how = self.how(&mut child, Some(&stop), checking.limits)?;
                CheckerReply::Fails { problem: problem(how), endless: how == How::Timeout }
            }
        };
        checking.spent += child.end(None).cpu;
        Ok(said)
    }
}

/// Asks a program for all its answers, up to one after which there will be no other.
fn gather(
    child: &mut ChildProcess,
    steps: &[Step],
    answers: &mut Vec<Gathered>,
) -> Result<Option<Stop>, Broken> {
    let mut bytes = 0;
    for (test, step) in (0..).zip(steps) {
        answers.push(match ProgramSession::new(child).value(step) {
            Ok(value) => {
                let answer = encode(&value);
                bytes += answer.len();
                if bytes <= ANSWERS_MAX { Ok(answer) } else { Err(Verdict::Output) }
            }
            Err(StepFailure::Stopped(stop)) => return Ok(Some(stop)),
            Err(StepFailure::Test(problem)) => {
                return Err(Broken::test(test, &problem));
            }
            Err(failure) => Err(failure.in_test(test)),
        });
    }
    Ok(None)
}

fn problem(how: How) -> String {
    match how {
        How::Timeout => "it does not end in time".to_owned(),
        How::Memory => "it needs too much memory".to_owned(),
        How::Output => "it writes too much".to_owned(),
        How::Threads => "it starts too many threads".to_owned(),
        How::Crashed(signal) => format!("it was ended by signal {signal}"),
        How::Left => "its process ended without an answer".to_owned(),
        How::Garbled => "it writes to the judge's channel".to_owned(),
    }
}

/// Parts one after another, each with its length before it.
fn parts(parts: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(parts.iter().map(|part| part.len() + 4).sum());
    for part in parts {
        bytes.extend(u32::try_from(part.len()).unwrap_or(u32::MAX).to_le_bytes());
        bytes.extend_from_slice(part);
    }
    bytes
}
