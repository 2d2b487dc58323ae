//! PPO: a bandit's optimum is reached, runs that stop go on to the same bytes, the base is there once, stops
//! have their reasons, and a reward model that pays for length is told of.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use whetstone_core::config::{Critic, Curriculum, DiscountBy, Trained};
use whetstone_model::safetensors::{Safetensors, Writer};
use whetstone_model::weights::{Dtype, Weights};
use whetstone_record::event::{Event, Outcome};
use whetstone_train::ppo::STAGE;
use whetstone_train::watch::{Ended, StepReport, Watch};

use crate::reward_model::{Data, preference};
use crate::school::{PpoModels, School, nobody};

const EPOCHS: &str = "Maximum epochs reached";
pub(crate) const FINAL: &str = "outputs/final_model";

/// The measurements of a run by name, one list each.
pub(crate) fn curves(school: &School, run: &str) -> BTreeMap<String, Vec<f64>> {
    let mut curves: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (_, values) in school.metrics(run) {
        for (name, value) in values {
            curves.entry(name).or_default().push(value);
        }
    }
    curves
}

/// What every step measured, without what clocks say.
fn plain(school: &School, run: &str) -> BTreeMap<String, Vec<f64>> {
    let timed = |name: &str| {
        name.starts_with("time/") || name.starts_with("speed/") || name.contains("while_sampling")
    };
    curves(school, run).into_iter().filter(|(name, _)| !timed(name)).collect()
}

#[track_caller]
pub(crate) fn same(school: &School, one: &str, other: &str) {
    assert_eq!(plain(school, one), plain(school, other));
    let (one_files, other_files) = (school.files(one, FINAL), school.files(other, FINAL));
    assert_eq!(one_files.keys().collect::<Vec<_>>(), other_files.keys().collect::<Vec<_>>());
    for (name, bytes) in &one_files {
        assert!(other_files[name] == *bytes, "{name} differs");
    }
    let rollouts = |run| fs::read(school.path(run, "rollouts/rollouts.jsonl")).unwrap();
    assert!(rollouts(one) == rollouts(other));
}

/// Multiplies the embedding, which is the head too, by 40.
fn longer_words(path: &Path) {
    let file = Safetensors::open_file(path).unwrap();
    let names: Vec<String> = file.names().iter().map(ToString::to_string).collect();
    let announced: Vec<(String, Vec<usize>)> = names
        .iter()
        .map(|name| (name.clone(), file.tensor(name).unwrap().shape().to_vec()))
        .collect();
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, &announced, Dtype::F32, &BTreeMap::new()).unwrap();
    for (name, shape) in &announced {
        let mut values = vec![0.0_f32; shape.iter().product()];
        file.read(name, &mut values).unwrap();
        if name.contains("embed_tokens") {
            for value in &mut values {
                *value *= 40.0;
            }
        }
        writer.put(name, &values).unwrap();
    }
    writer.finish().unwrap();
    fs::write(path, bytes).unwrap();
}

/// One token is said, and letters of the first half of the alphabet are worth 1: a bandit whose optimum is
/// 1.
fn bandit(critic: Critic, discount_by: DiscountBy) -> School {
    let mut school = School::new();
    // Words of a new model are nearly as likely as each other, whatever an adapter does to hidden states:
    // longer ones in the head let a policy decide.
    longer_words(&school.dir.path().join("model/model.safetensors"));
    let pays = |reply: &str| {
        let good = reply.chars().next().is_some_and(|c| ('a'..='m').contains(&c));
        if good { 1.0 } else { 0.0 }
    };
    school.worth = Arc::new(move |_, reply| Ok(pays(reply)));
    school.config.training.max_steps = 80;
    let ppo = &mut school.config.ppo;
    (ppo.critic, ppo.discount_by) = (critic, discount_by);
    ppo.max_completion_length = 1;
    ppo.batch_size = 64;
    ppo.mini_batch_size = 16;
    ppo.learning_rate = 1e-2;
    ppo.entropy_coef = 0.0;
    ppo.target_kl = 0.05;
    ppo.kl_patience = 0;
    ppo.kl_coef = 0.0;
    ppo.num_samples_per_prompt = 8;
    school
}

