//! Inserting adapters, and merging them into the weights for export.

use whetstone_core::config::Module;
use whetstone_kernels::matmul::{ScaledProduct, matmul};
use whetstone_kernels::{Device, Matrix, MatrixMut, WriteMode};

use super::layer::{Fused, FusedLayer, Layer};
use super::parameters::ParameterId;
use super::projection::{Adapter, Projection};
use super::{Decoder, ValueHead};
use crate::adapter::{AdapterSettings, path_of};

/// A score head's weights, under PEFT's name: it is trained and kept beside an adapter.
pub(crate) const SCORE_WEIGHT: &str = "base_model.model.score.weight";
pub(crate) const VALUE_WEIGHT: &str = "value_head.weight";
pub(crate) const VALUE_BIAS: &str = "value_head.bias";

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
                    ids.push(self.add_to_adapter(&name, shape.to_vec(), &numbers));
                }
                let adapter = Adapter { a: ids[0], b: ids[1], scale: settings.scale() as f32 };
                self.layers[index].projection_mut(module).adapter = Some(adapter);
            }
        }
        self.fuse();
        Ok(())
    }

    /// Puts the projections of each layer together, where a device has a product for that and they
    /// will not be trained. The weights of the base lie in one block with one adapter: that of a
    /// further one takes its place in the same block while it is active, if it has the same sizes,
    /// and is computed by itself otherwise.
    fn fuse(&mut self) {
        let Device::Cuda(_) = &self.device else { return };
        for index in 0..self.layers.len() {
            let Layer { q, k, v, o, gate, up, down, .. } = self.layers[index];
            let groups = [vec![q, k, v], vec![o], vec![gate, up], vec![down]];
            let fused = match self.fused_elsewhere(index).cloned() {
                None => groups.map(|of| Fused::new(&self.device, &mut self.parameters, &of)),
                Some(FusedLayer { qkv, o, gate_up, down }) => {
                    let others = [qkv, o, gate_up, down];
                    let both = others.iter().zip(&groups);
                    let shared: Vec<Option<Fused>> =
                        both.map(|(other, own)| other.sharing(&self.parameters, own)).collect();
                    shared.try_into().unwrap_or_default()
                }
            };
            let [Some(qkv), Some(o), Some(gate_up), Some(down)] = fused else { continue };
            for fused in [&qkv, &o, &gate_up, &down] {
                fused.move_adapters_in(&self.device, &mut self.parameters);
            }
            self.layers[index].fused = Some(FusedLayer { qkv, o, gate_up, down });
        }
        self.device.trim();
    }

    /// The active adapter's tensors, and its score head if it has one: what PEFT keeps in one file.
    pub fn adapter_parameters(&self) -> impl Iterator<Item = ParameterId> {
        let critic = self.value_head_parameters();
        let all = self.tensors_of(self.active_adapter()).iter().copied();
        all.filter(move |id| critic.is_none_or(|head| !head.contains(id)))
    }

    /// The model's own tensors, without adapters and heads for values.
    pub fn base_parameters(&self) -> impl Iterator<Item = ParameterId> {
        self.parameters.ids().take(self.base_tensors)
    }

    /// The weight and the bias of the active adapter's value head, if it is a critic's.
    pub fn value_head_parameters(&self) -> Option<[ParameterId; 2]> {
        self.value.and_then(ValueHead::critic)
    }

    /// Whether the active adapter has a score head.
    pub fn has_score_head(&self) -> bool {
        self.value.is_some_and(ValueHead::is_score)
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

    pub(super) fn projections_mut(&mut self) -> [&mut Projection; 7] {
        let Self { q, k, v, o, gate, up, down, .. } = self;
        [q, k, v, o, gate, up, down]
    }
}
