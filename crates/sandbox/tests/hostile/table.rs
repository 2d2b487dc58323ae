//! Everything, at every level, as root and not, as rows of a table: `cargo xtask hostile` asks for
//! it and prints it. Nothing is run here otherwise: each family has tests of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};

use nix::unistd::geteuid;
use whetstone_core::judgement::Isolation;

use crate::sequences::{self, PAIRS};
use crate::support::{Case, FAMILIES, Form, Stage, alone};

/// The variable by which the table is asked for.
const ASKED: &str = "WHETSTONE_TEST_TABLE";

#[test]
fn every_family_at_every_level() {
    if std::env::var_os(ASKED).is_none() {
        println!("skipped: `cargo xtask hostile` asks for this");
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
            row("sequences", level, 3 * PAIRS.len(), &faults, ends(stage));
        }
    }
}

fn family(name: &str, level: Isolation, cases: &[Case]) {
    let Some(stage) = Stage::start_for(level, cases) else { return };
    let forms = [Form::Calls, Form::Asserts];
    let faults = stage.faults(cases, &forms);
    row(name, level, forms.len() * cases.len(), &faults, ends(stage));
}

/// Whether nothing was left.
fn ends(stage: Stage) -> bool {
    catch_unwind(AssertUnwindSafe(|| stage.end())).is_ok()
}

/// One line that begins with a word and has its columns between tabs.
fn row(name: &str, level: Isolation, programs: usize, faults: &str, clean: bool) {
    let user = if geteuid().is_root() { "root" } else { "ordinary" };
    let (level, broke, left) = (level.name(), faults.lines().count(), u32::from(!clean));
    println!("row\t{name}\t{level}\t{user}\t{programs}\t{broke}\t{left}");
    print!("{faults}");
}
