//! `whet doctor`: every assumption, checked before it costs a training run.
//!
//! A check examines one thing and returns PASS, WARN (works, but less well) or FAIL (cannot work),
//! with its observation and a suggestion. All checks always run: a user wants the whole list.

use serde::Serialize;
use whetstone_doctor::{CHECKS, Finding, LabelledToken, Status, kernel, student, teacher};
use whetstone_recipe::text::counted;

use crate::cli::{DoctorArgs, ProbeFeature};
use crate::config_command::load;
use crate::exit::Exit;
use crate::next::NextCommand;
use crate::printer::{Printer, Tone, suspend};
use crate::version::Build;

/// Runs every check.
pub(crate) fn run(args: &DoctorArgs, printer: Printer) -> anyhow::Result<Exit> {
    let config = load(&args.config)?.config;
    let progress = printer.progress(CHECKS.len() as u64);
    let mut findings = Vec::new();
    let mut say = |finding: Finding| -> anyhow::Result<()> {
        tracing::debug!(?finding, "checked");
        if !args.json {
            suspend(&progress, || print(findings.len() + 1, &finding, printer))?;
            if args.labels {
                suspend(&progress, || print_labels(&finding.tokens, printer))?;
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
        student::checks(&config, model, &printer, &mut say)?;
    }
    progress.finish_and_clear();
    summary(&findings, args, printer)
}

/// Tries one kernel feature in this very process, which ends after it.
pub(crate) fn probe(feature: ProbeFeature) -> Exit {
    match feature {
        ProbeFeature::Namespaces if kernel::enter_namespaces() => Exit::Done,
        ProbeFeature::Namespaces => Exit::No,
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

/// What only flags ask for, and was not looked at.
fn not_checked(args: &DoctorArgs) -> Option<&'static str> {
    match (args.model.is_some(), args.teacher) {
        (true, true) => None,
        (true, false) => Some("The teacher of the settings was not asked: `--teacher` does."),
        (false, true) => Some("No student was looked at: `--model MODEL` does."),
        (false, false) => {
            Some("Neither a student nor the teacher was looked at: `--model MODEL --teacher` does.")
        }
    }
}

fn summary(findings: &[Finding], args: &DoctorArgs, printer: Printer) -> anyhow::Result<Exit> {
    #[derive(Serialize)]
    struct DoctorOutput<'a> {
        #[serde(flatten)]
        build: Build,
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
    if args.json {
        let build = Build::get();
        printer.json(&DoctorOutput { build, total, passed, warnings, failed, checks: findings })?;
    } else {
        let (all, warned) = (counted(total, "check"), counted(warnings, "warning"));
        printer.data(format_args!("\n{all}: {passed} passed, {warned}, {failed} failed"))?;
        if failed == 0 {
            printer.note("This machine is fit.");
            if let Some(sentence) = not_checked(args) {
                printer.note(sentence);
            }
            NextCommand::whet("quickstart").say(printer);
        } else {
            printer.note("Fix what failed, then run this again.");
        }
    }
    Ok(if failed == 0 { Exit::Done } else { Exit::No })
}
