//! A tokenizer that is trained here, and a model that is made around it.

#![expect(clippy::unwrap_used, reason = "a test that cannot begin has failed")]

use std::fs;
use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::Value;
use whetstone_core::Message;
use whetstone_kernels::Device;
use whetstone_model::create::{CreateError, Recipe, Sizes, SystemMessages, create};
use whetstone_model::template::Options;
use whetstone_model::tokenizer::{LEAST_TOKENS, SpecialTokens, Trainer};
use whetstone_model::weights::Dtype;
use whetstone_model::{Decoder, Tokenizer, open};

/// Two functions, as a student would write them.
const CORPUS: [&str; 2] = [
    "<think>\nKeep the evens.\n</think>\n\n```python\ndef evens(items):\n    out = []\n    \
     for item in items:\n        if item % 2 == 0:\n            out.append(item)\n    \
     return out\n```\n",
    "<think>\nAdd all up.\n</think>\n\n```python\ndef total(items):\n    out = 0\n    \
     for item in items:\n        out += item\n    return out\n```\n",
];

fn trained(texts: &[&str], size: usize) -> Tokenizer {
    let mut trainer = Trainer::new().unwrap();
    for text in texts {
        trainer.add(text).unwrap();
    }
    trainer.train(size).unwrap()
}

/// The text of each token.
fn pieces(tokenizer: &Tokenizer, text: &str) -> Vec<String> {
    let ids = tokenizer.encode(text).unwrap();
    ids.iter().map(|&id| tokenizer.decode(&[id], SpecialTokens::Shown).unwrap()).collect()
}

fn merges(tokenizer: &Tokenizer) -> Vec<String> {
    let file: Value = serde_json::from_str(&tokenizer.to_json().unwrap()).unwrap();
    let merges = file["model"]["merges"].as_array().unwrap();
    let text =
        |merge: &Value| format!("{} {}", merge[0].as_str().unwrap(), merge[1].as_str().unwrap());
    merges.iter().map(text).collect()
}

/// Made with another implementation, after the words were found with the same expression:
///
/// ```python
/// pairs = Counter()
/// for word, count in words:
///     for pair in zip(word, word[1:]):
///         pairs[pair] += count
/// best = min(pairs, key=lambda pair: (-pairs[pair], pair))
/// ```
#[test]
fn merges_of_a_small_corpus_are_these() {
    // Ġ is a blank, Ċ a newline.
    let expected = [
        "Ġ Ġ",
        "ĠĠ ĠĠ",
        "Ċ ĠĠĠĠ",
        "e m",
        "i t",
        "it em",
        "Ġ item",
        "o u",
        "ou t",
        "ĊĠĠĠĠ ĠĠĠĠ",
        "Ġ =",
        "e n",
        "Ċ Ċ",
        "Ġ e",
        "Ġ i",
        "Ġ out",
    ];
    assert_eq!(merges(&trained(&CORPUS, LEAST_TOKENS + 16)), expected);
}

#[test]
fn indentation_is_one_token_a_digit_is_one_and_words_take_their_blank_along() {
    let tokenizer = trained(&[&CORPUS.concat().repeat(3), &"x_item = 10\n".repeat(9)], 2048);
    assert_eq!(pieces(&tokenizer, "x_item"), ["x", "_item"]);
    let text = "for item in items:\n        if item % 2 == 10:\n    return out\n";
    let expected = [
        "for",
        " item",
        " in",
        " items",
        ":",
        "\n        ",
        "if",
        " item",
        " %",
        " ",
        "2",
        " ==",
        " ",
        "1",
        "0",
        ":",
        "\n    ",
        "return",
        " out",
        "\n",
    ];
    assert_eq!(pieces(&tokenizer, text), expected);
}

