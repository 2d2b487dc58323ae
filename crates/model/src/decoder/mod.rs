//! The decoder: packed sequences forward, and what an algorithm says of each token backward.
//!
//! [`Decoder::forward`] gives, for every place that is asked for, the log-probability of its token,
//! the entropy of the prediction and, if there is a head for it, a value. [`Decoder::backward`] takes
//! the derivatives of a loss by exactly these numbers. That is all that algorithms and models know
//! of each other.
//!
//! The value of place `i` is read from the hidden state of the token before it: a critic asks for
//! every place of a completion, a reward model for the place after the last token, and a process
//! reward model for the place after each step's last token.

mod adapt;
mod adapters;
mod batch;
mod gradients;
mod head;
mod layer;
mod load;
mod parameters;
mod pass;
mod projection;
mod step;
mod stepper;
mod sums;

pub(crate) use adapt::{SCORE_WEIGHT, VALUE_BIAS, VALUE_WEIGHT};
pub use adapters::AdapterId;
use adapters::AdapterSlot;
pub use batch::{Batch, BatchError, Sequence};
pub use gradients::Gradients;
pub use layer::Keep;
pub(crate) use load::spread;
pub use load::{LoadOptions, WeightFormat};
pub use parameters::{Parameter, ParameterId, Parameters};
pub use pass::Adapters;
pub use step::{DecodeStep, Extend, Prefill};
pub use stepper::{Chosen, Most, Stepper};
pub use whetstone_kernels::paged::{Cache, PAGE};

use whetstone_kernels::copy::copy_matrix;
use whetstone_kernels::rope::RopeTable;
use whetstone_kernels::{Buffer, Device, Matrix, MatrixMut, embedding};

use crate::config::Config;
use batch::BatchLimits;
use head::{HeadActivations, HeadBackward, HeadGradients};
use layer::{Layer, LayerGradients, Needed, Packed, RopeInput, SavedActivations};
use pass::{LayerSizes, Pass};
use sums::GradientAccumulator;

/// A model on a device.
#[derive(Debug)]
pub struct Decoder {
    device: Device,
    config: Config,
    sizes: LayerSizes,
    parameters: Parameters,
    embedding: ParameterId,
    layers: Vec<Layer>,
    norm: ParameterId,
    head: ParameterId,
    /// The head for values of the active adapter.
    value: Option<ValueHead>,
    adapters: Vec<AdapterSlot>,
    /// The place of the active one.
    active: usize,
    /// Tensors of the model itself, which come first in the list.
    base_tensors: usize,
    turns: RopeTable,
}

/// One number for each place: a weight for each number of a hidden state, and one more for a critic.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ValueHead {
    weight: ParameterId,
    bias: Option<ParameterId>,
}

impl ValueHead {
    /// Whether it is a reward model's, without a bias.
    pub(crate) fn is_score(self) -> bool {
        self.bias.is_none()
    }

    /// Weight and bias, if it is a critic's.
    pub(crate) fn critic(self) -> Option<[ParameterId; 2]> {
        Some([self.weight, self.bias?])
    }
}

/// The options of a forward pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forward {
    /// Whether adapters take part.
    pub adapters: Adapters,
    /// The activations that layers save for the backward pass; `None` without one.
    pub keep: Option<Keep>,
    /// Divides the logits.
    pub temperature: f32,
    /// Whether the signal will have a part for entropies. If it has one that was not announced, the
    /// way back takes longer.
    pub entropies: bool,
    /// Whether values are all that is computed: log-probabilities and entropies are 0 then, have no
    /// derivative, and cost nothing.
    pub values_only: bool,
}

impl Default for Forward {
    fn default() -> Self {
        Self {
            adapters: Adapters::On,
            keep: None,
            temperature: 1.0,
            entropies: false,
            values_only: false,
        }
    }
}

/// The outputs of a model at the requested positions, in their order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scored {
    /// The log-probability of the token that came.
    pub logp: Vec<f32>,
    /// The entropy of the prediction, in nats.
    pub entropy: Vec<f32>,
    /// The number of the value or score head, if there is one.
    pub value: Option<Vec<f32>>,
}

/// The derivative of the loss with respect to each output, at the same positions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Signal<'a> {
    /// By the log-probabilities.
    pub dlogp: &'a [f32],
    /// By the entropies, if the loss has a term for them.
    pub dentropy: Option<&'a [f32]>,
    /// By the values, if the loss has a term for them.
    pub dvalue: Option<&'a [f32]>,
}

