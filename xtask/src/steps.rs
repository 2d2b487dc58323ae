//! The steps of CI, as one table.
//!
//! `cargo xtask ci` walks it, `--help` prints it, and tidy holds the justfile to it. The test step
//! names its targets (`--lib --bins --tests`): `--all-targets` would also run every benchmark that
//! has its own `main`, at length.

use std::fmt::Write;
use std::path::Path;

use crate::ci::Outcome;
use crate::{bare, browser, cuda, dist, docs, hostile, pictures, site, stats, tidy};

/// One step of CI, which is also a subcommand of `cargo xtask`.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// Its name on the command line and in the justfile.
    pub name: &'static str,
    /// What it holds, as one line of help.
    pub what: &'static str,
    /// How it is done.
    pub action: Action,
}

/// How a step is done.
#[derive(Debug, Clone, Copy)]
pub enum Action {
    /// `cargo` with these arguments.
    Cargo(Args),
    /// `cargo` with a subcommand that not every machine has.
    Tool {
        /// The subcommand, e.g. `nextest`.
        tool: &'static str,
        /// The arguments where it is installed.
        with: Args,
        /// What to do where it is not.
        without: Without,
    },
    /// Looks for something that tests need and not every machine has. `Err` is how to get it.
    Look(fn() -> Result<(), String>),
    /// A function of this crate that finds out for itself whether it can be done.
    Try(fn(&Path) -> Outcome),
    /// A function of this crate, given the repository's root. `Err` is what to tell the reader.
    Here(fn(&Path) -> Result<(), String>),
}

/// What a step does on a machine that lacks its tool.
#[derive(Debug, Clone, Copy)]
pub enum Without {
    /// Run `cargo` with these arguments instead, and say so.
    Run(Args),
    /// Skip the step, and say how to get the tool.
    Skip,
}

/// Arguments of `cargo`.
pub type Args = &'static [&'static str];

/// Every step, in the order CI runs them: what says most about a change first.
pub const STEPS: &[Step] = &[
    Step {
        name: "fmt",
        what: "the code is formatted",
        action: Action::Cargo(&["fmt", "--all", "--", "--check"]),
    },
    Step {
        name: "test",
        what: "unit and integration tests pass (cargo-nextest where it is installed)",
        action: Action::Tool {
            tool: "nextest",
            with: &[
                "nextest",
                "run",
                "--workspace",
                "--locked",
                "--profile",
                "ci",
                "--lib",
                "--bins",
                "--tests",
            ],
            without: Without::Run(&[
                "test",
                "--workspace",
                "--locked",
                "--no-fail-fast",
                "--lib",
                "--bins",
                "--tests",
            ]),
        },
    },
    Step {
        name: "doctest",
        what: "the examples in doc comments run",
        action: Action::Cargo(&["test", "--doc", "--workspace", "--locked"]),
    },
    Step {
        name: "clippy",
        what: "no lint speaks, in any target",
        action: Action::Cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--locked",
            "--",
            "-D",
            "warnings",
        ]),
    },
    Step {
        name: "browser",
        what: "a browser is there for the tests that look at pages (skipped where none is installed)",
        action: Action::Look(browser::find),
    },
    Step {
        name: "cuda",
        what: "every CUDA kernel compiles (skipped where NVRTC is not installed)",
        action: Action::Try(cuda::compile),
    },
    Step {
        name: "docs",
        what: "generated pages are what `whet` generates (`docs --write` rewrites them)",
        action: Action::Here(docs::check),
    },
    Step {
        name: "tidy",
        what: "crate edges, documents and file heads keep the promises of ARCHITECTURE.md",
        action: Action::Here(tidy::step),
    },
    Step {
        name: "deny",
        what: "licences, bans and sources of dependencies (where cargo-deny is installed)",
        action: Action::Tool {
            tool: "deny",
            // Advisories come from the network and change by the day: `just advisories`.
            with: &["deny", "check", "bans", "licenses", "sources"],
            without: Without::Skip,
        },
    },
];

/// The text of `cargo xtask --help`.
pub fn help() -> String {
    let mut text = String::from("Usage: cargo xtask <step>\n\nSteps:\n");
    text += &line(
        "ci",
        "all of the following, in order, until one fails [--strict: a skip is a failure]",
    );
    for step in STEPS {
        text += &line(step.name, step.what);
    }
    text += "\nBeside them:\n";
    text += &line("stats", stats::WHAT);
    text += &line("hostile", hostile::WHAT);
    text += &line("gpu", "tests and times of the kernels on a GPU [--bundle DIR | --run DIR]");
    text += &line("dist", dist::WHAT);
    text += &line("bare", bare::WHAT);
    text += &line("site", site::WHAT);
    text += &line("pictures", pictures::WHAT);
    text
}

fn line(name: &str, what: &str) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "  {name:<8} {what}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every argument list a step may hand to cargo.
    fn argument_lists(step: &Step) -> Vec<Args> {
        match step.action {
            Action::Cargo(args) | Action::Tool { with: args, without: Without::Skip, .. } => {
                vec![args]
            }
            Action::Tool { with, without: Without::Run(without), .. } => vec![with, without],
            Action::Here(_) | Action::Look(_) | Action::Try(_) => vec![],
        }
    }

    #[test]
    fn help_names_every_step_once_and_in_order() {
        let help = help();
        let listed: Vec<&str> = help
            .lines()
            .filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next())
            .collect();
        let steps = STEPS.iter().map(|step| step.name);
        let beside = ["stats", "hostile", "gpu", "dist", "bare", "site", "pictures"];
        let expected: Vec<&str> = std::iter::once("ci").chain(steps).chain(beside).collect();
        assert_eq!(listed, expected);
    }

    #[test]
    fn whatever_builds_is_locked() {
        for step in STEPS.iter().filter(|step| !["fmt", "deny"].contains(&step.name)) {
            for args in argument_lists(step) {
                assert!(args.contains(&"--locked"), "{args:?}");
            }
        }
    }

    #[test]
    fn the_test_step_runs_no_benchmark_with_or_without_nextest() {
        let step = STEPS.iter().find(|step| step.name == "test").unwrap();
        let lists = argument_lists(step);
        assert_eq!(lists.len(), 2);
        for args in lists {
            assert!(args.ends_with(&["--lib", "--bins", "--tests"]), "{args:?}");
            assert!(!args.contains(&"--all-targets") && !args.contains(&"--benches"), "{args:?}");
        }
    }
}
