//! The loops on a GPU: they learn, and no bit depends on how a step is cut, on the run, or on a stop.
//!
//! On a machine without a GPU each test says SKIPPED and why.

use whetstone_core::config::Trained;
use whetstone_kernels::{Device, DeviceError};

use crate::invariance::{check, left, three_sources};
use crate::ppo::{FINAL, curves, cut_everywhere, length_model, same};
use crate::school::{PpoModels, School};

fn gpu() -> Option<Device> {
    match Device::cuda(0) {
        Ok(device) => Some(device),
        Err(missing @ (DeviceError::NoDriver | DeviceError::NoDevice { .. })) => {
            eprintln!("SKIPPED: {missing}");
            None
        }
        Err(error) => panic!("the GPU cannot be used: {error}"),
    }
}

fn grpo(school: &School, run: &str) {
    school.grpo(run).unwrap();
}

#[test]
fn an_adapter_learns_the_same_from_three_sources_however_a_step_is_cut() {
    let Some(gpu) = gpu() else { return };
    let change = |school: &mut School| {
        three_sources(school);
        school.gpu = Some(gpu.clone());
    };
    let (files, metrics) = check(change, grpo);
    assert!(files.contains_key("adapter_model.safetensors"), "{:?}", files.keys());
    assert!(f64::from_bits(metrics[2]["grpo/grad_norm"]) > 0.0);
}

#[test]
fn a_whole_model_learns_the_same_from_three_sources_however_a_step_is_cut() {
    let Some(gpu) = gpu() else { return };
    let change = |school: &mut School| {
        three_sources(school);
        school.config.training.train = Trained::Full;
        school.gpu = Some(gpu.clone());
    };
    let (files, _) = check(change, grpo);
    assert!(files.contains_key("model.safetensors"), "{:?}", files.keys());
}

#[test]
fn what_is_sampled_is_what_is_trained_on() {
    let Some(gpu) = gpu() else { return };
    let mut school = School::new();
    school.gpu = Some(gpu);
    school.config.training.max_steps = 6;
    school.grpo("run").unwrap();
    for (step, values) in school.metrics("run") {
        let gap = values.get("grpo/sampler_gap").copied().unwrap_or(0.0);
        assert!(gap == 0.0, "step {step}: {gap}");
    }
}

#[test]
fn the_loss_falls_as_it_does_on_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let mut school = School::new();
    school.config.training.max_steps = 40;
    school.sft("cpu").unwrap();
    school.gpu = Some(gpu);
    school.sft("gpu").unwrap();
    school.sft("again").unwrap();
    let losses = |run: &str| -> Vec<f64> {
        school.metrics(run).iter().map(|(_, values)| values["sft/loss"]).collect()
    };
    let (cpu, gpu) = (losses("cpu"), losses("gpu"));
    println!("{cpu:.3?}\n{gpu:.3?}");
    assert!(gpu[0] - gpu[39] > 0.2, "{gpu:?}");
    let far = cpu.iter().zip(&gpu).filter(|(cpu, gpu)| (*cpu - *gpu).abs() > 0.01).count();
    assert_eq!(far, 0, "{cpu:.3?} {gpu:.3?}");
    assert!(left(&school, "gpu") == left(&school, "again"), "two runs leave other bytes");
}

#[test]
fn ppo_with_a_critic_a_reference_and_a_reward_model_is_the_same_run_however_often_it_is_stopped() {
    let Some(gpu) = gpu() else { return };
    let mut school = School::new();
    school.gpu = Some(gpu);
    school.config.training.max_steps = 4;
    school.sft("taught").unwrap();
    length_model(&mut school, "length");
    let (taught, length) = (school.path("taught", FINAL), school.path("length", FINAL));
    let models = PpoModels { initial: Some(&taught), reward_model: Some(&length) };
    school.config.training.max_steps = 3;
    school.config.reward.model = "length".to_owned();
    school.ppo("whole", models).unwrap();
    cut_everywhere(&school, "cut", models, 3);
    same(&school, "whole", "cut");
    let curves = curves(&school, "whole");
    assert_eq!(curves["ppo/sampler_gap"], [0.0; 3], "sampled is trained, to the bit");
    assert!(curves["ppo/reference_kl"][0].abs() < 1e-6, "it begins at its reference");
    assert!(curves["ppo/updates"].iter().all(|&updates| updates >= 1.0));
    assert!(curves["reward/model"].iter().all(|paid| (0.0..=1.0).contains(paid)));
}
