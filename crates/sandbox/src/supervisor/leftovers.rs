//! Removes what a killed supervisor left behind: program folders and control groups.
//!
//! Each carries its process's number. The next supervisor clears away those whose process is no
//! more; the judge that started one does so at once when it sees it die.

use std::path::Path;

use super::groups::{self, owner};
use super::scratch::Scratch;

/// Clears away what dead supervisors left.
pub(crate) fn clear(scratch: &Path) {
    let gone = |pid: u32| !Path::new(&format!("/proc/{pid}")).exists();
    for entry in std::fs::read_dir(scratch).into_iter().flatten().flatten() {
        if owner(&entry.file_name().to_string_lossy()).is_some_and(gone) {
            Scratch::remove(&entry.path());
        }
    }
    groups::sweep(gone);
}
