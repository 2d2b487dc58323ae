//! `AdamW` over everything that is trained.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::Path;

use whetstone_kernels::adamw::{self, AdamState, AdamW, Tensor};
use whetstone_kernels::{Buffer, Device};
use whetstone_model::decoder::{Gradients, ParameterId, Parameters};
use whetstone_model::safetensors::{Safetensors, WriteError, Writer};
use whetstone_model::weights::{Dtype, Weights, WeightsError};

use crate::clipping::Norms;

/// Adam's own default, which every tool has.
const EPSILON: f64 = 1e-8;

/// The file of a checkpoint with the optimizer's state.
pub(crate) const FILE: &str = "optimizer.safetensors";

/// First- and second-moment estimates of every trained tensor.
#[derive(Debug)]
pub struct Optimizer {
    means: BTreeMap<ParameterId, Means>,
    apart: Option<Apart>,
    /// Updates made.
    updates: u64,
    /// The norms of the last ones, which clip the next.
    pub(crate) norms: Norms,
}

/// Tensors that are clipped by themselves and have a learning rate of their own: those of a critic.
#[derive(Debug)]
pub(crate) struct Apart {
    pub(crate) tensors: BTreeSet<ParameterId>,
    /// Their learning rate as a multiple of the others'.
    rate_factor: f64,
}

#[derive(Debug)]
struct Means {
    mean: Buffer<f32>,
    square: Buffer<f32>,
}

/// Hyperparameters of one `AdamW` update.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// The learning rate.
    pub lr: f64,
    /// Adam beta1 and beta2: decay rates of the first- and second-moment estimates.
    pub betas: (f64, f64),
    /// Decoupled weight decay, in units of the learning rate; vectors (gains, biases) have none.
    pub decay: f64,
    /// The factor of the gradients, e.g. from clipping. 0 leaves weights and moments as they are.
    pub scale: f64,
    /// That of tensors that are [set apart](Optimizer::set_apart).
    pub apart_scale: f64,
}

impl Optimizer {
    /// A new optimizer, with both moments 0.
    pub fn new(device: &Device, parameters: &Parameters) -> Self {
        let zeros = |id| {
            let numbers = parameters.get(id).numbers();
            Means { mean: device.zeros(numbers), square: device.zeros(numbers) }
        };
        let means = parameters.trained().map(|id| (id, zeros(id))).collect();
        Self { means, apart: None, updates: 0, norms: Norms::default() }
    }

    /// Has tensors clipped by themselves, and gives them `rate_factor` times the learning rate.
    pub(crate) fn set_apart(
        &mut self,
        tensors: impl IntoIterator<Item = ParameterId>,
        rate_factor: f64,
    ) {
        self.apart = Some(Apart { tensors: tensors.into_iter().collect(), rate_factor });
    }

    /// The tensors that are set apart, if there are any.
    pub(crate) fn apart(&self) -> Option<&Apart> {
        self.apart.as_ref()
    }

    /// Makes one update of every trained weight.
    pub fn update(
        &mut self,
        device: &Device,
        parameters: &mut Parameters,
        gradients: &Gradients,
        rule: Rule,
    ) {
        self.updates += 1;
        let adamw = AdamW {
            lr: rule.lr,
            beta1: rule.betas.0,
            beta2: rule.betas.1,
            epsilon: EPSILON,
            decay: rule.decay,
            step: self.updates,
            gradient_scale: rule.scale,
        };
        let mut means: BTreeMap<ParameterId, &mut Means> =
            self.means.iter_mut().map(|(&id, means)| (id, means)).collect();
        let mut tensors = Vec::with_capacity(means.len());
        let mut apart = Vec::new();
        for (id, is_decayed, weight) in parameters.masters_mut() {
            let (Some(means), Some(gradient)) = (means.remove(&id), gradients.get(id)) else {
                continue;
            };
            let (weight, copy) = weight.both_mut();
            let (mean, square) = (means.mean.view_mut(), means.square.view_mut());
            let state = AdamState { weight, mean, square };
            let tensor = Tensor { state, gradient, copy, is_decayed };
            let is_apart = self.apart.as_ref().is_some_and(|apart| apart.tensors.contains(&id));
            if is_apart { &mut apart } else { &mut tensors }.push(tensor);
        }
        if rule.scale != 0.0 {
            adamw::step_all(device, &mut tensors, &adamw);
        }
        if let Some(Apart { rate_factor, .. }) = &self.apart
            && rule.apart_scale != 0.0
        {
            let (lr, gradient_scale) = (rule.lr * rate_factor, rule.apart_scale);
            adamw::step_all(device, &mut apart, &AdamW { lr, gradient_scale, ..adamw });
        }
    }

