//! The optimizer update: gradients are clipped, and a non-finite one is an error.

use whetstone_core::config::TrainingConfig;
use whetstone_model::decoder::{Decoder, Gradients};

use crate::error::TrainError;
use crate::optimizer::{Optimizer, Rule};

/// The result of an update.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Updated {
    /// The norm of the gradient before it was clipped.
    pub(crate) norm: f64,
    /// There was no gradient, and so nothing was changed.
    pub(crate) is_skipped: bool,
    /// The gradient, or a part of it, was too long.
    pub(crate) is_clipped: bool,
}

/// Settings of an update, and its learning rate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UpdateSettings<'a> {
    /// The learning rate of this update.
    pub(crate) lr: f64,
    /// Betas, weight decay and the longest gradient.
    pub(crate) training: &'a TrainingConfig,
}

/// The global norm of a gradient.
pub(crate) fn norm(decoder: &Decoder, gradients: &Gradients) -> f64 {
    gradients.sum_of_squares(decoder.device()).sqrt()
}

/// Updates the weights. If a gradient is non-finite, nothing is changed and the error names its tensor.
///
/// If the gradient is 0 everywhere, nothing is changed either: the optimizer's momentum and the weight
/// decay would move weights that nothing was learnt for. Tensors that are set apart and the others are asked by
/// themselves: a policy without a gradient does not move because its critic has one.
pub(crate) fn apply(
    decoder: &mut Decoder,
    optimizer: &mut Optimizer,
    gradients: &Gradients,
    settings: UpdateSettings<'_>,
) -> Result<Updated, TrainError> {
    let UpdateSettings { lr, training } = settings;
    let device = decoder.device().clone();
    device.check()?;
    let norm = norm(decoder, gradients);
    // A value that is not finite makes the norm so; a norm may also be too large for its format.
    let not_finite = || gradients.first_not_finite(&device);
    if let Some(id) = (!norm.is_finite()).then(not_finite).flatten() {
        let name = &decoder.parameters().get(id).name;
        return Err(TrainError::NoNumber(format!("the gradient of `{name}` is not finite")));
    }
    // What a device that failed says of gradients is no length of theirs.
    device.check()?;
    if norm == 0.0 {
        return Ok(Updated { norm, is_skipped: true, is_clipped: false });
    }
    let (shared, apart) = match optimizer.apart() {
        None => (norm, 0.0),
        Some(apart) => {
            let is_apart = |id| apart.tensors.contains(&id);
            let squares = gradients.sum_of_squares_of(&device, |id| !is_apart(id));
            let apart_squares = gradients.sum_of_squares_of(&device, is_apart);
            (squares.sqrt(), apart_squares.sqrt())
        }
    };
    let scale = optimizer.norms.shared.scale(shared, training);
    let apart_scale = optimizer.norms.apart.scale(apart, training);
    let is_clipped = [(shared, scale), (apart, apart_scale)]
        .iter()
        .any(|(norm, scale)| *norm > 0.0 && *scale < 1.0);
    let rule = Rule {
        lr,
        betas: (training.adam_beta1, training.adam_beta2),
        decay: training.weight_decay,
        scale,
        apart_scale,
    };
    optimizer.update(&device, decoder.parameters_mut(), gradients, rule);
    Ok(Updated { norm, is_skipped: false, is_clipped })
}

#[cfg(test)]
mod tests {
    use whetstone_model::decoder::{Forward, Keep, ParameterId, Sequence, Signal};
    use whetstone_model::safetensors::Safetensors;
    use whetstone_model::weights::Weights as _;

    use super::*;
    use crate::student::Student;
    use crate::testing::{settings, student};

    /// Gradients of a signal on one sequence.
    fn gradients(student: &Student, dlogp: f32) -> Gradients {
        let decoder = &student.decoder;
        let mut gradients = Gradients::new(decoder.device(), decoder.parameters());
        let batch = decoder.batch(&[Sequence { tokens: &[70, 71, 72], asked: 1..3 }]).unwrap();
        let forward = Forward { keep: Some(Keep::Most), ..Forward::default() };
        let (_, trail) = decoder.forward(&batch, forward);
        let signal = Signal { dlogp: &[dlogp, 0.5], dentropy: None, dvalue: None };
        decoder.backward(&batch, trail.unwrap(), signal, &mut gradients);
        gradients
    }

