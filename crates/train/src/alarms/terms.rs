//! A term of the reward that is collected without solving.
//!
//! Of the rise of the reward since the first steps, a part is that more rollouts pass. Another is that those that do
//! not pass are paid more: for a term, the rise of what it pays to them, times their share. Where the terms that clearly
//! rise among them make up most of the reward's rise, the reward is collected and not earned, also where a few more
//! rollouts pass, and where two terms rise together.

use whetstone_core::metric;
use whetstone_core::reward::TESTS;

use super::due::{CLEAR, DueAlarm, due};
use super::history::{Ends, History, Level, PASS, REWARD};
use super::settings::Settings;

/// The least rise of a term that is one.
const RISE: f64 = 0.02;
/// The part of the reward's rise from which it is most of it.
const MOST: f64 = 0.5;

/// A term that pays more to rollouts that do not pass than in the beginning.
struct Rising<'a> {
    term: &'a str,
    rise: f64,
}

pub(super) fn all(history: &History, settings: &Settings) -> Vec<DueAlarm> {
    let rises = |name: &str| history.ends(name).map(Ends::rise);
    let clear = |term| {
        let Level { mean, error } = rises(&metric::reward_term_of_failing(term))?;
        (mean >= RISE && mean > CLEAR * error).then_some(Rising { term, rise: mean })
    };
    let rising: Vec<Rising<'_>> = history.terms_of_failing().filter_map(clear).collect();
    let failing = history.last(PASS).map_or(1.0, |level| 1.0 - level.mean);
    let collected: f64 = rising.iter().map(|one| failing * one.rise).sum();
    let reward = rises(REWARD).map_or(0.0, |rise| rise.mean);
    if collected <= MOST * reward {
        return Vec::new();
    }
    rising.iter().map(|one| told(one, settings, rises(PASS))).collect()
}

fn told(
    &Rising { term, rise }: &Rising<'_>,
    settings: &Settings,
    passes: Option<Level>,
) -> DueAlarm {
    let cause = if term == TESTS && settings.has_partial_credit() {
        "partial credit is being collected, by programs that pass some of the tests. \
         `reward.tests = \"all\"` pays whole solutions only"
    } else {
        "the student may have found out how to be paid without solving"
    };
    let passes = passes.map_or_else(String::new, |Level { mean, .. }| {
        format!(", and the pass rate changed by {:+.1} points", 100.0 * mean)
    });
    let message = format!(
        "the term `{term}` pays {rise:.3} more to completions that do not pass than in the beginning, which is most \
         of what the reward rose by{passes}: {cause}. Read the completions named here, which gain by it and do not \
         pass"
    );
    DueAlarm { term: Some(term.to_owned()), ..due("term_rises_alone", message) }
}
