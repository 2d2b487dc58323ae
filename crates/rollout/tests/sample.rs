//! Replies that nobody judges: kept one by one, resumed by their numbers, written in order.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use whetstone_core::completion::{Completion, Finish, SampledTokens};
use whetstone_core::message::Message;
use whetstone_core::wire::Wire;
use whetstone_core::{Seed, Task};
use whetstone_infer::{GenerateError, Generator, Prompt, Rule, SampledCompletion, Usage};
use whetstone_record::batch::Earlier;
use whetstone_record::error::BatchError;
use whetstone_rollout::sample::{SampleError, SampleSummary, Sampling, TaskPrompt, sample};

const GROUP: usize = 4;

fn tasks(ids: &[&str]) -> Vec<Task> {
    let task = |id: &&str| {
        let line = format!(r#"{{"id":"{id}","statement":"{id}"}}"#);
        Task::from_object(serde_json::from_str(&line).unwrap()).unwrap()
    };
    ids.iter().map(task).collect()
}

/// Answers from the seed and the number, the last sample first. It has no answer where `fails` says so.
struct Model {
    fails: fn(usize) -> bool,
    /// Prompt text, first number and count of everything it was asked.
    asked: Vec<(String, usize, usize)>,
}

impl Model {
    fn new() -> Self {
        Self { fails: |_| false, asked: Vec::new() }
    }
}

impl Generator for Model {
    fn generate(
        &mut self,
        prompts: &[Prompt],
        done: &mut dyn FnMut(SampledCompletion) -> ControlFlow<()>,
    ) -> Result<Usage, GenerateError> {
        for (at, prompt) in prompts.iter().enumerate().rev() {
            self.asked.push((
                prompt.messages[0].content.clone(),
                prompt.first_sample,
                prompt.samples,
            ));
            let numbers = prompt.first_sample..prompt.first_sample + prompt.samples;
            for number in numbers.rev().filter(|number| !(self.fails)(*number)) {
                let seed = prompt.seed.derive("sample", number as u64).get();
                let tokens = SampledTokens::new(vec![7, 8], vec![-0.5, -0.25]).ok();
                let finish = if number == 0 { Finish::Length } else { Finish::Stop };
                let text = format!("{seed}");
                let completion = Completion { text, reasoning: None, finish, tokens };
                let sampled = SampledCompletion { prompt: at, sample: number, completion };
                if done(sampled).is_break() {
                    return Ok(Usage::default());
                }
            }
        }
        Ok(Usage::default())
    }
}

/// Settings that a test changes.
struct Setup {
    keeps_tokens: bool,
    seed: u64,
    earlier: Earlier,
    /// It is told to stop once there are so many replies.
    most: usize,
}

impl Default for Setup {
    fn default() -> Self {
        Self { keeps_tokens: false, seed: 1, earlier: Earlier::Resume, most: usize::MAX }
    }
}

fn run(
    out: &Path,
    model: &mut Model,
    tasks: &[Task],
    setup: &Setup,
) -> Result<Option<SampleSummary>, SampleError> {
    let stop = AtomicBool::new(false);
    let settings = BTreeMap::from([("--seed".to_owned(), setup.seed.to_string())]);
    let prompt = |task: &Task| {
        let tokens: Vec<u32> = task.statement.chars().map(u32::from).collect();
        Ok(TaskPrompt { messages: [Message::user(&task.statement)].into(), tokens: tokens.into() })
    };
    let sampling = Sampling {
        prompt: &prompt,
        max_prompt_tokens: 10,
        rule: Rule { temperature: 0.7, top_p: 0.9, ..Rule::default() },
        stop_strings: &[],
        max_tokens: 2,
        model: "m",
        tokenizer: Some("digest"),
        thinking_opened: false,
        keeps_tokens: setup.keeps_tokens,
        step: 9,
        group_size: GROUP,
        replies_at_a_time: 2 * GROUP,
        seed: Seed::new(setup.seed),
        output: out,
        settings: &settings,
        earlier: setup.earlier,
        on_progress: &|done, _| stop.store(done >= setup.most, Ordering::Relaxed),
        stop: &stop,
    };
    sample(&sampling, model, tasks)
}

fn lines(out: &Path) -> Vec<Value> {
    let text = fs::read_to_string(out).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_line_has_its_reply_and_how_it_was_sampled_and_no_score() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("new/r.jsonl");
    let summary = run(&out, &mut Model::new(), &tasks(&["a", "b"]), &Setup::default());
    let summary = summary.unwrap().unwrap();
    assert_eq!((summary.rollouts, summary.prompts, summary.missing), (8, 2, 0));
    assert_eq!((summary.cut_off, summary.tokens), (2, Some(16)));
    let places: Vec<(Value, Value)> = lines(&out)
        .iter()
        .map(|line| (line["prompt_id"].clone(), line["group_id"].clone()))
        .collect();
    let expected: Vec<_> =
        ["a", "b"].iter().flat_map(|id| (0..4).map(move |n| (json!(id), json!(n)))).collect();
    assert_eq!(places, expected);
    let first = fs::read_to_string(&out).unwrap().lines().next().unwrap().to_owned();
    let text = Seed::new(1).derive("rollout", 9).derive("a", 0).derive("sample", 0).get();
    let meta = r#"{"temperature":0.7,"top_p":0.9,"max_new_tokens":2,"model":"m","tokens":2,"finish":"length","end":"done"}"#;
    assert_eq!(
        first,
        format!(r#"{{"step":9,"prompt_id":"a","group_id":0,"text":"{text}","meta":{meta}}}"#)
    );
    assert!(!dir.path().join("new/r.jsonl.journal").exists());
}

#[test]
fn tokens_are_kept_where_they_are_wanted() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("r.jsonl");
    let setup = Setup { keeps_tokens: true, ..Setup::default() };
    run(&out, &mut Model::new(), &tasks(&["a"]), &setup).unwrap().unwrap();
    let meta = &lines(&out)[1]["meta"];
    let turn = json!({"prompt": [97], "finish": "stop", "ids": [7, 8], "logps": [-0.5, -0.25]});
    assert_eq!((&meta["turns"], &meta["tokenizer"]), (&json!([turn]), &json!("digest")));
}

#[test]
fn stopped_at_any_reply_it_asks_for_the_missing_numbers_alone_and_writes_the_same_bytes() {
    let tasks = tasks(&["a", "b", "c"]);
    let dir = tempfile::tempdir().unwrap();
    let whole = dir.path().join("whole.jsonl");
    run(&whole, &mut Model::new(), &tasks, &Setup::default()).unwrap().unwrap();
    for most in 1..12 {
        let out = dir.path().join(format!("{most}.jsonl"));
        let stopping = Setup { most, ..Setup::default() };
        assert_eq!(run(&out, &mut Model::new(), &tasks, &stopping).unwrap(), None);
        assert!(!out.exists(), "no file before the end");
        let mut model = Model::new();
        let summary = run(&out, &mut model, &tasks, &Setup::default()).unwrap().unwrap();
        assert_eq!((summary.resumed, summary.rollouts), (most, 12));
        let asked: usize = model.asked.iter().map(|(_, _, count)| count).sum();
        assert_eq!(asked, 12 - most, "{:?}", model.asked);
        assert_eq!(fs::read(&out).unwrap(), fs::read(&whole).unwrap(), "stopped at {most}");
    }
    // `b` comes first, and its last number before the others.
    let out = dir.path().join("again.jsonl");
    run(&out, &mut Model::new(), &tasks, &Setup { most: 2, ..Setup::default() }).unwrap();
    let mut model = Model::new();
    run(&out, &mut model, &tasks, &Setup::default()).unwrap();
    assert_eq!(model.asked[..2], [("b".to_owned(), 0, 2), ("a".to_owned(), 0, 4)]);
}

#[test]
fn replies_that_are_not_given_are_missing_and_are_asked_for_again() {
    let tasks = tasks(&["a", "b"]);
    let dir = tempfile::tempdir().unwrap();
    let [whole, out] = ["whole.jsonl", "r.jsonl"].map(|name| dir.path().join(name));
    run(&whole, &mut Model::new(), &tasks, &Setup::default()).unwrap();
    let mut flaky = Model { fails: |number| number % 2 == 1, ..Model::new() };
    let summary = run(&out, &mut flaky, &tasks, &Setup::default()).unwrap().unwrap();
    assert_eq!((summary.missing, summary.rollouts, lines(&out).len()), (4, 4, 4));
    let mut model = Model::new();
    let summary = run(&out, &mut model, &tasks, &Setup::default()).unwrap().unwrap();
    assert_eq!((summary.missing, summary.resumed), (0, 4));
    let expected = ["b", "b", "a", "a"].map(str::to_owned).into_iter().zip([3, 1, 3, 1]);
    let asked: Vec<_> = model.asked.into_iter().map(|(text, first, _)| (text, first)).collect();
    assert_eq!(asked, expected.collect::<Vec<_>>());
    assert_eq!(fs::read(&out).unwrap(), fs::read(&whole).unwrap());
    let mut silent = Model { fails: |_| true, ..Model::new() };
    let err = run(&dir.path().join("n.jsonl"), &mut silent, &tasks, &Setup::default());
    let err = err.unwrap_err();
    assert_eq!(err.to_string(), "none of 8 replies could be sampled");
    assert!(!err.is_usage(), "the server is at fault");
}

#[test]
fn a_prompt_that_is_too_long_is_left_out_and_nothing_is_left_to_resume() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("r.jsonl");
    let tasks = tasks(&["short", "longer than ten", "brief"]);
    let summary = run(&out, &mut Model::new(), &tasks, &Setup::default()).unwrap().unwrap();
    assert_eq!((summary.too_long, summary.prompts, summary.rollouts), (1, 2, 8));
    assert_eq!(summary.missing, 0);
    assert!(!dir.path().join("r.jsonl.journal").exists());
    let other = dir.path().join("n.jsonl");
    let err = run(&other, &mut Model::new(), &tasks[1..2], &Setup::default()).unwrap_err();
    assert_eq!(err.to_string(), "none of 1 prompts fits: each has more than 10 tokens");
    assert!(err.is_usage() && err.hint().unwrap().contains("--max-new-tokens"));
}

