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
mod batch;
mod layer;
mod load;
mod parameters;
mod projection;
mod step;

pub(crate) use adapt::SCORE_WEIGHT;
pub use batch::{Batch, BatchError, Sequence};
pub use layer::Keep;
pub use load::LoadOptions;
pub(crate) use load::spread;
pub use parameters::{Gradients, Parameter, ParameterId, Parameters};
pub use projection::Adapters;
pub use step::Step;
pub use whetstone_kernels::paged::{Cache, PAGE};

use whetstone_kernels::head::{self, Input, Output};
use whetstone_kernels::matmul::matmul;
use whetstone_kernels::rope::Turns;
use whetstone_kernels::{Before, Buffer, Device, Matrix, MatrixMut, add, embedding};

use crate::config::Config;
use layer::{Kept, Layer, Packed, Sizes, norm_backward, normed};
use projection::Pass;

/// A model on a device.
#[derive(Debug)]
pub struct Decoder {
    device: Device,
    config: Config,
    sizes: Sizes,
    parameters: Parameters,
    embedding: ParameterId,
    layers: Vec<Layer>,
    norm: ParameterId,
    head: ParameterId,
    value: Option<ValueHead>,
    turns: Turns,
}

/// One number for each place: a weight for each number of a hidden state, and one more for a critic.
#[derive(Debug, Clone, Copy)]
struct ValueHead {
    weight: ParameterId,
    bias: Option<ParameterId>,
}

/// How a batch goes forward.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forward {
    /// Whether adapters take part.
    pub adapters: Adapters,
    /// What layers keep for the way back; nothing if there is none.
    pub keep: Option<Keep>,
    /// What logits are divided by.
    pub temperature: f32,
    /// Whether the signal will have a part for entropies. If it has one that was not announced, the
    /// way back takes longer.
    pub entropies: bool,
}

impl Default for Forward {
    fn default() -> Self {
        Self { adapters: Adapters::On, keep: None, temperature: 1.0, entropies: false }
    }
}

/// What a model says of the places that were asked for, in their order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scored {
    /// The log-probability of the token that came.
    pub logp: Vec<f32>,
    /// The entropy of the prediction, in nats.
    pub entropy: Vec<f32>,
    /// The number of the value or score head, if there is one.
    pub value: Option<Vec<f32>>,
}

/// What an algorithm says of the same places: the derivative of the loss by each number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Signal<'a> {
    /// By the log-probabilities.
    pub dlogp: &'a [f32],
    /// By the entropies, if the loss has a term for them.
    pub dentropy: Option<&'a [f32]>,
    /// By the values, if the loss has a term for them.
    pub dvalue: Option<&'a [f32]>,
}

/// What a batch left behind on its way forward.
#[derive(Debug)]
pub struct Trail {
    forward: Forward,
    layers: Vec<Kept>,
    /// What came out of the last layer, at the places asked for.
    last: Buffer,
    lse: Buffer,
    entropy: Buffer,
    /// The slope of each log-probability by what the head was given, if the head is frozen.
    slope: Option<Buffer>,
}

