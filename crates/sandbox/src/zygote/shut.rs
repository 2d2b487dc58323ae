//! Landlock for a zygote and all its children, where they see the machine's own root.
//!
//! Rules are about folders with everything below, and packages lie in the middle of the standard
//! library: so what may be read is a list of a few hundred entries. A zygote makes it once.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use nix::sys::prctl::set_no_new_privs;
use nix::unistd::geteuid;

use super::blocked::{blocked_at, scratch_problem};
use super::shown::without_packages;
use crate::jail::landlock::{
    EXECUTE, READ_DIR, READ_FILE, Rights, WRITE_FILE, allow, enforce, make,
};
use crate::os;

/// Devices that may be read; the first may be written as well.
const DEVICES: [&str; 3] = ["/dev/null", "/dev/random", "/dev/urandom"];

/// Leaves this process and its children `shown` to read and `scratch` to write, and nothing else.
pub(super) fn shut(rights: Rights, shown: &[PathBuf], scratch: &Path) -> Result<(), String> {
    let failed = |error: i32| format!("Landlock cannot be used: {}", os::error_text(error));
    set_no_new_privs().map_err(|error| format!("cannot give up new rights: {error}"))?;
    let layer = make(rights).map_err(failed)?;
    let permit = |path: &Path, wanted: u64| {
        let text = CString::new(path.as_os_str().as_bytes()).map_err(|_| 22)?;
        allow(layer, text.as_bytes_with_nul(), wanted & rights.files)
    };
    for path in shown {
        let (read, listed) = without_packages(path);
        for path in read {
            // What went away meanwhile need not be allowed.
            let _ = permit(&path, READ_FILE | READ_DIR | EXECUTE);
        }
        for path in listed {
            // Modules are found by listing; what is in a package stays unreadable.
            permit(&path, READ_DIR).map_err(|error| {
                let error = os::error_text(error);
                format!(
                    "Landlock cannot allow {}, which programs import from: {error}",
                    path.display()
                )
            })?;
        }
    }
    for device in DEVICES {
        let write = if device == DEVICES[0] { WRITE_FILE } else { 0 };
        let _ = permit(Path::new(device), READ_FILE | write);
    }
    permit(scratch, !EXECUTE).map_err(|error| match error {
        libc::EACCES => {
            scratch_problem(scratch, geteuid().as_raw(), blocked_at(scratch).as_deref())
        }
        error => {
            let error = os::error_text(error);
            format!(
                "Landlock cannot allow the folder for programs' files, {}: {error}",
                scratch.display()
            )
        }
    })?;
    enforce(layer).map_err(failed)
}
