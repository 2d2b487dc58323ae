//! Who is chosen: greedily, alone and among others, and from logits that are not finite.

use whetstone_kernels::head::{self, Input, Output};
use whetstone_kernels::linear::{Forward, Weight, forward};
use whetstone_kernels::sample::{Request, Rule, Sampled, sample};
use whetstone_kernels::{Device, Matrix, MatrixMut, WriteMode};

use crate::support::{Layout, close, numbers, same_bits};

pub(crate) const GREEDY: Rule = Rule {
    temperature: 0.0,
    top_k: 0,
    top_p: 1.0,
    min_p: 0.0,
    presence_penalty: 0.0,
    repetition_penalty: 1.0,
};

pub(crate) fn request(rule: Rule, position: u64) -> Request<'static> {
    Request { rule, seed: 11, sequence: 5, position, prompt: &[], sampled: &[] }
}

/// Tokens and log-probabilities, for rows with gaps between them.
pub(crate) fn draw(
    device: &Device,
    logits: &[f32],
    requests: &[Request<'_>],
) -> (Vec<u32>, Vec<f32>) {
    let rows = requests.len();
    let layout = Layout { rows, cols: logits.len() / rows, stride: logits.len() / rows + 2 };
    let mut logits = device.upload(&layout.apart(logits));
    let (mut tokens, mut logps) = (device.take(rows), device.take(rows));
    let to = MatrixMut::strided(logits.view_mut(), rows, layout.cols, layout.stride);
    let chosen = Sampled { tokens: tokens.view_mut(), logps: logps.view_mut() };
    sample(device, chosen, to, requests);
    layout.together(&device.read(logits.view()));
    (device.read(tokens.view()), device.read(logps.view()))
}

fn one(logits: &[f32], request: Request<'_>) -> (u32, f32) {
    let (tokens, logps) = draw(&Device::cpu(1).unwrap(), logits, &[request]);
    (tokens[0], logps[0])
}

#[test]
fn temperature_zero_takes_the_first_of_the_most_probable() {
    let (token, logp) = one(&[0.0, 3.0, 3.0, 1.0], request(GREEDY, 0));
    assert_eq!(token, 1);
    // ln(e³ / (1 + 2e³ + e)), at temperature 1.
    close(&[logp], &[3.0 - (1.0 + 2.0 * 3f64.exp() + 1f64.exp()).ln()], 1e-6);
}

#[test]
fn of_equals_the_lower_token_is_kept() {
    for rule in [Rule { top_k: 1, ..Rule::default() }, Rule { top_p: 0.1, ..Rule::default() }] {
        for position in 0..50 {
            assert_eq!(one(&[1.0, 2.0, 2.0, 2.0], request(rule, position)).0, 1);
        }
    }
}

#[test]
fn penalties_change_who_is_most_probable_but_not_the_log_probability() {
    let logits = [2.0, 1.5, -0.5, -0.6];
    let lse = logits.map(f64::from).map(f64::exp).iter().sum::<f64>().ln();
    let presence = Rule { presence_penalty: 0.6, ..GREEDY };
    let repetition = Rule { repetition_penalty: 1.5, ..GREEDY };
    let both = Rule { presence_penalty: 2.0, ..repetition };
    // Rule, prompt, sampled, and who is then the most probable.
    let table: [(Rule, &[u32], &[u32], u32); 8] = [
        (presence, &[], &[0], 1),
        (presence, &[0], &[], 0),
        (presence, &[], &[0, 0, 1], 0),
        (repetition, &[0], &[], 1),
        (repetition, &[], &[0], 1),
        (repetition, &[0, 9, 4], &[1], 0),
        (both, &[0, 1], &[0, 1], 2),
        (both, &[], &[0, 1, 2], 3),
    ];
    for (rule, prompt, sampled, token) in table {
        let (chosen, logp) = one(&logits, Request { prompt, sampled, ..request(rule, 0) });
        assert_eq!(chosen, token, "{rule:?} {prompt:?} {sampled:?}");
        close(&[logp], &[f64::from(logits[token as usize]) - lse], 1e-6);
    }
}

#[test]
fn the_log_probability_is_the_heads_at_that_temperature() {
    let cut = Rule { temperature: 0.7, top_k: 100, top_p: 0.95, min_p: 0.001, ..Rule::default() };
    let punished = Rule { presence_penalty: 1.0, repetition_penalty: 1.2, ..Rule::default() };
    for rule in [
        Rule::default(),
        Rule { temperature: 0.7, ..Rule::default() },
        GREEDY,
        cut,
        Rule { top_k: 0, ..cut },
        Rule { temperature: 1.3, ..punished },
        Rule { top_k: 50, ..punished },
    ] {
        check_against_head(rule);
    }
}

fn check_against_head(rule: Rule) {
    let (rows, vocabulary, width) = (40, 300, 8);
    let prompt: Vec<u32> = (0..150).collect();
    let sampled: Vec<u32> = (100..300).collect();
    let requests: Vec<_> = (0..rows as u64)
        .map(|position| Request { prompt: &prompt, sampled: &sampled, ..request(rule, position) })
        .collect();
    let device = Device::cpu(2).unwrap();
    let hidden = device.upload(&numbers(1, rows * width));
    let weight = device.upload(&numbers(2, vocabulary * width));
    let hidden = Matrix::new(hidden.view(), rows, width);
    let weight = Weight::new(weight.view(), vocabulary, width);
    let mut logits = device.take::<f32>(rows * vocabulary);
    let to = MatrixMut::new(logits.view_mut(), rows, vocabulary);
    let product = Forward { scale: 1.0, x: hidden, weight };
    forward(&device, to, WriteMode::Overwrite, product);
    let (tokens, logps) = draw(&device, &device.read(logits.view()), &requests);
    let targets = device.upload(&tokens);
    let mut known = [0; 3].map(|_| device.take(rows));
    let [logp, entropy, lse] = &mut known;
    let output = Output {
        logp: logp.view_mut(),
        entropy: entropy.view_mut(),
        lse: lse.view_mut(),
        slope: None,
    };
    let inverse_temperature = if rule.temperature > 0.0 { 1.0 / rule.temperature } else { 1.0 };
    let input = Input { hidden, weight, targets: targets.view(), inverse_temperature };
    head::forward(&device, output, input);
    for (sampled, trained) in logps.iter().zip(device.read(known[0].view())) {
        assert!((sampled - trained).abs() < 1e-5, "{rule:?}: {sampled} {trained}");
    }
}

#[test]
fn a_request_gets_the_same_token_alone_and_among_others() {
    let (rows, vocabulary) = (64, 500);
    let logits: Vec<f32> = numbers(3, rows * vocabulary).iter().map(|l| 4.0 * l).collect();
    let rules = [
        Rule::default(),
        Rule { top_k: 40, top_p: 0.9, ..Rule::default() },
        Rule { min_p: 0.05, temperature: 1.3, repetition_penalty: 1.1, ..Rule::default() },
        GREEDY,
    ];
    let sampled = [3, 4, 5];
    let requests: Vec<_> = (0..rows)
        .map(|row| Request {
            sequence: row as u64,
            sampled: &sampled,
            ..request(rules[row % 4], 9)
        })
        .collect();
    let all = same_bits(|device| {
        let (tokens, logps) = draw(device, &logits, &requests);
        vec![tokens.into_iter().map(f32::from_bits).collect(), logps]
    });
    for (row, request) in requests.iter().enumerate() {
        let (token, logp) = one(&logits[row * vocabulary..][..vocabulary], *request);
        assert_eq!((token, logp.to_bits()), (all[0][row].to_bits(), all[1][row].to_bits()));
    }
    let different: std::collections::BTreeSet<u32> = all[0].iter().map(|t| t.to_bits()).collect();
    assert!(different.len() > 20, "{different:?}");
}

fn every_rule() -> [Rule; 5] {
    let plain = Rule::default();
    [
        plain,
        GREEDY,
        Rule { top_k: 3, ..plain },
        Rule { top_p: 0.8, ..plain },
        Rule { min_p: 0.1, presence_penalty: 1.0, repetition_penalty: 2.0, ..plain },
    ]
}

#[test]
fn what_cannot_come_never_comes() {
    let mut logits = vec![f32::NEG_INFINITY; 600];
    logits[300] = -3.0;
    logits[599] = -3.5;
    for rule in every_rule() {
        for position in 0..200 {
            let (token, logp) = one(&logits, request(rule, position));
            assert!(token == 300 || token == 599, "{rule:?} chose {token}");
            assert!(logp.is_finite());
        }
    }
}

#[test]
fn a_row_with_no_number_gives_some_token_with_no_probability() {
    let one_bad = [0.0, f32::NAN, 1.0, 2.0, 0.5];
    let infinite = [0.0, f32::INFINITY, 1.0, 2.0, f32::INFINITY];
    for row in [one_bad, [f32::NAN; 5], [-f32::NAN; 5], [f32::NEG_INFINITY; 5], infinite] {
        let good = [0.3, 0.2, 0.1, 1.0, 2.0];
        for rule in every_rule() {
            for position in 0..20 {
                let requests = [0, 1].map(|_| request(rule, position));
                let both = [row, good].concat();
                let (tokens, logps) = draw(&Device::cpu(2).unwrap(), &both, &requests);
                assert!(
                    tokens[0] < 5 && logps[0].is_nan(),
                    "{row:?} {rule:?} {tokens:?} {logps:?}"
                );
                assert_eq!((tokens[1], logps[1]), one(&good, request(rule, position)));
            }
        }
    }
}
