//! The numbers of transformers, within what bf16 rounds.

use whetstone_kernels::{Device, nearest_bf16};
use whetstone_model::decoder::{DecodeStep, Decoder, Keep, Prefill};

use crate::support::{
    Back, FAMILIES, Golden, HeadActivations, Problems, Trained, apart, both_ways, device, model,
};

/// Log-probabilities and entropies, as lengths of whole vectors.
const NEAR: f64 = 2e-2;

/// Logits, which are small beside their rounding where a tiny model has no opinion.
const NEAR_LOGITS: f64 = 3e-2;

/// These models are tiny and their gradients sensitive: that of a model whose weights alone were rounded to
/// bf16 is 1.9e-2 to 4.3e-2 off. PyTorch in bf16, whole and adapter, by `xtask/goldens/bf16.py` (torch 2.11,
/// transformers 5.17, an H200).
const PYTORCH_BF16: [[f64; 2]; 3] = [[4.60e-2, 8.61e-2], [6.45e-2, 9.84e-2], [3.18e-2, 5.62e-2]];

/// The largest ratio of our error to PyTorch's.
const TIMES_PYTORCH: f64 = 1.15;

/// The same model on the CPU, its weights rounded to what a GPU has of them.
fn rounded_weights(family: &str, trained: Trained) -> Decoder {
    let cpu = Device::cpu(2).unwrap();
    let mut decoder = model(&cpu, family, trained);
    let ids: Vec<_> = decoder.parameters().ids().collect();
    for id in ids {
        let parameters = decoder.parameters_mut();
        let numbers = cpu.read(parameters.values(id)).into_iter().map(nearest_bf16);
        let rounded = cpu.upload::<f32>(&numbers.collect::<Vec<_>>());
        cpu.copy(&mut parameters.values_mut(id), rounded.view());
    }
    decoder
}

#[test]
fn log_probabilities_entropies_and_gradients_are_those_of_transformers() {
    let Some(device) = device() else { return };
    let mut problems = Problems::default();
    let kinds = |peers: [f64; 2]| {
        [(Trained::Whole, "full", peers[0]), (Trained::Adapter, "lora", peers[1])]
    };
    let all = FAMILIES.iter().zip(PYTORCH_BF16).flat_map(|(family, peers)| {
        kinds(peers).map(|(trained, prefix, peer)| (family, trained, prefix, peer))
    });
    for (family, trained, prefix, peer) in all {
        let (golden, decoder) = (Golden::open(family), model(device, family, trained));
        let tokens = golden.tokens();
        let (dlogp, dentropy) = (golden.get("dlogp"), golden.get("dentropy"));
        let back = Back { dlogp: &dlogp, dentropy: Some(&dentropy) };
        let both = |decoder| both_ways(decoder, &[&Golden::sequences(&tokens)], Keep::Most, back);
        let (said, rounded) = (both(&decoder), both(&rounded_weights(family, trained)));
        let theirs = |name: &str| golden.get(&format!("{prefix}.{name}"));
        for (name, numbers) in [("logp", &said.logp), ("entropy", &said.entropy)] {
            let off = apart(numbers, &theirs(name));
            println!("{family} {prefix} {name}: {off:.1e}");
            problems.near(&format!("{family} {prefix} {name}"), off, NEAR);
        }
        let whole = |said: &HeadActivations| -> Vec<f32> {
            said.gradients.iter().flat_map(|(_, numbers)| numbers).copied().collect()
        };
        let truth: Vec<f32> = said.gradients.iter().flat_map(|(name, _)| theirs(name)).collect();
        let (off, weights) = (apart(&whole(&said), &truth), apart(&whole(&rounded), &truth));
        let rounded = apart(&whole(&said), &whole(&rounded));
        println!(
            "{family} {prefix} all gradients: {off:.1e}, of rounded weights {weights:.1e}, from these {rounded:.1e}"
        );
        problems.near(&format!("{family} {prefix} all gradients"), off, peer * TIMES_PYTORCH);
    }
    problems.none();
}

#[test]
fn a_prompt_at_once_and_token_by_token_have_the_logits_of_transformers() {
    let Some(device) = device() else { return };
    let mut problems = Problems::default();
    for family in FAMILIES {
        let (golden, decoder) = (Golden::open(family), model(device, family, Trained::Whole));
        let tokens = &golden.tokens()[2];
        let (theirs, vocab) = (golden.get("logits"), decoder.config().vocab);
        let mut cache = decoder.cache(4);
        let at_once = decoder.prefill(&mut cache, &[Prefill { tokens, pages: &[2, 0] }]);
        let at_once = device.read(at_once.view());
        let off = apart(&at_once, &theirs[(tokens.len() - 1) * vocab..]);
        println!("{family}: logits of the last token {off:.1e}");
        let mut all = Vec::new();
        for (position, &token) in tokens.iter().enumerate() {
            let mut step = DecodeStep::default();
            step.add(token, position, &[3, 1]);
            let logits = decoder.step(&mut cache, &step);
            all.extend(device.read(logits.view()));
        }
        device.check().unwrap();
        let off = apart(&all, &theirs);
        println!("{family}: logits {off:.1e}");
        problems.near(&format!("{family} token by token"), off, NEAR_LOGITS);
        let last: Vec<u32> = all[all.len() - vocab..].iter().map(|x| x.to_bits()).collect();
        let at_once: Vec<u32> = at_once.iter().map(|x| x.to_bits()).collect();
        problems.same(&format!("{family}, at once and token by token"), &at_once, &last);
    }
    problems.none();
}
