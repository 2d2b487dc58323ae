//! Reward models: planted utilities come back, length on purpose is caught, and runs that stop go on to the
//! same bytes.

mod refused;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use whetstone_core::Message;
use whetstone_core::SplitMix;
use whetstone_core::config::Trained;
use whetstone_core::preference::Preference;
use whetstone_core::seed::Seed;
use whetstone_core::wire::Object;
use whetstone_model::safetensors::Safetensors;
use whetstone_model::weights::Weights;
use whetstone_record::event::Event;
use whetstone_train::reward_model::{
    Facts, RewardModel, Rm, STAGE, TokenPair, TokenReply, hold_out, rm, token_pairs,
};
use whetstone_train::session::Session;
use whetstone_train::watch::{Ended, StepReport, Watch};
use whetstone_train::{TrainError, sft};

use crate::school::{School, nobody};

const FINAL: &str = "outputs/final_model";

/// A number from 0 to 1.
#[expect(clippy::cast_precision_loss, reason = "53 bits")]
fn unit(random: &mut SplitMix) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

pub(crate) fn preference(id: usize, chosen: String, rejected: String) -> Preference {
    Preference {
        id: id.to_string(),
        task_id: None,
        prompt: vec![Message::user(id.to_string())],
        chosen,
        rejected,
        margin: 0.0,
        origin: "test".to_owned(),
        rest: Object::new(),
    }
}

/// The worth of a reply: each letter has its own.
fn utility(reply: &str) -> f64 {
    reply.bytes().map(|letter| 0.45 * (f64::from(letter - b'a') - 3.5)).sum()
}

fn letters(random: &mut SplitMix, count: usize) -> String {
    (0..count).map(|_| char::from(b'a' + u8::try_from(random.below(8)).unwrap())).collect()
}

/// Pairs of six letters; which one is preferred is drawn with the odds of their utilities.
pub(crate) fn planted(count: usize, seed: u64) -> Vec<Preference> {
    let mut random = SplitMix::new(Seed::new(seed));
    let mut pairs = Vec::new();
    while pairs.len() < count {
        let (one, other) = (letters(&mut random, 6), letters(&mut random, 6));
        if one == other {
            continue;
        }
        let odds = 1.0 / (1.0 + (utility(&other) - utility(&one)).exp());
        let (chosen, rejected) = if unit(&mut random) < odds { (one, other) } else { (other, one) };
        pairs.push(preference(pairs.len(), chosen, rejected));
    }
    pairs
}

/// A school whose reward models learn fast.
fn school() -> School {
    let mut school = School::new();
    school.config.training.max_steps = 6;
    school.config.training.per_device_train_batch_size = 4;
    school.config.rm.learning_rate = 1e-2;
    school.config.rm.batch_size = 8;
    school.config.rm.eval_steps = 2;
    school
}

/// Pairs as tokens: to learn from, and held out.
fn tokens(school: &School, pairs: Vec<Preference>) -> (Vec<TokenPair>, Vec<TokenPair>) {
    let student = school.student(None).unwrap();
    let split = hold_out(pairs, 0.1, school.config.seed).unwrap();
    let of = |pairs: &[Preference]| token_pairs(&student.model, pairs, 64).unwrap().pairs;
    (of(&split.train), of(&split.held_out))
}

/// Pairs of a training, and of its measurements.
pub(crate) struct Data {
    pub(crate) train: Vec<TokenPair>,
    pub(crate) held_out: Vec<TokenPair>,
}

impl Data {
    pub(crate) fn of(school: &School, pairs: Vec<Preference>) -> Self {
        let (train, held_out) = tokens(school, pairs);
        Self { train, held_out }
    }

    fn rm_on(
        &self,
        school: &School,
        mut session: Session,
        checkpoint: Option<&Path>,
        watch: Watch<'_>,
    ) -> Result<Ended, TrainError> {
        let mut student = school.student(checkpoint)?;
        student.add_score_head(&school.config)?;
        let (config, pairs, held_out) = (&school.config, &self.train, &self.held_out);
        let training = Rm { config, pairs, held_out, checkpoint, watch };
        rm(&mut student, &mut session, &training)
    }

    pub(crate) fn rm(&self, school: &School, name: &str) -> Result<Ended, TrainError> {
        self.rm_on(school, school.create(name, STAGE), None, nobody())
    }

    fn again(&self, school: &School, name: &str) -> Result<Ended, TrainError> {
        let (session, checkpoint) = school.resume(name, STAGE)?;
        self.rm_on(school, session, checkpoint.as_deref(), nobody())
    }
}

/// What every step measured, without what clocks say.
pub(crate) fn plain(school: &School, run: &str) -> Vec<BTreeMap<String, f64>> {
    let plain = |(_, values): (u64, BTreeMap<String, f64>)| {
        values.into_iter().filter(|(name, _)| !name.starts_with("time/")).collect()
    };
    school.metrics(run).into_iter().map(plain).collect()
}

