//! Heads for values: the scores and gradients of transformers' reward models, and a critic's.
//!
//! Made by `xtask/goldens/models.py`, whose head says how.

#![expect(clippy::unwrap_used, reason = "a test that cannot begin has failed")]

use std::path::{Path, PathBuf};

use whetstone_core::config::LoraConfig;
use whetstone_kernels::Device;
use whetstone_model::adapter::AdapterSettings;
use whetstone_model::decoder::{
    Decoder, Forward, Gradients, Keep, LoadOptions, ParameterId, Sequence, Signal, WeightFormat,
};
use whetstone_model::safetensors::Safetensors;
use whetstone_model::weights::Dtype;
use whetstone_model::{Config, Weights};

const FAMILIES: [&str; 3] = ["llama", "qwen2", "qwen3"];

fn folder(family: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(family)
}

fn get(file: &Safetensors, name: &str) -> Vec<f32> {
    let mut out = vec![0.0; file.tensor(name).unwrap().numbers()];
    file.read(name, &mut out).unwrap();
    out
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "token ids")]
fn tokens(family: &str) -> [Vec<u32>; 3] {
    let file = Safetensors::open_file(&folder(family).join("golden.safetensors")).unwrap();
    [0, 1, 2].map(|at| get(&file, &format!("tokens.{at}")).iter().map(|&id| id as u32).collect())
}

fn model(family: &str) -> Decoder {
    let dir = folder(family);
    let config = Config::from_dir(&dir).unwrap();
    let weights = Safetensors::open_dir(&dir).unwrap();
    let options = LoadOptions { weights: WeightFormat::Trainable, positions: 128 };
    Decoder::load(&Device::cpu(2).unwrap(), &config, &weights, options).unwrap()
}

/// The largest difference, in units of the largest number.
fn difference(ours: &[f32], theirs: &[f32]) -> f32 {
    assert_eq!(ours.len(), theirs.len());
    let size = theirs.iter().fold(1e-6f32, |size, x| size.max(x.abs()));
    ours.iter().zip(theirs).fold(0.0, |worst, (a, b)| f32::max(worst, (a - b).abs() / size))
}

/// Values behind every token of every sequence, and the gradients of `Σ dvalue · value`.
fn run(decoder: &Decoder, tokens: &[Vec<u32>], dvalue: Option<&[f32]>) -> (Vec<f32>, Gradients) {
    let of = |tokens| Sequence { tokens, asked: 1..tokens.len() + 1 };
    let sequences: Vec<Sequence<'_>> = tokens.iter().map(|tokens| of(tokens.as_slice())).collect();
    let batch = decoder.batch(&sequences).unwrap();
    let forward = Forward { keep: Some(Keep::Most), ..Forward::default() };
    let (scored, trail) = decoder.forward(&batch, forward);
    let mut gradients = Gradients::new(decoder.device(), decoder.parameters());
    let signal = Signal { dlogp: &vec![0.0; batch.asked()], dentropy: None, dvalue };
    decoder.backward(&batch, trail.unwrap(), signal, &mut gradients);
    (scored.value.unwrap(), gradients)
}

/// Numbers of both signs whose sum is not 0.
fn wave(count: usize, size: f32) -> Vec<f32> {
    [-4.0, 3.0, 1.0, -2.0, 6.0, 0.0, -1.0].iter().map(|x| x * size).cycle().take(count).collect()
}

fn set(decoder: &mut Decoder, id: ParameterId, values: &[f32]) {
    let device = decoder.device().clone();
    let from = device.upload(values);
    device.copy(&mut decoder.parameters_mut().values_mut(id), from.view());
}

fn named(decoder: &Decoder, name: &str) -> ParameterId {
    decoder.parameters().ids().find(|&id| decoder.parameters().get(id).name == name).unwrap()
}

