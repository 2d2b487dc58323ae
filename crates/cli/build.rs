//! Which commit `whet` is built from, for `--version`. Without git, or outside of a checkout (a crate from an archive),
//! nothing is known, and the program says so.
//!
//! Runs again when HEAD moves or a source of the program changes; after a commit this crate is compiled and linked again.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Characters of the commit that are shown. git's own abbreviation depends on what else a clone holds.
const COMMIT_CHARS: usize = 9;

fn main() {
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let sources = sources(&package);
    watch(&package.join("build.rs"));
    for source in &sources {
        watch(source);
    }
    let commit = commit(&package, &sources).unwrap_or_default();
    println!("cargo::rustc-env=WHET_COMMIT={commit}");
    for (name, variable) in [("WHET_TARGET", "TARGET"), ("WHET_PROFILE", "PROFILE")] {
        println!("cargo::rustc-env={name}={}", env::var(variable).expect("cargo sets it"));
    }
    let compiler = env::var_os("RUSTC").expect("cargo sets it");
    let compiler = said(Command::new(compiler).arg("--version")).unwrap_or_default();
    println!("cargo::rustc-env=WHET_RUSTC={compiler}");
}

/// What is compiled into the program, as far as it is there.
fn sources(package: &Path) -> Vec<PathBuf> {
    let root = package.join("../..");
    let crates = fs::read_dir(root.join("crates")).into_iter().flatten().flatten();
    let mut sources: Vec<PathBuf> = crates.map(|entry| entry.path().join("src")).collect();
    sources.sort();
    let beside = ["assets", "configs", "Cargo.toml", "Cargo.lock"];
    sources.extend(beside.map(|name| root.join(name)));
    sources.retain(|path| path.exists());
    sources
}

/// `1a2b3c4d5 2026-11-18`, with `modified` where a source differs from it.
fn commit(package: &Path, sources: &[PathBuf]) -> Option<String> {
    // A checkout of something else around an unpacked archive does not know this file.
    git(package, &["ls-files", "--error-unmatch", "Cargo.toml"])?;
    watch_head(package);
    let found = git(package, &["show", "--no-patch", "--format=%H %cs", "HEAD"])?;
    let (hash, date) = found.split_once(' ')?;
    let short: String = hash.chars().take(COMMIT_CHARS).collect();
    let mut status = command(package, &["--no-optional-locks", "status", "--porcelain", "--"]);
    let modified = said(status.args(sources))?;
    let modified = if modified.is_empty() { "" } else { " modified" };
    Some(format!("{short} {date}{modified}"))
}

/// Watches what changes when HEAD names another commit. A path that is not there would run this always.
fn watch_head(package: &Path) {
    let path = |name: &str| {
        let path = git(package, &["rev-parse", "--git-path", name])?;
        Some(package.join(path)).filter(|path| path.exists())
    };
    let branch = git(package, &["symbolic-ref", "--quiet", "HEAD"]);
    // A packed branch becomes a file of its own in this folder.
    let branch = branch.and_then(|name| path(&name).or_else(|| path("refs/heads")));
    let heads = ["HEAD", "logs/HEAD", "packed-refs"].into_iter().filter_map(path);
    heads.chain(branch).for_each(|path| watch(&path));
}

fn watch(path: &Path) {
    println!("cargo::rerun-if-changed={}", path.display());
}

fn git(package: &Path, arguments: &[&str]) -> Option<String> {
    said(&mut command(package, arguments))
}

fn command(package: &Path, arguments: &[&str]) -> Command {
    let mut git = Command::new("git");
    git.arg("-C").arg(package).args(arguments);
    // Set in hooks, where they name the repository from another folder.
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        git.env_remove(variable);
    }
    git
}

/// What a program prints, if it ends well.
fn said(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
