//! Process reward models: a planted rule comes back, runs that stop go on to the same bytes, and what is
//! refused.

mod paying;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use whetstone_core::SplitMix;
use whetstone_core::config::Trained;
use whetstone_core::outcome::Transition;
use whetstone_core::seed::Seed;
use whetstone_train::TrainError;
use whetstone_train::process_reward::{
    LabelCounts, LabelledEpisode, Prm, ProcessFacts, ProcessModel, STAGE, ScoringBase, SplitLabels,
    TokenTransition, hold_out, prm, token_transitions,
};
use whetstone_train::reward_model::RewardModel;
use whetstone_train::session::Session;
use whetstone_train::watch::{Ended, StepReport, Watch};

use crate::reward_model::copy;
use crate::school::{School, nobody};

const FINAL: &str = "outputs/final_model";

/// A transition between two numbers: it is progress if the second is smaller.
fn transition(from: usize, to: usize) -> Transition {
    Transition {
        state: from.to_string(),
        action: "a".to_owned(),
        next_state: to.to_string(),
        valid: true,
        progress: to < from,
    }
}

/// Episodes of three transitions between digits, each on its own task.
fn planted(count: usize, seed: u64) -> Vec<LabelledEpisode> {
    let mut random = SplitMix::new(Seed::new(seed));
    let episode = |at: usize| {
        let digits: Vec<usize> = (0..4).map(|_| random.below(10)).collect();
        let transitions = digits.windows(2).map(|pair| transition(pair[0], pair[1])).collect();
        let task = format!("n/{at}").try_into().unwrap();
        LabelledEpisode { task, solved: digits[3] == 0, transitions }
    };
    (0..count).map(episode).collect()
}

/// A school whose process reward models learn fast.
fn school() -> School {
    let mut school = School::new();
    school.config.training.max_steps = 6;
    school.config.training.per_device_train_batch_size = 4;
    school.config.prm.learning_rate = 1e-2;
    school.config.prm.batch_size = 8;
    school.config.prm.eval_steps = 2;
    school
}

/// Transitions of a training, and of its measurements.
pub(crate) struct Data {
    train: Vec<TokenTransition>,
    held_out: Vec<TokenTransition>,
    labels: SplitLabels,
}

impl Data {
    fn of(school: &School, episodes: Vec<LabelledEpisode>) -> Self {
        let student = school.student(None).unwrap();
        let split = hold_out(episodes, &school.config).unwrap();
        let of = |episodes: &[LabelledEpisode]| {
            token_transitions(&student.model, episodes, 64).unwrap().transitions
        };
        let labels = SplitLabels {
            train: LabelCounts::of(&split.train),
            held_out: LabelCounts::of(&split.held_out),
        };
        Self { train: of(&split.train), held_out: of(&split.held_out), labels }
    }

    fn prm_on(
        &self,
        school: &School,
        mut session: Session,
        checkpoint: Option<&Path>,
        watch: Watch<'_>,
    ) -> Result<Ended, TrainError> {
        let mut student = school.student(checkpoint)?;
        student.add_score_head(&school.config)?;
        let Self { train: transitions, held_out, labels } = self;
        let (config, labels) = (&school.config, *labels);
        let training = Prm { config, transitions, held_out, labels, checkpoint, watch };
        prm(&mut student, &mut session, &training)
    }

    fn prm(&self, school: &School, name: &str) -> Result<Ended, TrainError> {
        self.prm_on(school, school.create(name, STAGE), None, nobody())
    }

    fn again(&self, school: &School, name: &str) -> Result<Ended, TrainError> {
        let (session, checkpoint) = school.resume(name, STAGE)?;
        self.prm_on(school, session, checkpoint.as_deref(), nobody())
    }
}

/// What every step measured, without what clocks say.
fn plain(school: &School, run: &str) -> Vec<BTreeMap<String, f64>> {
    let plain = |(_, values): (u64, BTreeMap<String, f64>)| {
        values.into_iter().filter(|(name, _)| !name.starts_with("time/")).collect()
    };
    school.metrics(run).into_iter().map(plain).collect()
}

#[test]
fn a_planted_rule_comes_back_on_tasks_that_were_held_out() {
    let mut school = school();
    (school.config.lora.rank, school.config.lora.alpha) = (16, 32.0);
    school.config.training.max_steps = 600;
    school.config.training.per_device_train_batch_size = 32;
    school.config.prm.batch_size = 32;
    school.config.prm.eval_steps = 200;
    let data = Data::of(&school, planted(1000, 7));
    data.prm(&school, "run").unwrap();
    let facts = ProcessFacts::read(&school.path("run", FINAL)).unwrap();
    let auc = facts.held_out.auc.unwrap();
    println!("{auc:?}, {:?}", facts.held_out.calibration_error);
    assert!(auc.is_above(0.9), "{auc:?}");
    assert!(facts.held_out.brier.value < 0.15, "{:?}", facts.held_out.brier);
    assert_eq!(facts.labels.transitions + facts.held_out_labels.transitions, 3000);
    assert_eq!(facts.held_out.transitions, facts.held_out_labels.transitions);

    // Whoever scores with it gets what was measured.
    let mut student = school.student(None).unwrap();
    let process = ProcessModel::open(&school.path("run", FINAL), &student.model, "model").unwrap();
    student.decoder.new_adapter("process");
    process.load(&mut student.decoder).unwrap();
    let all: Vec<Transition> =
        (0..10).flat_map(|from| (0..10).map(move |to| transition(from, to))).collect();
    let base = ScoringBase { model: &student.model, decoder: &student.decoder, micro_batch: 4 };
    let found = process.probabilities(base, &all.iter().collect::<Vec<_>>()).unwrap();
    let right = found.iter().zip(&all).filter(|(p, one)| (**p > 0.5) == one.progress).count();
    assert!(right > 85, "{right} of 100 pairs of digits");
    let mut long = transition(9, 1);
    long.state = "9".repeat(500);
    let found = process.probabilities(base, &[&long]).unwrap();
    assert!((0.0..=1.0).contains(&found[0]), "a long state loses its middle: {found:?}");
}

