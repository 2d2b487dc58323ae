//! The gradient of the whole loss, policy + value - entropy, through the whole decoder, against central
//! differences of that loss.

use whetstone_algo::ppo::Ppo as Loss;
use whetstone_algo::value::Valued;
use whetstone_algo::{Advantages, Objective, Sequence, Totals};
use whetstone_core::config::PpoConfig;
use whetstone_model::decoder::{Decoder, Forward, Gradients, Keep, ParameterId, Scored, Signal};

use crate::example::Example;
use crate::pass::{TokenScores, narrow};
use crate::testing::{settings, student};

const TEMPERATURE: f32 = 0.8;

/// Two completions with all that the loss takes. Old log-probabilities are chosen so that ratios are
/// inside the clip range, above and below it, and none is near its bounds.
struct Data {
    examples: Vec<Example>,
    old_logp: Vec<Vec<f64>>,
    old_values: Vec<Vec<f64>>,
    advantages: Vec<Vec<f64>>,
    returns: Vec<Vec<f64>>,
}

fn data(decoder: &Decoder) -> Data {
    let examples = vec![
        Example::new(&[3, 70, 71], &[72, 9, 40, 66, 5]),
        Example::new(&[8, 12], &[33, 70, 2, 90, 14, 61]),
    ];
    let unknown = Data {
        old_logp: Vec::new(),
        old_values: Vec::new(),
        advantages: Vec::new(),
        returns: Vec::new(),
        examples,
    };
    let (mut old_logp, mut old_values) = (Vec::new(), Vec::new());
    for TokenScores { logp, value, .. } in unknown.scores(decoder) {
        let value = value.unwrap();
        // exp(-0.05) is inside 1 ± 0.2; exp(0.4) and exp(-0.5) are outside of it.
        let shifts = [0.05, -0.4, 0.5].into_iter().cycle();
        old_logp.push(logp.iter().zip(shifts).map(|(logp, shift)| logp + shift).collect());
        let shifts = [0.3, -0.05, -0.4].into_iter().cycle();
        old_values.push(value.iter().zip(shifts).map(|(value, shift)| value + shift).collect());
    }
    let like = |from: &[Vec<f64>], list: &[f64]| -> Vec<Vec<f64>> {
        let mut cycle = list.iter().copied().cycle();
        from.iter().map(|one| cycle.by_ref().take(one.len()).collect()).collect()
    };
    Data {
        advantages: like(&old_logp, &[0.7, -1.3, 0.4, -0.2, 2.1]),
        returns: like(&old_logp, &[1.0, 0.2, -0.6, 0.9]),
        old_logp,
        old_values,
        ..unknown
    }
}

impl Data {
    fn batch(&self, decoder: &Decoder) -> whetstone_model::decoder::Batch {
        let sequences: Vec<_> = self.examples.iter().map(Example::sequence).collect();
        decoder.batch(&sequences).unwrap()
    }

    /// Log-probabilities, entropies and values of each completion.
    fn scores(&self, decoder: &Decoder) -> Vec<TokenScores> {
        let forward = Forward { temperature: TEMPERATURE, entropies: true, ..Forward::default() };
        let (scored, _) = decoder.forward(&self.batch(decoder), forward);
        self.split(&scored)
    }

    fn split(&self, scored: &Scored) -> Vec<TokenScores> {
        let mut from = 0;
        let lists = self.examples.iter().map(|example| {
            let range = from..from + example.scored();
            from = range.end;
            let of = |list: &[f32]| list[range.clone()].iter().copied().map(f64::from).collect();
            let value = scored.value.as_deref().map(of);
            TokenScores { logp: of(&scored.logp), entropy: of(&scored.entropy), value }
        });
        lists.collect()
    }

    /// The loss of each completion; their sum is that of the mini-batch.
    fn losses(&self, loss: Loss, scores: &[TokenScores]) -> Vec<Objective> {
        let masks: Vec<Vec<bool>> = self.examples.iter().map(Example::mask).collect();
        let totals = Totals::count(masks.iter().map(Vec::as_slice));
        let one = |at: usize| {
            let TokenScores { logp, entropy, value } = &scores[at];
            let sequence = Sequence {
                trained: &masks[at],
                logp,
                old_logp: &self.old_logp[at],
                sampler_logp: None,
                reference_logp: None,
                entropy: Some(entropy),
                advantage: Advantages::Tokens(&self.advantages[at]),
                episode_tokens: None,
            };
            let valued = Valued {
                trained: &masks[at],
                value: value.as_deref().unwrap(),
                old_value: &self.old_values[at],
                returns: &self.returns[at],
            };
            let policy = loss.policy(&[sequence], totals).unwrap().objective;
            policy.plus(&loss.critic(&[valued], totals).unwrap().objective).unwrap()
        };
        (0..scores.len()).map(one).collect()
    }

