//! Learning from a file of scored rollouts.

// size: one trainer fed by one kind of file, and every refusal of such a file.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use whetstone_core::config::{Algorithm, KlIn, NormaliserBy, Trained};
use whetstone_record::journal;
use whetstone_train::TrainError;
use whetstone_train::grpo::STAGE;
use whetstone_train::recorded::{Recorded, check_settings};
use whetstone_train::watch::{Ended, StepReport, Watch};

use crate::school::{School, nobody};

/// A school whose student has sampled four groups of four, and made one update of them.
fn sampled() -> (School, Vec<Value>) {
    let mut school = School::new();
    school.config.training.max_steps = 1;
    school.config.dual_source.teacher_sft_weight = 0.0;
    school.config.dual_source.self_sft_weight = 0.0;
    school.config.grpo.normaliser = NormaliserBy::SequenceMean;
    school.grpo("sampled").unwrap();
    let path = school.path("sampled", "rollouts/rollouts.jsonl");
    let lines = journal::read(&path).unwrap().map(|record| record.unwrap().json);
    let lines = lines.map(|line| serde_json::from_str(&line).unwrap()).collect();
    (school, lines)
}

fn write(school: &School, lines: &[Value]) -> PathBuf {
    let path = school.dir.path().join("scored.jsonl");
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    fs::write(&path, lines.join("\n")).unwrap();
    path
}

/// Learns from lines, in a new run; returns what its last step measured.
fn learn(school: &School, run: &str, lines: &[Value]) -> std::collections::BTreeMap<String, f64> {
    let file = write(school, lines);
    school.recorded_on(school.create(run, STAGE), None, &file, nobody()).unwrap();
    school.metrics(run).pop().unwrap().1
}

fn read(school: &School, lines: &[Value]) -> Result<Recorded, TrainError> {
    let file = write(school, lines);
    Recorded::read(&file, &school.student(None)?, &school.config, &school.tasks)
}

/// Changes what stands in the only turn of a line.
fn in_turn(line: &mut Value, change: impl FnOnce(&mut serde_json::Map<String, Value>)) {
    change(line["meta"]["turns"][0].as_object_mut().unwrap());
}

fn without_logps(lines: &[Value]) -> Vec<Value> {
    let mut lines = lines.to_vec();
    for line in &mut lines {
        in_turn(line, |turn| drop(turn.remove("logps")));
    }
    lines
}

/// The same with log-probabilities that are lower by this much.
fn lowered(lines: &[Value], by: f64) -> Vec<Value> {
    let mut lines = lines.to_vec();
    for line in &mut lines {
        in_turn(line, |turn| {
            for logp in turn["logps"].as_array_mut().unwrap() {
                *logp = json!(logp.as_f64().unwrap() - by);
            }
        });
    }
    lines
}

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-3 * expected.abs(), "{found} is not {expected}");
}

#[test]
fn what_was_sampled_teaches_the_same_from_its_file() {
    let (school, lines) = sampled();
    let online = school.metrics("sampled").pop().unwrap().1;
    let recorded = learn(&school, "recorded", &lines);
    let unscored = learn(&school, "unscored", &without_logps(&lines));
    for found in [&recorded, &unscored] {
        close(found["grpo/grad_norm"], online["grpo/grad_norm"]);
        close(found["grpo/mean_reward"], online["grpo/mean_reward"]);
        close(found["grpo/ratio_mean"], 1.0);
        close(found["grpo/staleness_kl"], online["grpo/update_kl"]);
        assert_eq!(found["grpo/dead_groups"].to_bits(), online["grpo/dead_groups"].to_bits());
        assert!(!found.contains_key("grpo/sampler_gap"), "another sampler is no defect");
        assert!(!found.contains_key("speed/sampled_tokens_per_s"), "nothing is sampled");
    }
    assert!(online["grpo/grad_norm"] > 1e-6);
}

#[test]
fn ratios_are_those_to_the_recorded_policy_and_clipped() {
    let (school, lines) = sampled();
    let plain = learn(&school, "plain", &lines);
    let stale = learn(&school, "stale", &lowered(&lines, 2.0_f64.ln()));
    close(stale["grpo/ratio_mean"], 2.0);
    assert_eq!(plain["grpo/clip_fraction"].to_bits(), 0.0_f64.to_bits());
    assert!(stale["grpo/clip_fraction"] > 0.1, "of the good rollouts: {stale:?}");
    assert!(stale["grpo/staleness_kl"] > 0.2, "{stale:?}");
}

