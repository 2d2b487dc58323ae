//! Phaser, which tasks about games need.

use whetstone_core::config::Config;
use whetstone_env::phaser::installed;

use crate::Finding;

const CHECK: &str = "Phaser";

/// Whether Phaser is installed. Without it everything but games works.
pub fn engine(_: &Config) -> Finding {
    match installed() {
        Ok(Some(found)) => {
            Finding::pass(CHECK, format!("{} is installed", found.version().number()))
        }
        Ok(None) => Finding::pass(CHECK, "not installed; only tasks of the kind `phaser` need it"),
        Err(error) => Finding::warn(
            CHECK,
            error.to_string(),
            "install it again: `npm pack phaser@3.90.0`, then `whet env phaser install phaser-3.90.0.tgz`",
        ),
    }
}
