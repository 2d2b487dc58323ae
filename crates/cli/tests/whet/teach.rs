//! `whet teach` against servers of our own: well-behaved ones, broken ones, and none.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;

use serde_json::{Value, json};
use whetstone_remote::loopback::chat::{Act, ChatServer, Manners, Reasoning};
use whetstone_remote::loopback::http::{Reply, Wire};

use crate::binary::{Ran, whet_in};

/// A task that is solved by adding one; `more` are fields behind, each with its comma.
pub(crate) fn task(id: &str, more: &str) -> String {
    let tests = r#"{"kind":"asserts","hidden":["assert f(1) == 2","assert f(4) == 5"]}"#;
    format!("{{\"id\":\"{id}\",\"statement\":\"Add one ({id}).\",\"tests\":{tests}{more}}}\n")
}

/// What a server says: by its seed, a request gets a right or wrong program, or none.
pub(crate) fn said(request: &Value, choice: usize) -> String {
    let mark = request["seed"].as_u64().expect("every request has a seed") + choice as u64;
    let code = |body: &str| format!("\n\n```python\ndef f(x):\n    {body}  # {mark}\n```\n");
    let answer = match mark % 4 {
        0 | 1 => code("return x + 1"),
        2 => code("return x"),
        _ => "\n\nI do not know.".to_owned(),
    };
    format!("<think>Add one to x, choice {choice}.</think>{answer}")
}

/// Runs `whet teach` on `tasks.jsonl` against `server`, with these flags more.
fn teach(folder: &Path, url: &str, flags: &[&str]) -> Ran {
    let url = format!("teacher.api_url={url}");
    let args = ["teach", "--tasks", "tasks.jsonl", "--out", "out.jsonl", "--set", &url];
    whet_in(folder, &[&args[..], flags].concat())
}

fn traces(folder: &Path) -> Vec<Value> {
    let text = fs::read_to_string(folder.join("out.jsonl")).expect("traces");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// An address without a listener.
fn nowhere() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    format!("http://{}/v1/chat/completions", listener.local_addr().expect("a port"))
}

const FAULTS: [&str; 11] = [
    "fine", "rate", "error", "silent", "headers", "body", "chunked", "noise", "empty", "huge",
    "refused",
];

/// What a server does that breaks on purpose: `times` is how often this request came before.
fn break_on_purpose(fault: &str, times: u32) -> Act {
    let error =
        |status, message: &str| Reply::json(status, &json!({"error": {"message": message}}));
    match (fault, times) {
        ("rate", 0) => Act::Send(error(429, "slow down").with("retry-after", "1")),
        ("error", 0) => Act::Send(error(500, "out of memory")),
        ("silent", 0) => Act::Over(Wire::Silence),
        ("headers", 0) => Act::Over(Wire::CutInHeaders),
        ("body", 0) => Act::Over(Wire::CutInBody(20)),
        ("chunked", _) => Act::Over(Wire::Chunked(7)),
        ("noise", _) => Act::Send(Reply::new(200, "text/html", "<html>Welcome!</html>")),
        ("empty", _) => Act::Send(Reply::json(200, &json!({"model": "m", "choices": []}))),
        ("huge", _) => Act::Send(Reply::new(200, "application/json", vec![b'x'; 10 << 20])),
        ("refused", _) => Act::Send(error(400, "the prompt is too long")),
        _ => Act::Answer,
    }
}

/// A server that breaks as the task says, until it is told not to.
fn broken_server(reasoning: Reasoning) -> ChatServer {
    let seen: Mutex<HashMap<String, u32>> = Mutex::default();
    let act = move |_, request: &Value| {
        let text = request["messages"][1]["content"].as_str().unwrap_or_default();
        let fault = FAULTS.iter().find(|fault| text.contains(&format!("({fault}/")));
        let mut seen = seen.lock().expect("no test panics there");
        let times = seen.entry(format!("{text}{}", request["seed"])).or_default();
        *times += 1;
        break_on_purpose(fault.copied().unwrap_or("fine"), *times - 1)
    };
    ChatServer::start(Manners {
        act: Box::new(act),
        text: Box::new(said),
        reasoning,
        ..Manners::default()
    })
}

