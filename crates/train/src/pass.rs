//! Sequences forward and back, a micro-batch at a time.

use whetstone_model::decoder::{Adapters, Decoder, Forward, Gradients, Sequence, Signal};

use crate::error::TrainError;
use crate::example::{Example, order, pieces};

/// How sequences go through the model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pass<'a> {
    pub(crate) decoder: &'a Decoder,
    /// Sequences at a time.
    pub(crate) micro_batch: usize,
    pub(crate) forward: Forward,
    /// For messages.
    pub(crate) step: u64,
}

impl Pass<'_> {
    /// Adds the gradients of a loss. `signal` is told the places of a micro-batch's examples and
    /// their log-probabilities, one after another, and says the derivative by each of these.
    pub(crate) fn learn(
        &self,
        examples: &[&Example],
        gradients: &mut Gradients,
        mut signal: impl FnMut(&[usize], &[f64]) -> Result<Vec<f64>, TrainError>,
    ) -> Result<(), TrainError> {
        let order = order(examples.iter().copied());
        for piece in pieces(order.len(), self.micro_batch) {
            let places = &order[piece];
            let batch = self.batch(examples, places)?;
            let (scored, trail) = self.decoder.forward(&batch, self.forward);
            let logp: Vec<f64> = scored.logp.iter().copied().map(f64::from).collect();
            let dlogp: Vec<f32> = signal(places, &logp)?.into_iter().map(narrow).collect();
            let signal = Signal { dlogp: &dlogp, dentropy: None, dvalue: None };
            let trail = trail.expect("kept, since there is a way back");
            self.decoder.backward(&batch, trail, (signal, gradients));
        }
        Ok(())
    }

    /// The log-probabilities of every trained token of every example.
    pub(crate) fn score(
        &self,
        examples: &[&Example],
        adapters: Adapters,
    ) -> Result<Vec<Vec<f64>>, TrainError> {
        let forward = Forward { adapters, keep: None, ..self.forward };
        let mut scores = vec![Vec::new(); examples.len()];
        let order = order(examples.iter().copied());
        for piece in pieces(order.len(), self.micro_batch) {
            let places = &order[piece];
            let batch = self.batch(examples, places)?;
            let (scored, _) = self.decoder.forward(&batch, forward);
            let mut rest = scored.logp.as_slice();
            for &place in places {
                let (own, others) = rest.split_at(examples[place].trained());
                scores[place] = own.iter().copied().map(f64::from).collect();
                rest = others;
            }
        }
        Ok(scores)
    }

    fn batch(
        &self,
        examples: &[&Example],
        places: &[usize],
    ) -> Result<whetstone_model::decoder::Batch, TrainError> {
        let sequences: Vec<Sequence<'_>> =
            places.iter().map(|&place| examples[place].sequence()).collect();
        let step = self.step;
        self.decoder.batch(&sequences).map_err(|source| TrainError::Batch { step, source })
    }
}

#[expect(clippy::cast_possible_truncation, reason = "signals are small, and the model is in f32")]
fn narrow(value: f64) -> f32 {
    value as f32
}
