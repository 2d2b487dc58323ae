//! Who is chosen, beside an obvious sampler in f64, and log-probabilities beside training's head.

#![expect(clippy::cast_possible_truncation, reason = "small sizes become u32, and numbers f32")]

use whetstone_kernels::head::{self, Input, Output};
use whetstone_kernels::linear::{Forward, Weight, forward};
use whetstone_kernels::philox::uniform;
use whetstone_kernels::sample::{Request, Rule, Sampled, sample};
use whetstone_kernels::{Activation, Device, Matrix, MatrixMut, WriteMode};

use crate::support::{POISON, device, numbers, same_bits};

fn request(rule: Rule, position: u64) -> Request<'static> {
    Request { rule, seed: 11, sequence: 5, position, prompt: &[], sampled: &[] }
}

/// Tokens and log-probabilities, for rows with gaps between them.
fn draw(
    device: &Device,
    logits: &[f32],
    gap: usize,
    requests: &[Request<'_>],
) -> (Vec<u32>, Vec<f32>) {
    let (rows, cols) = (requests.len(), logits.len() / requests.len());
    let apart: Vec<f32> =
        logits.chunks(cols).flat_map(|row| [row, &vec![POISON; gap]].concat()).collect();
    let mut logits = device.upload::<f32>(&apart);
    let mut tokens = device.upload::<u32>(&vec![u32::MAX; rows]);
    let mut logps = device.upload::<f32>(&vec![POISON; rows]);
    let to = MatrixMut::strided(logits.view_mut(), rows, cols, cols + gap);
    let chosen = Sampled { tokens: tokens.view_mut(), logps: logps.view_mut() };
    sample(device, chosen, to, requests);
    let left = device.read(logits.view());
    assert!(left.chunks(cols + gap).all(|row| row[cols..].iter().all(|&x| x == POISON)), "gaps");
    device.check().unwrap();
    (device.read(tokens.view()), device.read(logps.view()))
}

/// The token, how near the number was to another, and the log-probability.
struct Expected {
    token: u32,
    distance: f64,
    logp: Box<dyn Fn(u32) -> f64>,
}

/// By the formulas, one after another.
fn expected(logits: &[f32], request: &Request<'_>) -> Expected {
    let rule = request.rule;
    let tau = if rule.temperature > 0.0 { 1.0 / f64::from(rule.temperature) } else { 1.0 };
    let plain: Vec<f64> = logits.iter().map(|l| f64::from(*l) * tau).collect();
    let top = plain.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let lse = top + plain.iter().map(|l| (l - top).exp()).sum::<f64>().ln();
    let mut now = plain.clone();
    for (id, logit) in now.iter_mut().enumerate() {
        let sampled = request.sampled.contains(&(id as u32));
        if sampled || request.prompt.contains(&(id as u32)) {
            let factor = f64::from(rule.repetition_penalty);
            *logit = if *logit > 0.0 { *logit / factor } else { *logit * factor };
            *logit -= if sampled { f64::from(rule.presence_penalty) * tau } else { 0.0 };
        }
    }
    let mut order: Vec<usize> = (0..now.len()).collect();
    order.sort_by(|a, b| now[*b].total_cmp(&now[*a]).then(a.cmp(b)));
    let logp = Box::new(move |token: u32| plain[token as usize] - lse);
    if rule.temperature <= 0.0 {
        return Expected { token: order[0] as u32, distance: 1.0, logp };
    }
    let top = now[order[0]];
    let weight = |id: usize| (now[id] - top).exp();
    let cut = (rule.top_k > 0 && rule.top_k < now.len()) || rule.top_p < 1.0 || rule.min_p > 0.0;
    let mut distance = 1.0f64;
    if cut {
        if rule.top_k > 0 {
            order.truncate(rule.top_k);
        }
        let held: f64 = order.iter().map(|&id| weight(id)).sum();
        let (mut sum, mut kept) = (0.0, order.len());
        for (at, &id) in order.iter().enumerate() {
            sum += weight(id);
            distance = distance.min((sum / held - f64::from(rule.top_p)).abs());
            if sum >= f64::from(rule.top_p) * held {
                kept = at + 1;
                break;
            }
        }
        order.truncate(kept);
        let probable = order.iter().take_while(|&&id| weight(id) >= f64::from(rule.min_p)).count();
        order.truncate(probable.max(1));
    } else {
        order.sort_unstable();
    }
    let total: f64 = order.iter().map(|&id| weight(id)).sum();
    let number = uniform(request.seed, request.sequence, request.position);
    let mut sum = 0.0;
    for &id in &order {
        distance = distance.min((number - sum / total).abs());
        sum += weight(id);
        distance = distance.min((number - sum / total).abs());
        if sum > number * total {
            return Expected { token: id as u32, distance, logp };
        }
    }
    Expected { token: order[order.len() - 1] as u32, distance: 0.0, logp }
}

fn rules() -> Vec<Rule> {
    let plain = Rule::default();
    let punished = Rule { presence_penalty: 0.7, repetition_penalty: 1.3, ..plain };
    vec![
        plain,
        Rule { temperature: 0.7, ..plain },
        Rule { temperature: 2.0, ..plain },
        Rule { temperature: 0.0, ..plain },
        Rule { top_k: 1, ..plain },
        Rule { top_k: 3, ..plain },
        Rule { top_k: 90, ..plain },
        Rule { top_k: 650, ..plain },
        Rule { top_k: 1 << 20, ..plain },
        Rule { top_p: 0.0, ..plain },
        Rule { top_p: 0.5, ..plain },
        Rule { top_p: 0.95, temperature: 1.3, ..plain },
        Rule { min_p: 0.05, ..plain },
        Rule { min_p: 3.0, ..plain },
        Rule { top_k: 40, top_p: 0.9, min_p: 0.02, temperature: 0.8, ..plain },
        Rule { top_p: 0.99, min_p: 0.2, ..plain },
        punished,
        Rule { temperature: 0.6, ..punished },
        Rule { temperature: 0.0, ..punished },
        Rule { top_k: 20, top_p: 0.8, ..punished },
        Rule { repetition_penalty: 1.0, ..punished },
    ]
}

#[test]
fn tokens_and_log_probabilities_are_those_of_the_formulas() {
    let Some(device) = device() else { return };
    let (prompt, sampled) = ([0, 5, 5, 3, 1 << 20], [2, 5, 2, 1, 7]);
    let mut wrong = Vec::new();
    for (vocabulary, spread, positions) in [(4, 1.0, 40), (257, 3.0, 40), (1305, 4.0, 30)] {
        for rule in rules() {
            let logits: Vec<f32> =
                numbers(7, positions * vocabulary).iter().map(|l| spread * l).collect();
            let requests: Vec<_> = (0..positions as u64)
                .map(|at| Request { prompt: &prompt, sampled: &sampled, ..request(rule, at) })
                .collect();
            let (tokens, logps) = draw(device, &logits, vocabulary % 3, &requests);
            for (at, request) in requests.iter().enumerate() {
                let own = &logits[at * vocabulary..][..vocabulary];
                let expected = expected(own, request);
                let same = tokens[at] == expected.token || expected.distance < 1e-6;
                let near =
                    (expected.logp)(tokens[at].min(vocabulary as u32 - 1)) - f64::from(logps[at]);
                if !same || near.is_nan() || near.abs() > 1e-5 {
                    let (token, other) = (expected.token, tokens[at]);
                    wrong.push(format!(
                        "{vocabulary} {rule:?} {at}: {token} not {other}, logp off by {near}"
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
}

/// A vocabulary as large as a model's; with the flat rows more tokens pass the cuts than are listed.
#[test]
fn large_vocabularies_and_many_candidates_are_no_different() {
    let Some(device) = device() else { return };
    let (vocabulary, rows) = (151_936, 6);
    let plain = Rule::default();
    let mut wrong = Vec::new();
    for spread in [0.25, 9.0] {
        let logits: Vec<f32> = numbers(3, rows * vocabulary).iter().map(|l| spread * l).collect();
        for rule in [
            plain,
            Rule { temperature: 0.7, ..plain },
            Rule { top_k: 50, ..plain },
            Rule { top_k: 3000, top_p: 0.9, ..plain },
            Rule { top_p: 0.9, ..plain },
            Rule { min_p: 0.5, ..plain },
            Rule { temperature: 0.0, ..plain },
        ] {
            let requests: Vec<_> = (0..rows as u64).map(|at| request(rule, at)).collect();
            let (tokens, _) = draw(device, &logits, 0, &requests);
            for (at, request) in requests.iter().enumerate() {
                let expected = expected(&logits[at * vocabulary..][..vocabulary], request);
                // Each token has a hundred-thousandth of the whole.
                if tokens[at] != expected.token && expected.distance > 3e-7 {
                    let (token, off) = (expected.token, expected.distance);
                    wrong.push(format!(
                        "{spread} {rule:?} {at}: {token} not {} ({off})",
                        tokens[at]
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn of_equals_the_lower_tokens_are_kept() {
    let Some(device) = device() else { return };
    for vocabulary in [600usize, 20_000] {
        let half = vocabulary / 2;
        let logits = vec![0.5; 8 * vocabulary];
        for (rule, most) in [
            (Rule { top_k: 1, ..Rule::default() }, 1),
            (Rule { top_k: 50, ..Rule::default() }, 50),
            (Rule { top_p: 0.5, ..Rule::default() }, half + 1),
            (Rule { min_p: 2.0, ..Rule::default() }, 1),
            (Rule { temperature: 0.0, ..Rule::default() }, 1),
        ] {
            let requests: Vec<_> = (0..8).map(|at| request(rule, at)).collect();
            let (tokens, _) = draw(device, &logits, 0, &requests);
            assert!(tokens.iter().all(|&token| (token as usize) < most), "{rule:?}: {tokens:?}");
            let number = |at: u64| uniform(11, 5, at) * most as f64;
            for (at, token) in tokens.iter().enumerate() {
                let off = (f64::from(*token) - number(at as u64)).abs();
                assert!(
                    most == 1 || off <= 2.0,
                    "{rule:?}: {token} instead of {}",
                    number(at as u64)
                );
            }
        }
    }
}

#[test]
fn every_token_comes_as_often_as_it_is_probable() {
    let Some(device) = device() else { return };
    let (draws, probabilities) = (200_000usize, [0.5f64, 0.25, 0.15, 0.1]);
    let row = probabilities.map(|p| p.ln() as f32);
    for (rule, weights) in [
        (Rule::default(), probabilities),
        (Rule { temperature: 2.0, ..Rule::default() }, probabilities.map(f64::sqrt)),
        (Rule { top_k: 3, ..Rule::default() }, [0.5, 0.25, 0.15, 0.0]),
        (Rule { top_p: 0.51, ..Rule::default() }, [0.5, 0.25, 0.0, 0.0]),
        (Rule { min_p: 0.21, ..Rule::default() }, [0.5, 0.25, 0.15, 0.0]),
    ] {
        let requests: Vec<_> = (0..draws as u64).map(|at| request(rule, at)).collect();
        let (tokens, _) = draw(device, &row.repeat(draws), 0, &requests);
        let total: f64 = weights.iter().sum();
        let mut chi_square = 0.0;
        for (id, weight) in weights.iter().enumerate() {
            let seen = tokens.iter().filter(|&&token| token as usize == id).count();
            let due = weight / total * draws as f64;
            assert!(due > 0.0 || seen == 0, "{id} came {seen} times");
            chi_square += if due > 0.0 { (seen as f64 - due).powi(2) / due } else { 0.0 };
        }
        // Once in a thousand above 16.3 for three degrees of freedom.
        assert!(chi_square < 16.3, "{rule:?}: {chi_square}");
    }
}

#[test]
fn what_cannot_come_never_comes_and_no_number_gives_no_probability() {
    let Some(device) = device() else { return };
    let mut rare = vec![f32::NEG_INFINITY; 600];
    (rare[300], rare[599]) = (-3.0, -3.5);
    let one_bad = |bad: f32| {
        let mut row = vec![0.5; 600];
        row[450] = bad;
        row
    };
    let rows = [rare.clone(), one_bad(f32::NAN), vec![f32::NAN; 600], rare];
    let rows: Vec<_> = rows
        .into_iter()
        .chain([vec![f32::NEG_INFINITY; 600], one_bad(f32::INFINITY), one_bad(0.5)])
        .collect();
    for rule in rules() {
        for position in 0..60 {
            let sampled = [300, 4];
            let of = |_: usize| Request { sampled: &sampled, ..request(rule, position) };
            let requests: Vec<_> = (0..rows.len()).map(of).collect();
            let (tokens, logps) = draw(device, &rows.concat(), 0, &requests);
            assert!(tokens.iter().all(|&token| token < 600), "{tokens:?}");
            for at in [0, 3] {
                assert!(tokens[at] == 300 || tokens[at] == 599, "{rule:?} chose {}", tokens[at]);
                assert!(logps[at].is_finite());
            }
            assert!([1, 2, 4, 5].iter().all(|&at: &usize| logps[at].is_nan()), "{logps:?}");
            let alone = draw(device, &rows[6], 0, &requests[6..]);
            assert_eq!((alone.0[0], alone.1[0].to_bits()), (tokens[6], logps[6].to_bits()));
        }
    }
}

/// What is sampled has the log-probability that training computes, bit for bit, and a request gets the
/// same alone and among others.
#[test]
fn a_sampled_log_probability_has_every_bit_of_trainings() {
    let Some(device) = device() else { return };
    let mut compared = 0;
    for (vocabulary, width) in [(1305, 192), (49_152, 64), (64, 32)] {
        let rows = 300;
        let hidden = device.upload::<Activation>(&numbers(1, rows * width));
        let weight = device.upload::<Activation>(&numbers(2, vocabulary * width));
        let weight = Weight::new(weight.view(), vocabulary, width);
        for rule in rules() {
            let draw_rows = |rows: std::ops::Range<usize>| {
                let count = rows.len();
                let requests: Vec<_> = rows
                    .clone()
                    .map(|at| Request {
                        prompt: &[1, 2],
                        sampled: &[9, 1],
                        ..request(rule, at as u64)
                    })
                    .collect();
                let part = hidden.view().part(rows.start * width..rows.end * width);
                let mut logits = device.take::<f32>(count * vocabulary);
                let to = MatrixMut::new(logits.view_mut(), count, vocabulary);
                let hidden = Matrix::new(part, count, width);
                let product = Forward { scale: 1.0, x: hidden, weight };
                forward(device, to, WriteMode::Overwrite, product);
                let (mut tokens, mut logps) = (device.take(count), device.take(count));
                let to = MatrixMut::new(logits.view_mut(), count, vocabulary);
                let chosen = Sampled { tokens: tokens.view_mut(), logps: logps.view_mut() };
                sample(device, chosen, to, &requests);
                (device.read::<u32>(tokens.view()), device.read::<f32>(logps.view()))
            };
            let (tokens, sampled) = draw_rows(0..rows);
            for some in [7..8, 0..64] {
                let (few, logps) = draw_rows(some.clone());
                assert_eq!(few, tokens[some.clone()], "{rule:?}");
                same_bits(&logps, &sampled[some]);
            }
            let targets = device.upload::<u32>(&tokens);
            let mut known = [0; 3].map(|_| device.take::<f32>(rows));
            let [logp, entropy, lse] = &mut known;
            let output = Output {
                logp: logp.view_mut(),
                entropy: entropy.view_mut(),
                lse: lse.view_mut(),
                slope: None,
            };
            let tau = if rule.temperature > 0.0 { 1.0 / rule.temperature } else { 1.0 };
            let input = Input {
                hidden: Matrix::new(hidden.view(), rows, width),
                weight,
                targets: targets.view(),
                inverse_temperature: tau,
            };
            head::forward(device, output, input);
            same_bits(&sampled, &device.read(known[0].view()));
            compared += rows;
        }
    }
    device.check().unwrap();
    assert_eq!(compared, 3 * 300 * rules().len());
}
