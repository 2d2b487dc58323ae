//! Tokens as the hub's own library makes them, and text out of tokens as they arrive.
//!
//! The golden tokens come from the Python package, which runs its expressions with Oniguruma; ours
//! runs them with `fancy-regex`.

use proptest::prelude::*;
use serde::Deserialize;
use whetstone_model::Tokenizer;
use whetstone_model::tokenizer::SpecialTokens;

use crate::support::{mbpp_texts, shared};

#[derive(Deserialize)]
struct Golden {
    model: String,
    texts: Vec<Case>,
    mbpp_tokens: usize,
    mbpp_fnv: String,
}

#[derive(Deserialize)]
struct Case {
    text: String,
    ids: Vec<u32>,
}

fn golden() -> Vec<Golden> {
    serde_json::from_str(include_str!("../testdata/tokens.json")).expect("what the test made")
}

fn tokenizer(model: &str) -> Option<Tokenizer> {
    let path = shared(&format!("tokenizers/{model}/tokenizer.json"))?;
    Some(Tokenizer::from_file(&path).expect("what the test made"))
}

/// FNV-1a over the little-endian bytes of the tokens.
fn fnv(ids: &[u32], state: u64) -> u64 {
    let bytes = ids.iter().flat_map(|id| id.to_le_bytes());
    bytes.fold(state, |state, byte| (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn tokens_are_those_of_the_hubs_own_library() {
    for golden in golden() {
        let Some(tokenizer) = tokenizer(&golden.model) else { return };
        for case in &golden.texts {
            let ids = tokenizer.encode(&case.text).unwrap();
            assert_eq!(ids, case.ids, "{}: {:?}", golden.model, case.text);
        }
        let Some(texts) = mbpp_texts() else { return };
        let (mut state, mut count) = (0xcbf2_9ce4_8422_2325, 0);
        for text in &texts {
            let ids = tokenizer.encode(text).unwrap();
            (state, count) = (fnv(&ids, state), count + ids.len());
            assert_eq!(&tokenizer.decode(&ids, SpecialTokens::Shown).unwrap(), text);
        }
        assert_eq!((count, format!("{state:016x}")), (golden.mbpp_tokens, golden.mbpp_fnv));
        println!("{}: {count} tokens of {} texts", golden.model, texts.len());
    }
}

#[test]
fn special_tokens_are_known_and_can_be_left_out() {
    let Some(tokenizer) = tokenizer("qwen3") else { return };
    let ids = tokenizer.encode("<|im_start|>user\n<think>hi<|im_end|>").unwrap();
    let end = tokenizer.id("<|im_end|>").unwrap();
    assert_eq!(ids.last(), Some(&end));
    assert!(tokenizer.is_special(end) && !tokenizer.is_special(ids[1]));
    assert!(!tokenizer.is_special(tokenizer.id("<think>").unwrap()));
    let text = tokenizer.decode(&ids, SpecialTokens::Dropped).unwrap();
    assert_eq!(text, "user\n<think>hi");
    assert_eq!(tokenizer.token(end).as_deref(), Some("<|im_end|>"));
    assert_eq!(tokenizer.size(), 151_669);
    assert!(tokenizer.check_embedding(151_669).is_ok());
    let err = tokenizer.check_embedding(151_668).unwrap_err().to_string();
    assert!(err.ends_with("has token 151668, the embedding only 151668 rows"), "{err}");
}

/// The pieces that a stream gives for tokens.
fn streamed(tokenizer: &Tokenizer, ids: &[u32], special: SpecialTokens) -> Vec<String> {
    let mut stream = tokenizer.stream(special);
    let mut pieces: Vec<String> =
        ids.iter().map(|id| stream.push(*id).expect("what the test made")).collect();
    pieces.push(stream.finish().expect("what the test made"));
    pieces
}

/// A byte-level tokenizer of all 256 bytes and a special token.
fn bytes() -> Tokenizer {
    let printable = |byte: u32| matches!(byte, 33..=126 | 161..=172 | 174..=255);
    let (mut vocab, mut next) = (serde_json::Map::new(), 256);
    for byte in 0..256 {
        let code = if printable(byte) { byte } else { next };
        next += u32::from(!printable(byte));
        vocab.insert(char::from_u32(code).expect("what the test made").to_string(), byte.into());
    }
    let step = serde_json::json!({"type": "ByteLevel", "add_prefix_space": false,
        "trim_offsets": false, "use_regex": true});
    let json = serde_json::json!({
        "model": {"type": "BPE", "vocab": vocab, "merges": []},
        "pre_tokenizer": step,
        "decoder": step,
        "added_tokens": [{"id": 256, "content": "<end>", "special": true, "single_word": false,
            "lstrip": false, "rstrip": false, "normalized": false}],
    });
    Tokenizer::from_json(&json.to_string(), "bytes".as_ref()).expect("what the test made")
}

#[test]
fn a_character_is_given_when_it_is_whole() {
    let tokenizer = bytes();
    let ids = tokenizer.encode("aé😀").unwrap();
    let pieces = streamed(&tokenizer, &ids, SpecialTokens::Shown);
    assert_eq!(pieces, ["a", "", "é", "", "", "", "😀", ""]);
    let cut = streamed(&tokenizer, &ids[..5], SpecialTokens::Shown);
    assert_eq!(cut, ["a", "", "é", "", "", "\u{fffd}"]);
    let ended = streamed(&tokenizer, &[97, 256, 98], SpecialTokens::Dropped);
    assert_eq!(ended, ["a", "", "b", ""]);
    let shown = streamed(&tokenizer, &[97, 256, 98], SpecialTokens::Shown);
    assert_eq!(shown, ["a", "<end>", "b", ""]);
}

#[test]
fn bytes_that_never_become_text_are_not_held_for_ever() {
    let tokenizer = bytes();
    let pieces = streamed(&tokenizer, &[255; 1000], SpecialTokens::Shown);
    assert_eq!(pieces.concat(), "\u{fffd}".repeat(1000));
    assert!(pieces.iter().filter(|piece| !piece.is_empty()).count() > 50);
}

#[test]
fn a_text_in_pieces_is_the_text_at_once() {
    let Some(texts) = mbpp_texts() else { return };
    for model in ["qwen3", "smollm2"] {
        let Some(tokenizer) = tokenizer(model) else { return };
        for text in texts.iter().step_by(40) {
            let text = format!("{text} ünï 日本 👩‍👩‍👧<|im_end|>\n");
            let ids = tokenizer.encode(&text).unwrap();
            let pieces = streamed(&tokenizer, &ids, SpecialTokens::Shown);
            assert_eq!(pieces.concat(), text);
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_in_pieces_are_the_text_at_once(ids in prop::collection::vec(0u32..257, 0..12)) {
        let tokenizer = bytes();
        for special in [SpecialTokens::Shown, SpecialTokens::Dropped] {
            let whole = tokenizer.decode(&ids, special).unwrap();
            prop_assert_eq!(streamed(&tokenizer, &ids, special).concat(), whole);
        }
    }
}

#[test]
fn a_file_that_is_no_tokenizer_is_named() {
    let err = Tokenizer::from_json("{}", "m/tokenizer.json".as_ref()).unwrap_err().to_string();
    assert!(err.starts_with("the tokenizer of `m/tokenizer.json` cannot be used: "), "{err}");
    let err = Tokenizer::from_file("m/none.json".as_ref()).unwrap_err().to_string();
    assert_eq!(err, "cannot read `m/none.json`");
}
