//! `whet teach` through episodes of two turns, against servers that break in either of them, and
//! `whet train sft --rows` on what it made.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;

use serde_json::{Value, json};
use whetstone_remote::loopback::chat::{Act, ChatServer, Manners, Reasoning};
use whetstone_remote::loopback::http::{Reply, Wire};

use crate::binary::{Ran, whet_in};

/// A task to guess a number below 10.
pub(crate) fn guess(number: u64, id: u64) -> String {
    let body = format!(r#"{{"kind":"guess","number":{number}}}"#);
    let statement = r"Guess a number.\nIt is below 10.";
    format!("{{\"id\":\"g/{id}\",\"statement\":\"{statement}\",\"body\":{body}}}\n")
}

/// A guess that follows from the seed and the environment's answer.
pub(crate) fn guessed(request: &Value, _: usize) -> String {
    let seed = request["seed"].as_u64().expect("every request has a seed");
    let (number, thought) = match last(request) {
        "Higher." => (5 + seed % 5, "above"),
        "Lower." => (seed % 5, "below"),
        _ => (5, "the middle"),
    };
    format!("<think>{thought}</think>\n\n{number}")
}

fn last(request: &Value) -> &str {
    let messages = request["messages"].as_array().expect("messages");
    messages.last().and_then(|message| message["content"].as_str()).expect("a text")
}

fn teach(folder: &Path, url: &str, flags: &[&str]) -> Ran {
    let url = format!("teacher.api_url={url}");
    let args = ["teach", "--tasks=tasks.jsonl", "--out=out.jsonl", "--set", &url];
    whet_in(folder, &[&args[..], flags].concat())
}

fn lines(folder: &Path, name: &str) -> Vec<Value> {
    let text = fs::read_to_string(folder.join(name)).expect("a file");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// What the server does to a request for the `times`th time, by the task's number and the turn.
fn fault(number: u64, turn: usize, times: u32) -> Act {
    let error = |status, message: &str| {
        Act::Send(Reply::json(status, &json!({"error": {"message": message}})))
    };
    let cut = json!({"model": "m", "choices": [{
        "message": {"role": "assistant", "content": "<think>so"}, "finish_reason": "length"
    }]});
    match (number, turn, times) {
        (0, 1, 0) => error(500, "out of memory"),
        (1, 1, 0) => Act::Over(Wire::Silence),
        (2, 1, 0) => Act::Over(Wire::CutInBody(20)),
        (3, 1, _) => error(400, "the prompt is too long"),
        (4, 0, _) => Act::Send(Reply::new(200, "application/json", r#"{"choices": [{"mess"#)),
        (6, 0, _) => Act::Send(Reply::json(200, &cut)),
        _ => Act::Answer,
    }
}

/// A server that breaks by the number of the task, which stands in the first message.
fn broken_server() -> ChatServer {
    let seen: Mutex<HashMap<String, u32>> = Mutex::default();
    let act = move |_, request: &Value| {
        let first = request["messages"][0]["content"].as_str().expect("a text");
        let number = first.trim_end_matches('.').rsplit('/').next().and_then(|n| n.parse().ok());
        let mut seen = seen.lock().expect("no test panics there");
        let times = seen.entry(format!("{first}{}", request["seed"])).or_default();
        *times += 1;
        let turn = request["messages"].as_array().map_or(0, |all| all.len() / 2);
        fault(number.expect("a number"), turn, *times - 1)
    };
    let (act, text) = (Box::new(act), Box::new(guessed));
    ChatServer::start(Manners { act, text, reasoning: Reasoning::Content, ..Manners::default() })
}

#[test]
fn whatever_the_server_does_in_an_episode_it_comes_to_its_end_or_has_a_counted_reason() {
    let dir = tempfile::tempdir().unwrap();
    let task =
        |n: u64| guess(n, n).replace("Guess a number.", &format!("Guess number {n}.\\nTask/{n}."));
    let tasks: String = (0..8).map(|n| task(n).replace(r"\nIt is below 10.", "")).collect();
    fs::write(dir.path().join("tasks.jsonl"), tasks).unwrap();
    let server = broken_server();
    let flags = [
        "--num-samples=1",
        "--rows=rows.jsonl",
        "--json",
        "--set=teacher.max_tries=2",
        "--set=teacher.request_timeout_s=1",
    ];
    let ran = teach(dir.path(), &server.url(), &flags);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&report["episodes"], &report["failed"]), (&6.into(), &2.into()), "{report:#}");
    for reason in ["malformed", "refused"] {
        assert_eq!(report["failures"][reason]["samples"], 1, "{reason}: {report:#}");
    }
    let counts = &report["teachers"]["Qwen/Qwen3-32B-FP8"];
    assert_eq!(counts["failed"], 2, "{report:#}");
    let all: u64 = ["kept", "unsolved", "too_long", "cut_off", "failed"]
        .iter()
        .map(|reason| counts[reason].as_u64().unwrap())
        .sum();
    assert_eq!(all, 8, "{report:#}");
    let out = lines(dir.path(), "out.jsonl");
    let cut = out.iter().find(|line| line["task_id"] == "g/6").unwrap();
    // Half a thought is told to the environment as it came, and the episode goes on.
    assert_eq!(cut["episode"]["turns"][0]["finish"], "length", "{cut:#}");
    assert_eq!(cut["episode"]["turns"][1]["prompt"], "Say a number.");
    let five = out.iter().find(|line| line["task_id"] == "g/5").unwrap();
    assert_eq!(five["episode"]["turns"][0]["reasoning"], "the middle");
    let rows = lines(dir.path(), "rows.jsonl");
    assert_eq!(rows.len() as u64, counts["kept"].as_u64().unwrap());
    let row = rows.iter().find(|row| row["instruction"] == "Guess number 5.").unwrap();
    let expected = json!({
        "instruction": "Guess number 5.", "input": "Task/5.",
        "output": "<think>\nthe middle\n</think>\n\n5"
    });
    assert_eq!(*row, expected);

    // The server is mended: only what is missing is asked for. Of task 3 that is the second turn.
    let mended = ChatServer::start(Manners { text: Box::new(guessed), ..Manners::default() });
    let ran = teach(dir.path(), &mended.url(), &flags);
    let asked = mended.requests().into_iter().filter(|asked| asked.method == "POST");
    let bodies: Vec<Value> =
        asked.map(|asked| serde_json::from_slice(&asked.body).unwrap()).collect();
    let of_three: Vec<_> =
        bodies.iter().filter(|body| body["messages"][0].to_string().contains("Task/3")).collect();
    assert_eq!((ran.code, of_three.len()), (0, 1), "{}{}", ran.out, ran.err);
    assert_eq!(of_three[0]["messages"].as_array().unwrap().len(), 3, "the second turn");
    assert!(bodies.len() <= 3, "{bodies:#?}");
    assert_eq!(lines(dir.path(), "out.jsonl").len(), 8);
}

#[test]
fn several_models_and_the_expert_are_asked_and_counted_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let tasks: String = (0..10).map(|n| guess(n, n)).collect();
    fs::write(dir.path().join("tasks.jsonl"), tasks).unwrap();
    let server = ChatServer::start(Manners { text: Box::new(guessed), ..Manners::default() });
    let flags = [
        "--num-samples=2",
        "--teacher=remote",
        "--teacher=embedded",
        "--rows=rows.jsonl",
        "--set=teacher.models=[\"gpt-5.2-chat\", \"o4-mini\"]",
    ];
    let ran = teach(dir.path(), &server.url(), &flags);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let out = lines(dir.path(), "out.jsonl");
    let by = |name: &str| out.iter().filter(|line| line["teacher"] == name).count();
    let names = ["gpt-5.2-chat", "o4-mini", "embedded"];
    assert_eq!((out.len(), names.map(by)), (50, [20, 20, 10]));
    assert!(out.iter().all(|line| line["teacher"] == line["model"]));
    let row = |name: &str| ran.out.lines().find(|line| line.trim_start().starts_with(name));
    let heads: Vec<&str> = row("teacher").expect("a table").split_whitespace().collect();
    let expected = "teacher kept unsolved too long cut off low reward failed";
    assert_eq!(heads.join(" "), expected);
    let cells: Vec<&str> = row("embedded").expect("a row").split_whitespace().collect();
    assert_eq!(cells, ["embedded", "10", "0", "0", "0", "0", "0"]);
    let kept = lines(dir.path(), "rows.jsonl").len();
    assert!(ran.out.ends_with(&format!("{kept} rows in rows.jsonl\n")), "{}", ran.out);

    let twice = teach(dir.path(), &server.url(), &["--teacher=embedded", "--teacher=embedded"]);
    assert_eq!(twice.code, 2);
    assert!(twice.err.contains("a teacher is named twice"), "{}", twice.err);
}