/// With six letters, the order that the utilities give agrees with 85 % of the drawn labels: no scores can be
/// expected to do better. Those of the reward model do as well, to one point.
#[test]
fn planted_utilities_come_back() {
    let mut school = school();
    let held_out = 3000;
    school.config.training.max_steps = 500;
    school.config.rm.learning_rate = 3e-3;
    school.config.rm.batch_size = 32;
    // Centring pulls scores together, and so makes them less sure than the labels are.
    school.config.rm.center_coefficient = 0.0;
    school.config.rm.eval_steps = 100;
    school.config.training.per_device_train_batch_size = 16;
    school.threads = 2;
    let student = school.student(None).unwrap();
    let of = |pairs: &[Preference]| token_pairs(&student.model, pairs, 64).unwrap().pairs;
    let measured = planted(held_out, 8);
    let data = Data { train: of(&planted(16_000, 7)), held_out: of(&measured) };
    drop(student);
    data.rm(&school, "run").unwrap();
    let facts = Facts::read(&school.path("run", FINAL)).unwrap();
    let bayes = measured
        .iter()
        .map(|pair| match utility(&pair.chosen) - utility(&pair.rejected) {
            0.0 => 0.5,
            lead => f64::from(u8::from(lead > 0.0)),
        })
        .sum::<f64>()
        / f64::from(u32::try_from(held_out).unwrap());
    let (found, calibration) = (facts.held_out.accuracy, facts.held_out.calibration_error);
    println!("{found:?}, Bayes {bayes:.4}, {calibration:?}");
    assert!((found.value - bayes).abs() < 0.01, "{found:?}, and the Bayes rate is {bayes}");
    let [low, high] = found.interval().unwrap();
    assert!(low < bayes && bayes < high, "{found:?}");
    // The leads mean what they say, since labels were drawn by them.
    assert!(calibration.value < 0.03, "{calibration:?}");
    assert!(facts.held_out.length.correlation.abs() < 1e-9, "all replies are as long");
}

/// The longer reply is always the chosen one.
#[test]
fn a_reward_model_of_length_is_caught_before_step_30() {
    let mut school = school();
    school.config.training.max_steps = 29;
    school.config.rm.eval_steps = 10;
    let mut random = SplitMix::new(Seed::new(3));
    let pairs = (0..400).map(|id| {
        let (short, more) = (1 + random.below(6), 2 + random.below(8));
        let chosen = letters(&mut random, short + more);
        preference(id, chosen, letters(&mut random, short))
    });
    let data = Data::of(&school, pairs.collect());
    data.rm(&school, "run").unwrap();
    let alarm = |event| match event {
        Event::Alarm { step, code, message, .. } => Some((step, code, message)),
        _ => None,
    };
    let rung: Vec<_> = school.events("run").into_iter().filter_map(alarm).collect();
    let of_length = rung.iter().find(|(_, code, _)| code == "rm_length_bias");
    let (step, _, message) = of_length.unwrap_or_else(|| panic!("{rung:?}"));
    assert!(*step < 30, "{rung:?}");
    assert!(message.contains("The labels themselves follow length"), "{message}");
    let facts = Facts::read(&school.path("run", FINAL)).unwrap();
    assert!(facts.held_out.length.correlation > 0.7, "{:?}", facts.held_out.length);
}

#[test]
fn the_micro_batch_changes_no_bit_of_what_is_learnt() {
    let mut school = school();
    let data = Data::of(&school, planted(60, 1));
    let mut run = |micro_batch, name| {
        school.config.training.per_device_train_batch_size = micro_batch;
        data.rm(&school, name).unwrap();
        let mut files = school.files(name, FINAL);
        // Scores of held-out pairs may differ in a bit by the micro-batch they are measured in.
        files.remove("reward_model.json");
        files
    };
    let expected = run(1, "one");
    assert!(expected.contains_key("adapter_model.safetensors"));
    assert!(run(3, "three") == expected);
    assert!(run(8, "eight") == expected);
}

#[test]
fn a_run_that_is_stopped_after_every_step_is_the_same_run() {
    let mut school = school();
    let data = Data::of(&school, planted(60, 1));
    data.rm(&school, "whole").unwrap();
    drop(school.create("cut", STAGE));
    for step in 1..6 {
        let (session, checkpoint) = school.resume("cut", STAGE).unwrap();
        let stop = AtomicBool::new(false);
        let on_step = |report: &StepReport| {
            if report.step == step {
                stop.store(true, Ordering::Relaxed);
            }
        };
        let watch = Watch { on_step: &on_step, stop: &stop, ..nobody() };
        let ended = data.rm_on(&school, session, checkpoint.as_deref(), watch).unwrap();
        assert_eq!(ended, Ended::Stopped(step));
    }
    assert_eq!(data.again(&school, "cut").unwrap(), Ended::Done);
    assert!(school.files("whole", FINAL) == school.files("cut", FINAL));
    assert_eq!(plain(&school, "whole"), plain(&school, "cut"));
    // Once more: it is done, and stays as it is.
    let before = school.files("cut", FINAL);
    assert_eq!(data.again(&school, "cut").unwrap(), Ended::Done);
    assert!(school.files("cut", FINAL) == before);
    school.config.training.train = Trained::Full;
    let err = data.rm(&school, "full").unwrap_err().to_string();
    assert!(err.contains("leave `training.train` at `lora`"), "{err}");
}

