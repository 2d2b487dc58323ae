//! A real model: SmolLM2-135M-Instruct answers with the tokens of transformers.
//!
//! `testdata/smollm2.json` is made by `xtask/goldens/smollm2.py`. The model is looked for in
//! `.cache/smollm2` of the repository.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use whetstone_core::Seed;
use whetstone_infer::{Drawn, Generator, Limits, Local, Prompt, Rule};
use whetstone_kernels::Device;
use whetstone_model::decoder::{Decoder, LoadOptions};
use whetstone_model::template::Options;

fn file() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache/smollm2");
    let mut files = std::fs::read_dir(folder).ok()?.filter_map(Result::ok).map(|it| it.path());
    files.find(|path| path.extension().is_some_and(|it| it == "gguf"))
}

fn ids(of: &Value) -> Vec<u32> {
    let ids = of.as_array().expect("a list").iter().map(|id| id.as_u64().expect("an id"));
    ids.map(|id| u32::try_from(id).expect("an id")).collect()
}

#[test]
fn smollm2_answers_twenty_prompts_with_the_tokens_of_transformers() {
    let Some(path) = file() else {
        eprintln!("skipped: there is no GGUF file in .cache/smollm2");
        return;
    };
    let golden: Value = serde_json::from_str(include_str!("testdata/smollm2.json")).unwrap();
    let cases = golden["cases"].as_array().unwrap();
    let mut model = whetstone_model::open(&path).unwrap();
    // The reference goes on after an end of text.
    model.config.eos.clear();
    let device = Device::cpu(2).unwrap();
    let options = LoadOptions { eight_bit: false, positions: 512 };
    let decoder = Decoder::load(&device, (&model.config, model.weights.as_ref()), options).unwrap();
    let template = model.template.as_ref().unwrap();
    let prompts: Vec<Prompt> = cases
        .iter()
        .map(|case| {
            let message = json!({"role": "user", "content": case["prompt"]});
            let text = template.render(&[message], &Options::prompt()).unwrap();
            let tokens = model.tokenizer.encode(&text).unwrap();
            assert_eq!(tokens, ids(&case["ids"]), "{}", case["prompt"]);
            Prompt {
                tokens,
                samples: 1,
                rule: Rule { temperature: 0.0, ..Rule::default() },
                seed: Seed::new(0),
                max_tokens: 64,
                stop: Vec::new(),
            }
        })
        .collect();
    let mut drawn: Vec<Drawn> = Vec::new();
    let mut local = Local::new(&decoder, &model.tokenizer, Limits::default());
    let keep = &mut |one| {
        drawn.push(one);
        ControlFlow::Continue(())
    };
    local.generate(&prompts, keep).unwrap();
    assert_eq!(drawn.len(), 20);
    for one in drawn {
        let tokens = one.completion.tokens.unwrap();
        let case = &cases[one.prompt];
        let theirs = ids(&case["answer"]);
        let first = tokens.ids().iter().zip(&theirs).position(|(a, b)| a != b);
        assert_eq!(first, None, "{} ({})", case["prompt"], one.completion.text);
        assert_eq!(tokens.ids().len(), 64);
    }
}
