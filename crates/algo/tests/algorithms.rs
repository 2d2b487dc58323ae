//! The six named algorithms on the mini-batches of one recorded batch, against formulas written out here.
//!
//! Nothing below `mod paper` uses the crate: each algorithm is the formula of its paper with the numbers
//! of its preset, in plain loops over `f64`. Both must agree on every advantage, on the loss and on the
//! derivative by every log-probability, to 1e-12: on the whole batch, and on every set of its groups that an
//! update may be made of. A mini-batch's means are over itself.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::cast_precision_loss, reason = "a handful of tokens")]

use whetstone_algo::advantage::{self, GroupRule};
use whetstone_algo::grpo::Grpo;
use whetstone_algo::kl::{self, Penalty};
use whetstone_algo::{Advantages, Sequence, Totals};
use whetstone_core::config::{Algorithm, DeadGroups, GrpoConfig, KlIn};
use whetstone_core::group::{GroupReward, Spread};

/// A rollout as it was recorded after one update: what it earned, and of every token the log-probability
/// now, when it was sampled, and under the reference.
#[derive(Clone, Copy)]
struct Recorded {
    reward: f64,
    tests: f64,
    tokens: &'static [[f64; 3]],
}

const fn recorded(reward: f64, tests: f64, tokens: &'static [[f64; 3]]) -> Recorded {
    Recorded { reward, tests, tokens }
}

/// Three groups: one that is mixed, one in which nobody passed and form differs, one with fractions.
/// Ratios lie on both sides of every bound.
const BATCH: [[Recorded; 4]; 3] = [
    [
        recorded(
            1.0,
            1.0,
            &[
                [-0.2134, -0.6928, -0.7102],
                [-1.1043, -1.0986, -1.2515],
                [-0.0451, -0.0512, -0.0733],
            ],
        ),
        recorded(0.2, 0.0, &[[-2.3411, -1.6094, -1.7301], [-0.9163, -0.9163, -0.9001]]),
        recorded(
            0.1,
            0.0,
            &[
                [-0.5108, -0.5218, -0.4991],
                [-3.2189, -2.9957, -3.1112],
                [-0.6012, -1.9061, -0.7723],
                [-0.2877, -0.2231, -0.2509],
            ],
        ),
        recorded(0.9, 1.0, &[[-1.3863, -1.3979, -1.3001], [-0.1054, -0.0943, -0.1278]]),
    ],
    [
        recorded(0.3, 0.0, &[[-0.4463, -0.4307, -0.4719]]),
        recorded(0.25, 0.0, &[[-1.8971, -1.7720, -2.0402], [-0.7985, -0.8210, -0.6928]]),
        recorded(
            0.3,
            0.0,
            &[
                [-0.0834, -0.0619, -0.1165],
                [-2.1203, -2.2073, -1.9966],
                [-1.0217, -1.0498, -0.9676],
            ],
        ),
        recorded(0.28, 0.0, &[[-0.6733, -0.6539, -0.6162], [-0.3567, -0.3425, -0.4005]]),
    ],
    [
        recorded(0.5, 0.5, &[[-0.7765, -0.8916, -0.9416], [-1.4697, -1.2040, -1.3471]]),
        recorded(
            0.75,
            0.75,
            &[
                [-0.1393, -0.3285, -0.2485],
                [-0.5621, -0.5798, -0.6349],
                [-2.5257, -2.3031, -2.4651],
                [-0.0202, -0.0305, -0.0408],
                [-1.0788, -0.9943, -1.1394],
            ],
        ),
        recorded(0.5, 0.5, &[[-0.9416, -1.6607, -1.0217], [-0.2614, -0.2357, -0.3147]]),
        recorded(1.0, 1.0, &[[-0.4155, -0.4780, -0.5447]]),
    ],
];

/// The longest completion, which two algorithms divide by.
const LENGTH: u32 = 8;

/// The groups of every mini-batch that there can be, the whole batch first.
const MINI_BATCHES: [&[usize]; 7] = [&[0, 1, 2], &[0], &[1], &[2], &[0, 1], &[0, 2], &[1, 2]];

/// Everything an algorithm says of a mini-batch; of a rollout that is not learnt from, zeros.
struct Said {
    advantages: Vec<f64>,
    loss: f64,
    dlogp: Vec<f64>,
}

