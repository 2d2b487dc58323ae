//! Inserting adapters, and merging them into the weights for export.

use whetstone_core::config::Module;
use whetstone_kernels::matmul::{ScaledProduct, matmul};
use whetstone_kernels::{Device, Matrix, MatrixMut, WriteMode};

use super::Decoder;
use super::layer::{Fused, FusedLayer, Layer};
use super::parameters::ParameterId;
use super::projection::{Adapter, Projection};
use crate::adapter::{AdapterSettings, path_of};

/// A score head's weights, under PEFT's name: it is trained and kept beside an adapter.
pub(crate) const SCORE_WEIGHT: &str = "base_model.model.score.weight";
pub(super) const VALUE_WEIGHT: &str = "value_head.weight";
pub(super) const VALUE_BIAS: &str = "value_head.bias";

impl Decoder {
    /// Adds the two halves for every module of every layer; `values` gives their numbers for a
    /// name, a shape and a place in the order.
    #[expect(clippy::cast_possible_truncation, reason = "a scale is a small number")]
    pub(crate) fn attach<E>(
        &mut self,
        settings: &AdapterSettings,
        values: impl Fn(&str, &[usize], u64) -> Result<Vec<f32>, E>,
    ) -> Result<(), E> {
        let mut projections = self.layers.iter().flat_map(Layer::projections);
        assert!(
            projections.all(|projection| projection.adapter.is_none()),
            "the model has an adapter"
        );
        let mut tensor = 0;
        for index in 0..self.layers.len() {
            for &module in &settings.modules {
                let weight = self.layers[index].projection_mut(module).weight;
                let shape = self.parameters.get(weight).shape.clone();
                let path = format!("base_model.model.model.layers.{index}.{}", path_of(module));
                let halves = [("A", [settings.rank, shape[1]]), ("B", [shape[0], settings.rank])];
                let mut ids = Vec::new();
                for (half, shape) in halves {
                    let name = format!("{path}.lora_{half}.weight");
                    let numbers = values(&name, &shape, tensor)?;
                    tensor += 1;
                    let buffer = self.device.upload(&numbers);
                    let id = self.parameters.add(&self.device, name, shape.to_vec(), buffer);
                    self.parameters.train(id, true);
                    ids.push(id);
                }
                let adapter = Adapter { a: ids[0], b: ids[1], scale: settings.scale() as f32 };
                self.layers[index].projection_mut(module).adapter = Some(adapter);
            }
        }
        self.fuse();
        Ok(())
    }

    /// Puts the projections of each layer together, where a device has a product for that and they
    /// will not be trained.
    fn fuse(&mut self) {
        let Device::Cuda(_) = &self.device else { return };
        for layer in &mut self.layers {
            let Layer { q, k, v, o, gate, up, down, .. } = *layer;
            let mut of = |projections: &[Projection]| {
                Fused::new(&self.device, &mut self.parameters, projections)
            };
            layer.fused = of(&[q, k, v]).and_then(|qkv| {
                let (o, gate_up, down) = (of(&[o])?, of(&[gate, up])?, of(&[down])?);
                Some(FusedLayer { qkv, o, gate_up, down })
            });
        }
        self.device.trim();
    }

    /// The adapter's tensors, and the score head if there is one: what PEFT keeps in one file.
    pub fn adapter_parameters(&self) -> impl Iterator<Item = ParameterId> {
        self.parameters.ids().filter(|&id| self.kind(id) == TensorRole::Adapter)
    }

    /// The model's own tensors, without adapter and heads for values.
    pub fn base_parameters(&self) -> impl Iterator<Item = ParameterId> {
        self.parameters.ids().filter(|&id| self.kind(id) == TensorRole::Base)
    }

    fn kind(&self, id: ParameterId) -> TensorRole {
        let name = &self.parameters.get(id).name;
        match name.as_str() {
            VALUE_WEIGHT | VALUE_BIAS => TensorRole::Value,
            _ if name.starts_with("base_model.model.") => TensorRole::Adapter,
            _ => TensorRole::Base,
        }
    }

    /// Whether it has a score head.
    pub fn has_score_head(&self) -> bool {
        self.value.is_some_and(|head| head.bias.is_none())
    }

    /// A tensor's numbers with its adapter worked in.
    pub(crate) fn merged(&self, id: ParameterId) -> Vec<f32> {
        let projections = self.layers.iter().flat_map(Layer::projections);
        let mut of_tensor = projections.filter(|projection| projection.weight == id);
        let adapter = of_tensor.find_map(|projection| projection.adapter);
        let mut sum = self.parameters.numbers(&self.device, id);
        if let Some(Adapter { a, b, scale }) = adapter {
            let [a, b] = [a, b].map(|id| {
                let shape = &self.parameters.get(id).shape;
                Matrix::new(self.parameters.values(id), shape[0], shape[1])
            });
            let to = MatrixMut::new(sum.view_mut(), b.rows(), a.cols());
            matmul(&self.device, to, WriteMode::Accumulate, ScaledProduct { scale, a: b, b: a });
        }
        self.device.read(sum.view())
    }
}

/// Whether a tensor belongs to the base model or to an adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TensorRole {
    Base,
    Adapter,
    Value,
}

impl Layer {
    fn projection_mut(&mut self, module: Module) -> &mut Projection {
        match module {
            Module::QProj => &mut self.q,
            Module::KProj => &mut self.k,
            Module::VProj => &mut self.v,
            Module::OProj => &mut self.o,
            Module::GateProj => &mut self.gate,
            Module::UpProj => &mut self.up,
            Module::DownProj => &mut self.down,
        }
    }

    fn projections(&self) -> [Projection; 7] {
        [self.q, self.k, self.v, self.o, self.gate, self.up, self.down]
    }
}
