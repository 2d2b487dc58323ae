//! A model, measured.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};

use whetstone_core::{Seed, Task};
use whetstone_eval::{EvalError, Measured, Measuring, Sampled, measure};

use crate::coin::{Coin, collecting, tasks};

/// How a test measures.
struct How<'a> {
    seed: u64,
    at_a_time: usize,
    on_progress: &'a dyn Fn(Sampled),
    stop: &'a AtomicBool,
}

fn measured(
    how: &How<'_>,
    model: &mut Coin,
    tasks: &[Task],
) -> Result<Option<Measured>, EvalError> {
    let measuring = Measuring {
        collecting: collecting(),
        samples: 4,
        samples_at_a_time: how.at_a_time,
        seed: Seed::new(how.seed),
        on_progress: how.on_progress,
        stop: how.stop,
    };
    measure(&measuring, model, tasks)
}

fn plainly(seed: u64, at_a_time: usize, tasks: &[Task]) -> (Measured, Coin) {
    let (mut model, stop) = (Coin::default(), AtomicBool::new(false));
    let how = How { seed, at_a_time, on_progress: &|_| {}, stop: &stop };
    let found = measured(&how, &mut model, tasks).unwrap().unwrap();
    (Measured { seconds: 0.0, ..found }, model)
}

#[test]
fn what_is_counted_is_what_was_judged() {
    let (found, _) = plainly(7, 100, &tasks(&["a", "broken", "long", "b"]));
    let samples: Vec<u64> = found.tallies.iter().map(|tally| tally.samples).collect();
    assert_eq!(samples, [4, 0, 4, 4]);
    let passed: u64 = found.tallies.iter().map(|tally| tally.passed).sum();
    assert_eq!(found.verdicts["pass"], passed);
    assert_eq!(found.verdicts["wrong"], 12 - passed);
    assert!((1..12).contains(&passed), "a coin shows both sides in twelve throws");
    assert_eq!((found.unjudged, found.cut_off, found.sampled_tokens), (4, 4, 48));
    let expected = (1.0 + 2.0 / 2.0 + 1.0 / 3.0 + 2.0 / 4.0) / 6.0;
    assert!((found.surprise - expected).abs() < 1e-7, "{} is not {expected}", found.surprise);
}

#[test]
fn pieces_neighbours_and_order_change_nothing_and_the_seed_does() {
    let (whole, _) = plainly(7, 100, &tasks(&["a", "b", "c", "d", "e"]));
    let (pieces, model) = plainly(7, 9, &tasks(&["a", "b", "c", "d", "e"]));
    assert_eq!(whole, pieces);
    assert_eq!(model.calls, [8, 8, 4], "two tasks of four samples at a time, never more");
    let (turned, _) = plainly(7, 1, &tasks(&["e", "c"]));
    assert_eq!(turned.tallies, [whole.tallies[4].clone(), whole.tallies[2].clone()]);
    let (other, _) = plainly(8, 100, &tasks(&["a", "b", "c", "d", "e"]));
    assert_ne!(whole.tallies, other.tallies);
}

#[test]
fn progress_counts_up_to_all_of_it_over_pieces() {
    let told = RefCell::new(Vec::new());
    let stop = AtomicBool::new(false);
    let on_progress = |now: Sampled| told.borrow_mut().push(now);
    let how = How { seed: 1, at_a_time: 4, on_progress: &on_progress, stop: &stop };
    measured(&how, &mut Coin::default(), &tasks(&["a", "b", "c"])).unwrap();
    let told = told.into_inner();
    assert!(told.iter().map(|now| (now.done, now.all)).is_sorted(), "{told:?}");
    assert!(told.iter().all(|now| now.done <= now.sampled), "{told:?}");
    assert!(told.iter().any(|now| now.done < now.sampled), "sampled first, then judged: {told:?}");
    assert_eq!(told[0], Sampled { sampled: 0, done: 0, all: 12 });
    assert_eq!(*told.last().unwrap(), Sampled { sampled: 12, done: 12, all: 12 });
}

#[test]
fn told_to_stop_it_begins_no_further_piece() {
    let stop = AtomicBool::new(false);
    let on_progress = |now: Sampled| stop.store(now.done >= 4, Ordering::Relaxed);
    let how = How { seed: 1, at_a_time: 4, on_progress: &on_progress, stop: &stop };
    let mut model = Coin::default();
    assert_eq!(measured(&how, &mut model, &tasks(&["a", "b", "c"])).unwrap(), None);
    assert_eq!(model.calls, [4]);
}

#[test]
fn no_tasks_are_no_measurement() {
    let stop = AtomicBool::new(false);
    let how = How { seed: 1, at_a_time: 4, on_progress: &|_| {}, stop: &stop };
    let err = measured(&how, &mut Coin::default(), &[]).unwrap_err();
    assert_eq!(err.to_string(), "there is nothing to measure: no tasks");
}
