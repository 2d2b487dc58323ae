//! Groups with variance are looked for until there are enough.

use whetstone_core::{Seed, Task};
use whetstone_rollout::collect::{Alive, Asked, CollectError, Supply, collect_alive};

use crate::stage::{Player, Stage, collecting, task};

/// A task `live …` is solved by every second sample, `dead …` by all, and `broken …` by nobody.
fn says(prompt: &str, sample: usize) -> String {
    let word = match (prompt.split(' ').next(), sample % 2) {
        (Some("broken"), _) => "broken",
        (Some("live"), 1) => "wrong",
        _ => "pass",
    };
    format!("{word} {sample}")
}

fn supply(wanted: usize, max_rounds: usize) -> Supply {
    Supply { wanted, max_rounds, floor: 0.01 }
}

/// What is found among `names`, and how many tasks are left.
fn found(names: &[&str], supply: Supply) -> (Result<Alive, CollectError>, usize) {
    let (stage, tasks) = (Stage::default(), names.iter().copied().map(task).collect::<Vec<Task>>());
    let mut asked =
        (0..).zip(&tasks).map(|(at, task)| Asked { task, samples: 2, seed: Seed::new(at) });
    let alive = collect_alive(&collecting(&stage), &mut Player::new(&says), supply, &mut asked);
    (alive, asked.count())
}

fn names(groups: &[whetstone_rollout::collect::Group]) -> Vec<&str> {
    groups.iter().map(|group| group.task.as_str()).collect()
}

const TASKS: [&str; 6] = ["dead 0", "live 1", "broken 2", "live 3", "live 4", "live 5"];

#[test]
fn dead_groups_are_filled_up_with_further_tasks() {
    let (alive, left) = found(&TASKS, supply(2, 9));
    let alive = alive.unwrap();
    assert_eq!(
        (names(&alive.live), names(&alive.dead)),
        (vec!["live 1", "live 3"], vec!["dead 0", "broken 2"])
    );
    // Two, one and one more: the rest is for the next step, which begins after the fourth.
    assert_eq!((alive.consumed, alive.rounds, left), (4, 3, 2));
    assert_eq!((&alive.live_places[..], &alive.dead_places[..]), (&[1, 3][..], &[0, 2][..]));
    assert_eq!(alive.live[1].rewards(), [1.0, 0.0]);
    assert_eq!(alive.dead[1].dropped.len(), 2);
    assert_eq!(alive.usage.sampled, 2 * 6 + 6 + 7 + 2 * 8 + 6 + 7);
}

#[test]
fn times_and_groups_count_on_from_round_to_round() {
    let (alive, _) = found(&TASKS, supply(2, 9));
    let timeline = alive.unwrap().timeline;
    let groups: Vec<usize> = timeline.spans.iter().map(|span| span.group).collect();
    assert_eq!(groups, [0, 0, 1, 1, 2, 2, 3, 3]);
    let [first, second, third] = &timeline.sampling[..] else { panic!("three rounds") };
    let judged = |group: usize| timeline.spans[2 * group].judging.end;
    assert!(judged(1) <= second.start && judged(2) <= third.start, "{timeline:?}");
    assert!(first.end <= second.start && third.end <= timeline.end);
}

#[test]
fn the_search_ends_with_the_rounds_or_with_the_tasks() {
    let (alive, left) = found(&TASKS, supply(2, 2));
    let alive = alive.unwrap();
    assert_eq!((names(&alive.live), alive.consumed, alive.rounds, left), (vec!["live 1"], 3, 2, 3));
    let (alive, left) = found(&TASKS[..3], supply(2, 9));
    let alive = alive.unwrap();
    assert_eq!((names(&alive.live), alive.consumed, alive.rounds, left), (vec!["live 1"], 3, 2, 0));
    let (alive, left) = found(&TASKS, supply(0, 9));
    assert_eq!((alive.unwrap(), left), (Alive::default(), 6));
}

#[test]
fn only_if_no_round_was_judged_is_that_an_error() {
    let (alive, _) = found(&["broken 0", "broken 1", "dead 2"], supply(1, 9));
    assert_eq!(names(&alive.unwrap().dead), ["broken 0", "broken 1", "dead 2"]);
    let (alive, _) = found(&["broken 0", "broken 1"], supply(1, 9));
    let err = alive.unwrap_err();
    assert!(matches!(err, CollectError::NothingJudged { dropped: 4, .. }), "{err}");
}
