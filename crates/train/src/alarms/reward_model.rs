//! When the alarms of a reward model are due: its scores follow length, or nothing.

use whetstone_core::reward::MODEL;

use super::due::{DueAlarm, LIKELY, due, percent};
use super::history::{
    History, Level, PAID_LENGTH, RM_ACCURACY, RM_ACCURACY_LOW, RM_LABEL_LENGTH, RM_LENGTH,
    RM_PAIRS, RM_SHORTER, RM_SHORTER_PAIRS,
};

/// The correlation of scores with length that is too much: length explains a quarter of the differences.
const FOLLOWS_LENGTH: f64 = 0.5;
/// The correlation with which a reward model pays a policy for length: two thirds of the differences. On
/// programs that pass or fail, honest scores stay below half of that.
const PAYS_FOR_LENGTH: f64 = 0.8;
/// Measurements in a row without an accuracy above chance. The first few are the beginning of every training.
const AT_CHANCE: usize = 5;

/// What is due after the last step.
pub(super) fn all(history: &History) -> [Option<DueAlarm>; 3] {
    [length_bias(history), at_chance(history), pays_for_length(history)]
}

/// A policy is paid by a reward model whose scores follow the length of completions.
fn pays_for_length(history: &History) -> Option<DueAlarm> {
    let Level { mean, error } = history.last(PAID_LENGTH)?;
    (mean.abs() - LIKELY * error > PAYS_FOR_LENGTH).then_some(())?;
    let what = if mean > 0.0 { "long" } else { "short" };
    let message = format!(
        "the reward model pays for {what} completions: the correlation of its scores with the tokens of the \
         last steps' completions is {mean:.2}. Read completions with a high reward, look at the length bias \
         that `whet train rm` printed, and lower `reward.model_weight` or train another reward model"
    );
    Some(DueAlarm { term: Some(MODEL.to_owned()), ..due("reward_model_follows_length", message) })
}

/// The scores of held-out pairs follow length, or are wrong where the better reply is the shorter one.
fn length_bias(history: &History) -> Option<DueAlarm> {
    let (r, pairs) = (history.newest(RM_LENGTH)?, history.newest(RM_PAIRS)?);
    // Before anything is learnt leads are tiny, and may follow anything.
    history.newest(RM_ACCURACY_LOW).filter(|&low| low > 0.5)?;
    // Fisher's transform has the standard error 1/√(n - 3), whatever the correlation.
    let follows = pairs > 4.0
        && r.min(1.0 - 1e-12).atanh() - LIKELY / (pairs - 3.0).sqrt() > FOLLOWS_LENGTH.atanh();
    let shorter = history.newest(RM_SHORTER).zip(history.newest(RM_SHORTER_PAIRS));
    let wrong = shorter.is_some_and(|(accuracy, pairs)| {
        accuracy + LIKELY * (0.25 / pairs.max(1.0)).sqrt() < 0.5
            && history.newest(RM_ACCURACY).is_some_and(|all| all > accuracy)
    });
    (follows || wrong).then_some(())?;
    let labels = history.newest(RM_LABEL_LENGTH).unwrap_or_default();
    let on_shorter = shorter.map_or_else(
        || "no held-out pair has a shorter chosen reply".to_owned(),
        |(accuracy, pairs)| {
            format!(
                "of the {pairs} pairs whose chosen reply is the shorter one {} are right",
                percent(accuracy)
            )
        },
    );
    let advice = if labels > FOLLOWS_LENGTH {
        "The labels themselves follow length, so nothing else need be learnt: add pairs whose better reply \
         is the shorter one, or leave out pairs of very different lengths"
    } else {
        "The scores follow length more than the labels do: add pairs whose better reply is the shorter \
         one, or stop earlier"
    };
    let message = format!(
        "the scores of held-out pairs follow the length of replies: the correlation is {r:.2}, that of the \
         labels {labels:.2}; {on_shorter}. {advice}. A policy trained with this reward model learns to \
         write more"
    );
    Some(due("rm_length_bias", message))
}

