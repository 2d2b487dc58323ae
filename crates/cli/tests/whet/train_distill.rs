//! `whet train grpo` with a teacher of on-policy distillation: a model on this machine, and a server over a socket.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use whetstone_remote::loopback::chat::{Act, ChatServer, Manners};
use whetstone_remote::loopback::http::Reply;

use crate::binary::{Ran, whet_under};
use crate::tiny_school::{grpo, judged, records, school, trained};

/// Two steps of distillation alone, with these settings.
fn alone(run: &str, sets: &[&str]) -> Vec<String> {
    let weights = [
        "dual_source.grpo_weight=0",
        "dual_source.teacher_sft_weight=0",
        "dual_source.self_sft_weight=0",
        "dual_source.distill_weight=1",
        "grpo.kl_coef=0",
        "training.max_steps=2",
    ];
    let flags: Vec<&str> = weights.iter().chain(sets).flat_map(|set| ["--set", set]).collect();
    grpo(run, &flags)
}

/// Trains with a server as the teacher.
fn with_server(dir: &Path, server: &ChatServer, flags: &[&str]) -> Ran {
    let address = server.url().replace("/chat/completions", "");
    let setting = format!("dual_source.distill_server={address}");
    let mut args = alone("run", &[&setting]);
    args.extend(flags.iter().map(|flag| (*flag).to_owned()));
    trained(dir, &args)
}

fn metrics(dir: &Path) -> Vec<Value> {
    let events = records(&dir.join("runs/run/events.jsonl"));
    let metrics = events.into_iter().filter(|event| event["type"] == "metrics");
    metrics.map(|event| event["values"].clone()).collect()
}

#[test]
fn a_teacher_with_other_tokens_is_refused_with_both_names_before_anything_is_written() {
    if !judged() {
        return;
    }
    let dir = school();
    let args = alone("run", &["dual_source.distill_teacher=embedded"]);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let cache = dir.path().join("cache");
    let variables = [("XDG_CACHE_HOME", cache.to_str().expect("text"))];
    let ran = whet_under(dir.path(), &args, &variables);
    assert_eq!(ran.code, 2, "{}", ran.err);
    let said =
        "the teacher `embedded` has another vocabulary than the student `student`: token id ";
    assert!(ran.err.contains(said), "{}", ran.err);
    assert!(ran.err.contains("dual_source.distill_teacher"), "a hint: {}", ran.err);
    assert!(!dir.path().join("runs/run").exists());
}

#[test]
fn a_teacher_is_part_of_the_plan() {
    if !judged() {
        return;
    }
    let dir = school();
    let mut args = alone("run", &["dual_source.distill_teacher=student"]);
    args.push("--dry-run".to_owned());
    let ran = trained(dir.path(), &args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("student: the teacher of distillation"), "{}", ran.out);
    assert!(!dir.path().join("runs/run").exists());
}

#[test]
fn a_server_scores_the_tokens_that_the_student_sampled() {
    if !judged() {
        return;
    }
    let (dir, server) = (school(), ChatServer::start(Manners::default()));
    let ran = with_server(dir.path(), &server, &[]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("the teacher of distillation: loopback on http://"), "{}", ran.err);
    let metrics = metrics(dir.path());
    assert_eq!(metrics.len(), 2);
    // The first step's rollouts, scored by the server's rule.
    let rollouts = records(&dir.path().join("runs/run/rollouts/rollouts.jsonl"));
    let (mut sum, mut count) = (0.0, 0.0);
    for rollout in rollouts.iter().filter(|rollout| rollout["step"] == 1) {
        let turn = &rollout["meta"]["turns"][0];
        let ids: Vec<u32> = serde_json::from_value(turn["ids"].clone()).expect("ids");
        let logps: Vec<f64> = serde_json::from_value(turn["logps"].clone()).expect("numbers");
        for (id, logp) in ids.iter().zip(logps) {
            sum += logp + 1.0 + f64::from(id % 8) / 8.0;
            count += 1.0;
        }
    }
    let found = metrics[0]["distill/kl"].as_f64().expect("a number");
    assert!((found - sum / count).abs() < 1e-4, "{found} is not {}", sum / count);
    assert_eq!(metrics[0]["distill/tokens"], json!(count));
    assert_eq!(metrics[0]["distill/failed"], json!(0.0));
    // The list of models, a probe, and every sequence of two steps, once.
    let paths: Vec<String> = server.requests().into_iter().map(|asked| asked.path).collect();
    assert_eq!(paths[0], "/v1/models");
    assert_eq!(paths.len(), 2 + rollouts.len(), "{paths:?}");
    assert!(paths[1..].iter().all(|path| path == "/v1/completions"), "{paths:?}");
}

#[test]
fn a_server_without_scores_is_refused_before_the_first_step() {
    if !judged() {
        return;
    }
    let plain = Reply::json(200, &json!({ "choices": [{ "text": "2" }] }));
    let act = move |_: u64, _: &Value| Act::Send(plain.clone());
    let server = ChatServer::start(Manners { act: Box::new(act), ..Manners::default() });
    let dir = school();
    let ran = with_server(dir.path(), &server, &[]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("answers without `prompt_logprobs`"), "{}", ran.err);
    assert!(ran.err.contains("vllm serve"), "a hint: {}", ran.err);
    assert_eq!(server.asked(), 1, "one probe");
    assert!(!dir.path().join("runs/run").exists());
}

#[test]
fn a_sequence_that_the_server_refuses_is_left_out_and_one_that_it_drops_is_asked_for_again() {
    if !judged() {
        return;
    }
    let status = |status: u16| Reply::json(status, &json!({ "error": { "message": "no" } }));
    // The probe is number 0.
    let act = move |number: u64, _: &Value| match number {
        2 => Act::Send(status(400)),
        3 => Act::Send(status(503)),
        _ => Act::Answer,
    };
    let server = ChatServer::start(Manners { act: Box::new(act), ..Manners::default() });
    let dir = school();
    let ran = with_server(dir.path(), &server, &[]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let failed: Vec<Value> =
        metrics(dir.path()).iter().map(|values| values["distill/failed"].clone()).collect();
    assert_eq!(failed, [json!(1.0), json!(0.0)], "{}", ran.err);
    let events = fs::read_to_string(dir.path().join("runs/run/events.jsonl")).expect("events");
    assert!(events.contains("distill_failed") && events.contains("1 of 4 sequences"), "{events}");
}