    /// Every trained number, and the optimizer's means as they are written.
    fn state(student: &Student, optimizer: &Optimizer) -> (Vec<f32>, Vec<u8>) {
        let (device, parameters) = (student.decoder.device(), student.decoder.parameters());
        let numbers = parameters.trained().flat_map(|id| device.read(parameters.values(id)));
        let mut means = Vec::new();
        optimizer.write(device, parameters, &mut means).unwrap();
        (numbers.collect(), means)
    }

    fn begin() -> (tempfile::TempDir, Student, Optimizer) {
        let (dir, student) = student(&settings());
        let optimizer = Optimizer::new(student.decoder.device(), student.decoder.parameters());
        (dir, student, optimizer)
    }

    #[test]
    fn a_gradient_that_is_no_number_touches_nothing_and_is_named() {
        let (_dir, mut student, mut optimizer) = begin();
        let before = state(&student, &optimizer);
        for signal in [f32::NAN, f32::INFINITY] {
            let gradients = gradients(&student, signal);
            let settings = UpdateSettings { lr: 0.1, training: &TrainingConfig::default() };
            let err =
                apply(&mut student.decoder, &mut optimizer, &gradients, settings).unwrap_err();
            assert!(err.to_string().starts_with("the gradient of `"), "{err}");
            assert!(err.to_string().contains("layers.0."), "{err}");
            assert!(err.to_string().ends_with("` is not finite"), "{err}");
            assert!(state(&student, &optimizer) == before);
        }
    }

    #[test]
    fn tensors_that_are_set_apart_are_clipped_by_themselves_and_have_their_own_rate() {
        let (dir, mut student, mut optimizer) = begin();
        let gradients = gradients(&student, 1.0);
        let device = student.decoder.device().clone();
        let square = |id| -> f64 {
            let numbers = device.read(gradients.get(id).unwrap());
            numbers.iter().map(|&g| f64::from(g).powi(2)).sum()
        };
        // A new adapter's first factors have no gradient; of the others, every third is set apart.
        let learning: Vec<ParameterId> =
            student.decoder.parameters().trained().filter(|&id| square(id) > 0.0).collect();
        let apart: Vec<ParameterId> = learning.iter().copied().step_by(3).collect();
        let norm = |is_apart: bool| -> f64 {
            let of = learning.iter().filter(|id| apart.contains(id) == is_apart);
            of.map(|&id| square(id)).sum::<f64>().sqrt()
        };
        let (own, others) = (norm(true), norm(false));
        assert!(
            (own / others - 1.0).abs() > 0.1,
            "norms that cannot be told apart: {own} {others}"
        );
        let max_grad_norm = own.min(others) / 2.0;
        let training = TrainingConfig { weight_decay: 0.0, max_grad_norm, ..settings().training };
        let read = |student: &Student, id| device.read(student.decoder.parameters().values(id));
        let before: Vec<Vec<f32>> = learning.iter().map(|&id| read(&student, id)).collect();
        optimizer.set_apart(apart.iter().copied(), 3.0);
        let settings = UpdateSettings { lr: 0.1, training: &training };
        let done = apply(&mut student.decoder, &mut optimizer, &gradients, settings).unwrap();
        assert!((done.norm - own.hypot(others)).abs() < 1e-6 * done.norm, "the whole is told");
        let path = dir.path().join("means");
        let file = std::fs::File::create(&path).unwrap();
        optimizer.write(&device, student.decoder.parameters(), file).unwrap();
        let means = Safetensors::open_file(&path).unwrap();
        for (&id, before) in learning.iter().zip(&before) {
            let is_apart = apart.contains(&id);
            let scale = max_grad_norm / if is_apart { own } else { others };
            let lr = if is_apart { 0.3 } else { 0.1 };
            let gradient = device.read(gradients.get(id).unwrap());
            let mut mean = vec![0.0_f32; gradient.len()];
            means
                .read(&format!("mean.{}", student.decoder.parameters().get(id).name), &mut mean)
                .unwrap();
            let after = read(&student, id);
            for (at, &g) in gradient.iter().enumerate() {
                let (g, mean) = (f64::from(g), f64::from(mean[at]));
                let expected = 0.1 * scale * g;
                assert!((mean - expected).abs() <= 1e-5 * expected.abs(), "{mean} {expected}");
                // Adam's first step is the rate itself, wherever the gradient is not tiny.
                if scale * g.abs() > 1e-5 {
                    let moved = f64::from(before[at]) - f64::from(after[at]);
                    assert!((moved - lr * g.signum()).abs() < 0.01 * lr, "{moved} {lr}");
                }
            }
        }
    }

