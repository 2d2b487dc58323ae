//! The wire form of every event, and what is refused.

use std::error::Error;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn samples() -> [Event; 8] {
    let values = BTreeMap::from([("kl".to_owned(), f64::NAN), ("loss".to_owned(), 0.1)]);
    let suspects = vec![Suspect { prompt_id: "mbpp/11".into(), group_id: 2 }];
    [
        Event::RunStarted { command: "grpo".into(), version: "0.1.0".into(), seed: u64::MAX },
        Event::RunResumed { cut_bytes: 17, last_seq: None },
        Event::Metrics { stage: "grpo".into(), step: 3, values },
        Event::CheckpointSaved { step: 3, path: "checkpoints/3".into() },
        Event::StopCheck { step: 3, stops: true, reason: "enough".into() },
        Event::Warning { code: "slow_disk".into(), message: "fdatasync took 2 s".into() },
        Event::Alarm { step: 3, code: "timeouts".into(), message: "more".into(), suspects },
        Event::RunFinished { outcome: Outcome::Interrupted, message: String::new() },
    ]
}

fn json(event: Event) -> String {
    serde_json::to_string(&TimedEvent { time_ms: 5, event }).unwrap()
}

fn parse_json(json: &str) -> Result<TimedEvent, ReadError> {
    parse(Path::new("e"), &Record { seq: 8, line: 9, json: json.to_owned() })
}

/// The error of parsing, and its cause.
#[track_caller]
fn check(json: &Value, expected: &str, cause: &str) {
    let err = parse_json(&json.to_string()).unwrap_err();
    assert_eq!(err.to_string(), expected);
    let found = err.source().map(ToString::to_string).unwrap_or_default();
    assert!(found.starts_with(cause), "{found:?} is not {cause:?}");
}

#[test]
fn the_wire_form_of_every_event_is_fixed() {
    let expected = [
        r#""run_started","command":"grpo","version":"0.1.0","seed":18446744073709551615}"#,
        r#""run_resumed","cut_bytes":17,"last_seq":null}"#,
        r#""metrics","stage":"grpo","step":3,"values":{"kl":"nan","loss":0.1}}"#,
        r#""checkpoint_saved","step":3,"path":"checkpoints/3"}"#,
        r#""stop_check","step":3,"stops":true,"reason":"enough"}"#,
        r#""warning","code":"slow_disk","message":"fdatasync took 2 s"}"#,
        r#""alarm","step":3,"code":"timeouts","message":"more","suspects":[{"prompt_id":"mbpp/11","group_id":2}]}"#,
        r#""run_finished","outcome":"interrupted","message":""}"#,
    ];
    for (event, expected) in samples().into_iter().zip(expected) {
        assert_eq!(json(event), format!(r#"{{"v":2,"time_ms":5,"type":{expected}"#));
    }
}

#[test]
fn every_event_comes_back() {
    for (event, kind) in samples().into_iter().zip(TYPES) {
        let text = json(event.clone());
        assert!(text.contains(&format!(r#""type":"{kind}""#)), "{text}");
        let back = parse_json(&text).unwrap();
        // By text: not a number is not equal to itself.
        assert_eq!(format!("{:?}", back.event), format!("{event:?}"));
        assert_eq!(back.time_ms, 5);
    }
}

#[test]
fn what_only_a_newer_program_knows_is_said_to_be_newer() {
    let newer = |what: &str| format!("line 9 of `e` was written by a newer whet: {what}");
    check(&json!({"v": 3, "shape": "any"}), &newer("events of version 3"), "");
    check(
        &json!({"v": 1, "time_ms": 5, "type": "gpu_lost"}),
        &newer("an event of type `gpu_lost`"),
        "",
    );
}

#[test]
fn what_is_not_an_event_is_a_record_of_another_kind() {
    let other = "line 9 of `e` is a record of another kind";
    check(&json!({"task": "mbpp/11"}), other, "missing field `v`");
    check(&json!({"v": 0, "type": "warning"}), other, "there is no version 0");
    check(&json!({"v": 1, "time_ms": 5}), other, "missing field `type`");
    let warning = json!({"v": 1, "time_ms": 5, "type": "warning", "code": "c", "message": 7});
    check(&warning, other, "invalid type: integer `7`, expected a string");
    let mut finished = json!({"v": 1, "time_ms": 5, "type": "run_finished", "message": ""});
    finished["outcome"] = json!("won");
    check(&finished, other, "unknown variant `won`");
    finished["outcome"] = json!("failed");
    finished["extra"] = json!(0);
    check(&finished, other, "unknown field `extra`");
    let mut metrics = json!({"v": 1, "time_ms": 5, "type": "metrics", "stage": "s", "step": 1});
    metrics["values"] = json!({"a": "NaN"});
    check(&metrics, other, "invalid value: string \"NaN\", expected a number, `nan`");
}

#[test]
fn events_of_the_first_version_are_read() {
    let text = r#"{"v":1,"time_ms":5,"type":"warning","code":"c","message":"m"}"#;
    let event = Event::Warning { code: "c".into(), message: "m".into() };
    assert_eq!(parse_json(text).unwrap(), TimedEvent { time_ms: 5, event });
}

#[test]
fn a_whole_number_is_a_metric_too() {
    let text = r#"{"v":1,"time_ms":5,"type":"metrics","stage":"s","step":1,"values":{"a":-3}}"#;
    let values = BTreeMap::from([("a".to_owned(), -3.0)]);
    let event = Event::Metrics { stage: "s".into(), step: 1, values };
    assert_eq!(parse_json(text).unwrap().event, event);
}

proptest! {
    #[test]
    fn metrics_come_back_bit_by_bit(
        values in prop::collection::btree_map(any::<String>(), prop::num::f64::ANY, 0..8),
    ) {
        let event = Event::Metrics { stage: "s".into(), step: 1, values: values.clone() };
        let back = parse_json(&json(event)).unwrap().event;
        let Event::Metrics { values: back, .. } = back else { panic!("{back:?}") };
        let bits = |values: &BTreeMap<String, f64>| -> Vec<(String, u64)> {
            // There is one "nan" in the file, whatever its bits were.
            let canonical = |value: f64| if value.is_nan() { f64::NAN } else { value };
            values.iter().map(|(name, &value)| (name.clone(), canonical(value).to_bits())).collect()
        };
        prop_assert_eq!(bits(&back), bits(&values));
    }
}
