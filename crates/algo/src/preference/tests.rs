//! The losses against the papers' equations, central differences and numbers of fifty digits.

use proptest::prelude::*;

use super::*;
use crate::testing::{assert_near, assert_slopes};

const PLAIN: PreferenceSettings = PreferenceSettings {
    loss: PreferenceLoss::Dpo,
    beta: 0.1,
    label_smoothing: 0.0,
    simpo_gamma: 0.0,
    sft_weight: 0.0,
    step_pairs: 1,
};

fn pair<'a>(
    chosen: &'a [f64],
    rejected: &'a [f64],
    [chosen_reference, rejected_reference]: [f64; 2],
) -> PairLogps<'a> {
    PairLogps {
        chosen: ReplyLogps { policy: chosen, reference: chosen_reference },
        rejected: ReplyLogps { policy: rejected, reference: rejected_reference },
    }
}

fn of(pair: PairLogps<'_>, settings: PreferenceSettings) -> PreferencePart {
    loss(pair, settings, 0).unwrap()
}

/// The papers' equations as they are written down: probabilities of whole replies, which underflow where replies
/// are long, and logarithms of sigmoids, which overflow.
fn slow(pair: PairLogps<'_>, settings: PreferenceSettings) -> f64 {
    let PreferenceSettings { beta, label_smoothing: wrong, simpo_gamma, .. } = settings;
    let policy =
        |reply: ReplyLogps<'_>| reply.policy.iter().map(|logp| logp.exp()).product::<f64>();
    let reference = |reply: ReplyLogps<'_>| reply.reference.exp();
    let length = |reply: ReplyLogps<'_>| f64::from(u32::try_from(reply.policy.len()).unwrap());
    let sigma = |x: f64| 1.0 / (1.0 + (-x).exp());
    let PairLogps { chosen: w, rejected: l } = pair;
    let of_pair = match settings.loss {
        // Eq. 7 of DPO, and the same with the labels turned round.
        PreferenceLoss::Dpo => {
            let chosen = beta * (policy(w) / reference(w)).ln();
            let rejected = beta * (policy(l) / reference(l)).ln();
            -(1.0 - wrong) * sigma(chosen - rejected).ln() - wrong * sigma(rejected - chosen).ln()
        }
        // Eq. 17 of IPO, with geometric means over tokens for probabilities.
        PreferenceLoss::Ipo => {
            let mean = |reply| (policy(reply) / reference(reply)).powf(1.0 / length(reply));
            ((mean(w) / mean(l)).ln() - 1.0 / (2.0 * beta)).powi(2)
        }
        // Eq. 6 of SimPO.
        PreferenceLoss::SimPo => {
            let reward = |reply| beta / length(reply) * policy(reply).ln();
            -sigma(reward(w) - reward(l) - simpo_gamma).ln()
        }
    };
    let nll = -policy(w).ln() / length(w);
    (of_pair + settings.sft_weight * nll) / number(settings.step_pairs)
}

/// ```python
/// from mpmath import mp, mpf, log, exp, diff
/// mp.dps = 50
/// sig = lambda x: 1 / (1 + exp(-x))
/// C, R, rc, rr = mpf('-2'), mpf('-2.75'), mpf('-2.5'), mpf('-2.25')  # 3 and 2 tokens
/// def dpo(C, R, beta, eps):
///     x = beta * ((C - rc) - (R - rr))
///     return -(1 - eps) * log(sig(x)) - eps * log(sig(-x))
/// ipo = lambda C, R, beta: ((C - rc) / 3 - (R - rr) / 2 - 1 / (2 * beta)) ** 2
/// simpo = lambda C, R, beta, g: -log(sig(beta / 3 * C - beta / 2 * R - g))
/// for f in [lambda C, R: dpo(C, R, mpf('0.1'), 0), lambda C, R: dpo(C, R, mpf('0.5'), mpf('0.1')),
///           lambda C, R: ipo(C, R, mpf('0.1')), lambda C, R: simpo(C, R, mpf(2), mpf(1)),
///           lambda C, R: dpo(C, R, mpf('0.1'), 0) - mpf('0.25') * C / 3]:
///     print(f(C, R), diff(lambda c: f(c, R), C), diff(lambda r: f(C, r), R))
/// ```
#[test]
fn the_numbers_of_fifty_digits() {
    let (chosen, rejected) = ([-0.5, -1.25, -0.25], [-2.0, -0.75]);
    let pair = pair(&chosen, &rejected, [-2.5, -2.25]);
    let table = [
        (PLAIN, [0.644_396_660_073_570_9, -0.047_502_081_252_106_004, 0.047_502_081_252_106_004]),
        (
            PreferenceSettings { beta: 0.5, label_smoothing: 0.1, ..PLAIN },
            [0.524_076_984_180_106_7, -0.138_770_334_399_072_71, 0.138_770_334_399_072_71],
        ),
        (
            PreferenceSettings { loss: PreferenceLoss::Ipo, ..PLAIN },
            [21.006_944_444_444_443, -3.055_555_555_555_555_4, 4.583_333_333_333_333],
        ),
        (
            PreferenceSettings {
                loss: PreferenceLoss::SimPo,
                beta: 2.0,
                simpo_gamma: 1.0,
                ..PLAIN
            },
            [0.506_360_046_019_029_4, -0.264_876_441_347_672_2, 0.397_314_662_021_508_3],
        ),
        (
            PreferenceSettings { sft_weight: 0.25, ..PLAIN },
            [0.811_063_326_740_237_5, -0.130_835_414_585_439_35, 0.047_502_081_252_106_004],
        ),
    ];
    for (settings, [loss, dchosen, drejected]) in table {
        let found = of(pair, settings);
        assert_near(found.loss, loss);
        assert_near(found.dchosen, dchosen);
        assert_near(found.drejected, drejected);
    }
}

