//! What breaks: episodes, the generator, and everything at once.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use whetstone_infer::{GenerateError, Generator, Prompt, SampledCompletion, Usage};
use whetstone_rollout::collect::{CollectError, Collecting, RenderError, collect};

use crate::stage::{Player, Stage, asked, collecting, completion, dropped, task, told};

fn with(words: &'static [&'static str]) -> impl Fn(&str, usize) -> String {
    move |_, sample| words[sample].to_owned()
}

/// The error with everything that caused it.
fn chain(err: &dyn std::error::Error) -> String {
    let cause = err.source().map(|cause| format!(": {}", chain(cause)));
    format!("{err}{}", cause.unwrap_or_default())
}

#[test]
fn a_broken_episode_is_tried_again_and_then_dropped_without_a_reward() {
    let (stage, tasks) = (Stage::default(), [task("a")]);
    let says = with(&["pass", "broken", "broken once, pass", "wrong"]);
    let collected =
        collect(&collecting(&stage), &mut Player::new(&says), &asked(&tasks, 4)).unwrap();
    let group = &collected.groups[0];
    assert_eq!(told(group), [(0, "pass", 1.0), (2, "broken once, pass", 1.0), (3, "wrong", 0.0)]);
    assert_eq!(dropped(group), [(1, "no zygote for broken")]);
    assert_eq!(group.dropped[0].turns[0].completion, completion("broken"));
    assert_eq!((stage.count("reply broken"), stage.count("reply broken once, pass")), (2, 2));
}

#[test]
fn a_panicking_episode_costs_itself_and_hangs_nothing() {
    for judges in [1, 4] {
        let (stage, tasks) = (Stage::default(), [task("a")]);
        let says = with(&["panic", "panic once, half", "pass", "panic"]);
        let settings = Collecting { judges, ..collecting(&stage) };
        let collected = collect(&settings, &mut Player::new(&says), &asked(&tasks, 4)).unwrap();
        let group = &collected.groups[0];
        assert_eq!(told(group), [(1, "panic once, half", 0.5), (2, "pass", 1.0)]);
        let reason = "a bug: the environment panicked";
        assert_eq!(dropped(group), [(0, reason), (3, reason)]);
    }
}

#[test]
fn a_task_that_cannot_be_opened_costs_its_group() {
    let stage = Stage::default();
    let tasks = ["closed broken", "closed broken once", "closed panic", "a"].map(task);
    let says = with(&["pass", "wrong"]);
    let mut player = Player::new(&says);
    let collected = collect(&collecting(&stage), &mut player, &asked(&tasks, 2)).unwrap();
    let counts: Vec<(usize, usize)> =
        collected.groups.iter().map(|group| (group.rollouts.len(), group.dropped.len())).collect();
    assert_eq!(counts, [(0, 2), (2, 0), (0, 2), (2, 0)]);
    let reason = "no zygote for closed broken";
    assert_eq!(dropped(&collected.groups[0]), [(0, reason), (1, reason)]);
    assert_eq!(player.calls[0].len(), 2, "nothing is sampled for the others");
}

#[test]
fn if_nothing_can_be_judged_that_is_an_error_with_the_first_reason() {
    let (stage, tasks) = (Stage::default(), [task("a"), task("b")]);
    let says = |prompt: &str, sample: usize| format!("broken {prompt}{sample}");
    let err = collect(&collecting(&stage), &mut Player::new(&says), &asked(&tasks, 2)).unwrap_err();
    assert_eq!(
        chain(&err),
        "none of 4 rollouts could be judged: cannot judge: no zygote for broken a0"
    );
    assert!(err.hint().is_some());
}

#[test]
fn a_task_that_is_no_prompt_is_named() {
    let (stage, tasks) = (Stage::default(), [task("a"), task("b")]);
    let render = |messages: &[whetstone_core::Message]| -> Result<Vec<u32>, RenderError> {
        if messages[0].content == "b" { Err("no such role".into()) } else { Ok(vec![1]) }
    };
    let settings = Collecting { render: &render, ..collecting(&stage) };
    let says = with(&["pass"]);
    let err = collect(&settings, &mut Player::new(&says), &asked(&tasks, 1)).unwrap_err();
    assert_eq!(chain(&err), "cannot make a prompt of task `b`: no such role");
}

/// Hands over these samples of the first prompt, and then ends in this way.
struct Odd<F>(&'static [usize], F);

impl<F: Fn() -> Result<Usage, GenerateError>> Generator for Odd<F> {
    fn generate(
        &mut self,
        _prompts: &[Prompt],
        done: &mut dyn FnMut(SampledCompletion) -> ControlFlow<()>,
    ) -> Result<Usage, GenerateError> {
        for (at, &sample) in self.0.iter().enumerate() {
            let completion = completion(["pass", "wrong", "half"][at % 3]);
            assert!(done(SampledCompletion { prompt: 0, sample, completion }).is_continue());
        }
        (self.1)()
    }
}

#[test]
fn a_generator_that_leaves_a_sample_out_or_gives_one_twice_is_seen_through() {
    let (stage, tasks) = (Stage::default(), [task("a")]);
    let mut odd = Odd(&[2, 0, 2, 7], || Ok(Usage::default()));
    let collected = collect(&collecting(&stage), &mut odd, &asked(&tasks, 3)).unwrap();
    assert_eq!(told(&collected.groups[0]), [(0, "wrong", 0.0), (2, "pass", 1.0)]);
    assert_eq!(dropped(&collected.groups[0]), [(1, "the generator gave no completion")]);
}

#[test]
fn a_generator_that_fails_ends_the_collection() {
    let (stage, tasks) = (Stage::default(), [task("a")]);
    let mut odd = Odd(&[0, 1], || Err(GenerateError::Empty { prompt: 0 }));
    let err = collect(&collecting(&stage), &mut odd, &asked(&tasks, 3)).unwrap_err();
    assert!(matches!(err, CollectError::Generate(_)), "{err}");
    assert_eq!(chain(&err), "cannot sample: prompt 0 is empty");
}

#[test]
fn a_generator_that_panics_leaves_no_judge_waiting() {
    let (stage, tasks) = (Stage::default(), [task("a")]);
    let mut odd = Odd(&[0, 1], || panic!("out of memory"));
    let settings = collecting(&stage);
    let caught = catch_unwind(AssertUnwindSafe(|| {
        collect(&settings, &mut odd, &asked(&tasks, 3)).map(|_| ())
    }));
    assert!(caught.is_err());
}
