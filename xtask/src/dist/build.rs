//! The program that is packed, built to run on older systems than this one where that is possible.
//!
//! With cargo-zigbuild the program is linked against the symbols of an older glibc; without, it needs the glibc
//! of this system. The profile is that of `cargo build --release`, unchanged: link-time optimization would be a
//! second program to test. Paths of this machine are replaced, so that the bytes depend on the commit and the
//! toolchain and not on where they lie.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::say;
use crate::built::{Program, built_by};
use crate::ci::cargo;

/// A version of glibc.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Glibc {
    /// 2, since 1997.
    pub(super) major: u32,
    /// Two of them come out each year.
    pub(super) minor: u32,
}

/// The oldest glibc that is aimed at: RHEL 8, Debian 10, Ubuntu 18.10 and newer.
pub(super) const PORTABLE: Glibc = Glibc { major: 2, minor: 28 };

const WHET: [&str; 6] = ["--release", "--locked", "--package", "whetstone-cli", "--bin", "whet"];

/// Builds `whet` and says where it lies.
pub(super) fn program(root: &Path, out: &mut dyn Write) -> Result<PathBuf, String> {
    let target = format!("{}-unknown-linux-gnu", env::consts::ARCH);
    let versioned = format!("{target}.{}.{}", PORTABLE.major, PORTABLE.minor);
    let zig = has_zigbuild(root);
    let (verb, triple) = if zig { ("zigbuild", &versioned) } else { ("build", &target) };
    let how = if zig { "with cargo-zigbuild" } else { "cargo-zigbuild is not installed" };
    say(out, &format!("building `whet` for {triple} ({how})"))?;
    let args = [&[verb][..], &WHET, &["--target", triple]].concat();
    let mut command = cargo(root, &args);
    let flags = flags(root, &sources());
    command.env("CARGO_ENCODED_RUSTFLAGS", flags.rust.join("\u{1f}"));
    command.env(format!("CFLAGS_{}", target.replace('-', "_")), flags.c.join(" "));
    let whet = Program { kind: "bin", name: "whet", folder: "" };
    built_by(command, &args, &[whet]).map(|mut all| all.remove(0))
}

fn has_zigbuild(root: &Path) -> bool {
    let output = cargo(root, &["zigbuild", "--help"]).output();
    output.is_ok_and(|output| output.status.success())
}

/// Flags of the two compilers.
#[derive(Debug, PartialEq, Eq)]
struct Flags {
    rust: Vec<String>,
    c: Vec<String>,
}

/// Flags that replace the folders of this machine.
fn flags(root: &Path, sources: &[PathBuf]) -> Flags {
    let here = [(root.to_owned(), "/whetstone")];
    let folders = sources.iter().map(|folder| (folder.clone(), "/deps")).chain(here);
    let pairs: Vec<String> =
        folders.map(|(folder, name)| format!("{}={name}", folder.display())).collect();
    let with = |flag: &str| pairs.iter().map(|pair| format!("{flag}={pair}")).collect();
    Flags { rust: with("--remap-path-prefix"), c: with("-ffile-prefix-map") }
}

/// Where cargo unpacks the sources of dependencies: a folder for each registry.
fn sources() -> Vec<PathBuf> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| {
        let user: Option<OsString> = env::var_os("HOME");
        Some(PathBuf::from(user?).join(".cargo"))
    });
    let registries = home.and_then(|home| fs::read_dir(home.join("registry/src")).ok());
    let mut folders: Vec<PathBuf> =
        registries.into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    folders.sort();
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_compilers_replace_the_folders_of_this_machine() {
        let flags = flags(Path::new("/home/a/whet"), &[PathBuf::from("/home/a/.cargo/src/x")]);
        assert_eq!(
            flags.rust,
            [
                "--remap-path-prefix=/home/a/.cargo/src/x=/deps",
                "--remap-path-prefix=/home/a/whet=/whetstone"
            ]
        );
        assert_eq!(flags.c[1], "-ffile-prefix-map=/home/a/whet=/whetstone");
    }

    #[test]
    fn versions_are_compared_by_number() {
        let glibc = |minor| Glibc { major: 2, minor };
        assert!(glibc(9) < PORTABLE && PORTABLE < glibc(35));
    }
}
