//! `whet model new`, and other commands on what it makes.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::binary::{Ran, whet_in, whet_under};

const SMALL: [&str; 12] = [
    "--vocab",
    "280",
    "--width",
    "16",
    "--layers",
    "1",
    "--heads",
    "2",
    "--kv-heads",
    "1",
    "--ffn",
    "24",
];

/// A folder with a corpus of traces in `traces.jsonl`.
fn corpus() -> TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    let trace = |name: &str| {
        let code = format!(
            "def {name}(items):\n    out = 0\n    for item in items:\n        out += item\n    return out"
        );
        json!({
            "v": 1, "task_id": name, "sample": 0, "prompt": format!("Write `{name}`."),
            "thinking": "Add all up.", "code": code, "text": "as it came", "verdict": "pass",
            "model": "m",
        })
    };
    let lines = ["total", "sum_all"].map(|name| format!("{}\n", trace(name)));
    fs::write(dir.path().join("traces.jsonl"), lines.concat()).expect("a file");
    dir
}

fn new(dir: &Path, flags: &[&str]) -> Ran {
    whet_in(dir, &[&["model", "new"], flags, &SMALL].concat())
}

fn made(flags: &[&str]) -> (TempDir, Value) {
    let dir = corpus();
    let ran = new(dir.path(), &[&["m", "--corpus", "traces.jsonl", "--json"], flags].concat());
    assert_eq!((ran.code, ran.err_before_next()), (0, ""));
    let found = serde_json::from_str(&ran.out).expect("JSON");
    (dir, found)
}

