//! Pairs forward and back, a micro-batch at a time.
//!
//! A reward model is asked for its score, a policy for the log-probabilities of both replies (`crate::dpo`). A score is
//! read behind the last token of a sequence, as transformers' `…ForSequenceClassification` reads it at the last token
//! that is not padding. The two sequences of a pair are neighbours in one micro-batch, so that its loss is known when the
//! batch goes back. Gradients are summed sequence by sequence, the longest pair first: the sum has the same bits however
//! it is cut.

use whetstone_algo::bradley_terry::{PairLoss, PairScores};
use whetstone_algo::{AlgoError, Mean};
use whetstone_core::config::Config;
use whetstone_model::decoder::{Batch, BatchError, Decoder, Forward, Gradients, Sequence, Signal};

use super::error::ScoreError;
use super::pair::TokenPair;
use crate::error::TrainError;
use crate::example::pieces;
use crate::memory_check::check_host_room;
use crate::pass::narrow;
use crate::student::keep;
use crate::watch::{Part, Phase, Watch};

/// The positions of a pair's sequences that the model is asked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Behind the last token, for the score.
    Score,
    /// Every token of the reply, for its log-probability.
    Reply,
}

/// Passes over the pairs of a step.
#[derive(Clone, Copy)]
pub(crate) struct PairPass<'a> {
    pub(crate) decoder: &'a Decoder,
    /// Pairs at a time.
    pub(crate) micro_batch: usize,
    pub(crate) asked: Asked,
    pub(crate) forward: Forward,
    /// Bytes that the longest batch left the device with; when there are more, those that wait are
    /// given back.
    pub(crate) most_bytes: usize,
    /// For messages.
    pub(crate) step: u64,
    pub(crate) watch: Watch<'a>,
    pub(crate) phase: Phase,
}

/// What the pairs of a step came to, before its update.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct StepScores {
    pub(super) loss: f64,
    pub(super) hits: Mean,
    pub(super) lead: Mean,
    pub(super) score: Mean,
}

impl<'a> PairPass<'a> {
    /// Of a reward model, with the settings' micro-batches, before the first step.
    pub(super) fn new(
        decoder: &'a Decoder,
        config: &Config,
        watch: Watch<'a>,
        phase: Phase,
    ) -> Self {
        let replies = Self::of_replies(decoder, config, watch, phase);
        let forward = Forward { values_only: true, ..replies.forward };
        Self { asked: Asked::Score, forward, ..replies }
    }

    /// Of a policy, with the settings' micro-batches, before the first step.
    pub(crate) fn of_replies(
        decoder: &'a Decoder,
        config: &Config,
        watch: Watch<'a>,
        phase: Phase,
    ) -> Self {
        Self {
            decoder,
            micro_batch: config.training.per_device_train_batch_size as usize,
            asked: Asked::Reply,
            forward: Forward { keep: Some(keep(config)), ..Forward::default() },
            most_bytes: usize::MAX,
            step: 0,
            watch,
            phase,
        }
    }

    /// Adds the gradients of a loss of pairs. `loss` gets the place of a pair and its scores.
    pub(super) fn learn(
        &self,
        pairs: &[&TokenPair],
        gradients: &mut Gradients,
        mut loss: impl FnMut(usize, PairScores) -> Result<PairLoss, AlgoError>,
    ) -> Result<StepScores, TrainError> {
        let mut found = StepScores::default();
        self.each(pairs, |places, batch| {
            let (scored, tape) = self.decoder.forward(batch, self.forward);
            self.decoder.device().check()?;
            let scores = scored.value.expect("a reward model has a score head");
            let mut signal = Vec::with_capacity(scores.len());
            for (&place, scores) in places.iter().zip(scores.chunks_exact(2)) {
                let [chosen, rejected] = [scores[0], scores[1]].map(f64::from);
                let scores = PairScores { chosen, rejected, margin: pairs[place].margin };
                let loss = loss(place, scores)?;
                found.add(scores, loss);
                signal.extend([loss.dchosen, loss.drejected].map(narrow));
            }
            let dlogp = vec![0.0; signal.len()];
            let signal = Signal { dlogp: &dlogp, dentropy: None, dvalue: Some(&signal) };
            let tape = tape.expect("kept, since there is a way back");
            self.decoder.backward(batch, tape, signal, gradients);
            Ok(())
        })?;
        Ok(found)
    }

    /// Does something with every micro-batch of pairs, those with the longest sequence first. The two sequences of a
    /// pair are neighbours, chosen first.
    pub(crate) fn each(
        &self,
        pairs: &[&TokenPair],
        mut work: impl FnMut(&[usize], &Batch) -> Result<(), TrainError>,
    ) -> Result<(), TrainError> {
        let order = order(pairs.iter().copied());
        for piece in pieces(order.len(), self.micro_batch) {
            self.watch.part(self.phase, Part { done: piece.start, all: order.len() });
            if self.decoder.device().held_bytes() > self.most_bytes {
                self.decoder.device().trim();
            }
            let places = &order[piece];
            let own = places.iter().flat_map(|&place| self.asked.sequences(pairs[place]));
            let batch = self.decoder.batch(&own.collect::<Vec<_>>());
            let step = self.step;
            work(places, &batch.map_err(|source| TrainError::Batch { step, source })?)?;
        }
        Ok(())
    }

