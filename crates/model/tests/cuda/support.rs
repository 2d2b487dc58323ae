//! The device, models on it, and comparisons.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use whetstone_kernels::{Device, DeviceError};
use whetstone_model::decoder::{
    Decoder, Forward, Gradients, Keep, LoadOptions, Sequence, Signal, WeightFormat,
};
use whetstone_model::safetensors::Safetensors;
use whetstone_model::{Config, Weights};

pub(crate) const FAMILIES: [&str; 3] = ["llama", "qwen2", "qwen3"];

/// Where a place of each golden sequence is first asked for.
const FIRST_ASKED: [usize; 3] = [1, 5, 22];

/// What of a model is trained.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Trained {
    Whole,
    Adapter,
}

/// The GPU, opened once; none on a machine without one, which is said.
pub(crate) fn device() -> Option<&'static Device> {
    static DEVICE: OnceLock<Result<Device, DeviceError>> = OnceLock::new();
    match DEVICE.get_or_init(|| Device::cuda(0)) {
        Ok(device) => Some(device),
        Err(missing @ (DeviceError::NoDriver | DeviceError::NoDevice { .. })) => {
            eprintln!("SKIPPED: {missing}");
            None
        }
        Err(error) => panic!("the GPU cannot be used: {error}"),
    }
}

pub(crate) fn folder(family: &str) -> PathBuf {
    let own = || Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    std::env::var_os("WHET_TESTDATA").map_or_else(own, PathBuf::from).join(family)
}

pub(crate) fn model(device: &Device, family: &str, trained: Trained) -> Decoder {
    let dir = folder(family);
    let config = Config::from_dir(&dir).unwrap();
    let weights = Safetensors::open_dir(&dir).unwrap();
    let format = match trained {
        Trained::Whole => WeightFormat::Trainable,
        Trained::Adapter => WeightFormat::Frozen,
    };
    let options = LoadOptions { weights: format, positions: 128 };
    let mut decoder = Decoder::load(device, &config, &weights, options).unwrap();
    match trained {
        Trained::Whole => decoder.train_base(true),
        Trained::Adapter => drop(decoder.load_adapter(&dir.join("adapter")).unwrap()),
    }
    decoder
}

/// What transformers computed.
pub(crate) struct Golden {
    pub(crate) file: Safetensors,
}

impl Golden {
    pub(crate) fn open(family: &str) -> Self {
        let path = folder(family).join("golden.safetensors");
        Self { file: Safetensors::open_file(&path).unwrap() }
    }

    pub(crate) fn get(&self, name: &str) -> Vec<f32> {
        let mut out = vec![0.0; self.file.tensor(name).unwrap().numbers()];
        self.file.read(name, &mut out).unwrap();
        out
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "token ids")]
    pub(crate) fn tokens(&self) -> [Vec<u32>; 3] {
        [0, 1, 2].map(|at| self.get(&format!("tokens.{at}")).iter().map(|&id| id as u32).collect())
    }

    pub(crate) fn sequences(tokens: &[Vec<u32>; 3]) -> Vec<Sequence<'_>> {
        let both = tokens.iter().zip(FIRST_ASKED);
        both.map(|(tokens, first)| Sequence { tokens, asked: first..tokens.len() }).collect()
    }
}

/// What a model says of sequences, and the gradients of a signal, added batch by batch.
pub(crate) struct HeadActivations {
    pub(crate) logp: Vec<f32>,
    pub(crate) entropy: Vec<f32>,
    /// By name.
    pub(crate) gradients: Vec<(String, Vec<f32>)>,
}

/// What is sent back: a number for each log-probability and, if the loss has such a term, for each
/// entropy.
#[derive(Clone, Copy)]
pub(crate) struct Back<'a> {
    pub(crate) dlogp: &'a [f32],
    pub(crate) dentropy: Option<&'a [f32]>,
}

/// Sends batches both ways, one after another.
pub(crate) fn both_ways(
    decoder: &Decoder,
    batches: &[&[Sequence<'_>]],
    keep: Keep,
    back: Back<'_>,
) -> HeadActivations {
    let device = decoder.device();
    let mut sums = Gradients::new(device, decoder.parameters());
    let (mut logp, mut entropy) = (Vec::new(), Vec::new());
    for sequences in batches {
        let batch = decoder.batch(sequences).unwrap();
        let entropies = back.dentropy.is_some();
        let forward = Forward { keep: Some(keep), entropies, ..Forward::default() };
        let (scored, trail) = decoder.forward(&batch, forward);
        let rows = logp.len()..logp.len() + scored.logp.len();
        let dentropy = back.dentropy.map(|all| &all[rows.clone()]);
        let signal = Signal { dlogp: &back.dlogp[rows], dentropy, dvalue: None };
        decoder.backward(&batch, trail.unwrap(), signal, &mut sums);
        logp.extend(scored.logp);
        entropy.extend(scored.entropy);
    }
    let parameters = decoder.parameters();
    let of = |id| Some((parameters.get(id).name.clone(), device.read(sums.get(id)?)));
    let gradients = parameters.ids().filter_map(of).collect();
    device.check().unwrap();
    HeadActivations { logp, entropy, gradients }
}

impl HeadActivations {
    /// Every number's bits, in order.
    pub(crate) fn bits(&self) -> Vec<u32> {
        let gradients = self.gradients.iter().flat_map(|(_, numbers)| numbers);
        let all = self.logp.iter().chain(&self.entropy).chain(gradients);
        all.map(|number| number.to_bits()).collect()
    }
}

/// The length of the difference, in units of the length of the truth; a NaN is never near.
pub(crate) fn apart(ours: &[f32], truth: &[f32]) -> f64 {
    assert_eq!(ours.len(), truth.len());
    let square = |numbers: &mut dyn Iterator<Item = f64>| numbers.map(|x| x * x).sum::<f64>();
    let both = ours.iter().zip(truth);
    let off = square(&mut both.map(|(ours, truth)| f64::from(*ours) - f64::from(*truth)));
    let size = square(&mut truth.iter().map(|truth| f64::from(*truth)));
    let apart = (off / size.max(1e-30)).sqrt();
    if apart.is_nan() { f64::INFINITY } else { apart }
}

/// Numbers that are too far apart; all are said at the end.
#[derive(Default)]
pub(crate) struct Problems(Vec<String>);

impl Problems {
    pub(crate) fn near(&mut self, what: &str, apart: f64, allowed: f64) {
        if apart > allowed {
            self.0.push(format!("{what}: {apart:.1e} apart, {allowed:.0e} allowed"));
        }
    }

    pub(crate) fn same(&mut self, what: &str, ours: &[u32], others: &[u32]) {
        let differ = ours.iter().zip(others).filter(|(a, b)| a != b).count();
        if ours.len() != others.len() || differ > 0 {
            self.0.push(format!("{what}: {differ} of {} numbers have other bits", ours.len()));
        }
    }

    pub(crate) fn none(self) {
        assert!(self.0.is_empty(), "{}", self.0.join("\n"));
    }
}
