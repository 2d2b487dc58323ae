//! Conversations of several turns: what is computed of each, and that it has the same bits however the memory is
//! shared.

#![expect(clippy::unwrap_used, reason = "a test that cannot begin has failed")]

use std::collections::BTreeMap;
use std::path::Path;

use whetstone_core::Completion;
use whetstone_infer::{Generator, Limits, Local, Rule, Usage};
use whetstone_kernels::{Cuda, Device};
use whetstone_model::Config;
use whetstone_model::decoder::{Decoder, LoadOptions, PAGE, WeightFormat};
use whetstone_model::safetensors::Safetensors;

use crate::support::talk::{Answers, Script, Talk, TurnId, Waves};
use crate::support::words;

const VOCAB: u32 = 64;

fn config(family: &str) -> Config {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../model/tests/golden").join(family);
    // Nothing ends a completion before its length does.
    Config { eos: Vec::new(), ..Config::from_dir(&dir).unwrap() }
}

fn model(family: &str, threads: usize) -> Decoder {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../model/tests/golden").join(family);
    let weights = Safetensors::open_dir(&dir).unwrap();
    let options = LoadOptions { weights: WeightFormat::Trainable, positions: 320 };
    let device = Device::cpu(threads).unwrap();
    let config = Config { positions: 320, ..config(family) };
    let mut decoder = Decoder::load(&device, &config, &weights, options).unwrap();
    decoder.load_adapter(&dir.join("adapter")).unwrap();
    decoder
}

fn script(length: u32, turns: &[usize], answer: usize) -> Script {
    Script {
        seed: 7,
        prompt: (0..length).map(|at| (at * 7 + 3) % VOCAB).collect(),
        samples: 1,
        rule: Rule::default(),
        turns: turns.to_vec(),
        answer,
        same: usize::MAX,
    }
}

/// Everything that was sampled of `scripts`, and the work it took.
struct Played {
    completions: BTreeMap<TurnId, Completion>,
    order: Vec<TurnId>,
    usage: Usage,
}

fn play_with(generator: &mut dyn Generator, scripts: &[Script], answers: Answers) -> Played {
    let mut talk = Talk::new(VOCAB, scripts, answers);
    let usage = generator.generate_turns(&mut talk).unwrap();
    let Talk { completions, order, .. } = talk;
    let turns: usize = scripts.iter().map(|script| script.samples * script.turns.len()).sum();
    assert_eq!(completions.len(), turns, "every turn of every sample");
    Played { completions, order, usage }
}

fn play(decoder: &Decoder, scripts: &[Script], limits: Limits) -> Played {
    play_with(&mut Local::new(decoder, &words(VOCAB), limits), scripts, Answers::AtOnce)
}

/// Conversations whose turns end before, at and behind the ends of pages; one ends its first completion with its
/// first token, which leaves it with pages of the prompt that its siblings see too.
fn several() -> Vec<Script> {
    let mut rewritten = script(40, &[9, 9, 9], 5);
    rewritten.same = 37;
    let mut in_later_turns = script(20, &[30, 9, 9], 5);
    in_later_turns.same = 50;
    let scripts = [
        Script { samples: 3, ..script(21, &[1, 7, 20], 6) },
        Script { samples: 2, ..script(32, &[16, 16, 16, 16], 16) },
        script(1, &[14, 1, 1, 15], 1),
        script(65, &[30, 3, 40], 50),
        Script { samples: 2, ..rewritten },
        in_later_turns,
        Script { same: 10, ..script(40, &[9, 9], 5) },
    ];
    (0..).zip(scripts).map(|(seed, script)| Script { seed, ..script }).collect()
}

#[test]
fn a_turn_has_the_same_bits_whether_or_not_its_pages_stayed() {
    for family in ["llama", "qwen2", "qwen3"] {
        let (decoder, scripts) = (model(family, 1), several());
        let free = play(&decoder, &scripts, Limits::default());
        // Pages for about one of the longest conversations.
        let scarce = Limits { cache_bytes: 17 * decoder.page_bytes(), ..Limits::default() };
        let tight = play(&decoder, &scripts, scarce);
        assert!(tight.usage.most_pages <= 17 && tight.usage.prefilled > free.usage.prefilled);
        assert_eq!(tight.completions, free.completions, "{family}: pages were given up");
        let one = play(&decoder, &scripts, Limits { sequences: 1, ..Limits::default() });
        assert_eq!((one.usage.widest, one.usage.prefilled), (1, free.usage.prefilled));
        assert_eq!(one.completions, free.completions, "{family}: one at a time");
        let tokenizer = words(VOCAB);
        for limits in [Limits::default(), scarce] {
            let mut local = Local::new(&decoder, &tokenizer, limits);
            let late = play_with(&mut local, &scripts, Answers::Late);
            assert_ne!(late.order, free.order);
            assert_eq!(late.completions, free.completions, "{family}: answered in another order");
        }
        let threads = play(&model(family, 2), &scripts, Limits::default());
        assert_eq!(threads.completions, free.completions, "{family}: two threads");
        let each = if family == "llama" { 0..scripts.len() } else { 0..0 };
        for at in each {
            let alone = play(&decoder, &scripts[at..=at], Limits::default());
            for (&id, found) in free.completions.iter().filter(|(id, _)| id.script == at) {
                let alone = &alone.completions[&TurnId { script: 0, ..id }];
                assert_eq!(alone, found, "{family}, {id:?}: alone");
            }
        }
    }
}

