//! Declarations that have more members at run time than their declaration file lists.
//!
//! Matter.js has a declaration file of its own, some namespaces hold what plugins add, and some objects
//! take over the members of the object that they wrap.

/// Namespaces and classes in which an unknown name is no finding.
const OPEN: &[&str] = &[
    "Phaser.Physics.Matter.Matter",
    "Phaser.Physics.Matter.MatterPhysics",
    "Phaser.Physics.Matter.PhysicsEditorParser",
    "Phaser.Plugins",
    "Phaser.Types",
];

/// Object types that the engine makes and hands out whole; other object types describe settings, to which
/// a program may add what it likes.
const CLOSED_OBJECTS: &[&str] = &["Phaser.Types.Input.Keyboard.CursorKeys"];

/// Whether `path` is on the list of open declarations.
pub(super) fn is_open(path: &str) -> bool {
    OPEN.contains(&path)
}

/// Whether the object type at `path` has exactly its listed members.
pub(super) fn is_closed_object(path: &str) -> bool {
    CLOSED_OBJECTS.contains(&path)
}
