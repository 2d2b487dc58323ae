//! The alarm of preference training: likelihood displacement (N. Razin et al., arXiv:2410.08847).
//!
//! Only the difference of two replies is in the loss, so it also falls where both become less likely and the rejected one
//! more so; the probability goes to replies that nobody judged.

use whetstone_core::config::PreferenceLoss;

use super::due::{CLEAR, DueAlarm, LIKELY, due};
use super::history::{DPO_CHOSEN_LOGP, DPO_CHOSEN_REWARD, DPO_MARGIN, History, Level};

/// Chosen replies are clearly less likely than at the start, while the margin rose.
///
/// With a reference, the reward of a pair is measured from that pair's own start, which is 0 for reward and margin. SimPO
/// has none, and its last steps are compared with the first ones.
pub(super) fn chosen_logp_falls(history: &History, loss: PreferenceLoss) -> Option<DueAlarm> {
    let since_start = |name: &str| {
        if loss.has_reference() { history.last(name) } else { Some(history.ends(name)?.rise()) }
    };
    let name = if loss.has_reference() { DPO_CHOSEN_REWARD } else { DPO_CHOSEN_LOGP };
    let (chosen, margin) = (since_start(name)?, since_start(DPO_MARGIN)?);
    let falls = |of: Level| of.mean + CLEAR * of.error < 0.0;
    let rises = |of: Level| of.mean - LIKELY * of.error > 0.0;
    (falls(chosen) && rises(margin)).then_some(())?;
    let change = if loss.has_reference() {
        format!("their implicit reward is {:.3} on average, where it began at 0", chosen.mean)
    } else {
        format!("by {:.1} nats a reply since the first steps", -chosen.mean)
    };
    let message = format!(
        "chosen replies become less likely, {change}, while the margin rises by {:.3}: rejected replies fall faster, and \
         probability goes to replies that are in no pair. Set `dpo.sft_weight` to about 0.1 or higher, lower \
         `dpo.learning_rate`, or take pairs whose replies differ more; `whet eval` says whether programs still pass",
        margin.mean
    );
    Some(due("chosen_logp_falls", message))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Steps in which pairs differ by up to `noise`; `slope` is what each step adds to a measurement.
    struct Planted {
        chosen: f64,
        margin: f64,
        noise: f64,
    }

    impl Planted {
        fn history(&self, steps: u32) -> History {
            let mut history = History::default();
            for step in 0..steps {
                let at = f64::from(step);
                // Neighbouring steps have other pairs.
                let noise = self.noise * (f64::from(step * 7 % 5) / 2.0 - 1.0);
                let values = [
                    (DPO_CHOSEN_REWARD, self.chosen * at + noise),
                    (DPO_CHOSEN_LOGP, -80.0 + 10.0 * (self.chosen * at + noise)),
                    (DPO_MARGIN, self.margin * at + noise),
                ];
                let values: BTreeMap<String, f64> =
                    values.map(|(name, value)| (name.to_owned(), value)).into();
                history.add(u64::from(step) + 1, &values);
            }
            history
        }

        fn code(&self, steps: u32, loss: PreferenceLoss) -> Option<&'static str> {
            chosen_logp_falls(&self.history(steps), loss).map(|due| due.code)
        }
    }

    const WITH_REFERENCE: [PreferenceLoss; 2] = [PreferenceLoss::Dpo, PreferenceLoss::Ipo];

    #[test]
    fn displacement_rings_after_ten_steps_and_without_a_reference_after_twenty() {
        let planted = Planted { chosen: -0.05, margin: 0.08, noise: 0.1 };
        for loss in WITH_REFERENCE {
            assert_eq!(planted.code(9, loss), None, "too few steps");
            assert_eq!(planted.code(15, loss), Some("chosen_logp_falls"));
        }
        assert_eq!(planted.code(19, PreferenceLoss::SimPo), None, "too few steps");
        assert_eq!(planted.code(25, PreferenceLoss::SimPo), Some("chosen_logp_falls"));
        let said = chosen_logp_falls(&planted.history(15), PreferenceLoss::Dpo).unwrap().message;
        assert!(
            said.contains("`dpo.sft_weight`") && said.contains("implicit reward is -0."),
            "{said}"
        );
        let said = chosen_logp_falls(&planted.history(25), PreferenceLoss::SimPo).unwrap().message;
        assert!(said.contains("nats a reply"), "{said}");
    }

    #[test]
    fn a_training_that_raises_chosen_replies_or_moves_within_its_noise_rings_nothing() {
        let all = WITH_REFERENCE.into_iter().chain([PreferenceLoss::SimPo]);
        for loss in all {
            let clean = Planted { chosen: 0.03, margin: 0.08, noise: 0.1 };
            assert_eq!(clean.code(60, loss), None, "{loss:?}");
            let still = Planted { chosen: -1e-4, margin: 0.08, noise: 1.0 };
            assert_eq!(still.code(60, loss), None, "within the noise, {loss:?}");
            let no_margin = Planted { chosen: -0.05, margin: -0.01, noise: 0.1 };
            assert_eq!(no_margin.code(60, loss), None, "the margin does not rise, {loss:?}");
        }
    }
}
