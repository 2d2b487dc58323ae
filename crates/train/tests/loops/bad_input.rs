//! What nobody can learn from, and what was broken meanwhile: a sentence, and nothing is lost.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use whetstone_core::config::{LoraConfig, Module, Trained};
use whetstone_record::event::{Event, Outcome};
use whetstone_train::grpo::STAGE;
use whetstone_train::session::{RunLocation, RunStart, Session};
use whetstone_train::watch::Ended;
use whetstone_train::{TrainError, sft};

use crate::school::{School, parity};

/// How the last attempt ended, as it is recorded.
fn end(school: &School, run: &str) -> (Outcome, String) {
    match school.events(run).pop() {
        Some(Event::RunFinished { outcome, message }) => (outcome, message),
        other => panic!("no end: {other:?}"),
    }
}

fn steps(school: &School, run: &str) -> Vec<u64> {
    school.metrics(run).into_iter().map(|(step, _)| step).collect()
}

#[test]
fn nothing_to_learn_from_is_said_with_what_to_do() {
    let mut school = School::new();
    school.tasks.clear();
    let err = school.grpo("run").unwrap_err();
    assert_eq!(err.to_string(), "there are no tasks to learn from");
    assert!(err.is_usage() && err.hint().unwrap().contains("whet data prepare"));
    assert_eq!(end(&school, "run").0, Outcome::Failed);
    school.rows.clear();
    let err = school.sft("rows").unwrap_err();
    assert_eq!(err.to_string(), "there is no row to learn from");
    assert!(err.is_usage() && err.hint().unwrap().contains("whet teach"));
}

#[test]
fn rewards_that_are_all_equal_end_a_run_that_can_go_on() {
    let mut school = School::new();
    school.config.training.max_steps = 9;
    school.config.grpo.patience_steps = 3;
    school.worth = Arc::new(|_, _| Ok(0.5));
    let err = school.grpo("run").unwrap_err();
    assert_eq!(
        err.to_string(),
        "no group had rollouts with different rewards for 3 steps: there is nothing to learn from (mean \
         reward 0.500)"
    );
    assert!(err.is_no() && !err.is_usage());
    assert!(err.hint().unwrap().contains("more samples per prompt"));
    assert_eq!(steps(&school, "run"), [1, 2, 3]);
    assert_eq!(end(&school, "run"), (Outcome::Failed, err.to_string()));
    // What was learnt from traces is there, and whoever goes on is given as many steps again.
    let err = school.grpo_again("run").unwrap_err();
    assert!(matches!(err, TrainError::AllEqual { steps: 3, .. }), "{err}");
    assert_eq!(steps(&school, "run"), [1, 2, 3, 4, 5, 6]);
    school.worth = Arc::new(|_, reply| Ok(parity(reply)));
    assert_eq!(school.grpo_again("run").unwrap(), Ended::Done);
    assert_eq!(steps(&school, "run").len(), 9);
}

#[test]
fn patience_begins_anew_with_every_group_that_teaches() {
    let mut school = School::new();
    school.config.training.max_steps = 6;
    school.config.grpo.patience_steps = 2;
    // Every second step of sixteen replies has rewards that differ.
    let seen = AtomicUsize::new(0);
    school.worth = Arc::new(move |_, reply| {
        let step = seen.fetch_add(1, Ordering::Relaxed) / 16;
        Ok(if step.is_multiple_of(2) { 1.0 } else { parity(reply) })
    });
    assert_eq!(school.grpo("run").unwrap(), Ended::Done);
}

/// Leaves the traces of those tasks out that the first step takes.
fn untaught_at_first(school: &mut School) {
    school.config.training.max_steps = 1;
    school.grpo("probe").unwrap();
    let lines = fs::read_to_string(school.path("probe", "rollouts/rollouts.jsonl")).unwrap();
    for (task, rows) in school.tasks.iter().zip(&mut school.rows) {
        if lines.contains(&format!("\"prompt_id\":\"{}\"", task.id)) {
            rows.clear();
        }
    }
    school.config.training.max_steps = 3;
}

