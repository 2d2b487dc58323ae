//! `whet doctor`: every assumption, checked before it costs a training run.
//!
//! A check examines one thing and returns PASS, WARN (works, but less well) or FAIL (cannot work),
//! with its observation and a suggestion. All checks always run: a user wants the whole list.

mod formats;
mod judge;
mod kernel;
mod machine;
mod python;
mod student;
mod teacher;

use serde::Serialize;
use whetstone_core::config::Config;

use crate::cli::{DoctorArgs, ProbeFeature};
use crate::config_command::load;
use crate::exit::Exit;
use crate::failure::counted;
use crate::printer::{Printer, Tone};

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// The name of the check.
    check: &'static str,
    status: Status,
    /// The observation.
    detail: String,
    /// A suggestion for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'static str>,
    /// The tokens of a training row, in the check of those.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tokens: Vec<LabelledToken>,
}

/// A token of a training row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct LabelledToken {
    id: u32,
    text: String,
    /// It is a label, and not masked.
    trained: bool,
}

/// The status of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum Status {
    Pass,
    Warn,
    Fail,
}

/// The checks, in the order of the pipeline.
const CHECKS: &[fn(&Config) -> Finding] = &[
    formats::prompt,
    formats::extraction,
    formats::teacher_formats,
    python::interpreter,
    kernel::release,
    kernel::namespaces,
    kernel::landlock,
    kernel::seccomp,
    kernel::cgroups,
    judge::isolation,
    judge::self_test,
    machine::disk,
    machine::memory,
    machine::cores,
    machine::cuda,
];

/// Runs every check.
pub(crate) fn run(args: &DoctorArgs, printer: Printer) -> anyhow::Result<Exit> {
    let config = load(&args.config)?.config;
    let progress = printer.progress(CHECKS.len() as u64);
    let mut findings = Vec::new();
    let mut say = |finding: Finding| -> anyhow::Result<()> {
        tracing::debug!(?finding, "checked");
        if !args.json {
            progress.suspend(|| print(findings.len() + 1, &finding, printer))?;
            if args.labels {
                progress.suspend(|| print_labels(&finding.tokens, printer))?;
            }
        }
        progress.inc(1);
        findings.push(finding);
        Ok(())
    };
    for check in CHECKS {
        say(check(&config))?;
    }
    if args.teacher {
        say(teacher::finding(&config))?;
    }
    if let Some(model) = &args.model {
        student::checks(&config, model, printer, &mut say)?;
    }
    progress.finish_and_clear();
    summary(&findings, args.json, printer)
}

/// Tries one kernel feature in this very process, which ends after it.
pub(crate) fn probe(feature: ProbeFeature) -> Exit {
    match feature {
        ProbeFeature::Namespaces => kernel::enter_namespaces(),
    }
}

impl Finding {
    fn pass(check: &'static str, detail: impl Into<String>) -> Self {
        Self { check, status: Status::Pass, detail: detail.into(), hint: None, tokens: Vec::new() }
    }

    fn warn(check: &'static str, detail: impl Into<String>, hint: &'static str) -> Self {
        Self {
            check,
            status: Status::Warn,
            detail: detail.into(),
            hint: Some(hint),
            tokens: Vec::new(),
        }
    }

    fn fail(check: &'static str, detail: impl Into<String>, hint: &'static str) -> Self {
        Self {
            check,
            status: Status::Fail,
            detail: detail.into(),
            hint: Some(hint),
            tokens: Vec::new(),
        }
    }
}

fn print(number: usize, finding: &Finding, printer: Printer) -> anyhow::Result<()> {
    let status = match finding.status {
        Status::Pass => printer.toned("PASS", Tone::Good),
        Status::Warn => printer.toned("WARN", Tone::Doubtful),
        Status::Fail => printer.toned("FAIL", Tone::Bad),
    };
    printer.data(format_args!("{number:>2}. {status} {}: {}", finding.check, finding.detail))?;
    match finding.hint {
        Some(hint) => {
            printer.data(format_args!("         {}: {hint}", printer.toned("hint", Tone::Hint)))
        }
        None => Ok(()),
    }
}

/// Every token with its label.
fn print_labels(tokens: &[LabelledToken], printer: Printer) -> anyhow::Result<()> {
    tokens.iter().try_for_each(|LabelledToken { id, text, trained }| {
        let label = if *trained { "trained" } else { "masked" };
        printer.data(format_args!("         {label:<7} {id:>6} {text:?}"))
    })
}

fn summary(findings: &[Finding], json: bool, printer: Printer) -> anyhow::Result<Exit> {
    #[derive(Serialize)]
    struct Report<'a> {
        total: usize,
        passed: usize,
        warnings: usize,
        failed: usize,
        checks: &'a [Finding],
    }
    let count = |status| findings.iter().filter(|finding| finding.status == status).count();
    let (passed, warnings, failed) =
        (count(Status::Pass), count(Status::Warn), count(Status::Fail));
    let total = findings.len();
    if json {
        printer.json(&Report { total, passed, warnings, failed, checks: findings })?;
    } else {
        let (all, warned) = (counted(total, "check"), counted(warnings, "warning"));
        printer.data(format_args!("\n{all}: {passed} passed, {warned}, {failed} failed"))?;
        printer.note(if failed == 0 {
            "This machine is fit."
        } else {
            "Fix what failed, then run this again."
        });
    }
    Ok(if failed == 0 { Exit::Done } else { Exit::No })
}
