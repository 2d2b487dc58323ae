//! From the judge's answers to a finding. Pure: the next trial follows from the earlier answers, so
//! a killed run resumes exactly where it was.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use whetstone_core::judgement::Judgement;
use whetstone_core::verdict::Verdict;

use super::finding::{Dropped, Finding, Reason};
use super::trial::{Role, Trial};

/// The judge's answer to one trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It was judged.
    Judged(Judgement),
    /// A test turned out to be broken while it ran.
    Broken(String),
}

/// The next action on a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Judge the trial with this number.
    Judge(usize),
    /// None: this is the finding.
    Settled(Finding),
}

/// The next action after the answers to the first trials; a reference that uses more time than
/// `slow` is dropped.
pub fn next(trials: &[Trial], answers: &[Answer], slow: Duration) -> Next {
    let references = trials.iter().take_while(|trial| is_reference(trial)).count();
    let answered = &answers[..answers.len().min(references)];
    if let Some(dropped) = early(answered, slow) {
        return Next::Settled(Finding::Dropped(dropped));
    }
    if answers.len() < references {
        return Next::Judge(answers.len());
    }
    if let Some(dropped) = unproven(answered) {
        return Next::Settled(Finding::Dropped(dropped));
    }
    for (trial, answer) in trials.iter().zip(answers).skip(references) {
        if let Some(dropped) = unchecked(&trial.role, answer) {
            return Next::Settled(Finding::Dropped(dropped));
        }
        if let (Role::Trivial(what), Answer::Judged(judgement)) = (&trial.role, answer)
            && judgement.verdict().is_pass()
        {
            let detail = format!("passes every test: {what}");
            return Next::Settled(Finding::Dropped(Dropped::new(Reason::TrivialPasses, detail)));
        }
    }
    if answers.len() < trials.len() {
        Next::Judge(answers.len())
    } else {
        Next::Settled(Finding::Proven { doubt: doubt(trials, answers) })
    }
}

/// Tests that say nothing of a program: the empty one passes them.
fn doubt(trials: &[Trial], answers: &[Answer]) -> Option<String> {
    trials.iter().zip(answers).find_map(|(trial, answer)| match (&trial.role, answer) {
        (Role::Trivial(what), Answer::Judged(judgement))
            if trial.program.source.is_empty() && judgement.counts().passed > 0 =>
        {
            let counts = judgement.counts();
            Some(format!("{what} passes {} of {} tests", counts.passed, counts.total))
        }
        _ => None,
    })
}

/// The problem with a checker, if this is its answer to the expected values.
fn unchecked(role: &Role, answer: &Answer) -> Option<Dropped> {
    let detail = match (role, answer) {
        (Role::Expected, Answer::Broken(problem)) => problem.clone(),
        (Role::Expected, Answer::Judged(judgement)) if !judgement.verdict().is_pass() => {
            format!("the checker rejects the expected answers: {}", words(judgement))
        }
        _ => return None,
    };
    Some(Dropped::new(Reason::BrokenTests, detail))
}

/// A reason for which the reference need not be run again.
fn early(answers: &[Answer], slow: Duration) -> Option<Dropped> {
    answers.iter().find_map(|answer| match answer {
        Answer::Broken(problem) => Some(Dropped::new(Reason::BrokenTests, problem.clone())),
        Answer::Judged(judgement) => too_slow(judgement, slow),
    })
}

fn too_slow(judgement: &Judgement, slow: Duration) -> Option<Dropped> {
    let seconds = slow.as_secs_f64();
    let detail = if *judgement.verdict() == Verdict::Timeout {
        "the reference runs out of time".to_owned()
    } else if judgement.cpu_ms() > seconds * 1e3 {
        format!("the reference needs more than {seconds} s of CPU time")
    } else {
        return None;
    };
    Some(Dropped::new(Reason::TooSlow, detail))
}

/// The problem with a reference, after its last run.
fn unproven(answers: &[Answer]) -> Option<Dropped> {
    let said = |answer: &Answer| match answer {
        Answer::Judged(judgement) => words(judgement),
        Answer::Broken(problem) => problem.clone(),
    };
    let mut verdicts: Vec<String> = answers.iter().map(said).collect();
    verdicts.dedup();
    match verdicts.as_slice() {
        [first, second, ..] => {
            let detail = format!("the reference gets different verdicts: {first}; {second}");
            Some(Dropped::new(Reason::Flaky, detail))
        }
        [only] if !answers.iter().all(passes) => {
            Some(Dropped::new(Reason::ReferenceFails, format!("the reference gets {only}")))
        }
        _ => None,
    }
}

fn passes(answer: &Answer) -> bool {
    matches!(answer, Answer::Judged(judgement) if judgement.verdict().is_pass())
}

/// A verdict without its times, for people: `raised KeyError in hidden test 1, 2 of 3 pass`.
fn words(judgement: &Judgement) -> String {
    let name = judgement.verdict().name();
    let what = match judgement.verdict() {
        Verdict::Wrong { test } | Verdict::Unserialisable { test } => {
            format!("{name} in hidden test {}", test + 1)
        }
        Verdict::Raised { test, kind } => {
            format!("{name} {kind} in hidden test {}", test + 1)
        }
        Verdict::Crashed { signal } => format!("{name} by signal {signal}"),
        Verdict::LoadError { kind } => format!("{name} {kind}"),
        _ => name.to_owned(),
    };
    let counts = judgement.counts();
    format!("{what}, {} of {} pass", counts.passed, counts.total)
}

fn is_reference(trial: &Trial) -> bool {
    matches!(trial.role, Role::Reference { .. })
}
