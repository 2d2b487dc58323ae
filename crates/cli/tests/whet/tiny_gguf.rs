//! The small student as a GGUF file: its own numbers, under llama.cpp's names.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// What is written of a key: its name, GGUF's number of its type, and its bytes.
struct Entry(String, u32, Vec<u8>);

/// Writes `student/` as `NAME.gguf` beside its own tokenizer, with these texts more.
pub(crate) fn write(student: &Path, to: &Path, texts: &[(&str, &str)]) {
    let config: Value = serde_json::from_str(
        &fs::read_to_string(student.join("config.json")).expect("a configuration"),
    )
    .expect("JSON");
    assert_eq!(config["model_type"], "qwen3", "the names below are those of qwen3");
    let template = fs::read_to_string(student.join("chat_template.jinja")).expect("a template");
    let mut entries = vec![
        text("general.architecture", "qwen3"),
        text("tokenizer.chat_template", &template),
        number("qwen3.embedding_length", &config["hidden_size"]),
        number("qwen3.attention.head_count", &config["num_attention_heads"]),
        number("qwen3.attention.head_count_kv", &config["num_key_value_heads"]),
        number("qwen3.attention.key_length", &config["head_dim"]),
        number("qwen3.context_length", &config["max_position_embeddings"]),
        number("qwen3.block_count", &config["num_hidden_layers"]),
        number("qwen3.feed_forward_length", &config["intermediate_size"]),
        float("qwen3.attention.layer_norm_rms_epsilon", &config["rms_norm_eps"]),
        float("qwen3.rope.freq_base", theta(&config)),
    ];
    entries.extend(texts.iter().map(|(key, value)| text(key, value)));
    let folder = to.parent().expect("a folder");
    fs::create_dir_all(folder).expect("a folder");
    for file in ["tokenizer.json", "tokenizer_config.json"] {
        fs::copy(student.join(file), folder.join(file)).expect("a file");
    }
    fs::write(to, file(&entries, &tensors(&student.join("model.safetensors")))).expect("a file");
}

fn theta(config: &Value) -> &Value {
    config.get("rope_theta").unwrap_or(&config["rope_parameters"]["rope_theta"])
}

struct Tensor {
    name: String,
    shape: Vec<u64>,
    bytes: Vec<u8>,
}

fn tensors(path: &Path) -> Vec<Tensor> {
    let all = fs::read(path).expect("weights");
    let length =
        usize::try_from(u64::from_le_bytes(all[..8].try_into().expect("8"))).expect("small");
    let header: Value = serde_json::from_slice(&all[8..8 + length]).expect("a header");
    let data = &all[8 + length..];
    let named = header.as_object().expect("an object").iter();
    let named = named.filter(|(name, _)| *name != "__metadata__");
    named
        .map(|(name, place)| {
            assert_eq!(place["dtype"], "F32");
            let offsets = &place["data_offsets"];
            let bytes = &data[size(&offsets[0])..size(&offsets[1])];
            let mut shape: Vec<u64> = place["shape"]
                .as_array()
                .expect("a shape")
                .iter()
                .filter_map(Value::as_u64)
                .collect();
            shape.reverse();
            Tensor { name: gguf_name(name), shape, bytes: bytes.to_vec() }
        })
        .collect()
}

fn gguf_name(hub: &str) -> String {
    let renamed = [
        ("model.embed_tokens", "token_embd"),
        ("model.norm", "output_norm"),
        ("lm_head", "output"),
        ("model.layers.", "blk."),
        ("input_layernorm", "attn_norm"),
        ("post_attention_layernorm", "ffn_norm"),
        ("self_attn.q_norm", "attn_q_norm"),
        ("self_attn.k_norm", "attn_k_norm"),
        ("self_attn.q_proj", "attn_q"),
        ("self_attn.k_proj", "attn_k"),
        ("self_attn.v_proj", "attn_v"),
        ("self_attn.o_proj", "attn_output"),
        ("mlp.gate_proj", "ffn_gate"),
        ("mlp.up_proj", "ffn_up"),
        ("mlp.down_proj", "ffn_down"),
    ];
    renamed.iter().fold(hub.to_owned(), |name, (from, to)| name.replace(from, to))
}

/// Version 3, everything aligned to 32 bytes.
fn file(entries: &[Entry], tensors: &[Tensor]) -> Vec<u8> {
    let mut file = [&b"GGUF"[..], &3_u32.to_le_bytes()].concat();
    file.extend((tensors.len() as u64).to_le_bytes());
    file.extend((entries.len() as u64).to_le_bytes());
    for Entry(key, kind, value) in entries {
        file.extend([&string(key)[..], &kind.to_le_bytes(), value].concat());
    }
    let mut data = Vec::new();
    for Tensor { name, shape, bytes } in tensors {
        file.extend(string(name));
        file.extend(u32::try_from(shape.len()).expect("few").to_le_bytes());
        file.extend(shape.iter().flat_map(|size| size.to_le_bytes()));
        file.extend([&0_u32.to_le_bytes()[..], &(data.len() as u64).to_le_bytes()].concat());
        data.extend(bytes);
        data.resize(data.len().next_multiple_of(32), 0);
    }
    file.resize(file.len().next_multiple_of(32), 0);
    [file, data].concat()
}

fn string(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat()
}

fn text(key: &str, value: &str) -> Entry {
    Entry(key.to_owned(), 8, string(value))
}

fn number(key: &str, value: &Value) -> Entry {
    let number = u32::try_from(size(value)).expect("small");
    Entry(key.to_owned(), 4, number.to_le_bytes().to_vec())
}

#[expect(clippy::cast_possible_truncation, reason = "GGUF has them as f32")]
fn float(key: &str, value: &Value) -> Entry {
    let number = value.as_f64().expect("a number") as f32;
    Entry(key.to_owned(), 6, number.to_le_bytes().to_vec())
}

fn size(value: &Value) -> usize {
    usize::try_from(value.as_u64().expect("a whole number")).expect("small")
}
