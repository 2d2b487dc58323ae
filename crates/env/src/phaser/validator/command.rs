//! The command line of an outside validator.

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Endings of programs that Node.js runs.
const SCRIPTS: [&str; 3] = ["js", "mjs", "cjs"];
const NODE: &str = "node";

/// A program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommandLine {
    program: PathBuf,
    arguments: Vec<OsString>,
}

/// Why a command line cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// There is nothing on it.
    #[error("the validator's command is empty")]
    Empty,
    /// The program is not there.
    #[error("the validator `{0}` is not a file and not a program in PATH")]
    Missing(String),
    /// It is a file that the user may not execute.
    #[error(
        "the validator `{0}` is not executable: `chmod +x` it, or name its interpreter first, as in `python3 {0}`"
    )]
    NotExecutable(String),
    /// A program for Node.js, where there is none.
    #[error("the validator `{0}` is run by node, and there is no `node` in PATH")]
    NoNode(String),
    /// A file of the command cannot be read.
    #[error("cannot read `{}` of the validator: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl CommandLine {
    /// Reads a command line: words between blanks, without quotes. A file whose path has blanks is taken as it is,
    /// without arguments. A program that ends in `.js` is run by Node.js.
    pub(super) fn parse(text: &str) -> Result<Self, CommandError> {
        let text = text.trim();
        let mut words = if Path::new(text).is_file() {
            vec![text.to_owned()]
        } else {
            text.split_whitespace().map(str::to_owned).collect()
        };
        let first = words.first().cloned().ok_or(CommandError::Empty)?;
        let ending = Path::new(&first).extension().and_then(|ending| ending.to_str());
        if ending.is_some_and(|ending| SCRIPTS.contains(&ending)) {
            if !Path::new(&first).is_file() {
                return Err(CommandError::Missing(first));
            }
            in_path(NODE).ok_or(CommandError::NoNode(first))?;
            words.insert(0, NODE.to_owned());
        }
        let program = find(&words[0])?;
        Ok(Self { program, arguments: words[1..].iter().map(OsString::from).collect() })
    }

    /// The command, ready to be started.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        command
    }

    /// A hash of the words and of every file that they name, the program included.
    pub(super) fn digest(&self) -> Result<[u8; 32], CommandError> {
        let mut hasher = blake3::Hasher::new();
        let arguments = self.arguments.iter().map(PathBuf::from);
        for path in [self.program.clone()].into_iter().chain(arguments) {
            let word = path.as_os_str().as_encoded_bytes();
            hasher.update(&(word.len() as u64).to_le_bytes());
            hasher.update(word);
            hasher.update(&[u8::from(path.is_file())]);
            if path.is_file() {
                let failed = |source| CommandError::Read { path: path.clone(), source };
                let mut own = blake3::Hasher::new();
                let mut file = File::open(&path).map_err(failed)?;
                io::copy(&mut file, &mut own).map_err(failed)?;
                hasher.update(own.finalize().as_bytes());
            }
        }
        Ok(*hasher.finalize().as_bytes())
    }
}

/// The file of a program: a path as it stands, a bare name in the folders of PATH.
fn find(program: &str) -> Result<PathBuf, CommandError> {
    let missing = || CommandError::Missing(program.to_owned());
    let path = Path::new(program);
    let is_bare = !program.contains('/');
    if is_bare && let Some(found) = in_path(program) {
        return Ok(found);
    }
    if !path.is_file() {
        return Err(missing());
    }
    if !is_executable(path) {
        return Err(CommandError::NotExecutable(program.to_owned()));
    }
    // A bare name would be looked for in PATH again.
    Ok(if is_bare { Path::new(".").join(path) } else { path.to_owned() })
}

fn in_path(program: &str) -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn problem(text: &str) -> String {
        CommandLine::parse(text).expect_err("it cannot be used").to_string()
    }

    #[test]
    fn words_are_a_program_and_its_arguments() {
        let line = CommandLine::parse(" sh  -c exit ").expect("there is a shell");
        assert!(line.program.ends_with("sh") && line.program.is_absolute(), "{line:?}");
        assert_eq!(line.arguments, ["-c", "exit"]);
    }

    #[test]
    fn what_cannot_be_run_is_said_before_anything_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let plain = folder.path().join("a validator.py");
        fs::write(&plain, "print(1)").expect("a file");
        let plain = plain.display().to_string();
        assert_eq!(problem("  "), "the validator's command is empty");
        assert!(problem("/nowhere/v.js").contains("is not a file"), "{}", problem("/nowhere/v.js"));
        assert!(problem("no-such-program -x").contains("not a program in PATH"));
        assert!(problem(&plain).contains("is not executable"), "{}", problem(&plain));
    }

    #[test]
    fn another_byte_of_a_file_that_is_named_is_another_validator() {
        let folder = tempfile::tempdir().expect("a folder");
        let script = folder.path().join("v.sh");
        let digest = |text: &str, flag: &str| {
            fs::write(&script, text).expect("a file");
            let line = CommandLine::parse(&format!("sh {} {flag}", script.display()));
            line.expect("a shell").digest().expect("files that can be read")
        };
        let first = digest("exit 0", "");
        assert_eq!(first, digest("exit 0", ""));
        assert_ne!(first, digest("exit 1", ""));
        assert_ne!(first, digest("exit 0", "-x"));
    }
}