/// What the crate says of some groups, with nothing but the algorithm's name.
fn said(algorithm: Algorithm, groups: &[usize]) -> Said {
    let config = GrpoConfig { max_completion_length: LENGTH, ..algorithm.settings() };
    let column = |rollout: &Recorded, at: usize| -> Vec<f64> {
        rollout.tokens.iter().map(|token| token[at]).collect()
    };
    let rule = GroupRule { how: config.advantage, floor: 0.01 };
    let (mut advantages, mut counts) = (Vec::new(), Vec::new());
    for group in groups.iter().map(|&at| &BATCH[at]) {
        let rewards: Vec<GroupReward> = group
            .iter()
            .map(|rollout| GroupReward::judged(rollout.reward, Some(rollout.tests)))
            .collect();
        let charge = |rollout: &Recorded| {
            kl::charge(Penalty::new(&config), &column(rollout, 1), &column(rollout, 2)).unwrap()
        };
        let of_group = match config.kl_in {
            KlIn::Loss => advantage::of_group(&rewards, rule),
            KlIn::Reward => {
                let charges: Vec<f64> = group.iter().map(charge).collect();
                advantage::of_charged_group(&rewards, &charges, rule)
            }
        };
        advantages.extend(of_group.unwrap());
        let is_alive = Spread::of(&rewards).is_alive(rule.floor);
        counts.extend([is_alive || config.dead_groups == DeadGroups::Keep; 4]);
    }
    let rollouts: Vec<&Recorded> = groups.iter().flat_map(|&at| &BATCH[at]).collect();
    let columns: Vec<[Vec<f64>; 3]> =
        rollouts.iter().map(|rollout| [0, 1, 2].map(|at| column(rollout, at))).collect();
    let masks: Vec<Vec<bool>> = rollouts
        .iter()
        .zip(&counts)
        .map(|(rollout, &counts)| vec![counts; rollout.tokens.len()])
        .collect();
    let batch: Vec<Sequence<'_>> = (0..rollouts.len())
        .map(|at| Sequence {
            trained: &masks[at],
            logp: &columns[at][0],
            old_logp: &columns[at][1],
            sampler_logp: None,
            reference_logp: Some(&columns[at][2]),
            entropy: None,
            advantage: Advantages::Whole(advantages[at]),
            episode_tokens: None,
        })
        .collect();
    let totals = Totals::count(masks.iter().map(Vec::as_slice));
    let found = Grpo::new(&config).unwrap().loss(&batch, totals).unwrap();
    Said { advantages, loss: found.objective.loss, dlogp: found.objective.signals.dlogp }
}

/// The papers' formulas, with numbers written out.
mod paper {
    use super::{BATCH, LENGTH, Recorded, Said};

    type Group = &'static [Recorded; 4];

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    /// The groups of a mini-batch.
    fn of(groups: &[usize]) -> Vec<Group> {
        groups.iter().map(|&at| &BATCH[at]).collect()
    }

    fn rollouts(groups: &[Group]) -> f64 {
        4.0 * groups.len() as f64
    }

    fn tokens(groups: &[Group]) -> f64 {
        groups.iter().copied().flatten().map(|rollout| rollout.tokens.len() as f64).sum()
    }

    /// Some rollouts of the group differ in their tests.
    fn mixed(group: Group) -> bool {
        group.iter().any(|rollout| (rollout.tests - group[0].tests).abs() > 0.0)
    }

    /// One advantage for each rollout, by a function of its group's rewards.
    fn advantages(groups: &[Group], of: impl Fn(&[f64], usize) -> f64) -> Vec<f64> {
        let mut all = Vec::new();
        for group in groups {
            let rewards: Vec<f64> = group.iter().map(|rollout| rollout.reward).collect();
            all.extend((0..4).map(|at| if mixed(group) { of(&rewards, at) } else { 0.0 }));
        }
        all
    }

    /// (r - mean) / std, of the population.
    fn standard_score(rewards: &[f64], at: usize) -> f64 {
        let centre = mean(rewards);
        let squares: Vec<f64> = rewards.iter().map(|reward| (reward - centre).powi(2)).collect();
        (rewards[at] - centre) / mean(&squares).sqrt()
    }