#[test]
fn a_run_that_was_killed_goes_on_from_its_checkpoint_to_the_same_bytes() {
    let mut school = school();
    school.config.training.save_steps = 2;
    let data = Data::of(&school, planted(60, 1));
    data.rm(&school, "whole").unwrap();
    copy(&school.path("whole", ""), &school.path("cut", ""));
    // As after a kill behind step 5.
    fs::remove_dir_all(school.path("cut", FINAL)).unwrap();
    let (session, checkpoint) = school.resume("cut", STAGE).unwrap();
    assert!(checkpoint.as_ref().unwrap().ends_with("checkpoint-4"));
    data.rm_on(&school, session, checkpoint.as_deref(), nobody()).unwrap();
    assert!(school.files("whole", FINAL) == school.files("cut", FINAL));
    assert_eq!(plain(&school, "whole"), plain(&school, "cut"));
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn it_may_begin_with_the_adapter_of_a_fine_tuned_student() {
    let mut school = school();
    school.sft("taught").unwrap();
    let adapter = school.path("taught", FINAL);
    let mut student = school.student(Some(&adapter)).unwrap();
    student.add_score_head(&school.config).unwrap();
    assert!(student.decoder.has_score_head());
    let data = Data::of(&school, planted(60, 1));
    let mut session = school.create("run", STAGE);
    school.config.training.max_steps = 1;
    let (config, pairs, held_out) = (&school.config, &data.train, &data.held_out);
    let training = Rm { config, pairs, held_out, checkpoint: None, watch: nobody() };
    rm(&mut student, &mut session, &training).unwrap();
    let read = |dir: &Path| {
        let file = Safetensors::open_file(&dir.join("adapter_model.safetensors")).unwrap();
        let name = "base_model.model.model.layers.0.mlp.up_proj.lora_B.weight";
        let mut values = vec![0.0; file.expect(name).unwrap().numbers()];
        file.read(name, &mut values).unwrap();
        values
    };
    // The first update moves the head alone, which was zero.
    assert_eq!(read(&adapter), read(&school.path("run", FINAL)));
    assert!(read(&adapter).iter().any(|&value| value != 0.0));
    let err = school.resume("taught", STAGE).unwrap_err();
    assert!(matches!(err, TrainError::OtherTraining { .. }), "{err}");
    assert_eq!(sft::STAGE, "sft");
}

#[test]
fn scores_are_normalised_and_those_of_the_run() {
    let school = school();
    let data = Data::of(&school, planted(100, 1));
    data.rm(&school, "run").unwrap();
    let dir = school.path("run", FINAL);
    let mut student = school.student(None).unwrap();
    let reward = RewardModel::open(&dir, &student.model, "model").unwrap();
    let id = student.decoder.new_adapter("reward");
    reward.load(&mut student.decoder).unwrap();
    assert_eq!(student.decoder.active_adapter(), id);
    let replies: Vec<TokenReply<'_>> = data
        .held_out
        .iter()
        .flat_map(|pair| {
            [&pair.chosen, &pair.rejected].map(|tokens| {
                let (prompt, completion) = tokens.split_at(pair.prompt_tokens);
                TokenReply { prompt, completion }
            })
        })
        .collect();
    let scores = reward.scores(&student.decoder, &replies, 4).unwrap();
    let count = f64::from(u32::try_from(scores.len()).unwrap());
    let mean = scores.iter().sum::<f64>() / count;
    let square = scores.iter().map(|score| score * score).sum::<f64>() / count;
    assert!(mean.abs() < 1e-4 && (square - 1.0).abs() < 1e-3, "{mean} {square}");
    let right = scores.chunks(2).filter(|pair| pair[0] > pair[1]).count();
    let expected = reward.facts().held_out.accuracy.value * count / 2.0;
    assert!((f64::from(u32::try_from(right).unwrap()) - expected).abs() < 1e-9);
    let long = vec![70; 500];
    let err = reward.scores(&student.decoder, &[TokenReply { prompt: &long, completion: &[] }], 4);
    let err = whetstone_core::with_causes(&err.unwrap_err());
    assert!(err.contains("has 500 tokens"), "{err}");
}
