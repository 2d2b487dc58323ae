//! The numbers of a model, by name.
//!
//! They are in one list and layers hold indices into it: code that visits all of them (the
//! optimizer, a checkpoint) needs no knowledge of layers.

use whetstone_kernels::fused_linear::WeightBlock;
use whetstone_kernels::int8::unpack;
use whetstone_kernels::linear::Weight;
use whetstone_kernels::master::{MasterWeight, Shape};
use whetstone_kernels::{Buffer, Device, View, ViewMut};

/// A place in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ParameterId(pub(super) usize);

/// One tensor.
#[derive(Debug)]
pub struct Parameter {
    /// The hub's name; for an adapter, PEFT's.
    pub name: String,
    /// Outermost dimension first.
    pub shape: Vec<usize>,
    /// Whether training changes it.
    pub trained: bool,
    store: WeightStore,
}

#[derive(Debug)]
enum WeightStore {
    Master(MasterWeight),
    Int8 { bytes: Buffer<i8>, scales: Buffer<f32> },
}

impl Parameter {
    /// Number of values.
    pub fn numbers(&self) -> usize {
        self.shape.iter().product()
    }
}

/// All of them.
#[derive(Debug, Default)]
pub struct Parameters {
    all: Vec<Parameter>,
}

impl Parameters {
    /// Adds a tensor.
    pub(crate) fn add(
        &mut self,
        device: &Device,
        name: String,
        shape: Vec<usize>,
        numbers: Buffer<f32>,
    ) -> ParameterId {
        let store = WeightStore::Master(MasterWeight::new(device, numbers));
        self.push(Parameter { name, shape, trained: false, store })
    }

    /// Adds a frozen int8 tensor, with a scale for each row.
    pub(crate) fn add_bytes(
        &mut self,
        name: String,
        shape: Vec<usize>,
        bytes: Buffer<i8>,
        scales: Buffer<f32>,
    ) -> ParameterId {
        self.push(Parameter {
            name,
            shape,
            trained: false,
            store: WeightStore::Int8 { bytes, scales },
        })
    }

    fn push(&mut self, parameter: Parameter) -> ParameterId {
        self.all.push(parameter);
        ParameterId(self.all.len() - 1)
    }

    /// Every place.
    pub fn ids(&self) -> impl Iterator<Item = ParameterId> + use<> {
        (0..self.all.len()).map(ParameterId)
    }

    /// The ids of the trained parameters, in order.
    pub fn trained(&self) -> impl Iterator<Item = ParameterId> + use<> {
        // Collected, so that a loop over them can write to the tensors.
        let trained: Vec<ParameterId> = self.ids().filter(|&id| self.get(id).trained).collect();
        trained.into_iter()
    }

    /// The tensor at a place.
    pub fn get(&self, id: ParameterId) -> &Parameter {
        &self.all[id.0]
    }

    /// Says whether a tensor is trained.
    ///
    /// # Panics
    ///
    /// If it is to be trained and made of bytes, or was frozen.
    pub fn train(&mut self, id: ParameterId, trained: bool) {
        let parameter = &mut self.all[id.0];
        let plain =
            matches!(&parameter.store, WeightStore::Master(weight) if weight.is_trainable());
        assert!(plain || !trained, "{} is made of bytes, or frozen", parameter.name);
        parameter.trained = trained;
    }

    /// Gives up what only training needs of a tensor, where a device has that apart.
    ///
    /// # Panics
    ///
    /// If it is trained.
    pub(crate) fn freeze(&mut self, id: ParameterId) {
        let parameter = &mut self.all[id.0];
        assert!(!parameter.trained, "{} is trained", parameter.name);
        if let WeightStore::Master(weight) = &mut parameter.store {
            weight.freeze();
        }
    }

    fn master(&self, id: ParameterId) -> &MasterWeight {
        match &self.get(id).store {
            WeightStore::Master(weight) => weight,
            WeightStore::Int8 { .. } => panic!("{} is made of bytes", self.get(id).name),
        }
    }

