//! Untrained models and adapters.

#![expect(clippy::unwrap_used, reason = "a test that cannot begin has failed")]

use std::path::Path;

use whetstone_core::config::LoraConfig;
use whetstone_kernels::Device;
use whetstone_model::Config;
use whetstone_model::decoder::{Decoder, Forward, Gradients, Keep, ParameterId, Sequence, Signal};

/// Qwen2 has biases; two layers, 128 positions.
fn fresh() -> Decoder {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/qwen2");
    let config = Config::from_dir(&dir).unwrap();
    Decoder::new(&Device::cpu(1).unwrap(), &config, 9, 1000)
}

fn numbers(decoder: &Decoder, id: ParameterId) -> Vec<f32> {
    decoder.device().read(decoder.parameters().values(id))
}

/// The root of the mean square, and the largest.
fn spread(numbers: &[f32]) -> (f32, f32) {
    let count = u16::try_from(numbers.len()).unwrap();
    let square: f32 = numbers.iter().map(|x| x * x).sum();
    let largest = numbers.iter().fold(0.0, |largest, x| f32::max(largest, x.abs()));
    ((square / f32::from(count)).sqrt(), largest)
}

#[test]
fn a_new_model_has_small_weights_gains_of_one_and_biases_of_zero() {
    let decoder = fresh();
    for id in decoder.parameters().ids() {
        let name = &decoder.parameters().get(id).name;
        let numbers = numbers(&decoder, id);
        if name.ends_with("bias") {
            assert!(numbers.iter().all(|&x| x == 0.0), "{name}");
        } else if name.contains("norm") {
            assert_eq!(numbers, vec![1.0; numbers.len()], "{name}");
        } else {
            // Even over ±0.02·√3, which is 0.0346.
            let (deviation, largest) = spread(&numbers);
            assert!((deviation - 0.02).abs() < 0.001, "{name}: {deviation}");
            assert!((0.034..0.0347).contains(&largest), "{name}: {largest}");
        }
    }
    assert_eq!(decoder.positions(), 128, "no more than it was made for");
}

#[test]
fn a_new_adapter_is_spread_by_its_inputs_changes_nothing_and_freezes_the_rest() {
    let mut decoder = fresh();
    let tokens: Vec<u32> = (0..40).map(|at| at * 5 % 64).collect();
    let logps = |decoder: &Decoder| {
        let batch = decoder.batch(&[Sequence { tokens: &tokens, asked: 1..40 }]).unwrap();
        decoder.forward(&batch, Forward::default()).0.logp
    };
    let before = logps(&decoder);
    decoder.train_base(true);
    decoder.add_adapter(&LoraConfig { rank: 16, ..LoraConfig::default() }, 4);
    assert_eq!(logps(&decoder), before);
    let adapter: Vec<ParameterId> = decoder.adapter_parameters().collect();
    for id in decoder.parameters().ids() {
        let parameter = decoder.parameters().get(id);
        assert_eq!(parameter.trained, adapter.contains(&id), "{}", parameter.name);
    }
    for id in adapter {
        let parameter = decoder.parameters().get(id);
        let numbers = numbers(&decoder, id);
        if parameter.name.contains("lora_B") {
            assert!(numbers.iter().all(|&x| x == 0.0), "{}", parameter.name);
            continue;
        }
        let bound = 1.0 / f32::from(u16::try_from(parameter.shape[1]).unwrap()).sqrt();
        let (_, largest) = spread(&numbers);
        assert!(
            largest <= bound && largest > bound * 0.97,
            "{}: {largest} {bound}",
            parameter.name
        );
    }
    let (all, trained) = decoder.parameters().count();
    let base: usize =
        decoder.base_parameters().map(|id| decoder.parameters().get(id).numbers()).sum();
    assert_eq!(all - trained, base);
}

#[test]
fn gradients_add_up_until_they_are_cleared() {
    let mut decoder = fresh();
    decoder.train_base(true);
    let tokens: Vec<u32> = (0..20).collect();
    let mut gradients = Gradients::new(decoder.device(), decoder.parameters());
    let id = decoder.parameters().ids().last().unwrap();
    let add = |gradients: &mut Gradients| {
        let batch = decoder.batch(&[Sequence { tokens: &tokens, asked: 1..20 }]).unwrap();
        let forward = Forward { keep: Some(Keep::Most), ..Forward::default() };
        let (_, trail) = decoder.forward(&batch, forward);
        let signal = Signal { dlogp: &[1.0; 19], dentropy: None, dvalue: None };
        decoder.backward(&batch, trail.unwrap(), signal, gradients);
        decoder.device().read(gradients.get(id).unwrap())
    };
    let once = add(&mut gradients);
    let twice = add(&mut gradients);
    for (one, two) in once.iter().zip(&twice) {
        assert!((two - 2.0 * one).abs() <= 1e-5 * one.abs().max(1.0), "{one} {two}");
    }
    gradients.clear(decoder.device());
    assert_eq!(add(&mut gradients), once);
}

#[test]
fn a_temperature_divides_logits() {
    let decoder = fresh();
    let tokens: Vec<u32> = (0..20).collect();
    let batch = decoder.batch(&[Sequence { tokens: &tokens, asked: 1..20 }]).unwrap();
    let entropy = |temperature| {
        let forward = Forward { temperature, ..Forward::default() };
        decoder.forward(&batch, forward).0.entropy.iter().sum::<f32>()
    };
    assert!(entropy(0.1) < entropy(1.0) && entropy(1.0) < entropy(10.0));
}
