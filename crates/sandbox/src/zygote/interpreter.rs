//! The interpreter behind a command: where it really is, which version, and what it needs to see.
//!
//! A command such as `python3` may be a shell script of a version manager that costs a tenth of a
//! second; so it is asked once for its own path, and that path is used from then on.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::timed_output::output_within;
use crate::start_problem::start_problem;

/// The time in which an interpreter says where it is.
const PATIENCE: Duration = Duration::from_secs(20);

/// A Python interpreter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Interpreter {
    /// The executable itself.
    pub(crate) path: PathBuf,
    /// Its version: major, minor, micro.
    pub(crate) version: [u32; 3],
    /// Its standard library: one folder, or two.
    pub(crate) folders: Vec<PathBuf>,
    /// The shared objects that it and the library's modules load, by all their names; of those in
    /// the system's own folders, the folders.
    pub(crate) libraries: Vec<PathBuf>,
}

/// Why a command cannot be used as an interpreter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InterpreterError {
    /// It cannot be started.
    #[error(
        "cannot start the interpreter `{command}`: {problem}; set `sandbox.python` to a Python 3.9 or later"
    )]
    Start {
        /// The command.
        command: String,
        /// The system's error.
        problem: String,
    },
    /// It does not answer like Python.
    #[error(
        "`{command}` does not answer like Python 3: {problem}; set `sandbox.python` to a Python 3.9 or later"
    )]
    Answer {
        /// The command.
        command: String,
        /// The problem with the answer.
        problem: String,
    },
    /// It does not answer at all.
    #[error(
        "`{command}` did not answer within {} s; set `sandbox.python` to a Python 3.9 or later",
        limit.as_secs()
    )]
    Silent {
        /// The command.
        command: String,
        /// The time that it was given.
        limit: Duration,
    },
    /// It is too old.
    #[error("`{command}` is Python {major}.{minor}; 3.9 or later is needed: set `sandbox.python`")]
    TooOld {
        /// The command.
        command: String,
        /// Its version.
        major: u32,
        /// Its version.
        minor: u32,
    },
}

/// Modules that only test the interpreter, or speak to a terminal, are not asked what they load.
const QUESTION: &str = "
import sys, os, sysconfig, importlib
real = os.path.realpath
print('whet')
print(sys.executable and real(sys.executable))
print(*sys.version_info[:3])
for name in ('stdlib', 'platstdlib'):
    folder = sysconfig.get_path(name)
    print('folder', real(folder))
    modules = os.path.join(folder, 'lib-dynload')
    for file in sorted(os.listdir(modules)) if os.path.isdir(modules) else ():
        name = file.split('.')[0]
        if not name.startswith(('_test', '_xx', 'xx', 'readline', '_tkinter')):
            try: importlib.import_module(name)
            except BaseException: pass
with open('/proc/self/maps') as maps:
    loaded = {line.split(None, 5)[5].strip() for line in maps if '.so' in line}
for path in sorted(loaded):
    folder = os.path.dirname(path)
    if path.startswith(('/usr/lib', '/lib')):
        print('library', folder)
    elif os.path.isdir(folder) and os.path.basename(folder) != 'lib-dynload':
        for name in sorted(os.listdir(folder)):
            if real(os.path.join(folder, name)) == path:
                print('library', os.path.join(folder, name))
";

/// Where a command is looked for if there is no PATH, as under `env -i`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The process of an interpreter's command. Without a PATH, Python does not know its own path; so it gets one.
pub fn interpreter_command(command: &str) -> Command {
    let mut process = Command::new(command);
    if env::var_os("PATH").is_none() {
        process.env("PATH", DEFAULT_PATH);
    }
    process
}

impl Interpreter {
    /// Asks a command.
    pub(crate) fn find(command: &str) -> Result<Self, InterpreterError> {
        let start =
            |problem: String| InterpreterError::Start { command: command.to_owned(), problem };
        let mut asked = interpreter_command(command);
        asked.args(["-I", "-S", "-c", QUESTION]).stdin(Stdio::null());
        let output = output_within(&mut asked, PATIENCE).map_err(|error| {
            start(start_problem(command, &error).unwrap_or_else(|| error.to_string()))
        })?;
        let Some(output) = output else {
            return Err(InterpreterError::Silent { command: command.to_owned(), limit: PATIENCE });
        };
        let answer = |problem: &str| InterpreterError::Answer {
            command: command.to_owned(),
            problem: problem.to_owned(),
        };
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(answer(reason(&said).unwrap_or("it failed without a word")));
        }
        let text = String::from_utf8(output.stdout).map_err(|_| answer("not UTF-8"))?;
        let mut lines = text.lines().skip_while(|line| *line != "whet").skip(1);
        let path = lines.next().filter(|path| !path.is_empty()).map(PathBuf::from);
        let path = path.ok_or_else(|| answer("it does not say its own path"))?;
        let version = lines.next().and_then(version).ok_or_else(|| answer("no version"))?;
        if version[0] != 3 || version[1] < 9 {
            let [major, minor, _] = version;
            return Err(InterpreterError::TooOld { command: command.to_owned(), major, minor });
        }
        let rest: Vec<&str> = lines.collect();
        let named = |word: &str| {
            let paths = rest.iter().filter_map(|line| line.strip_prefix(word)?.strip_prefix(' '));
            let mut paths: Vec<PathBuf> = paths.map(PathBuf::from).collect();
            paths.sort();
            paths.dedup();
            paths
        };
        Ok(Self { path, version, folders: named("folder"), libraries: named("library") })
    }

    /// The files whose loss would make honest programs fail: the executable and its library.
    pub(crate) fn is_there(&self) -> bool {
        self.path.exists()
            && self.folders.iter().all(|folder| folder.exists())
            && self.library().is_none_or(|file| file.exists())
    }

    fn library(&self) -> Option<PathBuf> {
        let [major, minor, _] = self.version;
        let name = format!("python{major}.{minor}");
        let is_library = |folder: &&PathBuf| folder.ends_with(Path::new(&name));
        self.folders.iter().find(is_library).map(|folder| folder.join("os.py"))
    }
}

/// The line of what a command said before it failed that tells why: the first, or the last of a traceback.
fn reason(said: &str) -> Option<&str> {
    let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next()?;
    if first.starts_with("Traceback ") { lines.next_back().or(Some(first)) } else { Some(first) }
}

fn version(line: &str) -> Option<[u32; 3]> {
    let numbers: Vec<u32> = line.split(' ').map(|word| word.parse().ok()).collect::<Option<_>>()?;
    numbers.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_tells_why_is_taken() {
        let manager =
            "\n  pyenv: version `3.11' is not installed\n(set by /home/a/.python-version)\n";
        assert_eq!(reason(manager), Some("pyenv: version `3.11' is not installed"));
        let traceback = "Traceback (most recent call last):\n  File \"a\"\nValueError: no\n\n";
        assert_eq!(reason(traceback), Some("ValueError: no"));
        assert_eq!(reason(" \n"), None);
    }

    #[test]
    fn an_interpreter_that_hangs_says_for_how_long_and_what_to_set() {
        let silent = InterpreterError::Silent { command: "python3".to_owned(), limit: PATIENCE };
        assert_eq!(
            silent.to_string(),
            "`python3` did not answer within 20 s; set `sandbox.python` to a Python 3.9 or later"
        );
    }
}
