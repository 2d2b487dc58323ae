//! Pages under `docs/` that `whet` writes itself.
//!
//! The binary is run rather than linked: xtask then builds without the crates it checks.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::built::{Program, executable};
use crate::tidy::generated::{self, PAGES, Page};

/// The `docs` step: every generated page is byte for byte what `whet` prints.
pub fn check(root: &Path) -> Result<(), String> {
    let fresh = generate_all(root)?;
    let problems = generated::check_against(root, &fresh);
    if problems.is_empty() {
        return Ok(());
    }
    Err(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

/// Rewrites every generated page, and says which.
pub fn write(root: &Path) -> Result<String, String> {
    let mut written = Vec::new();
    for (path, text) in generate_all(root)? {
        let target = root.join(path);
        let folder = target.parent().unwrap_or(root);
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&target, text))
            .map_err(|err| format!("cannot write `{path}`: {err}"))?;
        written.push(format!("wrote {path}"));
    }
    Ok(written.join("\n"))
}

/// The flags of the test step: what that has built is not built again.
const BUILD: &[&str] = &["build", "--workspace", "--locked", "--lib", "--bins", "--tests"];

fn generate_all(root: &Path) -> Result<Vec<(&'static str, String)>, String> {
    let whet = executable(root, BUILD, Program { kind: "bin", name: "whet", folder: "" })?;
    PAGES.iter().map(|page| Ok((page.path, generate(root, &whet, page)?))).collect()
}

fn generate(root: &Path, whet: &Path, page: &Page) -> Result<String, String> {
    let name = format!("whet {}", page.command.join(" "));
    let output = Command::new(whet)
        .args(page.command)
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|err| format!("cannot start `{name}`: {err}"))?;
    if !output.status.success() {
        return Err(format!("`{name}` ended with {}", output.status));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("`{name}` did not print UTF-8"))
}
