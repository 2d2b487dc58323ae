//! What the tests of the judge share: its start, the interpreter, the data sets, and the oracle.

pub mod agree;
pub mod case;

use std::path::PathBuf;
use std::process::Command;

use whetstone_sandbox::{Judge, Options};

/// A judge with everything by default.
pub fn judge() -> Judge {
    let options = Options::new(vec![env!("CARGO_BIN_EXE_whet-judge").to_owned()]);
    Judge::start(&options).expect("programs can be held here")
}

/// The folder of data sets beside the repository, if it is there.
pub fn data() -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    path.exists().then_some(path)
}

/// A Python script of `testdata`, to be run by the interpreter that also judges.
pub fn script(judge: &Judge, name: &str) -> Command {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/testdata").join(name);
    let mut command = Command::new(&judge.about().python);
    // The oracle's programs must see sets in the order in which the judge's see them.
    command.arg("-B").arg(path).env("PYTHONHASHSEED", "0");
    command
}
