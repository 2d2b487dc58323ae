//! `whet generate` on models of a few thousand numbers.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::binary::{Ran, whet_in, whet_under};
use crate::tiny_model::{VOCAB, golden, poke, tiny, tiny_chat, tokenizer, write_json};

const PROMPT: &str = "<5> <6> <7>";

fn generate(dir: &Path, flags: &[&str]) -> Ran {
    whet_in(dir, &[&["generate", "model"], flags].concat())
}

/// The JSON answer, without the times.
fn answer(dir: &Path, flags: &[&str]) -> Value {
    let ran = generate(dir, &[flags, &["--json"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    let mut value: Value = serde_json::from_str(&ran.out).expect("JSON");
    let seconds = value["seconds"].take();
    for part in ["load", "prefill", "decode"] {
        assert!(seconds[part].as_f64() >= Some(0.0), "{seconds}");
    }
    value
}

#[test]
fn a_prompt_is_completed_on_standard_output_and_speed_is_said_beside_it() {
    let dir = tiny("llama");
    let flags = [PROMPT, "--max-tokens", "12", "--seed", "3"];
    let ran = generate(dir.path(), &flags);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let text = answer(dir.path(), &flags)["prompts"][0]["completions"][0]["text"].clone();
    assert_eq!(ran.out, format!("{}\n", text.as_str().unwrap()));
    for part in ["model loaded in ", "prompt:  3 tokens in ", "sampled: ", " tokens/s)"] {
        assert!(ran.err.contains(part), "{part}\n{}", ran.err);
    }
    let quiet = generate(dir.path(), &[&flags[..], &["--quiet"]].concat());
    assert_eq!((quiet.out, quiet.err), (ran.out, String::new()));
}

#[test]
fn the_same_seed_gives_the_same_text_and_another_seed_another() {
    for family in ["llama", "qwen2", "qwen3"] {
        let dir = tiny(family);
        let text = |seed, threads| {
            let flags = [PROMPT, "--seed", seed, "--threads", threads, "--max-tokens", "40"];
            generate(dir.path(), &flags).out
        };
        assert_eq!(text("1", "1"), text("1", "3"));
        assert_ne!(text("1", "1"), text("2", "1"));
    }
}

#[test]
fn the_json_answer_has_tokens_log_probabilities_and_counts() {
    let dir = tiny("qwen3");
    let flags = [PROMPT, "--samples", "3", "--max-tokens", "9", "--stop", "<77>"];
    let found = answer(dir.path(), &flags);
    assert_eq!(found["v"], 1);
    assert_eq!(found["model"], "model");
    assert_eq!(found["prompts"][0]["prompt"], PROMPT);
    assert_eq!(found["prompts"][0]["prompt_tokens"], json!([5, 6, 7]));
    let completions = found["prompts"][0]["completions"].as_array().unwrap();
    assert_eq!(completions.len(), 3);
    let mut sampled = 0;
    for completion in completions {
        let ids = completion["tokens"]["ids"].as_array().unwrap();
        let logps = completion["tokens"]["logps"].as_array().unwrap();
        assert!(ids.len() == logps.len() && ids.len() <= 9);
        assert!(logps.iter().all(|logp| logp.as_f64().unwrap() <= 0.0));
        let ended = ids.last().unwrap().as_u64() == Some(2);
        assert_eq!(completion["finish"], if ended { "stop" } else { "length" });
        let shown = &ids[..ids.len() - usize::from(ended)];
        let text: Vec<String> = shown.iter().map(|id| format!("<{id}>")).collect();
        assert_eq!(completion["text"], text.concat());
        sampled += ids.len();
    }
    assert_eq!(found["usage"]["prompt_tokens"], 3, "computed once for all samples");
    assert_eq!(found["usage"]["sampled_tokens"], sampled);
}

#[test]
fn several_completions_are_printed_in_order_under_their_titles() {
    let dir = tiny("llama");
    fs::write(dir.path().join("prompts.txt"), "<5> <6>\n\n<7>\n").unwrap();
    let flags = ["--file", "prompts.txt", "--samples", "2", "--max-tokens", "20"];
    let ran = generate(dir.path(), &flags);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let found = answer(dir.path(), &flags);
    let mut expected = Vec::new();
    for (prompt, sample) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let text = found["prompts"][prompt]["completions"][sample]["text"].as_str().unwrap();
        let (prompt, sample) = (prompt + 1, sample + 1);
        expected.push(format!("=== prompt {prompt} of 2, sample {sample} of 2 ===\n{text}\n"));
    }
    assert_eq!(ran.out, expected.concat());
}

#[test]
fn prompts_come_from_standard_input_too() {
    let dir = tiny("llama");
    let mut whet = Command::new(env!("CARGO_BIN_EXE_whet"))
        .args(["generate", "model", "--file", "-", "--max-tokens", "5"])
        .current_dir(dir.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    whet.stdin.take().unwrap().write_all(PROMPT.as_bytes()).unwrap();
    let output = whet.wait_with_output().unwrap();
    let expected = generate(dir.path(), &[PROMPT, "--max-tokens", "5"]).out;
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
}

#[test]
fn a_chat_goes_through_the_models_template() {
    let dir = tiny_chat("llama");
    let tokens = |flags: &[&str]| {
        let found = answer(dir.path(), &[&["<20>", "--max-tokens", "1"], flags].concat());
        found["prompts"][0]["prompt_tokens"].clone()
    };
    assert_eq!(tokens(&[]), json!([20]));
    assert_eq!(tokens(&["--chat"]), json!([11, 20, 12]));
    assert_eq!(tokens(&["--chat", "--system", "<30>"]), json!([10, 30, 11, 20, 12]));
    assert_eq!(tokens(&["--chat", "--enable-thinking", "false"]), json!([11, 20, 13]));
    assert_eq!(tokens(&["--chat", "--enable-thinking", "true"]), json!([11, 20, 12]));
}

#[test]
fn a_chat_without_a_template_says_what_to_do() {
    let dir = tiny("llama");
    let ran = generate(dir.path(), &[PROMPT, "--chat"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("error: `model` has no chat template"), "{}", ran.err);
    assert!(ran.err.contains("hint: leave `--chat` out"), "{}", ran.err);
}

#[test]
fn greedy_choice_needs_no_seed_and_an_adapter_changes_it() {
    let dir = tiny("qwen2");
    let adapter = golden("qwen2").join("adapter").display().to_string();
    let text = |flags: &[&str]| {
        let greedy = [PROMPT, "--temperature", "0", "--max-tokens", "30"];
        let ran = generate(dir.path(), &[&greedy[..], flags].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.out
    };
    let plain = text(&[]);
    assert_eq!(plain, text(&["--seed", "7"]));
    assert_ne!(plain, text(&["--adapter", &adapter]));
}

#[test]
fn projections_as_bytes_change_log_probabilities_slightly() {
    let dir = tiny("llama");
    let first = |flags: &[&str]| {
        let found = answer(dir.path(), &[&[PROMPT, "--max-tokens", "1"], flags].concat());
        let tokens = &found["prompts"][0]["completions"][0]["tokens"];
        (tokens["ids"][0].clone(), tokens["logps"][0].as_f64().unwrap())
    };
    let (plain, bytes) = (first(&[]), first(&["--8bit"]));
    assert_eq!(plain.0, bytes.0);
    let off = (plain.1 - bytes.1).abs();
    assert!(off > 0.0 && off < 0.1, "{plain:?} {bytes:?}");
}

#[test]
fn sampling_flags_reach_the_sampler() {
    let dir = tiny("llama");
    let greedy = generate(dir.path(), &[PROMPT, "--temperature", "0"]).out;
    for flags in [&["--top-k", "1"][..], &["--top-p", "1e-6"], &["--min-p", "1"]] {
        let ran = generate(dir.path(), &[&[PROMPT], flags].concat());
        assert_eq!(ran.out, greedy, "{flags:?}");
    }
    let flags = [PROMPT, "--temperature", "0", "--presence-penalty", "-100", "--max-tokens", "9"];
    let found = answer(dir.path(), &flags);
    let ids = found["prompts"][0]["completions"][0]["tokens"]["ids"].as_array().unwrap();
    assert!(ids.iter().all(|id| *id == ids[0]), "a token that gains by repetition: {ids:?}");
}

#[test]
fn an_interrupted_run_leaves_whole_completions() {
    let dir = tiny("llama");
    let flags = [PROMPT, "--samples", "400", "--max-tokens", "120"];
    let whole = generate(dir.path(), &flags).out;
    let mut whet = Command::new(env!("CARGO_BIN_EXE_whet"))
        .args([&["generate", "model"], &flags[..]].concat())
        .current_dir(dir.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(whet.stdout.take().unwrap());
    let mut seen = String::new();
    out.read_line(&mut seen).unwrap();
    kill(Pid::from_raw(whet.id().cast_signed()), Signal::SIGINT).unwrap();
    out.read_to_string(&mut seen).unwrap();
    whet.wait().unwrap();
    let rest = whole.strip_prefix(&seen).expect("the beginning of what was to come");
    assert!(seen.ends_with('\n') && (rest.is_empty() || rest.starts_with("=== sample ")), "{seen}");
}

#[test]
fn a_model_that_is_not_there_is_named() {
    let dir = tiny("llama");
    let ran = whet_in(dir.path(), &["generate", "./Qwen3-1.7B", "hi"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("error: there is no model at `./Qwen3-1.7B`"), "{}", ran.err);
    assert!(ran.err.contains("hint: give the path of a model directory"), "{}", ran.err);
    let nowhere = [("HF_ENDPOINT", "http://127.0.0.1:9"), ("HF_HOME", "home")];
    let ran = whet_under(dir.path(), &["generate", "Qwen/Qwen3-1.7B", "hi"], &nowhere);
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("cannot fetch the model `Qwen/Qwen3-1.7B`"), "{}", ran.err);
}

#[test]
fn what_cannot_be_completed_is_refused_with_its_place() {
    let dir = tiny("llama");
    let long = "<5> ".repeat(128);
    fs::write(dir.path().join("prompts.txt"), format!("<5>\n{long}\n")).unwrap();
    fs::write(dir.path().join("none.txt"), "\n \n").unwrap();
    let cases: [(&[&str], &str); 12] = [
        (&[], "<PROMPT>"),
        (&[""], "the prompt is empty"),
        (&[&long], "the prompt has 128 tokens; the context of 128 leaves no room"),
        (&["--file", "prompts.txt"], "`prompts.txt`, line 2 has 128 tokens"),
        (&["--file", "none.txt"], "`none.txt` has no prompts"),
        (&["--file", "gone.txt"], "cannot read prompts from `gone.txt`: No such file"),
        (&[PROMPT, "--context", "129"], "exceeds the model's context length of 128"),
        (&[PROMPT, "--context", "3"], "the context of 3 leaves no room"),
        (&[PROMPT, "--temperature", "-1"], "--temperature"),
        (&[PROMPT, "--top-p", "0"], "--top-p"),
        (&[PROMPT, "--system", "x"], "--chat"),
        (&[PROMPT, "--adapter", "gone"], "gone/adapter_config.json"),
    ];
    for (flags, expected) in cases {
        let ran = generate(dir.path(), flags);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{flags:?}: {}", ran.err);
        assert!(ran.err.contains(expected), "{expected}\n{}", ran.err);
    }
}

#[test]
fn a_broken_model_is_refused_by_file_and_tensor_or_key() {
    check("model-00002-of-00002.safetensors", |model| {
        let index = json!({"weight_map": {
            "model.norm.weight": "model-00001-of-00002.safetensors",
            "lm_head.weight": "model-00002-of-00002.safetensors",
        }});
        write_json(&model.join("model.safetensors.index.json"), &index);
        fs::copy(model.join("model.safetensors"), model.join("model-00001-of-00002.safetensors"))
            .unwrap();
        fs::remove_file(model.join("model.safetensors")).unwrap();
    });
    check("model.safetensors", |model| {
        let path = model.join("model.safetensors");
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() - 100]).unwrap();
    });
    check("config.json` has an unsupported architecture: ", |model| {
        let mut config = config(model);
        config["architectures"] = json!(["MambaForCausalLM"]);
        config["model_type"] = json!("mamba");
        write_json(&model.join("config.json"), &config);
    });
    check("`num_key_value_heads`", |model| {
        let mut config = config(model);
        config["num_key_value_heads"] = json!("two");
        write_json(&model.join("config.json"), &config);
    });
    check("model.layers.0.mlp.up_proj.weight` of `model/model.safetensors` holds NaN", |model| {
        poke(model.parent().unwrap(), "model.layers.0.mlp.up_proj.weight", f32::NAN);
    });
    check("tokenizer.json` has token 64, the embedding only 64 rows", |model| {
        write_json(&model.join("tokenizer.json"), &tokenizer(VOCAB + 1));
    });
    check("tokenizer.json", |model| fs::remove_file(model.join("tokenizer.json")).unwrap());
}

fn config(model: &Path) -> Value {
    let bytes = fs::read(model.join("config.json")).expect("a file");
    serde_json::from_slice(&bytes).expect("JSON")
}

/// What is said of a model that was broken.
#[track_caller]
fn check(expected: &str, harm: impl FnOnce(&Path)) {
    let dir = tiny("llama");
    harm(&dir.path().join("model"));
    let ran = generate(dir.path(), &[PROMPT]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
    assert!(
        ran.err.trim_start_matches("loading model\n").starts_with("error: ")
            && ran.err.contains(expected),
        "{expected}\n{}",
        ran.err
    );
}

#[test]
fn help_teaches_with_examples() {
    let dir = tempfile::tempdir().unwrap();
    let ran = whet_in(dir.path(), &["generate", "--help"]);
    assert_eq!(ran.code, 0);
    for part in ["--chat", "--samples", "--8bit", "--cache-mb", "Examples:", "Exit codes:"] {
        assert!(ran.out.contains(part), "{part}\n{}", ran.out);
    }
}
