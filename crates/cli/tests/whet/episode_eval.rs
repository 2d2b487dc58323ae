//! `whet eval` on episodes of several turns: given replies, and a server that is asked turn by turn.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use whetstone_remote::loopback::chat::{Act, ChatServer, Manners, Reasoning};

use crate::binary::{Ran, whet_in};

/// Two tasks of the environment that guesses, each from a source of its own.
fn write_tasks(dir: &Path) {
    let task = |at: u8| {
        let body = json!({"kind": "guess", "number": at});
        let id = format!("g/{at}");
        let task =
            json!({"id": id, "statement": "Guess.", "source": format!("guess/{at}"), "body": body});
        format!("{task}\n")
    };
    fs::write(dir.join("guess.jsonl"), [task(3), task(7)].concat()).unwrap();
}

/// Replies to two tasks of the environment that guesses: solved at once, after a hint, and not.
pub(crate) fn evaluation(dir: &Path) -> Ran {
    write_tasks(dir);
    let once = |task: &str, text: &str| json!({"prompt_id": task, "text": text, "group_id": 0});
    let twice = |task: &str, first: &str, text: &str| json!({"prompt_id": task, "text": text, "group_id": 1, "meta": {"turns": [{"text": first}, {}]}});
    let lines = [
        once("g/3", "3"),
        twice("g/3", "5", "3"),
        once("g/7", "7"),
        twice("g/7", "1", "<think>hm</think>2"),
    ];
    let lines: Vec<String> = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(dir.join("replies.jsonl"), lines.concat()).unwrap();
    whet_in(
        dir,
        &["eval", "--samples=replies.jsonl", "--tasks=guess.jsonl", "--out=measured", "--k=1"],
    )
}

#[test]
fn given_episodes_are_measured_by_the_turns_that_they_took() {
    let dir = tempfile::tempdir().unwrap();
    let ran = evaluation(dir.path());
    assert_eq!(ran.code, 0, "{}", ran.err);
    // Both tasks are solved in one turn by one of two samples; one by the second sample too.
    for row in [
        "episodes of up to 2 turns",
        "solved within 1 turn         50.0 %",
        "solved within 2 turns        75.0 %",
    ] {
        assert!(ran.out.contains(row), "{row}\n{}", ran.out);
    }
    let text = fs::read_to_string(dir.path().join("measured/evaluation_results.json")).unwrap();
    let results: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(results["v"], 1);
    assert_eq!(results["by_source"]["guess/3"]["episodes"]["solved_within"]["2"]["value"], 1.0);
    let means = &results["episodes"]["means"];
    assert_eq!(
        (&means["turns"]["value"], &means["guess/guesses"]["value"]),
        (&1.5.into(), &1.5.into())
    );
    let same = whet_in(dir.path(), &["eval", "compare", "measured", "measured"]);
    assert_eq!(same.code, 0, "{}", same.err);
    assert!(same.out.contains("solved within 2 turns    75.0 %"), "{}", same.out);
    assert!(!same.out.contains("syntax rate"), "no programs: {}", same.out);
    // Its own samples are measured again, with the same result.
    let again = [
        "eval",
        "--samples=measured/rollouts.jsonl",
        "--tasks=guess.jsonl",
        "--out=again",
        "--k=1",
        "--json",
    ];
    let again: Value = serde_json::from_str(&whet_in(dir.path(), &again).out).unwrap();
    assert_eq!(again["episodes"], results["episodes"]);
    let ran = whet_in(dir.path(), &["report", "measured", "--tasks=guess.jsonl"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "measured/report.html\n"), "{}", ran.err);
    let best = [
        "eval",
        "--samples=replies.jsonl",
        "--tasks=guess.jsonl",
        "--out=best",
        "--reward-model=rm",
        "--best-of=2",
    ];
    let best = whet_in(dir.path(), &best);
    assert!(best.code == 2 && best.err.contains("`--best-of` scores programs"), "{}", best.err);
}

/// Says 5, and after a hint 7: it solves one of the two tasks in its second turn.
fn guesser() -> ChatServer {
    let text = |request: &Value, _: usize| {
        let messages = request["messages"].as_array().unwrap();
        let number = if messages.len() > 1 { 7 } else { 5 };
        format!("<think>I was told {} messages.</think>It is {number}.", messages.len())
    };
    let (act, text) = (Box::new(|_, _: &Value| Act::Answer), Box::new(text));
    ChatServer::start(Manners { act, text, reasoning: Reasoning::Content, ..Manners::default() })
}

#[test]
fn a_server_is_asked_turn_by_turn() {
    let dir = tempfile::tempdir().unwrap();
    write_tasks(dir.path());
    let server = guesser();
    let flags =
        ["eval", "--tasks=guess.jsonl", "--model=m", "--num-samples=2", "--k=1", "--skip-greedy"];
    let url = server.url();
    let url = ["--out=asked", "--json", "--server", &url];
    let ran = whet_in(dir.path(), &[&flags[..], &url[..]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    let results: Value = serde_json::from_str(&ran.out).unwrap();
    let within = &results["episodes"]["solved_within"];
    assert_eq!((&within["1"]["value"], &within["2"]["value"]), (&0.0.into(), &0.5.into()));
    let samples = fs::read_to_string(dir.path().join("asked/rollouts.jsonl")).unwrap();
    let last: Value = serde_json::from_str(samples.lines().last().unwrap()).unwrap();
    let meta = &last["meta"];
    assert_eq!(meta["asked"][1], json!([{"role": "user", "content": "Higher."}]));
    assert_eq!(
        (&meta["turns"][0]["text"], &last["text"]),
        (&"It is 5.".into(), &"It is 7.".into())
    );
    assert_eq!(meta["turns"][1]["reasoning"], "I was told 3 messages.");
}
