//! Runs steps one after another and reports on them.
//!
//! A step's own output goes straight to the terminal, so cargo-nextest's closing summary stays as
//! it wrote it. Around it come a heading, the wall time and, at the end, a table in which a step
//! that was skipped or never reached is a row of its own: silence is never success.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use crate::skips::{self, Skips};
use crate::steps::{Action, Args, Step, Without};

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It holds.
    Passed,
    /// Its tool is not installed; says how to get it.
    Skipped(String),
    /// It does not hold, or could not be run; says why.
    Failed(String),
}

/// A step that was run.
#[derive(Debug)]
pub struct Report {
    /// The step's name.
    pub name: &'static str,
    /// How it ended.
    pub outcome: Outcome,
    /// Wall time.
    pub wall: Duration,
}

/// Whether something that was skipped is a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Skipping {
    /// It is told.
    Told,
    /// It fails the run.
    Fails,
}

/// Runs `steps` in the repository at `root` until one fails, and writes the talk to `out`.
pub fn run(
    root: &Path,
    steps: &[Step],
    skipping: Skipping,
    out: &mut dyn Write,
) -> io::Result<ExitCode> {
    skips::forget(root)?;
    let reports = run_until_failure(root, steps, out)?;
    write!(out, "\n{}", table(steps, &reports))?;
    let skips = Skips::read(root);
    if let Some(skips) = &skips {
        write!(out, "\n{}", skips.summary())?;
    }
    let any = |is: fn(&Outcome) -> bool| reports.iter().any(|report| is(&report.outcome));
    let skipped = any(|outcome| matches!(outcome, Outcome::Skipped(_)))
        || skips.is_some_and(|skips| !skips.is_empty());
    let failed = any(|outcome| matches!(outcome, Outcome::Failed(_)));
    let refused = skipping == Skipping::Fails && skipped;
    if refused && !failed {
        writeln!(out, "\n`--strict`: something was skipped, see above")?;
    }
    Ok(if failed || refused { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Runs `steps` in order; the last report is the failed one, if any is.
pub fn run_until_failure(
    root: &Path,
    steps: &[Step],
    out: &mut dyn Write,
) -> io::Result<Vec<Report>> {
    let mut reports = Vec::new();
    for step in steps {
        writeln!(out, "\n==> {}: {}", step.name, step.what)?;
        let start = Instant::now();
        let outcome = perform(root, step.action, out)?;
        let wall = start.elapsed();
        announce(step.name, &outcome, wall, out)?;
        let failed = matches!(outcome, Outcome::Failed(_));
        reports.push(Report { name: step.name, outcome, wall });
        if failed {
            break;
        }
    }
    Ok(reports)
}

/// One row per step, whether it was reached or not.
pub fn table(steps: &[Step], reports: &[Report]) -> String {
    let row = |(at, step): (usize, &Step)| match reports.get(at) {
        Some(Report { outcome, wall, .. }) => {
            format!("{:<8} {:<8} {:>8.1} s\n", step.name, word(outcome), wall.as_secs_f64())
        }
        None => format!("{:<8} {:<8}\n", step.name, "not run"),
    };
    steps.iter().enumerate().map(row).collect()
}

/// `cargo`, as the toolchain that runs us names it, in the repository at `root`.
///
/// A clone that was never built incrementally is not now: the state for incremental builds costs CPU time
/// and, for all targets, more disk than everything else together.
pub fn cargo(root: &Path, args: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    command.args(args).current_dir(root);
    if std::env::var_os("CARGO_INCREMENTAL").is_none() && !has_incremental_state(root) {
        command.env("CARGO_INCREMENTAL", "0");
    }
    command
}

/// Whether a crate of ours, but for this one, was built incrementally.
fn has_incremental_state(root: &Path) -> bool {
    let own = || root.join("target");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(own, |dir| root.join(dir));
    let ours = |entry: io::Result<fs::DirEntry>| {
        entry.is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with("whetstone_"))
    };
    fs::read_dir(target.join("debug/incremental")).is_ok_and(|mut all| all.any(ours))
}

fn perform(root: &Path, action: Action, out: &mut dyn Write) -> io::Result<Outcome> {
    match action {
        Action::Cargo(args) => run_cargo(root, args, out),
        Action::Here(check) => Ok(check(root).map_or_else(Outcome::Failed, |()| Outcome::Passed)),
        Action::Try(attempt) => Ok(attempt(root)),
        Action::Look(find) => Ok(find().map_or_else(Outcome::Skipped, |()| Outcome::Passed)),
        Action::Tool { tool, with, without } => match without {
            _ if is_installed(root, tool) => run_cargo(root, with, out),
            Without::Run(args) => {
                writeln!(out, "cargo-{tool} is not installed: running `cargo {}`", args[0])?;
                run_cargo(root, args, out)
            }
            Without::Skip => Ok(Outcome::Skipped(format!(
                "cargo-{tool} is not installed; `cargo install --locked cargo-{tool}` gets it"
            ))),
        },
    }
}

fn run_cargo(root: &Path, args: Args, out: &mut dyn Write) -> io::Result<Outcome> {
    let line = format!("cargo {}", args.join(" "));
    writeln!(out, "$ {line}")?;
    Ok(match cargo(root, args).status() {
        Ok(status) if status.success() => Outcome::Passed,
        Ok(status) => Outcome::Failed(format!("`{line}` ended with {status}")),
        Err(err) => Outcome::Failed(format!("cannot start `{line}`: {err}")),
    })
}

fn is_installed(root: &Path, tool: &str) -> bool {
    let quiet = || Stdio::null();
    let probe = cargo(root, &[tool, "--version"]).stdout(quiet()).stderr(quiet()).status();
    probe.is_ok_and(|status| status.success())
}

fn announce(name: &str, outcome: &Outcome, wall: Duration, out: &mut dyn Write) -> io::Result<()> {
    if let Outcome::Skipped(why) | Outcome::Failed(why) = outcome {
        writeln!(out, "{why}")?;
    }
    writeln!(out, "<== {name}: {} in {:.1} s", word(outcome), wall.as_secs_f64())
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "passed",
        Outcome::Skipped(_) => "SKIPPED",
        Outcome::Failed(_) => "FAILED",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: Step = Step { name: "good", what: "holds", action: Action::Here(|_| Ok(())) };
    const BAD: Step =
        Step { name: "bad", what: "breaks", action: Action::Here(|_| Err("seven".to_owned())) };
    const ABSENT: Step = Step {
        name: "absent",
        what: "needs a tool nobody has",
        action: Action::Tool {
            tool: "no-such-tool-of-whetstone",
            with: &["no-such-tool-of-whetstone"],
            without: Without::Skip,
        },
    };

    /// Runs `steps` and returns the outcomes as words with all that was said.
    fn run_all(steps: &[Step]) -> (String, String) {
        let mut said = Vec::new();
        let reports = run_until_failure(Path::new("."), steps, &mut said).unwrap();
        let words: Vec<&str> = reports.iter().map(|report| word(&report.outcome)).collect();
        (words.join(" "), String::from_utf8(said).unwrap())
    }

    #[test]
    fn the_first_failure_ends_the_run_and_says_why() {
        let (words, said) = run_all(&[GOOD, BAD, GOOD]);
        assert_eq!(words, "passed FAILED");
        assert!(said.contains("==> bad: breaks\nseven\n<== bad: FAILED in "), "{said}");
    }

    #[test]
    fn a_missing_tool_is_skipped_aloud_and_the_run_goes_on() {
        let (words, said) = run_all(&[ABSENT, GOOD]);
        assert_eq!(words, "SKIPPED passed");
        assert!(said.contains("cargo install --locked cargo-no-such-tool-of-whetstone"), "{said}");
    }

    #[test]
    fn without_its_tool_a_step_says_what_it_runs_instead() {
        let action = Action::Tool {
            tool: "no-such-tool-of-whetstone",
            with: &["no-such-tool-of-whetstone"],
            without: Without::Run(&["--version"]),
        };
        let (words, said) = run_all(&[Step { action, ..GOOD }]);
        assert_eq!(words, "passed");
        assert!(said.contains("is not installed: running `cargo --version`"), "{said}");
    }

    #[test]
    fn a_step_never_reached_has_a_row() {
        let wall = Duration::from_millis(1250);
        let reports = [Report { name: "bad", outcome: Outcome::Failed("seven".to_owned()), wall }];
        assert_eq!(
            table(&[BAD, GOOD], &reports),
            "bad      FAILED        1.2 s\ngood     not run \n"
        );
    }

    #[test]
    fn one_failure_fails_the_whole() {
        let root = tempfile::tempdir().unwrap();
        let code =
            |steps: &[Step], skipping| run(root.path(), steps, skipping, &mut io::sink()).unwrap();
        assert_eq!(code(&[GOOD, ABSENT], Skipping::Told), ExitCode::SUCCESS);
        assert_eq!(code(&[GOOD, ABSENT], Skipping::Fails), ExitCode::FAILURE);
        assert_eq!(code(&[GOOD], Skipping::Fails), ExitCode::SUCCESS);
        assert_eq!(code(&[GOOD, BAD], Skipping::Told), ExitCode::FAILURE);
    }
}
