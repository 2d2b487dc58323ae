//! When a gain is mostly format: replies without code became replies with code.
//!
//! The start is the first step alone: most students learn to write code within a few steps, and the mean of the first
//! ten would hide it. It is compared with the mean of the last steps or, where held-out tasks are measured, with their
//! last measurement. How a gain is divided is in [`whetstone_algo::format_gain`].

use whetstone_algo::format_gain::{CodeRates, GainParts};

use super::due::{CLEAR, DueAlarm, LIKELY, due, percent};
use super::history::{HELD_OUT, HELD_OUT_NO_CODE, HELD_OUT_TASKS, History, NO_CODE, PASS};
use super::settings::Settings;

/// The least rise of the pass rate that is a gain.
const GAIN: f64 = 0.05;
/// The least rise of the code rate that can make one.
const MORE_CODE: f64 = 0.1;

/// Both rates at the start and now, and the largest rise of the pass rate that is chance.
struct Change {
    data: &'static str,
    first: CodeRates,
    last: CodeRates,
    by_chance: f64,
}

/// Most of the gain since the start is format.
pub(super) fn gain_is_format(history: &History, settings: &Settings) -> Option<DueAlarm> {
    let mut changes = [held_out(history, settings), training(history)].into_iter().flatten();
    changes.find_map(|change| change.due(settings))
}

fn training(history: &History) -> Option<Change> {
    let (passes, no_code) = (history.since_start(PASS)?, history.since_start(NO_CODE)?);
    Some(Change {
        data: "programs",
        first: rates(passes.first.mean, no_code.first.mean),
        last: rates(passes.last.mean, no_code.last.mean),
        by_chance: CLEAR * passes.rise().error,
    })
}

fn held_out(history: &History, settings: &Settings) -> Option<Change> {
    let tasks = history.values(HELD_OUT_TASKS).last()?.1.max(1.0);
    let samples = tasks * f64::from(settings.config.held_out.num_samples);
    let ends = |name| {
        let values = history.values(name);
        let (first, rest) = values.split_first()?;
        Some([first.1, rest.last()?.1])
    };
    let ([first_pass, pass], [first, last]) = (ends(HELD_OUT)?, ends(HELD_OUT_NO_CODE)?);
    let variance = |rate: f64| (rate * (1.0 - rate) / samples).max(0.0);
    Some(Change {
        data: "held-out samples",
        first: rates(first_pass, first),
        last: rates(pass, last),
        by_chance: LIKELY * (variance(first_pass) + variance(pass)).sqrt(),
    })
}

fn rates(pass_rate: f64, no_code: f64) -> CodeRates {
    CodeRates { code_rate: 1.0 - no_code, pass_rate }
}

impl Change {
    fn due(&self, settings: &Settings) -> Option<DueAlarm> {
        let Self { data, first, last, by_chance } = self;
        let parts = GainParts::between(*first, *last);
        let is_gain = parts.gain() > by_chance.max(GAIN);
        let has_more_code = last.code_rate - first.code_rate > MORE_CODE;
        (is_gain && has_more_code && parts.is_mostly_format()).then_some(())?;
        let [format, gain] = [parts.format, parts.gain()].map(|part| 100.0 * part);
        let passing =
            |rates: &CodeRates| rates.pass_given_code().map_or_else(|| "-".into(), percent);
        let thinking = if settings.may_think() { ", `prompt.thinking = \"off\"`" } else { "" };
        let message = format!(
            "most of this gain is format: of the {data}, {} passed at the start and {} pass now, and {format:.1} of \
             these {gain:.1} points come from replies with code, {} then and {} now, of which {} passed and {} pass. \
             Compare with a start that answers: another `prompt.template`{thinking}; `whet eval \
             --baseline-prompts` measures the model with several prompts",
            percent(first.pass_rate),
            percent(last.pass_rate),
            percent(first.code_rate),
            percent(last.code_rate),
            passing(first),
            passing(last)
        );
        Some(due("gain_is_format", message))
    }
}
