//! Sequences: what one program leaves, the next must not find, whatever it is kept in.
//!
//! Each pair is judged in one slot, one program after the other, and an honest program after both:
//! it must pass whatever came before it. `pairs.rs` has the pairs.

mod pairs;

use std::fmt::Write as _;
use std::path::Path;

use whetstone_core::judgement::Isolation;
use whetstone_core::verdict::Verdict;

use crate::support::{Form, Stage, Task, alone, quick_limits, tell};

pub(crate) use pairs::PAIRS;

/// Two programs: the bodies of a function that leaves something, and of one that looks for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair {
    pub(crate) name: &'static str,
    /// What the first does; each line is tried by itself.
    pub(crate) leaves: &'static str,
    /// What the second asks: an expression that is true if it has found something.
    pub(crate) finds: &'static str,
}

const IMPORTS: &str = "import array, ctypes, fcntl, mmap, os, resource, signal, socket, struct, \
                       sys, tempfile, threading, time\nlibc = ctypes.CDLL(None, use_errno=True)\n";

/// Writes and reads files as many honest programs do.
const HONEST: &str = "
import os, tempfile
def gap(a, b):
    with tempfile.NamedTemporaryFile('w+') as file:
        file.write(str(abs(a - b)))
        file.seek(0)
        os.mkdir('own')
        os.rmdir('own')
        return int(file.read())
";

impl Pair {
    fn leaver(&self) -> String {
        let mut source = IMPORTS.to_owned();
        for line in self.leaves.lines().filter(|line| !line.trim().is_empty()) {
            writeln!(source, "try: {}\nexcept Exception: pass", line.trim()).unwrap();
        }
        source + "def gap(a, b): return -1\n"
    }

    fn finder(&self) -> String {
        format!(
            "{IMPORTS}try: found = bool({})\nexcept Exception: found = False\ndef gap(a, b): return \
             abs(a - b) if found else -1\n",
            self.finds.trim()
        )
    }

    /// What is wrong, if the second program found something or an honest one was hurt.
    fn faults(&self, stage: &Stage) -> String {
        let tests = Task::Gap.tests(Form::Calls);
        let judge = |source: &str| stage.submit_tests(source, &tests, quick_limits()).wait();
        let mut faults = String::new();
        for (who, source, wanted) in [
            ("the first", self.leaver(), Verdict::Wrong { test: 0 }),
            ("the second", self.finder(), Verdict::Wrong { test: 0 }),
            ("an honest one after them", HONEST.to_owned(), Verdict::Pass),
        ] {
            match judge(&source) {
                Ok(judged) if *judged.verdict() == wanted => {}
                Ok(judged) => {
                    let told = tell(judged.verdict());
                    writeln!(faults, "{}: {who}: {told}", self.name).unwrap();
                }
                Err(problem) => writeln!(faults, "{}: {who}: {problem}", self.name).unwrap(),
            }
        }
        faults
    }
}

/// Judges all pairs; says what was found.
pub(crate) fn faults(stage: &Stage) -> String {
    PAIRS.iter().map(|pair| pair.faults(stage)).collect()
}

/// Holds all pairs at one level; the caller sees to it that nothing else runs.
pub(crate) fn hold_pairs(level: Isolation) {
    hold_pairs_in(level, &std::env::temp_dir());
}

/// The same, with programs' folders in this one where they are outside.
fn hold_pairs_in(level: Isolation, folder: &Path) {
    let Some(stage) = Stage::start_in(level, 1, folder) else { return };
    let faults = faults(&stage);
    assert!(faults.is_empty(), "at {level:?}:\n{faults}");
    println!("held at {level:?}: {} pairs", PAIRS.len());
    stage.end();
}

#[test]
fn what_one_leaves_the_next_does_not_find_at_full() {
    let _alone = alone();
    hold_pairs(Isolation::Full);
}

#[test]
fn what_one_leaves_the_next_does_not_find_at_landlock() {
    let _alone = alone();
    hold_pairs(Isolation::Landlock);
}

/// A tmpfs numbers the names in a folder as they are made.
#[test]
fn what_one_leaves_the_next_does_not_find_at_landlock_in_memory() {
    const TMPFS_MAGIC: i64 = 0x0102_1994;
    let folder = Path::new("/dev/shm");
    let kind = nix::sys::statfs::statfs(folder).map_or(0, |found| found.filesystem_type().0);
    if kind != TMPFS_MAGIC {
        println!("SKIPPED: /dev/shm is not a tmpfs");
        return;
    }
    let _alone = alone();
    hold_pairs_in(Isolation::Landlock, folder);
}