#[test]
fn a_policy_that_is_its_reference_has_the_loss_of_a_guess() {
    let same = pair(&[-0.5, -1.0], &[-3.0], [-1.5, -3.0]);
    let dpo = of(same, PreferenceSettings { label_smoothing: 0.2, ..PLAIN });
    assert_near(dpo.loss, std::f64::consts::LN_2);
    // (1 - 2 · 0.2) / 2 of beta.
    assert_near(dpo.dchosen, -0.03);
    let ipo = of(same, PreferenceSettings { loss: PreferenceLoss::Ipo, ..PLAIN });
    assert_near(ipo.loss, 25.0);
    for found in [dpo, ipo] {
        for zero in [found.chosen_reward, found.rejected_reward, found.margin()] {
            assert_near(zero, 0.0);
        }
        assert!(found.dchosen < 0.0 && found.drejected > 0.0, "{found:?}");
    }
}

#[test]
fn margins_that_are_far_apart_neither_overflow_nor_lose_the_loss() {
    let beta = PreferenceSettings { beta: 1.0, ..PLAIN };
    let wrong = of(pair(&[-2e4], &[-1e-3], [0.0, -1e4]), beta);
    assert_near(wrong.loss, 3e4 - 1e-3);
    assert_eq!((wrong.dchosen, wrong.drejected), (-1.0, 1.0));
    let led = of(pair(&[0.0], &[-40.0], [0.0, 0.0]), beta);
    assert!((led.loss - (-40.0_f64).exp()).abs() < 1e-30, "{}", led.loss);
}

#[test]
fn parts_of_a_step_add_up_to_its_mean_and_simpo_reads_no_reference() {
    let (one, other) = (pair(&[-1.0], &[-2.0], [-1.5, -1.0]), pair(&[-3.0], &[-0.5], [-1.0, -1.0]));
    let half = PreferenceSettings { step_pairs: 2, ..PLAIN };
    let mean = f64::midpoint(of(one, PLAIN).loss, of(other, PLAIN).loss);
    assert_near(of(one, half).loss + of(other, half).loss, mean);
    let simpo = PreferenceSettings { loss: PreferenceLoss::SimPo, ..PLAIN };
    let without = pair(&[-1.0], &[-2.0], [f64::NAN; 2]);
    assert_eq!(of(one, simpo), of(without, simpo));
    let [chosen, rejected] = implicit_rewards(one, simpo, 0).unwrap();
    assert_near(chosen, -0.1);
    assert_near(rejected, -0.2);
}

#[test]
fn what_makes_no_loss_is_named_with_its_pair() {
    let refused = |pair, settings| loss(pair, settings, 7).unwrap_err().to_string();
    let good = pair(&[-1.0], &[-2.0], [-1.0, -1.0]);
    assert_eq!(
        refused(pair(&[f64::NAN], &[-2.0], [-1.0; 2]), PLAIN),
        "the log-probability of the chosen reply of pair 7 is NaN; leave it out"
    );
    assert_eq!(
        refused(pair(&[-1.0], &[-2.0], [-1.0, f64::NEG_INFINITY]), PLAIN),
        "the log-probability of the rejected reply of pair 7 is inf; leave it out"
    );
    let empty = refused(pair(&[-1.0], &[], [-1.0; 2]), PLAIN);
    assert!(empty.starts_with("the log-probability of the rejected reply"), "{empty}");
    for settings in [
        PreferenceSettings { beta: 0.0, ..PLAIN },
        PreferenceSettings { label_smoothing: 0.5, ..PLAIN },
        PreferenceSettings { simpo_gamma: -1.0, ..PLAIN },
        PreferenceSettings { sft_weight: -1.0, ..PLAIN },
        PreferenceSettings { step_pairs: 0, ..PLAIN },
    ] {
        assert!(refused(good, settings).contains("it must be"), "{settings:?}");
    }
}

fn any_loss() -> impl Strategy<Value = PreferenceLoss> {
    prop_oneof![Just(PreferenceLoss::Dpo), Just(PreferenceLoss::Ipo), Just(PreferenceLoss::SimPo)]
}

proptest! {
    #[test]
    fn the_loss_is_that_of_the_paper_and_its_signals_are_slopes(
        loss in any_loss(),
        chosen in proptest::collection::vec(-3.0..0.0_f64, 1..5),
        rejected in proptest::collection::vec(-3.0..0.0_f64, 1..5),
        references in [-9.0..0.0_f64, -9.0..0.0_f64],
        (beta, label_smoothing) in (0.1..1.0_f64, 0.0..0.49_f64),
        (simpo_gamma, sft_weight) in (0.0..2.0_f64, 0.0..1.0_f64),
        step_pairs in 1..9_u64,
    ) {
        let settings =
            PreferenceSettings { loss, beta, label_smoothing, simpo_gamma, sft_weight, step_pairs };
        let of_tokens = |tokens: &[f64]| {
            let (chosen, rejected) = tokens.split_at(chosen.len());
            of(pair(chosen, rejected, references), settings)
        };
        let tokens = [&chosen[..], &rejected].concat();
        let found = of_tokens(&tokens);
        let expected = slow(pair(&chosen, &rejected, references), settings);
        prop_assert!((found.loss - expected).abs() <= 1e-10 * expected.abs().max(1.0));
        let signals =
            [vec![found.dchosen; chosen.len()], vec![found.drejected; rejected.len()]].concat();
        assert_slopes(&signals, &tokens, |tokens| of_tokens(tokens).loss);
    }
}
