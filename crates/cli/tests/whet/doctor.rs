//! `whet doctor`: numbered lines, a total, and an exit code that a script can use.

use serde_json::{Value, json};
use whetstone_remote::loopback::chat::{Act, ChatServer, Manners};
use whetstone_remote::loopback::http::Reply;

use crate::binary::{whet_in, whet_with};

#[test]
fn every_check_has_a_number_and_a_status() {
    let folder = tempfile::tempdir().unwrap();
    let ran = whet_in(folder.path(), &["doctor"]);
    let lines: Vec<_> = ran.out.lines().filter(|line| !line.contains("hint:")).collect();
    let (checks, rest) = lines.split_at(16);
    for (at, line) in checks.iter().enumerate() {
        let (number, text) = line.trim().split_once(". ").expect(line);
        assert_eq!(number, (at + 1).to_string(), "{line}");
        assert!(["PASS ", "WARN ", "FAIL "].iter().any(|s| text.starts_with(s)), "{line}");
    }
    assert!(rest[1].starts_with("16 checks: "), "{rest:?}");
    let failed = checks.iter().any(|line| line.contains(". FAIL "));
    assert_eq!(ran.code, i32::from(failed), "{}", ran.out);
}

#[test]
fn a_failed_check_ends_with_1_and_a_hint() {
    let config = "[sandbox]\npython = \"/no/such/python3\"\n";
    let ran = whet_with(config, &["doctor", "--config", "config.toml"]);
    assert_eq!(ran.code, 1, "{}", ran.out);
    assert!(ran.out.contains("FAIL python3: `/no/such/python3` cannot be started"), "{}", ran.out);
    assert!(ran.out.contains("hint: install Python 3"), "{}", ran.out);
}

#[test]
fn an_interpreter_that_hangs_up_or_babbles_fails() {
    for command in ["true", "false", "yes"] {
        let set = format!("sandbox.python={command}");
        let ran = whet_with("", &["doctor", "--set", &set, "--json"]);
        let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        let checks = report["checks"].as_array().unwrap();
        let python = checks.iter().find(|check| check["check"] == "python3").unwrap();
        assert_eq!(python["status"], "FAIL", "{command}: {python}");
    }
}

#[test]
fn a_folder_that_cannot_be_written_fails() {
    // Not even root writes there.
    let ran = whet_with("", &["doctor", "--set", "run.dir=/proc/runs"]);
    assert_eq!(ran.code, 1, "{}", ran.out);
    assert!(ran.out.contains("FAIL disk: `/proc/runs` cannot be written in /proc"), "{}", ran.out);
}

#[test]
fn namespaces_are_said_to_be_there_when_they_can_be_entered() {
    let entered = whet_with("", &["__probe", "namespaces"]).code == 0;
    let ran = whet_with("", &["doctor"]);
    let said = ran.out.contains("PASS namespaces:");
    assert_eq!(said, entered, "{}", ran.out);
}

