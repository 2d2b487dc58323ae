//! Landlock from the inside: what the child may still open.
//!
//! The crate `landlock` would do this with types; it cannot be here, where there is no `std`. The
//! rights that the running kernel knows come with the [`Terms`], which the supervisor fills in.

use crate::jail::order::{PATH_MAX, Terms};
use crate::jail::sys::{self, call, fd, nr};

const RULE_PATH_BENEATH: u64 = 1;
const EXECUTE: u64 = 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;

/// `struct landlock_ruleset_attr`.
#[repr(C)]
struct Ruleset {
    files: u64,
    net: u64,
    scopes: u64,
}

/// `struct landlock_path_beneath_attr`, which is packed.
#[repr(C, packed)]
struct Beneath {
    allowed: u64,
    parent: i32,
}

/// Shuts the file system, the net, and signals and sockets to others, but for what `terms` leave
/// open. Does nothing on a kernel without Landlock.
pub(crate) fn restrict(terms: &Terms) -> Result<(), i32> {
    if terms.landlock_files == 0 {
        return Ok(());
    }
    let rules = Ruleset {
        files: terms.landlock_files,
        net: terms.landlock_net,
        scopes: terms.landlock_scopes,
    };
    // An older kernel knows a shorter structure and refuses one with more than zeros in its tail.
    let size = if terms.landlock_scopes != 0 {
        24
    } else if terms.landlock_net != 0 {
        16
    } else {
        8
    };
    let arguments = [sys::address(&rules), size, 0, 0, 0, 0];
    // SAFETY: the structure is alive and at least as long as said.
    let ruleset = unsafe { call(nr::LANDLOCK_CREATE_RULESET, arguments) }?;
    let reading = (READ_FILE | READ_DIR | EXECUTE) & terms.landlock_files;
    if terms.readable_count == 0 {
        // A private root holds nothing that may not be read.
        allow(ruleset, b"/\0", reading)?;
    }
    let count = terms.readable_count as usize;
    for path in terms.readable.iter().take(count) {
        // What a machine does not have need not be allowed.
        let _ = allow(ruleset, path, reading);
    }
    allow(ruleset, &terms.scratch, terms.landlock_files & !EXECUTE)?;
    // SAFETY: a descriptor and a flag.
    unsafe { call(nr::LANDLOCK_RESTRICT_SELF, [ruleset, 0, 0, 0, 0, 0]) }?;
    sys::close(i32::try_from(ruleset).unwrap_or(-1));
    Ok(())
}

/// Allows `rights` beneath `path`, which ends in a zero.
fn allow(ruleset: u64, path: &[u8], rights: u64) -> Result<(), i32> {
    debug_assert!(path.contains(&0) && path.len() <= PATH_MAX);
    let flags = sys::O_PATH | sys::O_CLOEXEC;
    let arguments = [fd(sys::AT_FDCWD), path.as_ptr() as u64, flags, 0, 0, 0];
    // SAFETY: the path ends in a zero.
    let parent = unsafe { call(nr::OPENAT, arguments) }?;
    let parent = i32::try_from(parent).unwrap_or(-1);
    // Rights that only a directory can have make a rule on a file invalid; the few files that are
    // listed (devices) are opened to be read and written.
    let rule = Beneath { allowed: rights, parent };
    let arguments = [ruleset, RULE_PATH_BENEATH, sys::address(&rule), 0, 0, 0];
    // SAFETY: the structure is alive and has the kernel's layout.
    let mut result = unsafe { call(nr::LANDLOCK_ADD_RULE, arguments) };
    if result.is_err() {
        let rule = Beneath { allowed: rights & (READ_FILE | 1 << 1), parent };
        let arguments = [ruleset, RULE_PATH_BENEATH, sys::address(&rule), 0, 0, 0];
        // SAFETY: as above.
        result = unsafe { call(nr::LANDLOCK_ADD_RULE, arguments) };
    }
    sys::close(parent);
    result.map(drop)
}
