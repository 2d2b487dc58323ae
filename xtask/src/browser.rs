//! Is there a browser? The tests that look at pages say SKIPPED without one, which is easily missed among a
//! thousand that passed; a row of its own is seen.

use std::env;
use std::path::PathBuf;

/// The names that `crates/cli/tests/whet/browser.rs` looks for.
pub const NAMES: [&str; 4] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Looks for a browser; if there is none, says how to get one.
pub fn find() -> Result<(), String> {
    program().map(drop)
}

/// The browser to start; if there is none, says how to get one.
pub fn program() -> Result<PathBuf, String> {
    let path = env::var_os("PATH").unwrap_or_default();
    let places =
        env::split_paths(&path).flat_map(|folder| NAMES.iter().map(move |name| folder.join(name)));
    places.into_iter().find(|place| place.is_file()).ok_or_else(|| {
        "no Chromium is installed, so pages were not looked at; `apt-get install chromium` gets it"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tests_look_for_the_same_names() {
        let tests = include_str!("../../crates/cli/tests/whet/browser.rs");
        let list = tests.split_once("const NAMES").unwrap().1.split_once(';').unwrap().1;
        let list = list.split_once(';').unwrap().0;
        assert!(NAMES.iter().all(|name| list.contains(&format!("\"{name}\""))), "{list}");
        assert_eq!(list.matches('"').count(), 2 * NAMES.len());
    }
}
