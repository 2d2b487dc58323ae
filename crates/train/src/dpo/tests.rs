//! The passes of preference training through a whole decoder: gradients against central differences, micro-batches,
//! and the reference.

use std::sync::atomic::AtomicBool;

use whetstone_core::config::PreferenceLoss;
use whetstone_model::decoder::{Adapters, ParameterId};

use super::*;
use crate::testing::{settings as small, student};
use crate::watchdog::Watchdog;

fn pair(chosen: &[u32], rejected: &[u32]) -> TokenPair {
    let with = |reply: &[u32]| [&[70, 71], reply].concat();
    let (chosen, rejected) = (with(chosen), with(rejected));
    TokenPair { chosen, rejected, prompt_tokens: 2, margin: 0.0, prompt: 0 }
}

fn pairs() -> [TokenPair; 3] {
    [pair(&[72, 73, 74], &[75]), pair(&[76, 72], &[73, 73, 77, 78, 79]), pair(&[80], &[81])]
}

const LOSSES: [PreferenceLoss; 3] =
    [PreferenceLoss::Dpo, PreferenceLoss::Ipo, PreferenceLoss::SimPo];

/// Settings of a loss with all its parts.
fn config(loss: PreferenceLoss) -> Config {
    let mut config = small();
    config.dpo.loss = loss;
    config.dpo.beta = 0.5;
    config.dpo.sft_weight = 0.25;
    config.dpo.simpo_gamma = 0.5;
    if loss == PreferenceLoss::Dpo {
        config.dpo.label_smoothing = 0.1;
    }
    config
}

/// A student whose adapter is not zero.
fn moved(config: &Config) -> (tempfile::TempDir, Student) {
    let (dir, mut student) = student(config);
    let ids: Vec<ParameterId> = student.decoder.adapter_parameters().collect();
    for (tensor, &id) in ids.iter().enumerate() {
        let count = student.decoder.parameters().get(id).numbers();
        let cycle = [0.3, -0.2, 0.1, -0.4, 0.25].iter().cycle().skip(tensor);
        let values: Vec<f32> = cycle.take(count).copied().collect();
        set(&mut student, id, &values);
    }
    (dir, student)
}

fn set(student: &mut Student, id: ParameterId, values: &[f32]) {
    let device = student.decoder.device().clone();
    let from = device.upload(values);
    device.copy(&mut student.decoder.parameters_mut().values_mut(id), from.view());
}

