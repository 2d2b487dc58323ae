//! In which order things are learnt from: shuffled anew in each epoch.
//!
//! The order of an epoch follows from the run's seed and the number of the epoch, so a run that goes
//! on needs to know nothing but where it was.

use whetstone_core::seed::Seed;

/// The places of `count` things in the order of an epoch.
///
/// Sorted by a hash of each: nothing but the seed, the epoch and the place decides.
pub fn shuffled(seed: Seed, epoch: u64, count: usize) -> Vec<usize> {
    let seed = seed.derive("order", epoch);
    let mut keyed: Vec<(u64, usize)> =
        (0..count).map(|at| (seed.derive("place", at as u64).get(), at)).collect();
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, at)| at).collect()
}

/// An endless row of epochs, read from some position on.
#[derive(Debug)]
pub(crate) struct Endless {
    seed: Seed,
    count: usize,
    epoch: Option<(u64, Vec<usize>)>,
}

impl Endless {
    pub(crate) fn new(seed: Seed, count: usize) -> Self {
        Self { seed, count, epoch: None }
    }

    /// The item at a position.
    pub(crate) fn at(&mut self, position: u64) -> usize {
        let count = self.count as u64;
        let (epoch, place) = (position / count, position % count);
        if self.epoch.as_ref().is_none_or(|(known, _)| *known != epoch) {
            self.epoch = Some((epoch, shuffled(self.seed, epoch, self.count)));
        }
        let (_, order) = self.epoch.as_ref().expect("made above");
        order[usize::try_from(place).expect("less than the count")]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_epoch_has_everything_once_and_its_own_order() {
        let epochs = [0, 1].map(|epoch| shuffled(Seed::new(7), epoch, 50));
        for epoch in &epochs {
            let mut sorted = epoch.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..50).collect::<Vec<_>>());
        }
        assert_ne!(epochs[0], epochs[1]);
        assert_ne!(epochs[0], shuffled(Seed::new(8), 0, 50));
        assert_eq!(epochs[0], shuffled(Seed::new(7), 0, 50));
    }

    #[test]
    fn whoever_begins_in_the_middle_reads_the_same() {
        let read = |from: u64| {
            let mut endless = Endless::new(Seed::new(3), 5);
            (from..13).map(|position| endless.at(position)).collect::<Vec<_>>()
        };
        assert_eq!(read(0)[7..], read(7));
    }
}