#[test]
fn a_bandits_optimum_is_reached_with_either_critic() {
    for (critic, discount_by) in
        [(Critic::Adapter, DiscountBy::Response), (Critic::Head, DiscountBy::Token)]
    {
        let school = bandit(critic, discount_by);
        school.ppo("run", PpoModels::default()).unwrap();
        let curves = curves(&school, "run");
        let rewards = &curves["ppo/mean_reward"];
        let mean = |part: &[f64]| part.iter().sum::<f64>() / 5.0;
        let (first, last) = (mean(&rewards[..5]), mean(&rewards[rewards.len() - 5..]));
        assert!(first < 0.25, "{critic:?}: it began at {first}");
        assert!(last > 0.95, "{critic:?}: from {first} to {last}");
        // The critic expects what is paid in the end.
        let values = &curves["ppo/value_pred_mean"];
        assert!((values.last().unwrap() - last).abs() < 0.2, "{critic:?}: {:?}", values.last());
    }
}

#[test]
fn a_step_has_every_measurement_and_starts_at_what_was_sampled() {
    let mut school = School::new();
    school.config.training.max_steps = 2;
    assert_eq!(
        school.ppo("run", PpoModels::default()).unwrap(),
        Ended::Because { step: 2, reason: EPOCHS }
    );
    let curves = curves(&school, "run");
    for name in [
        "ppo/policy_loss",
        "ppo/entropy",
        "ppo/kl_divergence",
        "ppo/ratio_mean",
        "ppo/ratio_std",
        "ppo/value_loss",
        "ppo/value_pred_mean",
        "ppo/mean_reward",
        "ppo/mean_advantage",
        "ppo/reward_std",
        "ppo/explained_variance",
        "ppo/explained_variance_tokens",
    ] {
        assert_eq!(curves.get(name).map(Vec::len), Some(2), "{name}");
    }
    assert!(curves["ppo/sampler_gap"].iter().all(|gap| *gap < 1e-5), "sampled is trained");
    assert!(curves["ppo/reference_kl"][0].abs() < 1e-6, "a new adapter is the reference itself");
    let updates = curves["ppo/updates"][0] + curves["ppo/skipped_mini_batches"][0];
    assert_eq!(updates.to_bits(), 8.0_f64.to_bits(), "16 completions, 4 an update, twice");
    let said = |event| match event {
        Event::StopCheck { step, stops, reason } => Some((step, stops, reason)),
        _ => None,
    };
    let checks: Vec<_> = school.events("run").into_iter().filter_map(said).collect();
    let expected = [(1, false, "Continue training"), (2, true, EPOCHS)];
    assert_eq!(checks, expected.map(|(step, stops, reason)| (step, stops, reason.to_owned())));
    let last = school.events("run").pop().unwrap();
    let completed = Event::RunFinished { outcome: Outcome::Completed, message: EPOCHS.to_owned() };
    assert_eq!(last, completed);
    let line = fs::read_to_string(school.path("run", "rollouts/rollouts.jsonl")).unwrap();
    let line: serde_json::Value = serde_json::from_str(line.lines().next().unwrap()).unwrap();
    let turn = line.pointer("/data/meta/turns/0").or(line.pointer("/meta/turns/0")).unwrap();
    let count = |name: &str| turn[name].as_array().unwrap().len();
    assert_eq!((count("values"), count("returns")), (count("ids"), count("ids")));
}

#[test]
fn completions_that_are_cut_off_are_learnt_from_unless_they_are_left_out() {
    let updates = |is_masked| {
        let mut school = School::new();
        school.config.training.max_steps = 2;
        // A token of many: hardly ever the end.
        school.config.ppo.max_completion_length = 1;
        school.config.ppo.mask_truncated_completions = is_masked;
        school.ppo("run", PpoModels::default()).unwrap();
        let curves = curves(&school, "run");
        assert!(curves["rollout/truncated"].iter().all(|&part| part > 0.9), "{curves:?}");
        assert!(curves.values().flatten().all(|value| value.is_finite()), "{curves:?}");
        curves["ppo/updates"].clone()
    };
    assert!(updates(false).iter().all(|&count| count > 0.0));
    assert!(updates(true).iter().all(|&count| count < 1.0), "nothing is left to learn from");
}