#[test]
fn numbers_that_are_none_stop_a_run_and_another_begins_from_its_checkpoint() {
    for train in [Trained::Lora, Trained::Full] {
        let mut school = School::new();
        school.config.training.train = train;
        school.config.training.save_steps = 1;
        untaught_at_first(&mut school);
        // More than a number of 32 bits holds, as soon as there are traces.
        school.config.dual_source.teacher_sft_weight = 1e40;
        let err = school.grpo("run").unwrap_err();
        let TrainError::NotFinite { step: 2, what, saved } = &err else { panic!("{err}") };
        assert!(what.starts_with("the gradient of `"), "{what}");
        assert!(err.is_no() && err.hint().unwrap().contains("--from CHECKPOINT"));
        assert_eq!(steps(&school, "run"), [1]);
        assert_eq!(end(&school, "run"), (Outcome::Failed, err.to_string()));
        let kept: serde_json::Value = serde_json::from_slice(&fs::read(saved).unwrap()).unwrap();
        assert_eq!((&kept["step"], &kept["problem"]), (&2.into(), &what.as_str().into()));
        assert!(!kept["rollouts"].as_array().unwrap().is_empty());

        // It goes on from its last good step, to the same end; another run need not.
        let again = school.grpo_again("run").unwrap_err();
        assert_eq!(again.to_string(), err.to_string());
        school.config.dual_source.teacher_sft_weight = 0.3;
        let from = school.path("run", "outputs/checkpoint-1");
        let place = RunLocation { root: school.dir.path(), name: "other" };
        drop(
            Session::create_from(
                place,
                STAGE,
                RunStart { config: &school.config, config_text: "", command: "" },
                &from,
            )
            .unwrap(),
        );
        assert_eq!(school.grpo_again("other").unwrap(), Ended::Done);
        assert_eq!(steps(&school, "other"), [2, 3]);
    }
}

#[test]
fn a_directory_that_is_removed_ends_the_run() {
    let mut school = School::new();
    school.config.training.max_steps = 9;
    school.config.training.save_steps = 1;
    let (seen, dir) = (AtomicUsize::new(0), school.path("run", ""));
    let gone = dir.clone();
    school.worth = Arc::new(move |_, reply| {
        if seen.fetch_add(1, Ordering::Relaxed) == 20 {
            fs::remove_dir_all(&gone).unwrap();
        }
        Ok(parity(reply))
    });
    let err = school.grpo("run").unwrap_err();
    assert!(matches!(&err, TrainError::Gone(path) if *path == dir), "{err}");
    assert!(err.to_string().ends_with("was removed while it was being written"), "{err}");
    assert!(!err.is_usage() && !err.is_no() && err.hint().is_some());
    assert!(!dir.exists(), "nothing is written where somebody cleared");
}

#[test]
fn a_student_without_a_chat_template_is_refused_before_anything_is_written() {
    let school = School::new();
    let model = school.dir.path().join("model");
    fs::remove_file(model.join("chat_template.jinja")).unwrap();
    let err = school.student(None).unwrap_err();
    assert!(matches!(err, TrainError::NoTemplate), "{err}");
    assert!(err.is_usage() && err.hint().unwrap().contains("tuned for chat"));
}

#[test]
fn a_context_that_is_too_short_is_refused() {
    let mut school = School::new();
    school.config.training.max_length = 129;
    let err = school.student(None).unwrap_err();
    assert!(matches!(err, TrainError::Context { asked: 129, made_for: 128 }), "{err}");
    assert!(err.is_usage());
}

/// A run with checkpoints after two and four steps, as a kill leaves it.
fn killed(train: Trained) -> School {
    let mut school = School::new();
    school.config.training.max_steps = 5;
    school.config.training.save_steps = 2;
    school.config.training.train = train;
    school.grpo("whole").unwrap();
    school.grpo("run").unwrap();
    fs::remove_dir_all(school.path("run", "outputs/final_model")).unwrap();
    school
}

