//! Cache keys: a hash of everything that a verdict depends on.
//!
//! Every part is hashed with its length before it, so that no two lists of parts have the same
//! bytes. What one task shares among its programs (judge, tests, limits) is hashed once.

use serde::{Deserialize, Serialize};
use whetstone_core::judgement::Isolation;
use whetstone_core::task::Task;
use whetstone_env::python::PythonEnvironment;
use whetstone_sandbox::JUDGE_VERSION;
use whetstone_sandbox::job::Limits;

/// Raised when the parts of a key, what they mean, how quality is measured, or what may be kept change.
const FORMAT: &str = "whet-reward-key-5";

/// The judge and its isolation: what a verdict depends on beside program and tests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The judge and its version; another version may judge differently.
    pub judge: String,
    /// The interpreter and its version, e.g. `CPython 3.11.7`.
    pub interpreter: String,
    /// The isolation of programs from the machine.
    pub isolation: Isolation,
}

/// A program with everything its verdict follows from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(pub [u8; 32]);

/// The keys of a program's verdict and of its timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ProgramKeys {
    /// With the limit on CPU time in it.
    pub verdict: Key,
    /// The same for every limit on CPU time; the entry says at which it was measured.
    pub timeout: Key,
}

/// Makes the keys of one task's programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskKeys {
    within_limits: [u8; 32],
    /// Without the limit on CPU time: a timeout says something of every lower limit too.
    of_timeouts: [u8; 32],
}

impl Identity {
    /// Of the judge of an environment of programs.
    pub fn of(programs: &PythonEnvironment) -> Self {
        let Some(about) = &programs.about else {
            let (judge, interpreter) = ("a stand-in".to_owned(), "none".to_owned());
            return Self { judge, interpreter, isolation: Isolation::Full };
        };
        let [major, minor, micro] = about.python_version;
        Self {
            judge: JUDGE_VERSION.to_owned(),
            interpreter: format!("CPython {major}.{minor}.{micro}"),
            isolation: about.isolation,
        }
    }
}

impl TaskKeys {
    /// The keys of the programs that `identity` judges against `task` within `limits`.
    pub fn new(identity: &Identity, task: &Task, limits: Limits) -> Self {
        let mut hasher = blake3::Hasher::new();
        let mut part = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        part(FORMAT.as_bytes());
        part(env!("CARGO_PKG_VERSION").as_bytes());
        part(identity.judge.as_bytes());
        part(identity.interpreter.as_bytes());
        part(json(&identity.isolation).as_bytes());
        part(json(&task.language).as_bytes());
        part(task.setup.as_bytes());
        part(json(&task.tests).as_bytes());
        part(&limits.memory.to_le_bytes());
        let mut timeouts = hasher.clone();
        timeouts.update(b"timeouts");
        hasher.update(&limits.cpu.as_nanos().to_le_bytes());
        Self {
            within_limits: *hasher.finalize().as_bytes(),
            of_timeouts: *timeouts.finalize().as_bytes(),
        }
    }

    /// The keys of one program.
    pub fn program(&self, source: &str) -> ProgramKeys {
        ProgramKeys {
            verdict: keyed(&self.within_limits, source),
            timeout: keyed(&self.of_timeouts, source),
        }
    }
}

fn keyed(key: &[u8; 32], source: &str) -> Key {
    let mut hasher = blake3::Hasher::new_keyed(key);
    hasher.update(source.as_bytes());
    Key(*hasher.finalize().as_bytes())
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain data without maps of odd keys is JSON")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::time::Duration;

    use whetstone_core::wire::Wire;

    use super::*;

    fn identity() -> Identity {
        Identity {
            judge: "judge 1".to_owned(),
            interpreter: "CPython 3".to_owned(),
            isolation: Isolation::Full,
        }
    }

    fn task(setup: &str, test: &str) -> Task {
        let line = serde_json::json!({
            "id": "a", "statement": "s", "setup": setup,
            "tests": {"kind": "asserts", "hidden": [test]},
        });
        Task::from_object(serde_json::from_str(&line.to_string()).unwrap()).unwrap()
    }

    #[test]
    fn whatever_a_verdict_follows_from_is_in_its_key() {
        let (limits, plain) = (Limits::default(), task("", "assert f(1)"));
        let other = |change: fn(&mut Identity)| {
            let mut identity = identity();
            change(&mut identity);
            TaskKeys::new(&identity, &plain, limits)
        };
        let mut script = plain.clone();
        script.language = whetstone_core::Language::Javascript;
        let tasks = [
            TaskKeys::new(&identity(), &plain, limits),
            other(|identity| identity.judge = "judge 2".to_owned()),
            other(|identity| identity.interpreter = "CPython 4".to_owned()),
            other(|identity| identity.isolation = Isolation::Rlimit),
            TaskKeys::new(&identity(), &task("import x", "assert f(1)"), limits),
            TaskKeys::new(&identity(), &task("", "assert f(2)"), limits),
            TaskKeys::new(&identity(), &script, limits),
            TaskKeys::new(&identity(), &plain, Limits { memory: 1, ..limits }),
            TaskKeys::new(&identity(), &plain, Limits { cpu: Duration::from_millis(1), ..limits }),
        ];
        let keys: HashSet<_> = tasks
            .iter()
            .flat_map(|task| [task.program("a").verdict, task.program("b").verdict])
            .collect();
        assert_eq!(keys.len(), 2 * tasks.len());
        let timeouts: HashSet<_> = tasks.iter().map(|task| task.program("a").timeout).collect();
        assert_eq!(timeouts.len(), tasks.len() - 1, "all but the limit on CPU time");
        assert!(timeouts.is_disjoint(&keys));
    }

    #[test]
    fn the_same_program_of_another_line_has_the_same_key() {
        let key = || {
            let task = task("import x", "assert f(1)");
            TaskKeys::new(&identity(), &task, Limits::default()).program("x = 1\n")
        };
        assert_eq!(key(), key());
    }

    #[test]
    fn text_cannot_move_from_one_part_to_the_next() {
        let named = |judge: &str, interpreter: &str| {
            let (judge, interpreter) = (judge.to_owned(), interpreter.to_owned());
            let identity = Identity { judge, interpreter, isolation: Isolation::Full };
            TaskKeys::new(&identity, &task("", "x"), Limits::default())
        };
        assert_ne!(named("ab", "c"), named("a", "bc"));
    }
}
