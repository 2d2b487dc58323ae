//! Rule `ci_command`: CI runs the command that README.md tells a reader to run.
//!
//! `.ci/run` is a shell script with one command besides `set` and `cd`, and that line stands, as
//! it is, in a fenced block of README.md under a heading with "test" in it.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::Problem;
use super::markdown;
use super::tree::Tree;

const RULE: &str = "ci_command";
const SCRIPT: &str = ".ci/run";
const README: &str = "README.md";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let commands = commands(tree.text(SCRIPT).unwrap_or_default());
    let [command] = commands[..] else {
        let message = format!("runs {} commands: it runs the one in {README}", commands.len());
        return vec![Problem::new(RULE, SCRIPT, message)];
    };
    let mut problems = Vec::new();
    if !documented(tree.text(README).unwrap_or_default(), command) {
        let message =
            format!("no block under a heading on testing has the line `{command}` of {SCRIPT}");
        problems.push(Problem::new(RULE, README, message));
    }
    if !is_executable(tree) {
        problems.push(Problem::new(RULE, SCRIPT, "is not executable: `chmod +x` it"));
    }
    problems
}

fn commands(script: &str) -> Vec<&str> {
    let lines = script.lines().map(str::trim);
    let is_setup = |line: &str| matches!(line.split(' ').next(), Some("set" | "cd"));
    lines.filter(|line| !line.is_empty() && !line.starts_with('#') && !is_setup(line)).collect()
}

fn documented(readme: &str, command: &str) -> bool {
    let blocks = markdown::blocks(readme).into_iter();
    let mut testing = blocks.filter(|block| block.under.to_lowercase().contains("test"));
    testing.any(|block| block.lines.contains(&command))
}

fn is_executable(tree: &Tree) -> bool {
    let metadata = fs::metadata(tree.root().join(SCRIPT));
    metadata.is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
}
