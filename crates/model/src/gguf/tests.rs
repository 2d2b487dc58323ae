//! Small GGUF files made here: whole ones, and ones that lie.

use std::path::PathBuf;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::config::{Family, Scaling};

/// Builds a file piece by piece.
#[derive(Default)]
struct Builder {
    metadata: Vec<Vec<u8>>,
    tensors: Vec<Vec<u8>>,
    data: Vec<u8>,
}

fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat()
}

fn list(kind: u32, length: u64, elements: &[u8]) -> Vec<u8> {
    [&kind.to_le_bytes()[..], &length.to_le_bytes(), elements].concat()
}

impl Builder {
    fn entry(mut self, key: &str, kind: u32, value: &[u8]) -> Self {
        self.metadata.push([&text(key), &kind.to_le_bytes()[..], value].concat());
        self
    }

    fn text(self, key: &str, value: &str) -> Self {
        self.entry(key, 8, &text(value))
    }

    fn number(self, key: &str, value: u32) -> Self {
        self.entry(key, 4, &value.to_le_bytes())
    }

    fn float(self, key: &str, value: f32) -> Self {
        self.entry(key, 6, &value.to_le_bytes())
    }

    fn texts(self, key: &str, texts: &[&str]) -> Self {
        let elements: Vec<u8> = texts.iter().flat_map(|element| text(element)).collect();
        self.entry(key, 9, &list(8, texts.len() as u64, &elements))
    }

    /// A tensor with GGUF's order of dimensions, at a place of its own.
    fn described(mut self, name: &str, shape: &[u64], kind: u32, offset: u64) -> Self {
        let dimensions = u32::try_from(shape.len()).unwrap().to_le_bytes();
        let sizes: Vec<u8> = shape.iter().flat_map(|size| size.to_le_bytes()).collect();
        let place = [&kind.to_le_bytes()[..], &offset.to_le_bytes()].concat();
        self.tensors.push([&text(name)[..], &dimensions, &sizes, &place].concat());
        self
    }

    /// A tensor of floats behind those that are there.
    fn floats(mut self, name: &str, shape: &[u64], numbers: &[f32]) -> Self {
        self.data.resize(self.data.len().next_multiple_of(32), 0);
        let offset = self.data.len() as u64;
        self.data.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        self.described(name, shape, 0, offset)
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = [&b"GGUF"[..], &3u32.to_le_bytes()].concat();
        bytes.extend((self.tensors.len() as u64).to_le_bytes());
        bytes.extend((self.metadata.len() as u64).to_le_bytes());
        bytes.extend(self.metadata.concat());
        bytes.extend(self.tensors.concat());
        bytes.resize(bytes.len().next_multiple_of(32), 0);
        bytes.extend(&self.data);
        bytes
    }
}

fn parse(bytes: &[u8]) -> Result<GgufHeader, String> {
    GgufHeader::read(&mut &bytes[..], bytes.len() as u64).map_err(|err| err.to_string())
}

#[track_caller]
fn refused(builder: &Builder, expected: &str) {
    let err = parse(&builder.bytes()).unwrap_err();
    assert!(err.contains(expected), "{err}");
}

fn new() -> Builder {
    Builder::default()
}

#[test]
fn values_of_every_kind_are_read() {
    let nested = list(9, 1, &list(0, 2, &[1, 2]));
    let builder = new()
        .text("t", "täxt")
        .number("n", 7)
        .float("f", 0.5)
        .entry("b", 7, &[1])
        .texts("texts", &["a", "", "bc"])
        .entry("numbers", 9, &list(5, 2, &[1, 0, 0, 0, 255, 255, 255, 255]))
        .entry("nested", 9, &nested);
    let header = parse(&builder.bytes()).unwrap();
    let get = |key: &str| &header.metadata[key];
    assert_eq!(get("t"), &MetadataValue::Text("täxt".to_owned()));
    assert_eq!(get("n"), &MetadataValue::Unsigned(7));
    assert_eq!(get("f"), &MetadataValue::Float(0.5));
    assert_eq!(get("b"), &MetadataValue::Bool(true));
    assert_eq!(get("nested"), &MetadataValue::Nested);
    let MetadataValue::Texts(texts) = get("texts") else { panic!("no texts") };
    assert_eq!(texts.iter().collect::<Vec<_>>(), ["a", "", "bc"]);
    let MetadataValue::Numbers(numbers) = get("numbers") else { panic!("no numbers") };
    assert_eq!(numbers.integers().unwrap().collect::<Vec<_>>(), [1, -1]);
}