    fn loss(&self, loss: Loss, decoder: &Decoder) -> f64 {
        self.losses(loss, &self.scores(decoder)).iter().map(|one| one.loss).sum()
    }

    fn gradient(&self, loss: Loss, decoder: &Decoder) -> Gradients {
        let batch = self.batch(decoder);
        let keep = Some(Keep::Most);
        let forward =
            Forward { temperature: TEMPERATURE, entropies: true, keep, ..Forward::default() };
        let (scored, tape) = decoder.forward(&batch, forward);
        let scores = self.split(&scored);
        let found = self.losses(loss, &scores);
        let all = |of: fn(&Objective) -> &[f64]| -> Vec<f32> {
            found.iter().flat_map(of).copied().map(narrow).collect()
        };
        let dlogp = all(|one| &one.signals.dlogp);
        let dentropy = all(|one| one.signals.dentropy.as_deref().unwrap());
        let dvalue = all(|one| one.signals.dvalue.as_deref().unwrap());
        let mut gradients = Gradients::new(decoder.device(), decoder.parameters());
        let signal = Signal { dlogp: &dlogp, dentropy: Some(&dentropy), dvalue: Some(&dvalue) };
        decoder.backward(&batch, tape.unwrap(), signal, &mut gradients);
        gradients
    }
}

fn read(decoder: &Decoder, id: ParameterId) -> Vec<f32> {
    decoder.device().read(decoder.parameters().values(id))
}

fn set(decoder: &mut Decoder, id: ParameterId, values: &[f32]) {
    let device = decoder.device().clone();
    let from = device.upload(values);
    device.copy(&mut decoder.parameters_mut().values_mut(id), from.view());
}

/// Numbers without a pattern that a mistake could share.
fn wave(count: usize, phase: f32, scale: f32) -> Vec<f32> {
    (0u16..).take(count).map(|at| (f32::from(at) * 1.7 + phase).sin() * scale).collect()
}

/// Compares the derivative of the loss along a direction in each trained tensor with its central
/// difference.
fn check(config: &PpoConfig) {
    let (_dir, mut student) = student(&settings());
    let decoder = &mut student.decoder;
    decoder.add_value_head();
    let trained: Vec<ParameterId> = decoder.parameters().trained().collect();
    for (at, &id) in (0u8..).zip(&trained) {
        // A new adapter adds nothing and a new head says 0, which hides what is wrong behind them.
        let count = decoder.parameters().get(id).numbers();
        set(decoder, id, &wave(count, f32::from(at), 0.3));
    }
    let loss = Loss::new(config).unwrap();
    let data = data(decoder);
    let gradients = data.gradient(loss, decoder);
    for &id in &trained {
        let before = read(decoder, id);
        let direction = wave(before.len(), 0.4, 1.0);
        let of_gradient = decoder.device().read(gradients.get(id).unwrap());
        let pairs = of_gradient.iter().zip(&direction);
        let ours: f64 = pairs.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
        let step = 2e-3_f32;
        let mut at = |sign: f32| {
            let moved = before.iter().zip(&direction).map(|(a, b)| a + sign * step * b);
            set(decoder, id, &moved.collect::<Vec<_>>());
            data.loss(loss, decoder)
        };
        let theirs = (at(1.0) - at(-1.0)) / (2.0 * f64::from(step));
        set(decoder, id, &before);
        let name = &decoder.parameters().get(id).name;
        let difference = (ours - theirs).abs() / theirs.abs().max(0.02);
        assert!(difference < 1e-2, "{name}: {ours:.6}, by differences {theirs:.6}");
    }
    assert!(trained.len() > 10, "adapter and head: {}", trained.len());
}

#[test]
fn the_whole_loss_has_the_gradient_of_central_differences_through_the_decoder() {
    let plain = PpoConfig { entropy_coef: 0.3, ..PpoConfig::default() };
    let clipped = PpoConfig { value_clip_range: 0.1, ..plain.clone() };
    for config in [plain, clipped] {
        check(&config);
    }
}
