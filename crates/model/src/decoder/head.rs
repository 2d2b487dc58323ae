//! From the last layer to what is said of each place, and back.
//!
//! A head that is trained gets its gradient when the layers have theirs: it may be the embedding,
//! whose other half comes out of the first layer, and then each sequence must add both halves before
//! the next one does. Hidden states do not wait for it: they go back by the slopes that were had on
//! the way forward.

use whetstone_kernels::head::{self, Input, Output};
use whetstone_kernels::matmul::{ScaledProduct, matmul};
use whetstone_kernels::{Buffer, Device, Matrix, MatrixMut, WriteMode, add, embedding};

use super::layer::{norm_backward, normed};
use super::projection::Pass;
use super::sums::GradientAccumulator;
use super::{Batch, Decoder, Forward, Gradients, Scored, Signal, ValueHead};

/// What the head left behind on its way forward, at the places asked for.
#[derive(Debug)]
pub(super) struct HeadActivations {
    /// What came out of the last layer.
    last: Buffer,
    lse: Buffer<f32>,
    entropy: Buffer<f32>,
    /// The slope of each log-probability by what the head was given, if entropies do not count.
    slope: Option<Buffer>,
    inverse_temperature: f32,
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
    fn beside<'a>(&'a self, said: &'a HeadActivations) -> head::Signal<'a> {
        head::Signal {
            lse: said.lse.view(),
            entropy: said.entropy.view(),
            dlogp: self.dlogp.view(),
            dentropy: self.dentropy.view(),
        }
    }
}

impl Decoder {
    /// What is said of the places asked for, given what came out of the last layer.
    pub(super) fn head_forward(
        &self,
        x: Buffer,
        (batch, forward): (&Batch, Forward),
    ) -> (Scored, HeadActivations) {
        let device = &self.device;
        let (rows, width) = (batch.asked(), self.sizes.width);
        let mut last = device.take(rows * width);
        embedding::gather(device, &mut last.view_mut(), x.view(), batch.rows.view());
        drop(x);
        let h = normed(&self.pass(forward.adapters), &self.sizes, (last.view(), self.norm));
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
        let inverse_temperature = 1.0 / forward.temperature;
        head::forward(device, output, self.head_input(&h, batch, inverse_temperature));
        let scored = Scored {
            logp: device.read(logp.view()),
            entropy: device.read(entropy.view()),
            value: self.value.map(|head| self.values(head, &h)),
        };
        (scored, HeadActivations { last, lse, entropy, slope, inverse_temperature })
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
        (batch, said): (&Batch, &mut HeadActivations),
        (coming, gradients): (&HeadGradients, &mut Gradients),
    ) -> Buffer {
        let (device, rows, width) = (&self.device, batch.asked(), self.sizes.width);
        let h = normed(pass, &self.sizes, (said.last.view(), self.norm));
        let mut dh = device.take(rows * width);
        let to = MatrixMut::new(dh.view_mut(), rows, width);
        match said.slope.take() {
            Some(slope) if !coming.entropies => {
                let slope = Matrix::new(slope.view(), rows, width);
                head::backward_by_slope(device, to, slope, coming.dlogp.view());
            }
            _ => {
                let input = self.head_input(&h, batch, said.inverse_temperature);
                head::backward(device, to, input, coming.beside(said));
            }
        }
        let mut sums = GradientAccumulator::new(device, gradients, &batch.asked_offsets);
        if let Some(dvalue) = &coming.dvalue {
            self.values_backward((&h, dvalue), (&mut dh, &mut sums));
        }
        let mut dlast = device.zeros(rows * width);
        let through = (self.norm, &said.last, &dh);
        norm_backward(pass, &self.sizes, through, (&mut dlast, &mut sums));
        dlast
    }

    /// Adds to the gradients of the head and of the embedding, each sequence to both.
    pub(super) fn embedding_backward(
        &self,
        pass: &Pass<'_>,
        (batch, head): (&Batch, Option<(HeadActivations, HeadGradients)>),
        (dx, gradients): (&Buffer, &mut Gradients),
    ) {
        let (device, width) = (&self.device, self.sizes.width);
        let h = |said: &HeadActivations| normed(pass, &self.sizes, (said.last.view(), self.norm));
        let head = head.map(|(said, coming)| (h(&said), said, coming));
        let both = batch.asked_offsets.windows(2).zip(batch.offsets.windows(2));
        for (asked, tokens) in both {
            let (rows, tokens) = (asked[0]..asked[1], tokens[0]..tokens[1]);
            if let (Some((h, said, coming)), Some(to)) = (&head, gradients.get_mut(self.head)) {
                let to = MatrixMut::new(to, self.config.vocab, width);
                let input =
                    self.head_input(h, batch, said.inverse_temperature).row_range(rows.clone());
                head::backward_weight(device, to, input, coming.beside(said).row_range(rows));
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
        (h, dvalue): (&Buffer, &Buffer<f32>),
        (dh, sums): (&mut Buffer, &mut GradientAccumulator<'_>),
    ) {
        let head = self.value.expect("a head, since the signal names values");
        let (rows, width) = (dvalue.len(), self.sizes.width);
        let dvalue = Matrix::new(dvalue.view(), rows, 1);
        let weight = Matrix::new(self.parameters.values(head.weight), 1, width);
        let to = MatrixMut::new(dh.view_mut(), rows, width);
        let product = ScaledProduct { scale: 1.0, a: dvalue, b: weight };
        matmul(&self.device, to, WriteMode::Accumulate, product);
        sums.add_product(head.weight, (1.0, dvalue, Matrix::new(h.view(), rows, width)));
        sums.add_rows(head.bias, dvalue);
    }
}