#[test]
fn tensors_are_found_at_their_places_in_the_hubs_order_of_dimensions() {
    let builder = new().floats("a", &[3, 2], &[0.0; 6]).floats("b", &[5], &[0.0; 5]);
    let (bytes, header) = (builder.bytes(), parse(&builder.bytes()).unwrap());
    assert_eq!(header.tensors["a"].shape(), [2, 3]);
    assert_eq!(header.tensors["b"].at() - header.tensors["a"].at(), 32);
    assert_eq!(header.tensors["b"].end(), bytes.len() as u64);
}

#[test]
fn a_lying_header_is_refused_with_the_key_or_tensor_and_the_reason() {
    let huge = |kind: u32, length: u64| new().entry("k", 9, &list(kind, length, &[]));
    refused(&huge(8, 1 << 63), "metadata `k`: a list of texts needs");
    refused(&huge(4, u64::MAX), "metadata `k`: a list of numbers needs");
    refused(&huge(9, 1 << 40), "metadata `k`: a list of lists needs");
    refused(&huge(13, 0), "kind 13 is unknown");
    let deep = (0..6).fold(list(0, 0, &[]), |inner, _| list(9, 1, &inner));
    refused(&new().entry("k", 9, &deep), "more than 4 deep");
    refused(&new().entry("k", 8, &(1u64 << 62).to_le_bytes()), "a text needs 46116860184273879");
    refused(&new().entry("k", 7, &[2]), "neither 0 nor 1");
    refused(&new().entry("k", 9, &list(7, 1, &[3])), "neither 0 nor 1");
    refused(&new().entry("k", 8, &[1, 0, 0, 0, 0, 0, 0, 0, 255]), "is not UTF-8");
    refused(&new().number("k", 1).number("k", 1), "metadata `k`: it occurs twice");
    refused(&new().number("general.alignment", 33), "expected a power of two");
    refused(&new().number("general.alignment", 0), "expected a power of two");

    let one = |shape: &[u64], kind, offset| new().described("w", shape, kind, offset);
    refused(&one(&[8], 0, 0), "tensor `w`: it needs 32 bytes and the file has 0 left");
    refused(&one(&[1 << 63, 2], 0, 0), "larger than any file");
    refused(&one(&[1 << 62], 0, 0), "larger than any file");
    refused(&one(&[8], 0, 1 << 63), "larger than any file");
    refused(&one(&[8], 0, u64::MAX - 31), "larger than any file");
    refused(&one(&[8], 0, 4), "byte 4 is not a multiple of 32");
    refused(&one(&[0], 0, 0), "holds nothing");
    refused(&one(&[33], 2, 0), "not a multiple of the Q4_0 block size 32");
    refused(&one(&[1; 5], 0, 0), "5 dimensions are more than 4");
    refused(&one(&[256], 10, 0), "its type is Q2_K");
    refused(&one(&[256], 99, 0), "type 99 is unknown");
    refused(&one(&[1], 0, 0).described("w", &[1], 0, 0), "it occurs twice");
    let mut shared = one(&[9], 0, 0).described("v", &[1], 0, 32);
    shared.data.resize(64, 0);
    refused(&shared, "tensor `v`: it shares bytes with `w`");
    let long = "x".repeat(300);
    refused(&new().described(&long, &[1], 0, 0), "of 300 bytes is longer than 255");
}

#[test]
fn other_formats_and_versions_are_refused() {
    let check = |at: usize, bytes: &[u8], expected: &str| {
        let mut file = new().bytes();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        let err = parse(&file).unwrap_err();
        assert!(err.contains(expected), "{err}");
    };
    check(0, b"GGML", "it does not begin with `GGUF`");
    check(4, &1u32.to_le_bytes(), "only versions 2 and 3");
    check(4, &3u32.to_be_bytes(), "it is big-endian");
    check(8, &u64::MAX.to_le_bytes(), "the file has");
    check(16, &u64::MAX.to_le_bytes(), "the file has");
}

