//! Pairs of replies forward and back under a loss on their log-probabilities.
//!
//! Both replies of a pair are in one micro-batch, so that its loss is known when the batch goes back. The order of
//! pairs and of sums is that of `reward_model::pass`: gradients have the same bits whatever the micro-batch.

use whetstone_algo::preference::PreferencePart;
use whetstone_algo::{AlgoError, Mean};
use whetstone_model::decoder::{Adapters, Forward, Gradients, Signal};

use crate::error::TrainError;
use crate::pass::narrow;
use crate::reward_model::TokenPair;
use crate::reward_model::pass::PairPass;

/// The log-probabilities of a pair's reply tokens, chosen and rejected.
pub(super) type PairTokens = [Vec<f64>; 2];

/// What the pairs of a step came to, before its update.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct StepLosses {
    pub(super) loss: f64,
    pub(super) hits: Mean,
    pub(super) margin: Mean,
    pub(super) chosen_reward: Mean,
    pub(super) rejected_reward: Mean,
    pub(super) chosen_logp: Mean,
    pub(super) rejected_logp: Mean,
}

/// Adds the gradients of a loss of pairs. `loss` gets the place of a pair and the log-probabilities of its replies.
pub(super) fn learn(
    pass: PairPass<'_>,
    pairs: &[&TokenPair],
    gradients: &mut Gradients,
    mut loss: impl FnMut(usize, &PairTokens) -> Result<PreferencePart, AlgoError>,
) -> Result<StepLosses, TrainError> {
    let mut found = StepLosses::default();
    pass.each(pairs, |places, batch| {
        let (scored, tape) = pass.decoder.forward(batch, pass.forward);
        pass.decoder.device().check()?;
        let mut rest = scored.logp.as_slice();
        let mut dlogp = Vec::with_capacity(rest.len());
        for &place in places {
            let logps = next_pair(&mut rest, pairs[place]);
            let part = loss(place, &logps)?;
            found.add(&logps, part);
            for (tokens, signal) in logps.iter().zip([part.dchosen, part.drejected]) {
                dlogp.extend(std::iter::repeat_n(narrow(signal), tokens.len()));
            }
        }
        let tape = tape.expect("kept, since there is a way back");
        let signal = Signal { dlogp: &dlogp, dentropy: None, dvalue: None };
        pass.decoder.backward(batch, tape, signal, gradients);
        Ok(())
    })?;
    Ok(found)
}

/// The log-probabilities of the reply tokens of every pair.
pub(super) fn score(
    pass: PairPass<'_>,
    pairs: &[&TokenPair],
    adapters: Adapters,
) -> Result<Vec<PairTokens>, TrainError> {
    let forward = Forward { adapters, keep: None, ..pass.forward };
    let mut scores = vec![PairTokens::default(); pairs.len()];
    pass.each(pairs, |places, batch| {
        let (scored, _) = pass.decoder.forward(batch, forward);
        pass.decoder.device().check()?;
        let mut rest = scored.logp.as_slice();
        for &place in places {
            scores[place] = next_pair(&mut rest, pairs[place]);
        }
        Ok(())
    })?;
    Ok(scores)
}

/// The longest micro-batch forward and back with a signal of zeros; returns the bytes that the device then holds.
pub(super) fn memory_check(
    pass: PairPass<'_>,
    pairs: &[TokenPair],
    gradients: &mut Gradients,
) -> Result<usize, TrainError> {
    learn(pass, &pass.longest(pairs)?, gradients, |_, _| Ok(PreferencePart::default()))?;
    pass.held_bytes()
}

impl StepLosses {
    fn add(&mut self, logps: &PairTokens, part: PreferencePart) {
        let margin = part.margin();
        self.loss += part.loss;
        self.hits.add(if margin == 0.0 { 0.5 } else { f64::from(u8::from(margin > 0.0)) });
        self.margin.add(margin);
        self.chosen_reward.add(part.chosen_reward);
        self.rejected_reward.add(part.rejected_reward);
        let [chosen, rejected] = sums(logps);
        self.chosen_logp.add(chosen);
        self.rejected_logp.add(rejected);
    }
}

/// The log-probabilities of two whole replies.
pub(super) fn sums(logps: &PairTokens) -> [f64; 2] {
    [logps[0].iter().sum(), logps[1].iter().sum()]
}

/// The log-probabilities of the next pair of a batch, of which `rest` is rid.
fn next_pair(rest: &mut &[f32], pair: &TokenPair) -> PairTokens {
    [&pair.chosen, &pair.rejected].map(|tokens| {
        let (own, others) = rest.split_at(tokens.len() - pair.prompt_tokens);
        *rest = others;
        own.iter().copied().map(f64::from).collect()
    })
}