fn truncate(path: &Path) {
    let file = File::options().write(true).open(path).unwrap();
    file.set_len(file.metadata().unwrap().len() / 2).unwrap();
}

#[track_caller]
fn check_damaged(school: &School, file: &str) {
    let path = school.path("run", "outputs/checkpoint-4").join(file);
    let good = fs::read(&path).unwrap();
    truncate(&path);
    let err = school.grpo_again("run").unwrap_err();
    let TrainError::Damaged { path: named, .. } = &err else { panic!("{file}: {err}") };
    assert!(named.ends_with("run/outputs/checkpoint-4"), "{err}");
    assert!(!err.is_usage() && !err.is_no());
    assert!(err.hint().unwrap().contains("remove this directory"));
    fs::write(&path, good).unwrap();
}

#[test]
fn a_checkpoint_that_is_cut_short_is_named_and_the_one_before_it_serves() {
    for (train, weights) in
        [(Trained::Lora, "adapter_model.safetensors"), (Trained::Full, "model.safetensors")]
    {
        let school = killed(train);
        for file in [weights, "optimizer.safetensors", "training_state.json"] {
            check_damaged(&school, file);
        }
        // As the hint says.
        fs::remove_dir_all(school.path("run", "outputs/checkpoint-4")).unwrap();
        assert_eq!(school.grpo_again("run").unwrap(), Ended::Done);
        let model = |run| school.files(run, "outputs/final_model");
        assert!(model("whole") == model("run"));
        assert_eq!(steps(&school, "run"), [1, 2, 3, 4, 5]);
    }
}

#[test]
fn a_run_and_a_checkpoint_of_another_training_are_refused() {
    let school = killed(Trained::Lora);
    let err = school.resume("run", sft::STAGE).unwrap_err();
    assert!(err.is_usage(), "{err}");
    assert!(err.to_string().ends_with("/run` is one of `whet train grpo`"), "{err}");
    let from = school.path("whole", "outputs/checkpoint-4");
    let create = |stage, name, from: &Path| {
        let place = RunLocation { root: school.dir.path(), name };
        Session::create_from(
            place,
            stage,
            RunStart { config: &school.config, config_text: "", command: "" },
            from,
        )
        .unwrap_err()
    };
    let err = create(sft::STAGE, "new", &from);
    assert!(err.to_string().ends_with("checkpoint-4` is one of `whet train grpo`"), "{err}");
    let err = create(STAGE, "new", school.dir.path());
    assert!(matches!(err, TrainError::Damaged { .. }), "{err}");
    assert!(!school.path("new", "").exists(), "no run is left behind");
}

#[test]
fn an_adapter_of_another_rank_scale_or_of_other_modules_is_refused() {
    let mut school = killed(Trained::Lora);
    let same = school.config.lora.clone();
    let mut refused = |change: &dyn Fn(&mut LoraConfig)| {
        school.config.lora = same.clone();
        change(&mut school.config.lora);
        let err = school.student(Some(&school.path("run", "outputs/checkpoint-4"))).unwrap_err();
        assert!(matches!(err, TrainError::OtherAdapter { .. }) && err.is_usage(), "{err}");
        let text = err.to_string();
        text[text.find(" has `").unwrap()..].to_owned()
    };
    let rank = refused(&|lora| lora.rank = 8);
    assert_eq!(rank, " has `lora.rank` = 4, but the settings have 8");
    let alpha = refused(&|lora| lora.alpha = 16.0);
    assert_eq!(alpha, " has `lora.alpha` = 8, but the settings have 16");
    let modules = refused(&|lora| lora.target_modules = vec![Module::VProj, Module::QProj]);
    assert!(modules.ends_with(r#"but the settings have ["q_proj","v_proj"]"#), "{modules}");
}
