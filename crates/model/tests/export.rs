//! A model written as a directory is the model that was written.

#![expect(clippy::unwrap_used, reason = "a test that cannot begin has failed")]

use std::fs;
use std::path::{Path, PathBuf};

use whetstone_core::config::LoraConfig;
use whetstone_kernels::Device;
use whetstone_model::decoder::{Decoder, Forward, LoadOptions, Sequence, WeightFormat};
use whetstone_model::template::Options;
use whetstone_model::weights::Dtype;
use whetstone_model::{Config, ExportError, ExportOptions, Pretrained, open};

const FAMILIES: [&str; 3] = ["llama", "qwen2", "qwen3"];
const WHOLE: ExportOptions = ExportOptions { dtype: Dtype::F32, shard_bytes: u64::MAX };

fn golden(family: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(family)
}

/// A golden model in a directory of its own, with a tokenizer whose token `n` is the text `<n>`.
fn source(family: &str, to: &Path) -> Pretrained {
    fs::create_dir_all(to).unwrap();
    for name in ["config.json", "model.safetensors"] {
        fs::copy(golden(family).join(name), to.join(name)).unwrap();
    }
    let vocab: Vec<String> = (0..64).map(|id| format!("\"<{id}>\":{id}")).collect();
    let tokenizer = format!(
        r#"{{"version":"1.0","model":{{"type":"WordLevel","vocab":{{{}}},"unk_token":"<0>"}}}}"#,
        vocab.join(",")
    );
    fs::write(to.join("tokenizer.json"), tokenizer).unwrap();
    let settings = r#"{"eos_token": "<3>", "model_max_length": 77}"#;
    fs::write(to.join("tokenizer_config.json"), settings).unwrap();
    fs::write(to.join("generation_config.json"), r#"{"eos_token_id": 5, "top_k": 9}"#).unwrap();
    fs::write(to.join("chat_template.jinja"), "{{ messages[0].content }}!").unwrap();
    open(to).unwrap()
}

fn load(model: &Pretrained) -> Decoder {
    let options = LoadOptions { weights: WeightFormat::Trainable, positions: 128 };
    let weights = model.weights.as_ref();
    Decoder::load(&Device::cpu(2).unwrap(), &model.config, weights, options).unwrap()
}

fn adapted(model: &Pretrained, family: &str) -> Decoder {
    let mut decoder = load(model);
    decoder.load_adapter(&golden(family).join("adapter")).unwrap();
    decoder
}

fn logps(decoder: &Decoder) -> Vec<f32> {
    let tokens: Vec<u32> = (0..100).map(|at| (at * 29 + 7) % 64).collect();
    let sequence = Sequence { tokens: &tokens, asked: 1..100 };
    let batch = decoder.batch(&[sequence]).unwrap();
    decoder.forward(&batch, Forward::default()).0.logp
}

fn apart(one: &[f32], other: &[f32]) -> f32 {
    assert_eq!(one.len(), other.len());
    one.iter().zip(other).fold(0.0, |worst, (a, b)| worst.max((a - b).abs()))
}

fn files(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_merged_directory_has_the_log_probabilities_of_base_and_adapter() {
    for family in FAMILIES {
        let dir = tempfile::tempdir().unwrap();
        let model = source(family, &dir.path().join("base"));
        let decoder = adapted(&model, family);
        let to = dir.path().join("merged");
        decoder.export_merged(&model, &to, WHOLE).unwrap();
        let merged = open(&to).unwrap();
        assert_eq!(merged.config, model.config, "{family}");
        assert_eq!(merged.tokenizer.eos(), Some(3));
        let said = merged.template.as_ref().unwrap();
        let message = serde_json::json!({"role": "user", "content": "hi"});
        assert_eq!(said.render(&[message], &Options::default()).unwrap(), "hi!");
        let (ours, theirs) = (logps(&load(&merged)), logps(&decoder));
        let worst = apart(&ours, &theirs);
        println!("{family}: at most {worst:.1e} apart");
        assert!(worst < 1e-5, "{family}: {worst:.1e}");
        // The adapter does something, so that leaving it out would be seen.
        assert!(apart(&ours, &logps(&load(&model))) > 0.1);
        assert_eq!(files(dir.path()), ["base", "merged"], "nothing else stays");
        let kept = |name: &str| fs::read_to_string(to.join(name)).unwrap();
        assert_eq!(kept("generation_config.json"), r#"{"eos_token_id": 5, "top_k": 9}"#);
        assert!(kept("tokenizer_config.json").contains("77"));
    }
}

#[test]
fn a_large_model_is_written_as_several_files() {
    let dir = tempfile::tempdir().unwrap();
    let model = source("llama", &dir.path().join("base"));
    let decoder = adapted(&model, "llama");
    let to = dir.path().join("merged");
    let options = ExportOptions { shard_bytes: 20_000, ..WHOLE };
    decoder.export_merged(&model, &to, options).unwrap();
    let shards: Vec<String> =
        files(&to).into_iter().filter(|name| name.ends_with(".safetensors")).collect();
    assert!(shards.len() > 3, "{shards:?}");
    let last = format!("model-{0:05}-of-{0:05}.safetensors", shards.len());
    assert_eq!(*shards.last().unwrap(), last);
    for shard in &shards {
        // The header is not counted, and a tensor of 8192 bytes is the largest.
        assert!(fs::metadata(to.join(shard)).unwrap().len() < 20_000 + 4096, "{shard}");
    }
    let index = fs::read_to_string(to.join("model.safetensors.index.json")).unwrap();
    let index: serde_json::Value = serde_json::from_str(&index).unwrap();
    let numbers = load(&model).parameters().count().0;
    assert_eq!(index["metadata"]["total_size"], numbers * 4);
    assert!(apart(&logps(&load(&open(&to).unwrap())), &logps(&decoder)) < 1e-5);
    // A tensor is never split, and no file is empty.
    let to = dir.path().join("each");
    decoder.export_merged(&model, &to, ExportOptions { shard_bytes: 1, ..WHOLE }).unwrap();
    let shards = files(&to).into_iter().filter(|name| name.ends_with(".safetensors")).count();
    assert_eq!(shards, decoder.base_parameters().count());
}

#[test]
fn half_the_bytes_are_written_as_bf16_and_said_to_be() {
    let dir = tempfile::tempdir().unwrap();
    let model = source("qwen2", &dir.path().join("base"));
    let to = dir.path().join("merged");
    let options = ExportOptions { shard_bytes: u64::MAX, ..ExportOptions::default() };
    adapted(&model, "qwen2").export_merged(&model, &to, options).unwrap();
    let merged = open(&to).unwrap();
    assert_eq!(merged.config.dtype, Dtype::Bf16);
    let name = "model.embed_tokens.weight";
    assert_eq!(merged.weights.tensor(name).unwrap().dtype(), Dtype::Bf16);
}

#[test]
fn what_is_there_is_not_overwritten_and_what_fails_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let model = source("llama", &dir.path().join("base"));
    let mut decoder = load(&model);
    let to = dir.path().join("merged");
    fs::create_dir(&to).unwrap();
    let refused = decoder.export_merged(&model, &to, WHOLE).unwrap_err();
    assert!(matches!(&refused, ExportError::Exists(path) if *path == to), "{refused}");
    fs::remove_dir(&to).unwrap();
    let f16 = ExportOptions { dtype: Dtype::F16, ..WHOLE };
    let refused = decoder.export_merged(&model, &to, f16).unwrap_err();
    assert!(refused.to_string().contains("F16"), "{refused}");
    // Found after other files were written.
    let last = decoder.parameters().ids().last().unwrap();
    let count = decoder.parameters().get(last).numbers();
    let broken = decoder.device().upload(&vec![f32::NAN; count]);
    let device = decoder.device().clone();
    device.copy(&mut decoder.parameters_mut().values_mut(last), broken.view());
    let refused = decoder.export_merged(&model, &to, WHOLE).unwrap_err();
    assert!(matches!(refused, ExportError::Weights(_)), "{refused}");
    assert_eq!(files(dir.path()), ["base"]);
}

#[test]
fn a_gguf_file_becomes_a_directory_with_its_tokenizer_and_template() {
    let cache = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache/smollm2");
    let entries = fs::read_dir(cache).into_iter().flatten().map(|entry| entry.unwrap().path());
    let Some(path) =
        entries.into_iter().find(|path| path.extension().is_some_and(|ending| ending == "gguf"))
    else {
        eprintln!("SKIPPED: there is no GGUF file in .cache/smollm2");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let model = open(&path).unwrap();
    let mut decoder = load(&model);
    let lora = LoraConfig { rank: 2, alpha: 8.0, ..LoraConfig::default() };
    decoder.add_adapter(&lora, 3);
    let ids: Vec<_> = decoder.adapter_parameters().collect();
    for id in ids {
        // `B` is zero at first.
        let count = decoder.parameters().get(id).numbers();
        let numbers: Vec<f32> = (0..count).map(|at| [-3e-3, 1e-3, 2e-3][at % 3]).collect();
        let (device, from) = (decoder.device().clone(), decoder.device().upload(&numbers));
        device.copy(&mut decoder.parameters_mut().values_mut(id), from.view());
    }
    let to = dir.path().join("merged");
    decoder.export_merged(&model, &to, WHOLE).unwrap();
    let merged = open(&to).unwrap();
    let plain = Config { dtype: Dtype::F32, ..model.config.clone() };
    assert_eq!(merged.config, plain);
    let text = "def f(x):\n    return x + 1234  # <|im_end|> déjà vu 终\n";
    let ids = model.tokenizer.encode(text).unwrap();
    assert_eq!(merged.tokenizer.encode(text).unwrap(), ids);
    assert_eq!(merged.tokenizer.specials(), model.tokenizer.specials());
    let message = [serde_json::json!({"role": "user", "content": "hi"})];
    let render = |of: &Pretrained| {
        let template = of.template.as_ref().unwrap();
        template.render(&message, &Options::prompt()).unwrap()
    };
    assert_eq!(render(&merged), render(&model));
    let worst = apart(&logps(&load(&merged)), &logps(&decoder));
    println!("SmolLM2 merged and adapted: at most {worst:.1e} apart");
    assert!(worst < 1e-4, "{worst:.1e}");
}
