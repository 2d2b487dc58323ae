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

/// What the model said of the trained tokens of a micro-batch.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) logp: Vec<f64>,
    pub(crate) entropy: Vec<f64>,
}

/// The same of one sequence.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SeenOf<'a> {
    pub(crate) logp: &'a [f64],
    pub(crate) entropy: &'a [f64],
}

/// Divides what was seen among the sequences of a micro-batch.
pub(crate) fn split<'a>(places: &[usize], masks: &[Vec<bool>], seen: &'a Seen) -> Vec<SeenOf<'a>> {
    let mut begin = 0;
    let of = |&place: &usize| {
        let range = begin..begin + masks[place].len();
        begin = range.end;
        SeenOf { logp: &seen.logp[range.clone()], entropy: &seen.entropy[range] }
    };
    places.iter().map(of).collect()
}

impl Pass<'_> {
    /// Adds the gradients of a loss. `signal` is told the places of a micro-batch's examples and what
    /// was seen of their tokens, one after another, and says the derivative by each
    /// log-probability.
    pub(crate) fn learn(
        &self,
        examples: &[&Example],
        gradients: &mut Gradients,
        mut signal: impl FnMut(&[usize], &Seen) -> Result<Vec<f64>, TrainError>,
    ) -> Result<(), TrainError> {
        let order = order(examples.iter().copied());
        for piece in pieces(order.len(), self.micro_batch) {
            let places = &order[piece];
            let batch = self.batch(examples, places)?;
            let (scored, trail) = self.decoder.forward(&batch, self.forward);
            let seen = Seen { logp: wide(&scored.logp), entropy: wide(&scored.entropy) };
            let dlogp: Vec<f32> = signal(places, &seen)?.into_iter().map(narrow).collect();
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
                scores[place] = wide(own);
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

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().copied().map(f64::from).collect()
}

#[expect(clippy::cast_possible_truncation, reason = "signals are small, and the model is in f32")]
fn narrow(value: f64) -> f32 {
    value as f32
}
