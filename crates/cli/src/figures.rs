//! The verdict on a difference of two figures.

use whetstone_env::metrics::{Better, better};
use whetstone_eval::episodes::REWARD;
use whetstone_eval::{Difference, Figure};

use crate::printer::Tone;

/// The verdict on a difference.
pub(crate) fn judged(difference: &Difference) -> (&'static str, Tone) {
    if is_untold(difference) {
        return ("no task differs: too little to say", Tone::Doubtful);
    }
    match (difference.is_clear(), difference.value > 0.0) {
        (true, true) => ("better", Tone::Good),
        (true, false) => ("worse", Tone::Bad),
        (false, _) => ("no clear difference", Tone::Doubtful),
    }
}

/// Whether no task differs: an interval of no width, which is the absence of evidence and no proof of likeness.
fn is_untold(difference: &Difference) -> bool {
    [difference.value, difference.low, difference.high].iter().all(|end| end.abs() <= 0.0)
}

/// The verdict on the difference of a figure of programs. More diversity is not better by itself.
pub(crate) fn judged_figure(figure: Figure, difference: &Difference) -> (&'static str, Tone) {
    match (figure, judged(difference).0) {
        (Figure::Diversity | Figure::DiversityPassing, "better") => ("higher", Tone::Good),
        (Figure::Diversity | Figure::DiversityPassing, "worse") => ("lower", Tone::Doubtful),
        _ => judged(difference),
    }
}

/// The verdict on the difference of a mean of episodes: of the reward, and of some metrics, it is known which values are
/// better.
pub(crate) fn judged_mean(name: &str, difference: &Difference) -> (&'static str, Tone) {
    let known = if name == REWARD { Some(Better::Higher) } else { better(name) };
    match (known, judged(difference).0) {
        (Some(Better::Lower), "better") => ("worse", Tone::Bad),
        (Some(Better::Lower), "worse") => ("better", Tone::Good),
        (None, "better") => ("higher", Tone::Doubtful),
        (None, "worse") => ("lower", Tone::Doubtful),
        _ => judged(difference),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_told_with_what_it_means() {
        let of = |value, low, high| Difference { value, low, high, tasks: 9, left_out: 0, p: 0.01 };
        assert_eq!(judged(&of(0.187, 0.139, 0.236)), ("better", Tone::Good));
        assert_eq!(judged(&of(-0.1, -0.2, -0.05)), ("worse", Tone::Bad));
        assert_eq!(judged(&of(0.1, -0.01, 0.2)).0, "no clear difference");
        let same = judged(&of(0.0, 0.0, 0.0));
        assert_eq!(same, ("no task differs: too little to say", Tone::Doubtful));
        assert_eq!(judged(&of(0.0, -0.1, 0.1)).0, "no clear difference", "some differ");
        let lower = of(-0.1, -0.2, -0.05);
        assert_eq!(judged_figure(Figure::Diversity, &lower).0, "lower");
        assert_eq!(judged_figure(Figure::Quality, &lower).0, "worse");
        assert_eq!(judged_mean("turns", &lower).0, "lower");
        assert_eq!(judged_mean(REWARD, &lower).0, "worse");
        assert_eq!(judged_mean("phaser/unknown_api_rate", &lower), ("better", Tone::Good));
        assert_eq!(judged_mean("phaser/checks_passed", &lower).0, "worse");
    }
}
