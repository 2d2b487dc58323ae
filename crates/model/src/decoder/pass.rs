//! A pass through the model: where it finds the parameters, how large layers are, and whether adapters
//! take part.

use whetstone_kernels::Device;
use whetstone_kernels::attention::Shape;

use super::parameters::Parameters;

/// The parameters of a pass, and whether adapters are active.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pass<'a> {
    pub(crate) device: &'a Device,
    pub(crate) parameters: &'a Parameters,
    pub(crate) sizes: &'a LayerSizes,
    pub(crate) adapters: Adapters,
}

/// The sizes of every layer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LayerSizes {
    pub(crate) width: usize,
    pub(crate) ffn: usize,
    pub(crate) epsilon: f32,
    pub(crate) shape: Shape,
}

/// Whether low-rank additions take part: without them a model is its own reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adapters {
    /// They do.
    On,
    /// They do not.
    Off,
}
