//! The head: from the last layer to the outputs at each position, and backward.
//!
//! A trained head gets its gradient after the layers have theirs: with tied embeddings it is the
//! embedding, whose other part comes out of the first layer, and each sequence must add both parts
//! before the next one does. Hidden states do not wait for it: their gradient uses the derivatives
//! saved in the forward pass.

use whetstone_kernels::head::{self, Input, Output};
use whetstone_kernels::matmul::{ScaledProduct, matmul};
use whetstone_kernels::{Buffer, Device, Matrix, MatrixMut, WriteMode, add, embedding};

use super::layer::{LayerGradients, Needed, NormInput, norm_backward, normed};
use super::pass::{Adapters, Pass};
use super::sums::GradientAccumulator;
use super::{Batch, Decoder, Forward, Gradients, Scored, Signal, ValueHead};

/// Activations of the head at the requested positions.
#[derive(Debug)]
pub(super) struct HeadActivations {
    /// The output of the last layer.
    last: Buffer,
    lse: Buffer<f32>,
    entropy: Buffer<f32>,
    /// The derivative of each log-probability with respect to the head's input, if entropies are
    /// not used.
    slope: Option<Buffer>,
    inverse_temperature: f32,
    values_only: bool,
}

/// A signal on the device.
#[derive(Debug)]
pub(super) struct HeadGradients {
    dlogp: Buffer<f32>,
    dentropy: Buffer<f32>,
    dvalue: Option<Buffer<f32>>,
    /// Whether anything comes back to entropies.
    entropies: bool,
}

/// Inputs of the head's backward pass.
#[derive(Debug)]
pub(super) struct HeadBackward {
    /// Left behind on the way forward.
    pub(super) activations: HeadActivations,
    /// The signal.
    pub(super) incoming: HeadGradients,
}

impl HeadGradients {
    pub(super) fn new(device: &Device, signal: Signal<'_>, rows: usize) -> Self {
        let Signal { dlogp, dentropy, dvalue } = signal;
        let each = |numbers: Option<&[f32]>| numbers.is_none_or(|numbers| numbers.len() == rows);
        assert!(each(Some(dlogp)) && each(dentropy) && each(dvalue), "a signal for each place");
        Self {
            dlogp: device.upload(dlogp),
            dentropy: dentropy.map_or_else(|| device.zeros(rows), |numbers| device.upload(numbers)),
            dvalue: dvalue.map(|numbers| device.upload(numbers)),
            entropies: dentropy.is_some(),
        }
    }

    /// Beside what went forward.
    fn beside<'a>(&'a self, activations: &'a HeadActivations) -> head::Signal<'a> {
        head::Signal {
            lse: activations.lse.view(),
            entropy: activations.entropy.view(),
            dlogp: self.dlogp.view(),
            dentropy: self.dentropy.view(),
        }
    }
}

impl Decoder {
    /// The outputs at the requested positions, given the output of the last layer.
    pub(super) fn head_forward(
        &self,
        x: Buffer,
        batch: &Batch,
        forward: Forward,
    ) -> (Scored, HeadActivations) {
        let device = &self.device;
        let (rows, width) = (batch.asked(), self.sizes.width);
        let mut last = device.take(rows * width);
        embedding::gather(device, &mut last.view_mut(), x.view(), batch.rows.view());
        drop(x);
        let h = self.last_normed(&last);
        let inverse_temperature = 1.0 / forward.temperature;
        if forward.values_only {
            let scored = Scored {
                logp: vec![0.0; rows],
                entropy: vec![0.0; rows],
                value: self.value.map(|head| self.values(head, &h)),
            };
            let (lse, entropy) = (device.take(0), device.take(0));
            let values_only = true;
            let slope = None;
            return (
                scored,
                HeadActivations { last, lse, entropy, slope, inverse_temperature, values_only },
            );
        }
        let numbers = || device.take(rows);
        let (mut logp, mut entropy, mut lse) = (numbers(), numbers(), numbers());
        let wanted = forward.keep.is_some() && !forward.entropies;
        let mut slope = wanted.then(|| device.take(rows * width));
        let output = Output {
            logp: logp.view_mut(),
            entropy: entropy.view_mut(),
            lse: lse.view_mut(),
            slope: slope.as_mut().map(|slope| MatrixMut::new(slope.view_mut(), rows, width)),
        };
        head::forward(device, output, self.head_input(&h, batch, inverse_temperature));
        let scored = Scored {
            logp: device.read(logp.view()),
            entropy: device.read(entropy.view()),
            value: self.value.map(|head| self.values(head, &h)),
        };
        let values_only = false;
        (scored, HeadActivations { last, lse, entropy, slope, inverse_temperature, values_only })
    }

    /// The head's input: the last layer's output after the final norm, which has no adapter.
    fn last_normed(&self, last: &Buffer) -> Buffer {
        normed(&self.pass(Adapters::Off), NormInput { x: last.view(), gain: self.norm })
    }

