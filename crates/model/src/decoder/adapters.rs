//! Several adapters on one base: a policy, its critic, its reference, a reward model.
//!
//! Each has its own low-rank additions and its own head for values; the base is in memory once. One
//! of them is active: [`Decoder::forward`], [`Decoder::backward`], exports and everything that adds
//! an adapter or a head mean that one. Switching moves indices, no weights; on CUDA, where the
//! weights of a product lie in one block with its adapter, the adapter's copy for products too.

use whetstone_kernels::Device;

use super::layer::{FusedLayer, Layer};
use super::parameters::ParameterId;
use super::projection::Adapter;
use super::{Decoder, ValueHead};

/// One of the adapters of a decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdapterId(usize);

/// An adapter and its head, whether it is active or not.
#[derive(Debug, Default)]
pub(super) struct AdapterSlot {
    /// Stands before the names of its tensors; empty for the first.
    prefix: String,
    /// Its tensors and those of its head.
    tensors: Vec<ParameterId>,
    /// What layers and the decoder hold while it is active.
    parked: Parked,
}

#[derive(Debug, Default)]
struct Parked {
    layers: Vec<LayerAdapter>,
    value: Option<ValueHead>,
}

/// The adapter of one layer.
#[derive(Debug, Default)]
struct LayerAdapter {
    projections: [Option<Adapter>; 7],
    fused: Option<FusedLayer>,
}

impl Decoder {
    /// The adapter that is active.
    pub fn active_adapter(&self) -> AdapterId {
        AdapterId(self.active)
    }

    /// Makes room for one more adapter, which has neither tensors nor a head yet, and activates it.
    /// `name` stands before the names of its tensors, in optimizer states for example.
    ///
    /// # Panics
    ///
    /// If another adapter has this name.
    pub fn new_adapter(&mut self, name: &str) -> AdapterId {
        let prefix = format!("{name}/");
        assert!(self.adapters.iter().all(|slot| slot.prefix != prefix), "an adapter `{name}`");
        let layers = self.layers.iter().map(|_| LayerAdapter::default()).collect();
        let parked = Parked { layers, value: None };
        self.adapters.push(AdapterSlot { prefix, tensors: Vec::new(), parked });
        let id = AdapterId(self.adapters.len() - 1);
        self.activate(id);
        id
    }

    /// Makes another adapter the active one.
    pub fn activate(&mut self, adapter: AdapterId) {
        if adapter.0 == self.active {
            return;
        }
        self.place(Place::Apart);
        let left = Parked {
            layers: self.layers.iter_mut().map(Layer::take_adapter).collect(),
            value: self.value.take(),
        };
        self.adapters[self.active].parked = left;
        let Parked { layers, value } = std::mem::take(&mut self.adapters[adapter.0].parked);
        for (layer, adapter) in self.layers.iter_mut().zip(layers) {
            layer.put_adapter(adapter);
        }
        self.value = value;
        self.active = adapter.0;
        self.place(Place::InBlock);
    }

    /// Says of all tensors of an adapter and its head whether they are trained.
    pub fn train_adapter(&mut self, adapter: AdapterId, trained: bool) {
        for &id in &self.adapters[adapter.0].tensors {
            self.parameters.train(id, trained);
        }
    }

    /// The tensors of an adapter, and of its head.
    pub fn tensors_of(&self, adapter: AdapterId) -> &[ParameterId] {
        &self.adapters[adapter.0].tensors
    }

    /// The head for values of an adapter.
    pub(crate) fn head_of(&self, adapter: AdapterId) -> Option<ValueHead> {
        if adapter.0 == self.active { self.value } else { self.adapters[adapter.0].parked.value }
    }

    /// The name of a tensor without that of its adapter, as PEFT has it.
    pub(crate) fn peft_name(&self, id: ParameterId) -> &str {
        let name = self.parameters.get(id).name.as_str();
        let prefixes = self.adapters.iter().map(|slot| slot.prefix.as_str());
        let mut own = prefixes.filter(|prefix| !prefix.is_empty());
        own.find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name)
    }

    /// The name of a tensor of the active adapter.
    pub(super) fn name_in_list(&self, name: &str) -> String {
        format!("{}{name}", self.adapters[self.active].prefix)
    }

    /// A new tensor of the active adapter, which is trained.
    pub(super) fn add_to_adapter(
        &mut self,
        name: &str,
        shape: Vec<usize>,
        values: &[f32],
    ) -> ParameterId {
        let name = self.name_in_list(name);
        let buffer = self.device.upload(values);
        let id = self.parameters.add(&self.device, name, shape, buffer);
        self.parameters.train(id, true);
        self.adapters[self.active].tensors.push(id);
        id
    }

    /// Whether projections are put together with those of another adapter, which share the base.
    pub(super) fn fused_elsewhere(&self, layer: usize) -> Option<&FusedLayer> {
        self.adapters.iter().find_map(|slot| slot.parked.layers.get(layer)?.fused.as_ref())
    }

    /// Where the active adapter's copy for products lies, where projections are put together.
    fn place(&mut self, place: Place) {
        let Device::Cuda(_) = &self.device else { return };
        for layer in &self.layers {
            let Some(fused) = &layer.fused else { continue };
            for fused in [&fused.qkv, &fused.o, &fused.gate_up, &fused.down] {
                match place {
                    Place::InBlock => fused.move_adapters_in(&self.device, &mut self.parameters),
                    Place::Apart => fused.move_adapters_out(&self.device, &mut self.parameters),
                }
            }
        }
    }
}

/// Where what products use of an adapter lies.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// In one block with the weights of the base.
    InBlock,
    /// By itself.
    Apart,
}

impl Layer {
    fn take_adapter(&mut self) -> LayerAdapter {
        let fused = self.fused.take();
        LayerAdapter {
            projections: self.projections_mut().map(|projection| projection.adapter.take()),
            fused,
        }
    }

    fn put_adapter(&mut self, adapter: LayerAdapter) {
        let LayerAdapter { projections, fused } = adapter;
        for (projection, own) in self.projections_mut().into_iter().zip(projections) {
            projection.adapter = own;
        }
        self.fused = fused;
    }
}
