//! Running `whet` and looking at what came of it.

use std::path::Path;
use std::process::Command;

/// What a run of `whet` left.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// Standard error without the line at its end that names the next command.
    pub(crate) fn err_before_next(&self) -> &str {
        let last = self.err.trim_end_matches('\n').rfind('\n').map_or(0, |at| at + 1);
        if self.err[last..].starts_with("next: ") { &self.err[..last] } else { &self.err }
    }
}

/// Runs `whet` in `folder`, with nothing of the caller's environment but the `PATH`.
pub(crate) fn whet_in(folder: &Path, args: &[&str]) -> Ran {
    whet_under(folder, args, &[])
}

/// The same, with these variables more.
pub(crate) fn whet_under(folder: &Path, args: &[&str], variables: &[(&str, &str)]) -> Ran {
    let output = Command::new(env!("CARGO_BIN_EXE_whet"))
        .args(args)
        .current_dir(folder)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .envs(variables.iter().copied())
        .output()
        .expect("whet starts");
    Ran {
        code: output.status.code().expect("whet is not killed"),
        out: String::from_utf8(output.stdout).expect("text"),
        err: String::from_utf8(output.stderr).expect("text"),
    }
}

/// Runs `whet` in an empty folder that holds `config.toml`.
pub(crate) fn whet_with(config: impl AsRef<[u8]>, args: &[&str]) -> Ran {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("config.toml"), config).expect("a file");
    whet_in(folder.path(), args)
}
