//! Landlock from the inside: what the child may still open.
//!
//! The crate `landlock` would do this with types; it cannot be here, where there is no `std`. The
//! rights that the running kernel knows come with the [`Terms`], which the supervisor fills in.
//!
//! In a private root a child shuts it for itself. Where programs see the machine's root, the zygote
//! does, once for all its children, in `zygote/shut.rs`: the list of what may be read is long there.

use crate::jail::order::Terms;
use crate::jail::sys::{self, call, fd, nr};

const RULE_PATH_BENEATH: u64 = 1;
pub(crate) const EXECUTE: u64 = 1;
pub(crate) const WRITE_FILE: u64 = 1 << 1;
pub(crate) const READ_FILE: u64 = 1 << 2;
pub(crate) const READ_DIR: u64 = 1 << 3;
const MAKE_CHAR: u64 = 1 << 6;
/// To make and remove names of every kind: folders, files, sockets, pipes, devices, links.
const NAMES: u64 = 0b1_1111_1111 << 4;

/// The rights that a layer of Landlock removes; its rules grant some of them again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rights {
    pub(crate) files: u64,
    pub(crate) net: u64,
    pub(crate) scopes: u64,
}

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
/// open. Does nothing where Landlock is not used.
///
/// Test code that shares its folder with a program makes no names there: the program could read them.
pub(crate) fn restrict(terms: &Terms, makes_names: bool) -> Result<(), i32> {
    if terms.level == 0 {
        return Ok(());
    }
    let mut rights = Rights {
        files: terms.landlock_files,
        net: terms.landlock_net,
        scopes: terms.landlock_scopes,
    };
    let has_own_root = rights.files != 0;
    if !has_own_root && !makes_names {
        rights.files = NAMES;
    } else if !has_own_root && rights.scopes == 0 {
        // With a layer of its own, the child may not look into its zygote, which has none of it. What the
        // layer takes away, devices, no program can make anyway.
        rights.files = MAKE_CHAR;
    }
    let ruleset = make(rights)?;
    if has_own_root {
        // A private root holds nothing that may not be read.
        allow(ruleset, b"/\0", (READ_FILE | READ_DIR | EXECUTE) & rights.files)?;
        // Where honest programs send what they do not want.
        allow(ruleset, b"/dev/null\0", WRITE_FILE & rights.files)?;
        if makes_names {
            allow(ruleset, &terms.scratch, rights.files & !EXECUTE)?;
        }
    }
    enforce(ruleset)
}

/// A layer without rules.
pub(crate) fn make(rights: Rights) -> Result<u64, i32> {
    let rules = Ruleset { files: rights.files, net: rights.net, scopes: rights.scopes };
    // An older kernel knows a shorter structure and refuses one with more than zeros in its tail.
    let size = if rights.scopes != 0 {
        24
    } else if rights.net != 0 {
        16
    } else {
        8
    };
    let arguments = [sys::address(&rules), size, 0, 0, 0, 0];
    // SAFETY: the structure is alive and at least as long as said.
    unsafe { call(nr::LANDLOCK_CREATE_RULESET, arguments) }
}

/// Puts this process and its children under a layer.
pub(crate) fn enforce(ruleset: u64) -> Result<(), i32> {
    // SAFETY: a descriptor and a flag.
    unsafe { call(nr::LANDLOCK_RESTRICT_SELF, [ruleset, 0, 0, 0, 0, 0]) }?;
    sys::close(i32::try_from(ruleset).unwrap_or(-1));
    Ok(())
}

/// Allows `rights` beneath `path`, which ends in a zero.
pub(crate) fn allow(ruleset: u64, path: &[u8], rights: u64) -> Result<(), i32> {
    debug_assert!(path.contains(&0));
    let flags = sys::O_PATH | sys::O_CLOEXEC;
    let arguments = [fd(sys::AT_FDCWD), path.as_ptr() as u64, flags, 0, 0, 0];
    // SAFETY: the path ends in a zero.
    let parent = unsafe { call(nr::OPENAT, arguments) }?;
    let parent = i32::try_from(parent).unwrap_or(-1);
    // Rights that only a directory can have make a rule on a file invalid.
    let rule = Beneath { allowed: rights, parent };
    let arguments = [ruleset, RULE_PATH_BENEATH, sys::address(&rule), 0, 0, 0];
    // SAFETY: the structure is alive and has the kernel's layout.
    let mut result = unsafe { call(nr::LANDLOCK_ADD_RULE, arguments) };
    if result.is_err() {
        let rule = Beneath { allowed: rights & (READ_FILE | WRITE_FILE | EXECUTE), parent };
        let arguments = [ruleset, RULE_PATH_BENEATH, sys::address(&rule), 0, 0, 0];
        // SAFETY: as above.
        result = unsafe { call(nr::LANDLOCK_ADD_RULE, arguments) };
    }
    sys::close(parent);
    result.map(drop)
}