/// The order of held-out pairs stays a guess.
fn at_chance(history: &History) -> Option<DueAlarm> {
    history.newest(RM_ACCURACY_LOW)?;
    let lows = history.values(RM_ACCURACY_LOW);
    let last = &lows[lows.len().checked_sub(AT_CHANCE)?..];
    last.iter().all(|&(_, low)| low <= 0.5).then_some(())?;
    let accuracy = history.newest(RM_ACCURACY)?;
    let message = format!(
        "{} of held-out pairs are in the right order, which is not clearly better than chance, {AT_CHANCE} \
         measurements in a row: the pairs teach no order that carries over. Look whether their labels are \
         right, add more, or raise `rm.learning_rate`",
        percent(accuracy)
    );
    Some(due("rm_at_chance", message))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// A measurement of 100 held-out pairs, of which 40 have a shorter chosen reply.
    fn measured(accuracy: f64, length: f64, shorter: f64) -> BTreeMap<String, f64> {
        let values = [
            (RM_ACCURACY, accuracy),
            (RM_ACCURACY_LOW, accuracy - 0.1),
            (RM_PAIRS, 100.0),
            (RM_LENGTH, length),
            (RM_LABEL_LENGTH, 0.1),
            (RM_SHORTER, shorter),
            (RM_SHORTER_PAIRS, 40.0),
        ];
        values.map(|(name, value)| (name.to_owned(), value)).into()
    }

    fn due_after(measurements: &[BTreeMap<String, f64>]) -> Vec<DueAlarm> {
        let mut history = History::default();
        for (step, values) in (1..).zip(measurements) {
            history.add(step, values);
        }
        all(&history).into_iter().flatten().collect()
    }

    fn codes(measurements: &[BTreeMap<String, f64>]) -> Vec<&'static str> {
        due_after(measurements).into_iter().map(|due| due.code).collect()
    }

    #[test]
    fn a_reward_model_that_pays_for_length_rings_after_ten_steps() {
        let paid = |correlation: f64| BTreeMap::from([(PAID_LENGTH.to_owned(), correlation)]);
        let steps = |count, correlation| vec![paid(correlation); count];
        assert!(codes(&steps(9, 0.95)).is_empty(), "too few steps");
        assert_eq!(codes(&steps(10, 0.95)), ["reward_model_follows_length"]);
        let found = due_after(&steps(12, -0.95));
        assert!(found[0].message.contains("pays for short completions"), "{found:?}");
        assert!(codes(&steps(30, 0.6)).is_empty());
    }

    #[test]
    fn a_good_reward_model_rings_nothing() {
        assert!(codes(&[measured(0.85, 0.3, 0.8)]).is_empty());
        assert!(codes(&[]).is_empty());
    }

    /// With 100 pairs, 0.5 plus two errors of Fisher's transform is 0.66.
    #[test]
    fn scores_that_follow_length_ring_once_that_is_not_chance() {
        assert!(codes(&[measured(0.85, 0.63, 0.8)]).is_empty());
        assert_eq!(codes(&[measured(0.85, 0.68, 0.8)]), ["rm_length_bias"]);
        assert_eq!(codes(&[measured(0.85, 1.0, 0.8)]), ["rm_length_bias"]);
        let found = due_after(&[measured(0.85, 0.9, 0.8)]);
        assert!(found[0].message.contains("the correlation is 0.90, that of the labels 0.10"));
        let mut labels = measured(1.0, 0.95, 0.0);
        labels.insert(RM_LABEL_LENGTH.to_owned(), 0.9);
        labels.remove(RM_SHORTER);
        let found = due_after(&[labels]);
        assert!(found[0].message.contains("no held-out pair has a shorter chosen reply"));
        assert!(found[0].message.contains("The labels themselves follow length"));
    }

    /// Two errors of 40 coins are 0.16.
    #[test]
    fn so_do_scores_that_are_wrong_where_the_better_reply_is_the_shorter() {
        assert!(codes(&[measured(0.7, 0.4, 0.36)]).is_empty());
        assert_eq!(codes(&[measured(0.7, 0.4, 0.3)]), ["rm_length_bias"]);
    }

    #[test]
    fn five_guesses_in_a_row_ring_and_four_do_not() {
        let (guess, knows) = (measured(0.55, 0.0, 0.5), measured(0.7, 0.0, 0.7));
        let four = vec![guess.clone(); 4];
        assert!(codes(&four).is_empty());
        assert!(codes(&[&four[..], &[knows], &four].concat()).is_empty());
        assert_eq!(codes(&vec![guess; 5]), ["rm_at_chance"]);
        // Nor do scores that follow length before they order anything.
        assert!(codes(&[measured(0.55, 0.9, 0.2)]).is_empty());
    }
}
