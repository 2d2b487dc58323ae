//! Preference training: planted preferences are learnt under each loss, and runs that stop go on to the same bytes.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use whetstone_core::config::{PreferenceLoss, Trained};
use whetstone_train::TrainError;
use whetstone_train::dpo::{Dpo, STAGE, dpo};
use whetstone_train::session::Session;
use whetstone_train::watch::{Ended, StepReport, Watch};

use crate::reward_model::{Data, copy, plain, planted};
use crate::school::{School, nobody};

const FINAL: &str = "outputs/final_model";

/// A school whose students learn preferences fast.
fn school() -> School {
    let mut school = School::new();
    school.config.training.max_steps = 6;
    school.config.training.per_device_train_batch_size = 4;
    school.config.dpo.learning_rate = 1e-2;
    school.config.dpo.batch_size = 8;
    school.config.dpo.eval_steps = 2;
    school
}

/// A training, and the adapter that it begins with.
struct Training<'a> {
    school: &'a School,
    data: &'a Data,
    initial: Option<PathBuf>,
}

impl Training<'_> {
    fn on(
        &self,
        mut session: Session,
        checkpoint: Option<&Path>,
        watch: Watch<'_>,
    ) -> Result<Ended, TrainError> {
        let initial = self.initial.as_deref();
        let mut student = self.school.student(checkpoint.or(initial))?;
        let config = &self.school.config;
        let (pairs, held_out) = (&self.data.train[..], &self.data.held_out[..]);
        let training = Dpo { config, pairs, held_out, initial, checkpoint, watch };
        dpo(&mut student, &mut session, &training)
    }

    fn run(&self, name: &str) -> Result<Ended, TrainError> {
        self.on(self.school.create(name, STAGE), None, nobody())
    }

    fn resumed(&self, name: &str, watch: Watch<'_>) -> Result<Ended, TrainError> {
        let (session, checkpoint) = self.school.resume(name, STAGE)?;
        self.on(session, checkpoint.as_deref(), watch)
    }
}

fn training<'a>(school: &'a School, data: &'a Data) -> Training<'a> {
    Training { school, data, initial: None }
}

/// A value of a run, at its first and at its last step that measured it.
fn ends(school: &School, run: &str, name: &str) -> (f64, f64) {
    let all = plain(school, run);
    let values: Vec<f64> = all.iter().filter_map(|values| values.get(name).copied()).collect();
    (values[0], *values.last().unwrap())
}

/// Of pairs drawn by the utility of their letters 85 % can be put in the right order; half is chance.
#[test]
fn every_loss_learns_planted_preferences() {
    for (loss, beta, begins) in [
        (PreferenceLoss::Dpo, 0.5, Some(std::f64::consts::LN_2)),
        (PreferenceLoss::Ipo, 0.5, Some(1.0)),
        (PreferenceLoss::SimPo, 4.0, None),
    ] {
        let mut school = school();
        school.config.training.max_steps = 60;
        school.config.dpo.batch_size = 32;
        school.config.dpo.loss = loss;
        school.config.dpo.beta = beta;
        school.config.dpo.eval_steps = 0;
        let data = Data::of(&school, planted(2000, 7));
        training(&school, &data).run("run").unwrap();
        let of = |name: &str| ends(&school, "run", name);
        let (first, last) = of("dpo/loss");
        if let Some(begins) = begins {
            assert!((first - begins).abs() < 1e-9, "{loss:?}: {first} is not {begins}");
            assert!(last < first, "{loss:?}: {first} {last}");
            assert_eq!(of("dpo/margin").0.to_bits(), 0.0_f64.to_bits(), "{loss:?}");
            assert_eq!(of("dpo/accuracy").0.to_bits(), 0.5_f64.to_bits(), "{loss:?}");
        }
        let (accuracy, low) = (of("dpo/held_out_accuracy").1, of("dpo/held_out_accuracy_low").1);
        println!(
            "{loss:?}: loss {first:.4} -> {last:.4}, held-out accuracy {accuracy:.3} from {low:.3}"
        );
        assert!(low > 0.5 && low < accuracy, "{loss:?}: {accuracy} from {low}");
        let lead = of("dpo/chosen_reward").1 - of("dpo/rejected_reward").1;
        assert!((lead - of("dpo/margin").1).abs() < 1e-9, "{loss:?}");
    }
}