#[test]
fn whatever_the_server_does_every_sample_has_an_answer_or_a_counted_reason() {
    let dir = tempfile::tempdir().unwrap();
    let tasks: String = FAULTS.iter().map(|fault| task(&format!("{fault}/1"), "")).collect();
    fs::write(dir.path().join("tasks.jsonl"), tasks).unwrap();
    let server = broken_server(Reasoning::Content);
    let flags = [
        "--num-samples=2",
        "--no-judge",
        "--json",
        "--set=teacher.max_tries=3",
        "--set=teacher.request_timeout_s=2",
    ];
    let ran = teach(dir.path(), &server.url(), &flags);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&report["responses"], &report["failed"]), (&14.into(), &8.into()), "{report:#}");
    let failures = &report["failures"];
    for reason in ["malformed", "no_choices", "too_long", "refused"] {
        assert_eq!(failures[reason]["samples"], 2, "{reason}: {report:#}");
    }
    let example = failures["refused"]["example"].as_str().unwrap();
    assert!(example.contains("400") && example.contains("the prompt is too long"), "{example}");
    let traces = traces(dir.path());
    assert_eq!(traces.len(), 14);
    assert!(traces.iter().all(|trace| trace["thinking"] == "Add one to x, choice 0."));
    assert!(dir.path().join("out.jsonl.journal").exists());

    // The server is mended: only what is missing is asked for.
    let mended = ChatServer::start(Manners { text: Box::new(said), ..Manners::default() });
    let ran = teach(dir.path(), &mended.url(), &flags);
    assert_eq!((ran.code, mended.asked()), (0, 8), "{}{}", ran.out, ran.err);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&report["responses"], &report["resumed"]), (&22.into(), &14.into()));
    assert!(!dir.path().join("out.jsonl.journal").exists());

    let ran = teach(dir.path(), &mended.url(), &flags);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("`out.jsonl` exists already"), "{}", ran.err);
    assert!(ran.err.contains("hint: `--only-missing` keeps its traces"), "{}", ran.err);
    let more = [&flags[1..], &["--only-missing", "--num-samples=3"]].concat();
    let ran = teach(dir.path(), &mended.url(), &more);
    assert_eq!((ran.code, mended.asked()), (0, 19), "{}{}", ran.out, ran.err);
}

#[test]
fn several_samples_can_be_asked_for_in_one_request() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("tasks.jsonl"), task("a", "") + &task("b", "")).unwrap();
    let server =
        ChatServer::start(Manners { text: Box::new(said), most_choices: 3, ..Manners::default() });
    let flags = ["--no-judge", "--set", "teacher.samples_per_request=8"];
    let ran = teach(dir.path(), &server.url(), &flags);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    // 8 samples as 3 + 3 + 2, of two tasks.
    assert_eq!((server.asked(), traces(dir.path()).len()), (6, 16));
    assert!(ran.out.contains("16 responses to 2 tasks in out.jsonl"), "{}", ran.out);
    assert!(ran.out.contains("with thinking          16   100.0%"), "{}", ran.out);
    let requests = server.requests();
    let first = requests.iter().find(|asked| asked.method == "POST").expect("it was asked");
    let body: Value = serde_json::from_slice(&first.body).unwrap();
    assert_eq!((&body["n"], &body["temperature"]), (&8.into(), &0.7.into()), "{body}");
    assert_eq!(body["chat_template_kwargs"]["enable_thinking"], true);
}

#[test]
fn retries_are_told_when_they_happen_and_counted_in_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let tasks: String = ["fine/1", "rate/1", "error/1"].map(|id| task(id, "")).concat();
    fs::write(dir.path().join("tasks.jsonl"), tasks).unwrap();
    let server = broken_server(Reasoning::Content);
    // The base address, as clients of OpenAI take it.
    let base = server.url().replace("/chat/completions", "/");
    let ran = teach(dir.path(), &base, &["--num-samples=1", "--no-judge"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("  3 requests, "), "{}", ran.out);
    assert!(ran.out.contains("  2 retried: 429, 500\n"), "{}", ran.out);
    let told: Vec<&str> = ran.err.lines().filter(|line| line.contains("(2 of ")).collect();
    let waits = told.iter().find(|line| line.contains("slow down")).expect("it is told");
    assert!(
        waits.starts_with("trying again in ") && waits.contains("; the server asks for 1 s): "),
        "{waits}"
    );
    let tries = told.iter().find(|line| line.contains("out of memory")).expect("it is told");
    assert!(tries.starts_with("trying again in 0."), "{tries}");
}