/// A whole model of the architecture: two layers would show nothing that one does not.
fn model(architecture: &str) -> Builder {
    let key = |key: &str| format!("{architecture}.{key}");
    let ramp = |count: u16| (0..count).map(f32::from).collect::<Vec<_>>();
    new()
        .text("general.architecture", architecture)
        .number(&key("block_count"), 1)
        .number(&key("context_length"), 64)
        .number(&key("embedding_length"), 4)
        .number(&key("feed_forward_length"), 6)
        .number(&key("attention.head_count"), 1)
        .number(&key("attention.key_length"), 4)
        .float(&key("attention.layer_norm_rms_epsilon"), 1e-5)
        .float(&key("rope.freq_base"), 500.0)
        .text("tokenizer.ggml.model", "gpt2")
        .text("tokenizer.ggml.pre", "smollm")
        .texts("tokenizer.ggml.tokens", &["<end>", "a", "b", "ab", "[PAD4]"])
        .entry("tokenizer.ggml.token_type", 9, &list(1, 5, &[3, 1, 1, 1, 5]))
        .texts("tokenizer.ggml.merges", &["a b"])
        .number("tokenizer.ggml.eos_token_id", 0)
        .text("tokenizer.chat_template", "{{ messages[0].content }}{{ eos_token }}")
        .floats("token_embd.weight", &[4, 5], &ramp(20))
        .floats("output_norm.weight", &[4], &[1.0; 4])
        .floats("blk.0.attn_norm.weight", &[4], &[1.0; 4])
        .floats("blk.0.ffn_norm.weight", &[4], &[1.0; 4])
        .floats("blk.0.attn_q.weight", &[4, 4], &ramp(16))
        .floats("blk.0.attn_k.weight", &[4, 4], &ramp(16))
        .floats("blk.0.attn_v.weight", &[4, 4], &ramp(16))
        .floats("blk.0.attn_output.weight", &[4, 4], &ramp(16))
        .floats("blk.0.ffn_gate.weight", &[4, 6], &ramp(24))
        .floats("blk.0.ffn_up.weight", &[4, 6], &ramp(24))
        .floats("blk.0.ffn_down.weight", &[6, 4], &ramp(24))
}

fn save(dir: &TempDir, builder: &Builder) -> PathBuf {
    let path = dir.path().join("m.gguf");
    std::fs::write(&path, builder.bytes()).unwrap();
    path
}

#[test]
fn a_llama_file_is_a_whole_model_with_rows_in_the_hubs_order() {
    let dir = TempDir::new().unwrap();
    let opened = crate::open(&save(&dir, &model("llama"))).unwrap();
    let config = &opened.config;
    assert_eq!((config.family, config.vocab, config.head_dim), (Family::Llama, 5, 4));
    assert!(config.tied_head && !config.qkv_bias);
    assert_eq!((config.eos.as_slice(), config.rms_eps.to_string().as_str()), (&[0][..], "0.00001"));

    let row = |name: &str, row: usize| {
        let mut out = [0.0; 4];
        opened.weights.read_rows(name, row, &mut out).unwrap();
        out[0] / 4.0
    };
    // The file has the hub's rows 0, 2, 1, 3 in queries and keys, and values as they are.
    for (part, rows) in
        [("q", [0.0, 2.0, 1.0, 3.0]), ("k", [0.0, 2.0, 1.0, 3.0]), ("v", [0.0, 1.0, 2.0, 3.0])]
    {
        let name = format!("model.layers.0.self_attn.{part}_proj.weight");
        assert_eq!([0, 1, 2, 3].map(|index| row(&name, index)).to_vec(), rows, "{name}");
        let mut whole = [0.0; 16];
        opened.weights.read(&name, &mut whole).unwrap();
        assert_eq!(vec![whole[0], whole[4], whole[8], whole[12]], rows.map(|number| number * 4.0));
        let mut beyond = [0.0; 8];
        let err = opened.weights.read_rows(&name, 3, &mut beyond).unwrap_err().to_string();
        assert!(err.contains("it has 4 rows of 4"), "{err}");
    }

    assert_eq!(opened.tokenizer.encode("abb<end>a").unwrap(), [3, 2, 0, 1]);
    assert_eq!((opened.tokenizer.size(), opened.tokenizer.eos()), (4, Some(0)));
    let message = whetstone_core::Message::user("hi");
    let text =
        opened.template.unwrap().render(&[message], &crate::template::Options::default()).unwrap();
    assert_eq!(text, "hi<end>");
}

#[test]
fn a_qwen_file_keeps_its_rows_and_needs_its_own_tensors() {
    let dir = TempDir::new().unwrap();
    let biases = |mut builder: Builder| {
        for part in ["q", "k", "v"] {
            builder = builder.floats(&format!("blk.0.attn_{part}.bias"), &[4], &[0.5; 4]);
        }
        builder
    };
    let opened = crate::open(&save(&dir, &biases(model("qwen2")))).unwrap();
    let mut row = [0.0; 4];
    opened.weights.read_rows("model.layers.0.self_attn.q_proj.weight", 1, &mut row).unwrap();
    assert!(opened.config.qkv_bias);
    assert_eq!(row.to_vec(), [4.0, 5.0, 6.0, 7.0]);

    let err = crate::open(&save(&dir, &model("qwen2"))).unwrap_err().to_string();
    assert!(err.ends_with("has no tensor `model.layers.0.self_attn.q_proj.bias`"), "{err}");
    let err = crate::open(&save(&dir, &biases(model("llama")))).unwrap_err().to_string();
    assert!(err.contains("k_proj.bias` that this architecture has no place for"), "{err}");
    let err = crate::open(&save(&dir, &model("qwen3"))).unwrap_err().to_string();
    assert!(err.contains("self_attn.q_norm.weight"), "{err}");
}

