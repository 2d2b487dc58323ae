//! `whet generate --file` with JSON Lines.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::binary::{Ran, whet_in};
use crate::tiny_model::tiny_chat;

fn generate(dir: &Path, lines: &str, flags: &[&str]) -> Ran {
    fs::write(dir.join("p.jsonl"), lines).expect("a file");
    let command = ["generate", "model", "--file", "p.jsonl", "--max-tokens", "6"];
    whet_in(dir, &[&command[..], flags].concat())
}

/// The answers, by the `id` of their lines.
fn answers(ran: &Ran) -> Vec<Value> {
    assert_eq!(ran.code, 0, "{}", ran.err);
    let mut found: Vec<Value> =
        ran.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    found.sort_by_key(|answer| answer["id"].as_u64());
    found
}

fn message(role: &str, content: &str) -> Value {
    json!({"role": role, "content": content})
}

#[test]
fn every_line_is_answered_with_its_own_fields() {
    let dir = tiny_chat("llama");
    let lines = "{\"id\": 0, \"prompt\": \"<5> <6>\", \"task\": {\"x\": 1.50}}\n\n\
                 {\"id\": 1, \"prompt\": \"<7>\\n<8>\"}\n";
    let found = answers(&generate(dir.path(), lines, &["--samples", "2"]));
    assert_eq!(found.len(), 2);
    assert_eq!((&found[0]["task"]["x"], &found[1]["prompt"]), (&json!(1.5), &json!("<7>\n<8>")));
    for answer in &found {
        let completions = answer["completions"].as_array().expect("a list");
        let samples: Vec<&Value> = completions.iter().map(|one| &one["sample"]).collect();
        assert_eq!(samples, [0, 1], "{answer}");
        assert!(completions[0]["tokens"].is_null() && completions[0]["token_count"].is_u64());
    }
    // The same text as of the prompt alone: the first line has the seed of the first prompt.
    let whole = generate(dir.path(), lines, &["--samples", "2", "--json"]);
    let ids = &answers(&whole)[0]["completions"][1]["tokens"]["ids"];
    let alone = ["generate", "model", "<5> <6>", "--max-tokens", "6", "--samples", "2", "--json"];
    let alone: Value = serde_json::from_str(&whet_in(dir.path(), &alone).out).expect("JSON");
    assert_eq!(ids, &alone["prompts"][0]["completions"][1]["tokens"]["ids"]);
}

#[test]
fn messages_go_through_the_template_and_a_begun_answer_is_continued() {
    let dir = tiny_chat("llama");
    let asked = [message("system", "<20>"), message("user", "<21>")];
    let begun = [&asked[..], &[message("assistant", " <22> <23>")]].concat();
    let lines = format!(
        "{}\n{}\n",
        json!({"id": 0, "messages": asked}),
        json!({"id": 1, "messages": begun})
    );
    let found = answers(&generate(dir.path(), &lines, &["--temperature=0", "--json"]));
    let text = |at: usize| found[at]["completions"][0]["text"].as_str().expect("a text").to_owned();
    assert!(text(1).starts_with(" <22> <23>") && !text(0).contains("<22> <23>"), "{found:?}");
    // As the rendered prompt would be completed with the beginning at its end.
    let alone = ["generate", "model", "--temperature=0", "--max-tokens=6", "--json"];
    let rendered = "<10> <20> <11> <21> <12> <22> <23>";
    let alone = whet_in(dir.path(), &[&alone[..], &[rendered]].concat());
    let alone: Value = serde_json::from_str(&alone.out).expect("JSON");
    let ids = |one: &Value| one["completions"][0]["tokens"]["ids"].clone();
    assert_eq!(ids(&found[1]), ids(&alone["prompts"][0]));
}

#[test]
fn a_bad_line_is_refused_with_its_file_and_number() {
    let dir = tiny_chat("llama");
    for (line, problem) in [
        ("{\"prompt\": 7}", "field `prompt`"),
        ("plain text", "expected"),
        ("{\"messages\": [{\"role\": \"judge\", \"content\": \"\"}]}", "unknown variant `judge`"),
        ("{\"prompt\": \"a\", \"completions\": []}", "rename it"),
    ] {
        let ran = generate(dir.path(), &format!("{{\"prompt\": \"<5>\"}}\n\n{line}\n"), &[]);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
        assert!(
            ran.err.contains("`p.jsonl`, line 3: ") && ran.err.contains(problem),
            "{}",
            ran.err
        );
        assert!(ran.err.contains("hint: "), "{}", ran.err);
    }
}

#[test]
fn a_signal_ends_it_soon_and_nothing_that_is_done_is_lost() {
    let dir = tiny_chat("llama");
    let line = |id: u32| format!("{}\n", json!({"id": id, "prompt": "<5> <6> <7>"}));
    fs::write(dir.path().join("p.jsonl"), (0..64).map(line).collect::<String>()).expect("a file");
    let flags = ["--file=p.jsonl", "--samples=400", "--max-tokens=120"];
    let mut whet = Command::new(env!("CARGO_BIN_EXE_whet"))
        .args([&["generate", "model"], &flags[..]].concat())
        .current_dir(dir.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let mut out = BufReader::new(whet.stdout.take().expect("a pipe"));
    let mut seen = String::new();
    out.read_line(&mut seen).expect("a line");
    let told = Instant::now();
    kill(Pid::from_raw(whet.id().cast_signed()), Signal::SIGTERM).expect("it runs");
    out.read_to_string(&mut seen).expect("text");
    let code = whet.wait().expect("it ends").code();
    assert!(told.elapsed() < Duration::from_secs(5), "{:?}", told.elapsed());
    let lines: Vec<Value> =
        seen.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let counts: Vec<usize> =
        lines.iter().map(|line| line["completions"].as_array().map_or(0, Vec::len)).collect();
    assert_eq!(counts[0], 400, "the first line is whole");
    if lines.len() < 64 {
        assert_eq!(code, Some(130));
        assert!(counts.iter().all(|&count| count > 0), "{counts:?}");
    }
}
