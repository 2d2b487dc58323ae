//! Several adapters on one base: with any of them active a GPU computes what a CPU does.

use whetstone_core::config::LoraConfig;
use whetstone_kernels::{Device, nearest_bf16};
use whetstone_model::Config;
use whetstone_model::decoder::{
    AdapterId, Decoder, Forward, Gradients, Keep, ParameterId, Sequence, Signal,
};

use crate::shapes::heads_of_128;
use crate::support::{Problems, Trained, apart, device, folder, model};

/// Log-probabilities and values, as lengths of whole vectors.
const NEAR: f64 = 3e-2;

/// The error of gradients that `goldens.rs` allows an adapter of this model: 1.15 times that of PyTorch in bf16.
const NEAR_GRADIENTS: f64 = 1.15 * 5.62e-2;

const TOKENS: [u32; 9] = [5, 9, 2, 31, 7, 7, 40, 3, 11];

fn set(decoder: &mut Decoder, id: ParameterId, number: impl Fn(f32) -> f32) {
    let device = decoder.device().clone();
    let parameters = decoder.parameters_mut();
    let old = device.read(parameters.values(id));
    let numbers: Vec<f32> = old.into_iter().map(|x| nearest_bf16(number(x))).collect();
    let from = device.upload::<f32>(&numbers);
    device.copy(&mut parameters.values_mut(id), from.view());
    parameters.refresh(&device, id);
}

/// A policy; a critic whose adapter has the same sizes and other numbers; a reward model whose adapter has not.
struct Adapters {
    decoder: Decoder,
    all: [(&'static str, AdapterId); 3],
}

impl Adapters {
    /// On a processor with weights rounded to what a GPU has of them.
    fn new(device: &Device) -> Self {
        let mut decoder = model(device, "qwen3", Trained::Adapter);
        let policy = decoder.active_adapter();
        let critic = decoder.new_adapter("critic");
        decoder.load_adapter(&folder("qwen3/adapter")).unwrap();
        for id in decoder.tensors_of(critic).to_vec() {
            set(&mut decoder, id, |x| x * -0.75);
        }
        decoder.add_value_head();
        let [weight, bias] = decoder.value_head_parameters().unwrap();
        set(&mut decoder, weight, |_| 0.125);
        set(&mut decoder, bias, |_| -0.5);
        let reward = decoder.new_adapter("reward");
        decoder.load_adapter(&folder("qwen3/reward")).unwrap();
        if let Device::Cpu(_) = device {
            let ids: Vec<ParameterId> = decoder.parameters().ids().collect();
            for id in ids {
                set(&mut decoder, id, |x| x);
            }
        }
        Self { decoder, all: [("policy", policy), ("critic", critic), ("reward", reward)] }
    }
}

/// What the active adapter gives for some tokens: log-probabilities, values, and the gradients of its tensors.
fn outputs(decoder: &Decoder) -> [Vec<f32>; 3] {
    let device = decoder.device();
    let batch = decoder.batch(&[Sequence { tokens: &TOKENS, asked: 1..TOKENS.len() }]).unwrap();
    let forward = Forward { keep: Some(Keep::Most), ..Forward::default() };
    let (scored, trail) = decoder.forward(&batch, forward);
    let mut gradients = Gradients::new(device, decoder.parameters());
    let ones = vec![1.0; batch.asked()];
    let dvalue = scored.value.is_some().then_some(ones.as_slice());
    let signal = Signal { dlogp: &ones, dentropy: None, dvalue };
    decoder.backward(&batch, trail.unwrap(), signal, &mut gradients);
    let of = |&id: &ParameterId| device.read(gradients.get(id).unwrap());
    let own = decoder.tensors_of(decoder.active_adapter()).iter().flat_map(of).collect();
    device.check().unwrap();
    [scored.logp, scored.value.unwrap_or_default(), own]
}

fn bits(outputs: &[Vec<f32>; 3]) -> Vec<u32> {
    outputs.iter().flatten().map(|number| number.to_bits()).collect()
}

#[test]
fn with_any_adapter_active_the_outputs_and_gradients_are_those_of_a_cpu() {
    let Some(device) = device() else { return };
    let alone = bits(&outputs(&model(device, "qwen3", Trained::Adapter)));
    let mut ours = Adapters::new(device);
    let mut theirs = Adapters::new(&Device::cpu(2).unwrap());
    let mut problems = Problems::default();
    let mut first = Vec::new();
    let pairs = ours.all.into_iter().zip(theirs.all);
    for ((name, own), (_, other)) in pairs {
        ours.decoder.activate(own);
        theirs.decoder.activate(other);
        let (found, truth) = (outputs(&ours.decoder), outputs(&theirs.decoder));
        for (what, at, near) in
            [("logp", 0, NEAR), ("value", 1, NEAR), ("gradients", 2, NEAR_GRADIENTS)]
        {
            let off = apart(&found[at], &truth[at]);
            println!("{name} {what}: {off:.1e} of {} numbers", truth[at].len());
            problems.near(&format!("{name} {what}"), off, near);
        }
        assert_eq!(truth[1].is_empty(), name == "policy", "values of {name}");
        assert!(truth[2].iter().any(|x| *x != 0.0), "gradients of {name}");
        first.push(bits(&found));
    }
    // Another adapter gives other numbers, and each the same again after the others.
    assert!(first[0] != first[1][..first[0].len()]);
    problems.same("policy alone", &first[0], &alone);
    for ((name, id), before) in ours.all.into_iter().zip(&first).rev() {
        ours.decoder.activate(id);
        problems.same(&format!("{name} again"), &bits(&outputs(&ours.decoder)), before);
    }
    problems.none();
}

#[test]
fn the_base_is_on_the_device_once() {
    if device().is_none() {
        return;
    }
    // A pool of its own.
    let gpu = Device::cuda(0).unwrap();
    let config = Config { vocab: 8192, width: 512, layers: 6, ffn: 1536, ..heads_of_128() };
    let mut decoder = Decoder::new(&gpu, &config, 1, 64);
    decoder.freeze_base();
    let lora = LoraConfig { rank: 16, ..LoraConfig::default() };
    decoder.add_adapter(&lora, 2);
    let policy = decoder.active_adapter();
    let base: usize =
        decoder.base_parameters().map(|id| decoder.parameters().get(id).numbers()).sum();
    let held = |decoder: &Decoder| {
        outputs(decoder);
        gpu.trim();
        gpu.held_bytes()
    };
    let one = held(&decoder);
    // A critic of the same sizes, and a reward model of others, which is computed by itself.
    for (name, rank) in [("critic", 16), ("reward", 8)] {
        let before = held(&decoder);
        let added = decoder.new_adapter(name);
        decoder.add_adapter(&LoraConfig { rank, ..LoraConfig::default() }, 3);
        let numbers = |&id: &ParameterId| decoder.parameters().get(id).numbers();
        let own: usize = decoder.tensors_of(added).iter().map(numbers).sum();
        // Four bytes of each number, and two of those of an adapter that is not active.
        let allowed = 8 * own.max(1 << 17) + (1 << 20);
        assert!(
            2 * base > 3 * allowed,
            "the base would be seen: {base} numbers, {allowed} allowed"
        );
        let more = held(&decoder).saturating_sub(before);
        println!("{name}: {more} bytes more for {own} numbers on {before}");
        assert!(more <= allowed, "{name}: {more} bytes more for {own} numbers");
    }
    decoder.activate(policy);
    let again = held(&decoder);
    assert!(again < one + base, "{one} bytes with one adapter, {again} with three");
}
