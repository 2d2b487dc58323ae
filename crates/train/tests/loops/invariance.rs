//! Memory decides how many sequences go through at a time; no bit of what is learnt notices.

use std::collections::BTreeMap;

use whetstone_core::config::Trained;

use crate::school::School;

/// Sequences of a micro-batch, micro-batches of a step.
const SPLITS: [(u32, u32); 4] = [(1, 16), (2, 8), (8, 2), (16, 1)];

/// What a training leaves: weights, means and progress, and the measurements without times.
pub(crate) type Left = (BTreeMap<String, Vec<u8>>, Vec<BTreeMap<String, u64>>);

pub(crate) fn left(school: &School, run: &str) -> Left {
    let plain = |values: BTreeMap<String, f64>| {
        let timed = |name: &str| {
            name.starts_with("time/")
                || name.starts_with("speed/")
                || name == "rollout/judged_while_sampling"
        };
        let plain = values.into_iter().filter(|(name, _)| !timed(name));
        plain.map(|(name, value)| (name, value.to_bits())).collect()
    };
    let metrics = school.metrics(run).into_iter().map(|(_, values)| plain(values)).collect();
    (school.files(run, "outputs/final_model"), metrics)
}

/// Trains with every split, and with two threads: all must leave the same.
pub(crate) fn check(change: impl Fn(&mut School), train: impl Fn(&School, &str)) -> Left {
    let mut school = School::new();
    change(&mut school);
    let splits = SPLITS.iter().map(|split| (*split, 1)).chain([((2, 8), 2)]);
    let lefts = splits.map(|((micro_batch, accumulation), threads)| {
        school.config.training.per_device_train_batch_size = micro_batch;
        school.config.training.gradient_accumulation_steps = accumulation;
        school.threads = threads;
        let run = format!("{micro_batch}x{accumulation}-on-{threads}");
        train(&school, &run);
        let left = left(&school, &run);
        (run, left)
    });
    let lefts: Vec<(String, Left)> = lefts.collect();
    let [(_, first), others @ ..] = &lefts[..] else { panic!("five of them") };
    for (run, (files, metrics)) in others {
        assert_eq!(files.keys().collect::<Vec<_>>(), first.0.keys().collect::<Vec<_>>());
        let differs = files.iter().find(|(name, bytes)| first.0[*name] != **bytes);
        assert!(differs.is_none(), "{} differs with {run}", differs.unwrap().0);
        assert_eq!(*metrics, first.1, "{run}");
    }
    first.clone()
}

pub(crate) fn three_sources(school: &mut School) {
    school.config.dual_source.self_sft_top_k = 2;
    school.config.dual_source.teacher_traces_per_task = 2;
    // Small enough to be spent, so that weights depend on what was measured.
    school.config.dual_source.kl_budget = 1e-7;
    school.config.grpo.num_iterations = 2;
}

fn grpo(school: &School, run: &str) {
    school.grpo(run).unwrap();
}

fn sft(school: &School, run: &str) {
    school.sft(run).unwrap();
}

#[test]
fn an_adapter_learns_the_same_from_three_sources_however_a_step_is_cut() {
    let (files, metrics) = check(three_sources, grpo);
    assert!(files.contains_key("adapter_model.safetensors"), "{:?}", files.keys());
    let last = &metrics[2];
    let value = |name: &str| f64::from_bits(last[name]);
    assert!(value("teacher_sft/weight") < 0.29, "held back: {}", value("teacher_sft/weight"));
    assert!(value("self_sft/grad_norm") > 0.0 && value("teacher_sft/grad_norm") > 0.0);
    assert!(value("grpo/grad_norm") > 0.0);
}

#[test]
fn a_whole_model_learns_the_same_from_three_sources_however_a_step_is_cut() {
    let full = |school: &mut School| {
        three_sources(school);
        school.config.training.train = Trained::Full;
    };
    assert!(check(full, grpo).0.contains_key("model.safetensors"));
}

#[test]
fn an_adapter_learns_the_same_by_heart_however_a_step_is_cut() {
    check(|school| school.config.training.max_steps = 20, sft);
}

#[test]
fn a_whole_model_learns_the_same_by_heart_however_a_step_is_cut() {
    let full = |school: &mut School| {
        school.config.training.max_steps = 20;
        school.config.training.train = Trained::Full;
    };
    check(full, sft);
}

#[test]
fn computing_layers_again_on_the_way_back_changes_no_bit() {
    let mut school = School::new();
    let mut run = |run: &str, again: bool| {
        school.config.training.gradient_checkpointing = again;
        school.grpo(run).unwrap();
        left(&school, run)
    };
    assert!(run("kept", false) == run("again", true));
}
