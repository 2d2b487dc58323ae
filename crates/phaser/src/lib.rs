//! Static check of Phaser programs: syntax, use of the engine's API, and the parts of a scene.
//!
//! [`index`] is what is known of a version of Phaser: names and signatures, made from the declaration file of
//! a release. [`check`] reads one program against it. Nothing here runs a program, knows a reward or sees the
//! sandbox; that Phaser itself is installed is not needed.

pub mod check;
pub mod index;
