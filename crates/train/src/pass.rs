//! Sequences forward and back, a micro-batch at a time.
//!
//! A loss is asked sequence by sequence, in the order in which gradients are summed: what is added up
//! over a step has the same bits however it is cut into micro-batches.

use whetstone_algo::{AlgoError, Signals};
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
    /// The values of the value head, if there is one.
    pub(crate) value: Option<Vec<f64>>,
}

/// The signals of the sequences of a micro-batch, as the decoder takes them.
#[derive(Debug, Default, PartialEq)]
struct BatchSignals {
    dlogp: Vec<f32>,
    dentropy: Option<Vec<f32>>,
    dvalue: Option<Vec<f32>>,
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

    /// Adds the gradients of a loss. `signals` gets the place of an example and the model's output for
    /// its trained tokens, and returns the derivatives of the loss by each of them.
    pub(crate) fn learn(
        &self,
        examples: &[&Example],
        gradients: &mut Gradients,
        mut signals: impl FnMut(usize, &TokenScores) -> Result<Signals, AlgoError>,
    ) -> Result<(), TrainError> {
        self.each(examples, |places, batch| {
            let (scored, tape) = self.decoder.forward(batch, self.forward);
            self.decoder.device().check()?;
            let (mut logp, mut entropy) = (scored.logp.as_slice(), scored.entropy.as_slice());
            let mut value = scored.value.as_deref();
            let mut found = BatchSignals::default();
            for &place in places {
                let count = examples[place].scored();
                let scores = TokenScores {
                    logp: next(&mut logp, count),
                    entropy: next(&mut entropy, count),
                    value: value.as_mut().map(|value| next(value, count)),
                };
                found.append(&signals(place, &scores).map_err(|err| at(err, place))?);
            }
            let tape = tape.expect("kept, since there is a way back");
            self.decoder.backward(batch, tape, found.view(), gradients);
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
                scores[place] = next(&mut logp, examples[place].scored());
            }
            Ok(())
        })?;
        Ok(scores)
    }

    /// The values before every token of every example from the first trained one on. The active adapter has a
    /// head for values.
    pub(crate) fn values(&self, examples: &[&Example]) -> Result<Vec<Vec<f64>>, TrainError> {
        let forward = Forward { keep: None, values_only: true, ..self.forward };
        let mut values = vec![Vec::new(); examples.len()];
        self.each(examples, |places, batch| {
            let (scored, _) = self.decoder.forward(batch, forward);
            self.decoder.device().check()?;
            let found = scored.value.expect("a head for values");
            let mut rest = found.as_slice();
            for &place in places {
                values[place] = next(&mut rest, examples[place].scored());
            }
            Ok(())
        })?;
        Ok(values)
    }

    /// Does something with every micro-batch, and tells how far it is.
    fn each(
        &self,
        examples: &[&Example],
        mut work: impl FnMut(&[usize], &Batch) -> Result<(), TrainError>,
    ) -> Result<(), TrainError> {
        let order = order(examples.iter().copied());
        let mut before = self.decoder.device().searches().products;
        for piece in pieces(order.len(), self.micro_batch) {
            let device = self.decoder.device();
            // What the last micro-batch did is likely what this one does.
            let searched = device.searches().products;
            let phase = if searched > before { Phase::ChoosingAlgorithms } else { self.phase };
            before = searched;
            self.watch.part(phase, Part { done: piece.start, all: order.len() });
            if device.held_bytes() > self.most_bytes {
                device.trim();
            }
            let places = &order[piece];
            let sequence = |&place: &usize| examples[place].sequence();
            let sequences: Vec<Sequence<'_>> = places.iter().map(sequence).collect();
            let step = self.step;
            let batch = self.decoder.batch(&sequences);
            work(places, &batch.map_err(|source| TrainError::Batch { step, source })?)?;
        }
        Ok(())
    }
}