/// Stops a run after each step, and goes on.
pub(crate) fn cut_everywhere(school: &School, run: &str, models: PpoModels<'_>, steps: u64) {
    drop(school.create(run, STAGE));
    for step in 1..steps {
        let (session, checkpoint) = school.resume(run, STAGE).unwrap();
        let stop = AtomicBool::new(false);
        let on_step = |report: &StepReport| {
            if report.step == step {
                stop.store(true, Ordering::Relaxed);
            }
        };
        let watch = Watch { on_step: &on_step, stop: &stop, ..nobody() };
        let ended = school.ppo_on(session, checkpoint.as_deref(), models, watch).unwrap();
        assert_eq!(ended, Ended::Stopped(step));
    }
    let ended = school.ppo_again(run, models).unwrap();
    assert_eq!(ended, Ended::Because { step: steps, reason: EPOCHS });
}

#[test]
fn a_run_that_is_stopped_after_every_step_is_the_same_run() {
    let mut school = School::new();
    school.config.training.max_steps = 4;
    school.sft("taught").unwrap();
    let adapter = school.path("taught", FINAL);
    for (name, critic, initial) in [
        ("new", Critic::Adapter, None),
        ("head", Critic::Head, None),
        ("taught", Critic::Adapter, Some(adapter.as_path())),
    ] {
        school.config.ppo.critic = critic;
        // A coefficient that changes has to come back to the bit.
        school.config.ppo.kl_target = 0.5;
        school.config.ppo.kl_horizon = 100;
        school.config.ppo.curriculum = Curriculum::PassRate;
        let models = PpoModels { initial, reward_model: None };
        let (whole, cut) = (format!("whole-{name}"), format!("cut-{name}"));
        school.ppo(&whole, models).unwrap();
        cut_everywhere(&school, &cut, models, 4);
        same(&school, &whole, &cut);
        let again = school.ppo_again(&whole, models).unwrap();
        assert_eq!(again, Ended::Because { step: 4, reason: EPOCHS }, "it is done");
        let files = school.files(&whole, FINAL);
        assert_eq!(files.contains_key("critic/value_head.safetensors"), critic == Critic::Adapter);
        assert_eq!(files.contains_key("value_head.safetensors"), critic == Critic::Head);
        let has_reference = files.contains_key("reference/adapter_model.safetensors");
        assert_eq!(has_reference, initial.is_some());
        if initial.is_some() {
            let before = fs::read(adapter.join("adapter_model.safetensors")).unwrap();
            assert!(files["reference/adapter_model.safetensors"] == before, "it does not move");
            assert!(files["adapter_model.safetensors"] != before, "the policy does");
        }
    }
}

#[test]
fn the_policy_begins_where_its_adapter_is_and_that_is_the_reference() {
    let mut school = School::new();
    school.config.training.max_steps = 2;
    school.sft("taught").unwrap();
    let adapter = school.path("taught", FINAL);
    let models = PpoModels { initial: Some(&adapter), reward_model: None };
    school.ppo("run", models).unwrap();
    let from_adapter = curves(&school, "run");
    assert!(from_adapter["ppo/reference_kl"][0].abs() < 1e-6);
    school.ppo("new", PpoModels::default()).unwrap();
    let from_base = curves(&school, "new");
    assert!(from_base["ppo/entropy"][0].to_bits() != from_adapter["ppo/entropy"][0].to_bits());
}

#[test]
fn micro_batches_and_threads_change_no_bit() {
    let mut school = School::new();
    school.config.training.max_steps = 2;
    school.ppo("one", PpoModels::default()).unwrap();
    school.config.training.per_device_train_batch_size = 3;
    school.threads = 2;
    school.ppo("other", PpoModels::default()).unwrap();
    same(&school, "one", "other");
}

#[test]
fn an_update_that_goes_too_far_ends_its_step_and_in_the_end_the_run() {
    let mut school = School::new();
    school.config.training.max_steps = 9;
    let ppo = &mut school.config.ppo;
    (ppo.learning_rate, ppo.warmup_ratio) = (0.3, 0.0);
    (ppo.target_kl, ppo.kl_patience) = (1e-6, 2);
    let ended = school.ppo("run", PpoModels::default()).unwrap();
    assert_eq!(ended, Ended::Because { step: 2, reason: "KL divergence too large" });
    let curves = curves(&school, "run");
    assert_eq!(curves["ppo/updates"], [1.0, 1.0], "the second mini-batch is too far away");
    assert_eq!(curves["ppo/skipped_mini_batches"], [7.0, 7.0]);
    let again = school.ppo_again("run", PpoModels::default()).unwrap();
    assert_eq!(again, ended, "a run that ended stays so");
}

