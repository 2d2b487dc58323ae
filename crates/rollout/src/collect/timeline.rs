//! Times of sampling and judging while rollouts were collected.
//!
//! All times count from the beginning of the collection. Whoever wants to know whether more judges
//! would help looks at [`Timeline::judging_after_sampling`]: time in which nothing was sampled
//! because something was still judged.

use std::ops::Range;
use std::time::Duration;

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

/// The times of a collection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Timeline {
    /// When the generator had something to do, in order.
    pub sampling: Vec<Range<Duration>>,
    /// Every completion, by group, number and turn.
    pub spans: Vec<Span>,
    /// When the last completion was judged; not before the end of sampling.
    pub end: Duration,
    waited: Duration,
}

impl Timeline {
    /// Time in which the generator had something to do.
    pub fn sampling_time(&self) -> Duration {
        self.sampling.iter().map(|range| range.end.saturating_sub(range.start)).sum()
    }

    /// Time that went by with nothing to sample, because something was still judged.
    pub fn judging_after_sampling(&self) -> Duration {
        self.waited
    }

    /// Everything was judged: what was not sampling since sampling began was waiting.
    pub(super) fn close(&mut self, end: Duration) {
        let began = self.sampling.first().map_or(end, |first| first.start);
        self.end = end;
        self.waited = end.saturating_sub(began).saturating_sub(self.sampling_time());
    }

    /// Completions that were judged while others were sampled, and so cost no time.
    pub fn judged_while_sampling(&self) -> usize {
        let is_early = |span: &&Span| {
            let end = span.judging.end;
            self.sampling.iter().any(|range| range.start < end && end <= range.end)
        };
        self.spans.iter().filter(is_early).count()
    }

    /// Adds what came after this: the collection of further groups.
    pub fn then(&mut self, later: Self, groups: usize) {
        let shift = self.end;
        let shifted = |range: Range<Duration>| range.start + shift..range.end + shift;
        self.sampling.extend(later.sampling.into_iter().map(shifted));
        self.spans.extend(later.spans.into_iter().map(|span| Span {
            group: span.group + groups,
            sample: span.sample,
            sampled_at: span.sampled_at + shift,
            judging: shifted(span.judging),
        }));
        self.end += later.end;
        self.waited += later.waited;
    }
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

    fn closed(sampling: Vec<Range<Duration>>, spans: Vec<Span>, end: u64) -> Timeline {
        let mut timeline = Timeline { sampling, spans, ..Timeline::default() };
        timeline.close(Duration::from_millis(end));
        timeline
    }

    /// Two turns of two rollouts, of which one each is judged in time.
    fn timeline() -> Timeline {
        let spans =
            vec![span(0, 200..400), span(0, 650..700), span(1, 300..600), span(1, 700..800)];
        closed(vec![ms(0..400), ms(600..700)], spans, 800)
    }

    #[test]
    fn what_is_judged_after_the_last_token_is_waited_for() {
        let timeline = timeline();
        assert_eq!(timeline.sampling_time(), Duration::from_millis(500));
        assert_eq!(timeline.judging_after_sampling(), Duration::from_millis(200 + 100));
        assert_eq!(timeline.judged_while_sampling(), 2);
        assert_eq!(Timeline::default().judging_after_sampling(), Duration::ZERO);
    }

    #[test]
    fn time_before_sampling_is_not_waited_for() {
        let late = closed(vec![ms(50..100)], Vec::new(), 800);
        assert_eq!(late.judging_after_sampling(), Duration::from_millis(700));
    }

    #[test]
    fn what_comes_later_is_shifted() {
        let mut timeline = timeline();
        timeline.then(closed(vec![ms(5..10)], vec![span(0, 6..7), span(1, 10..20)], 20), 3);
        assert_eq!(timeline.sampling.last(), Some(&ms(805..810)));
        assert_eq!(timeline.end, Duration::from_millis(820));
        let [.., last] = &timeline.spans[..] else { panic!("six spans") };
        assert_eq!((last.group, last.sample, last.judging.clone()), (3, 1, ms(810..820)));
        assert_eq!(last.sampled_at, Duration::from_millis(810));
        assert_eq!(timeline.judging_after_sampling(), Duration::from_millis(300 + 10));
    }
}