#[test]
fn a_reward_model_of_peft_has_the_scores_and_gradients_of_transformers() {
    for family in FAMILIES {
        let mut decoder = model(family);
        let settings = decoder.load_adapter(&folder(family).join("reward")).unwrap();
        assert!(settings.score && decoder.has_score_head());
        let golden = Safetensors::open_file(&folder(family).join("reward.safetensors")).unwrap();
        let tokens = tokens(family);
        let (scores, gradients) = run(&decoder, &tokens, Some(&get(&golden, "dscore")));
        let mut worst = difference(&scores, &get(&golden, "scores"));
        // A reward model's answer is the score behind the last token.
        let mut end = 0;
        let last = tokens.each_ref().map(|tokens| {
            end += tokens.len();
            scores[end - 1]
        });
        worst = worst.max(difference(&last, &get(&golden, "last")));
        let mut seen = 0;
        for id in decoder.parameters().ids() {
            let Some(ours) = gradients.get(id) else { continue };
            let name = format!("grad.{}", decoder.parameters().get(id).name);
            worst = worst.max(difference(&decoder.device().read(ours), &get(&golden, &name)));
            seen += 1;
        }
        assert_eq!(seen, golden.names().len() - 3, "every gradient was compared");
        println!("{family}: scores and {seen} gradients, worst relative difference {worst:.1e}");
        assert!(worst < 1e-4, "{family}: {worst:.1e}");
    }
}

#[test]
fn a_trained_reward_model_is_written_and_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let mut decoder = model("qwen3");
    let lora = LoraConfig { rank: 3, ..LoraConfig::default() };
    decoder.add_score_head();
    decoder.add_adapter(&lora, 5);
    let trained: Vec<ParameterId> = decoder.adapter_parameters().collect();
    assert_eq!(trained.len(), 2 * 7 * 2 + 1);
    for &id in &trained {
        assert!(decoder.parameters().get(id).trained);
        let count = decoder.parameters().get(id).numbers();
        let values: Vec<f32> = wave(count, 0.05);
        set(&mut decoder, id, &values);
    }
    let to = dir.path().join("reward");
    decoder.export_adapter(&AdapterSettings::new(&lora), &to, Dtype::F32).unwrap();
    let mut again = model("qwen3");
    let settings = again.load_adapter(&to).unwrap();
    assert!(settings.score);
    let tokens = tokens("qwen3");
    let (ours, theirs) = (run(&again, &tokens, None).0, run(&decoder, &tokens, None).0);
    assert_eq!(ours, theirs);
    assert!(ours.iter().any(|score| score.abs() > 0.1));
    assert_eq!(again.parameters().count(), decoder.parameters().count());
}

/// The scores of the three sequences by `xtask/goldens/reward_model.py`, with the directory that the test
/// below writes (set `WRITE_REWARD_MODEL` to a new directory to have it, with the tokens beside it).
const OF_TRANSFORMERS: [(&str, [f32; 3]); 3] = [
    ("llama", [-0.946_097, 0.454_235_14, 0.457_808_4]),
    ("qwen2", [-0.830_535_9, 0.501_584_23, -0.718_709_1]),
    ("qwen3", [-0.946_287_4, -0.613_191_5, 0.343_145_07]),
];

#[test]
fn transformers_reads_what_is_written_and_gives_the_same_scores() {
    let mut worst = 0.0_f32;
    for (family, theirs) in OF_TRANSFORMERS {
        let mut decoder = model(family);
        let lora = LoraConfig { rank: 3, ..LoraConfig::default() };
        decoder.add_adapter(&lora, 5);
        decoder.add_score_head();
        let trained: Vec<ParameterId> = decoder.adapter_parameters().collect();
        for &id in &trained {
            let count = decoder.parameters().get(id).numbers();
            set(&mut decoder, id, &wave(count, 0.02));
        }
        let tokens = tokens(family);
        if let Some(to) = std::env::var_os("WRITE_REWARD_MODEL") {
            let to = Path::new(&to).join(family);
            decoder.export_adapter(&AdapterSettings::new(&lora), &to, Dtype::F32).unwrap();
            std::fs::write(to.join("tokens.json"), format!("{tokens:?}")).unwrap();
        }
        let (scores, _) = run(&decoder, &tokens, None);
        let mut end = 0;
        let ours = tokens.each_ref().map(|tokens| {
            end += tokens.len();
            scores[end - 1]
        });
        let own = difference(&ours, &theirs);
        println!("{family}: {ours:?}, worst relative difference {own:.1e}");
        worst = worst.max(own);
    }
    assert!(worst < 1e-4, "{worst:.1e}");
}

#[test]
fn an_adapter_without_a_head_is_written_and_read_back_without_one() {
    let dir = tempfile::tempdir().unwrap();
    let mut decoder = model("llama");
    let settings = decoder.load_adapter(&folder("llama").join("adapter")).unwrap();
    let to = dir.path().join("adapter");
    decoder.export_adapter(&settings, &to, Dtype::F32).unwrap();
    let mut again = model("llama");
    assert_eq!(again.load_adapter(&to).unwrap(), settings);
    assert!(!again.has_score_head());
    for (one, other) in decoder.adapter_parameters().zip(again.adapter_parameters()) {
        let read = |decoder: &Decoder, id| decoder.device().read(decoder.parameters().values(id));
        assert_eq!(read(&decoder, one), read(&again, other));
    }
}