fn json_of(dir: &Path, args: &[&str]) -> Value {
    let ran = whet_in(dir, args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    serde_json::from_str(&ran.out).expect("JSON")
}

#[test]
fn what_is_said_is_what_the_directory_holds() {
    let (dir, said) = made(&["--context", "96"]);
    let info = json_of(dir.path(), &["model", "info", "m", "--json"]);
    assert_eq!(said["parameters"], info["parameters"]["total"]);
    assert_eq!(said["without_embedding"], info["parameters"]["without_embedding"]);
    assert_eq!(said["bytes"], info["file"]["bytes"]);
    assert_eq!(said["eos"], info["architecture"]["eos"]);
    let sizes = json!({
        "family": "Qwen3", "layers": 1, "width": 16, "heads": 2, "kv_heads": 1, "head_size": 8,
        "ffn": 24, "vocabulary": 280, "tokens": 280, "tied_head": true, "context": 96,
        "chat_template": true,
    });
    for (key, value) in sizes.as_object().unwrap() {
        assert_eq!(&info["architecture"][key], value, "{key}");
    }
    assert_eq!(info["file"]["dtypes"], json!({"BF16": 13}));
    assert_eq!(said["corpus"]["lines"], 2);
    let mean = said["corpus"]["tokens"].as_f64().unwrap() / 2.0;
    assert_eq!(said["corpus"]["mean_tokens"], mean);
    assert!(said["corpus"]["longest_tokens"].as_f64() > Some(mean));
}

#[test]
fn the_page_tells_parameters_bytes_vocabulary_and_lengths() {
    let dir = corpus();
    let ran = new(dir.path(), &["m", "--corpus", "traces.jsonl", "--dtype", "f32"]);
    assert_eq!((ran.code, ran.err_before_next()), (0, ""));
    // The embedding; norms, attention (q and o 16x16, k and v 8x16, gains of 8) and network; a norm.
    let (table, layer) = (280 * 16, 2 * 16 + 2 * 256 + 2 * 128 + 2 * 8 + 3 * 24 * 16);
    let total = table + layer + 16;
    assert_eq!((total, layer + 16), (6464, 1984));
    for part in [
        "parameters     6,464, of which 1,984 beside the embedding",
        "weights        25,856 bytes (0.0 MiB), F32",
        "vocabulary     280, ",
        "corpus         2 lines: ",
        " tokens a line, ",
    ] {
        assert!(ran.out.contains(part), "{part}\n{}", ran.out);
    }
}

#[test]
fn the_same_corpus_and_seed_give_the_same_bytes_on_any_number_of_threads() {
    let dir = corpus();
    let make = |name: &str, seed: &str, threads: &str| {
        let flags = ["model", "new", name, "--corpus", "traces.jsonl", "--seed", seed];
        let variables = [("RAYON_NUM_THREADS", threads)];
        let ran = whet_under(dir.path(), &[&flags[..], &SMALL].concat(), &variables);
        assert_eq!(ran.code, 0, "{}", ran.err);
        let file = |file: &str| fs::read(dir.path().join(name).join(file)).unwrap();
        (file("tokenizer.json"), file("model.safetensors"))
    };
    let one = make("a", "1", "1");
    assert_eq!(one, make("b", "1", "4"));
    let other = make("c", "2", "1");
    assert_eq!(one.0, other.0, "the seed is of the weights alone");
    assert_ne!(one.1, other.1);
}

#[test]
fn a_new_model_is_sampled_from_and_stops_where_a_message_ends() {
    let (dir, made) = made(&["--drop-system"]);
    let flags = ["--chat", "--system", "Be brief.", "--max-tokens", "600", "--samples", "4"];
    let args = [&["generate", "m", "Add.", "--json"], &flags[..]].concat();
    let prompt = &json_of(dir.path(), &args)["prompts"][0];
    let text = "<|im_start|>user\nAdd.<|im_end|>\n<|im_start|>assistant\n";
    assert_eq!(prompt["prompt"], text);
    let mut stopped = 0;
    for completion in prompt["completions"].as_array().unwrap() {
        let ids = completion["tokens"]["ids"].as_array().unwrap();
        let ends = ids.iter().filter(|id| made["eos"].as_array().unwrap().contains(id)).count();
        assert_eq!(ends, usize::from(completion["finish"] == "stop"), "{completion}");
        assert!(!completion["text"].as_str().unwrap().contains("<|im_end|>"));
        stopped += ends;
    }
    // Two ends among 280 tokens that are about equally probable: 600 tokens pass one.
    assert!(stopped > 0);
}

#[test]
fn who_speaks_is_one_token() {
    let dir = corpus();
    let start = ["model", "new", "m", "--corpus", "traces.jsonl", "--vocab", "1000"];
    let sizes = ["--width", "16", "--heads", "2", "--ffn", "24", "--layers", "1"];
    let ran = whet_in(dir.path(), &[&start[..], &sizes].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    let flags = ["generate", "m", "!", "--chat", "--max-tokens", "1", "--json"];
    let tokens = &json_of(dir.path(), &flags)["prompts"][0]["prompt_tokens"];
    // <|im_start|> user \n ! <|im_end|> \n <|im_start|> assistant \n
    assert_eq!(tokens.as_array().unwrap().len(), 9, "{tokens}");
}

#[test]
fn a_corpus_is_traces_objects_and_plain_text() {
    let dir = corpus();
    fs::write(dir.path().join("tasks.jsonl"), "{\"id\":\"zqzqzq\"}\n\n{\"n\":1,\"q\":\"a\"}\n")
        .unwrap();
    fs::write(dir.path().join("text.txt"), "xjxjxj\n{\n").unwrap();
    let flags = ["m", "--corpus", "traces.jsonl", "tasks.jsonl", "--corpus", "text.txt", "--json"];
    let ran = new(dir.path(), &flags);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let said: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(said["corpus"]["lines"], 5, "two traces, two objects and a text");
    let response = "<think>\nAdd all up.\n</think>\n\n```python\n\n```\n";
    let code = |name| {
        format!(
            "def {name}(items):\n    out = 0\n    for item in items:\n        out += item\n    return out"
        )
    };
    let bytes: usize = ["total", "sum_all"]
        .iter()
        .map(|name| format!("Write `{name}`.").len() + response.len() + code(name).len())
        .sum();
    assert_eq!(said["corpus"]["bytes"], bytes + "zqzqzq".len() + "a".len() + "xjxjxj\n{\n".len());
}

#[test]
fn what_cannot_be_made_is_refused_with_its_place() {
    let dir = corpus();
    fs::create_dir(dir.path().join("there")).unwrap();
    fs::write(dir.path().join("bad.jsonl"), "{\"a\":\"x\"}\nplain\n").unwrap();
    fs::write(dir.path().join("numbers.jsonl"), "{\"a\":1}\n").unwrap();
    fs::write(dir.path().join("blank.txt"), " \n").unwrap();
    fs::write(dir.path().join("bytes.txt"), b"a\n\xff").unwrap();
    let cases: [(&[&str], &str); 10] = [
        (&["there", "--corpus", "gone.jsonl"], "`there` exists; remove it"),
        (&["m"], "--corpus"),
        (&["m", "--corpus", "gone.jsonl"], "gone.jsonl: cannot read: No such file"),
        (&["m", "--corpus", "gone.txt"], "cannot read `gone.txt`: No such file"),
        (
            &["m", "--corpus", "bad.jsonl"],
            "bad.jsonl:2: expected one line of text as a JSON object",
        ),
        (&["m", "--corpus", "bad.jsonl"], "hint: files of plain text end in .txt"),
        (&["m", "--corpus", "numbers.jsonl"], "numbers.jsonl:1: not a line of text: "),
        (&["m", "--corpus", "blank.txt"], "the corpus has no text"),
        (&["m", "--corpus", "bytes.txt"], "bytes.txt:2 is not UTF-8"),
        (&["m", "--corpus", "traces.jsonl", "--context", "0"], "--context"),
    ];
    for (flags, expected) in cases {
        let ran = new(dir.path(), flags);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{flags:?}: {}", ran.err);
        assert!(ran.err.contains(expected), "{expected}\n{}", ran.err);
        assert!(!dir.path().join("m").exists());
    }
}

#[test]
fn sizes_that_do_not_fit_are_refused_with_a_hint() {
    let dir = corpus();
    let check = |flags: &[&str], expected: &str| {
        let start = ["model", "new", "m", "--corpus", "traces.jsonl"];
        let ran = whet_in(dir.path(), &[&start, flags].concat());
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
        assert!(ran.err.contains(expected), "{expected}\n{}", ran.err);
    };
    check(&["--vocab", "262"], "262 is not in 263..=131072");
    check(&["--heads", "3"], "a width of 256 is not divisible by 3 heads");
    check(&["--heads", "3"], "hint: choose a `--width` that is a multiple of `--heads`");
    check(&["--kv-heads", "3"], "4 heads cannot share 3 key-value heads evenly");
    check(&["--width", "16384", "--heads", "16", "--ffn", "65536"], "parameters; the limit is");
}

#[test]
fn help_teaches_with_examples() {
    let dir = tempfile::tempdir().unwrap();
    let ran = whet_in(dir.path(), &["model", "new", "--help"]);
    assert_eq!(ran.code, 0);
    for part in ["--corpus", "--drop-system", "[default: 2048]", "Examples:", "Exit codes:"] {
        assert!(ran.out.contains(part), "{part}\n{}", ran.out);
    }
}
