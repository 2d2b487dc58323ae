//! Times of sampling and judging while rollouts were collected.
//!
//! All times count from the beginning of the collection. Whoever wants to know whether more judges
//! would help looks at [`Timeline::judging_after_sampling`]: time in which nothing was sampled
//! because something was still judged.

use std::ops::Range;
use std::time::Duration;

/// Characters before the first slot of a row.
const LABEL: usize = 9;
/// How much of a slot is filled, by eighths.
const LEVELS: [char; 9] = ['·', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// One completion on its way through the judges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Its group, from 0.
    pub group: usize,
    /// The rollout's number in the group, from 0.
    pub sample: usize,
    /// When its last token was sampled.
    pub sampled_at: Duration,
    /// When it was judged.
    pub judging: Range<Duration>,
}

/// One call of the generator, and the judging of what it gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wave {
    /// When the generator worked.
    pub sampling: Range<Duration>,
    /// When everything was judged; not before the end of sampling.
    pub judged_at: Duration,
    /// Every completion, by group and number.
    pub spans: Vec<Span>,
}

/// The waves of a collection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Timeline {
    /// In order; a wave begins when the one before it is judged.
    pub waves: Vec<Wave>,
}

impl Timeline {
    /// When the last completion was judged.
    pub fn end(&self) -> Duration {
        self.waves.last().map_or(Duration::ZERO, |wave| wave.judged_at)
    }

    /// Time that went by with nothing to sample, because something was still judged.
    pub fn judging_after_sampling(&self) -> Duration {
        self.waves.iter().map(|wave| wave.judged_at.saturating_sub(wave.sampling.end)).sum()
    }

    /// Completions that were judged while others were sampled, and so cost no time.
    pub fn judged_while_sampling(&self) -> usize {
        let early = |wave: &Wave| {
            wave.spans.iter().filter(|span| span.judging.end <= wave.sampling.end).count()
        };
        self.waves.iter().map(early).sum()
    }

    /// Adds what came after this: the collection of further groups.
    pub fn then(&mut self, later: Self, groups: usize) {
        let shift = self.end();
        let shifted = |range: Range<Duration>| range.start + shift..range.end + shift;
        for wave in later.waves {
            let spans = wave.spans.into_iter().map(|span| Span {
                group: span.group + groups,
                sample: span.sample,
                sampled_at: span.sampled_at + shift,
                judging: shifted(span.judging),
            });
            let (sampling, judged_at) = (shifted(wave.sampling), wave.judged_at + shift);
            self.waves.push(Wave { sampling, judged_at, spans: spans.collect() });
        }
    }

    /// Three lines for people, of so many characters: how busy the generator was, how busy the
    /// judges were (against their busiest moment), and the time.
    ///
    /// ```text
    /// sampling █████████████████████▆····
    /// judging  ··▁▁▂▂▃▃▃▄▅▅▅▅▆▆▇████▇▅▂▁
    ///          0 s                 12.4 s
    /// ```
    pub fn render(&self, width: usize) -> Vec<String> {
        let slots = width.saturating_sub(LABEL).max(1);
        let sampling: Vec<_> = self.waves.iter().map(|wave| &wave.sampling).collect();
        let spans = self.waves.iter().flat_map(|wave| &wave.spans);
        let judging: Vec<_> = spans.map(|span| &span.judging).collect();
        let (sampling, judging) = (self.activity(&sampling, slots), self.activity(&judging, slots));
        let slot = self.end().as_nanos().div_ceil(slots as u128);
        let busiest = judging.iter().copied().max().unwrap_or_default();
        let end = format!("{:.1} s", self.end().as_secs_f64());
        let room = slots.saturating_sub("0 s".len());
        vec![
            format!("sampling {}", row(&sampling, slot)),
            format!("judging  {}", row(&judging, busiest)),
            format!("         0 s{end:>room$}"),
        ]
    }