    /// Adds up a loss and its derivative for every token: `term(rollout, token, advantage)` gives both,
    /// weight included.
    fn sum(
        groups: &[Group],
        advantages: Vec<f64>,
        term: impl Fn(&Recorded, usize, f64) -> [f64; 2],
    ) -> Said {
        let (mut loss, mut dlogp) = (0.0, Vec::new());
        for (rollout, &advantage) in groups.iter().copied().flatten().zip(&advantages) {
            for token in 0..rollout.tokens.len() {
                let [value, slope] = term(rollout, token, advantage);
                loss += value;
                dlogp.push(slope);
            }
        }
        Said { advantages, loss, dlogp }
    }

    /// PPO's clipped surrogate and its derivative by logp.
    fn clipped(ratio: f64, advantage: f64, low: f64, high: f64) -> [f64; 2] {
        let free = ratio * advantage;
        let held = ratio.clamp(1.0 - low, 1.0 + high) * advantage;
        if held < free { [-held, 0.0] } else { [-free, -free] }
    }

    fn ratio(token: [f64; 3]) -> f64 {
        (token[0] - token[1]).exp()
    }

    /// 2402.03300, eq. 3 and 4: a mean over rollouts of means over tokens, less 0.04 times k3.
    pub(super) fn grpo(groups: &[usize]) -> Said {
        let groups = of(groups);
        sum(&groups, advantages(&groups, standard_score), |rollout, at, advantage| {
            let token = rollout.tokens[at];
            let weight = 1.0 / rollouts(&groups) / rollout.tokens.len() as f64;
            let [loss, slope] = clipped(ratio(token), advantage, 0.2, 0.2);
            let other = (token[2] - token[0]).exp();
            let k3 = other - (token[2] - token[0]) - 1.0;
            [weight * (loss + 0.04 * k3), weight * (slope + 0.04 * (1.0 - other))]
        })
    }

    /// 2503.20783: no standard deviation, no length, no KL.
    pub(super) fn dr_grpo(groups: &[usize]) -> Said {
        let groups = of(groups);
        let centred = advantages(&groups, |rewards, at| rewards[at] - mean(rewards));
        sum(&groups, centred, |rollout, at, advantage| {
            let [loss, slope] = clipped(ratio(rollout.tokens[at]), advantage, 0.2, 0.2);
            [loss, slope].map(|value| value / rollouts(&groups) / f64::from(LENGTH))
        })
    }

    /// 2503.14476, eq. 8: the expectation is over groups with `0 < correct < G`, and over nothing else:
    ///
    /// ```text
    /// J = E [ 1 / Σ_i |o_i| · Σ_i Σ_t min(r_it A_i, clip(r_it, 1 - 0.2, 1 + 0.28) A_i) ]
    /// A_i = (R_i - mean R) / std R          eq. 9
    /// ```
    ///
    /// Of the others there is no term, and their tokens are in no sum: what they are told to have is 0.
    pub(super) fn dapo(groups: &[usize]) -> Said {
        let correct = |group: Group| group.iter().filter(|rollout| rollout.tests >= 1.0).count();
        let is_sampled = |group: &Group| 0 < correct(group) && correct(group) < 4;
        let batch: Vec<Group> = of(groups).into_iter().filter(is_sampled).collect();
        let all_tokens: f64 = tokens(&batch);
        let (mut loss, mut dlogp, mut advantages) = (0.0, Vec::new(), Vec::new());
        for group in of(groups) {
            let rewards = group.each_ref().map(|rollout| rollout.reward);
            for (i, rollout) in group.iter().enumerate() {
                let a = if is_sampled(&group) { standard_score(&rewards, i) } else { 0.0 };
                advantages.push(a);
                for token in rollout.tokens {
                    let r = (token[0] - token[1]).exp();
                    let (free, held) = (r * a, r.clamp(0.8, 1.28) * a);
                    if is_sampled(&group) {
                        loss -= free.min(held) / all_tokens;
                        // Where the bound is smaller, it is a constant.
                        dlogp.push(if held < free { 0.0 } else { -free / all_tokens });
                    } else {
                        dlogp.push(0.0);
                    }
                }
            }
        }
        Said { advantages, loss, dlogp }
    }