/// Does something with a training on the pairs above.
fn with_training<T>(config: &Config, work: impl FnOnce(&Dpo<'_>) -> T) -> T {
    let (stop, dog) = (AtomicBool::new(false), Watchdog::new(0, &|_| ()));
    let (on_phase, on_step, on_alarm) = (|_, _| (), |_: &StepReport| (), |_: &_| ());
    let watch = Watch {
        on_phase: &on_phase,
        on_step: &on_step,
        on_alarm: &on_alarm,
        stop: &stop,
        dog: &dog,
    };
    let pairs = pairs();
    let (initial, checkpoint) = (None, None);
    work(&Dpo { config, pairs: &pairs, held_out: &pairs, initial, checkpoint, watch })
}

/// The loss of all pairs and its gradients, so many pairs at a time.
fn learnt(student: &mut Student, config: &Config, micro_batch: usize) -> (StepLosses, Gradients) {
    with_training(config, |dpo| {
        let mut reference = Reference::open(student, dpo).unwrap();
        let references = reference.sums(student, dpo, List::Train, &[0, 1, 2]).unwrap();
        let pass = PairPass::of_replies(&student.decoder, config, dpo.watch, Phase::Learning);
        let pass = PairPass { micro_batch, ..pass };
        let decoder = &student.decoder;
        let mut gradients = Gradients::new(decoder.device(), decoder.parameters());
        let settings = settings(config, 3);
        let all = at(dpo.pairs, &[0, 1, 2]);
        let losses = pass::learn(pass, &all, &mut gradients, |place, logps| {
            loss(logps_of(logps, references[place]), settings, place)
        });
        (losses.unwrap(), gradients)
    })
}

#[test]
fn gradients_and_loss_do_not_depend_on_the_micro_batch() {
    for which in LOSSES {
        let config = config(which);
        let (_dir, mut student) = moved(&config);
        let (expected, gradients) = learnt(&mut student, &config, 1);
        let read = |student: &Student, gradients: &Gradients| -> Vec<u32> {
            let device = student.decoder.device();
            let of = |id| device.read(gradients.get(id).unwrap());
            student.decoder.parameters().trained().flat_map(of).map(f32::to_bits).collect()
        };
        let bits = read(&student, &gradients);
        for micro_batch in [2, 3, 8] {
            let (found, other) = learnt(&mut student, &config, micro_batch);
            assert_eq!(found, expected, "{which:?} {micro_batch}");
            assert_eq!(read(&student, &other), bits, "{which:?} {micro_batch}");
        }
        assert!(bits.iter().any(|&bits| bits << 1 != 0));
    }
}

/// Through the whole decoder: two numbers of every trained tensor.
#[test]
fn gradients_are_the_slopes_of_the_loss() {
    for which in LOSSES {
        let config = config(which);
        let (_dir, mut student) = moved(&config);
        let (_, gradients) = learnt(&mut student, &config, 3);
        let device = student.decoder.device().clone();
        let trained: Vec<ParameterId> = student.decoder.parameters().trained().collect();
        let mut checked = 0;
        for id in trained {
            let values = device.read(student.decoder.parameters().values(id));
            let slopes = device.read(gradients.get(id).unwrap());
            for place in [0, values.len() / 2] {
                let mut at = |by: f32| {
                    let mut moved = values.clone();
                    moved[place] += by;
                    set(&mut student, id, &moved);
                    learnt(&mut student, &config, 3).0.loss
                };
                let step = 4e-3;
                let slope = (at(step) - at(-step)) / (2.0 * f64::from(step));
                set(&mut student, id, &values);
                let near = (slope - f64::from(slopes[place])).abs() < 5e-4 + 1e-2 * slope.abs();
                assert!(near, "{which:?}, {id:?}, {place}: {slope} is not {}", slopes[place]);
                checked += usize::from(slope.abs() > 2e-3);
            }
        }
        assert!(checked >= 6, "{which:?}: {checked} slopes are large enough to tell");
    }
}

/// Log-probabilities of a reply by one forward pass of that sequence alone.
fn slow_sum(student: &Student, tokens: &[u32], adapters: Adapters) -> f64 {
    use whetstone_model::decoder::{Forward, Sequence};
    let batch = student.decoder.batch(&[Sequence { tokens, asked: 2..tokens.len() }]).unwrap();
    let (scored, _) = student.decoder.forward(&batch, Forward { adapters, ..Forward::default() });
    scored.logp.iter().copied().map(f64::from).sum()
}

#[test]
fn the_reference_is_the_student_without_its_adapter_and_is_asked_once() {
    let config = config(PreferenceLoss::Dpo);
    let (_dir, mut student) = moved(&config);
    let expected = pairs().map(|pair| {
        [&pair.chosen, &pair.rejected].map(|tokens| slow_sum(&student, tokens, Adapters::Off))
    });
    with_training(&config, |dpo| {
        let mut reference = Reference::open(&mut student, dpo).unwrap();
        let mut sums = |student: &mut Student, places: &[usize]| {
            reference.sums(student, dpo, List::Train, places).unwrap()
        };
        let found = sums(&mut student, &[2, 0, 2]);
        for (place, found) in [2, 0, 2].into_iter().zip(found) {
            for (found, expected) in found.into_iter().zip(expected[place]) {
                assert!((found - expected).abs() < 1e-4, "{place}: {found} is not {expected}");
            }
        }
        let with = slow_sum(&student, &dpo.pairs[0].chosen, Adapters::On);
        assert!((with - expected[0][0]).abs() > 1e-2, "the adapter changes what is measured");
        // Known: not computed again, even if the student were another one.
        let before = sums(&mut student, &[0]);
        let id = student.decoder.adapter_parameters().next().unwrap();
        let zeros = vec![0.0; student.decoder.parameters().get(id).numbers()];
        set(&mut student, id, &zeros);
        assert_eq!(sums(&mut student, &[0]), before);
    });
}

#[test]
fn of_a_new_adapter_the_first_loss_is_that_of_a_guess() {
    let mut config = config(PreferenceLoss::Dpo);
    config.dpo.sft_weight = 0.0;
    let (_dir, mut student) = student(&config);
    let (found, _) = learnt(&mut student, &config, 2);
    assert!((found.loss - std::f64::consts::LN_2).abs() < 1e-12, "{found:?}");
    assert_eq!((found.margin.get(), found.hits.get()), (Some(0.0), Some(0.5)));
    assert!(found.chosen_logp.get().unwrap() < 0.0);
}

#[test]
fn simpo_asks_no_reference() {
    let config = config(PreferenceLoss::SimPo);
    let (_dir, mut student) = moved(&config);
    with_training(&config, |dpo| {
        let mut reference = Reference::open(&mut student, dpo).unwrap();
        let found = reference.sums(&mut student, dpo, List::HeldOut, &[0, 1]).unwrap();
        assert_eq!(found, [[0.0; 2]; 2]);
    });
}