#[test]
fn a_first_turn_has_the_bits_of_a_prompt_alone() {
    let (decoder, scripts, tokenizer) = (model("llama", 2), several(), words(VOCAB));
    let turns = play(&decoder, &scripts, Limits::default());
    let mut waves = Waves(Local::new(&decoder, &tokenizer, Limits::default()));
    let whole = play_with(&mut waves, &scripts, Answers::AtOnce);
    let first = |played: &Played| -> Vec<(TurnId, Completion)> {
        let all = played.completions.clone().into_iter();
        all.filter(|(id, _)| id.turn == 0).collect()
    };
    assert_eq!(first(&turns), first(&whole));
}

#[test]
fn eight_equal_turns_are_prefilled_once() {
    let (decoder, tokenizer) = (model("llama", 2), words(VOCAB));
    // A prompt of 32 tokens, eight completions of 16, and seven answers of 8.
    let scripts = [Script { samples: 4, ..script(32, &[16; 8], 8) }];
    let turns = play(&decoder, &scripts, Limits::default());
    // Of a later turn: the answer, and the last token of the completion, of which nothing was computed yet.
    assert_eq!(turns.usage.prefilled, 32 + 4 * 7 * (8 + 1));
    let mut waves = Waves(Local::new(&decoder, &tokenizer, Limits::default()));
    let whole = play_with(&mut waves, &scripts, Answers::AtOnce);
    let later: usize = (1..8).map(|turn| 32 + turn * (16 + 8)).sum();
    assert_eq!(whole.usage.prefilled, 32 + 4 * later);
    assert_eq!((whole.usage.sampled, turns.usage.sampled), (4 * 8 * 16, 4 * 8 * 16));
    println!(
        "prefilled {} tokens in {:?}, of whole prompts {} in {:?}",
        turns.usage.prefilled,
        turns.usage.prefill_time,
        whole.usage.prefilled,
        whole.usage.prefill_time
    );
}

#[test]
fn a_conversation_goes_on_while_another_is_in_its_first_turn() {
    let decoder = model("llama", 1);
    let scripts = [script(20, &[100, 5], 3), script(10, &[5, 5, 5, 5], 3)];
    let played = play(&decoder, &scripts, Limits::default());
    let order: Vec<(usize, usize)> = played.order.iter().map(|id| (id.script, id.turn)).collect();
    assert_eq!(order, [(1, 0), (1, 1), (1, 2), (1, 3), (0, 0), (0, 1)]);
    assert_eq!(played.usage.widest, 2);
    // The long first completion is not stepped for longer than it would be alone.
    assert_eq!(played.usage.steps, 99 + 4);
}

#[test]
fn pages_of_a_conversation_that_is_over_are_free() {
    let decoder = model("llama", 1);
    // Three pages each. The first sixteen have ended when the last begin.
    let scripts = vec![script(20, &[4, 4], 4); 32];
    let limits = Limits { sequences: 1, ..Limits::default() };
    let played = play(&decoder, &scripts, limits);
    assert!(played.usage.most_pages <= 32 * 20usize.div_ceil(PAGE) + 3, "{:?}", played.usage);
    let free = play(&decoder, &scripts, Limits::default());
    assert_eq!(played.usage.prefilled, free.usage.prefilled, "nothing was computed twice");
}

/// On a GPU that is made up, whose tokens of steps are all the first of the vocabulary.
#[test]
fn turns_are_taken_in_while_steps_run_ahead() {
    let cuda = Cuda::fake(0).unwrap();
    let decoder = Decoder::new(&Device::Cuda(cuda), &config("llama"), 1, 128);
    let scripts = [
        Script { samples: 2, ..script(20, &[30, 5], 3) },
        Script { samples: 3, ..script(10, &[5, 1, 5, 5], 3) },
    ];
    let played = play(&decoder, &scripts, Limits::default());
    assert_eq!(played.usage.prefilled, 20 + 2 * 4 + 10 + 3 * 3 * 4);
    for (id, completion) in &played.completions {
        let ids = completion.tokens.as_ref().unwrap().ids();
        assert_eq!(ids.len(), scripts[id.script].turns[id.turn], "{id:?}");
    }
    assert!(played.usage.widest == 5 && played.usage.steps < 60, "{:?}", played.usage);
}
