//! `whet rollout` with a model here and with a server of our own: what is sampled, refused, scored and learnt from.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use whetstone_remote::loopback::chat::{Act, ChatServer, Manners};
use whetstone_remote::loopback::http::Reply;

use crate::binary::{Ran, whet_in, whet_under};
use crate::teach::{said, task};
use crate::teach_episodes::guess;
use crate::tiny_rollouts::{learn, sampled};
use crate::tiny_school::{judged, school};

/// Tasks that are solved by adding one.
fn write_tasks(dir: &Path, count: usize) {
    let lines: String = (0..count).map(|at| task(&format!("t/{at}"), "")).collect();
    fs::write(dir.join("tasks.jsonl"), lines).unwrap();
}

/// Runs `whet rollout` on `tasks.jsonl` into `r.jsonl`.
fn rollout(dir: &Path, flags: &[&str]) -> Ran {
    let files = ["rollout", "--prompts", "tasks.jsonl", "--out", "r.jsonl"];
    whet_in(dir, &[&files, flags].concat())
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn json_of(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap()
}

fn server(act: impl Fn(u64) -> Act + Send + Sync + 'static) -> ChatServer {
    let act = Box::new(move |number, _: &Value| act(number));
    ChatServer::start(Manners { act, text: Box::new(said), ..Manners::default() })
}

/// Asks a server for two replies to each task.
fn ask(dir: &Path, url: &str, flags: &[&str]) -> Ran {
    let common = ["--server", url, "--model", "m", "--group-size", "2"];
    let settings = ["--set", "teacher.max_concurrent_requests=2", "--set", "teacher.max_tries=1"];
    rollout(dir, &[&common[..], &settings, flags].concat())
}

/// The bodies of all requests for completions.
fn bodies(server: &ChatServer) -> Vec<Value> {
    let requests = server.requests();
    requests.iter().filter_map(|asked| serde_json::from_slice(&asked.body).ok()).collect()
}

#[test]
fn the_student_that_ships_answers_phaser_prompts_which_are_scored_without_running_them() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().to_str().unwrap().to_owned();
    let whet = |args: &[&str]| whet_under(dir.path(), args, &[("HOME", &home)]);
    let sets = ["data", "prompts", "--out-train", "tasks.jsonl", "--out-eval", "e.jsonl"];
    assert_eq!(whet(&sets).code, 0);
    let command =
        ["rollout", "--model", "embedded", "--prompts", "tasks.jsonl", "--out", "r.jsonl"];
    let limits =
        ["--num-prompts", "2", "--group-size", "2", "--max-new-tokens", "16", "--threads", "1"];
    let command = [&command[..], &limits].concat();
    let plan = whet(&[&command[..], &["--dry-run", "--json"]].concat());
    assert_eq!(plan.code, 0, "{}", plan.err);
    assert_eq!(json_of(&plan)["counts"], json!({"replies": 4, "tasks": 2}));
    assert!(!dir.path().join("r.jsonl").exists() && !dir.path().join("r.jsonl.journal").exists());
    let ran = whet(&command);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.out.starts_with("4 rollouts of embedded to 2 prompts into r.jsonl\n"),
        "{}",
        ran.out
    );
    assert!(ran.err.ends_with("next: whet score r.jsonl --prompts tasks.jsonl\n"), "{}", ran.err);
    let before = fs::read(dir.path().join("r.jsonl")).unwrap();
    let kept = lines(&dir.path().join("r.jsonl"));
    assert_eq!(kept.len(), 4);
    for line in &kept {
        let names: Vec<&String> = line.as_object().unwrap().keys().collect();
        assert_eq!(names.len(), 5, "no score: {names:?}");
        let (meta, step) = (&line["meta"], &line["step"]);
        assert_eq!(
            (step, &meta["temperature"], &meta["top_p"]),
            (&json!(1), &json!(0.7), &json!(0.9))
        );
        assert_eq!((&meta["max_new_tokens"], &meta["turns"]), (&json!(16), &Value::Null));
        let is_cut = meta["finish"] == "length";
        assert_eq!(is_cut, meta["tokens"] == 16, "{meta}");
    }
    let again = whet(&command);
    assert_eq!(again.code, 2);
    assert!(again.err.contains("`r.jsonl` exists already"), "{}", again.err);
    assert!(again.err.contains("hint: `--fresh` samples again"), "{}", again.err);
    let fresh = whet(&[&command[..], &["--fresh", "--json"]].concat());
    assert_eq!(fresh.code, 0, "{}", fresh.err);
    assert_eq!((&json_of(&fresh)["rollouts"], &json_of(&fresh)["missing"]), (&json!(4), &json!(0)));
    assert_eq!(
        fs::read(dir.path().join("r.jsonl")).unwrap(),
        before,
        "the same seed, the same bytes"
    );
    let score =
        ["score", "r.jsonl", "--prompts", "tasks.jsonl", "--out", "s.jsonl", "--skip-runtime"];
    let ran = whet(&score);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let scored = lines(&dir.path().join("s.jsonl"));
    assert_eq!(scored.len(), 4);
    assert!(scored.iter().all(|line| line["reward"]["total"].is_number()), "{scored:?}");
}

