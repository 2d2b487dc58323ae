//! A real model: SmolLM2-135M-Instruct as a GGUF file of `Q4_1` blocks.

use std::path::{Path, PathBuf};

use whetstone_core::Message;
use whetstone_model::template::Options;
use whetstone_model::tokenizer::SpecialTokens;
use whetstone_model::{Family, Tokenizer, expected_tensors, open};

use crate::support::{mbpp_texts, shared};

#[expect(clippy::print_stdout, reason = "a test that was skipped says so")]
fn model() -> Option<PathBuf> {
    let name = "../../.cache/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    if !path.exists() {
        println!("SKIPPED: SmolLM2 is not in .cache/smollm2");
        return None;
    }
    Some(path)
}

#[test]
fn its_tokenizer_is_that_of_the_hub_on_all_texts_of_mbpp() {
    let Some(path) = model() else { return };
    let Some(folder) = shared("tokenizers/smollm2/tokenizer.json") else { return };
    let Some(texts) = mbpp_texts() else { return };
    let (ours, hubs) = (open(&path).unwrap().tokenizer, Tokenizer::from_file(&folder).unwrap());
    assert_eq!(ours.size(), hubs.size());
    for id in 0..49152 {
        assert_eq!((ours.token(id), ours.is_special(id)), (hubs.token(id), hubs.is_special(id)));
    }
    let odd = "  1234 ünï\r\n\t日本 👩‍👩‍👧 <|im_start|>system\nx<|im_end|>\n<|endoftext|>\u{0}";
    for text in texts.iter().map(String::as_str).chain([odd]) {
        let ids = ours.encode(text).unwrap();
        assert_eq!(ids, hubs.encode(text).unwrap(), "{text:?}");
        assert_eq!(ours.decode(&ids, SpecialTokens::Shown).unwrap(), text);
    }
}

#[test]
fn its_parts_are_what_is_known_of_it() {
    let Some(path) = model() else { return };
    let opened = open(&path).unwrap();
    let config = &opened.config;
    assert_eq!((config.family, config.layers, config.width), (Family::Llama, 30, 576));
    assert_eq!((config.heads, config.kv_heads, config.head_dim), (9, 3, 64));
    assert!((config.rope.theta - 100_000.0).abs() < 1e-6 && config.tied_head);
    assert_eq!((config.eos.as_slice(), config.rms_eps.to_string().as_str()), (&[2][..], "0.00001"));
    let expected = expected_tensors(config);
    let numbers: usize = expected.iter().map(|tensor| tensor.shape.iter().product::<usize>()).sum();
    assert_eq!(numbers, 134_515_008);
    let text = opened.template.unwrap().render(&[Message::user("hi")], &Options::prompt()).unwrap();
    assert_eq!(
        text,
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging \
         Face<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"
    );
}

/// transformers opens the same file, gives its tensors the hub's names and order of rows, and turns
/// them into floats:
///
/// ```python
/// model = AutoModelForCausalLM.from_pretrained(FOLDER, gguf_file=FILE, dtype=torch.float32)
/// crc = 0
/// for name, tensor in sorted(model.state_dict().items()):
///     if name != "lm_head.weight":
///         crc = zlib.crc32(tensor.numpy().tobytes(), crc)
/// ```
#[test]
fn its_weights_are_the_bits_that_transformers_reads() {
    let Some(path) = model() else { return };
    let weights = open(&path).unwrap().weights;
    let mut crc = crc32fast::Hasher::new();
    for name in weights.names() {
        let mut numbers = vec![0.0; weights.expect(name).unwrap().numbers()];
        weights.read(name, &mut numbers).unwrap();
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        crc.update(&bytes);
    }
    assert_eq!(format!("{:08x}", crc.finalize()), "db0a7496");
}
