//! `whet teach` through solver episodes, against a server that fails, hangs and cuts answers off, that now and then
//! writes malformed actions, and kills in the middle of all that.
//!
//! The server plays the expert: its replies were recorded by `whet teach --teacher embedded`.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use whetstone_remote::loopback::chat::Act;
use whetstone_remote::loopback::http::{Reply, Wire};

use crate::binary::whet_in;
use crate::teach_kill::{Stage, extent, kill_again_and_again};

/// What the server says instead of an action; none of them changes the model.
const MALFORMED: [&str; 4] = [
    "<think>\n1. Action: DROP_CONSTRAINT everything\n</think>\n\nDiagnosis: all of it\nAction:",
    "Action: RELAX_CONSTRAINT(no such row, NaN)",
    "Action: MAKE_IT_FEASIBLE now",
    "Action: {\"action\": \"UPDATE_RHS\", \"target\": ",
];

/// The expert's replies, by the first message of the user.
struct Expert(HashMap<String, Vec<String>>);

impl Expert {
    /// Records the expert on the tasks of a folder.
    fn record(dir: &Path) -> Self {
        let ran = whet_in(
            dir,
            &["teach", "--teacher=embedded", "--tasks=train.jsonl", "--out=expert.jsonl"],
        );
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        let episodes = lines(&dir.join("expert.jsonl"));
        let replies = episodes.iter().map(|episode| {
            let turns = episode["episode"]["turns"].as_array().unwrap();
            let text = |turn: &Value, key: &str| turn[key].as_str().unwrap().to_owned();
            (text(&turns[0], "prompt"), turns.iter().map(|turn| text(turn, "text")).collect())
        });
        Self(replies.collect())
    }

    /// The reply to a conversation: malformed up to three times where the seed says so, else the expert's next one.
    fn reply(&self, request: &Value) -> String {
        let said = |role: &'static str| {
            let messages = request["messages"].as_array().unwrap().iter();
            let own = messages.filter(move |message| message["role"] == role);
            own.map(|message| message["content"].as_str().unwrap())
        };
        // Thinking is not repeated in a conversation.
        let spoken = |text: &'static str| text.rsplit("</think>").next().unwrap_or(text).trim();
        let is_malformed =
            |text: &&str| MALFORMED.iter().any(|reply| text.trim().ends_with(spoken(reply)));
        let malformed = said("assistant").filter(is_malformed).count();
        let valid = said("assistant").count() - malformed;
        let seed = usize::try_from(request["seed"].as_u64().unwrap() >> 8).unwrap();
        if malformed < 3 && seed.is_multiple_of(2) {
            return MALFORMED[seed / 2 % MALFORMED.len()].to_owned();
        }
        let replies = said("user").find_map(|text| self.0.get(text)).expect("a task of the expert");
        replies.get(valid).cloned().unwrap_or_else(|| "Action: SUBMIT".to_owned())
    }
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Half of all requests are answered badly at first.
fn fault(seed: u64) -> Option<Act> {
    match seed % 16 {
        0..=2 => {
            let error = json!({"error": {"message": "out of memory"}});
            Some(Act::Send(Reply::json(500, &error)))
        }
        3 => Some(Act::Over(Wire::Silence)),
        4..=7 => Some(Act::Over(Wire::CutInBody(200))),
        _ => None,
    }
}

/// Problems with several conflicts, so that repairs take several turns.
fn problems(count: u64) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let count = count.to_string();
    let ran = whet_in(
        dir.path(),
        &[
            "data",
            "prepare",
            "--solver",
            &count,
            "--conflicts=2-3",
            "--val-fraction=0.2",
            "--out=.",
        ],
    );
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    dir
}

#[test]
fn a_server_that_breaks_and_kills_in_the_middle_of_repairs_change_no_byte_and_ask_nothing_twice() {
    let (kills, tasks) = extent();
    let dir = problems(tasks);
    let expert = Expert::record(dir.path());
    let tasks = fs::read_to_string(dir.path().join("train.jsonl")).unwrap();
    let mut stage =
        Stage::breaking(&tasks, 10, Box::new(move |request, _| expert.reply(request)), fault);
    stage.set("teacher.request_timeout_s=2");
    stage.set("teacher.max_tries=6");
    let total = stage.run("whole.jsonl").len() as u64;
    stage.break_from_now();
    kill_again_and_again(&stage, kills, total);

    let episodes = lines(&stage.path("whole.jsonl"));
    let long = |episode: &&Value| episode["episode"]["turns"].as_array().unwrap().len() > 2;
    assert!(episodes.iter().filter(long).count() > 4, "repairs take several turns");
    let text = fs::read_to_string(stage.path("whole.jsonl")).unwrap();
    assert!(text.contains("MAKE_IT_FEASIBLE"), "no reply was malformed");
    let rows = lines(&stage.path("rows_whole.jsonl"));
    // Repairs with several malformed replies take more turns than are kept.
    let (kept, all) = (rows.len(), episodes.len());
    assert!(kept > 4 && kept < all, "{kept} rows of {all} episodes");
}

/// 48 problems that take several replies each: by its last reply alone an episode would not be solved.
#[test]
fn the_experts_episodes_stay_solved_when_they_are_scored() {
    let dir = problems(60);
    let ran = whet_in(
        dir.path(),
        &["teach", "--teacher=embedded", "--tasks=train.jsonl", "--out=expert.jsonl"],
    );
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let taught = lines(&dir.path().join("expert.jsonl"));
    let turns = |line: &Value| line["episode"]["turns"].as_array().unwrap().len();
    assert_eq!(taught.len(), 48);
    assert!(taught.iter().all(|line| line["verdict"] == "solved" && turns(line) > 1));
    let ran = whet_in(dir.path(), &["score", "expert.jsonl", "--prompts", "train.jsonl"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(!ran.err.contains("next:"), "a teacher's episodes are no rollouts: {}", ran.err);
    let scored = lines(&dir.path().join("expert.scored.jsonl"));
    let solved = scored.iter().filter(|line| line["validation"]["solved"] == true).count();
    assert_eq!((scored.len(), solved), (48, 48));
    // A line that cannot be played whole is no rollout.
    let text = fs::read_to_string(dir.path().join("expert.jsonl")).unwrap();
    let other = text.lines().next().unwrap().replacen(r#""turn_count":"#, r#""turn_count":1"#, 1);
    fs::write(dir.path().join("other.jsonl"), other + "\n").unwrap();
    let ran = whet_in(dir.path(), &["score", "other.jsonl", "--prompts", "train.jsonl"]);
    assert!(ran.code == 1 && ran.out.contains("field `episode`: `solved`"), "{}", ran.out);
}
