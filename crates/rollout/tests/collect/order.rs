//! The same completions make the same groups, in whatever order they finish and are judged.

use std::sync::{Condvar, Mutex};
use std::time::Duration;

use proptest::prelude::*;
use whetstone_infer::Prompt;
use whetstone_rollout::collect::{Collecting, Group, collect};

use crate::stage::{Player, Samples, Stage, asked, collecting, task};

const TASKS: [&str; 3] = ["a", "b", "c"];
const SAMPLES: usize = 3;
const ALL: usize = TASKS.len() * SAMPLES;
/// Nobody waits so long; a test that does has failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// Lets replies through in a given order.
struct Turnstile {
    order: Vec<String>,
    next: Mutex<usize>,
    moved: Condvar,
}

impl Turnstile {
    /// Waits until it is this reply's turn. One that came through may come again.
    fn pass(&self, reply: &str) {
        let Some(place) = self.order.iter().position(|known| known == reply) else { return };
        let next = self.next.lock().unwrap();
        let waits = |next: &mut usize| *next < place;
        let (mut next, waited) = self.moved.wait_timeout_while(next, PATIENCE, waits).unwrap();
        assert!(!waited.timed_out(), "the turnstile is stuck");
        *next = (*next).max(place + 1);
        self.moved.notify_all();
    }
}

/// Some go on for a second turn, some fail or panic, and the rest are over.
fn says(prompt: &str, sample: usize) -> String {
    let turn = prompt.lines().count();
    let task = prompt.lines().next().unwrap();
    let word = match (turn, task, sample) {
        (1, "a", 0 | 1) => "broken",
        (1, "b", 0) => "panic",
        (1, "b" | "c", 1) | (1, "a", 2) => "more",
        (1, _, 2) => "wrong",
        (1, _, _) => "pass",
        (_, "b", _) => "half",
        _ => "pass",
    };
    format!("{word} {task}{sample} {turn}")
}

/// All that may be seen of a collection but its times.
#[derive(Debug, PartialEq)]
struct Seen {
    groups: Vec<Group>,
    /// What the model was asked, call by call.
    calls: Vec<Vec<Prompt>>,
    /// What was judged: group and sample of each turn.
    places: Vec<(usize, usize)>,
}

/// What is collected when samples finish and are judged in these orders.
fn seen(finishing: &[usize], judging: &[usize], judges: usize) -> Seen {
    let tasks = TASKS.map(task);
    let first: Vec<String> =
        TASKS.iter().flat_map(|task| (0..SAMPLES).map(|sample| says(task, sample))).collect();
    let order = judging.iter().map(|&at| first[at].clone()).collect();
    let turnstile = Turnstile { order, next: Mutex::new(0), moved: Condvar::new() };
    let stage = Stage::with(move |reply| turnstile.pass(reply)).turns(2);
    let shuffled = |samples: Samples| {
        // Of second turns there are fewer.
        finishing.iter().filter_map(|&at| samples.get(at).copied()).collect()
    };
    let mut player = Player { order: &shuffled, ..Player::new(&says) };
    let settings = Collecting { judges, ..collecting(&stage) };
    let collected = collect(&settings, &mut player, &asked(&tasks, SAMPLES)).unwrap();
    let spans = collected.timeline.spans.iter();
    let places = spans.map(|span| (span.group, span.sample)).collect();
    Seen { groups: collected.groups, calls: player.calls, places }
}

fn orders() -> impl Strategy<Value = Vec<usize>> {
    Just((0..ALL).collect::<Vec<usize>>()).prop_shuffle()
}

#[test]
fn the_scene_has_all_that_may_become_of_a_rollout() {
    let straight: Vec<usize> = (0..ALL).collect();
    let counts: Vec<(usize, usize, usize)> = seen(&straight, &straight, 1)
        .groups
        .iter()
        .map(|group| {
            let long = group.rollouts.iter().filter(|rollout| rollout.turns.len() == 2).count();
            (group.rollouts.len(), group.dropped.len(), long)
        })
        .collect();
    assert_eq!(counts, [(1, 2, 1), (2, 1, 1), (3, 0, 1)]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn the_order_of_finishing_and_judging_is_not_seen(
        finishing in orders(),
        judging in orders(),
    ) {
        let straight: Vec<usize> = (0..ALL).collect();
        let alone = seen(&straight, &straight, 1);
        prop_assert_eq!(seen(&finishing, &judging, ALL), alone);
    }
}