#[test]
fn replies_with_their_tokens_are_scored_and_learnt_from() {
    if !judged() {
        return;
    }
    let dir = school();
    let exact = ["--temperature", "1", "--top-p", "1", "--max-new-tokens", "32", "--keep-tokens"];
    let model = ["--model", "student", "--threads", "1", "--group-size", "4"];
    let ran = rollout(dir.path(), &[&model[..], &exact].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    let kept = lines(&dir.path().join("r.jsonl"));
    assert_eq!(kept.len(), 16);
    // An evaluation sends the same prompts.
    sampled(dir.path());
    let evaluated = lines(&dir.path().join("sampled/rollouts.jsonl"));
    for line in &kept {
        let same = evaluated.iter().find(|other| other["prompt_id"] == line["prompt_id"]).unwrap();
        let prompt = |line: &Value| line["meta"]["turns"][0]["prompt"].clone();
        assert!(prompt(line).is_array() && prompt(line) == prompt(same), "{line}");
        assert_eq!(line["meta"]["tokenizer"], same["meta"]["tokenizer"]);
        let turn = &line["meta"]["turns"][0];
        let ids = turn["ids"].as_array().unwrap().len();
        assert_eq!((ids, turn["logps"].as_array().unwrap().len()), (ids, ids));
    }
    let score = ["score", "r.jsonl", "--prompts", "tasks.jsonl", "--out", "s.jsonl"];
    assert_eq!(whet_in(dir.path(), &score).code, 0);
    let ran = learn(dir.path(), "learnt", &["--rollouts=s.jsonl"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let said = "s.jsonl: 16 rollouts in 4 groups, 16 with the log-probabilities";
    assert!(ran.err.contains(said), "{}", ran.err);
    assert!(!ran.err.contains("sampled with `top_p` below 1"), "{}", ran.err);
}

#[test]
fn a_server_is_asked_what_an_evaluation_asks_by_the_rule_of_the_flags() {
    let dir = tempfile::tempdir().unwrap();
    write_tasks(dir.path(), 3);
    let server = server(|_| Act::Answer);
    let ran = ask(dir.path(), &server.url(), &["--step", "7"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let asked = bodies(&server);
    assert_eq!(asked.len(), 6);
    for body in &asked {
        let (model, most) = (&body["model"], &body["max_tokens"]);
        assert_eq!((model, most), (&json!("m"), &json!(1800)));
        assert_eq!((&body["temperature"], &body["top_p"]), (&json!(0.7), &json!(0.9)));
    }
    let seeds: std::collections::BTreeSet<u64> =
        asked.iter().map(|body| body["seed"].as_u64().unwrap()).collect();
    assert_eq!(seeds.len(), 6, "every reply has a seed of its own");
    let kept = lines(&dir.path().join("r.jsonl"));
    let groups: Vec<_> = kept.iter().map(|line| (&line["prompt_id"], &line["group_id"])).collect();
    assert_eq!(groups[1..3], [(&json!("t/0"), &json!(1)), (&json!("t/1"), &json!(0))]);
    assert!(kept.iter().all(|line| line["step"] == 7 && line["meta"]["model"] == "m"));
    assert!(kept.iter().all(|line| line["meta"]["tokens"].is_null()), "the server does not tell");
    if judged() {
        let eval = ["eval", "--tasks", "tasks.jsonl", "--server", &server.url(), "--model", "m"];
        let few = ["--num-samples", "1", "--k", "1", "--skip-greedy"];
        assert_eq!(whet_in(dir.path(), &[&eval[..], &few].concat()).code, 0);
        let messages = |bodies: &[Value]| -> Vec<String> {
            let mut all: Vec<_> = bodies.iter().map(|body| body["messages"].to_string()).collect();
            all.sort();
            all.dedup();
            all
        };
        assert_eq!(messages(&asked), messages(&bodies(&server)[6..]), "the same prompts");
    }
}

#[test]
fn a_server_that_fails_or_goes_away_costs_nothing_that_was_answered() {
    let dir = tempfile::tempdir().unwrap();
    write_tasks(dir.path(), 10);
    let refuse = |status| Act::Send(Reply::json(status, &json!({"error": {"message": "no"}})));
    let gone = server(move |number| if number < 6 { Act::Answer } else { refuse(401) });
    let ran = ask(dir.path(), &gone.url(), &[]);
    assert_eq!((ran.code, ran.out.as_str()), (3, ""), "{}", ran.err);
    assert!(
        ran.err.contains("finished samples are kept, and the same command resumes"),
        "{}",
        ran.err
    );
    assert!(!dir.path().join("r.jsonl").exists());
    for (flags, changed) in [
        (["--temperature", "0.5"], "`--temperature`"),
        (["--num-prompts", "9"], "`the tasks`"),
        (["--step", "2"], "`--step`"),
    ] {
        let ran = ask(dir.path(), &gone.url(), &flags);
        assert_eq!(ran.code, 2);
        let said = format!("unfinished work with other inputs: {changed} changed");
        assert!(ran.err.contains(&said) && ran.err.contains("--fresh"), "{}", ran.err);
    }
    // One request in five fails: these replies are missing, and asked for by the next run.
    let flaky = server(move |number| if number % 5 == 4 { refuse(400) } else { Act::Answer });
    let ran = ask(dir.path(), &flaky.url(), &["--json"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let (found, kept) = (json_of(&ran), lines(&dir.path().join("r.jsonl")).len());
    let (missing, resumed) =
        (found["missing"].as_u64().unwrap(), found["resumed"].as_u64().unwrap());
    assert!(missing >= 2 && resumed >= 4, "{found}");
    assert_eq!((kept as u64 + missing, flaky.asked()), (20, 20 - resumed));
    assert!(ran.err.contains(&format!("{missing} of 20 replies are missing")), "{}", ran.err);
    let mended = server(|_| Act::Answer);
    assert_eq!(ask(dir.path(), &mended.url(), &[]).code, 0);
    assert_eq!((mended.asked(), lines(&dir.path().join("r.jsonl")).len()), (missing, 20));
    assert!(!dir.path().join("r.jsonl.journal").exists());
}

#[test]
fn what_cannot_be_sampled_is_said_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |flags: &[&str], problem: &str, hint: &str| {
        let ran = rollout(dir.path(), flags);
        assert_eq!(ran.code, 2, "{flags:?}: {}", ran.err);
        assert!(ran.err.contains(problem) && ran.err.contains(hint), "{flags:?}: {}", ran.err);
        assert!(!dir.path().join("r.jsonl.journal").exists(), "{flags:?}");
    };
    write_tasks(dir.path(), 2);
    refused(&[], "nobody is named to answer the tasks", "hint: name a model with `--model`");
    refused(&["--mock", "--model", "m"], "--model", "cannot be used with");
    refused(&["--mock", "--server", "u"], "--server", "cannot be used with");
    refused(&["--mock", "--keep-tokens"], "--keep-tokens", "cannot be used with");
    refused(&["--server", "u", "--keep-tokens"], "--keep-tokens", "cannot be used with");
    refused(&["--model", "m", "--top-p", "0"], "--top-p", "above 0, at most 1");
    refused(
        &["--model", "m", "--num-prompts", "3"],
        "`tasks.jsonl` has 2 tasks, and 3 are asked for",
        "hint: lower `--num-prompts`",
    );
    let same = ["rollout", "--model", "m", "--prompts", "tasks.jsonl", "--out", "tasks.jsonl"];
    let ran = whet_in(dir.path(), &same);
    assert!(ran.code == 2 && ran.err.contains("is also an input"), "{}", ran.err);
    refused(&["--model", "./nowhere"], "nowhere", "");
    fs::write(dir.path().join("tasks.jsonl"), task("t", "") + &guess(7, 1)).unwrap();
    refused(
        &["--model", "m"],
        "task `g/1` is an episode of up to 2 turns",
        "hint: `whet eval --tasks FILE --keep-tokens` plays whole episodes",
    );
    fs::write(dir.path().join("tasks.jsonl"), "\n").unwrap();
    refused(&["--model", "m"], "`tasks.jsonl` holds no task", "hint: `--prompts` takes");
}

#[test]
fn the_first_reply_of_an_episode_is_sampled_where_one_turn_is_set() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("tasks.jsonl"), guess(7, 1)).unwrap();
    let server = server(|_| Act::Answer);
    let ran = ask(dir.path(), &server.url(), &["--set", "env.max_turns=1"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let asked = bodies(&server);
    let prompt = json!([{"role": "user", "content": "Guess a number.\nIt is below 10."}]);
    assert!(asked.len() == 2 && asked.iter().all(|body| body["messages"] == prompt), "{asked:?}");
}