#[test]
fn tags_and_fences_are_single_tokens_that_stay_in_the_text() {
    let tokenizer = trained(&CORPUS, 512);
    let text = "<|im_start|><think>a</think>```python\n`````<|im_end|><|endoftext|>";
    let expected = [
        "<|im_start|>",
        "<think>",
        "a",
        "</think>",
        "```python",
        "\n",
        "```",
        "`",
        "`",
        "<|im_end|>",
        "<|endoftext|>",
    ];
    assert_eq!(pieces(&tokenizer, text), expected);
    let ids = tokenizer.encode(text).unwrap();
    let said = tokenizer.decode(&ids, SpecialTokens::Dropped).unwrap();
    assert_eq!(said, "<think>a</think>```python\n`````");
    assert_eq!(tokenizer.eos(), tokenizer.id("<|im_end|>"));
}

#[test]
fn words_of_their_own_are_not_learnt_from() {
    let tokenizer = trained(&[&"<think></think>```python".repeat(9)], 512);
    assert_eq!(merges(&tokenizer), Vec::<String>::new());
    assert_eq!(tokenizer.size(), LEAST_TOKENS);
}

#[test]
fn nothing_is_learnt_from_what_is_too_long_for_a_word() {
    let learnt = |length: usize| merges(&trained(&[&"ab".repeat(length / 2)], 264)).len();
    assert_eq!((learnt(1024), learnt(1026)), (1, 0));
}

#[test]
fn a_long_run_of_anything_is_encoded_in_one_pass() {
    let tokenizer = trained(&CORPUS, 512);
    for run in [" ", "\n", "_", "a", "1", "`", "é"] {
        let text = run.repeat(200_000) + "x";
        let ids = tokenizer.encode(&text).unwrap();
        assert_eq!(tokenizer.decode(&ids, SpecialTokens::Shown).unwrap(), text);
    }
}

#[test]
fn the_order_of_texts_changes_nothing() {
    let json = |texts: &[&str]| trained(texts, 400).to_json().unwrap();
    let [one, two] = CORPUS;
    assert_eq!(json(&[one, two]), json(&[two, one]));
    assert_ne!(json(&[one, two]), json(&[one]));
}

#[test]
fn a_vocabulary_is_as_large_as_asked_or_as_the_texts_allow() {
    for size in [LEAST_TOKENS, LEAST_TOKENS + 1, 297] {
        assert_eq!(trained(&CORPUS, size).size(), size);
    }
    assert_eq!(trained(&CORPUS, 5000).size(), 297, "no more pairs stand twice");
    let err = Trainer::new().unwrap().train(LEAST_TOKENS - 1).unwrap_err().to_string();
    assert!(err.contains("262 tokens are too few"), "{err}");
}

static TOKENIZER: LazyLock<Tokenizer> = LazyLock::new(|| trained(&CORPUS, 280));

proptest! {
    #[test]
    fn every_text_comes_back(text in r"(\PC|[ \t\r\n]|<\|im_end\|>|</?think>|```(python)?|\n {1,9}){0,60}") {
        let ids = TOKENIZER.encode(&text).unwrap();
        prop_assert_eq!(TOKENIZER.decode(&ids, SpecialTokens::Shown).unwrap(), text);
    }
}

const RECIPE: Recipe = Recipe {
    sizes: Sizes { width: 32, layers: 2, heads: 4, kv_heads: 2, ffn: 48, positions: 64 },
    seed: 7,
    dtype: Dtype::F32,
    system: SystemMessages::Kept,
};

/// A model in a folder of the test's.
fn created(recipe: Recipe) -> (tempfile::TempDir, whetstone_model::Pretrained) {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("model");
    let tokenizer = trained(&CORPUS, 290);
    let config = create(&Device::cpu(1).unwrap(), &tokenizer, &recipe, &to).unwrap();
    let model = open(&to).unwrap();
    assert_eq!(model.config, config);
    (dir, model)
}

fn numbers(model: &whetstone_model::Pretrained, tensor: &str) -> Vec<f32> {
    let stored = model.weights.tensor(tensor).unwrap();
    let mut numbers = vec![0.0; stored.numbers()];
    model.weights.read(tensor, &mut numbers).unwrap();
    numbers
}

