//! How much of a gain in the pass rate is format: more replies with code, and not better code.
//!
//! ```text
//! pass   = c · p                        c: code rate, p: pass rate among the replies with code
//! format = (c1 - c0) · (p0 + p1) / 2
//! rest   = (p1 - p0) · (c0 + c1) / 2    format + rest = c1·p1 - c0·p0
//! ```
//!
//! Each part is the change of one factor, averaged over both orders in which the two factors can change (Shapley's
//! value; Kitagawa, JASA 1955). A side without any code has no `p`: it is taken to be that of the other side, so that
//! nothing is said of better programs where there were none to compare with.

/// The shares of replies that have code, and that pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CodeRates {
    /// Replies with code.
    pub code_rate: f64,
    /// Replies that pass, of all replies.
    pub pass_rate: f64,
}

/// The two parts of a gain in the pass rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GainParts {
    /// What comes from more replies with code.
    pub format: f64,
    /// What comes from programs that pass more often.
    pub rest: f64,
}

impl CodeRates {
    /// The pass rate among the replies with code; none without such replies.
    pub fn pass_given_code(self) -> Option<f64> {
        (self.code_rate > 0.0).then(|| self.pass_rate / self.code_rate)
    }
}

impl GainParts {
    /// The parts of the gain between two measurements.
    ///
    /// # Example
    ///
    /// ```
    /// use whetstone_algo::format_gain::{CodeRates, GainParts};
    /// let before = CodeRates { code_rate: 0.5, pass_rate: 0.125 };
    /// let after = CodeRates { code_rate: 1.0, pass_rate: 0.5 };
    /// let parts = GainParts::between(before, after);
    /// assert_eq!(parts, GainParts { format: 0.1875, rest: 0.1875 });
    /// ```
    pub fn between(before: CodeRates, after: CodeRates) -> Self {
        let (first, last) = (before.pass_given_code(), after.pass_given_code());
        let (p0, p1) = (first.or(last).unwrap_or(0.0), last.or(first).unwrap_or(0.0));
        let (c0, c1) = (before.code_rate, after.code_rate);
        Self { format: (c1 - c0) * f64::midpoint(p0, p1), rest: (p1 - p0) * f64::midpoint(c0, c1) }
    }

    /// The whole gain.
    pub fn gain(self) -> f64 {
        self.format + self.rest
    }

    /// Whether there is a gain, and more than half of it is format.
    pub fn is_mostly_format(self) -> bool {
        self.gain() > 0.0 && self.format > self.gain() / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: [f64; 2], after: [f64; 2], expected: (f64, f64, bool)) {
        let rates = |[code_rate, pass_rate]: [f64; 2]| CodeRates { code_rate, pass_rate };
        let found = GainParts::between(rates(before), rates(after));
        let near = |found: f64, expected: f64| (found - expected).abs() < 1e-12;
        assert!(near(found.format, expected.0), "{found:?}");
        assert!(near(found.rest, expected.1), "{found:?}");
        assert!(near(found.gain(), after[1] - before[1]), "{found:?}");
        assert_eq!(found.is_mostly_format(), expected.2, "{found:?}");
    }

    /// [code rate, pass rate] before and after; by hand: format, rest, and whether it is mostly format.
    #[test]
    fn a_gain_is_what_more_code_and_what_better_code_bring() {
        // p stays at 1/2: all of it is format.
        check([0.4, 0.2], [1.0, 0.5], (0.6 * 0.5, 0.0, true));
        // Every reply had code before: nothing of it is format.
        check([1.0, 0.3], [1.0, 0.45], (0.0, 0.15, false));
        // p from 1/4 to 1/2, c from 1/5 to 1: 0.8 · 3/8, and 1/4 · 0.6.
        check([0.2, 0.05], [1.0, 0.5], (0.3, 0.15, true));
        // p from 1/4 to 1/2, c from 1/2 to 1: just half is not most of it.
        check([0.5, 0.125], [1.0, 0.5], (0.1875, 0.1875, false));
        // Worse programs, more of them: more than all of the gain is format.
        check([0.5, 0.25], [1.0, 0.4], (0.5 * 0.45, -0.1 * 0.75, true));
    }

    #[test]
    fn without_code_at_the_start_all_of_a_gain_is_format_and_a_loss_is_none() {
        check([0.0, 0.0], [0.9, 0.3], (0.3, 0.0, true));
        check([0.9, 0.3], [0.0, 0.0], (-0.3, 0.0, false));
        check([0.0, 0.0], [0.0, 0.0], (0.0, 0.0, false));
        check([1.0, 0.5], [0.8, 0.2], (-0.2 * 0.375, -0.25 * 0.9, false));
    }
}
