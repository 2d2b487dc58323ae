//! Names of the folders that programs write to.

/// The path, inside the sandbox, of the folder that a program may write to.
pub(crate) const SCRATCH: &str = "/tmp";
/// A slot's folder in a private root, where `/tmp` is a link to the program's folder in it.
pub(crate) const SLOT_FOLDER: &str = "/.slot";
/// A program's folder in its slot's.
pub(crate) const PROGRAM_FOLDER: &str = "program";