    /// The longest micro-batch forward and back with a signal of zeros; returns the bytes that the
    /// device then holds.
    pub(super) fn memory_check(
        &self,
        pairs: &[TokenPair],
        gradients: &mut Gradients,
    ) -> Result<usize, TrainError> {
        self.learn(&self.longest(pairs)?, gradients, |_, _| Ok(PairLoss::default()))?;
        self.held_bytes()
    }

    /// The pairs of the longest micro-batch, for which the machine has room.
    pub(crate) fn longest<'p>(
        &self,
        pairs: &'p [TokenPair],
    ) -> Result<Vec<&'p TokenPair>, TrainError> {
        let longest: Vec<&TokenPair> =
            order(pairs).into_iter().take(self.micro_batch).map(|at| &pairs[at]).collect();
        let tokens = longest.iter().map(|pair| pair.tokens()).sum();
        check_host_room(self.decoder, self.forward.keep, tokens)?;
        Ok(longest)
    }

    /// The bytes that the device holds, unless it failed.
    pub(crate) fn held_bytes(&self) -> Result<usize, TrainError> {
        let device = self.decoder.device();
        device.check()?;
        Ok(device.held_bytes())
    }
}

impl Asked {
    fn sequences(self, pair: &TokenPair) -> [Sequence<'_>; 2] {
        [&pair.chosen, &pair.rejected].map(|tokens| match self {
            Self::Score => behind_last(tokens),
            Self::Reply => Sequence { tokens, asked: pair.prompt_tokens..tokens.len() },
        })
    }
}

impl StepScores {
    fn add(&mut self, scores: PairScores, loss: PairLoss) {
        let PairScores { chosen, rejected, .. } = scores;
        let lead = chosen - rejected;
        self.loss += loss.loss;
        self.hits.add(if lead == 0.0 { 0.5 } else { f64::from(u8::from(lead > 0.0)) });
        self.lead.add(lead);
        self.score.add(chosen);
        self.score.add(rejected);
    }
}

/// The score behind the last token of each sequence, `micro_batch` sequences at a time; the decoder's
/// active adapter has a score head. `progress` is told how many are done.
///
/// # Errors
///
/// If a sequence is not one that the model can take, or the device fails.
pub(crate) fn scores(
    decoder: &Decoder,
    sequences: &[&[u32]],
    micro_batch: usize,
    mut progress: impl FnMut(Part),
) -> Result<Vec<f64>, ScoreError> {
    let mut order: Vec<usize> = (0..sequences.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(sequences[at].len()));
    let mut scores = vec![0.0; sequences.len()];
    for piece in pieces(order.len(), micro_batch) {
        progress(Part { done: piece.start, all: order.len() });
        let places = &order[piece];
        let batch = batch(decoder, places.iter().map(|&at| sequences[at]))?;
        let forward = Forward { values_only: true, ..Forward::default() };
        let (scored, _) = decoder.forward(&batch, forward);
        decoder.device().check()?;
        let values = scored.value.ok_or(ScoreError::NoHead)?;
        for (&place, value) in places.iter().zip(values) {
            scores[place] = f64::from(value);
        }
    }
    Ok(scores)
}

/// The places of pairs, those with the longest sequence first.
fn order<'p>(pairs: impl IntoIterator<Item = &'p TokenPair>) -> Vec<usize> {
    let lengths: Vec<(usize, usize)> =
        pairs.into_iter().map(|pair| (pair.longest(), pair.tokens())).collect();
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(lengths[at]));
    order
}

fn behind_last(tokens: &[u32]) -> Sequence<'_> {
    Sequence { tokens, asked: tokens.len()..tokens.len() + 1 }
}

