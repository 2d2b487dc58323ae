//! An outside validator: a command of the user's that says what a program is, in place of our own check and run.
//!
//! ```text
//! stdin    {"v":1,"prompt_id":…,"text":…,"plan":…,"code":…,"skip_runtime":…,"frames":…,"input":…,"checks":…}
//! stdout   {"parse":{…},"api":{…},"lifecycle":{…},"runtime":{…},"task":[…]}
//! ```
//!
//! It is started once for each program. What it says is paid by our terms and gates. Whatever keeps it from answering
//! (time, size, exit status, an answer that is not strictly a validation) is an infrastructure failure, never a reward.
//! The command is trusted like the rest of what its user runs: it is not confined.

mod answer;
mod command;
mod permits;
mod process;

use std::time::Duration;

use serde::Serialize;
use whetstone_core::Infrastructure;
use whetstone_sandbox::phaser::InputScript;

use self::command::CommandLine;
use self::permits::Permits;
use self::process::Bounds;
use super::checks::Check;
use super::validation::{FormatFindings, Validation};
use crate::results::{Found, ResultCache, ResultKey, cached};

pub use self::command::CommandError;

/// Bounds of a call: time on the clock, and bytes of what it is asked and answers.
const WALL: Duration = Duration::from_secs(30);
const QUESTION_BYTES: usize = 1 << 20;
const ANSWER_BYTES: usize = 1 << 20;

/// Version of the question and of how answers are read, for keys of caches.
const VERSION: u32 = 1;

/// A command that checks programs.
#[derive(Debug)]
pub struct Validator {
    line: CommandLine,
    digest: [u8; 32],
    bounds: Bounds,
    permits: Permits,
}

/// What a validator is asked.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(super) struct Question<'a> {
    pub(super) v: u32,
    pub(super) prompt_id: &'a str,
    pub(super) text: &'a str,
    pub(super) plan: Option<&'a str>,
    pub(super) code: &'a str,
    pub(super) skip_runtime: bool,
    pub(super) frames: u32,
    pub(super) input: Option<&'a InputScript>,
    pub(super) checks: &'a [Check],
}

/// What a call shares with others.
#[derive(Clone, Copy)]
pub(super) struct CallContext<'a> {
    /// Calls at the same time.
    pub(super) workers: usize,
    pub(super) results: Option<&'a dyn ResultCache>,
}

impl Validator {
    /// Reads a command line: a program and its arguments, or a program for Node.js that ends in `.js`.
    ///
    /// # Errors
    ///
    /// If there is no such program, or its files cannot be read.
    pub fn find(command: &str) -> Result<Self, CommandError> {
        let line = CommandLine::parse(command)?;
        let digest = line.digest()?;
        let bounds = Bounds { wall: WALL, answer_bytes: ANSWER_BYTES };
        Ok(Self { line, digest, bounds, permits: Permits::default() })
    }

    /// A hash of the command line and of every file that it names.
    pub fn digest(&self) -> String {
        blake3::Hash::from(self.digest).to_hex().to_string()
    }

