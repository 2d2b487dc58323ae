//! A real tiny model as the generator.

use std::path::Path;

use whetstone_core::Message;
use whetstone_infer::{Generator, Limits, Local, Prompt, Rule};
use whetstone_kernels::Device;
use whetstone_model::config::{Rope, Scaling};
use whetstone_model::decoder::Decoder;
use whetstone_model::weights::Dtype;
use whetstone_model::{Config, Family, Tokenizer};
use whetstone_rollout::collect::{Collecting, RenderError, collect};

use crate::stage::{Stage, asked, collecting, task};

const VOCAB: u32 = 64;
const SAMPLES: usize = 6;
const MAX_TOKENS: usize = 12;

/// A random model that ends one completion in a dozen or so.
fn config() -> Config {
    Config {
        family: Family::Llama,
        vocab: VOCAB as usize,
        width: 32,
        layers: 2,
        heads: 2,
        kv_heads: 1,
        head_dim: 16,
        ffn: 48,
        rms_eps: 1e-6,
        rope: Rope { theta: 10_000.0, scaling: Scaling::None },
        tied_head: true,
        qkv_bias: false,
        qk_norm: false,
        positions: 64,
        bos: None,
        eos: vec![2, 3, 5, 7],
        pad: None,
        dtype: Dtype::F32,
    }
}

/// Token `n` is the text `<n>`.
fn words() -> Tokenizer {
    let vocab: Vec<String> = (0..VOCAB).map(|id| format!("\"<{id}>\":{id}")).collect();
    let json = format!(
        r#"{{"version":"1.0","model":{{"type":"WordLevel","vocab":{{{}}},"unk_token":"<0>"}},"decoder":{{"type":"Fuse"}}}}"#,
        vocab.join(",")
    );
    Tokenizer::from_json(&json, Path::new("made in a test")).unwrap()
}

#[expect(clippy::unnecessary_wraps, reason = "what a renderer returns")]
fn render(messages: &[Message]) -> Result<Vec<u32>, RenderError> {
    let bytes = messages.iter().flat_map(|message| message.content.bytes());
    Ok(bytes.map(|byte| u32::from(byte) % VOCAB).collect())
}

#[test]
fn groups_of_a_real_model_have_the_tokens_that_it_samples_alone() {
    let decoder = Decoder::new(&Device::cpu(1).unwrap(), &config(), 5, 64);
    let tokenizer = words();
    let (stage, tasks) = (Stage::default(), [task("add"), task("multiply"), task("sort a list")]);
    let settings = Collecting { render: &render, max_tokens: MAX_TOKENS, ..collecting(&stage) };
    let asked = asked(&tasks, SAMPLES);
    // Fewer at a time than there are, so that some wait.
    let limits = Limits { sequences: 5, ..Limits::default() };
    let mut local = Local::new(&decoder, &tokenizer, limits);
    let collected = collect(&settings, &mut local, &asked).unwrap();

    let mut sampled = 0;
    for (group, asked) in collected.groups.iter().zip(&asked) {
        let tokens: Vec<u32> = render(&[Message::user(&asked.task.statement)]).unwrap();
        let prompt = Prompt {
            tokens: tokens.clone(),
            samples: SAMPLES,
            rule: Rule::default(),
            seed: asked.seed.derive("turn", 0),
            max_tokens: MAX_TOKENS,
            stop: Vec::new(),
        };
        let mut alone = vec![None; SAMPLES];
        Local::new(&decoder, &tokenizer, Limits::default())
            .generate(&[prompt], &mut |drawn| {
                alone[drawn.sample] = Some(drawn.completion);
                std::ops::ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!((group.rollouts.len(), group.dropped.len()), (SAMPLES, 0));
        for (rollout, alone) in group.rollouts.iter().zip(alone) {
            let [turn] = &rollout.turns[..] else { panic!("one turn") };
            assert_eq!(Some(&turn.completion), alone.as_ref());
            assert_eq!(*turn.prompt, tokens[..]);
            sampled += rollout.sampled_tokens();
        }
    }
    assert_eq!(collected.usage.sampled, sampled);
    let ended = collected.groups.iter().flat_map(|group| &group.rollouts);
    let short = ended.filter(|rollout| rollout.sampled_tokens() < MAX_TOKENS).count();
    assert!(short > 0 && short < 3 * SAMPLES, "some end by themselves: {short}");
}