#[test]
fn json_counts_what_it_lists() {
    let ran = whet_with("", &["doctor", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let checks = report["checks"].as_array().unwrap();
    let count = |status: &str| checks.iter().filter(|check| check["status"] == status).count();
    assert_eq!(report["total"], checks.len());
    let version = whet_with("", &["-V"]).out;
    let commit = report["commit"].as_str().unwrap_or("unknown commit");
    assert!(version.contains(commit) && version.contains(report["version"].as_str().unwrap()));
    assert_eq!(report["passed"], count("PASS"));
    assert_eq!(report["warnings"], count("WARN"));
    assert_eq!(report["failed"], count("FAIL"));
    assert!(ran.err.is_empty(), "{}", ran.err);
}

#[test]
fn a_broken_config_is_a_usage_error() {
    let ran = whet_with("sead = 1", &["doctor", "--config", "config.toml"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("error: the config has 1 problem\n"), "{}", ran.err);
    assert!(ran.err.contains("did you mean `seed`?"), "{}", ran.err);
}

#[test]
fn a_student_goes_all_the_way_that_training_would_take_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = [("XDG_CACHE_HOME", folder.path().to_str().expect("a plain path"))];
    let args = ["doctor", "--model", "embedded", "--json"];
    let ran = crate::binary::whet_under(folder.path(), &args, &cache);
    let report: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    let finding = |check: &str| {
        let checks = report["checks"].as_array().expect("checks");
        checks.iter().find(|finding| finding["check"] == check).cloned().unwrap_or_default()
    };
    assert_eq!(finding("student")["status"], "PASS", "{}", ran.out);
    assert_eq!(finding("student's prompt")["status"], "PASS", "{}", ran.out);
    assert_eq!(finding("teacher's formats")["status"], "PASS", "{}", ran.out);
    let labels = finding("SFT labels");
    assert_eq!(labels["status"], "PASS", "{}", ran.out);
    assert!(labels["detail"].as_str().expect("text").contains("of the prompt masked"), "{labels}");
    let tokens = labels["tokens"].as_array().expect("tokens");
    let trained = tokens.iter().position(|token| token["trained"] == true).expect("a label");
    assert!(trained > 0 && tokens[trained..].iter().all(|token| token["trained"] == true));
    let text = |tokens: &[Value]| -> String {
        tokens.iter().map(|token| token["text"].as_str().expect("text")).collect()
    };
    assert!(text(&tokens[..trained]).contains("Say whether a number is prime."), "{labels}");
    assert!(text(&tokens[trained..]).contains("def is_prime"), "{labels}");
    let ran = crate::binary::whet_under(
        folder.path(),
        &["doctor", "--model", "embedded", "--labels"],
        &cache,
    );
    let lines = |label: &str| {
        ran.out.lines().filter(|line| line.split_whitespace().next() == Some(label)).count()
    };
    assert_eq!(
        [lines("masked"), lines("trained")],
        [trained, tokens.len() - trained],
        "{}",
        ran.out
    );
    let reply = finding("student's reply");
    assert!(reply["detail"].as_str().expect("text").contains("thinking "), "{reply}");
    if finding("judge")["status"] == "PASS" {
        let reward = finding("response to reward");
        assert_eq!(reward["detail"], "3 of 3 hidden tests passed, reward 1.000", "{reward}");
        let code = finding("student's code");
        assert!(code["detail"].as_str().expect("text").contains("to 6 small tasks"), "{code}");
    } else {
        println!("SKIPPED: programs cannot be judged here");
    }
}

#[test]
fn a_student_that_is_not_there_and_a_teacher_that_does_not_answer_are_failures() {
    let set = "teacher.api_url=http://127.0.0.1:9/v1/chat/completions";
    let args = ["doctor", "--model", "./none", "--teacher", "--set", set, "--json"];
    let ran = whet_with("", &args);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let report: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    for check in ["student", "teacher"] {
        let checks = report["checks"].as_array().expect("checks");
        let finding = checks.iter().find(|finding| finding["check"] == check).expect("a finding");
        assert_eq!(finding["status"], "FAIL", "{finding}");
    }
}

/// What doctor says of a teacher that answers with this text.
fn teacher(text: &'static str, sets: &[&str]) -> (i32, Value) {
    let manners = Manners { text: Box::new(move |_, _| text.to_owned()), ..Manners::default() };
    of_server(&ChatServer::start(manners), sets)
}

fn of_server(server: &ChatServer, sets: &[&str]) -> (i32, Value) {
    let url = format!("teacher.api_url={}", server.url());
    let mut args = vec!["doctor", "--teacher", "--json", "--set", &url];
    args.extend(sets.iter().flat_map(|set| ["--set", set]));
    let ran = whet_with("", &args);
    let report: Value = serde_json::from_str(&ran.out).expect("JSON");
    let checks = report["checks"].as_array().expect("checks");
    let finding = checks.iter().find(|finding| finding["check"] == "teacher").cloned();
    (ran.code, finding.expect("a finding"))
}

#[test]
fn a_teacher_is_asked_for_a_program_that_compiles() {
    let check = |text, sets: &[&str], status: &str, said: &str| {
        let (code, finding) = teacher(text, sets);
        assert_eq!(finding["status"], status, "{finding}");
        assert!(finding["detail"].as_str().expect("text").contains(said), "{said}: {finding}");
        if status == "FAIL" {
            assert_eq!(code, 1, "{finding}");
            assert!(finding["hint"].as_str().expect("text").contains("teacher.max_tokens"));
        }
    };
    check("I cannot help.", &[], "FAIL", "writes no code: it begins \"I cannot help.\"");
    let broken = "<think>Hm.</think>\n```python\ndef is_prime(n:\n```";
    check(broken, &[], "FAIL", "writes code that does not compile: it begins \"<think>Hm.");
    let code = "```python\ndef is_prime(n):\n    return n > 1\n```";
    check(code, &[], "WARN", "thinking was requested, but none was returned");
    let unasked = ["teacher.enable_thinking=false"];
    check(code, &unasked, "PASS", "no thinking, as configured, and its code compiles");
    let whole =
        "<think>Nothing divides it.</think>\n```python\ndef is_prime(n):\n    return n > 1\n```";
    check(whole, &[], "PASS", "19 characters of thinking, and its code compiles");
}

#[test]
fn a_teacher_that_is_cut_off_in_its_thinking_has_written_no_code() {
    let draft = "Let me try:\n```python\ndef is_prime(n):\n    return n > 1\n```\nBut then";
    let choice = json!({"index": 0, "message": {"content": draft}, "finish_reason": "length"});
    let answer = Reply::json(200, &json!({"model": "m", "choices": [choice]}));
    let act = Box::new(move |_, _: &Value| Act::Send(answer.clone()));
    let server = ChatServer::start(Manners { act, ..Manners::default() });
    let (code, finding) = of_server(&server, &[]);
    assert_eq!((code, &finding["status"]), (1, &"FAIL".into()), "{finding}");
    let detail = finding["detail"].as_str().expect("text");
    assert!(detail.contains("cut off by the limit on tokens; asked for a program"), "{finding}");
    assert!(detail.contains("no code: it begins \"Let me try:"), "{finding}");
}
