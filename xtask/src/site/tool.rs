//! mdBook, found or installed.
//!
//! It is a tool and not a dependency of the workspace: only this command needs it, and building it takes longer than
//! xtask may. Another minor version has other settings and other HTML, so it is not taken.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::ci::cargo;

/// The version that is installed.
pub(super) const VERSION: &str = "0.5.4";

/// Where tools of this repository are installed.
const TOOLS: &str = "target/tools";

/// What to do where there is no mdBook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    /// Build it from its published source.
    Install,
    /// Say how to get it.
    Refuse,
}

/// The program to run.
pub(super) fn find(root: &Path, missing: Missing, out: &mut dyn Write) -> Result<PathBuf, String> {
    let own = root.join(TOOLS).join("bin/mdbook");
    let fits = |program: &PathBuf| is_fitting(&version_of(program).unwrap_or_default());
    if let Some(found) = [PathBuf::from("mdbook"), own.clone()].into_iter().find(fits) {
        return Ok(found);
    }
    let install = [
        "install",
        "--locked",
        "--root",
        TOOLS,
        "--no-default-features",
        "--features",
        "search",
        "--version",
        VERSION,
        "mdbook",
    ];
    let command = format!("cargo {}", install.join(" "));
    if missing == Missing::Refuse {
        return Err(format!("there is no mdBook {VERSION}\nhint: `{command}` installs it"));
    }
    writeln!(out, "installing mdBook {VERSION} into {TOOLS}, once; 3 minutes on two idle cores")
        .map_err(|err| err.to_string())?;
    let status =
        cargo(root, &install).status().map_err(|err| format!("cannot start cargo: {err}"))?;
    if status.success() { Ok(own) } else { Err(format!("`{command}` ended with {status}")) }
}

/// What `mdbook --version` prints, e.g. `mdbook v0.5.4`.
fn version_of(program: &Path) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Whether this is the minor version that is installed here.
fn is_fitting(printed: &str) -> bool {
    let version = printed.strip_prefix("mdbook v");
    let minor = |version: &str| version.rsplit_once('.').map(|(minor, _)| minor.to_owned());
    version.and_then(minor) == minor(VERSION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minor_version_is_taken_for_another_of_the_same_alone() {
        let fits =
            ["mdbook v0.5.4", "mdbook v0.5.0", "mdbook v0.4.52", "mdbook v0.6.0", "mdbook", ""];
        assert_eq!(fits.map(is_fitting), [true, true, false, false, false, false]);
    }

    #[test]
    fn where_it_is_missing_the_command_that_gets_it_is_named() {
        let root = tempfile::tempdir().unwrap();
        let Err(why) = find(root.path(), Missing::Refuse, &mut Vec::new()) else { return };
        assert!(why.contains("hint: `cargo install --locked --root target/tools"), "{why}");
    }
}
