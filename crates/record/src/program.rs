//! The version of the program, as a run records it.
//!
//! Libraries know the version of the workspace; the commit is known to the program alone, which announces it
//! once when it starts. A commit that was compiled into this crate would compile most of the workspace again
//! after each commit.

use std::sync::OnceLock;

static VERSION: OnceLock<String> = OnceLock::new();

/// Announces the version with its commit, e.g. `0.1.0 (1a2b3c4d5 2026-11-18)`. Only the first call counts.
pub fn announce(version: &str) {
    let _ = VERSION.set(version.to_owned());
}

/// The announced version, else that of the workspace.
pub fn version() -> &'static str {
    VERSION.get().map_or(env!("CARGO_PKG_VERSION"), String::as_str)
}
