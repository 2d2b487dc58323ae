//! The interpreter that Python programs will run on.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use whetstone_core::config::Config;
use whetstone_sandbox::{interpreter_command, output_within, start_problem};

use crate::Finding;

const CHECK: &str = "python3";
const LIMIT: Duration = Duration::from_secs(20);

/// The oldest supported version.
const OLDEST: (u32, u32) = (3, 9);

/// Prints the version of an interpreter.
const ABOUT: &str = "import sys; print('%d %d %d' % sys.version_info[:3]); print(sys.executable)";

/// The interpreter is there, answers, and is not too old.
pub fn interpreter(config: &Config) -> Finding {
    let command = &config.sandbox.python;
    let missing = "install Python 3, or name an interpreter with `--set sandbox.python=PATH`";
    match ask(command) {
        Err(problem) => Finding::fail(CHECK, format!("`{command}` {problem}"), missing),
        Ok(answer) => judge(command, &answer, missing),
    }
}

fn judge(command: &str, answer: &str, missing: &'static str) -> Finding {
    let Some((version, path)) = parse(answer) else {
        return Finding::fail(CHECK, format!("`{command}` does not answer like Python 3"), missing);
    };
    let (major, minor, patch) = version;
    let real = std::fs::canonicalize(&path).unwrap_or(path);
    let detail = format!("{major}.{minor}.{patch} at {}", real.display());
    if (major, minor) < OLDEST {
        return Finding::fail(
            CHECK,
            format!("{detail} is too old"),
            "Python 3.9 or newer is needed",
        );
    }
    Finding::pass(CHECK, detail)
}

/// The version and the path in an answer to [`ABOUT`].
fn parse(answer: &str) -> Option<((u32, u32, u32), PathBuf)> {
    let (version, path) = answer.trim_end().split_once('\n')?;
    let mut numbers = version.split_whitespace().map(str::parse::<u32>);
    let mut next = || numbers.next()?.ok();
    let version = (next()?, next()?, next()?);
    (!path.is_empty()).then(|| (version, PathBuf::from(path)))
}

fn ask(command: &str) -> Result<String, String> {
    let mut asked = interpreter_command(command);
    let output = output_within(asked.args(["-I", "-S", "-c", ABOUT]).stdin(Stdio::null()), LIMIT)
        .map_err(|err| {
        let problem = start_problem(command, &err).unwrap_or_else(|| err.to_string());
        format!("cannot be started: {problem}")
    })?;
    let output = output.ok_or_else(|| format!("did not answer within {} s", LIMIT.as_secs()))?;
    String::from_utf8(output.stdout).map_err(|err| format!("cannot be read: {err}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Status;

    #[test]
    fn an_answer_holds_version_and_path() {
        assert_eq!(
            parse("3 11 7\n/usr/bin/python3\n"),
            Some(((3, 11, 7), "/usr/bin/python3".into()))
        );
        assert_eq!(parse("3 11 7\n"), None);
        assert_eq!(parse("hello\nworld\n"), None);
    }

    #[test]
    fn an_old_interpreter_or_a_stranger_fails() {
        assert_eq!(judge("python", "2 7 18\n/usr/bin/python\n", "").status, Status::Fail);
        assert_eq!(judge("python", "3 8 0\n/usr/bin/python\n", "").status, Status::Fail);
        assert_eq!(judge("python", "3 9 0\n/usr/bin/python\n", "").status, Status::Pass);
        assert_eq!(judge("node", "v20\n", "").status, Status::Fail);
    }

    #[test]
    fn an_interpreter_that_is_not_there_fails_by_name() {
        let mut config = Config::default();
        config.sandbox.python = "no-such-python".to_owned();
        let finding = interpreter(&config);
        assert_eq!(finding.status, Status::Fail);
        assert!(finding.detail.contains("`no-such-python` cannot be started"), "{finding:?}");
    }
}