#[test]
fn a_new_model_is_read_back_as_it_was_made() {
    let (_dir, model) = created(RECIPE);
    let config = &model.config;
    assert_eq!((config.vocab, config.head_dim, config.positions), (290, 8, 64));
    assert!(config.tied_head && config.qk_norm && !config.qkv_bias);
    assert_eq!(model.tokenizer.to_json().unwrap(), trained(&CORPUS, 290).to_json().unwrap());
    let id = |token| model.tokenizer.id(token).unwrap();
    assert_eq!(config.eos, [id("<|endoftext|>"), id("<|im_end|>")]);
    assert_eq!(model.tokenizer.eos(), Some(id("<|im_end|>")));
    let fresh = Decoder::new(&Device::cpu(1).unwrap(), config, 7, 64);
    let parameters = fresh.parameters();
    for parameter in parameters.ids() {
        let made = fresh.device().read(parameters.values(parameter));
        assert_eq!(numbers(&model, &parameters.get(parameter).name), made);
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    let weights = |recipe: Recipe| {
        let (dir, _) = created(recipe);
        fs::read(dir.path().join("model/model.safetensors")).unwrap()
    };
    assert_eq!(weights(RECIPE), weights(RECIPE));
    assert_ne!(weights(RECIPE), weights(Recipe { seed: 8, ..RECIPE }));
    let half = weights(Recipe { dtype: Dtype::Bf16, ..RECIPE });
    assert!(half.len() < weights(RECIPE).len() * 6 / 10);
}

#[test]
fn a_chat_is_chatml_and_a_system_message_can_be_left_out() {
    let messages = [Message::system("Be brief."), Message::user("Add.")];
    let check = |system, options: &Options, expected: &str| {
        let (_dir, model) = created(Recipe { system, ..RECIPE });
        assert_eq!(model.template.unwrap().render(&messages, options).unwrap(), expected);
    };
    check(
        SystemMessages::Kept,
        &Options::prompt(),
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nAdd.<|im_end|>\n\
         <|im_start|>assistant\n",
    );
    check(
        SystemMessages::Dropped,
        &Options::prompt(),
        "<|im_start|>user\nAdd.<|im_end|>\n<|im_start|>assistant\n",
    );
    let whole = Options::default();
    check(SystemMessages::Dropped, &whole, "<|im_start|>user\nAdd.<|im_end|>\n");
}

#[test]
fn sizes_that_do_not_fit_are_refused_and_nothing_is_written() {
    let check = |sizes: Sizes, expected: &str| {
        let dir = tempfile::tempdir().unwrap();
        let to = dir.path().join("model");
        let recipe = Recipe { sizes, ..RECIPE };
        let tokenizer = trained(&CORPUS, 290);
        let err = create(&Device::cpu(1).unwrap(), &tokenizer, &recipe, &to).unwrap_err();
        assert!(err.to_string().contains(expected), "{err}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    };
    let sizes = RECIPE.sizes;
    check(Sizes { heads: 5, ..sizes }, "a width of 32 is not divisible by 5 heads");
    check(Sizes { heads: 0, ..sizes }, "0 heads");
    check(Sizes { kv_heads: 3, ..sizes }, "4 heads cannot share 3 key-value heads evenly");
    check(Sizes { heads: 32, ..sizes }, "`head_dim`");
    check(Sizes { width: 12, ..sizes }, "heads of 3 numbers cannot be rotated in pairs");
    check(Sizes { layers: 0, ..sizes }, "`num_hidden_layers`");
    let large = Sizes { width: 1 << 14, heads: 64, ffn: 1 << 16, ..sizes };
    check(large, "parameters; the limit is 1073741824");
}

#[test]
fn what_exists_is_never_written_over() {
    let (dir, model) = created(RECIPE);
    let to = dir.path().join("model");
    let device = Device::cpu(1).unwrap();
    let err = create(&device, &model.tokenizer, &RECIPE, &to).unwrap_err();
    assert!(matches!(err, CreateError::Export(_)), "{err}");
    assert!(err.to_string().contains("exists; remove it"), "{err}");
}
