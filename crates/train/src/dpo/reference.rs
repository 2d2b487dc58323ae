//! The reference of preference training: log-probabilities under the policy that the training began with.
//!
//! It is the student without its adapter, which takes no second copy of the model; the frozen adapter that the training
//! began with, where that is another one's, which checkpoints keep beside the trained one; or the base loaded once more
//! where all weights are trained.
//!
//! Sums are computed when a pair is first asked for and kept in memory, not in the run: they depend on weights that
//! never change, so a resumed run computes the same bits again, and nothing beside the checkpoint can be out of date.

use whetstone_model::decoder::{AdapterId, Adapters, Decoder};

use super::Dpo;
use super::pass::{score, sums};
use crate::error::TrainError;
use crate::reward_model::TokenPair;
use crate::reward_model::pass::PairPass;
use crate::side_adapter::{Origin, add_reference};
use crate::student::Student;
use crate::watch::Phase;

/// The reference's log-probabilities of pairs, each computed once.
#[derive(Debug)]
pub(super) struct Reference {
    model: ReferenceModel,
    train: Vec<Option<[f64; 2]>>,
    held_out: Vec<Option<[f64; 2]>>,
}

#[derive(Debug)]
enum ReferenceModel {
    /// The loss has none.
    None,
    /// The student without its adapter.
    Base,
    /// The adapter that the training began with.
    Adapter(AdapterId),
    /// The base, where all weights are trained.
    Loaded(Box<Decoder>),
}

/// The list that pairs are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum List {
    Train,
    HeldOut,
}

impl Reference {
    /// Puts the reference beside the student, unless the loss has none.
    pub(super) fn open(student: &mut Student, dpo: &Dpo<'_>) -> Result<Self, TrainError> {
        let Dpo { checkpoint, initial, .. } = *dpo;
        let model = if !dpo.config.dpo.loss.has_reference() {
            ReferenceModel::None
        } else if let Some(decoder) = student.reference_model()? {
            ReferenceModel::Loaded(Box::new(decoder))
        } else {
            match add_reference(student, Origin { checkpoint, initial })? {
                Some(adapter) => ReferenceModel::Adapter(adapter),
                None => ReferenceModel::Base,
            }
        };
        let unknown = |pairs: &[TokenPair]| vec![None; pairs.len()];
        Ok(Self { model, train: unknown(dpo.pairs), held_out: unknown(dpo.held_out) })
    }

    /// The sums over reply tokens, chosen and rejected, of the pairs at some places of a list; zeros where the loss has
    /// no reference.
    pub(super) fn sums(
        &mut self,
        student: &mut Student,
        dpo: &Dpo<'_>,
        list: List,
        places: &[usize],
    ) -> Result<Vec<[f64; 2]>, TrainError> {
        let (pairs, known) = match list {
            List::Train => (dpo.pairs, &mut self.train),
            List::HeldOut => (dpo.held_out, &mut self.held_out),
        };
        if matches!(self.model, ReferenceModel::None) {
            return Ok(vec![[0.0; 2]; places.len()]);
        }
        let mut new: Vec<usize> =
            places.iter().copied().filter(|&place| known[place].is_none()).collect();
        new.sort_unstable();
        new.dedup();
        let asked: Vec<&TokenPair> = new.iter().map(|&place| &pairs[place]).collect();
        for (&place, logps) in new.iter().zip(self.model.score(student, dpo, &asked)?) {
            known[place] = Some(sums(&logps));
        }
        Ok(places.iter().map(|&place| known[place].expect("computed above")).collect())
    }
}

impl ReferenceModel {
    fn score(
        &self,
        student: &mut Student,
        dpo: &Dpo<'_>,
        pairs: &[&TokenPair],
    ) -> Result<Vec<[Vec<f64>; 2]>, TrainError> {
        let pass = |decoder| PairPass::of_replies(decoder, dpo.config, dpo.watch, Phase::Reference);
        match self {
            Self::None => Ok(Vec::new()),
            Self::Base => score(pass(&student.decoder), pairs, Adapters::Off),
            Self::Loaded(decoder) => score(pass(decoder), pairs, Adapters::Off),
            Self::Adapter(adapter) => {
                let policy = student.decoder.active_adapter();
                student.decoder.activate(*adapter);
                let scores = score(pass(&student.decoder), pairs, Adapters::On);
                student.decoder.activate(policy);
                scores
            }
        }
    }
}
