//! From files, or from a seed, to a decoder.

use whetstone_kernels::attention::Shape;
use whetstone_kernels::int8::pack_row;
use whetstone_kernels::philox::uniform;
use whetstone_kernels::rope::RopeTable;
use whetstone_kernels::{Buffer, Device};

use super::adapt::{SCORE_WEIGHT, VALUE_BIAS, VALUE_WEIGHT};
use super::adapters::AdapterSlot;
use super::layer::{Layer, QkNorm};
use super::parameters::{ParameterId, Parameters};
use super::pass::LayerSizes;
use super::projection::Projection;
use super::{Decoder, ValueHead};
use crate::config::Config;
use crate::layout::{ExpectedTensor, expected_tensors};
use crate::weights::{Weights, WeightsError};

/// The storage of the model's own weights. Adapters can always be trained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WeightFormat {
    /// As they are, so that they can be trained.
    Trainable,
    /// As products take them: on CUDA in bf16 alone.
    Frozen,
    /// Projections as bytes with a scale a row, the rest as products take it.
    Int8,
}

impl WeightFormat {
    /// Of weights that are not trained.
    pub fn frozen(eight_bit: bool) -> Self {
        if eight_bit { Self::Int8 } else { Self::Frozen }
    }
}

/// The options of loading a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadOptions {
    /// The storage of weights.
    pub weights: WeightFormat,
    /// The longest sequence that will come.
    pub positions: usize,
}

impl Decoder {
    /// Reads a model.
    ///
    /// # Errors
    ///
    /// If a tensor is missing, has another shape, or has a non-finite value.
    pub fn load(
        device: &Device,
        config: &Config,
        weights: &dyn Weights,
        options: LoadOptions,
    ) -> Result<Self, WeightsError> {
        let mut parameters = Parameters::default();
        for ExpectedTensor { name, shape } in expected_tensors(config) {
            weights.expect_shape(&name, &shape)?;
            if options.weights == WeightFormat::Int8 && name.ends_with("_proj.weight") {
                let (bytes, scales) = read_bytes(device, weights, &name, &shape)?;
                parameters.add_bytes(name, shape, bytes, scales);
            } else {
                let count = shape.iter().product();
                let buffer = device.load(count, |to| weights.read(&name, to))?;
                let id = parameters.add(device, name, shape, buffer);
                if options.weights != WeightFormat::Trainable {
                    parameters.freeze(id);
                }
            }
        }
        Ok(Self::assemble(device, config, parameters, options.positions))
    }

    /// A new model: projections and the embedding spread evenly with a deviation of 0.02, gains 1.
    pub fn new(device: &Device, config: &Config, seed: u64, positions: usize) -> Self {
        let options = LoadOptions { weights: WeightFormat::Trainable, positions };
        Self::made(device, config, options, |at, ExpectedTensor { name, shape }| {
            let count = shape.iter().product();
            match shape.len() {
                1 if name.ends_with("bias") => vec![0.0; count],
                1 => vec![1.0; count],
                _ => spread(count, 0.02 * 3f64.sqrt(), seed, at),
            }
        })
    }

    /// A model from the values of a function, called tensor by tensor. Int8 weights are frozen.
    pub fn made(
        device: &Device,
        config: &Config,
        options: LoadOptions,
        mut values: impl FnMut(u64, &ExpectedTensor) -> Vec<f32>,
    ) -> Self {
        let mut parameters = Parameters::default();
        for (at, tensor) in (0..).zip(expected_tensors(config)) {
            let buffer = device.upload(&values(at, &tensor));
            let id = parameters.add(device, tensor.name, tensor.shape, buffer);
            if options.weights != WeightFormat::Trainable {
                parameters.freeze(id);
            }
        }
        Self::assemble(device, config, parameters, options.positions)
    }

    #[expect(clippy::cast_possible_truncation, reason = "a small number, used in f32")]
    fn assemble(
        device: &Device,
        config: &Config,
        parameters: Parameters,
        positions: usize,
    ) -> Self {
        let mut places = TensorIds { ids: parameters.ids(), config };
        let embedding = places.next();
        let layers = (0..config.layers).map(|_| places.layer()).collect();
        let norm = places.next();
        let head = if config.tied_head { embedding } else { places.next() };
        let frequencies = config.frequencies();
        let turns = RopeTable::new(
            device,
            &frequencies.inverse,
            frequencies.attention_factor,
            positions.min(config.positions),
        );
        let shape = Shape {
            heads: config.heads,
            kv_heads: config.kv_heads,
            size: config.head_dim,
            scale: scale_of(config.head_dim),
        };
        let epsilon = config.rms_eps as f32;
        Self {
            device: device.clone(),
            config: config.clone(),
            sizes: LayerSizes { width: config.width, ffn: config.ffn, epsilon, shape },
            base_tensors: parameters.len(),
            parameters,
            embedding,
            layers,
            norm,
            head,
            value: None,
            adapters: vec![AdapterSlot::default()],
            active: 0,
            turns,
        }
    }