    #[test]
    fn a_part_without_a_gradient_stays_where_it_is() {
        let (_dir, mut student, mut optimizer) = begin();
        let training = TrainingConfig { weight_decay: 0.5, ..settings().training };
        let settings = UpdateSettings { lr: 0.1, training: &training };
        // A new adapter's first factors have no gradient, and one after the first update.
        let new = gradients(&student, 1.0);
        let device = student.decoder.device().clone();
        let has = |id: &ParameterId| device.read(new.get(*id).unwrap()).iter().any(|&g| g != 0.0);
        let (second, first): (Vec<ParameterId>, Vec<ParameterId>) =
            student.decoder.parameters().trained().partition(has);
        apply(&mut student.decoder, &mut optimizer, &new, settings).unwrap();
        let both = gradients(&student, 1.0);
        apply(&mut student.decoder, &mut optimizer, &both, settings).unwrap();
        let read = |student: &Student, ids: &[ParameterId]| -> Vec<Vec<f32>> {
            let values = |&id: &ParameterId| device.read(student.decoder.parameters().values(id));
            ids.iter().map(values).collect()
        };
        let before = (read(&student, &first), read(&student, &second));
        optimizer.set_apart(second.iter().copied(), 1.0);
        let done = apply(&mut student.decoder, &mut optimizer, &new, settings).unwrap();
        assert!(!done.is_skipped);
        assert!(read(&student, &first) == before.0, "momentum and decay move nothing");
        assert!(read(&student, &second) != before.1);
        // And the other way round.
        let before = (read(&student, &first), read(&student, &second));
        optimizer.set_apart(first.iter().copied(), 1.0);
        apply(&mut student.decoder, &mut optimizer, &new, settings).unwrap();
        assert!(read(&student, &first) == before.0);
        assert!(read(&student, &second) != before.1);
    }

    #[test]
    fn without_a_gradient_neither_momentum_nor_decay_moves_a_weight() {
        let (_dir, mut student, mut optimizer) = begin();
        let training = TrainingConfig { weight_decay: 0.5, ..settings().training };
        let gradients = gradients(&student, 1.0);
        let settings = UpdateSettings { lr: 0.1, training: &training };
        let first = apply(&mut student.decoder, &mut optimizer, &gradients, settings).unwrap();
        assert!(!first.is_skipped);
        let before = state(&student, &optimizer);
        let nothing = Gradients::new(student.decoder.device(), student.decoder.parameters());
        let second = apply(&mut student.decoder, &mut optimizer, &nothing, settings).unwrap();
        assert_eq!(second, Updated { norm: 0.0, is_skipped: true, is_clipped: false });
        assert!(state(&student, &optimizer) == before);
        assert_eq!(optimizer.updates(), 1);
    }

    #[test]
    fn a_gradient_that_is_too_long_is_cut_and_its_whole_length_is_told() {
        let (_dir, mut student, mut optimizer) = begin();
        let gradients = gradients(&student, 1.0);
        let length = norm(&student.decoder, &gradients);
        assert!(length > 0.0);
        let mut training = settings().training;
        training.max_grad_norm = length / 8.0;
        training.weight_decay = 0.5;
        training.adam_beta2 = 0.9;
        let settings = UpdateSettings { lr: 0.1, training: &training };
        let updated = apply(&mut student.decoder, &mut optimizer, &gradients, settings).unwrap();
        assert_eq!(updated.norm.to_bits(), length.to_bits());
        assert!(updated.is_clipped);
        let (_dir, mut other, mut by_hand) = begin();
        let device = other.decoder.device().clone();
        let scale = training.max_grad_norm / length;
        let rule = Rule { lr: 0.1, betas: (0.9, 0.9), decay: 0.5, scale, apart_scale: 1.0 };
        by_hand.update(&device, other.decoder.parameters_mut(), &gradients, rule);
        assert!(state(&student, &optimizer) == state(&other, &by_hand));
    }
}