    /// Its numbers.
    ///
    /// # Panics
    ///
    /// If it is made of bytes, or was frozen.
    pub fn values(&self, id: ParameterId) -> View<'_, f32> {
        self.master(id).numbers()
    }

    /// Its numbers as operations on activations take them.
    ///
    /// # Panics
    ///
    /// If it is made of bytes.
    pub(crate) fn activations(&self, id: ParameterId) -> View<'_> {
        self.master(id).activations()
    }

    /// Its numbers, to write; [`Self::refresh`] follows.
    ///
    /// # Panics
    ///
    /// If it is made of bytes.
    pub fn values_mut(&mut self, id: ParameterId) -> ViewMut<'_, f32> {
        let Parameter { store, name, .. } = &mut self.all[id.0];
        match store {
            WeightStore::Master(weight) => weight.numbers_mut(),
            WeightStore::Int8 { .. } => panic!("{name} is made of bytes"),
        }
    }

    /// Every tensor with master weights, mutable, and whether it is a matrix.
    pub fn masters_mut(&mut self) -> impl Iterator<Item = (ParameterId, bool, &mut MasterWeight)> {
        self.all.iter_mut().enumerate().filter_map(|(at, parameter)| match &mut parameter.store {
            WeightStore::Master(weight) if weight.is_trainable() => {
                Some((ParameterId(at), parameter.shape.len() > 1, weight))
            }
            _ => None,
        })
    }

    /// Brings the copy that products use up to date with numbers that were written.
    pub fn refresh(&mut self, device: &Device, id: ParameterId) {
        if let WeightStore::Master(weight) = &mut self.all[id.0].store {
            weight.refresh(device);
        }
    }

    /// A copy of its numbers, whatever they are made of.
    pub(crate) fn numbers(&self, device: &Device, id: ParameterId) -> Buffer<f32> {
        match &self.get(id).store {
            WeightStore::Master(weight) => weight.to_numbers(device),
            WeightStore::Int8 { bytes, scales } => {
                let mut copy = device.take(self.get(id).numbers());
                unpack(device, &mut copy.view_mut(), bytes.view(), scales.view());
                copy
            }
        }
    }

    /// It as a projection.
    pub(crate) fn weight(&self, id: ParameterId) -> Weight<'_> {
        let parameter = self.get(id);
        let inputs = parameter.shape[1..].iter().product();
        match &parameter.store {
            WeightStore::Master(weight) => Weight::Full(weight.matrix(parameter.shape[0], inputs)),
            WeightStore::Int8 { bytes, scales } => {
                Weight::Int8 { bytes: bytes.view(), scales: scales.view(), inputs }
            }
        }
    }

    /// Whether it is frozen in the format of products, apart from numbers.
    pub(crate) fn is_frozen(&self, id: ParameterId) -> bool {
        matches!(&self.get(id).store, WeightStore::Master(weight) if !weight.is_trainable())
    }

    /// Moves what products use of a matrix among other weights.
    pub(crate) fn move_to(&mut self, device: &Device, id: ParameterId, place: WeightBlock) {
        let parameter = &mut self.all[id.0];
        let (rows, cols) = (parameter.shape[0], parameter.shape[1..].iter().product());
        if let WeightStore::Master(weight) = &mut parameter.store {
            weight.move_to(device, place, Shape { rows, cols });
        }
    }

    /// Moves what products use of a matrix out of the place that [`Self::move_to`] gave it.
    pub(crate) fn move_apart(&mut self, device: &Device, id: ParameterId) {
        if let WeightStore::Master(weight) = &mut self.all[id.0].store {
            weight.move_apart(device);
        }
    }

    /// Numbers of all, and of those that are trained.
    pub fn count(&self) -> (usize, usize) {
        let sum = |trained: bool| {
            let chosen = self.all.iter().filter(|parameter| parameter.trained || !trained);
            chosen.map(Parameter::numbers).sum()
        };
        (sum(false), sum(true))
    }

    /// Number of tensors.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}
