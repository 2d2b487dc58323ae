//! When each alarm is due. Thresholds are where runs that went well stay far below: see
//! `docs/guides/alarms.md`.

use whetstone_core::config::Curriculum;
use whetstone_core::metric;
use whetstone_core::reward::TESTS;

use super::history::{
    CLAMPED, CUT_OFF, DEAD, ENTROPY, Ends, GAP, HELD_OUT, HELD_OUT_TASKS, History, IN_THINKING, KL,
    Level, NO_CODE, PASS, REWARD, SOLVED, TIMEOUTS, UNSOLVED,
};

/// Entropy that is left, of what there was, when samples are all alike.
const COLLAPSED: f64 = 0.2;
/// Entropy as a multiple of what there was, when samples become noise.
const EXPLODED: f64 = 2.0;
/// Sampler and trainer are one code: what is left is rounding, below 1e-4 in every run seen.
const GAP_LIMIT: f64 = 1e-3;
/// Single tokens that the reference held for nearly impossible occur in healthy runs: 1 of 70,000 was seen.
const CLAMPED_LIMIT: f64 = 1e-4;
/// The part of groups that may have nothing to learn from. With four rollouts a group, tasks whose chance
/// to be solved is spread evenly leave 2 in 5 groups dead, and a student that solves most tasks always or
/// never two thirds: both learn. Beyond four in five nearly all sampling is for nothing.
const DEAD_LIMIT: f64 = 0.8;
/// The ratio of groups that are dead for one reason to those for the other, from which that reason is named.
const ONE_SIDED: f64 = 3.0;
/// The rise of the fraction of programs that time out, or are cut off, from which an alarm is due.
const MORE_TIMEOUTS: f64 = 0.1;
const MORE_CUT_OFF: f64 = 0.1;
/// The fall of the pass rate from which an alarm is due.
const FEWER_PASSES: f64 = 0.1;
/// The least fall of the held-out pass rate that is one.
const HELD_OUT_FALL: f64 = 0.05;
/// The least rise of a term that is one.
const TERM_RISE: f64 = 0.02;
/// The part of replies without code from which that is what a run is about, and the steps that show it: the
/// first ones may be all that a person waits for.
const MOST_WITHOUT_CODE: f64 = 0.5;
const FORMAT_STEPS: usize = 3;
/// Standard errors from which a level is likely, and a change is clear.
pub(super) const LIKELY: f64 = 2.0;
pub(super) const CLEAR: f64 = 3.0;

/// An alarm that a rule found due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DueAlarm {
    pub(super) code: &'static str,
    pub(super) message: String,
    /// The term of the reward that it is about.
    pub(super) term: Option<String>,
}

/// The training whose settings a message names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trainer {
    Grpo,
    Ppo,
}

impl Trainer {
    fn learning_rate(self) -> &'static str {
        match self {
            Self::Grpo => "training.learning_rate",
            Self::Ppo => "ppo.learning_rate",
        }
    }

    /// The section of its other settings.
    fn section(self) -> &'static str {
        match self {
            Self::Grpo => "grpo",
            Self::Ppo => "ppo",
        }
    }
}

/// Settings that rules depend on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    pub(super) trainer: Trainer,
    /// In an order that is not shuffled, later tasks are others than the first: fewer programs pass, as they
    /// should, and by pass rate the tasks that teach nothing come last.
    pub(super) curriculum: Curriculum,
    /// 0 is none.
    pub(super) kl_budget: f64,
    /// Programs that pass some tests are paid for them.
    pub(super) has_partial_credit: bool,
    /// A teacher teaches in dead groups, too.
    pub(super) is_distilled: bool,
}

/// Everything that is due after the last step.
pub(super) fn all(history: &History, rules: &Rules) -> Vec<DueAlarm> {
    let (trainer, curriculum) = (rules.trainer, rules.curriculum);
    let all = [
        held_out_falls(history),
        kl_over_budget(history, rules),
        entropy_collapse(history, trainer),
        entropy_rises(history, trainer),
        sampler_gap(history),
        ratios_clamped(history),
        dead_groups(history).filter(|_| curriculum != Curriculum::PassRate && !rules.is_distilled),
        timeouts(history),
        passes_fall(history, trainer).filter(|_| curriculum == Curriculum::Shuffled),
        cut_off(history, trainer),
        no_code(history, trainer),
        term_rises_alone(history, rules.has_partial_credit),
    ];
    all.into_iter().flatten().collect()
}

pub(super) fn due(code: &'static str, message: String) -> DueAlarm {
    DueAlarm { code, message, term: None }
}

