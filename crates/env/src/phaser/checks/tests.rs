//! Checks over made-up snapshots: what passes, what only seems to, and what is refused.

use serde_json::json;
use whetstone_sandbox::phaser::{ObjectState, Snapshot, Trace};

use super::*;

/// Every kind of check, as a task would write it.
fn one_of_each() -> Vec<serde_json::Value> {
    let any = json!({});
    let ball = json!({"type": ["Arc"]});
    vec![
        json!({"kind": "count", "select": any, "at_least": 3}),
        json!({"kind": "count_changes", "select": any, "way": "rises"}),
        json!({"kind": "moves", "select": any, "direction": "right", "by": 50.0}),
        json!({"kind": "stops", "select": any, "below": 400.0}),
        json!({"kind": "stays_inside", "select": any}),
        json!({"kind": "bounces", "select": any, "direction": "vertical", "times": 2}),
        json!({"kind": "approaches", "first": ball, "second": any}),
        json!({"kind": "spread", "select": any, "at_least": 4}),
        json!({"kind": "text_changes"}),
        json!({"kind": "text_appears", "contains": "over"}),
        json!({"kind": "number_rises", "select": {"text_contains": "score"}, "by": 10.0}),
        json!({"kind": "number_changes", "way": "falls"}),
        json!({"kind": "scene_changes", "to": "next"}),
        json!({"kind": "rotates"}),
        json!({"kind": "fades", "way": "falls"}),
        json!({"kind": "scales", "way": "rises"}),
        json!({"kind": "color_changes"}),
        json!({"kind": "animates"}),
        json!({"kind": "camera_scrolls"}),
        json!({"kind": "touch_then", "first": ball, "second": any, "then": {"kind": "text_changes"}}),
    ]
}

fn check(value: serde_json::Value) -> Check {
    serde_json::from_value(value).expect("a check")
}

fn object(id: u32, kind: &str, x: f64, y: f64) -> ObjectState {
    let text = json!({"id": id, "kind": kind, "x": x, "y": y, "width": 20.0, "height": 20.0});
    serde_json::from_value(text).expect("an object")
}

/// A run of 120 frames in which a function says what is there.
fn trace(objects: impl Fn(u32) -> Vec<ObjectState>) -> Trace {
    let shot = |step: u32| Snapshot {
        frame: 5 * step,
        scenes: vec!["main".to_owned()],
        scroll: [0.0, 0.0],
        objects: objects(5 * step),
    };
    let snapshots = (0..=24).map(shot).collect();
    Trace { width: 800.0, height: 600.0, snapshots, truncated: false }
}

fn outcome(check: &Check, trace: &Trace, control: Option<&Trace>) -> CheckOutcome {
    check.evaluate(Evidence { trace, control }).outcome
}

fn passes(value: serde_json::Value, trace: &Trace) -> bool {
    outcome(&check(value), trace, None) == CheckOutcome::Passed
}

fn text(words: &str) -> ObjectState {
    ObjectState { text: Some(words.to_owned()), ..object(90, "Text", 10.0, 10.0) }
}

#[test]
fn every_kind_is_read_and_written_and_has_a_sentence() {
    for value in one_of_each() {
        let check = check(value);
        let again: Check = serde_json::from_value(serde_json::to_value(&check).unwrap()).unwrap();
        assert_eq!(again, check);
        assert!(check.sentence().len() > 10);
    }
}

#[test]
fn a_program_that_shows_nothing_passes_no_check() {
    for value in one_of_each() {
        assert!(!passes(value.clone(), &trace(|_| Vec::new())), "{value}");
        let none = Trace { snapshots: Vec::new(), ..trace(|_| Vec::new()) };
        assert_eq!(outcome(&check(value), &none, None), CheckOutcome::NotMeasurable);
    }
}

#[test]
fn a_still_picture_passes_only_checks_of_what_is_there() {
    let still = trace(|_| {
        let row = (0..6_u32).map(|id| object(id, "Arc", 100.0 * f64::from(id), 300.0));
        row.chain([text("Score: 0")]).collect()
    });
    for value in one_of_each() {
        let is_there = ["count", "spread"].contains(&value["kind"].as_str().unwrap());
        assert_eq!(passes(value.clone(), &still), is_there, "{value}");
    }
}

#[test]
fn what_moves_at_random_neither_stops_nor_obeys_a_key() {
    let random = |seed: u32| {
        trace(move |frame| {
            let place = |id: u32, axis: u32| {
                let mixed = (frame + 7 * id + 31 * axis + seed).wrapping_mul(2_654_435_761);
                f64::from(mixed >> 16) / 65536.0
            };
            (0..20)
                .map(|id| object(id, "Arc", 800.0 * place(id, 0), 600.0 * place(id, 1)))
                .collect()
        })
    };
    let stops = json!({"kind": "stops", "below": 10.0});
    assert!(!passes(stops, &random(1)));
    let obeys = check(json!({"kind": "moves", "direction": "right", "by": 40.0,
        "during": {"from": 30, "to": 60}, "needs_input": true}));
    assert_eq!(outcome(&obeys, &random(1), Some(&random(1))), CheckOutcome::Failed);
    assert_eq!(outcome(&obeys, &random(1), None), CheckOutcome::NotMeasurable);
}

#[test]
fn a_key_that_moves_an_object_is_told_from_an_object_that_moves() {
    let pushed = trace(|frame| {
        vec![object(1, "Sprite", 100.0 + 3.0 * f64::from(frame.clamp(30, 60) - 30), 300.0)]
    });
    let idle = trace(|_| vec![object(1, "Sprite", 100.0, 300.0)]);
    let obeys = check(json!({"kind": "moves", "direction": "right", "by": 40.0,
        "during": {"from": 30, "to": 60}, "needs_input": true}));
    assert_eq!(outcome(&obeys, &pushed, Some(&idle)), CheckOutcome::Passed);
    assert_eq!(outcome(&obeys, &pushed, Some(&pushed)), CheckOutcome::Failed);
    let left = json!({"kind": "moves", "direction": "left", "by": 40.0});
    assert!(!passes(left, &pushed));
}

