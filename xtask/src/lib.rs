//! The project's own chores.
//!
//! `cargo xtask ci` is the one test command: a machine with a Rust toolchain, a C compiler and
//! `python3` can run it, and what it finds missing (cargo-nextest, cargo-deny) it says. The steps
//! are a table in [`steps`]; [`ci`] walks it; [`tidy`] is the step that reads the repository
//! itself and holds the promises no compiler checks.
//!
//! Dependencies are kept to a TOML parser, and what writes the archives of [`dist`], so that the first line of
//! output comes in seconds.

pub mod bare;
pub mod browser;
pub mod built;
pub mod ci;
pub mod cuda;
pub mod dist;
pub mod docs;
mod file_graph;
pub mod gpu;
pub mod hostile;
pub mod pictures;
mod product;
pub mod site;
pub mod skips;
pub mod stats;
pub mod steps;
pub mod tidy;

use std::path::{Path, PathBuf};

/// The repository's root.
///
/// Cargo's word at run time comes before the one compiled in: checkouts that share a target
/// folder share the binary too, and each must be judged by its own files.
pub fn root() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let package = package.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    package.parent().unwrap_or(Path::new(".")).to_owned()
}