/// Rewards rose since the held-out tasks were solved best, and these are solved clearly less often.
///
/// The best of many measurements is partly luck, so two in a row are averaged before the best is taken;
/// and what is compared with it is uncertain too, so the error is that of the difference.
fn held_out_falls(history: &History) -> Option<DueAlarm> {
    let tasks = history.values(HELD_OUT_TASKS).last()?.1.max(1.0);
    let (&(step, now), before) = history.values(HELD_OUT).split_last()?;
    let pairs = before.windows(2).map(|pair| (pair[1].0, f64::midpoint(pair[0].1, pair[1].1)));
    let levels = pairs.chain(before.first().filter(|_| before.len() == 1).copied());
    let (then, best) = levels.max_by(|one, other| one.1.total_cmp(&other.1))?;
    let variance = |rate: f64| (rate * (1.0 - rate) / tasks).max(0.0);
    let samples = if before.len() == 1 { 1.0 } else { 2.0 };
    let by_chance = LIKELY * (variance(best) / samples + variance(now)).sqrt();
    let (reward, reward_then) = (history.around(REWARD, step)?, history.around(REWARD, then)?);
    let falls = best - now > by_chance.max(HELD_OUT_FALL);
    (falls && reward > reward_then).then_some(())?;
    let message = format!(
        "held-out tasks are solved less often, {} at step {then} and {} now, while the reward rose \
         from {reward_then:.3} to {reward:.3}: the student learns what pays here and nowhere else. \
         Read completions with a high reward, and take a checkpoint of about step {then}",
        percent(best),
        percent(now)
    );
    Some(due("held_out_falls", message))
}

fn kl_over_budget(history: &History, rules: &Rules) -> Option<DueAlarm> {
    let Level { mean, .. } = history.last(KL)?;
    let (budget, trainer) = (rules.kl_budget, rules.trainer);
    (budget > 0.0 && mean > budget).then_some(())?;
    let held_back = match trainer {
        Trainer::Grpo => ": the weights of traces are held back",
        Trainer::Ppo => "",
    };
    let message = format!(
        "the student is {mean:.3} nats a token away from its reference, past the budget of {budget} \
         (`dual_source.kl_budget`){held_back}. Lower `{}`, or raise `{}.kl_coef`",
        trainer.learning_rate(),
        trainer.section()
    );
    Some(due("kl_over_budget", message))
}

fn entropy_collapse(history: &History, trainer: Trainer) -> Option<DueAlarm> {
    let Ends { first, last } = history.ends(ENTROPY)?;
    (last.mean < COLLAPSED * first.mean).then_some(())?;
    let message = format!(
        "entropy fell from {:.3} to {:.4} nats a token: the samples of a group are nearly all alike, \
         and there is little left to choose from. Lower `{}`, raise `{}.temperature`, or stop here",
        first.mean,
        last.mean,
        trainer.learning_rate(),
        trainer.section()
    );
    Some(due("entropy_collapse", message))
}

/// The student forgets what it was sure of: its samples turn into noise, often ever longer.
fn entropy_rises(history: &History, trainer: Trainer) -> Option<DueAlarm> {
    let ends = history.ends(ENTROPY)?;
    let Level { mean, error } = ends.rise();
    (ends.last.mean > EXPLODED * ends.first.mean && mean > CLEAR * error).then_some(())?;
    let bonus = match trainer {
        Trainer::Grpo => "",
        Trainer::Ppo => " or `ppo.entropy_coef`",
    };
    let message = format!(
        "entropy rose from {:.3} to {:.3} nats a token: samples become noise. Read some, take a checkpoint from \
         before, and lower `{}`{bonus}, or raise `{}.kl_coef`",
        ends.first.mean,
        ends.last.mean,
        trainer.learning_rate(),
        trainer.section()
    );
    Some(due("entropy_rises", message))
}

fn sampler_gap(history: &History) -> Option<DueAlarm> {
    let gap = history.newest(GAP).filter(|&gap| gap > GAP_LIMIT)?;
    let message = format!(
        "a log-probability differs by {gap:.2e} between sampler and trainer, where rounding is below \
         1e-4: the update is not that of what was sampled. This is a defect of whet or of the \
         machine; `whet doctor` looks at the latter"
    );
    Some(due("sampler_gap", message))
}

fn ratios_clamped(history: &History) -> Option<DueAlarm> {
    let fraction = history.newest(CLAMPED).filter(|&fraction| fraction > CLAMPED_LIMIT)?;
    let message = format!(
        "{:.2} % of the tokens have a ratio or a divergence so far off that it was clamped, and these \
         tokens are not learnt from: the student has moved far from the policy that sampled, or from its \
         reference. Lower `training.learning_rate` or `grpo.num_iterations`, or raise `grpo.kl_coef`",
        100.0 * fraction
    );
    Some(due("ratios_clamped", message))
}

