//! Parts of the Phaser environment that a user replaces: the index of the API, and the check itself.

use std::ops::Deref;
use std::sync::Arc;

use whetstone_phaser::index::Index;

use super::validator::Validator;

/// What replaces parts of the environment.
#[derive(Debug, Clone, Default)]
pub struct PhaserOptions {
    /// An index instead of the embedded one.
    pub index: Option<Arc<Index>>,
    /// A command that checks programs in place of the environment.
    pub validator: Option<Arc<Validator>>,
}

/// The index that programs are checked against.
#[derive(Debug, Clone)]
pub(super) enum IndexSource {
    /// Part of this binary.
    Embedded(&'static Index),
    /// Read from a file.
    Given(Arc<Index>),
}

impl Deref for IndexSource {
    type Target = Index;

    fn deref(&self) -> &Index {
        match self {
            Self::Embedded(index) => index,
            Self::Given(index) => index,
        }
    }
}