/// Sequences that are asked for the score behind their last token.
pub(crate) fn batch<'t>(
    decoder: &Decoder,
    sequences: impl Iterator<Item = &'t [u32]>,
) -> Result<Batch, BatchError> {
    decoder.batch(&sequences.map(behind_last).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use whetstone_algo::bradley_terry::{PairSettings, loss};
    use whetstone_model::decoder::ParameterId;

    use super::*;
    use crate::student::Student;
    use crate::testing::{settings, student};
    use crate::watchdog::Watchdog;

    fn pair(chosen: &[u32], rejected: &[u32], margin: f64) -> TokenPair {
        let with = |reply: &[u32]| [&[70, 71], reply].concat();
        TokenPair {
            chosen: with(chosen),
            rejected: with(rejected),
            prompt_tokens: 2,
            margin,
            prompt: 0,
        }
    }

    fn pairs() -> [TokenPair; 3] {
        [
            pair(&[72, 73, 74], &[75], 0.0),
            pair(&[76, 72], &[73, 73, 77, 78, 79], 0.5),
            pair(&[80], &[81], 1.0),
        ]
    }

    /// A student with a score head, whose adapter and head are not zero.
    fn scorer() -> (tempfile::TempDir, Student) {
        let config = settings();
        let (dir, mut student) = student(&config);
        student.add_score_head(&config).unwrap();
        let device = student.decoder.device().clone();
        let ids: Vec<ParameterId> = student.decoder.adapter_parameters().collect();
        for (tensor, &id) in ids.iter().enumerate() {
            let count = student.decoder.parameters().get(id).numbers();
            let values: Vec<f32> = [0.3, -0.2, 0.1, -0.4, 0.25]
                .iter()
                .cycle()
                .skip(tensor)
                .take(count)
                .copied()
                .collect();
            set(&mut student, id, &values);
        }
        device.check().unwrap();
        (dir, student)
    }

    fn set(student: &mut Student, id: ParameterId, values: &[f32]) {
        let device = student.decoder.device().clone();
        let from = device.upload(values);
        device.copy(&mut student.decoder.parameters_mut().values_mut(id), from.view());
    }

    /// The loss of all pairs and its gradients, so many pairs at a time.
    fn learnt(student: &Student, micro_batch: usize) -> (StepScores, Gradients) {
        let (stop, dog) = (AtomicBool::new(false), Watchdog::new(0, &|_| ()));
        let watch = Watch {
            on_phase: &|_, _| (),
            on_step: &|_| (),
            on_alarm: &|_| (),
            stop: &stop,
            dog: &dog,
        };
        let decoder = &student.decoder;
        let pass = PairPass::new(decoder, &settings(), watch, Phase::Learning);
        let pass = PairPass { micro_batch, ..pass };
        let all = pairs();
        let mut gradients = Gradients::new(decoder.device(), decoder.parameters());
        let settings = PairSettings { margin_scale: 0.5, center: 0.05, step_pairs: 3 };
        let pairs: Vec<&TokenPair> = all.iter().collect();
        let scores = pass
            .learn(&pairs, &mut gradients, |place, scores| loss(scores, settings, place))
            .unwrap();
        (scores, gradients)
    }

    #[test]
    fn gradients_and_loss_do_not_depend_on_the_micro_batch() {
        let (_dir, student) = scorer();
        let (expected, gradients) = learnt(&student, 1);
        let read = |gradients: &Gradients| -> Vec<u32> {
            let device = student.decoder.device();
            let trained = student.decoder.parameters().trained();
            let of = |id| device.read(gradients.get(id).unwrap());
            trained.flat_map(of).map(f32::to_bits).collect()
        };
        for micro_batch in [2, 3, 8] {
            let (found, other) = learnt(&student, micro_batch);
            assert_eq!(found.loss.to_bits(), expected.loss.to_bits(), "{micro_batch}");
            assert_eq!(read(&other), read(&gradients), "{micro_batch}");
        }
        assert!(read(&gradients).iter().any(|&bits| bits << 1 != 0));
    }

    /// Through the whole decoder: two numbers of every trained tensor.
    #[test]
    fn gradients_are_the_slopes_of_the_loss() {
        let (_dir, mut student) = scorer();
        let (_, gradients) = learnt(&student, 3);
        let device = student.decoder.device().clone();
        let trained: Vec<ParameterId> = student.decoder.parameters().trained().collect();
        let mut checked = 0;
        for id in trained {
            let values = device.read(student.decoder.parameters().values(id));
            let slopes = device.read(gradients.get(id).unwrap());
            for at in [0, values.len() / 2] {
                let mut moved = |by: f32| {
                    let mut moved = values.clone();
                    moved[at] += by;
                    set(&mut student, id, &moved);
                    learnt(&student, 3).0.loss
                };
                let step = 4e-3;
                let slope = (moved(step) - moved(-step)) / (2.0 * f64::from(step));
                set(&mut student, id, &values);
                let near = (slope - f64::from(slopes[at])).abs() < 2e-4 + 1e-2 * slope.abs();
                assert!(near, "tensor {id:?}, {at}: {slope} is not {}", slopes[at]);
                checked += usize::from(slope.abs() > 1e-3);
            }
        }
        assert!(checked >= 6, "{checked} slopes are large enough to tell");
    }

    #[test]
    fn the_score_is_read_behind_the_last_token() {
        let (_dir, student) = scorer();
        let all = [&[70_u32, 71, 72][..], &[70, 71], &[70, 71, 72, 73]];
        let together = scores(&student.decoder, &all, 3, |_| ()).unwrap();
        for (sequence, score) in all.iter().zip(&together) {
            let tokens = *sequence;
            let asked = 1..tokens.len() + 1;
            let batch = student.decoder.batch(&[Sequence { tokens, asked }]).unwrap();
            let (scored, _) = student.decoder.forward(&batch, Forward::default());
            let last = scored.value.unwrap().last().copied().unwrap();
            assert!((f64::from(last) - score).abs() < 1e-6, "{last} is not {score}");
        }
        assert!((together[0] - together[1]).abs() > 1e-3, "{together:?}");
        assert!((together[1] - together[2]).abs() > 1e-3, "{together:?}");
    }
}
