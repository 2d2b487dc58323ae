//! Indexes that are part of the crate; `assets/phaser/README.md` says how they are made.

use std::sync::OnceLock;

use super::Index;

/// Versions with an embedded index, the default first.
pub const VERSIONS: [&str; 2] = ["3.90.0", "4.2.1"];

static THREE: OnceLock<Index> = OnceLock::new();
static FOUR: OnceLock<Index> = OnceLock::new();

/// The index of a version, by its full name or its first number.
pub(super) fn get(version: &str) -> Option<&'static Index> {
    let (cell, bytes): (_, &[u8]) = match version {
        "3" | "3.90.0" => {
            (&THREE, include_bytes!("../../../../assets/phaser/phaser_api-3.90.0.jsonl.gz"))
        }
        "4" | "4.2.1" => {
            (&FOUR, include_bytes!("../../../../assets/phaser/phaser_api-4.2.1.jsonl.gz"))
        }
        _ => return None,
    };
    Some(
        cell.get_or_init(|| Index::read(bytes).expect("the embedded index was made by this crate")),
    )
}
