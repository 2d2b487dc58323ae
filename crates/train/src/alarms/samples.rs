//! Alarms of what is sampled and judged: lengths, loops, programs out of time, rollouts that the judge lost.

use super::due::{CLEAR, DueAlarm, LIKELY, due, percent};
use super::history::{
    CUT_OFF, Ends, History, IN_THINKING, LENGTH_GAP, LOST, Level, NO_CODE, REPETITION, TIMEOUTS,
};
use super::settings::Settings;

/// The rise of the fraction of programs that time out, or are cut off, from which an alarm is due.
const MORE_TIMEOUTS: f64 = 0.1;
const MORE_CUT_OFF: f64 = 0.1;
/// The part of replies without code from which that is what a run is about, and the steps that show it: the
/// first ones may be all that a person waits for.
const MOST_WITHOUT_CODE: f64 = 0.5;
const FEW_STEPS: usize = 3;
/// The factor by which failing completions may become longer against passing ones, or shorter.
const GAP_FACTOR: f64 = 1.5;
/// The part of completions that may end in a loop.
const MOST_LOOPS: f64 = 0.1;
/// The part of rollouts that the judge may lose.
const MOST_LOST: f64 = 0.02;

pub(super) fn all(history: &History, settings: &Settings) -> [Option<DueAlarm>; 6] {
    [
        timeouts(history),
        cut_off(history, settings),
        no_code(history, settings),
        lengths_diverge(history, settings),
        repetition(history, settings),
        infrastructure(history),
    ]
}

fn timeouts(history: &History) -> Option<DueAlarm> {
    let ends = history.ends(TIMEOUTS)?;
    let Level { mean, error } = ends.rise();
    (mean > MORE_TIMEOUTS && mean > CLEAR * error).then_some(())?;
    let message = format!(
        "{} of the programs run out of time, {} did in the beginning: read some, and look whether \
         they loop without end or the limit (`sandbox.cpu_seconds`) is too low",
        percent(ends.last.mean),
        percent(ends.first.mean)
    );
    Some(due("timeouts", message))
}

fn cut_off(history: &History, settings: &Settings) -> Option<DueAlarm> {
    let ends = history.ends(CUT_OFF)?;
    let Level { mean, error } = ends.rise();
    (mean > MORE_CUT_OFF && mean > CLEAR * error).then_some(())?;
    let message = format!(
        "{} of the completions of the last steps were cut off by the limit on tokens, {} were in the \
         beginning: read some. If they repeat themselves, lower `{}`; if they are only long, raise \
         `{}.max_completion_length`",
        percent(ends.last.mean),
        percent(ends.first.mean),
        settings.learning_rate(),
        settings.section()
    );
    Some(due("cut_off", message))
}

/// Most replies have no code, so what is learnt is to write some. The cause that most of them share says what to
/// set.
fn no_code(history: &History, settings: &Settings) -> Option<DueAlarm> {
    let Level { mean, error } = history.last_of(NO_CODE, FEW_STEPS)?;
    (mean - LIKELY * error > MOST_WITHOUT_CODE).then_some(())?;
    let part = |name| history.last_of(name, FEW_STEPS).map_or(0.0, |level| level.mean);
    let (in_thinking, cut) = (part(IN_THINKING), part(CUT_OFF));
    let may_think = settings.may_think();
    let message = if may_think && 2.0 * in_thinking > mean {
        format!(
            "{} of the replies of the last steps have no code outside the thinking: use \
             `prompt.thinking = \"off\"`",
            percent(in_thinking)
        )
    } else if 2.0 * cut > mean {
        format!(
            "{} of the replies of the last steps have no code, and {} are cut off by the limit on tokens: raise \
             `{}.max_completion_length`{}",
            percent(mean),
            percent(cut),
            settings.section(),
            if may_think { ", or use `prompt.thinking = \"off\"`" } else { "" }
        )
    } else {
        format!(
            "{} of the replies of the last steps have no code: read some, and ask with another \
             `prompt.template`",
            percent(mean)
        )
    };
    Some(due("no_code", message + ". What is gained until then is format"))
}

/// Completions that pass and those that do not grow apart in length: either is longer for the sake of being longer.
fn lengths_diverge(history: &History, settings: &Settings) -> Option<DueAlarm> {
    let Ends { first, last } = history.ends(LENGTH_GAP)?;
    let Level { mean, error } = Ends { first, last }.rise();
    let widens = last.mean.abs() - first.mean.abs() > GAP_FACTOR.ln();
    (widens && mean.abs() > CLEAR * error).then_some(())?;
    let advice = if last.mean > 0.0 {
        "where a loss is divided by the length of a completion, a long failure costs each of its tokens less. Read \
         some that fail"
    } else {
        "the student may be paid for writing more. Read some that pass"
    };
    let divided = if last.mean > 0.0 && settings.averages_sequences() {
        ", and take `grpo.normaliser = \"token_mean\"` or `\"constant_length\"`"
    } else {
        ""
    };
    let message = format!(
        "completions that fail have {:.2} times the tokens of those that pass, and had {:.2} times as many in the \
         beginning: {advice}{divided}",
        last.mean.exp(),
        first.mean.exp()
    );
    Some(due("lengths_diverge", message))
}

fn repetition(history: &History, settings: &Settings) -> Option<DueAlarm> {
    let Level { mean, error } = history.last(REPETITION)?;
    (mean - LIKELY * error > MOST_LOOPS).then_some(())?;
    let message = format!(
        "{} of the completions of the last steps end in a loop, the same n-gram again and again: read some. If it \
         was less in the beginning, take a checkpoint from before and lower `{}`; a student that never ended its \
         answers is taught to with `whet train sft`",
        percent(mean),
        settings.learning_rate()
    );
    Some(due("repetition", message))
}

/// The judge loses rollouts, and rarely at random: what is left of their groups is another sample.
fn infrastructure(history: &History) -> Option<DueAlarm> {
    let Level { mean, error } = history.last_of(LOST, FEW_STEPS)?;
    (mean - LIKELY * error > MOST_LOST).then_some(())?;
    let message = format!(
        "{} of the rollouts of the last steps could not be judged and were left out: the groups that they fell out of \
         are biased, since what breaks the machine is not chance. `whet doctor` looks at the judge; fewer \
         `sandbox.workers`, or more memory, may help",
        percent(mean)
    );
    Some(due("judge_fails", message))
}
