//! How far a generator is, for its progress and for the time that is left.
//!
//! The time left is counted in steps and not in completions that are done: short ones end first, so a mean over those
//! that are done says too little of the work and too much of the time. With `L` the estimated length of a completion
//! and `k` rows in a step:
//!
//! ```text
//! L      = sampled tokens / completions that are done, at most the limit; the limit while none is done
//! steps  = waiting · L / k + min(what the longest may still have, L · (1 + ln k))
//! time   = steps · time of a step + tokens of prompts that wait · time of a prompt's token
//! ```
//!
//! Before the first step, a step is taken to cost as much as so many tokens of prompts: on a processor it costs more, on
//! a GPU it comes soon.
//!
//! `L` is the maximum-likelihood estimate for lengths that are cut off where they are now, if every token ends a
//! completion with the same probability; `1 + ln k` such lengths is about the longest of `k`.

use std::fmt;
use std::ops::ControlFlow;
use std::time::Duration;

use crate::generator::Usage;

/// How far a call of a generator is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Headway {
    /// The work so far.
    pub usage: Usage,
    /// Completions that are done.
    pub done: usize,
    /// Completions that are being sampled.
    pub active: usize,
    /// Completions that wait.
    pub waiting: usize,
    /// Rows that a step may have.
    pub rows: usize,
    /// Tokens of prompts that wait.
    pub waiting_tokens: usize,
    /// Tokens that the least finished active completion may still have.
    pub longest_left: usize,
    /// Tokens that a completion may have.
    pub max_tokens: usize,
}

impl Headway {
    /// Estimated time left, if `more` completions are asked for after this call; `None` before anything was computed.
    #[expect(clippy::cast_precision_loss, reason = "counts of tokens and steps become an estimate")]
    pub fn left(&self, more: usize) -> Option<Duration> {
        let Self { usage, done, active, waiting, waiting_tokens, longest_left, max_tokens, .. } =
            *self;
        if usage.prefilled == 0 {
            return None;
        }
        let prompt_token = usage.prefill_time.as_secs_f64() / usage.prefilled as f64;
        let limit = max_tokens as f64;
        let length =
            if done == 0 { limit } else { (usage.sampled as f64 / done as f64).min(limit) };
        let rows =
            if usage.steps > 0 { usage.widest } else { self.rows.min(active + waiting + more) };
        let rows = rows.max(1) as f64;
        let longest = length * (1.0 + (active.max(1) as f64).ln());
        let tail = longest.min(longest_left as f64);
        let steps = (waiting + more) as f64 * length / rows + tail;
        let step = if usage.steps > 0 {
            usage.decode_time.as_secs_f64() / usage.steps as f64
        } else {
            rows * prompt_token
        };
        Some(Duration::from_secs_f64(steps * step + waiting_tokens as f64 * prompt_token))
    }
}

/// Looks at a generator between its steps, and between the layers of a long prompt; a `Break` ends the work. The
/// headway is counted only if it is asked for.
#[derive(Clone, Copy)]
pub struct Watch<'a>(pub &'a dyn Fn(&dyn Fn() -> Headway) -> ControlFlow<()>);

impl fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After 10 steps of 8 rows in 20 s, and 100 tokens of prompts in 5 s.
    fn headway() -> Headway {
        let usage = Usage {
            prefilled: 100,
            sampled: 80,
            steps: 10,
            widest: 8,
            prefill_time: Duration::from_secs(5),
            decode_time: Duration::from_secs(20),
            ..Usage::default()
        };
        Headway { usage, active: 8, longest_left: 90, max_tokens: 100, ..Headway::default() }
    }

    #[track_caller]
    fn check(headway: Headway, more: usize, seconds: f64) {
        let left = headway.left(more).unwrap().as_secs_f64();
        assert!((left - seconds).abs() < 0.01, "{left} for {headway:?}");
    }

    #[test]
    fn the_time_left_is_that_of_steps_and_prompts() {
        // No completion is done: each may have all of its tokens, at 2 s a step.
        check(headway(), 0, 90.0 * 2.0);
        // 16 more take twice 100 steps, and 40 tokens of prompts 2 s.
        let waiting = Headway { waiting: 12, waiting_tokens: 40, ..headway() };
        check(waiting, 4, (200.0 + 90.0) * 2.0 + 2.0);
        // 80 tokens for 8 that are done are 10 each: the longest of 8 more has about 10 · (1 + ln 8).
        let done = Headway { done: 8, ..headway() };
        check(done, 0, 10.0 * (1.0 + 8f64.ln()) * 2.0);
        check(Headway { longest_left: 3, ..done }, 0, 6.0);
    }

    #[test]
    fn before_the_first_step_prompts_say_what_a_step_takes() {
        assert_eq!(Headway { max_tokens: 9, active: 1, ..Headway::default() }.left(3), None);
        let usage =
            Usage { prefilled: 100, prefill_time: Duration::from_secs(5), ..Usage::default() };
        // 2 of 4 rows are begun: a step takes 4 times 0.05 s. One completion more takes a quarter of 40 steps beside
        // the longest, and 60 tokens of prompts 3 s.
        let begun = Headway {
            usage,
            active: 2,
            waiting: 2,
            waiting_tokens: 60,
            rows: 4,
            ..Headway::default()
        };
        check(Headway { longest_left: 40, max_tokens: 40, ..begun }, 1, (30.0 + 40.0) * 0.2 + 3.0);
    }
}
