//! A training in the environment of the guide: two turns, no programs, one sequence for each episode.

use serde_json::Value;
use whetstone_core::config::{Config, Trained};
use whetstone_core::task::Task;
use whetstone_core::wire::Wire;
use whetstone_env::environment::{Setup, StartError};
use whetstone_env::registry::Environments;
use whetstone_record::journal;

use crate::school::School;

fn task(at: u32) -> Task {
    let line =
        format!(r#"{{"id":"g/{at}","statement":"Guess","body":{{"kind":"guess","number":{at}}}}}"#);
    Task::from_object(serde_json::from_str(&line).unwrap()).unwrap()
}

/// A school of guessers. Its student is made of bytes, and chance says a digit now and then.
fn school(steps: u32) -> School {
    let mut school = School::new();
    school.tasks = (0..8).map(task).collect();
    school.rows = vec![Vec::new(); 8];
    school.config.dual_source.teacher_sft_weight = 0.0;
    school.config.grpo.kl_coef = 0.0;
    school.config.training.max_length = 128;
    school.config.training.max_steps = steps;
    let start_judge = || Err(StartError::Refused("no program is run".to_owned()));
    let config = Config::default();
    let setup = Setup::new(&config, &start_judge);
    let environment = Environments::for_tasks(&setup, &school.tasks).unwrap();
    school.environment = Some(Box::new(environment));
    school
}

fn lines(school: &School, run: &str) -> Vec<Value> {
    let path = school.path(run, "rollouts/rollouts.jsonl");
    let records = journal::read(&path).unwrap().map(|record| record.unwrap().json);
    records.map(|line| serde_json::from_str(&line).unwrap()).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / f64::from(u32::try_from(values.len()).unwrap())
}

#[test]
fn a_student_learns_to_say_numbers() {
    let mut school = school(40);
    school.config.training.train = Trained::Full;
    school.config.training.learning_rate = 3e-2;
    school.config.training.warmup_ratio = 0.0;
    school.config.grpo.num_samples_per_prompt = 8;
    school.config.training.gradient_accumulation_steps = 16;
    school.grpo("run").unwrap();
    let metrics = school.metrics("run");
    let paid: Vec<f64> = metrics.iter().map(|(_, values)| values["reward/number"]).collect();
    let (first, last) = (mean(&paid[..8]), mean(&paid[32..]));
    assert!(last > 1.5 * first, "{first} became {last}: {paid:?}");
    let (_, values) = metrics.last().unwrap();
    let of_programs: Vec<&String> =
        values.keys().filter(|name| name.starts_with("code/")).collect();
    assert!(of_programs.is_empty(), "no program was asked for: {of_programs:?}");
    assert!(values.contains_key("grpo/pass_rate"));
    let guesses = metrics.iter().map(|(_, values)| values["guess/guesses"]);
    assert!(guesses.clone().all(|mean| (1.0..=2.0).contains(&mean)), "{guesses:?}");
    assert!(guesses.min_by(f64::total_cmp) < Some(2.0), "somebody guessed right at once");
    let gap = metrics.iter().filter_map(|(_, values)| values.get("grpo/sampler_gap"));
    assert!(
        gap.clone().count() > 0 && gap.clone().all(|gap| *gap < 1e-3),
        "{:?}",
        gap.max_by(|a, b| a.total_cmp(b))
    );
}

#[test]
fn later_turns_keep_the_tokens_of_earlier_ones_and_lines_say_what_was_observed() {
    let school = school(1);
    school.grpo("run").unwrap();
    let lines = lines(&school, "run");
    assert_eq!(lines.len(), 16);
    let mut episodes = 0;
    for line in &lines {
        assert_eq!(line["validation"]["kind"], "guess", "{line}");
        let turns = line["meta"]["turns"].as_array().unwrap();
        assert_eq!(line["validation"]["facts"]["guesses"], turns.len(), "{line}");
        let [first, second] = &turns[..] else { continue };
        let tokens = |turn: &Value, name: &str| turn[name].as_array().unwrap().clone();
        let said = [tokens(first, "prompt"), tokens(first, "ids")].concat();
        assert!(tokens(second, "prompt").starts_with(&said), "{line}");
        episodes += 1;
    }
    assert!(episodes > 8, "most need a second turn: {episodes}");
}

#[test]
fn checkpoints_and_micro_batches_change_no_bit_of_a_training_on_episodes() {
    let whole = school(3);
    whole.grpo("run").unwrap();
    let mut parts = school(3);
    parts.config.training.save_steps = 1;
    parts.grpo("run").unwrap();
    let weights = |school: &School| {
        school.files("run", "outputs/final_model")["adapter_model.safetensors"].clone()
    };
    assert!(weights(&whole) == weights(&parts), "checkpoints change nothing");
    let mut micro = school(3);
    micro.config.training.per_device_train_batch_size = 8;
    micro.config.training.gradient_accumulation_steps = 2;
    micro.grpo("run").unwrap();
    assert!(weights(&whole) == weights(&micro), "micro-batches change nothing");
}
