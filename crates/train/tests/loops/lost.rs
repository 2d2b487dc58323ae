//! A GPU that is lost in the middle of a run, made up: its kernels compute nothing, so weights stay as they
//! are, but every call of a training is made.

use std::fs;

use whetstone_kernels::{Cuda, Device};
use whetstone_record::event::{Event, Outcome};
use whetstone_train::watch::Ended;
use whetstone_train::{TrainError, sft};

use crate::school::School;

const STEPS: u32 = 6;
const PARTS: usize = 9;

fn gpu(lost_at: usize) -> Cuda {
    Cuda::fake(lost_at).unwrap()
}

fn school() -> School {
    let mut school = School::new();
    school.config.training.max_steps = STEPS;
    school.config.training.save_steps = 2;
    // Norms that no kernel computes are what the memory held before.
    school.config.training.clip_to_median = 0.0;
    school
}

/// The directories of a run's outputs.
fn outputs(school: &School, run: &str) -> Vec<String> {
    let entries = fs::read_dir(school.path(run, "outputs")).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

/// Every step that is recorded, in order.
fn steps(school: &School, run: &str) -> Vec<u64> {
    school.metrics(run).iter().map(|(step, _)| *step).collect()
}

#[test]
fn a_lost_device_leaves_whole_checkpoints_and_the_run_goes_on_from_the_last() {
    let mut school = school();
    let whole = gpu(0);
    school.gpu = Some(Device::Cuda(whole.clone()));
    school.sft("whole").unwrap();
    let calls = whole.fake_calls().len();
    let mut resumed_from = Vec::new();
    for part in 1..PARTS {
        let run = format!("lost-{part}");
        school.gpu = Some(Device::Cuda(gpu(calls * part / PARTS)));
        let err = school.sft(&run).unwrap_err();
        let (session, checkpoint) = school.resume(&run, sft::STAGE).unwrap();
        if let TrainError::DeviceLost { step, checkpoint, .. } = &err {
            let ended = school
                .events(&run)
                .into_iter()
                .rfind(|event| matches!(event, Event::RunFinished { .. }));
            let Some(Event::RunFinished { outcome: Outcome::Failed, message }) = ended else {
                panic!("{ended:?}")
            };
            assert!(message.contains(&format!("the device stopped working after step {step}")));
            assert!(message.contains("CUDA_ERROR_UNKNOWN"), "{message}");
            assert!(message.contains("`whet train --resume`"), "{message}");
            assert!(err.hint().unwrap().contains("--resume") && !err.is_usage());
            assert_eq!(steps(&school, &run).last().copied().unwrap_or(0), *step);
            resumed_from.push(*checkpoint);
        } else {
            assert!(matches!(err, TrainError::Device(_)), "{err}");
            assert!(checkpoint.is_none(), "lost while the model was loaded");
        }
        for name in outputs(&school, &run) {
            let dir = format!("outputs/{name}");
            assert!(
                school.files(&run, &dir) == school.files("whole", &dir),
                "{run}: {name} is not what an undisturbed run writes"
            );
        }
        school.gpu = Some(Device::Cuda(gpu(0)));
        assert_eq!(school.sft_on(session, checkpoint.as_deref()).unwrap(), Ended::Done);
        assert_eq!(steps(&school, &run), (1..=u64::from(STEPS)).collect::<Vec<_>>());
        assert_eq!(outputs(&school, &run), outputs(&school, "whole"));
        assert!(
            school.files(&run, "outputs/final_model")
                == school.files("whole", "outputs/final_model")
        );
    }
    for expected in [None, Some(2), Some(4)] {
        assert!(resumed_from.contains(&expected), "{resumed_from:?}");
    }
}
