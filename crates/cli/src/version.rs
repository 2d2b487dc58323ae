//! What `whet` is built from and for: `-V` in one line, `--version` with the details.
//!
//! The commit comes from the build script. What the program was compiled with is the same on every machine; what is
//! found on this one (instruction sets) is asked when it is printed.

use std::sync::LazyLock;

use serde::Serialize;

/// The commit, its date and whether sources differed from it, as the build script found them.
const COMMIT: &str = env!("WHET_COMMIT");

/// What a program is built from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Build {
    version: &'static str,
    /// `None` if it was built without git or outside of a checkout.
    commit: Option<&'static str>,
    commit_date: Option<&'static str>,
    /// Whether sources differed from the commit.
    modified: bool,
    target: &'static str,
    profile: &'static str,
}

impl Build {
    /// This program's.
    pub(crate) fn get() -> Self {
        let mut parts = COMMIT.split_whitespace();
        Self {
            version: env!("CARGO_PKG_VERSION"),
            commit: parts.next(),
            commit_date: parts.next(),
            modified: parts.next().is_some(),
            target: env!("WHET_TARGET"),
            profile: env!("WHET_PROFILE"),
        }
    }

    fn line(&self) -> String {
        let Self { version, commit, commit_date, modified, .. } = self;
        let Some(commit) = commit else { return format!("{version} (unknown commit)") };
        let modified = if *modified { ", modified" } else { "" };
        format!("{version} ({commit} {}{modified})", commit_date.unwrap_or_default())
    }
}

/// `0.1.0 (1a2b3c4d5 2026-11-18)`.
pub(crate) fn short() -> &'static str {
    static SHORT: LazyLock<String> = LazyLock::new(|| Build::get().line());
    &SHORT
}

/// The date of the commit, or nothing.
pub(crate) fn date() -> &'static str {
    Build::get().commit_date.unwrap_or_default()
}

/// The short form, and what the program is built for.
pub(crate) fn long() -> &'static str {
    static LONG: LazyLock<String> = LazyLock::new(|| {
        let Build { target, profile, .. } = Build::get();
        let compiler = env!("WHET_RUSTC");
        let cpu = instruction_sets().join(", ");
        let cpu = if cpu.is_empty() { "no vector instructions that are used" } else { &cpu };
        format!(
            "{}\n\
             built for  {target}, {profile} profile, {compiler}\n\
             devices    cpu, cuda (NVIDIA's libraries are opened when a GPU is asked for)\n\
             this cpu   {cpu}",
            short()
        )
    });
    &LONG
}

/// Instruction sets of this machine that products of matrices are faster with.
#[cfg(target_arch = "x86_64")]
fn instruction_sets() -> Vec<&'static str> {
    let found = [
        ("AVX2", std::arch::is_x86_feature_detected!("avx2")),
        ("FMA", std::arch::is_x86_feature_detected!("fma")),
        ("AVX-512", std::arch::is_x86_feature_detected!("avx512f")),
    ];
    found.into_iter().filter(|(_, found)| *found).map(|(name, _)| name).collect()
}

#[cfg(not(target_arch = "x86_64"))]
fn instruction_sets() -> Vec<&'static str> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_says_its_commit_or_that_it_is_unknown() {
        let build = Build {
            version: "1.2.3",
            commit: Some("1a2b3c4d5"),
            commit_date: Some("2026-11-18"),
            modified: false,
            target: "",
            profile: "",
        };
        assert_eq!(build.line(), "1.2.3 (1a2b3c4d5 2026-11-18)");
        let modified = Build { modified: true, ..build.clone() };
        assert_eq!(modified.line(), "1.2.3 (1a2b3c4d5 2026-11-18, modified)");
        let archive = Build { commit: None, commit_date: None, ..build };
        assert_eq!(archive.line(), "1.2.3 (unknown commit)");
    }
}
