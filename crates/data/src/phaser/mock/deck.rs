//! Qualities dealt so that all of them occur, in a random order.

use super::quality::{Quality, Trick};
use crate::phaser::split::shuffle;
use crate::random::Random;

/// One deck: good and half-good replies are twice as frequent.
const CARDS: [Quality; 11] = [
    Quality::Good,
    Quality::Good,
    Quality::HalfGood,
    Quality::HalfGood,
    Quality::Idle,
    Quality::Hallucinating,
    Quality::Broken,
    Quality::NoCode,
    Quality::LongPlan,
    Quality::Hostile(Trick::Tampering),
    Quality::Hostile(Trick::EndlessLoop),
];

/// Cards that are left.
#[derive(Debug, Default)]
pub(super) struct Deck(Vec<Quality>);

impl Deck {
    /// The next card; of a new deck if none is left.
    pub(super) fn deal(&mut self, random: &mut Random) -> Quality {
        if self.0.is_empty() {
            self.0 = CARDS.to_vec();
            shuffle(&mut self.0, random);
        }
        self.0.pop().unwrap_or(Quality::Idle)
    }
}