#[test]
fn importance_weights_are_those_of_the_recorded_policy_and_capped() {
    let (mut school, lines) = sampled();
    let stale = lowered(&lines, 2.0_f64.ln());
    let plain = learn(&school, "plain", &lines)["grpo/grad_norm"];
    for (cap, weight) in [(8.0, 2.0), (1.5, 1.5)] {
        school.config.grpo.importance_cap = cap;
        let found = learn(&school, &format!("cap-{cap}"), &stale);
        close(found["grpo/importance_mean"], weight);
        close(found["grpo/grad_norm"], weight * plain);
        close(found["grpo/ratio_mean"], 1.0);
    }
    // Nobody says who sampled: the student did, as far as is known.
    let unscored = learn(&school, "unscored", &without_logps(&stale));
    close(unscored["grpo/importance_mean"], 1.0);
    close(unscored["grpo/grad_norm"], plain);
}

/// Settings with which a file of four groups takes four steps, one at a time.
fn one_group_a_step(school: &mut School) {
    school.config.training.max_steps = 0;
    school.config.training.num_train_epochs = 2;
    school.config.training.per_device_train_batch_size = 2;
    school.config.training.gradient_accumulation_steps = 2;
}

fn stop_after(school: &School, file: &Path, step: u64) -> Result<Ended, TrainError> {
    let (session, checkpoint) = school.resume("cut", STAGE)?;
    let stop = AtomicBool::new(false);
    let on_step = |report: &StepReport| {
        if report.step == step {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let watch = Watch { on_step: &on_step, stop: &stop, ..nobody() };
    school.recorded_on(session, checkpoint.as_deref(), file, watch)
}

#[test]
fn a_run_that_is_stopped_after_every_step_is_the_same_run() {
    for train in [Trained::Lora, Trained::Full] {
        let (mut school, mut lines) = sampled();
        one_group_a_step(&mut school);
        school.config.training.train = train;
        school.config.grpo.kl_coef = 0.0;
        // Some have log-probabilities, some have not.
        let unscored = without_logps(&lines);
        lines[..8].clone_from_slice(&unscored[..8]);
        let file = write(&school, &lines);
        for run in ["whole", "same"] {
            let session = school.create(run, STAGE);
            school.recorded_on(session, None, &file, nobody()).unwrap();
        }
        drop(school.create("cut", STAGE));
        for step in 1..8 {
            assert_eq!(stop_after(&school, &file, step).unwrap(), Ended::Stopped(step));
        }
        assert_eq!(stop_after(&school, &file, 99).unwrap(), Ended::Done);
        let steps: Vec<u64> = school.metrics("cut").iter().map(|(step, _)| *step).collect();
        assert_eq!(steps, (1..=8).collect::<Vec<_>>());
        let model = |run: &str| school.files(run, "outputs/final_model");
        assert!(model("whole") == model("same"), "{train:?}: the same seed");
        assert!(model("whole") == model("cut"), "{train:?}: stopped and resumed");
        let last = school.metrics("whole").pop().unwrap().1;
        assert!(last["grpo/ratio_std"] > 0.0, "the policy has moved: {last:?}");
    }
}

#[test]
fn every_group_comes_once_an_epoch_in_an_order_of_the_seed() {
    let (mut school, lines) = sampled();
    one_group_a_step(&mut school);
    let order = |school: &School, run: &str| {
        learn(school, run, &lines);
        let path = school.path(run, "rollouts/rollouts.jsonl");
        let written = journal::read(&path).unwrap().map(|line| line.unwrap().json);
        let tasks: Vec<String> = written
            .map(|line| serde_json::from_str::<Value>(&line).unwrap())
            .map(|line| line["prompt_id"].as_str().unwrap().to_owned())
            .collect();
        tasks.chunks(4).map(|group| group[0].clone()).collect::<Vec<_>>()
    };
    let orders: Vec<Vec<String>> = (0..4)
        .map(|seed| {
            school.config.seed = seed;
            order(&school, &format!("seed-{seed}"))
        })
        .collect();
    for order in &orders {
        for epoch in order.chunks(4) {
            let mut sorted = epoch.to_vec();
            sorted.sort();
            sorted.dedup();
            assert_eq!(sorted.len(), 4, "{order:?}");
        }
    }
    assert!(orders.iter().any(|order| *order != orders[0]), "{orders:?}");
}

#[test]
fn an_algorithm_that_does_not_clip_uses_a_rollout_once() {
    let (mut school, lines) = sampled();
    one_group_a_step(&mut school);
    school.config.grpo = Algorithm::Rloo.settings();
    school.config.grpo.max_completion_length = 10;
    let file = write(&school, &lines);
    let go = |school: &School, run: &str| {
        school.recorded_on(school.create(run, STAGE), None, &file, nobody())
    };
    let err = go(&school, "twice").unwrap_err().to_string();
    assert!(err.contains("4 groups of the file more than once, and `rloo` does not clip"), "{err}");
    school.config.training.num_train_epochs = 1;
    school.config.grpo.num_iterations = 2;
    assert!(go(&school, "again").is_err(), "two updates of a step use it twice too");
    school.config.grpo.num_iterations = 1;
    assert_eq!(go(&school, "once").unwrap(), Ended::Done);
    assert_eq!(school.metrics("once").len(), 4);
}

#[test]
fn what_cannot_be_compared_is_refused_in_the_settings() {
    let (mut school, lines) = sampled();
    let counts = read(&school, &without_logps(&lines)).unwrap().counts;
    assert_eq!((counts.rollouts, counts.without_logps), (16, 16));
    assert!(check_settings(&school.config, &counts).is_ok());
    school.config.grpo.kl_in = KlIn::Reward;
    let err = check_settings(&school.config, &counts).unwrap_err().to_string();
    assert!(err.contains("16 of 16 rollouts have none"), "{err}");
    let counts = read(&school, &lines).unwrap().counts;
    assert_eq!(counts.without_logps, 0);
    assert!(check_settings(&school.config, &counts).is_ok());
}

#[test]
fn rollouts_without_token_ids_are_not_distilled_from() {
    let (mut school, mut lines) = sampled();
    school.config.dual_source.distill_weight = 1.0;
    let counts = read(&school, &lines).unwrap().counts;
    assert!(check_settings(&school.config, &counts).is_ok());
    lines[0]["meta"].as_object_mut().unwrap().remove("turns");
    let counts = read(&school, &lines).unwrap().counts;
    let err = check_settings(&school.config, &counts).unwrap_err();
    assert!(
        err.is_usage() && err.to_string().contains("1 of 16 rollouts have no token ids"),
        "{err}"
    );
}

#[test]
fn a_reward_of_static_terms_is_learnt_from_without_a_verdict() {
    let (school, mut lines) = sampled();
    for (at, line) in lines.iter_mut().enumerate() {
        line["validation"] = json!({"skipped": "runtime"});
        let worth = [0.0, 0.5][at % 2];
        line["reward"] = json!({
            "total": worth, "terms": {"quality": worth}, "weights": {"quality": 1.0}, "gates": {},
        });
    }
    assert_eq!(read(&school, &lines).unwrap().counts.not_run, 16);
    let found = learn(&school, "static", &lines);
    assert!(found["grpo/grad_norm"] > 1e-6, "{found:?}");
    assert_eq!(found["grpo/dead_groups"].to_bits(), 0.0_f64.to_bits());
    assert!(!found.contains_key("grpo/pass_rate"), "{found:?}");
}

#[test]
fn what_could_not_be_judged_or_is_too_long_teaches_nothing_and_is_counted() {
    let (school, mut lines) = sampled();
    let fields = lines[0].as_object_mut().unwrap();
    fields.remove("reward");
    fields.remove("advantage");
    fields["validation"] = json!({"error": "no zygote"});
    let mut long = lines[5].clone();
    in_turn(&mut long, |turn| {
        turn["prompt"] = json!(vec![70; 60]);
    });
    lines[5] = long;
    let counts = read(&school, &lines).unwrap().counts;
    assert_eq!((counts.rollouts, counts.unjudged, counts.too_long), (15, 1, 1));
    let found = learn(&school, "some", &lines);
    assert_eq!(found["rollout/dropped"].to_bits(), 1.0_f64.to_bits());
}

/// Reads the lines with one change to the third, which must be refused with these words.
#[track_caller]
fn refused(school: &School, lines: &[Value], change: impl FnOnce(&mut Value), said: &[&str]) {
    let mut lines = lines.to_vec();
    change(&mut lines[2]);
    let err = read(school, &lines).unwrap_err();
    assert!(err.is_usage(), "{err}");
    let err = err.to_string();
    assert!(err.contains("scored.jsonl:3: "), "{err}");
    for said in said {
        assert!(err.contains(said), "{said}\n{err}");
    }
}

#[test]
fn a_bad_line_is_refused_with_its_number() {
    let (school, lines) = sampled();
    let check = |change: &dyn Fn(&mut Value), said: &[&str]| {
        refused(&school, &lines, |line| change(line), said);
    };
    let turn = |change: fn(&mut serde_json::Map<String, Value>)| {
        move |line: &mut Value| {
            in_turn(line, change);
        }
    };
    let unscored = |line: &mut Value| {
        for field in ["validation", "reward", "advantage"] {
            line.as_object_mut().unwrap().remove(field);
        }
    };
    check(&unscored, &["has no reward", "`whet score`"]);
    check(&|line| line["group_id"] = json!(1), &["sample 1 of task", "stands already in line 2"]);
    check(
        &|line| line["meta"]["temperature"] = json!(0.7),
        &["sampled at temperature 0.7", "`grpo.temperature=0.7`"],
    );
    check(&|line| line["meta"]["temperature"] = json!("warm"), &["temperature", "expected f64"]);
    check(&turn(|turn| turn["prompt"] = json!([])), &["has an empty prompt"]);
    check(&turn(|turn| drop(turn["logps"].as_array_mut().unwrap().pop())), &["log-probs"]);
    check(&turn(|turn| turn["logps"][0] = json!(0.5)), &["log-prob 0 is not a finite number"]);
    check(&turn(|turn| turn["logps"][0] = Value::Null), &["field `turns`"]);
    check(&turn(|turn| turn["ids"][0] = json!(-1)), &["field `turns`"]);
    check(&turn(|turn| drop(turn.insert("more".to_owned(), json!(1)))), &["unknown field `more`"]);
    check(&|line| line["reward"]["total"] = json!("much"), &["not a rollout: field `reward`"]);
    check(&|line| *line = json!([1]), &["expected one rollout as a JSON object"]);
    let several = |line: &mut Value| {
        let mut turn = line["meta"]["turns"][0].clone();
        for field in ["ids", "logps"] {
            turn.as_object_mut().unwrap().remove(field);
        }
        line["meta"]["turns"].as_array_mut().unwrap().push(turn);
    };
    check(&|line| line["text"] = json!("else"), &["the line says \"else\""]);
    check(&several, &["several turns, and not all of them have token ids"]);
    let nothing = read(&school, &[]).unwrap_err().to_string();
    assert!(nothing.contains("has no rollout with a reward"), "{nothing}");
}

#[test]
fn tokens_of_another_model_are_refused_with_both_names() {
    let (mut school, lines) = sampled();
    school.config.student.model_name = "the/student".to_owned();
    let digest = lines[0]["meta"]["tokenizer"].as_str().unwrap().to_owned();
    assert_eq!(digest.len(), 32, "a run says whose tokens it has: {digest}");
    let other = |line: &mut Value| {
        line["meta"]["model"] = json!("other/model");
        line["meta"]["tokenizer"] = json!("0123456789abcdef0123456789abcdef");
    };
    let both = [
        "those of `other/model` (tokenizer 0123456789abcdef0123456789abcdef)",
        "the student is `the/student` (tokenizer ",
        &digest,
    ];
    refused(&school, &lines, other, &both);
    // Nothing is recorded but the ids.
    let bare = |line: &mut Value| drop(line["meta"].as_object_mut().unwrap().remove("tokenizer"));
    refused(
        &school,
        &lines,
        |line| {
            bare(line);
            in_turn(line, |turn| turn["ids"][0] = json!(50_000));
        },
        &["the line has token 50000"],
    );
    refused(
        &school,
        &lines,
        |line| {
            bare(line);
            line["text"] = json!("something else");
            line["meta"]["model"] = json!("other/model");
        },
        &[
            "those of `other/model`, and the student is `the/student`",
            "the line says \"something else\"",
        ],
    );
    // A name alone decides nothing, since a model has many.
    let mut lines = lines;
    for line in &mut lines {
        bare(line);
        line["meta"]["tokenizer"] = json!("other/tokenizer");
    }
    assert_eq!(read(&school, &lines).unwrap().counts.rollouts, 16);
}

#[test]
fn a_line_without_tokens_is_tokenized_behind_the_prompt_of_its_task() {
    let (mut school, mut lines) = sampled();
    for line in &mut lines {
        line["meta"].as_object_mut().unwrap().remove("turns");
    }
    let counts = read(&school, &lines).unwrap().counts;
    assert_eq!((counts.retokenized, counts.too_long), (16, 16), "prompts are long here");
    assert_eq!(counts.without_logps, 16, "what is too long lacks them too");
    let known = std::mem::take(&mut school.tasks);
    let err = read(&school, &lines).unwrap_err().to_string();
    assert!(err.contains("scored.jsonl:1: has no token ids") && err.contains("`--tasks`"), "{err}");
    school.tasks = known[..1].to_vec();
    let err = read(&school, &lines).unwrap_err().to_string();
    assert!(err.contains("is no task of the file of `--tasks`"), "{err}");
}
