//! The episodes of one task, while its samples are read.

use std::collections::BTreeMap;

use whetstone_core::outcome::{Evidence, Outcome};
use whetstone_env::metrics::of_outcome;

use super::{REWARD, TURNS, TaskEpisodes};

/// An environment's own count of replies, behind its kind.
const OWN_COUNT: &str = "/steps";

/// Sums over the judged samples of a task.
#[derive(Debug, Clone, Default)]
pub(crate) struct EpisodeSums {
    judged: u64,
    /// Samples that solved the task, by their number of replies.
    solved: BTreeMap<u32, u64>,
    /// Sums and counts, by the name of the mean.
    sums: BTreeMap<String, MeanSum>,
    /// Replies of the longest episode.
    pub(crate) most_turns: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct MeanSum {
    sum: f64,
    count: u32,
}

impl EpisodeSums {
    /// Takes in a judged sample of so many replies.
    pub(crate) fn add(&mut self, outcome: &Outcome, turns: u32) {
        self.judged += 1;
        self.most_turns = self.most_turns.max(turns);
        if outcome.is_solved() {
            *self.solved.entry(turns).or_default() += 1;
        }
        self.note(REWARD, outcome.reward.total());
        self.note(TURNS, f64::from(turns));
        if matches!(outcome.evidence, Evidence::Observed(_)) {
            let facts = of_outcome(outcome).into_iter();
            let facts = facts.filter(|(name, _)| !name.ends_with(OWN_COUNT));
            facts.for_each(|(name, value)| self.note(&name, value));
        }
    }

    /// The figures of the task for these values of `k`, with so many samples that could not be judged; `None` of no
    /// judged sample.
    pub(crate) fn figures(&self, curve: &[u32], unjudged: u64) -> Option<TaskEpisodes> {
        let all = self.judged + unjudged;
        let within =
            |&k: &u32| (k, share(self.solved.range(..=k).map(|(_, count)| count).sum(), all));
        let mean = |(name, found): (&String, &MeanSum)| {
            (name.clone(), found.sum / f64::from(found.count.max(1)))
        };
        let solved_within = curve.iter().map(within).collect();
        let means = self.sums.iter().map(mean).collect();
        (self.judged > 0).then_some(TaskEpisodes { solved_within, means })
    }

    fn note(&mut self, name: &str, value: f64) {
        let found = self.sums.entry(name.to_owned()).or_default();
        found.sum += value;
        found.count += 1;
    }
}

#[expect(clippy::cast_precision_loss, reason = "samples of a task are counted in hundreds")]
fn share(part: u64, all: u64) -> f64 {
    part as f64 / all.max(1) as f64
}

#[cfg(test)]
mod tests {
    use whetstone_core::reward::{Reward, Term};

    use super::*;

    fn episode(solved: bool, worth: f64, guesses: f64) -> Outcome {
        let terms = BTreeMap::from([("right".to_owned(), Term { value: worth, weight: 1.0 })]);
        let reward = Reward::new(terms, BTreeMap::new()).unwrap();
        let outcome = Outcome::observed("guess", solved, reward).with_fact("guesses", &guesses);
        outcome.with_fact("steps", &99).with_fact("ended", &"limit")
    }

    /// Four samples: solved with 1, 3 and 3 replies, and not with 4; one more could not be judged.
    #[test]
    fn the_curve_of_a_task_is_that_counted_by_hand() {
        let mut sums = EpisodeSums::default();
        for (solved, worth, turns) in
            [(true, 1.0, 1), (true, 0.5, 3), (true, 0.6, 3), (false, 0.1, 4)]
        {
            sums.add(&episode(solved, worth, f64::from(2 * turns)), turns);
        }
        let found = sums.figures(&[1, 2, 3, 4], 1).unwrap();
        assert_eq!(found.solved_within, [(1, 0.2), (2, 0.2), (3, 0.6), (4, 0.6)].into());
        let near = |name: &str, expected: f64| (found.means[name] - expected).abs() < 1e-12;
        assert!(near(REWARD, 2.2 / 4.0) && near(TURNS, 11.0 / 4.0), "{found:?}");
        assert!(near("guess/guesses", 22.0 / 4.0) && found.means.len() == 3, "{found:?}");
        assert_eq!(sums.most_turns, 4);
        assert_eq!(EpisodeSums::default().figures(&[1], 3), None, "nothing could be judged");
    }
}