#[test]
fn what_a_file_says_of_the_model_is_checked() {
    let dir = TempDir::new().unwrap();
    let check = |builder: Builder, expected: &str| {
        let err = crate::open(&save(&dir, &builder)).unwrap_err().to_string();
        assert!(err.contains("m.gguf") && err.contains(expected), "{err}");
    };
    check(model("mamba"), "`mamba`; supported are Llama, Qwen2 and Qwen3");
    check(new(), "no `general.architecture`");
    check(model("llama").number("llama.attention.head_count_kv", 2), "1 heads cannot share 2");
    check(model("llama").number("llama.expert_count", 8), "mixtures of experts");
    check(model("llama").number("llama.rope.dimension_count", 2), "`rope.dimension_count` is 2");
    check(model("llama").text("llama.rope.scaling.type", "longrope"), "`longrope`");
    check(model("llama").floats("blk.1.attn_q.weight", &[4, 4], &[0.0; 16]), "no place for");
    check(model("llama").floats("strange", &[1], &[0.0]), "`strange` that this architecture");
    check(model("llama").floats("rope_freqs.weight", &[3], &[1.0; 3]), "3 factors");
    check(model("llama").floats("output.weight", &[4, 4], &[0.0; 16]), "shape [4, 4], not [5, 4]");
}

#[test]
fn stretched_frequencies_are_read_in_each_of_their_forms() {
    let dir = TempDir::new().unwrap();
    let scaling =
        |builder: Builder| Gguf::open(&save(&dir, &builder)).unwrap().config().rope.scaling.clone();
    let factors = model("llama").floats("rope_freqs.weight", &[2], &[1.0, 8.0]);
    assert_eq!(scaling(factors), Scaling::Factors(vec![1.0, 8.0]));
    let stretched = |kind| {
        let builder = model("llama").text("llama.rope.scaling.type", kind);
        builder.float("llama.rope.scaling.factor", 4.0)
    };
    assert_eq!(scaling(stretched("linear")), Scaling::Linear { factor: 4.0 });
    let Scaling::Yarn { factor, original, attention_factor, .. } =
        scaling(stretched("yarn").number("llama.rope.scaling.original_context_length", 16))
    else {
        panic!("no yarn")
    };
    assert_eq!((factor, original), (4.0, 16));
    assert!((attention_factor - (0.1 * 4f64.ln() + 1.0)).abs() < 1e-12);
}

#[test]
fn a_tokenizer_that_does_not_fit_is_refused() {
    let dir = TempDir::new().unwrap();
    let with = |key: &str, change: fn(Builder) -> Builder| {
        let mut builder = model("llama");
        builder.metadata.retain(|entry| !entry.starts_with(&text(key)));
        let err = crate::open(&save(&dir, &change(builder))).unwrap_err().to_string();
        assert!(err.contains("m.gguf"), "{err}");
        err
    };
    let err = with("tokenizer.ggml.model", |file| file.text("tokenizer.ggml.model", "llama"));
    assert!(err.contains("put a `tokenizer.json` beside it"), "{err}");
    let err = with("tokenizer.ggml.pre", |file| file.text("tokenizer.ggml.pre", "odd"));
    assert!(err.contains("`odd` is not known"), "{err}");
    let err = with("tokenizer.ggml.token_type", |file| {
        file.entry("tokenizer.ggml.token_type", 9, &list(1, 2, &[1, 1]))
    });
    assert!(err.contains("2 types for 5 tokens"), "{err}");
    let err = with("tokenizer.ggml.merges", |file| file.texts("tokenizer.ggml.merges", &["a z"]));
    assert!(err.contains("the tokenizer of"), "{err}");
    let err = with("tokenizer.ggml.tokens", |file| {
        let file = file.texts("tokenizer.ggml.tokens", &["<end>", "a", "b", "ab", "c", "d"]);
        let mut file = file;
        file.metadata.retain(|entry| !entry.starts_with(&text("tokenizer.ggml.token_type")));
        file.entry("tokenizer.ggml.token_type", 9, &list(1, 6, &[3, 1, 1, 1, 1, 1]))
    });
    assert!(err.contains("has token 5, the embedding only 5 rows"), "{err}");
}

proptest! {
    #[test]
    fn any_damage_to_a_header_is_refused_or_leaves_tensors_inside_the_file(
        at in 0usize..1600, byte in any::<u8>(), cut in 0usize..4000,
    ) {
        let mut file = model("llama").bytes();
        let at = at % file.len();
        file[at] = byte;
        file.truncate(cut.max(24));
        if let Ok(header) = parse(&file) {
            let ends = header.tensors.values().map(Stored::end);
            prop_assert!(ends.max().unwrap_or(0) <= file.len() as u64);
        }
    }
}