    /// Updates made so far.
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// Writes both moments of every tensor, as f32.
    pub fn write(
        &self,
        device: &Device,
        parameters: &Parameters,
        out: impl Write,
    ) -> io::Result<()> {
        let announced: Vec<(String, Vec<usize>)> = self
            .means
            .keys()
            .flat_map(|&id| {
                let parameter = parameters.get(id);
                names(&parameter.name).map(|name| (name, parameter.shape.clone()))
            })
            .collect();
        let metadata = BTreeMap::from([("updates".to_owned(), self.updates.to_string())]);
        let mut writer = Writer::new(out, &announced, Dtype::F32, &metadata).map_err(plain)?;
        for (&id, means) in &self.means {
            let [mean, square] = names(&parameters.get(id).name);
            writer.put(&mean, &device.read(means.mean.view())).map_err(plain)?;
            writer.put(&square, &device.read(means.square.view())).map_err(plain)?;
        }
        writer.finish().map_err(plain)?;
        Ok(())
    }

    /// Reads what [`Self::write`] wrote; `updates` is the count of updates at that time.
    pub fn read(
        device: &Device,
        parameters: &Parameters,
        path: &Path,
        updates: u64,
    ) -> Result<Self, WeightsError> {
        let file = Safetensors::open_file(path)?;
        let load = |name: &str, shape: &[usize]| {
            file.expect_shape(name, shape)?;
            device.load(shape.iter().product(), |to| file.read(name, to))
        };
        let mut means = BTreeMap::new();
        for id in parameters.trained() {
            let parameter = parameters.get(id);
            let [mean, square] = names(&parameter.name);
            let shape = &parameter.shape;
            let (mean, square) = (load(&mean, shape)?, load(&square, shape)?);
            means.insert(id, Means { mean, square });
        }
        Ok(Self { means, apart: None, updates, norms: Norms::default() })
    }
}

fn names(name: &str) -> [String; 2] {
    [format!("mean.{name}"), format!("square.{name}")]
}

fn plain(err: WriteError) -> io::Error {
    match err {
        WriteError::Write(source) => source,
        other => io::Error::other(other),
    }
}

#[cfg(test)]
mod tests {
    use whetstone_core::config::Trained;

    use super::*;
    use crate::testing::{settings, student};

    #[test]
    fn gains_and_biases_do_not_go_away() {
        let mut config = settings();
        config.training.train = Trained::Full;
        let (_dir, mut student) = student(&config);
        let device = student.decoder.device().clone();
        let parameters = student.decoder.parameters_mut();
        let gradients = Gradients::new(&device, parameters);
        let mut optimizer = Optimizer::new(&device, parameters);
        let ids: Vec<ParameterId> = parameters.ids().collect();
        let read = |parameters: &Parameters| {
            ids.iter().map(|&id| device.read(parameters.values(id))).collect::<Vec<_>>()
        };
        let before = read(parameters);
        // Nothing is learnt, and half of every weight goes.
        optimizer.update(
            &device,
            parameters,
            &gradients,
            Rule { lr: 0.5, betas: (0.9, 0.999), decay: 1.0, scale: 1.0, apart_scale: 1.0 },
        );
        for ((id, before), after) in ids.iter().zip(&before).zip(read(parameters)) {
            let part = if parameters.get(*id).shape.len() > 1 { 0.5 } else { 1.0 };
            let expected: Vec<f32> = before.iter().map(|value| value * part).collect();
            assert_eq!(after, expected, "{}", parameters.get(*id).name);
        }
        assert_eq!(optimizer.updates(), 1);
    }
}