#[test]
fn the_micro_batch_changes_no_bit_of_what_is_learnt() {
    let mut school = school();
    let data = Data::of(&school, planted(40, 1));
    let mut run = |micro_batch, name| {
        school.config.training.per_device_train_batch_size = micro_batch;
        data.prm(&school, name).unwrap();
        let mut files = school.files(name, FINAL);
        // Scores of held-out transitions may differ in a bit by the micro-batch they are measured in.
        files.remove("process_model.json");
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
    let data = Data::of(&school, planted(40, 1));
    data.prm(&school, "whole").unwrap();
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
        let ended = data.prm_on(&school, session, checkpoint.as_deref(), watch).unwrap();
        assert_eq!(ended, Ended::Stopped(step));
    }
    assert_eq!(data.again(&school, "cut").unwrap(), Ended::Done);
    assert!(school.files("whole", FINAL) == school.files("cut", FINAL));
    assert_eq!(plain(&school, "whole"), plain(&school, "cut"));
    school.config.training.train = Trained::Full;
    let err = data.prm(&school, "full").unwrap_err().to_string();
    assert!(err.contains("leave `training.train` at `lora`"), "{err}");
}

#[test]
fn a_run_that_was_killed_goes_on_from_its_checkpoint_to_the_same_bytes() {
    let mut school = school();
    school.config.training.save_steps = 2;
    let data = Data::of(&school, planted(40, 1));
    data.prm(&school, "whole").unwrap();
    copy(&school.path("whole", ""), &school.path("cut", ""));
    // As after a kill behind step 5.
    fs::remove_dir_all(school.path("cut", FINAL)).unwrap();
    let (session, checkpoint) = school.resume("cut", STAGE).unwrap();
    assert!(checkpoint.as_ref().unwrap().ends_with("checkpoint-4"));
    data.prm_on(&school, session, checkpoint.as_deref(), nobody()).unwrap();
    assert!(school.files("whole", FINAL) == school.files("cut", FINAL));
    assert_eq!(plain(&school, "whole"), plain(&school, "cut"));
}

#[test]
fn what_teaches_nothing_ends_before_the_first_step() {
    let school = school();
    let mut data = Data::of(&school, planted(20, 1));
    let labels = data.labels;
    data.labels.train.positive = labels.train.transitions;
    let err = data.prm(&school, "same").unwrap_err();
    assert!(err.is_usage() && err.to_string().contains("have the same label"), "{err}");
    data.labels = labels;
    data.held_out.clear();
    let err = data.prm(&school, "none").unwrap_err().to_string();
    assert!(err.starts_with("no held-out transition is left to measure by"), "{err}");
    data.train.clear();
    let err = data.prm(&school, "empty").unwrap_err().to_string();
    assert_eq!(err, "there is no transition to learn from");
}

#[test]
fn the_two_kinds_of_reward_models_are_told_apart() {
    let school = school();
    Data::of(&school, planted(20, 1)).prm(&school, "run").unwrap();
    let (dir, student) = (school.path("run", FINAL), school.student(None).unwrap());
    let err = RewardModel::open(&dir, &student.model, "model").unwrap_err().to_string();
    assert!(err.ends_with("is not a reward model: it has no `reward_model.json`"), "{err}");
    let other = School::with_model(6);
    let base = other.student(None).unwrap();
    let err = ProcessModel::open(&dir, &base.model, "other").unwrap_err();
    assert!(err.to_string().starts_with("the process reward model `"), "{err}");
    assert!(err.hint().unwrap().contains("whet train prm"));
    let text = fs::read_to_string(dir.join("process_model.json")).unwrap();
    fs::write(dir.join("process_model.json"), text.replace("\"v\": 1", "\"v\": 2")).unwrap();
    let err = ProcessModel::open(&dir, &student.model, "model").unwrap_err().to_string();
    assert!(err.ends_with("it has version 2, and this whet knows 1"), "{err}");
    fs::remove_file(dir.join("process_model.json")).unwrap();
    let err = ProcessModel::open(&dir, &student.model, "model").unwrap_err().to_string();
    assert!(
        err.ends_with("is not a process reward model: it has no `process_model.json`"),
        "{err}"
    );
}
