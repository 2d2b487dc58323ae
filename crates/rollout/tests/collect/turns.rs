//! Episodes of several turns.

use whetstone_core::Seed;
use whetstone_rollout::collect::{Collected, Collecting, End, collect};

use crate::stage::{Player, Stage, asked, collecting, dropped, task, text, told};

/// Says the words of its sample, one a turn.
fn with(words: &'static [&'static [&'static str]]) -> impl Fn(&str, usize) -> String {
    // A prompt has a line for the task, and two for every turn. In later turns a prompt has one
    // sample, so its number is read off what it said first.
    move |prompt, sample| {
        let turn = prompt.lines().count() / 2;
        let said = prompt.lines().nth(1);
        let sample = words.iter().position(|word| Some(word[0]) == said).unwrap_or(sample);
        words[sample][turn].to_owned()
    }
}

fn collected(
    stage: &Stage,
    words: &'static [&'static [&'static str]],
) -> (Collected, Vec<Vec<String>>) {
    let tasks = [task("a")];
    let says = with(words);
    let mut player = Player::new(&says);
    let collected = collect(&collecting(stage), &mut player, &asked(&tasks, words.len())).unwrap();
    let prompts = |call: &Vec<whetstone_infer::Prompt>| -> Vec<String> {
        call.iter().map(|prompt| text(&prompt.tokens)).collect()
    };
    (collected, player.calls.iter().map(prompts).collect())
}

#[test]
fn an_episode_goes_on_until_it_is_done() {
    let words: &[&[&str]] = &[&["more 0", "more", "pass"], &["half"], &["more 2", "wrong"]];
    let (collected, calls) = collected(&Stage::default().turns(5), words);
    let group = &collected.groups[0];
    assert_eq!(told(group), [(0, "pass", 1.0), (1, "half", 0.5), (2, "wrong", 0.0)]);
    assert_eq!(
        calls,
        [
            vec!["a"],
            vec!["a\nmore 0\n1 seen", "a\nmore 2\n1 seen"],
            vec!["a\nmore 0\n1 seen\nmore\n2 seen"],
        ]
    );
    let first = &group.rollouts[0];
    let prompts: Vec<String> = first.turns.iter().map(|turn| text(&turn.prompt)).collect();
    assert_eq!(prompts, ["a", "a\nmore 0\n1 seen", "a\nmore 0\n1 seen\nmore\n2 seen"]);
    assert_eq!((first.end, first.sampled_tokens()), (End::Done, 14));
    let spans: Vec<usize> = collected.timeline.spans.iter().map(|span| span.sample).collect();
    assert_eq!((spans, collected.timeline.sampling.len()), (vec![0, 0, 0, 1, 2, 2], 3));
    assert_eq!((collected.usage.sampled, collected.usage.widest), (6 + 4 + 6 + 4 + 5 + 4, 2));
}

#[test]
fn every_turn_of_every_sample_has_a_seed_of_its_own() {
    let (stage, tasks) = (Stage::default().turns(2), [task("a")]);
    let says = with(&[&["more 0", "pass"], &["more 1", "pass"]]);
    let mut player = Player::new(&says);
    collect(&collecting(&stage), &mut player, &asked(&tasks, 2)).unwrap();
    let seeds: Vec<Seed> = player.calls.iter().flatten().map(|prompt| prompt.seed).collect();
    let turn = |turn| Seed::new(0).derive("turn", turn);
    let expected = [turn(0), turn(1).derive("sample", 0), turn(1).derive("sample", 1)];
    assert_eq!(seeds, expected);
}

#[test]
fn an_episode_without_an_end_is_worth_what_its_environment_says() {
    let words: &[&[&str]] = &[&["more 0", "more", "more"], &["more 1", "pass"]];
    let (collected, calls) = collected(&Stage::default().turns(3), words);
    let group = &collected.groups[0];
    assert_eq!(calls.len(), 3);
    assert_eq!(told(group), [(0, "more", 0.03), (1, "pass", 1.0)]);
    let ends: Vec<End> = group.rollouts.iter().map(|rollout| rollout.end).collect();
    assert_eq!(ends, [End::OutOfTurns, End::Done]);
    assert!(group.dropped.is_empty() && !group.is_dead(0.01));
}

#[test]
fn a_conversation_that_outgrows_the_context_is_cut_short() {
    let (stage, tasks) = (Stage::default().turns(9), [task("a")]);
    let says = |_: &str, _: usize| "more".to_owned();
    let mut player = Player::new(&says);
    // "a", and twelve characters for each turn.
    let settings = Collecting { max_prompt_tokens: 25, ..collecting(&stage) };
    let collected = collect(&settings, &mut player, &asked(&tasks, 1)).unwrap();
    let [rollout] = &collected.groups[0].rollouts[..] else { panic!("one sample") };
    let lengths: Vec<usize> = rollout.turns.iter().map(|turn| turn.prompt.len()).collect();
    assert_eq!(lengths, [1, 13, 25]);
    assert_eq!((rollout.end, rollout.outcome.reward.total()), (End::OutOfContext, 0.03));
}

#[test]
fn what_breaks_late_is_lived_again_in_a_fresh_episode() {
    let stage = Stage::default().turns(3);
    let words: &[&[&str]] = &[
        &["more 0", "broken once, more", "pass"],
        &["more 1", "panic once", "-"],
        &["more 2", "broken", "-"],
    ];
    let (collected, _) = collected(&stage, words);
    let group = &collected.groups[0];
    assert_eq!(told(group), [(0, "pass", 1.0), (1, "panic once", 0.0)]);
    assert_eq!(dropped(group), [(2, "no zygote for broken")]);
    assert_eq!(group.dropped[0].turns.len(), 2);
    // Heard once by the first episode, and once by the fresh one.
    let counts = ["more 0", "broken once, more", "pass", "more 1", "more 2", "broken"]
        .map(|text| stage.count(&format!("reply {text}")));
    assert_eq!(counts, [2, 2, 1, 2, 2, 2]);
}

#[test]
fn a_fresh_episode_that_goes_another_way_does_not_count() {
    let stage = Stage::default().turns(3);
    let words: &[&[&str]] = &[&["pass"], &["more salt", "broken once, pass"]];
    let (collected, _) = collected(&stage, words);
    let group = &collected.groups[0];
    assert_eq!(told(group), [(0, "pass", 1.0)]);
    assert_eq!(dropped(group), [(1, "no zygote for broken once, pass")]);
    assert_eq!(stage.count("reply broken once, pass"), 1, "it was asked something else");
}

#[test]
fn a_cut_that_fails_is_tried_again() {
    for (name, worth) in [("uncut broken once", Some(0.02)), ("uncut broken", None)] {
        let (stage, tasks) = (Stage::default().turns(2), [task(name), task("b")]);
        let says = |_: &str, _: usize| "more".to_owned();
        let collected =
            collect(&collecting(&stage), &mut Player::new(&says), &asked(&tasks, 1)).unwrap();
        let group = &collected.groups[0];
        assert_eq!(group.rewards(), Vec::from_iter(worth), "{name}");
        assert_eq!(group.dropped.len(), usize::from(worth.is_none()), "{name}");
        assert_eq!(stage.count(&format!("cut {name}")), 2);
    }
}