    /// 2402.14740, eq. 8: rewards less 0.03 times the log-ratio to the reference, each against the mean of
    /// the other three. In a group that nobody solved the charges alone are compared.
    pub(super) fn rloo(groups: &[usize]) -> Said {
        let groups = of(groups);
        let mut all = Vec::new();
        for group in &groups {
            let worth = |rollout: &Recorded| {
                let moved: f64 = rollout.tokens.iter().map(|token| token[1] - token[2]).sum();
                let reward = if mixed(group) { rollout.reward } else { 0.0 };
                reward - 0.03 * moved
            };
            for at in 0..4 {
                let others: f64 =
                    (0..4).filter(|&other| other != at).map(|other| worth(&group[other])).sum();
                all.push(worth(&group[at]) - others / 3.0);
            }
        }
        sum(&groups, all, |rollout, at, advantage| {
            let [loss, slope] = clipped(ratio(rollout.tokens[at]), advantage, 0.2, 0.2);
            [loss, slope].map(|value| value / rollouts(&groups) / f64::from(LENGTH))
        })
    }

    /// 2507.18071, eq. 5 to 7: one ratio for a rollout, the geometric mean of its tokens', within
    /// 1 - 3e-4 and 1 + 4e-4. Its derivative by one of n tokens is s / n.
    pub(super) fn gspo(groups: &[usize]) -> Said {
        let groups = of(groups);
        sum(&groups, advantages(&groups, standard_score), |rollout, _, advantage| {
            let n = rollout.tokens.len() as f64;
            let moved: f64 = rollout.tokens.iter().map(|token| token[0] - token[1]).sum();
            let [loss, slope] = clipped((moved / n).exp(), advantage, 3e-4, 4e-4);
            // The rollout's loss is spread over its tokens to be added up once.
            [loss, slope].map(|value| value / n / rollouts(&groups))
        })
    }

    /// 2506.13585, eq. 4 and 5: logp weighted by a ratio of at most 5, a mean over tokens.
    pub(super) fn cispo(groups: &[usize]) -> Said {
        let groups = of(groups);
        sum(&groups, advantages(&groups, standard_score), |rollout, at, advantage| {
            let token = rollout.tokens[at];
            let weight = ratio(token).min(5.0) * advantage / tokens(&groups);
            [-weight * token[0], -weight]
        })
    }
}

#[track_caller]
fn check(algorithm: Algorithm, paper: fn(&[usize]) -> Said) {
    let near = |found: f64, expected: f64| (found - expected).abs() <= 1e-12;
    let all = |found: &[f64], expected: &[f64]| {
        found.len() == expected.len() && found.iter().zip(expected).all(|(&a, &b)| near(a, b))
    };
    for groups in MINI_BATCHES {
        let (found, expected) = (said(algorithm, groups), paper(groups));
        let name = format!("{} of {groups:?}", algorithm.name());
        assert!(all(&found.advantages, &expected.advantages), "{name}: advantages");
        assert!(near(found.loss, expected.loss), "{name}: {} is not {}", found.loss, expected.loss);
        assert!(all(&found.dlogp, &expected.dlogp), "{name}: signals");
        let teaches = found.dlogp.iter().any(|&signal| signal != 0.0);
        assert!(teaches || groups == [1], "{name} teaches something");
    }
}

#[test]
fn grpo_is_that_of_its_paper() {
    check(Algorithm::Grpo, paper::grpo);
}

#[test]
fn dr_grpo_is_that_of_its_paper() {
    check(Algorithm::DrGrpo, paper::dr_grpo);
}

#[test]
fn dapo_is_that_of_its_paper() {
    check(Algorithm::Dapo, paper::dapo);
}

#[test]
fn rloo_is_that_of_its_paper() {
    check(Algorithm::Rloo, paper::rloo);
}

#[test]
fn gspo_is_that_of_its_paper() {
    check(Algorithm::Gspo, paper::gspo);
}

#[test]
fn cispo_is_that_of_its_paper() {
    check(Algorithm::Cispo, paper::cispo);
}

#[test]
fn the_batch_tells_the_six_apart() {
    let all: Vec<Said> = Algorithm::named().map(|one| said(one, MINI_BATCHES[0])).collect();
    for (at, one) in all.iter().enumerate() {
        for other in &all[..at] {
            let differs = |(a, b): (&f64, &f64)| (a - b).abs() > 1e-6;
            assert!(one.dlogp.iter().zip(&other.dlogp).any(differs), "{at}");
        }
    }
}