/// Nearly no group teaches anything. Why decides what to do: tasks that are always solved are learnt, tasks
/// that never are are out of reach.
fn dead_groups(history: &History) -> Option<DueAlarm> {
    let Level { mean, error } = history.last(DEAD)?;
    (mean - LIKELY * error > DEAD_LIMIT).then_some(())?;
    let part = |name| history.last(name).map_or(0.0, |level| level.mean);
    let (solved, unsolved) = (part(SOLVED), part(UNSOLVED));
    let advice = if unsolved > ONE_SIDED * solved {
        "the tasks are too hard. Take easier ones, teach the student first with `whet train sft`, or \
         sample more of each (`grpo.num_samples_per_prompt`)"
    } else if solved > ONE_SIDED * unsolved {
        "the tasks are learnt. Take harder ones, or stop here"
    } else {
        "each task is too hard or too easy. Set `grpo.dynamic_sampling_rounds` or `grpo.curriculum`, or \
         take other tasks"
    };
    let message = format!(
        "{} of the groups of the last steps have rollouts that do not differ, and teach nothing; in {} \
         every rollout passes, in {} none does: {advice}",
        percent(mean),
        percent(solved),
        percent(unsolved)
    );
    Some(due("dead_groups", message))
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

/// The student gets worse at what it is trained on.
fn passes_fall(history: &History, trainer: Trainer) -> Option<DueAlarm> {
    let ends = history.ends(PASS)?;
    let Level { mean, error } = ends.rise();
    (-mean > FEWER_PASSES && -mean > CLEAR * error).then_some(())?;
    let message = format!(
        "{} of the programs of the last steps pass, {} did in the beginning: the student gets worse, or \
         its tasks harder. Take a checkpoint from before, and lower `{}` or raise `{}.kl_coef`",
        percent(ends.last.mean),
        percent(ends.first.mean),
        trainer.learning_rate(),
        trainer.section()
    );
    Some(due("passes_fall", message))
}

fn cut_off(history: &History, trainer: Trainer) -> Option<DueAlarm> {
    let ends = history.ends(CUT_OFF)?;
    let Level { mean, error } = ends.rise();
    (mean > MORE_CUT_OFF && mean > CLEAR * error).then_some(())?;
    let message = format!(
        "{} of the completions of the last steps were cut off by the limit on tokens, {} were in the \
         beginning: read some. If they repeat themselves, lower `{}`; if they are only long, raise \
         `{}.max_completion_length`",
        percent(ends.last.mean),
        percent(ends.first.mean),
        trainer.learning_rate(),
        trainer.section()
    );
    Some(due("cut_off", message))
}

/// Most replies have no code, so what is learnt is to write some. The cause that most of them share says what to
/// set.
fn no_code(history: &History, trainer: Trainer) -> Option<DueAlarm> {
    let Level { mean, error } = history.last_of(NO_CODE, FORMAT_STEPS)?;
    (mean - LIKELY * error > MOST_WITHOUT_CODE).then_some(())?;
    let part = |name| history.last_of(name, FORMAT_STEPS).map_or(0.0, |level| level.mean);
    let (in_thinking, cut) = (part(IN_THINKING), part(CUT_OFF));
    let message = if 2.0 * in_thinking > mean {
        format!(
            "{} of the replies of the last steps have no code outside the thinking: use \
             `prompt.thinking = \"off\"`",
            percent(in_thinking)
        )
    } else if 2.0 * cut > mean {
        format!(
            "{} of the replies of the last steps have no code, and {} are cut off by the limit on tokens: raise \
             `{}.max_completion_length`, or use `prompt.thinking = \"off\"`",
            percent(mean),
            percent(cut),
            trainer.section()
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

/// The term that clearly rises while nothing else does, not even doubtfully.
fn term_rises_alone(history: &History, has_partial_credit: bool) -> Option<DueAlarm> {
    let rises = |name: &str| history.ends(name).map(Ends::rise);
    let of = |term| rises(&metric::reward_term(term)).map(|rise| (term, rise));
    let rising: Vec<(&str, Level)> =
        history.terms().filter_map(of).filter(|(_, rise)| rise.mean > rise.error).collect();
    let &[(term, Level { mean, error })] = &rising[..] else { return None };
    let passes = rises(PASS).is_none_or(|rise| rise.mean > rise.error);
    (mean >= TERM_RISE && mean > CLEAR * error && !passes).then_some(())?;
    let cause = if term == TESTS && has_partial_credit {
        "partial credit is being collected, by programs that pass some of the tests. \
         `reward.tests = \"all\"` pays whole solutions only"
    } else {
        "the student may have found out how to be paid without solving"
    };
    let message = format!(
        "the term `{term}` of the reward rose by {mean:.3} while no other did, and no more programs \
         pass: {cause}. Read the completions named here, which gain by it and do not pass"
    );
    Some(DueAlarm { term: Some(term.to_owned()), ..due("term_rises_alone", message) })
}

pub(super) fn percent(part: f64) -> String {
    format!("{:.1} %", 100.0 * part)
}
