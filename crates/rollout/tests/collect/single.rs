//! One reply ends every episode: groups, their order, and judging beside sampling.

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use whetstone_core::Seed;
use whetstone_rollout::collect::{Asked, CollectError, Collecting, End, Progress, collect};
use whetstone_rollout::measure::Tally;

use crate::stage::{Player, Stage, asked, collecting, dropped, render, task, text, told};

/// Nobody waits so long; a test that does has failed.
const PATIENCE: Duration = Duration::from_secs(30);

fn says(prompt: &str, sample: usize) -> String {
    let word = ["pass", "wrong", "half"][sample % 3];
    format!("{word} {prompt} {sample}")
}

#[test]
fn every_task_has_its_group_and_every_sample_its_place() {
    let (stage, tasks) = (Stage::default(), [task("a"), task("b")]);
    let mut player = Player::new(&says);
    let collected = collect(&collecting(&stage), &mut player, &asked(&tasks, 3)).unwrap();
    let names: Vec<&str> = collected.groups.iter().map(|group| group.task.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(
        told(&collected.groups[1]),
        [(0, "pass b 0", 1.0), (1, "wrong b 1", 0.0), (2, "half b 2", 0.5)]
    );
    assert_eq!(collected.groups[1].rewards(), [1.0, 0.0, 0.5]);
    assert!(collected.groups.iter().all(|group| group.dropped.is_empty() && !group.is_dead(0.01)));
}

#[test]
fn a_tally_counts_what_was_judged() {
    let (stage, tasks) = (Stage::default(), [task("a")]);
    let says = |_: &str, sample: usize| ["pass", "broken", "half", "pass"][sample].to_owned();
    let collected =
        collect(&collecting(&stage), &mut Player::new(&says), &asked(&tasks, 4)).unwrap();
    let tally = Tally { task: tasks[0].id.clone(), samples: 3, passed: 2 };
    assert_eq!(Tally::of(&collected.groups[0]), tally);
}

#[test]
fn the_tokens_of_a_turn_are_those_that_were_seen_and_sampled() {
    let (stage, tasks) = (Stage::default(), [task("a")]);
    let mut player = Player::new(&says);
    let settings = Collecting { max_tokens: 7, ..collecting(&stage) };
    let collected = collect(&settings, &mut player, &asked(&tasks, 2)).unwrap();
    let [first, second] = &collected.groups[0].rollouts[..] else { panic!("two samples") };
    assert_eq!((first.end, first.turns.len()), (End::Done, 1));
    assert_eq!(text(&first.turns[0].prompt), "a");
    let tokens = second.turns[0].completion.tokens.as_ref().unwrap();
    assert_eq!(text(tokens.ids()), "wrong a 1");
    assert_eq!(second.sampled_tokens(), 9);
    assert!(Arc::ptr_eq(&first.turns[0].prompt, &second.turns[0].prompt), "kept once");
    let [call] = &player.calls[..] else { panic!("one turn is one call") };
    assert_eq!((call.len(), call[0].samples, call[0].max_tokens), (1, 2, 7));
    assert_eq!((collected.usage.sampled, collected.usage.widest), (17, 1));
}

#[test]
fn a_group_begins_alike_and_is_sampled_from_its_own_seed() {
    let (stage, tasks) = (Stage::default(), [task("a"), task("b")]);
    let mut player = Player::new(&says);
    collect(&collecting(&stage), &mut player, &asked(&tasks, 2)).unwrap();
    let mut seeds = stage.seeds();
    seeds.sort_unstable();
    seeds.dedup();
    let mut expected = [0, 1].map(|at| Seed::new(at).derive("episode", 0));
    expected.sort_unstable();
    assert_eq!(seeds, expected, "one for all episodes of a group");
    let sampled: Vec<Seed> = player.calls[0].iter().map(|prompt| prompt.seed).collect();
    assert_eq!(sampled, [0, 1].map(|at| Seed::new(at).derive("turn", 0)));
}

#[test]
fn a_sample_is_judged_while_the_next_is_drawn() {
    let (judged, heard) = channel();
    let stage = Stage::with(move |reply| judged.send(reply.to_owned()).unwrap());
    let tasks = [task("a")];
    // The model says nothing more before the judge has heard what it said.
    let after = |said: &str| assert_eq!(heard.recv_timeout(PATIENCE).unwrap(), said);
    let mut player = Player { after: &after, ..Player::new(&says) };
    let told = RefCell::new(Vec::new());
    let on_event: &dyn Fn(Progress<'_>) -> ControlFlow<()> = &|now| {
        told.borrow_mut().push(Progress { waits_for: None, ..now });
        ControlFlow::Continue(())
    };
    let settings = Collecting { judges: 1, on_event, ..collecting(&stage) };
    let collected = collect(&settings, &mut player, &asked(&tasks, 6)).unwrap();
    let told = told.into_inner();
    let last = told.iter().find(|progress| progress.sampled == 6).unwrap();
    assert!(last.judged >= 3, "told before the last was drawn: {told:?}");
    let timeline = &collected.timeline;
    assert!(timeline.judged_while_sampling() >= 5, "all but the last: {timeline:?}");
    let [sampling] = &timeline.sampling[..] else { panic!("one turn is sampled at a time") };
    let places: Vec<usize> = timeline.spans.iter().map(|span| span.sample).collect();
    assert_eq!(places, [0, 1, 2, 3, 4, 5]);
    for span in &timeline.spans {
        assert!(sampling.start <= span.sampled_at && span.sampled_at <= sampling.end);
        assert!(span.sampled_at <= span.judging.start && span.judging.start <= span.judging.end);
        assert!(span.judging.end <= timeline.end);
    }
}

#[test]
fn progress_counts_up_to_everything_that_was_asked_for() {
    let (stage, tasks) = (Stage::default(), [task("a"), task("closed broken")]);
    let says = |_: &str, sample: usize| ["pass", "broken", "wrong"][sample].to_owned();
    let told = RefCell::new(Vec::new());
    let on_event: &dyn Fn(Progress<'_>) -> ControlFlow<()> = &|now| {
        told.borrow_mut().push(Progress { waits_for: None, ..now });
        ControlFlow::Continue(())
    };
    let settings = Collecting { on_event, ..collecting(&stage) };
    collect(&settings, &mut Player::new(&says), &asked(&tasks, 3)).unwrap();
    let told = told.into_inner();
    // Three rollouts of the second task never begin; then three samples and three judgements.
    assert_eq!(told.len(), 9);
    let last = Progress { sampled: 3, judged: 3, over: 2, dropped: 4, waits_for: None };
    assert_eq!(told.last(), Some(&last));
    let sums: Vec<usize> =
        told.iter().map(|progress| progress.sampled + progress.over + progress.dropped).collect();
    assert!(sums.is_sorted(), "{told:?}");
}

#[test]
fn whoever_wants_it_to_end_waits_for_no_further_sample() {
    let (stage, tasks) = (Stage::default(), [task("a"), task("b")]);
    let said = Cell::new(0);
    let after = |_: &str| said.set(said.get() + 1);
    let mut player = Player { after: &after, ..Player::new(&says) };
    let on_event: &dyn Fn(Progress<'_>) -> ControlFlow<()> = &|now| {
        if now.sampled == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let settings = Collecting { on_event, ..collecting(&stage) };
    let err = collect(&settings, &mut player, &asked(&tasks, 3)).unwrap_err();
    assert!(matches!(err, CollectError::Stopped), "{err}");
    assert_eq!(said.get(), 1, "the second was the last");
}

/// What is waited for after each event, of three samples of two tasks.
fn waits(stage: &Stage, player: Player<'_>) -> Vec<String> {
    let tasks = [task("a"), task("b")];
    let told = RefCell::new(Vec::new());
    let on_event: &dyn Fn(Progress<'_>) -> ControlFlow<()> = &|now| {
        let waits = now.waits_for.map(|(task, sample)| format!("{task} {sample}"));
        told.borrow_mut().push(waits.unwrap_or_default());
        ControlFlow::Continue(())
    };
    let settings = Collecting { judges: 1, on_event, ..collecting(stage) };
    let mut player = player;
    drop(collect(&settings, &mut player, &asked(&tasks, 3)));
    told.into_inner()
}

#[test]
fn the_first_that_the_judges_have_is_waited_for() {
    let (open, gate) = channel();
    let gate = Mutex::new(gate);
    // The first reply is not judged before the last is drawn.
    let stage = Stage::with(move |reply| {
        if reply.ends_with("a 0") {
            gate.lock().unwrap().recv_timeout(PATIENCE).unwrap();
        }
    });
    let after = |said: &str| {
        if said.ends_with("b 2") {
            open.send(()).unwrap();
        }
    };
    let found = waits(&stage, Player { after: &after, ..Player::new(&says) });
    let sampled = ["a 0"; 6];
    let judged = ["a 1", "a 2", "b 0", "b 1", "b 2", ""];
    assert_eq!(found, [sampled, judged].concat());
}

#[test]
fn what_is_not_drawn_yet_is_waited_for_when_the_judges_have_nothing() {
    let order = |_| Vec::new();
    let found = waits(&Stage::default(), Player { order: &order, ..Player::new(&says) });
    assert_eq!(found, ["a 0", "a 1", "a 2", "b 0", "b 1", "b 2", ""], "the generator gave nothing");
}

#[test]
fn a_prompt_that_is_too_long_costs_its_group_alone() {
    let (stage, tasks) = (Stage::default(), [task("abcd"), task("abcde")]);
    let settings = Collecting { max_prompt_tokens: 4, ..collecting(&stage) };
    let collected = collect(&settings, &mut Player::new(&says), &asked(&tasks, 2)).unwrap();
    assert_eq!(told(&collected.groups[0]).len(), 2);
    let reason = "the prompt has 5 tokens, and 4 are allowed";
    assert_eq!(dropped(&collected.groups[1]), [(0, reason), (1, reason)]);
    assert!(collected.groups[1].is_dead(0.01));
}

#[test]
fn nothing_asked_for_is_nothing_missing() {
    let (stage, tasks) = (Stage::default(), [task("a")]);
    let mut player = Player::new(&says);
    let none = collect(&collecting(&stage), &mut player, &[]).unwrap();
    assert!(none.groups.is_empty());
    let empty = [Asked { task: &tasks[0], samples: 0, seed: Seed::new(0) }];
    let empty = collect(&collecting(&stage), &mut player, &empty).unwrap();
    assert!(empty.groups[0].rollouts.is_empty() && empty.groups[0].dropped.is_empty());
    assert!(player.calls.is_empty());
}

#[test]
fn no_judges_are_one() {
    let (stage, tasks) = (Stage::default(), [task("a")]);
    let settings = Collecting { judges: 0, render: &render, ..collecting(&stage) };
    let collected = collect(&settings, &mut Player::new(&says), &asked(&tasks, 2)).unwrap();
    assert_eq!(told(&collected.groups[0]).len(), 2);
}