    /// How much of `ranges` lies in each slot, in nanoseconds.
    fn activity(&self, ranges: &[&Range<Duration>], slots: usize) -> Vec<u128> {
        let bound = |at: usize| self.end().as_nanos() * at as u128 / slots as u128;
        let within = |at: usize| {
            let (from, to) = (bound(at), bound(at + 1));
            let overlap = |range: &&Range<Duration>| {
                let (start, end) = (range.start.as_nanos(), range.end.as_nanos());
                end.min(to).saturating_sub(start.max(from))
            };
            ranges.iter().map(overlap).sum()
        };
        (0..slots).map(within).collect()
    }
}

/// One character a slot, of which `full` is the fullest. A slot with any activity shows it.
fn row(activity: &[u128], full: u128) -> String {
    let character = |&value: &u128| {
        let eighths = usize::try_from((value * 8).div_ceil(full.max(1))).unwrap_or(usize::MAX);
        LEVELS[eighths.min(LEVELS.len() - 1)]
    };
    activity.iter().map(character).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(range: Range<u64>) -> Range<Duration> {
        Duration::from_millis(range.start)..Duration::from_millis(range.end)
    }

    fn span(sample: usize, judging: Range<u64>) -> Span {
        let judging = ms(judging);
        Span { group: 0, sample, sampled_at: judging.start, judging }
    }

    /// A wave of two that is judged in time, but for one of them.
    fn wave(sampling: Range<u64>, judging: [Range<u64>; 2]) -> Wave {
        let judged_at = Duration::from_millis(judging[0].end.max(judging[1].end));
        let [first, second] = judging;
        Wave { sampling: ms(sampling), judged_at, spans: vec![span(0, first), span(1, second)] }
    }

    fn timeline() -> Timeline {
        let first = wave(0..400, [200..400, 300..600]);
        let second = wave(600..700, [650..700, 700..800]);
        Timeline { waves: vec![first, second] }
    }

    #[test]
    fn what_is_judged_after_the_last_token_is_waited_for() {
        let timeline = timeline();
        assert_eq!(timeline.end(), Duration::from_millis(800));
        assert_eq!(timeline.judging_after_sampling(), Duration::from_millis(200 + 100));
        assert_eq!(timeline.judged_while_sampling(), 2);
        assert_eq!(Timeline::default().judging_after_sampling(), Duration::ZERO);
    }

    #[test]
    fn a_row_has_a_character_for_every_slot() {
        // Eight slots of 100 ms. Two are judged at a time in the fourth.
        let expected = ["sampling ████··█·", "judging  ··▄█▄▄▂▄", "         0 s0.8 s"];
        assert_eq!(timeline().render(17), expected);
        // Four of 200 ms: sampling fills half of the last, and three halves are judged in the second.
        let expected = ["sampling ██·▄", "judging  ·█▆▄", "         0 s0.8 s"];
        let found = timeline().render(13);
        assert_eq!(found, expected);
        let nothing = Timeline::default().render(0);
        assert_eq!(nothing, ["sampling ·", "judging  ·", "         0 s0.0 s"]);
    }

    #[test]
    fn a_moment_is_seen_in_a_long_row() {
        let short = wave(0..100_000, [5_000..5_001, 95_000..96_000]);
        let rows = Timeline { waves: vec![short] }.render(19);
        assert_eq!(rows[1], "judging  ▁········█");
    }

    #[test]
    fn what_comes_later_is_shifted() {
        let mut timeline = timeline();
        timeline.then(super::Timeline { waves: vec![wave(5..10, [6..7, 10..20])] }, 3);
        let [.., last] = &timeline.waves[..] else { panic!("three waves") };
        assert_eq!(
            (last.sampling.clone(), last.judged_at),
            (ms(805..810), Duration::from_millis(820))
        );
        let second = &last.spans[1];
        assert_eq!((second.group, second.sample, second.judging.clone()), (3, 1, ms(810..820)));
        assert_eq!(second.sampled_at, Duration::from_millis(810));
        assert_eq!(timeline.judging_after_sampling(), Duration::from_millis(300 + 10));
    }
}
