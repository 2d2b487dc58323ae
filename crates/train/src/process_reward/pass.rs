//! Transitions forward and back, a micro-batch at a time.
//!
//! As for pairs, a score is read behind the last token, and gradients are summed sequence by sequence, the
//! longest first: the sum has the same bits however it is cut.

use whetstone_algo::binary::{BinaryExample, BinaryLoss, Labelled};
use whetstone_algo::{AlgoError, Mean};
use whetstone_core::config::Config;
use whetstone_model::decoder::{Decoder, Forward, Gradients, Signal};

use super::transition::TokenTransition;
use crate::error::TrainError;
use crate::example::pieces;
use crate::memory_check::check_host_room;
use crate::pass::narrow;
use crate::reward_model::pass::batch;
use crate::student::keep;
use crate::watch::{Part, Phase, Watch};

/// Passes over the transitions of a step.
#[derive(Clone, Copy)]
pub(super) struct TransitionPass<'a> {
    pub(super) decoder: &'a Decoder,
    /// Transitions at a time.
    pub(super) micro_batch: usize,
    pub(super) forward: Forward,
    /// Bytes that the longest batch left the device with; when there are more, those that wait are
    /// given back.
    pub(super) most_bytes: usize,
    /// For messages.
    pub(super) step: u64,
    pub(super) watch: Watch<'a>,
    pub(super) phase: Phase,
}

/// What the transitions of a step came to, before its update.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct StepScores {
    pub(super) loss: f64,
    pub(super) hits: Mean,
    pub(super) positives: Mean,
    pub(super) probability: Mean,
}

impl<'a> TransitionPass<'a> {
    /// With the settings' micro-batches, before the first step.
    pub(super) fn new(
        decoder: &'a Decoder,
        config: &Config,
        watch: Watch<'a>,
        phase: Phase,
    ) -> Self {
        Self {
            decoder,
            micro_batch: config.training.per_device_train_batch_size as usize,
            forward: Forward { keep: Some(keep(config)), values_only: true, ..Forward::default() },
            most_bytes: usize::MAX,
            step: 0,
            watch,
            phase,
        }
    }

    /// Adds the gradients of a loss of transitions.
    pub(super) fn learn(
        &self,
        transitions: &[&TokenTransition],
        gradients: &mut Gradients,
        mut loss: impl FnMut(BinaryExample) -> Result<BinaryLoss, AlgoError>,
    ) -> Result<StepScores, TrainError> {
        let order = order(transitions.iter().copied());
        let mut found = StepScores::default();
        for piece in pieces(order.len(), self.micro_batch) {
            self.watch.part(self.phase, Part { done: piece.start, all: order.len() });
            if self.decoder.device().held_bytes() > self.most_bytes {
                self.decoder.device().trim();
            }
            let places = &order[piece];
            let own = places.iter().map(|&place| transitions[place].tokens.as_slice());
            let batch = batch(self.decoder, own)
                .map_err(|source| TrainError::Batch { step: self.step, source })?;
            let (scored, tape) = self.decoder.forward(&batch, self.forward);
            self.decoder.device().check()?;
            let scores = scored.value.expect("a process reward model has a score head");
            let mut signal = Vec::with_capacity(scores.len());
            for (&at, score) in places.iter().zip(scores) {
                let (logit, label) = (f64::from(score), transitions[at].label);
                let loss = loss(BinaryExample { logit, label, at })?;
                found.add(Labelled { logit, label, task: 0 }, loss);
                signal.push(narrow(loss.dlogit));
            }
            let dlogp = vec![0.0; signal.len()];
            let signal = Signal { dlogp: &dlogp, dentropy: None, dvalue: Some(&signal) };
            let tape = tape.expect("kept, since there is a way back");
            self.decoder.backward(&batch, tape, signal, gradients);
        }
        Ok(found)
    }

    /// The longest micro-batch forward and back with a signal of zeros; returns the bytes that the
    /// device then holds.
    pub(super) fn memory_check(
        &self,
        transitions: &[TokenTransition],
        gradients: &mut Gradients,
    ) -> Result<usize, TrainError> {
        let longest: Vec<&TokenTransition> = order(transitions)
            .into_iter()
            .take(self.micro_batch)
            .map(|at| &transitions[at])
            .collect();
        let tokens = longest.iter().map(|transition| transition.tokens.len()).sum();
        check_host_room(self.decoder, self.forward.keep, tokens)?;
        self.learn(&longest, gradients, |_| Ok(BinaryLoss::default()))?;
        let device = self.decoder.device();
        device.check()?;
        Ok(device.held_bytes())
    }
}

impl StepScores {
    fn add(&mut self, scored: Labelled, loss: BinaryLoss) {
        let is_hit = (scored.logit > 0.0) == scored.label;
        let hit = if scored.logit == 0.0 { 0.5 } else { f64::from(u8::from(is_hit)) };
        self.loss += loss.loss;
        self.hits.add(hit);
        self.positives.add(f64::from(u8::from(scored.label)));
        self.probability.add(scored.probability());
    }
}

/// The places of transitions, the longest first.
fn order<'t>(transitions: impl IntoIterator<Item = &'t TokenTransition>) -> Vec<usize> {
    let lengths: Vec<usize> = transitions.into_iter().map(|one| one.tokens.len()).collect();
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(lengths[at]));
    order
}
