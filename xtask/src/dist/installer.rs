//! `install.sh`: the template in `dist/`, with the version and the needs of the program that it installs.

use super::Release;
use super::build::Glibc;
use super::entry::Entry;

/// Puts what is known of the release in the place of `@NAMES@`.
pub(super) fn fill(template: &str, release: &Release) -> Result<Entry, String> {
    let Glibc { major, minor } = release.needs.glibc;
    let script = template
        .replace("@VERSION@", &release.version)
        .replace("@ARCH@", release.needs.arch)
        .replace("@GLIBC@", &format!("{major}.{minor}"));
    match script.lines().find(|line| is_unfilled(line)) {
        Some(line) => Err(format!("dist/install.sh has a name that is not known: {line}")),
        None => Ok(Entry::program("install.sh", script.into_bytes())),
    }
}

fn is_unfilled(line: &str) -> bool {
    let mut parts = line.split('@').skip(1);
    parts.any(|part| part.len() > 1 && part.bytes().all(|byte| byte.is_ascii_uppercase()))
}