#[test]
fn a_reward_model_without_its_head_is_refused_by_the_name_of_the_tensor() {
    let dir = tempfile::tempdir().unwrap();
    let mut decoder = model("llama");
    let settings = decoder.load_adapter(&folder("llama").join("adapter")).unwrap();
    let to = dir.path().join("adapter");
    decoder.export_adapter(&settings, &to, Dtype::F32).unwrap();
    let said = AdapterSettings { score: true, ..settings };
    std::fs::write(to.join("adapter_config.json"), said.to_json()).unwrap();
    let refused = model("llama").load_adapter(&to).unwrap_err();
    assert!(refused.to_string().contains("score.weight"), "{refused}");
}

#[test]
fn a_critics_values_have_the_gradients_of_finite_differences() {
    let mut decoder = model("qwen2");
    decoder.add_value_head();
    decoder.train_base(false);
    let tokens = tokens("qwen2");
    let count: usize = tokens.iter().map(Vec::len).sum();
    let dvalue: Vec<f32> = wave(count, 1.0);
    let (values, _) = run(&decoder, &tokens, Some(&dvalue));
    assert_eq!(values, vec![0.0; count], "a new head says nothing");
    let (weight, bias) = (named(&decoder, "value_head.weight"), named(&decoder, "value_head.bias"));
    let weights: Vec<f32> = wave(32, 0.1);
    set(&mut decoder, weight, &weights);
    set(&mut decoder, bias, &[0.75]);
    let (_, gradients) = run(&decoder, &tokens, Some(&dvalue));
    let gradient = |id| decoder.device().read(gradients.get(id).unwrap());
    let (dweight, dbias) = (gradient(weight), gradient(bias));
    // The sum is linear in both, so that a difference over 1 is the derivative.
    let sum = |decoder: &Decoder| -> f64 {
        let (values, _) = run(decoder, &tokens, None);
        values.iter().zip(&dvalue).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    };
    let before = sum(&decoder);
    set(&mut decoder, bias, &[1.75]);
    let by_bias = sum(&decoder) - before;
    assert!((by_bias - f64::from(dbias[0])).abs() < 1e-2, "{by_bias} {dbias:?}");
    for at in [0, 9, 31] {
        let mut moved = weights.clone();
        moved[at] += 1.0;
        set(&mut decoder, bias, &[0.75]);
        set(&mut decoder, weight, &moved);
        let by_weight = sum(&decoder) - before;
        assert!((by_weight - f64::from(dweight[at])).abs() < 1e-2, "{by_weight} {}", dweight[at]);
    }
}

#[test]
fn signals_by_log_probabilities_and_by_values_add_up() {
    let mut decoder = model("llama");
    decoder.load_adapter(&folder("llama").join("reward")).unwrap();
    let tokens = &tokens("llama")[0];
    let batch = decoder.batch(&[Sequence { tokens, asked: 1..tokens.len() }]).unwrap();
    let id = decoder.adapter_parameters().next().unwrap();
    let gradient = |dlogp: f32, dvalue: f32| {
        let forward = Forward { keep: Some(Keep::Most), ..Forward::default() };
        let (_, trail) = decoder.forward(&batch, forward);
        let mut gradients = Gradients::new(decoder.device(), decoder.parameters());
        let (dlogp, dvalue) = (vec![dlogp; batch.asked()], vec![dvalue; batch.asked()]);
        let signal = Signal { dlogp: &dlogp, dentropy: None, dvalue: Some(&dvalue) };
        decoder.backward(&batch, trail.unwrap(), signal, &mut gradients);
        decoder.device().read(gradients.get(id).unwrap())
    };
    let (both, by_logp, by_value) = (gradient(1.0, 1.0), gradient(1.0, 0.0), gradient(0.0, 1.0));
    let sum: Vec<f32> = by_logp.iter().zip(&by_value).map(|(a, b)| a + b).collect();
    assert!(difference(&both, &sum) < 1e-5);
    assert!(difference(&both, &by_value) > 0.1 && difference(&both, &by_logp) > 0.1);
}
