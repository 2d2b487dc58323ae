//! Every form of a row, and what is refused.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn read(text: &str) -> Result<GivenPair, FormProblem> {
    read_row(serde_json::from_str(text).expect("test data is JSON"))
}

/// The prompt's messages as `role: content`, and both replies.
#[track_caller]
fn check(row: &str, prompt: &[&str], replies: [&str; 2]) {
    let pair = read(row).unwrap_or_else(|problem| panic!("{problem}: {row}"));
    let found: Vec<String> = pair
        .prompt
        .iter()
        .map(|message| format!("{:?}: {}", message.role, message.content).to_lowercase())
        .collect();
    assert_eq!(found, prompt, "{row}");
    assert_eq!([pair.chosen.as_str(), pair.rejected.as_str()], replies, "{row}");
}

#[track_caller]
fn refused(row: &str, name: &str) {
    let problem = read(row).expect_err(row);
    assert_eq!(problem.name(), name, "{problem}: {row}");
}

#[test]
fn the_usual_forms_are_read() {
    check(r#"{"prompt":"q","chosen":"a","rejected":"b"}"#, &["user: q"], ["a", "b"]);
    check(r#"{"prompt":"q ","chosen":"q a","rejected":"q b"}"#, &["user: q "], ["a", "b"]);
    check(
        r#"{"system":"s","question":"q","chosen":"a","rejected":"b"}"#,
        &["system: s", "user: q"],
        ["a", "b"],
    );
    check(
        r#"{"instruction":"q","input":"i","system":"","chosen":"a","rejected":"b"}"#,
        &["user: q\n\ni"],
        ["a", "b"],
    );
    let hh =
        |reply: &str| format!(r"\n\nHuman: q\n\nAssistant: x\n\nHuman: r\n\nAssistant: {reply}");
    check(
        &format!(r#"{{"chosen":"{}","rejected":"{}"}}"#, hh("a"), hh("b")),
        &["user: q", "assistant: x", "user: r"],
        ["a", "b"],
    );
    let list = |reply: &str| {
        format!(
            r#"[{{"role":"user","content":"q","x":1}},{{"role":"assistant","content":"{reply}"}}]"#
        )
    };
    for prompt in ["", r#""prompt":"q","#, r#""prompt":[{"role":"user","content":"q"}],"#] {
        let row = format!(r#"{{{prompt}"chosen":{},"rejected":{}}}"#, list("a"), list("b"));
        check(&row, &["user: q"], ["a", "b"]);
    }
    check(
        r#"{"prompt":[{"from":"human","value":"q"}],"chosen":[{"from":"gpt","value":"a"}],"rejected":{"from":"gpt","value":"b"}}"#,
        &["user: q"],
        ["a", "b"],
    );
}

#[test]
fn a_line_of_our_own_is_read_again() {
    let pair = read(
        r#"{"v":1,"id":"x/1:0","task_id":"x/1","prompt":[{"role":"user","content":"q"}],"chosen":"a","rejected":"b","margin":0.5,"origin":"rollouts:reward"}"#,
    )
    .unwrap();
    assert_eq!(pair.task_id.unwrap().as_str(), "x/1");
    assert_eq!((pair.margin, pair.origin.as_deref()), (0.5, Some("rollouts:reward")));
}

/// Values that a column of some file may have.
fn column() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        Just(""),
        Just("a"),
        Just("b"),
        Just("q"),
        Just("\n\nHuman: q\n\nAssistant: a"),
        Just("\n\nHuman: q\n\nAssistant: b"),
    ];
    let role = prop_oneof![Just("user"), Just("assistant"), Just("gpt"), Just("judge\u{7}")];
    let message = (role, text.clone()).prop_map(
        |(role, text)| json!({if role == "gpt" { "from" } else { "role" }: role, "content": text}),
    );
    prop_oneof![
        Just(Value::Null),
        Just(json!(7)),
        Just(json!({"x": []})),
        text.prop_map(Value::from),
        prop::collection::vec(message, 0..4).prop_map(Value::from),
    ]
}

proptest! {
    /// Whatever stands in the columns: a pair that can be learnt from, or a reason to print.
    #[test]
    fn a_row_is_a_pair_or_has_a_reason(
        names in prop::collection::vec(0_usize..7, 0..6),
        values in prop::collection::vec(column(), 6),
    ) {
        let columns = ["prompt", "question", "system", "chosen", "rejected", "margin", "task_id"];
        let row: serde_json::Map<String, Value> =
            names.iter().map(|at| columns[*at].to_owned()).zip(values).collect();
        match read(&Value::from(row).to_string()) {
            Ok(pair) => {
                prop_assert!(!pair.chosen.trim().is_empty() && !pair.rejected.trim().is_empty());
                prop_assert_ne!(pair.chosen.trim(), pair.rejected.trim());
                prop_assert!(pair.prompt.iter().any(|said| !said.content.trim().is_empty()));
            }
            Err(problem) => {
                let reason = problem.to_string();
                prop_assert!(!reason.is_empty() && !reason.chars().any(char::is_control));
            }
        }
    }
}

#[test]
fn what_is_no_pair_is_named() {
    refused(r#"{"prompt":"q","chosen":"a","rejected":" a"}"#, "equal_texts");
    refused(r#"{"prompt":"q","chosen":"a","rejected":""}"#, "empty_side");
    refused(r#"{"chosen":"a","rejected":"b"}"#, "no_prompt");
    refused(r#"{"prompt":" ","chosen":"a","rejected":"b"}"#, "no_prompt");
    refused(r#"{"prompt":"q","chosen":"a"}"#, "bad_row");
    refused(r#"{"prompt":"q","chosen":"a","rejected":["b"]}"#, "bad_row");
    refused(
        r#"{"prompt":"q","chosen":"a","rejected":[{"role":"assistant","content":"b"}]}"#,
        "bad_row",
    );
    refused(r#"{"prompt":"q","chosen":"a","rejected":"b","margin":-1}"#, "bad_row");
    refused(r#"{"prompt":"q","chosen":7,"rejected":"b"}"#, "bad_row");
    let list = |question: &str, reply: &str| {
        format!(
            r#"[{{"role":"user","content":"{question}"}},{{"role":"assistant","content":"{reply}"}}]"#
        )
    };
    let row = |prompt: &str, chosen: &str, rejected: &str| {
        format!(r#"{{{prompt}"chosen":{chosen},"rejected":{rejected}}}"#)
    };
    refused(&row("", &list("q", "a"), &list("r", "b")), "mixed_prompts");
    refused(&row(r#""prompt":"other","#, &list("q", "a"), &list("q", "b")), "mixed_prompts");
    refused(&row("", &list("q", "a"), &list("q", "a")), "equal_texts");
    let open = r#"[{"role":"user","content":"q"}]"#;
    refused(&row("", &list("q", "a"), open), "no_reply");
    let alone = |reply: &str| format!(r#"[{{"role":"assistant","content":"{reply}"}}]"#);
    refused(&row("", &alone("a"), &alone("b")), "no_prompt");
    refused(&row("", r#"[{"role":"judge","content":"a"}]"#, open), "bad_row");
}