#[test]
fn a_reward_that_does_not_improve_ends_the_run_if_an_improvement_is_asked_for() {
    let mut school = School::new();
    school.worth = Arc::new(|_, _| Ok(0.5));
    school.config.training.max_steps = 45;
    school.config.ppo.ppo_epochs = 1;
    let ended = school.ppo("free", PpoModels::default()).unwrap();
    assert_eq!(ended, Ended::Because { step: 45, reason: EPOCHS }, "nothing is asked for");
    school.config.ppo.min_improvement = 0.001;
    let ended = school.ppo("run", PpoModels::default()).unwrap();
    assert_eq!(ended, Ended::Because { step: 40, reason: "Reward improvement too small" });
    let told =
        |event: &Event| matches!(event, Event::Warning { code, .. } if code == "constant_reward");
    assert_eq!(school.events("run").iter().filter(|event| told(event)).count(), 1);
    // All rewards are equal, and so are the values of a new critic: nothing is made of rounding.
    let losses = &curves(&school, "run")["ppo/policy_loss"];
    assert!(losses[0].abs() < 1e-6, "{losses:?}");
}

#[test]
fn all_weights_are_not_trained() {
    let mut school = School::new();
    school.config.training.train = Trained::Full;
    let refused = school.ppo("run", PpoModels::default()).unwrap_err().to_string();
    assert!(refused.contains("training.train=lora"), "{refused}");
}

/// A reward model of pairs whose chosen reply is the longer one.
pub(crate) fn length_model(school: &mut School, to: &str) {
    let pair = |at: usize| {
        let short = 1 + at % 4;
        let text = |count: usize, seed: usize| -> String {
            let letter =
                |n: usize| char::from(b'a' + u8::try_from((seed * 5 + n * 3) % 8).unwrap());
            (0..count).map(letter).collect()
        };
        preference(at, text(short + 2 + at % 3, at), text(short, at + 1))
    };
    school.config.training.max_steps = 40;
    school.config.rm.learning_rate = 1e-2;
    school.config.rm.batch_size = 8;
    let data = Data::of(school, (0..120).map(pair).collect());
    data.rm(school, to).unwrap();
}

#[test]
fn a_reward_model_pays_on_the_same_base_and_is_in_checkpoints() {
    let mut school = School::new();
    length_model(&mut school, "length");
    let model = school.path("length", FINAL);
    let models = PpoModels { initial: None, reward_model: Some(&model) };
    school.config.training.max_steps = 12;
    school.config.reward.model = "length".to_owned();
    school.config.reward.composite_weight = 0.0;
    school.ppo("run", models).unwrap();
    let curves = curves(&school, "run");
    let paid = |of: f64| (0.0..=1.0).contains(&of);
    assert!(curves["reward/model"].iter().copied().all(paid), "{:?}", curves["reward/model"]);
    assert_eq!(curves["reward/tests"], [0.0; 12], "the judge's terms weigh nothing");
    assert!(curves.contains_key("reward_model/length_correlation"));
    let files = school.files("run", FINAL);
    for name in ["adapter_model.safetensors", "reward_model.json", "adapter_config.json"] {
        let kept = &files[&format!("reward_model/{name}")];
        assert!(*kept == fs::read(model.join(name)).unwrap(), "{name} is as it was");
    }
    // A checkpoint has it: the original may be gone.
    school.config.training.max_steps = 4;
    school.ppo("whole", models).unwrap();
    cut_everywhere(&school, "cut", models, 4);
    same(&school, "whole", "cut");
}

#[test]
fn a_reward_model_of_another_base_is_refused() {
    let mut school = School::new();
    length_model(&mut school, "length");
    let other = School::with_model(6);
    let model = school.path("length", FINAL);
    let models = PpoModels { initial: None, reward_model: Some(Path::new(&model)) };
    let refused = other.ppo("run", models).unwrap_err().to_string();
    assert!(refused.contains("different weights"), "{refused}");
}