impl BatchSignals {
    /// Adds the signals of the next sequence.
    fn append(&mut self, signals: &Signals) {
        let (before, count) = (self.dlogp.len(), signals.dlogp.len());
        self.dlogp.extend(signals.dlogp.iter().copied().map(narrow));
        let parts = [(&mut self.dentropy, &signals.dentropy), (&mut self.dvalue, &signals.dvalue)];
        for (all, own) in parts {
            if let Some(own) = own {
                let all = all.get_or_insert_with(|| vec![0.0; before]);
                all.extend(own.iter().copied().map(narrow));
            } else if let Some(all) = all {
                all.resize(before + count, 0.0);
            }
        }
    }

    fn view(&self) -> Signal<'_> {
        let Self { dlogp, dentropy, dvalue } = self;
        Signal { dlogp, dentropy: dentropy.as_deref(), dvalue: dvalue.as_deref() }
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

/// A number as the model has it.
#[expect(clippy::cast_possible_truncation, reason = "signals are small, and the model is in f32")]
pub(crate) fn narrow(value: f64) -> f32 {
    value as f32
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use whetstone_model::decoder::Keep;

    use super::*;
    use crate::student::Student;
    use crate::testing::{settings, student};
    use crate::watchdog::Watchdog;

    fn signals(dlogp: &[f64], dentropy: Option<&[f64]>, dvalue: Option<&[f64]>) -> Signals {
        let [dentropy, dvalue] = [dentropy, dvalue].map(|part| part.map(<[f64]>::to_vec));
        Signals { dlogp: dlogp.to_vec(), dentropy, dvalue }
    }

    #[test]
    fn a_part_that_one_sequence_lacks_is_0_there() {
        let mut found = BatchSignals::default();
        found.append(&signals(&[1.0, 2.0], None, None));
        found.append(&signals(&[3.0], Some(&[0.5]), None));
        found.append(&signals(&[4.0], None, Some(&[8.0])));
        let expected = BatchSignals {
            dlogp: vec![1.0, 2.0, 3.0, 4.0],
            dentropy: Some(vec![0.0, 0.0, 0.5, 0.0]),
            dvalue: Some(vec![0.0, 0.0, 0.0, 8.0]),
        };
        assert_eq!(found, expected);
    }

    /// Every trained gradient of a student.
    fn numbers(student: &Student, gradients: &Gradients) -> Vec<u32> {
        let (device, parameters) = (student.decoder.device(), student.decoder.parameters());
        let of = |id| device.read(gradients.get(id).unwrap());
        parameters.trained().flat_map(of).map(f32::to_bits).collect()
    }

    #[test]
    fn all_three_signals_reach_the_decoder() {
        let (_dir, mut student) = student(&settings());
        student.decoder.add_value_head();
        let decoder = &student.decoder;
        let new = || Gradients::new(decoder.device(), decoder.parameters());
        let (dlogp, dentropy, dvalue) = ([0.5, -1.0], [0.25, 2.0], [1.5, -0.75]);
        let (mut found, mut expected) = (new(), new());
        let example = Example::new(&[70], &[71, 72]);
        let (stop, dog) = (AtomicBool::new(false), Watchdog::new(0, &|_| ()));
        let watch = Watch {
            on_phase: &|_, _| (),
            on_step: &|_| (),
            on_alarm: &|_| (),
            stop: &stop,
            dog: &dog,
        };
        let pass = Pass::new(decoder, &settings(), watch, Phase::Learning);
        let learnt = pass.learn(&[&example], &mut found, |_, scores| {
            assert_eq!(scores.value.as_ref().map(Vec::len), Some(2));
            Ok(signals(&dlogp, Some(&dentropy), Some(&dvalue)))
        });
        learnt.unwrap();
        let batch = decoder.batch(&[example.sequence()]).unwrap();
        let forward = Forward { keep: Some(Keep::Most), ..Forward::default() };
        let (_, tape) = decoder.forward(&batch, forward);
        let [dlogp, dentropy, dvalue] = [dlogp, dentropy, dvalue].map(|part| part.map(narrow));
        let signal = Signal { dlogp: &dlogp, dentropy: Some(&dentropy), dvalue: Some(&dvalue) };
        decoder.backward(&batch, tape.unwrap(), signal, &mut expected);
        assert!(numbers(&student, &found).iter().any(|&bits| bits != 0));
        assert_eq!(numbers(&student, &found), numbers(&student, &expected));
    }

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