#[test]
fn an_object_that_falls_and_lies_on_the_floor_stops() {
    let falls = |floor: f64| {
        trace(move |frame| {
            vec![object(1, "Sprite", 100.0, (50.0 + 8.0 * f64::from(frame)).min(floor))]
        })
    };
    let stops = json!({"kind": "stops", "below": 500.0});
    assert!(passes(stops.clone(), &falls(540.0)));
    assert!(!passes(stops.clone(), &falls(400.0)), "it stops too high");
    assert!(!passes(stops, &falls(5000.0)), "it never stops");
    let put = trace(|frame| vec![object(1, "Sprite", 0.0, if frame < 40 { 50.0 } else { 540.0 })]);
    assert!(!passes(json!({"kind": "stops"}), &put), "it was put there at once");
}

#[test]
fn texts_numbers_and_scenes_are_followed() {
    let counts = trace(|frame| vec![text(&format!("Score: {}", frame / 10))]);
    assert!(passes(json!({"kind": "number_rises", "by": 10.0}), &counts));
    assert!(!passes(json!({"kind": "number_rises", "by": 20.0}), &counts));
    assert!(passes(json!({"kind": "text_changes"}), &counts));
    let over = trace(|frame| vec![text(if frame > 60 { "Game Over" } else { "Go" })]);
    assert!(passes(json!({"kind": "text_appears", "contains": "game over"}), &over));
    let mut next = trace(|_| Vec::new());
    next.snapshots[20].scenes = vec!["next".to_owned()];
    assert!(passes(json!({"kind": "scene_changes", "to": "next"}), &next));
    assert!(!passes(json!({"kind": "scene_changes", "to": "other"}), &next));
}

#[test]
fn turning_fading_growing_and_bouncing_are_measured() {
    let spin = trace(|frame| {
        let part = f64::from(frame) / 120.0;
        let mut object = object(1, "Sprite", 100.0 + 60.0 * (12.0 * part).sin(), 300.0);
        (object.rotation, object.alpha, object.width) =
            (6.0 * part, 1.0 - part, 20.0 + 20.0 * part);
        vec![object]
    });
    assert!(passes(json!({"kind": "rotates", "by": 300.0}), &spin));
    assert!(!passes(json!({"kind": "rotates", "by": 400.0}), &spin));
    assert!(passes(json!({"kind": "fades", "way": "falls", "by": 0.8}), &spin));
    assert!(!passes(json!({"kind": "fades", "way": "rises"}), &spin));
    assert!(passes(json!({"kind": "scales", "way": "rises", "by": 0.9}), &spin));
    assert!(!passes(json!({"kind": "scales", "way": "falls"}), &spin));
    assert!(passes(json!({"kind": "bounces", "direction": "horizontal", "times": 3}), &spin));
    assert!(!passes(json!({"kind": "bounces", "direction": "vertical"}), &spin));
}

#[test]
fn a_touch_counts_only_with_what_follows_it() {
    let collect = |at: u32| {
        trace(move |frame| {
            let player = object(1, "Sprite", 10.0 * f64::from(frame.min(60)), 300.0);
            let mut all = vec![player, text(if frame < at { "Score: 0" } else { "Score: 10" })];
            if frame < at {
                all.push(object(2, "Arc", 400.0, 300.0));
            }
            all
        })
    };
    let rule = json!({"kind": "touch_then", "first": {"type": ["Sprite"]}, "second": {"type": ["Arc"]},
        "then": {"kind": "number_rises", "by": 10.0}});
    assert!(passes(rule.clone(), &collect(40)));
    assert!(!passes(rule, &collect(20)), "the number rose before they touched");
}

#[test]
fn what_cannot_be_evaluated_is_refused_with_a_sentence() {
    let read = |value| serde_json::from_value::<Check>(value).unwrap_err().to_string();
    assert!(read(json!({"kind": "flies"})).contains("the kinds are count"));
    assert!(read(json!({"kind": "count", "times": 3})).contains("has no `times`"));
    assert!(read(json!({"kind": "count", "at_least": 0})).contains("from 1 to 200"));
    assert!(read(json!({"kind": "moves", "by": -1.0})).contains("above 0"));
    assert!(
        read(json!({"kind": "moves", "select": {"type": ["Hero"]}})).contains("`Hero` is no type")
    );
    assert!(read(json!({"kind": "moves", "speed": 3})).contains("unknown field"));
    assert!(read(json!({"kind": "text_appears"})).contains("needs `contains`"));
    let task = |value| serde_json::from_value::<GameTask>(value).unwrap_err().to_string();
    let many = vec![json!({"kind": "count"}); 17];
    assert!(task(json!({"checks": many})).contains("at most 16 checks"));
    let unchecked: GameTask = serde_json::from_value(json!({"checks": []})).unwrap();
    assert!(unchecked.checks().is_empty(), "nothing is run for it");
    let needy = json!({"kind": "moves", "needs_input": true});
    assert!(task(json!({"checks": [needy]})).contains("no `input`"));
    let late = json!({"frame": 130, "key": "A", "down": true});
    assert!(task(json!({"input": [late], "checks": [{"kind": "moves"}]})).contains("frame 130"));
    assert!(task(json!({"frames": 5, "checks": [{"kind": "moves"}]})).contains("10 to 600"));
}
