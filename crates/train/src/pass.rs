//! Sequences forward and back, a micro-batch at a time.
//!
//! A loss is asked sequence by sequence, in the order in which gradients are summed: what is added up
//! over a step has the same bits however it is cut into micro-batches.

use whetstone_algo::AlgoError;
use whetstone_core::config::Config;
use whetstone_model::decoder::{Adapters, Batch, Decoder, Forward, Gradients, Sequence, Signal};

use crate::error::TrainError;
use crate::example::{Example, order, pieces};
use crate::student::keep;
use crate::watch::{Part, Phase, Watch};

/// Settings of forward and backward passes over micro-batches.
#[derive(Clone, Copy)]
pub(crate) struct Pass<'a> {
    pub(crate) decoder: &'a Decoder,
    /// Sequences at a time.
    pub(crate) micro_batch: usize,
    pub(crate) forward: Forward,
    /// Bytes that the longest batch left the device with. Batches of other sizes leave other buffers
    /// behind: when there are more, those that wait are given back.
    pub(crate) most_bytes: usize,
    /// For messages.
    pub(crate) step: u64,
    /// Receives the progress.
    pub(crate) watch: Watch<'a>,
    /// The phase that the progress is reported for.
    pub(crate) phase: Phase,
}

/// The model's output for the trained tokens of a sequence.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct TokenScores {
    pub(crate) logp: Vec<f64>,
    pub(crate) entropy: Vec<f64>,
}

impl<'a> Pass<'a> {
    /// A pass with the settings' micro-batches, before the first step.
    pub(crate) fn new(
        decoder: &'a Decoder,
        config: &Config,
        watch: Watch<'a>,
        phase: Phase,
    ) -> Self {
        Self {
            decoder,
            micro_batch: config.training.per_device_train_batch_size as usize,
            forward: Forward { keep: Some(keep(config)), ..Forward::default() },
            most_bytes: usize::MAX,
            step: 0,
            watch,
            phase,
        }
    }

    /// Adds the gradients of a loss. `signal` is told the place of an example and what was seen of
    /// its tokens, and says the derivative by each log-probability.
    pub(crate) fn learn(
        &self,
        examples: &[&Example],
        gradients: &mut Gradients,
        mut signal: impl FnMut(usize, &TokenScores) -> Result<Vec<f64>, AlgoError>,
    ) -> Result<(), TrainError> {
        self.each(examples, |places, batch| {
            let (scored, tape) = self.decoder.forward(batch, self.forward);
            self.decoder.device().check()?;
            let (mut logp, mut entropy) = (scored.logp.as_slice(), scored.entropy.as_slice());
            let mut dlogp = Vec::with_capacity(logp.len());
            for &place in places {
                let count = examples[place].trained();
                let scores = TokenScores {
                    logp: next(&mut logp, count),
                    entropy: next(&mut entropy, count),
                };
                let found = signal(place, &scores).map_err(|err| at(err, place))?;
                dlogp.extend(found.into_iter().map(narrow));
            }
            let signal = Signal { dlogp: &dlogp, dentropy: None, dvalue: None };
            let tape = tape.expect("kept, since there is a way back");
            self.decoder.backward(batch, tape, signal, gradients);
            Ok(())
        })
    }

    /// The log-probabilities of every trained token of every example.
    pub(crate) fn score(
        &self,
        examples: &[&Example],
        adapters: Adapters,
    ) -> Result<Vec<Vec<f64>>, TrainError> {
        let forward = Forward { adapters, keep: None, ..self.forward };
        let mut scores = vec![Vec::new(); examples.len()];
        self.each(examples, |places, batch| {
            let (scored, _) = self.decoder.forward(batch, forward);
            self.decoder.device().check()?;
            let mut logp = scored.logp.as_slice();
            for &place in places {
                scores[place] = next(&mut logp, examples[place].trained());
            }
            Ok(())
        })?;
        Ok(scores)
    }

    /// Does something with every micro-batch, and tells how far it is.
    fn each(
        &self,
        examples: &[&Example],
        mut work: impl FnMut(&[usize], &Batch) -> Result<(), TrainError>,
    ) -> Result<(), TrainError> {
        let order = order(examples.iter().copied());
        for piece in pieces(order.len(), self.micro_batch) {
            self.watch.part(self.phase, Part { done: piece.start, all: order.len() });
            if self.decoder.device().held_bytes() > self.most_bytes {
                self.decoder.device().trim();
            }
            let places = &order[piece];
            let sequences: Vec<Sequence<'_>> =
                places.iter().map(|&place| examples[place].sequence()).collect();
            let step = self.step;
            let batch = self.decoder.batch(&sequences);
            work(places, &batch.map_err(|source| TrainError::Batch { step, source })?)?;
        }
        Ok(())
    }
}

/// The next `count` numbers, of which `rest` is rid.
fn next(rest: &mut &[f32], count: usize) -> Vec<f64> {
    let (own, others) = rest.split_at(count);
    *rest = others;
    own.iter().copied().map(f64::from).collect()
}

/// An error of a sequence by itself, with its place in the step.
fn at(err: AlgoError, place: usize) -> AlgoError {
    match err {
        AlgoError::Token { what, token, value, .. } => {
            AlgoError::Token { what, sequence: place, token, value }
        }
        AlgoError::Sequence { what, value, .. } => {
            AlgoError::Sequence { what, sequence: place, value }
        }
        other => other,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "signals are small, and the model is in f32")]
fn narrow(value: f64) -> f32 {
    value as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_is_divided_without_a_rest() {
        let all = [0.5, 1.5, 2.5];
        let mut rest = &all[..];
        let parts = [2, 0, 1].map(|count| next(&mut rest, count));
        assert_eq!(parts, [vec![0.5, 1.5], vec![], vec![2.5]]);
        assert!(rest.is_empty());
    }

    #[test]
    fn an_error_names_the_sequence_of_the_step() {
        let err = AlgoError::Token { what: "logp", sequence: 0, token: 3, value: f64::NAN };
        assert!(at(err, 7).to_string().starts_with("logp of token 3 in sequence 7 is NaN"));
        let err = AlgoError::Sequence { what: "advantage", sequence: 0, value: f64::INFINITY };
        assert!(at(err, 7).to_string().starts_with("advantage of sequence 7 is inf"));
    }
}