    /// What it says of a program whose format we know.
    ///
    /// As many calls are made at a time as programs would be run, and the time of a call counts from its start.
    pub(super) fn validate(
        &self,
        question: Question<'_>,
        own: FormatFindings,
        context: CallContext<'_>,
    ) -> Result<Validation, Infrastructure> {
        let question = Question { v: VERSION, ..question };
        let bytes = serde_json::to_vec(&question)
            .map_err(|error| Infrastructure(format!("cannot ask the validator: {error}")))?;
        if bytes.len() > QUESTION_BYTES {
            let length = bytes.len();
            return Err(Infrastructure(format!(
                "the validator is asked {QUESTION_BYTES} bytes at most, and this reply needs {length}"
            )));
        }
        let key = || ResultKey::of("validator", &[&self.digest, &bytes]);
        cached(context.results, key, || {
            let _permit = self.permits.take(context.workers);
            let answer = process::ask(&mut self.line.command(), bytes.clone(), self.bounds)
                .map_err(|error| Infrastructure(format!("the validator {error}")))?;
            let read = answer::read(&answer, own, &question);
            let read = read.map_err(|problem| {
                Infrastructure(format!("the validator's answer is not a validation: {problem}"))
            })?;
            Ok(Found::Steady(read))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::checks::CheckOutcome;
    use super::*;
    use crate::results::tests::MemoryCache;

    const OWN: FormatFindings = FormatFindings { plan: None, block: true, code: true };
    const ALONE: CallContext<'_> = CallContext { workers: 1, results: None };
    const BROKEN: &str = r#"{"parse":{"ok":false}}"#;

    struct Script {
        folder: tempfile::TempDir,
        validator: Validator,
    }

    /// A validator that is this script of the shell.
    fn script(text: &str) -> Script {
        within(Duration::from_mins(1), text)
    }

    fn within(wall: Duration, text: &str) -> Script {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("v.sh");
        std::fs::write(&path, text).expect("a file");
        let found = Validator::find(&format!("sh {}", path.display())).expect("there is a shell");
        let bounds = Bounds { wall, ..found.bounds };
        Script { folder, validator: Validator { bounds, ..found } }
    }

    fn ask(script: &Script, code: &str) -> Result<Validation, String> {
        let question = Question { prompt_id: "a", code, ..Question::default() };
        script.validator.validate(question, OWN, ALONE).map_err(|Infrastructure(reason)| reason)
    }

    #[test]
    fn a_validator_sees_the_question_and_its_answer_is_read() {
        let text = format!("cat > $(dirname $0)/asked\nprintf '{BROKEN}'");
        let script = script(&text);
        let seen = ask(&script, "x = 1").expect("an answer");
        assert!(!seen.parse.ok && seen.format.block && seen.runtime.is_none());
        assert!(seen.task.iter().all(|check| check.outcome != CheckOutcome::Passed));
        let asked = std::fs::read_to_string(script.folder.path().join("asked")).expect("a file");
        let expected = r#"{"v":1,"prompt_id":"a","text":"","plan":null,"code":"x = 1","skip_runtime":false,"frames":0,"input":null,"checks":[]}"#;
        assert_eq!(asked, expected);
    }

    #[test]
    fn a_validator_that_breaks_is_an_error_and_no_answer() {
        for (text, reason) in [
            ("printf '{\"parse\":{\"ok\"'", "the validator's answer is not a validation: EOF"),
            ("printf '[]'", "the validator's answer is not a validation: invalid length"),
            ("true", "the validator's answer is not a validation: EOF"),
            ("echo sorry >&2; exit 7", "the validator ended with exit status: 7: sorry"),
            ("exec cat /dev/zero", "the validator answered with more than 1048576 bytes"),
        ] {
            let said = ask(&script(text), "x").expect_err(text);
            assert!(said.starts_with(reason), "{text}: {said}");
        }
        let late = ask(&within(Duration::from_secs(1), "sleep 600"), "x").expect_err("late");
        assert_eq!(late, "the validator gave no answer within 1 s");
        let long = "x".repeat(QUESTION_BYTES);
        let said = ask(&script("true"), &long).expect_err("too long");
        assert!(said.starts_with("the validator is asked 1048576 bytes at most"), "{said}");
    }

    #[test]
    fn an_answer_is_kept_under_the_command_its_files_and_the_question() {
        let count = "echo >> $(dirname $0)/calls\n";
        let first = script(&format!("{count}printf '{BROKEN}'"));
        let cache = MemoryCache::default();
        let ask = |script: &Script, code| {
            let question = Question { code, ..Question::default() };
            let context = CallContext { results: Some(&cache), ..ALONE };
            script.validator.validate(question, OWN, context).expect("an answer")
        };
        let calls = |script: &Script| {
            std::fs::read(script.folder.path().join("calls")).map_or(0, |bytes| bytes.len())
        };
        assert_eq!(ask(&first, "x"), ask(&first, "x"));
        assert_eq!(calls(&first), 1);
        ask(&first, "y");
        assert_eq!(calls(&first), 2, "another program");
        let other = script(&format!("{count}: # other\nprintf '{BROKEN}'"));
        ask(&other, "x");
        assert_eq!(calls(&other), 1, "another script");
        let broken = script("exit 1");
        let question = Question { code: "x", ..Question::default() };
        for _ in 0..2 {
            assert!(
                broken
                    .validator
                    .validate(question, OWN, CallContext { results: Some(&cache), ..ALONE })
                    .is_err()
            );
        }
        assert_eq!(cache.lookups().iter().filter(|(_, hit)| *hit).count(), 1);
    }
}