#[test]
fn finished_rollouts_and_those_of_other_inputs_are_replaced_only_when_that_is_asked_for() {
    let tasks = tasks(&["a"]);
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("r.jsonl");
    run(&out, &mut Model::new(), &tasks, &Setup::default()).unwrap();
    let before = fs::read(&out).unwrap();
    let err = run(&out, &mut Model::new(), &tasks, &Setup::default()).unwrap_err();
    assert!(matches!(err, SampleError::Exists { .. }) && err.is_usage(), "{err}");
    let other = Setup { seed: 2, earlier: Earlier::Forget, most: 2, ..Setup::default() };
    assert_eq!(run(&out, &mut Model::new(), &tasks, &other).unwrap(), None);
    assert_eq!(fs::read(&out).unwrap(), before, "the old file stays until the new one is whole");
    let mut model = Model::new();
    let err = run(&out, &mut model, &tasks, &Setup::default()).unwrap_err();
    let SampleError::Batch(BatchError::OtherInputs { differs, .. }) = err else { panic!("{err}") };
    assert_eq!((differs, model.asked.len()), (vec!["`--seed`".to_owned()], 0));
    let fresh = Setup { earlier: Earlier::Forget, ..Setup::default() };
    run(&out, &mut Model::new(), &tasks, &fresh).unwrap().unwrap();
    assert_eq!(fs::read(&out).unwrap(), before);
}
