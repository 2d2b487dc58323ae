//! Where a data set is on this machine.

use std::path::{Path, PathBuf};

use whetstone_core::{Seed, Task};
use whetstone_data::Part;
use whetstone_data::source::Kind;

use crate::failure::Failure;

/// The path of a data set: the one that was given, or else the one that its name stands for.
pub(super) fn locate(source: Kind, given: Option<&Path>) -> Result<PathBuf, Failure> {
    match (given, source) {
        (Some(path), _) => Ok(path.to_owned()),
        (None, Kind::Apps) => Err(Failure::NotHere {
            what: "`apps` by its name",
            hint: "give `--apps PATH` with a copy of it, or `--skip-apps`",
        }),
        (None, _) => Err(Failure::NotHere {
            what: "`mbpp` by its name",
            hint: "give `--mbpp PATH` with a copy of it, or name another source",
        }),
    }
}

/// Tasks that need no download.
pub(super) fn embedded(_seed: Seed, _count: usize) -> Result<Vec<(Part, Task)>, Failure> {
    Err(Failure::NotHere {
        what: "embedded tasks",
        hint: "name another source: `--mbpp`, `--apps`, `--humaneval` or `--tasks`",
    })
}