/// Activations of a forward pass that the backward pass needs.
#[derive(Debug)]
pub struct Tape {
    adapters: Adapters,
    layers: Vec<SavedActivations>,
    head: HeadActivations,
}

impl Decoder {
    /// The device it is on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Its configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Its numbers.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Its numbers, to change.
    pub fn parameters_mut(&mut self) -> &mut Parameters {
        &mut self.parameters
    }

    /// Checks sequences and brings them to the device.
    ///
    /// # Errors
    ///
    /// If they are none that the model can take.
    pub fn batch(&self, sequences: &[Sequence<'_>]) -> Result<Batch, BatchError> {
        let limits = BatchLimits { vocab: self.config.vocab, positions: self.turns.positions() };
        Batch::new(&self.device, sequences, limits)
    }

    /// The outputs; with `keep`, also the tape for the backward pass.
    pub fn forward(&self, batch: &Batch, forward: Forward) -> (Scored, Option<Tape>) {
        let pass = self.pass(forward.adapters);
        let (x, layers) = self.through_layers(&pass, batch, forward.keep);
        let (scored, head) = self.head_forward(x, batch, forward);
        let tape = forward.keep.map(|_| Tape { adapters: forward.adapters, layers, head });
        (scored, tape)
    }

    /// Adds the gradients of everything that is trained, sequence by sequence: batches of some
    /// sequences each, one after another, add the bits that one batch of all of them adds.
    ///
    /// # Panics
    ///
    /// If the signal is not one number for each place of the batch, or names values of a model that
    /// has none.
    pub fn backward(
        &self,
        batch: &Batch,
        tape: Tape,
        signal: Signal<'_>,
        gradients: &mut Gradients,
    ) {
        let (device, tokens) = (&self.device, batch.tokens());
        let Tape { adapters, layers, head: activations } = tape;
        let pass = self.pass(adapters);
        let incoming = HeadGradients::new(device, signal, batch.asked());
        let mut head = HeadBackward { activations, incoming };
        let dlast = self.head_backward(&pass, batch, &mut head, gradients);
        let head = gradients.get(self.head).is_some().then_some(head);
        let mut dx = device.zeros(tokens * self.sizes.width);
        embedding::place(device, &mut dx.view_mut(), dlast.view(), batch.rows.view());
        drop(dlast);
        let packed = self.packed(batch);
        let sums = GradientAccumulator::new(device, gradients, &batch.offsets);
        let mut layer_gradients = LayerGradients { dx, needed: Needed::Input, sums };
        for (at, (layer, kept)) in self.layers.iter().zip(layers).enumerate().rev() {
            let is_first = at == 0 && !layer_gradients.sums.is_trained(self.embedding);
            if is_first && !layer_gradients.sums.is_trained(layer.before_attention) {
                layer_gradients.needed = Needed::Parameters;
            }
            layer.backward(&pass, &packed, kept, &mut layer_gradients);
        }
        let mut dx = layer_gradients.dx;
        if gradients.get(self.embedding).is_some() && dx.len() > tokens * self.sizes.width {
            dx = self.without_room(&dx, tokens);
        }
        self.embedding_backward(batch, head, &dx, gradients);
    }

    /// Copies rows of hidden states with a larger stride into contiguous rows.
    fn without_room(&self, rows: &Buffer, count: usize) -> Buffer {
        let width = self.sizes.width;
        let mut to = self.device.take(count * width);
        let from = Matrix::strided(rows.view(), count, width, rows.len() / count.max(1));
        copy_matrix(&self.device, MatrixMut::new(to.view_mut(), count, width), from);
        to
    }

    fn pass(&self, adapters: Adapters) -> Pass<'_> {
        let (device, parameters) = (&self.device, &self.parameters);
        Pass { device, parameters, sizes: &self.sizes, adapters }
    }

    fn packed<'a>(&'a self, batch: &'a Batch) -> Packed<'a> {
        let rope = RopeInput { positions: batch.positions.view(), table: &self.turns };
        Packed { offsets: &batch.offsets, rope }
    }

    fn through_layers(
        &self,
        pass: &Pass<'_>,
        batch: &Batch,
        keep: Option<Keep>,
    ) -> (Buffer, Vec<SavedActivations>) {
        let packed = self.packed(batch);
        let table = self.parameters.activations(self.embedding);
        let mut x = self.device.take(batch.tokens() * self.sizes.width);
        embedding::gather(&self.device, &mut x.view_mut(), table, batch.ids.view());
        let mut all = Vec::new();
        for layer in &self.layers {
            let (out, kept) = layer.forward(pass, &packed, x, keep);
            all.extend(kept);
            x = out;
        }
        (x, all)
    }
}