impl Decoder {
    /// The device it is on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// What it is.
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
        Batch::new(&self.device, sequences, (self.config.vocab, self.turns.positions()))
    }

    /// What the model says; with `keep`, also what the way back needs.
    pub fn forward(&self, batch: &Batch, forward: Forward) -> (Scored, Option<Trail>) {
        let pass = self.pass(forward.adapters);
        let (x, layers) = self.through_layers(&pass, batch, forward.keep);
        let device = &self.device;
        let (rows, width) = (batch.asked(), self.sizes.width);
        let mut last = device.take(rows * width);
        embedding::gather(device, &mut last.view_mut(), (x.view(), batch.rows.view()));
        drop(x);
        let h = normed(&pass, &self.sizes, (last.view(), self.norm));
        let numbers = || device.take(rows);
        let (mut logp, mut entropy, mut lse) = (numbers(), numbers(), numbers());
        let wanted = forward.keep.is_some() && !forward.entropies && !self.head_is_trained();
        let mut slope = wanted.then(|| device.take(rows * width));
        let output = Output {
            logp: logp.view_mut(),
            entropy: entropy.view_mut(),
            lse: lse.view_mut(),
            slope: slope.as_mut().map(|slope| MatrixMut::new(slope.view_mut(), rows, width)),
        };
        head::forward(device, output, self.head_input(&h, batch, forward.temperature));
        let scored = Scored {
            logp: device.read(logp.view()),
            entropy: device.read(entropy.view()),
            value: self.value.map(|head| self.values(head, &h)),
        };
        let trail = forward.keep.map(|_| Trail { forward, layers, last, lse, entropy, slope });
        (scored, trail)
    }

    /// Adds the gradients of everything that is trained.
    ///
    /// # Panics
    ///
    /// If the signal is not one number for each place of the batch, or names values of a model that
    /// has none.
    pub fn backward(
        &self,
        batch: &Batch,
        trail: Trail,
        (signal, gradients): (Signal<'_>, &mut Gradients),
    ) {
        let (device, tokens) = (&self.device, batch.tokens());
        let Trail { forward, layers, last, lse, entropy, slope } = trail;
        let pass = self.pass(forward.adapters);
        let dlast = self.head_backward(
            &pass,
            (batch, forward.temperature),
            (&last, slope.as_ref(), (&lse, &entropy)),
            (signal, gradients),
        );
        drop((last, lse, entropy, slope));
        let mut dx = device.zeros(tokens * self.sizes.width);
        embedding::scatter(device, &mut dx.view_mut(), (dlast.view(), batch.rows.view()));
        drop(dlast);
        let packed = self.packed(batch);
        for (layer, kept) in self.layers.iter().zip(layers).rev() {
            layer.backward(&pass, &self.sizes, (&packed, kept), (&mut dx, gradients));
        }
        if let Some(mut to) = gradients.get_mut(self.embedding) {
            embedding::scatter(device, &mut to, (dx.view(), batch.ids.view()));
        }
    }

    fn head_is_trained(&self) -> bool {
        self.parameters.get(self.head).trained
    }

    fn pass(&self, adapters: Adapters) -> Pass<'_> {
        let (device, parameters) = (&self.device, &self.parameters);
        Pass { device, parameters, adapters }
    }

    fn packed<'a>(&'a self, batch: &'a Batch) -> Packed<'a> {
        let positions = batch.positions.view();
        Packed { offsets: &batch.offsets, positions, turns: &self.turns }
    }

    fn through_layers(
        &self,
        pass: &Pass<'_>,
        batch: &Batch,
        keep: Option<Keep>,
    ) -> (Buffer, Vec<Kept>) {
        let packed = self.packed(batch);
        let table = self.parameters.values(self.embedding);
        let mut x = self.device.take(batch.tokens() * self.sizes.width);
        embedding::gather(&self.device, &mut x.view_mut(), (table, batch.ids.view()));
        let mut all = Vec::new();
        for layer in &self.layers {
            let (out, kept) = layer.forward(pass, &self.sizes, (&packed, x, keep));
            all.extend(kept);
            x = out;
        }
        (x, all)
    }

    fn head_input<'a>(&'a self, h: &'a Buffer, batch: &'a Batch, temperature: f32) -> Input<'a> {
        Input {
            hidden: Matrix::new(h.view(), batch.asked(), self.sizes.width),
            weight: self.parameters.weight(self.head),
            targets: batch.targets.view(),
            inverse_temperature: 1.0 / temperature,
        }
    }

    /// From the signal to the gradient of what came out of the last layer.
    fn head_backward(
        &self,
        pass: &Pass<'_>,
        (batch, temperature): (&Batch, f32),
        (last, slope, (lse, entropy)): (&Buffer, Option<&Buffer>, (&Buffer, &Buffer)),
        (signal, gradients): (Signal<'_>, &mut Gradients),
    ) -> Buffer {
        let (device, rows, width) = (&self.device, batch.asked(), self.sizes.width);
        let h = normed(pass, &self.sizes, (last.view(), self.norm));
        let dlogp = device.upload(signal.dlogp);
        let mut dh = device.take(rows * width);
        let to = MatrixMut::new(dh.view_mut(), rows, width);
        match (slope, signal.dentropy) {
            (Some(slope), None) => {
                let slope = Matrix::new(slope.view(), rows, width);
                head::backward_by_slope(device, to, slope, dlogp.view());
            }
            (_, dentropy) => {
                let dentropy =
                    dentropy.map_or_else(|| device.zeros(rows), |dentropy| device.upload(dentropy));
                let back = head::Signal {
                    lse: lse.view(),
                    entropy: entropy.view(),
                    dlogp: dlogp.view(),
                    dentropy: dentropy.view(),
                };
                let vocab = self.config.vocab;
                let dweight =
                    gradients.get_mut(self.head).map(|to| MatrixMut::new(to, vocab, width));
                let input = self.head_input(&h, batch, temperature);
                head::backward(device, (to, dweight), input, back);
            }
        }
        if let Some(dvalue) = signal.dvalue {
            self.values_backward((&h, dvalue), (&mut dh, gradients));
        }
        let mut dlast = device.zeros(rows * width);
        let through = (self.norm, last, &dh);
        norm_backward(pass, &self.sizes, through, (&mut dlast, gradients));
        dlast
    }

    fn values(&self, head: ValueHead, h: &Buffer) -> Vec<f32> {
        let rows = h.len() / self.sizes.width;
        let mut values = self.device.take(rows);
        let mut to = MatrixMut::new(values.view_mut(), rows, 1);
        let h = Matrix::new(h.view(), rows, self.sizes.width);
        let weight = Matrix::new(self.parameters.values(head.weight), 1, self.sizes.width);
        matmul(&self.device, to.again(), Before::Gone, (1.0, h, weight.turned()));
        if let Some(bias) = head.bias {
            add::bias(&self.device, to, self.parameters.values(bias));
        }
        self.device.read(values.view())
    }

    fn values_backward(
        &self,
        (h, dvalue): (&Buffer, &[f32]),
        (dh, gradients): (&mut Buffer, &mut Gradients),
    ) {
        let head = self.value.expect("a head, since the signal names values");
        let (rows, width) = (dvalue.len(), self.sizes.width);
        let dvalue = self.device.upload(dvalue);
        let dvalue = Matrix::new(dvalue.view(), rows, 1);
        let weight = Matrix::new(self.parameters.values(head.weight), 1, width);
        let to = MatrixMut::new(dh.view_mut(), rows, width);
        matmul(&self.device, to, Before::Kept, (1.0, dvalue, weight));
        if let Some(to) = gradients.get_mut(head.weight) {
            let h = Matrix::new(h.view(), rows, width);
            let to = MatrixMut::new(to, 1, width);
            matmul(&self.device, to, Before::Kept, (1.0, dvalue.turned(), h));
        }
        if let Some(mut to) = head.bias.and_then(|bias| gradients.get_mut(bias)) {
            add::bias_backward(&self.device, &mut to, dvalue);
        }
    }
}
