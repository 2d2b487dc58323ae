//! Everything, at every level, as root and not, as rows of a table: `cargo xtask hostile` asks for
//! it and prints it. Nothing is run here otherwise: each family has tests of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;

use nix::unistd::geteuid;
use whetstone_core::judgement::Isolation;

use crate::costs::holdings;
use crate::sequences::{self, PAIRS};
use crate::support::{Case, FAMILIES, Form, Stage, alone};

/// The variable by which the table is asked for.
const ASKED: &str = "WHETSTONE_TEST_TABLE";

#[test]
fn every_family_at_every_level() {
    if std::env::var_os(ASKED).is_none() {
        println!("SKIPPED: `cargo xtask hostile` asks for this");
        return;
    }
    let _alone = alone();
    rows();
    if geteuid().is_root() {
        crate::elsewhere::rows_of_another();
    }
}

/// The rows for this user.
pub(crate) fn rows() {
    for level in [Isolation::Full, Isolation::Landlock] {
        for (name, cases) in FAMILIES {
            family(name, level, cases);
        }
        if let Some(stage) = Stage::start_with(level, 1) {
            let faults = sequences::faults(&stage);
            row(
                "sequences",
                level.name(),
                &Found { programs: 3 * PAIRS.len(), faults, left: ends(stage) },
            );
        }
        if let Some(stage) = Stage::start_with(level, 1) {
            let faults = holdings::faults_behind(&stage);
            row(
                "behind",
                level.name(),
                &Found { programs: holdings::BEHIND.len(), faults, left: ends(stage) },
            );
        }
    }
    for module in CHECKS {
        checks(module);
    }
}

/// Modules whose tests are more than a list of programs; each holds at the levels that there are.
const CHECKS: [&str; 6] =
    ["checkers::", "costs::", "expected::", "helpers::", "landlock::", "objects::"];
/// Tests in them that have rows of their own.
const HAVE_ROWS: [&str; 3] = ["what_is_written_is", "what_no_limit_counts", "watched_while"];

/// Runs a module's tests in another process of this user.
fn checks(module: &str) {
    let skipped = HAVE_ROWS.iter().flat_map(|name| ["--skip", name]);
    let output = Command::new(std::env::current_exe().unwrap())
        .arg(module)
        .args(skipped)
        .env_remove(ASKED)
        .env_remove(crate::elsewhere::INSIDE)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let ended = |how: &str| {
        said.lines().filter(|line| line.starts_with("test ") && line.ends_with(how)).count()
    };
    let (held, broke) = (ended("... ok"), ended("... FAILED"));
    let mut faults: String = said
        .lines()
        .filter(|line| line.ends_with("... FAILED"))
        .map(|line| line.to_owned() + "\n")
        .collect();
    if !output.status.success() && broke == 0 || held + broke == 0 {
        faults += "no test of this module ran to its end\n";
    }
    let failed = !faults.is_empty();
    let found = Found { programs: held + broke, faults, left: Left::Nothing };
    row(module.trim_end_matches(':'), "each", &found);
    if failed {
        print!("{said}{}", String::from_utf8_lossy(&output.stderr));
    }
}

fn family(name: &str, level: Isolation, cases: &[Case]) {
    let Some(stage) = Stage::start_for(level, cases) else { return };
    let forms = [Form::Calls, Form::Asserts];
    let faults = stage.faults(cases, &forms);
    row(
        name,
        level.name(),
        &Found { programs: forms.len() * cases.len(), faults, left: ends(stage) },
    );
}

/// What became of some programs.
#[derive(Debug)]
struct Found {
    programs: usize,
    /// A line for each that broke through.
    faults: String,
    left: Left,
}

/// What was found on the machine at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    Nothing,
    Something,
}

fn ends(stage: Stage) -> Left {
    let clean = catch_unwind(AssertUnwindSafe(|| stage.end())).is_ok();
    if clean { Left::Nothing } else { Left::Something }
}

/// One line that begins with a word and has its columns between tabs.
fn row(name: &str, level: &str, found: &Found) {
    let Found { programs, faults, left } = found;
    let user = if geteuid().is_root() { "root" } else { "ordinary" };
    let (broke, left) = (faults.lines().count(), u32::from(*left == Left::Something));
    println!("row\t{name}\t{level}\t{user}\t{programs}\t{broke}\t{left}");
    print!("{faults}");
}
