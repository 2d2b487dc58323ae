//! `cargo xtask dist`: everything that installs `whet` without a Rust toolchain, in `target/dist`.
//!
//! A wheel for `pip`, an archive with its checksum, `install.sh` and a `Containerfile`. All carry the same
//! stripped program of the release profile. What a file says of the systems that it runs on is computed from
//! the program ([`elf`]), never assumed. The same commit and toolchain give the same bytes: entries are sorted,
//! times are fixed, and paths of this machine are not compiled in.
//!
//! The wheel is a zip of five files and is written here instead of by maturin, which would compile the program
//! a second time. Nothing is uploaded here.

mod build;
mod elf;
mod entry;
mod extras;
mod installer;
mod tar;
mod wheel;
mod zip;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::gpu::strip;
use build::{Glibc, PORTABLE};
use elf::Needs;
use entry::Entry;

/// The line of help.
pub const WHAT: &str = "a wheel, an archive and an installer in target/dist [--binary FILE]";

const USAGE: &str = "usage: cargo xtask dist [--binary FILE]";

/// What is packed.
struct Release {
    /// The version of the workspace.
    version: String,
    /// The stripped program.
    program: Vec<u8>,
    /// What it needs of a system.
    needs: Needs,
    /// Completions and manual pages, as far as the program writes them.
    extras: Vec<Entry>,
}

/// Runs the command with its arguments; `Err` is what to tell the reader.
pub fn run(root: &Path, words: &[&str], out: &mut dyn Write) -> Result<(), String> {
    let built = match words {
        [] => build::program(root, out)?,
        ["--binary", file] => PathBuf::from(file),
        _ => return Err(USAGE.to_owned()),
    };
    let dir = root.join("target/dist");
    // Files of an older version would be taken for part of this one.
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).map_err(|err| format!("cannot make {}: {err}", dir.display()))?;
    let release = read(root, &built, &dir)?;
    warn(&release.needs, out)?;
    for entry in files(root, &release)? {
        let path = dir.join(&entry.name);
        entry.write(&dir).map_err(|err| format!("cannot write {}: {err}", path.display()))?;
        say(out, &format!("{}: {} bytes", path.display(), entry.bytes.len()))?;
    }
    Ok(())
}

/// Strips the program, and asks it and its headers what belongs beside it.
fn read(root: &Path, built: &Path, dir: &Path) -> Result<Release, String> {
    let stripped = dir.join("whet");
    strip(built, &stripped)?;
    let needs = elf::needs(&stripped)?;
    let extras = extras::of(&stripped)?;
    let program = fs::read(&stripped).map_err(|err| format!("{}: {err}", stripped.display()))?;
    fs::remove_file(&stripped).map_err(|err| format!("{}: {err}", stripped.display()))?;
    Ok(Release { version: version(root)?, program, needs, extras })
}

/// Everything that ends up in the folder.
fn files(root: &Path, release: &Release) -> Result<Vec<Entry>, String> {
    let archive = archive(root, release)?;
    let sum = format!("{}  {}\n", sha256(&archive.bytes), archive.name);
    let sum = Entry::text(&format!("{}.sha256", archive.name), sum);
    let containerfile = Entry::text("Containerfile", text(root, "dist/Containerfile")?);
    let template = text(root, "dist/install.sh")?;
    let wheel = wheel::pack(release, &text(root, "README.md")?, &text(root, "LICENSE")?)?;
    Ok(vec![wheel, archive, sum, installer::fill(&template, release)?, containerfile])
}

/// The release archive: one folder with the program and the pages that go with it.
fn archive(root: &Path, release: &Release) -> Result<Entry, String> {
    let folder = format!("whet-{}-{}-linux", release.version, release.needs.arch);
    let mut entries = vec![Entry::program("whet", release.program.clone())];
    for page in ["LICENSE", "README.md", "README.zh-CN.md", "CHANGELOG.md"] {
        entries.push(Entry::text(page, text(root, page)?));
    }
    entries.extend(release.extras.iter().cloned());
    let bytes = tar::pack(&folder, &entries).map_err(|err| format!("cannot pack: {err}"))?;
    Ok(Entry::file(&format!("{folder}.tar.gz"), bytes))
}

fn warn(needs: &Needs, out: &mut dyn Write) -> Result<(), String> {
    let Glibc { major, minor } = needs.glibc;
    say(out, &format!("the program needs glibc {major}.{minor} or newer"))?;
    if needs.glibc <= PORTABLE {
        return Ok(());
    }
    let Glibc { major, minor } = PORTABLE;
    say(
        out,
        &format!(
            "warning: systems with an older glibc cannot run it\n\
             hint: `pip install cargo-zigbuild` and run this again: the program then needs {major}.{minor}"
        ),
    )
}

/// The version that all crates of the workspace have.
fn version(root: &Path) -> Result<String, String> {
    let manifest = text(root, "Cargo.toml")?;
    let manifest: toml::Table = manifest.parse().map_err(|err| format!("Cargo.toml: {err}"))?;
    let version = manifest.get("workspace").and_then(|table| table.get("package")?.get("version"));
    let version = version.and_then(toml::Value::as_str);
    version
        .map(str::to_owned)
        .ok_or_else(|| "Cargo.toml has no version of the workspace".to_owned())
}

fn text(root: &Path, path: &str) -> Result<String, String> {
    fs::read_to_string(root.join(path)).map_err(|err| format!("{path}: {err}"))
}

/// The checksum as `sha256sum` writes it.
fn sha256(bytes: &[u8]) -> String {
    let hex = |byte: &u8| {
        [byte >> 4, byte & 15].map(|half| char::from(b"0123456789abcdef"[usize::from(half)]))
    };
    Sha256::digest(bytes).iter().flat_map(hex).collect()
}

fn say(out: &mut dyn Write, line: &str) -> Result<(), String> {
    writeln!(out, "{line}").map_err(|err| err.to_string())
}
