//! Rows of an index file: a header, then one declaration a line.
//!
//! Types are text in a small grammar of our own (`types.rs`): paths, `|`, `&`, `[]`, type arguments and the
//! parameters of functions. What the check cannot use is left out: primitives are no type at all, and of
//! parameters only those that are functions, or objects that hold functions, have one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The first line of an index file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Version of the row format: [`FORMAT`].
    pub format: u32,
    /// Version of Phaser that is described, as `3.90.0`.
    pub phaser: String,
    /// SHA-256 of the declaration file, in hexadecimal.
    pub sha256: String,
    /// Number of rows that follow.
    pub rows: usize,
}

/// The row format that this crate writes and reads.
pub const FORMAT: u32 = 1;

/// What a row declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A class, with a static side.
    Class,
    /// An interface: a type alone.
    Interface,
    /// A namespace.
    Namespace,
    /// A function in a namespace.
    Function,
    /// A constant in a namespace.
    Const,
    /// A name for a type: a type alone.
    Typedef,
    /// An enumeration; its values are static members.
    Enum,
}

impl Kind {
    /// Whether a program can name it, or only a type can.
    pub fn is_type_only(self) -> bool {
        matches!(self, Self::Interface | Self::Typedef)
    }
}

/// Whether a member is called or read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum MemberKind {
    /// A method.
    #[serde(rename = "m")]
    Method,
    /// A property.
    #[serde(rename = "p")]
    Property,
}

/// Arguments that a function takes, and what it returns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// Method or property.
    pub k: MemberKind,
    /// Type of a property, or what a method returns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub t: Option<String>,
    /// Whether it is static.
    #[serde(default, skip_serializing_if = "is_false")]
    pub st: bool,
    /// Fewest arguments.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub min: u8,
    /// Most arguments; `None` where any number is taken, or where it is no function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u8>,
    /// Types of parameters that are functions, or objects with functions, by position.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cb: BTreeMap<u8, String>,
}

/// One declaration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Full name, as `Phaser.GameObjects.Sprite`.
    pub path: String,
    /// What is declared.
    pub kind: Kind,
    /// Paths of classes and interfaces whose members it has too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ext: Vec<String>,
    /// Members by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub members: BTreeMap<String, Member>,
    /// The type of a constant or typedef, or what a function returns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub t: Option<String>,
    /// Fewest arguments of a function.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub min: u8,
    /// Most arguments of a function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u8>,
    /// As in [`Member::cb`], of a function.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cb: BTreeMap<u8, String>,
    /// Whether it has members that are not listed, so that an unknown name is no finding.
    #[serde(default, skip_serializing_if = "is_false")]
    pub open: bool,
}

impl Row {
    /// A declaration without anything in it yet.
    pub fn new(path: String, kind: Kind) -> Self {
        Self {
            path,
            kind,
            ext: Vec::new(),
            members: BTreeMap::new(),
            t: None,
            min: 0,
            max: None,
            cb: BTreeMap::new(),
            open: false,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_false(value: &bool) -> bool {
    !value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_zero(value: &u8) -> bool {
    *value == 0
}