#[test]
fn a_server_that_is_not_there_is_said_at_once() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("tasks.jsonl"), task("a", "")).unwrap();
    let ran = teach(dir.path(), &nowhere(), &["--no-judge"]);
    assert_eq!((ran.code, ran.out.as_str()), (3, ""));
    assert!(ran.err.contains("error: cannot reach `http://127.0.0.1:"), "{}", ran.err);
    assert!(ran.err.contains("0 samples stored in out.jsonl.journal"), "{}", ran.err);
    assert!(ran.err.contains("--test-connection"), "{}", ran.err);

    let ran = teach(dir.path(), &nowhere(), &["--test-connection"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.out.contains("the teacher does not answer: cannot reach"), "{}", ran.out);
}

#[test]
fn a_model_that_the_server_does_not_have_ends_the_run() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("tasks.jsonl"), task("a", "")).unwrap();
    let message = json!({"error": {"message": "The model `m` does not exist."}});
    let server = ChatServer::start(Manners {
        act: Box::new(move |_, _| Act::Send(Reply::json(404, &message))),
        ..Manners::default()
    });
    let ran = teach(dir.path(), &server.url(), &["--no-judge"]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("The model `m` does not exist."), "{}", ran.err);
    assert!(ran.err.contains("hint: "), "{}", ran.err);
    let ran = teach(dir.path(), &server.url(), &["--test-connection"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.out.contains("hint: the server lists loopback: set teacher.model_name"),
        "{}",
        ran.out
    );
}

/// A server without a reasoning parser, whose template opens the thinking: it is cut off there, behind a
/// draft that would pass.
pub(crate) fn cut_off_in_its_thinking() -> ChatServer {
    let draft = "Let me try:\n```python\ndef f(x):\n    return x + 1\n```\nBut what if x is";
    let choice = json!({"index": 0, "message": {"content": draft}, "finish_reason": "length"});
    let answer = Reply::json(200, &json!({"model": "m", "choices": [choice]}));
    let act = Box::new(move |_, _: &Value| Act::Send(answer.clone()));
    ChatServer::start(Manners { act, ..Manners::default() })
}

#[test]
fn a_draft_in_thinking_that_was_cut_off_is_no_answer() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("tasks.jsonl"), task("a", "")).unwrap();
    let server = cut_off_in_its_thinking();
    let ran = teach(dir.path(), &server.url(), &["--num-samples=2"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    for trace in traces(dir.path()) {
        assert_eq!((&trace["code"], &trace["verdict"]), (&Value::Null, &"no_code".into()));
        assert!(trace["thinking"].as_str().unwrap().starts_with("Let me try:"), "{trace}");
    }
    // A model that was not asked to think is not inside its thinking.
    let unasked = ["--num-samples=2", "--fresh", "--set=teacher.enable_thinking=false"];
    let ran = teach(dir.path(), &server.url(), &[&unasked[..], &["--no-judge"]].concat());
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(traces(dir.path())[0]["code"].as_str().unwrap().starts_with("def f(x)"));
}

#[test]
fn a_connection_can_be_tested() {
    let dir = tempfile::tempdir().unwrap();
    let plain = |_: &Value, _: usize| "<think>1 + 1</think>2".to_owned();
    let manners = |reasoning, most_choices| Manners {
        text: Box::new(plain),
        reasoning,
        most_choices,
        ..Manners::default()
    };
    let server = ChatServer::start(manners(Reasoning::Inline, 1));
    let flags = ["--test-connection", "--set", "teacher.model_name=loopback"];
    let ran = teach(dir.path(), &server.url(), &flags);
    assert_eq!(ran.code, 0, "{}", ran.out);
    for part in [
        "model     loopback (listed by the server)",
        "key       none is sent: OPENAI_API_KEY is not set",
        "thinking  arrives in the text",
        "samples   one a request",
        "the teacher answers",
    ] {
        assert!(ran.out.contains(part), "{part}\n{}", ran.out);
    }
    let server = ChatServer::start(manners(Reasoning::Plain, 2));
    let ran = teach(dir.path(), &server.url(), &["--test-connection", "--json"]);
    let seen: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.code, &seen["ok"]), (0, &true.into()));
    assert_eq!(
        (&seen["answer"]["thinking"], &seen["answer"]["honours_n"]),
        (&"field".into(), &true.into())
    );
    assert!(!dir.path().join("out.jsonl.journal").exists());
}