#[test]
fn the_micro_batch_changes_no_bit_of_what_is_learnt() {
    let mut school = school();
    let data = Data::of(&school, planted(60, 1));
    let mut run = |micro_batch, name| {
        school.config.training.per_device_train_batch_size = micro_batch;
        training(&school, &data).run(name).unwrap();
        school.files(name, FINAL)
    };
    let expected = run(1, "one");
    assert!(expected.contains_key("adapter_model.safetensors"));
    assert!(run(3, "three") == expected);
    assert!(run(8, "eight") == expected);
}

#[test]
fn a_run_that_is_stopped_after_every_step_is_the_same_run() {
    let school = school();
    let data = Data::of(&school, planted(60, 1));
    let training = training(&school, &data);
    training.run("whole").unwrap();
    drop(school.create("cut", STAGE));
    for step in 1..6 {
        let stop = AtomicBool::new(false);
        let on_step = |report: &StepReport| {
            if report.step == step {
                stop.store(true, Ordering::Relaxed);
            }
        };
        let watch = Watch { on_step: &on_step, stop: &stop, ..nobody() };
        assert_eq!(training.resumed("cut", watch).unwrap(), Ended::Stopped(step));
    }
    assert_eq!(training.resumed("cut", nobody()).unwrap(), Ended::Done);
    assert!(school.files("whole", FINAL) == school.files("cut", FINAL));
    assert_eq!(plain(&school, "whole"), plain(&school, "cut"));
    // Once more: it is done, and stays as it is.
    let before = school.files("cut", FINAL);
    assert_eq!(training.resumed("cut", nobody()).unwrap(), Ended::Done);
    assert!(school.files("cut", FINAL) == before);
}

/// The reference of a run that begins with an adapter is that adapter, and a checkpoint brings it along.
#[test]
fn a_run_that_began_with_an_adapter_goes_on_with_that_reference_after_a_kill() {
    let mut school = school();
    school.sft("taught").unwrap();
    school.config.training.save_steps = 2;
    let data = Data::of(&school, planted(60, 1));
    let begun =
        Training { initial: Some(school.path("taught", FINAL)), ..training(&school, &data) };
    begun.run("whole").unwrap();
    let (loss, _) = ends(&school, "whole", "dpo/loss");
    assert!((loss - std::f64::consts::LN_2).abs() < 1e-9, "{loss}");
    training(&school, &data).run("new").unwrap();
    let begins = |run| ends(&school, run, "dpo/chosen_logp").0.to_bits();
    assert_ne!(begins("whole"), begins("new"));
    copy(&school.path("whole", ""), &school.path("cut", ""));
    // As after a kill behind step 5; the adapter that it began with is not there any more.
    fs::remove_dir_all(school.path("cut", FINAL)).unwrap();
    fs::remove_dir_all(school.path("taught", "")).unwrap();
    assert!(school.path("cut", "outputs/checkpoint-4/reference").is_dir());
    assert_eq!(begun.resumed("cut", nobody()).unwrap(), Ended::Done);
    assert!(school.files("whole", FINAL) == school.files("cut", FINAL));
    assert_eq!(plain(&school, "whole"), plain(&school, "cut"));
}

#[test]
fn all_weights_have_the_base_as_their_reference_after_a_kill_too() {
    let mut school = school();
    school.config.training.train = Trained::Full;
    school.config.training.save_steps = 2;
    school.config.dpo.learning_rate = 1e-3;
    let data = Data::of(&school, planted(60, 1));
    let full = training(&school, &data);
    full.run("whole").unwrap();
    let (loss, _) = ends(&school, "whole", "dpo/loss");
    assert!((loss - std::f64::consts::LN_2).abs() < 1e-6, "{loss}");
    assert!(ends(&school, "whole", "dpo/margin").1.abs() > 1e-3, "it moves away from the base");
    copy(&school.path("whole", ""), &school.path("cut", ""));
    fs::remove_dir_all(school.path("cut", FINAL)).unwrap();
    assert_eq!(full.resumed("cut", nobody()).unwrap(), Ended::Done);
    assert!(school.files("whole", FINAL) == school.files("cut", FINAL));
    assert_eq!(plain(&school, "whole"), plain(&school, "cut"));
}

#[test]
fn without_pairs_to_learn_from_or_to_measure_by_it_ends_before_the_first_step() {
    let school = school();
    let mut data = Data::of(&school, planted(20, 1));
    let held_out = std::mem::take(&mut data.held_out);
    let err = training(&school, &data).run("none").unwrap_err().to_string();
    assert!(err.starts_with("no held-out pair is left to measure by"), "{err}");
    data.held_out = held_out;
    data.train.clear();
    let err = training(&school, &data).run("empty").unwrap_err().to_string();
    assert_eq!(err, "there is no preference pair to learn from");
    assert!(!school.path("none", FINAL).exists());
}
