//! Several adapters on one base: each computes what it computes alone, to the bit.

#![expect(clippy::unwrap_used, reason = "a test that cannot begin has failed")]

use std::path::{Path, PathBuf};

use whetstone_core::config::LoraConfig;
use whetstone_kernels::Device;
use whetstone_model::Config;
use whetstone_model::adapter::AdapterSettings;
use whetstone_model::decoder::{
    AdapterId, Decoder, Forward, Gradients, Keep, LoadOptions, ParameterId, Scored, Sequence,
    Signal, WeightFormat,
};
use whetstone_model::safetensors::Safetensors;
use whetstone_model::weights::Dtype;

const TOKENS: [u32; 9] = [5, 9, 2, 31, 7, 7, 40, 3, 11];

fn folder(part: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/qwen3").join(part)
}

fn base() -> Decoder {
    let dir = folder("");
    let config = Config::from_dir(&dir).unwrap();
    let weights = Safetensors::open_dir(&dir).unwrap();
    let options = LoadOptions { weights: WeightFormat::Frozen, positions: 64 };
    Decoder::load(&Device::cpu(1).unwrap(), &config, &weights, options).unwrap()
}

/// The outputs of the active adapter, and the gradients of a signal on all of them.
fn run(decoder: &Decoder) -> (Scored, Gradients) {
    let batch = decoder.batch(&[Sequence { tokens: &TOKENS, asked: 1..TOKENS.len() }]).unwrap();
    let forward = Forward { keep: Some(Keep::Most), ..Forward::default() };
    let (scored, tape) = decoder.forward(&batch, forward);
    let mut gradients = Gradients::new(decoder.device(), decoder.parameters());
    let ones = vec![1.0; batch.asked()];
    let dvalue = scored.value.is_some().then_some(ones.as_slice());
    let signal = Signal { dlogp: &ones, dentropy: None, dvalue };
    decoder.backward(&batch, tape.unwrap(), signal, &mut gradients);
    (scored, gradients)
}

/// The gradients of an adapter's tensors.
fn gradients_of(decoder: &Decoder, adapter: AdapterId, gradients: &Gradients) -> Vec<Vec<f32>> {
    let of = |&id: &ParameterId| decoder.device().read(gradients.get(id).unwrap());
    decoder.tensors_of(adapter).iter().map(of).collect()
}

fn critic_of(decoder: &mut Decoder) {
    decoder.load_adapter(&folder("adapter")).unwrap();
    decoder.add_value_head();
    let [weight, bias] = decoder.value_head_parameters().unwrap();
    let device = decoder.device().clone();
    for (id, value) in [(weight, 0.125), (bias, -0.5)] {
        let numbers = vec![value; decoder.parameters().get(id).numbers()];
        let from = device.upload(&numbers);
        device.copy(&mut decoder.parameters_mut().values_mut(id), from.view());
    }
}

fn policy_of(decoder: &mut Decoder) {
    decoder.add_adapter(&LoraConfig { rank: 3, ..LoraConfig::default() }, 5);
}