    /// Says of every tensor of the model itself, adapters and heads for values aside, whether it is
    /// trained.
    pub fn train_base(&mut self, trained: bool) {
        let ids: Vec<ParameterId> = self.base_parameters().collect();
        for id in ids {
            self.parameters.train(id, trained);
        }
    }

    /// Gives up what only training needs of the model's own tensors, where a device has that apart.
    ///
    /// # Panics
    ///
    /// If one of them is trained.
    pub fn freeze_base(&mut self) {
        let ids: Vec<ParameterId> = self.base_parameters().collect();
        for id in ids {
            self.parameters.freeze(id);
        }
    }

    /// Gives the model a value head of zeros, which is trained: a critic's, with a bias.
    ///
    /// # Panics
    ///
    /// If the model has a head for values.
    pub fn add_value_head(&mut self) {
        let width = self.sizes.width;
        self.put_value_head(&vec![0.0; width], 0.0);
    }

    /// Adds a value head with these weights.
    pub(crate) fn put_value_head(&mut self, weights: &[f32], bias: f32) {
        let weight = self.add_to_adapter(VALUE_WEIGHT, vec![1, weights.len()], weights);
        let bias = self.add_to_adapter(VALUE_BIAS, vec![1], &[bias]);
        self.set_value_head(ValueHead { weight, bias: Some(bias) });
    }

    /// Gives the model a score head of zeros, which is trained: that of a reward or process reward
    /// model, without a bias, as transformers' `…ForSequenceClassification` has it.
    ///
    /// # Panics
    ///
    /// If the model has a head for values.
    pub fn add_score_head(&mut self) {
        self.put_score_head(&vec![0.0; self.sizes.width]);
    }

    /// Adds a score head with these weights.
    pub(crate) fn put_score_head(&mut self, weights: &[f32]) {
        let weight = self.add_to_adapter(SCORE_WEIGHT, vec![1, weights.len()], weights);
        self.set_value_head(ValueHead { weight, bias: None });
    }

    fn set_value_head(&mut self, head: ValueHead) {
        assert!(self.value.is_none(), "the model has a head for values");
        self.value = Some(head);
    }
}

#[expect(clippy::cast_precision_loss, reason = "a head is small")]
fn scale_of(size: usize) -> f32 {
    1.0 / (size as f32).sqrt()
}

/// Numbers evenly spread over `±bound`.
#[expect(clippy::cast_possible_truncation, reason = "computed in f64, kept in f32")]
pub(crate) fn spread(count: usize, bound: f64, seed: u64, tensor: u64) -> Vec<f32> {
    let at = |position| ((uniform(seed, tensor, position) * 2.0 - 1.0) * bound) as f32;
    (0..count as u64).map(at).collect()
}

fn read_bytes(
    device: &Device,
    weights: &dyn Weights,
    name: &str,
    shape: &[usize],
) -> Result<(Buffer<i8>, Buffer<f32>), WeightsError> {
    let (rows, inputs) = (shape[0], shape[1..].iter().product::<usize>());
    let mut scales = vec![0.0; rows];
    let bytes = device.load(rows * inputs, |to: &mut [i8]| {
        let mut row_values = vec![0.0; inputs];
        for (row, (to, scale)) in to.chunks_exact_mut(inputs).zip(&mut scales).enumerate() {
            weights.read_rows(name, row, &mut row_values)?;
            *scale = pack_row(&row_values, to);
        }
        Ok(())
    })?;
    Ok((bytes, device.upload(&scales)))
}

/// Hands out places in the order of [`expected_tensors`].
struct TensorIds<'a, I> {
    ids: I,
    config: &'a Config,
}

impl<I: Iterator<Item = ParameterId>> TensorIds<'_, I> {
    fn next(&mut self) -> ParameterId {
        self.ids.next().expect("as many as the layout has")
    }

    fn projection(&mut self, biased: bool) -> Projection {
        let weight = self.next();
        Projection { weight, bias: biased.then(|| self.next()), adapter: None }
    }

    fn layer(&mut self) -> Layer {
        let (biased, normed) = (self.config.qkv_bias, self.config.qk_norm);
        Layer {
            before_attention: self.next(),
            q: self.projection(biased),
            k: self.projection(biased),
            v: self.projection(biased),
            qk_norm: normed.then(|| QkNorm { q: self.next(), k: self.next() }),
            o: self.projection(false),
            before_network: self.next(),
            gate: self.projection(false),
            up: self.projection(false),
            down: self.projection(false),
            fused: None,
        }
    }
}