    fn head_input<'a>(&'a self, h: &'a Buffer, batch: &'a Batch, scale: f32) -> Input<'a> {
        Input {
            hidden: Matrix::new(h.view(), batch.asked(), self.sizes.width),
            weight: self.parameters.weight(self.head),
            targets: batch.targets.view(),
            inverse_temperature: scale,
        }
    }

    /// From the signal to the gradient of what came out of the last layer. The slopes are spent.
    pub(super) fn head_backward(
        &self,
        pass: &Pass<'_>,
        batch: &Batch,
        head: &mut HeadBackward,
        gradients: &mut Gradients,
    ) -> Buffer {
        let (device, rows, width) = (&self.device, batch.asked(), self.sizes.width);
        let HeadBackward { activations, incoming } = head;
        let h = self.last_normed(&activations.last);
        let mut dh = device.take(rows * width);
        match activations.slope.take() {
            _ if activations.values_only => device.fill(&mut dh.view_mut(), 0.0),
            Some(slope) if !incoming.entropies => {
                let slope = Matrix::new(slope.view(), rows, width);
                let to = MatrixMut::new(dh.view_mut(), rows, width);
                head::backward_by_slope(device, to, slope, incoming.dlogp.view());
            }
            _ => {
                let input = self.head_input(&h, batch, activations.inverse_temperature);
                let to = MatrixMut::new(dh.view_mut(), rows, width);
                head::backward(device, to, input, incoming.beside(activations));
            }
        }
        let mut sums = GradientAccumulator::new(device, gradients, &batch.asked_offsets);
        if let Some(dvalue) = &incoming.dvalue {
            self.values_backward(&h, dvalue, &mut dh, &mut sums);
        }
        let dx = device.zeros(rows * width);
        let mut layer_gradients = LayerGradients { dx, needed: Needed::Input, sums };
        let input = NormInput { x: activations.last.view(), gain: self.norm };
        norm_backward(pass, input, &dh, &mut layer_gradients);
        layer_gradients.dx
    }

    /// Adds to the gradients of the head and of the embedding, each sequence to both.
    pub(super) fn embedding_backward(
        &self,
        batch: &Batch,
        head: Option<HeadBackward>,
        dx: &Buffer,
        gradients: &mut Gradients,
    ) {
        let (device, width) = (&self.device, self.sizes.width);
        let head = head.map(|head| (self.last_normed(&head.activations.last), head));
        let both = batch.asked_offsets.windows(2).zip(batch.offsets.windows(2));
        for (asked, tokens) in both {
            let (rows, tokens) = (asked[0]..asked[1], tokens[0]..tokens[1]);
            let with_logits = head.as_ref().filter(|(_, head)| !head.activations.values_only);
            if let (Some((h, head)), Some(to)) = (with_logits, gradients.get_mut(self.head)) {
                let HeadBackward { activations, incoming } = head;
                let to = MatrixMut::new(to, self.config.vocab, width);
                let input = self.head_input(h, batch, activations.inverse_temperature);
                let signal = incoming.beside(activations).row_range(rows.clone());
                head::backward_weight(device, to, input.row_range(rows), signal);
            }
            if let Some(mut to) = gradients.get_mut(self.embedding) {
                let dx = dx.view().part(tokens.start * width..tokens.end * width);
                embedding::scatter(device, &mut to, dx, batch.ids.view().part(tokens));
            }
        }
    }

    fn values(&self, head: ValueHead, h: &Buffer) -> Vec<f32> {
        let rows = h.len() / self.sizes.width;
        let mut values = self.device.take::<f32>(rows);
        let mut to = MatrixMut::new(values.view_mut(), rows, 1);
        let h = Matrix::new(h.view(), rows, self.sizes.width);
        let weight = Matrix::new(self.parameters.values(head.weight), 1, self.sizes.width);
        let product = ScaledProduct { scale: 1.0, a: h, b: weight.transposed() };
        matmul(&self.device, to.reborrow(), WriteMode::Overwrite, product);
        if let Some(bias) = head.bias {
            add::bias(&self.device, to, self.parameters.values(bias));
        }
        self.device.read(values.view())
    }

    fn values_backward(
        &self,
        h: &Buffer,
        dvalue: &Buffer<f32>,
        dh: &mut Buffer,
        sums: &mut GradientAccumulator<'_>,
    ) {
        let head = self.value.expect("a head, since the signal names values");
        let (rows, width) = (dvalue.len(), self.sizes.width);
        let dvalue = Matrix::new(dvalue.view(), rows, 1);
        let weight = Matrix::new(self.parameters.values(head.weight), 1, width);
        let to = MatrixMut::new(dh.view_mut(), rows, width);
        let product = ScaledProduct { scale: 1.0, a: dvalue, b: weight };
        matmul(&self.device, to, WriteMode::Accumulate, product);
        sums.add_product(head.weight, dvalue, Matrix::new(h.view(), rows, width));
        sums.add_rows(head.bias, dvalue);
    }
}