#[test]
fn each_adapter_computes_what_it_computes_alone() {
    let mut shared = base();
    let base_only = run(&shared).0;
    let policy = shared.active_adapter();
    policy_of(&mut shared);
    let reward = shared.new_adapter("reward");
    shared.load_adapter(&folder("reward")).unwrap();
    let critic = shared.new_adapter("critic");
    critic_of(&mut shared);
    let reference = shared.new_adapter("reference");
    shared.load_adapter(&folder("adapter")).unwrap();

    let alone = |fill: &dyn Fn(&mut Decoder)| {
        let mut decoder = base();
        fill(&mut decoder);
        let (scored, gradients) = run(&decoder);
        let gradients = gradients_of(&decoder, decoder.active_adapter(), &gradients);
        (scored, gradients)
    };
    let load = |name: &'static str| {
        move |decoder: &mut Decoder| drop(decoder.load_adapter(&folder(name)).unwrap())
    };
    let expected = [
        (policy, alone(&policy_of)),
        (reward, alone(&load("reward"))),
        (critic, alone(&critic_of)),
        (reference, alone(&load("adapter"))),
    ];
    // In this order and back: nothing of one stays in another.
    for (adapter, (scored, gradients)) in expected.iter().chain(expected.iter().rev()) {
        shared.activate(*adapter);
        assert_eq!(shared.active_adapter(), *adapter);
        let (found, all) = run(&shared);
        assert_eq!(found, *scored);
        assert_eq!(gradients_of(&shared, *adapter, &all), *gradients);
        let others = [policy, reward, critic, reference].into_iter().filter(|at| at != adapter);
        for other in others {
            let of = gradients_of(&shared, other, &all);
            assert!(of.iter().flatten().all(|value| *value == 0.0), "a gradient of another");
        }
    }
    shared.activate(policy);
    assert_eq!(run(&shared).0.logp, base_only.logp, "a new adapter changes nothing");
    assert!(expected[2].1.0.value.as_ref().unwrap().iter().any(|value| *value != 0.0));
}

#[test]
fn the_base_is_in_memory_once() {
    let mut shared = base();
    let (all, _) = shared.parameters().count();
    let tensors = |decoder: &Decoder, adapter| -> usize {
        let of = |&id: &ParameterId| decoder.parameters().get(id).numbers();
        decoder.tensors_of(adapter).iter().map(of).sum()
    };
    let first = shared.active_adapter();
    shared.load_adapter(&folder("adapter")).unwrap();
    let others = ["critic", "reference", "reward"].map(|name| {
        let id = shared.new_adapter(name);
        shared.load_adapter(&folder("adapter")).unwrap();
        id
    });
    let each = tensors(&shared, first);
    assert!(each > 0 && others.iter().all(|&id| tensors(&shared, id) == each));
    assert_eq!(shared.parameters().count(), (all + 4 * each, 4 * each));
    assert_eq!(shared.base_parameters().count() + 4 * shared.tensors_of(first).len(), {
        shared.parameters().len()
    });
    shared.train_adapter(others[1], false);
    assert_eq!(shared.parameters().count().1, 3 * each, "the reference is not trained");
}

#[test]
fn a_critic_is_written_and_read_back_with_its_head() {
    let dir = tempfile::tempdir().unwrap();
    let mut shared = base();
    policy_of(&mut shared);
    let policy = shared.active_adapter();
    let critic = shared.new_adapter("critic");
    let settings = shared.load_adapter(&folder("adapter")).unwrap();
    shared.activate(policy);
    let lora = AdapterSettings::new(&LoraConfig { rank: 3, ..LoraConfig::default() });
    shared.export_adapter(&lora, &dir.path().join("policy"), Dtype::F32).unwrap();
    assert!(!dir.path().join("policy/value_head.safetensors").exists());
    shared.activate(critic);
    shared.add_value_head();
    shared.export_adapter(&settings, &dir.path().join("critic"), Dtype::F32).unwrap();

    let mut again = base();
    assert!(again.load_value_head(&dir.path().join("policy")).is_err(), "it has none");
    again.load_adapter(&dir.path().join("critic")).unwrap();
    again.load_value_head(&dir.path().join("critic")).unwrap();
    let ids: Vec<ParameterId> = shared.tensors_of(critic).to_vec();
    let read = |decoder: &Decoder, id| decoder.device().read(decoder.parameters().values(id));
    let own: Vec<Vec<f32>> = ids.iter().map(|&id| read(&shared, id)).collect();
    let loaded = again.tensors_of(again.active_adapter()).iter();
    assert_eq!(loaded.map(|&id| read(&again, id)).collect::<Vec<_>>(), own);
    assert_eq!(run(&again).0, run(&shared).0);
}