#[test]
fn embedded_traces_are_taken_without_a_server() {
    let dir = tempfile::tempdir().unwrap();
    let trace = "<think>\\nAdd.\\n</think>\\n\\n```python\\ndef f(x):\\n    return x + 1\\n```\\n";
    let tasks = task("a", &format!(",\"trace\":\"{trace}\"")) + &task("b", "");
    fs::write(dir.path().join("tasks.jsonl"), tasks).unwrap();
    let flags = ["--teacher", "embedded", "--no-judge"];
    let ran = teach(dir.path(), &nowhere(), &flags);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("1 task without a trace of its own"), "{}", ran.out);
    let traces = traces(dir.path());
    assert_eq!((traces.len(), &traces[0]["model"]), (1, &"embedded".into()));
    assert_eq!(traces[0]["code"], "def f(x):\n    return x + 1");
    let ran = teach(dir.path(), &nowhere(), &[&flags[..], &["--fresh", "--strict"]].concat());
    assert_eq!(ran.code, 1, "{}", ran.err);
    let ran = teach(dir.path(), &nowhere(), &[&flags[..], &["--num-samples", "2"]].concat());
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("one trace and one reference solution"), "{}", ran.err);
}

#[test]
fn reference_solutions_are_taken_without_a_server() {
    let dir = tempfile::tempdir().unwrap();
    let code = "def f(x):\\n    return x + 1  # ```\\n";
    let tasks = task("a", &format!(",\"reference\":\"{code}\"")) + &task("b", "");
    fs::write(dir.path().join("tasks.jsonl"), tasks).unwrap();
    let ran = teach(dir.path(), &nowhere(), &["--teacher", "reference", "--no-judge"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("1 task without a reference solution"), "{}", ran.out);
    let traces = traces(dir.path());
    assert_eq!((traces.len(), &traces[0]["model"]), (1, &"reference".into()));
    assert_eq!(traces[0]["code"], "def f(x):\n    return x + 1  # ```");
    assert!(traces[0]["thinking"].is_null(), "{}", traces[0]);
}

#[test]
fn bad_tasks_are_named_with_file_and_line() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("tasks.jsonl"), "nonsense\n".to_owned() + &task("a", "")).unwrap();
    let server = ChatServer::start(Manners { text: Box::new(said), ..Manners::default() });
    let ran = teach(dir.path(), &server.url(), &["--no-judge", "--strict"]);
    assert_eq!((ran.code, server.asked()), (2, 0));
    assert!(ran.err.contains("tasks.jsonl:1: expected one task as a JSON object"), "{}", ran.err);
    let ran = teach(dir.path(), &server.url(), &["--no-judge"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("bad tasks 1 line of the task file"), "{}", ran.out);
    let ran = whet_in(dir.path(), &["teach", "--no-judge"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("data/train.jsonl"), "{}", ran.err);
}

#[test]
fn help_teaches_with_examples() {
    let dir = tempfile::tempdir().unwrap();
    let ran = whet_in(dir.path(), &["teach", "--help"]);
    assert_eq!(ran.code, 0);
    for part in ["--test-connection", "--only-missing", "Examples:", "Exit codes:", "OUT.journal"] {
        assert!(ran.out.contains(part), "{part}\n{}", ran.out);
    }
}
