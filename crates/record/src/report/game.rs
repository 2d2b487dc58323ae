//! A reply to a Phaser task as a page shows it: its program, and what the validator found, with a limit on all of it.
//!
//! The facts of an outcome are read one by one. A fact of another form than the validator's is left out and named; fields
//! that are not drawn are passed over. Places of findings are those of the program, so the page gets that apart from the
//! reply that it stands in.

use serde::de::{DeserializeOwned, Deserializer};
use serde::{Deserialize, Serialize};
use whetstone_core::extract::{Form, Reply, extract};
use whetstone_core::outcome::{Evidence, Observation};
use whetstone_core::rollout::{RolloutLine, Score};
use whetstone_core::wire::Object;

use super::limits::{self, MAX_COMPLETION_BYTES};

/// The kind of an observation of a game.
pub(super) const KIND: &str = "phaser";
/// The field of `meta` that says that the prompt ended inside the thinking tag.
const THINKING_OPENED: &str = "thinking_opened";
/// Findings of a kind, checks, files and scenes that are shown.
const MAX_ITEMS: usize = 64;
/// Objects of the last frame that are drawn.
const MAX_OBJECTS: usize = 60;
/// Bytes of one text of a finding.
const MAX_TEXT_BYTES: usize = 480;

/// The program of a reply.
#[derive(Debug, Serialize)]
pub(super) struct ShownProgram {
    program: String,
    /// Bytes of it that were left out.
    #[serde(skip_serializing_if = "is_zero")]
    program_cut_bytes: usize,
}

/// What the validator found. What is missing was not looked at.
#[derive(Debug, Default, Serialize)]
pub(super) struct GameFacts {
    format: Option<Format>,
    parse: Option<Parse>,
    api: Option<Api>,
    lifecycle: Option<Lifecycle>,
    runtime: Option<Runtime>,
    task: Option<Vec<CheckResult>>,
    /// Facts of another form.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unreadable: Vec<&'static str>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Format {
    plan: Option<f64>,
    block: bool,
    code: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct Parse {
    ok: bool,
    #[serde(default)]
    mode: Text,
    #[serde(default)]
    errors: Items<ParseError>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ParseError {
    line: u32,
    column: u32,
    message: Text,
}

#[derive(Debug, Serialize, Deserialize)]
struct Api {
    resolved: u32,
    unknown: Items<UnknownName>,
    #[serde(default)]
    few_args: Items<FewArguments>,
}

#[derive(Debug, Serialize, Deserialize)]
struct UnknownName {
    line: u32,
    column: u32,
    what: Text,
    nearest: Option<Text>,
}

#[derive(Debug, Serialize, Deserialize)]
struct FewArguments {
    line: u32,
    column: u32,
    what: Text,
    given: u32,
    needed: u32,
}

#[derive(Debug, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "five independent facts, each a key of the wire")]
struct Lifecycle {
    preload: bool,
    create: bool,
    update: bool,
    scene_class: bool,
    new_game: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct Runtime {
    stage: Text,
    ok: bool,
    class: Option<Text>,
    error: Option<Text>,
    line: Option<u32>,
    frames: u32,
    #[serde(default)]
    scenes: Items<Text>,
    #[serde(default)]
    object_count: u64,
    #[serde(default)]
    objects: Items<GameObject, MAX_OBJECTS>,
    #[serde(default)]
    assets: Items<Text>,
    /// The game area, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    area: Option<Area>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Area {
    width: f64,
    height: f64,
    #[serde(default)]
    scroll: [f64; 2],
}

/// An object of the last frame. What is as usual is not on the wire.
#[derive(Debug, Serialize, Deserialize)]
struct GameObject {
    kind: Text,
    x: Option<f64>,
    y: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    width: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    height: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<[f64; 2]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rotation: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    alpha: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    visible: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    color: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    texture: Option<Text>,
}

#[derive(Debug, Serialize, Deserialize)]
struct CheckResult {
    check: Text,
    outcome: Text,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<Text>,
}

/// A text of at most [`MAX_TEXT_BYTES`].
#[derive(Debug, Default, Serialize)]
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Ok(Self(limits::cut(&text, MAX_TEXT_BYTES).0.to_owned()))
    }
}

/// The first items of a list, at most `MOST`.
#[derive(Debug, Serialize)]
struct Items<T, const MOST: usize = MAX_ITEMS>(Vec<T>);

impl<T, const MOST: usize> Default for Items<T, MOST> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>, const MOST: usize> Deserialize<'de> for Items<T, MOST> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut all = Vec::deserialize(from)?;
        all.truncate(MOST);
        Ok(Self(all))
    }
}

impl ShownProgram {
    /// The program of a reply to a Phaser task; nothing of other replies, and where there is none.
    pub(super) fn of(rollout: &RolloutLine) -> Option<Self> {
        let _ = observation(rollout)?;
        let opened = rollout.meta.get(THINKING_OPENED) == Some("true");
        let found = extract(Reply::text(&rollout.text).after(opened), Form::PlanJavascript);
        let source = found.code?.source;
        let (program, program_cut_bytes) = limits::cut(&source, MAX_COMPLETION_BYTES);
        Some(Self { program: program.to_owned(), program_cut_bytes })
    }

    /// Text that counts against the page's bound.
    pub(super) fn text_bytes(&self) -> u64 {
        self.program.len() as u64
    }
}

/// The text that the game of a rollout has in a page beside its reply, at most. Nothing is parsed for it.
pub(super) fn text_bytes_of(rollout: &RolloutLine) -> u64 {
    let Some(seen) = observation(rollout) else { return 0 };
    let facts: usize = seen.facts.fields().map(|(_, fact)| fact.len()).sum();
    (facts.min(MAX_COMPLETION_BYTES) + rollout.text.len().min(MAX_COMPLETION_BYTES)) as u64
}

/// What was seen of a game, if the rollout is one.
pub(super) fn observation(rollout: &RolloutLine) -> Option<&Observation> {
    match &rollout.score {
        Some(Score::Scored { outcome, .. }) => match &outcome.evidence {
            Evidence::Observed(seen) if seen.kind == KIND => Some(seen),
            _ => None,
        },
        Some(Score::Failed(_)) | None => None,
    }
}

impl GameFacts {
    /// The facts of an observation.
    pub(super) fn of(facts: &Object) -> Self {
        let mut unreadable = Vec::new();
        let mut facts = FactReader { facts, unreadable: &mut unreadable };
        let found = Self {
            format: facts.read("format"),
            parse: facts.read("parse"),
            api: facts.read("api"),
            lifecycle: facts.read("lifecycle"),
            runtime: facts.read("runtime"),
            task: facts.read::<Items<CheckResult>>("task").map(|checks| checks.0),
            unreadable: Vec::new(),
        };
        Self { unreadable, ..found }
    }
}

struct FactReader<'a> {
    facts: &'a Object,
    unreadable: &'a mut Vec<&'static str>,
}

impl FactReader<'_> {
    fn read<T: DeserializeOwned>(&mut self, name: &'static str) -> Option<T> {
        let read = serde_json::from_str(self.facts.get(name)?);
        if read.is_err() {
            self.unreadable.push(name);
        }
        read.ok()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde calls it with")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use whetstone_core::wire::Wire;

    use super::*;

    fn facts(text: &str) -> Value {
        serde_json::to_value(GameFacts::of(&serde_json::from_str(text).unwrap())).unwrap()
    }

    fn line(text: &str, kind: &str) -> RolloutLine {
        let line = json!({
            "step": 1, "prompt_id": "x", "text": text,
            "validation": {"kind": kind, "solved": false}, "reward": {"total": 0.0, "terms": {}},
        });
        RolloutLine::from_object(serde_json::from_str(&line.to_string()).unwrap()).unwrap()
    }

    #[test]
    fn facts_are_those_of_the_validator_and_further_fields_are_passed_over() {
        let found = facts(
            r#"{"parse":{"ok":true,"mode":"script","errors":[]},"other":[1],
                "api":{"resolved":3,"unknown":[{"line":2,"column":5,"what":"A.b","nearest":null,"new":1}],"few_args":[]},
                "runtime":{"stage":"done","ok":true,"class":null,"error":null,"line":null,"frames":120,"scenes":["default"],
                "object_count":1,"objects":[{"id":0,"kind":"Arc","x":1.5,"y":-2,"color":255,"body":{"vx":0}}],"assets":[]},
                "task":[{"check":"It moves.","outcome":"passed"}]}"#,
        );
        assert_eq!(
            found["api"]["unknown"][0],
            json!({"line": 2, "column": 5, "what": "A.b", "nearest": null})
        );
        assert_eq!(
            found["runtime"]["objects"],
            json!([{"kind": "Arc", "x": 1.5, "y": -2.0, "color": 255}])
        );
        assert_eq!(found["task"], json!([{"check": "It moves.", "outcome": "passed"}]));
        assert_eq!((&found["format"], found.get("unreadable")), (&Value::Null, None));
    }

    #[test]
    fn a_fact_of_another_form_is_left_out_and_named() {
        // 1e999 is not a number that can be computed with.
        let found = facts(
            r#"{"parse":{"ok":1},"api":"none","lifecycle":null,"format":{"plan":null,"block":true,"code":true},
                "runtime":{"stage":"done","ok":true,"frames":1,"objects":[{"kind":"Arc","x":1e999,"y":0}]},"task":[7]}"#,
        );
        assert_eq!(found["unreadable"], json!(["parse", "api", "lifecycle", "runtime", "task"]));
        assert_eq!(found["format"]["code"], true);
        assert_eq!((&found["runtime"], &found["task"]), (&Value::Null, &Value::Null));
    }

    #[test]
    fn every_list_and_every_text_has_a_bound() {
        let long = "ß".repeat(1 << 16);
        let error = json!({"line": 1, "column": 1, "message": long});
        let name = json!({"line": 1, "column": 1, "what": long, "nearest": long});
        let call = json!({"line": 1, "column": 1, "what": long, "given": 1, "needed": 2});
        let object = json!({"kind": long, "x": 1, "y": 1, "text": long, "texture": long});
        let runtime = json!({"stage": long, "ok": false, "class": long, "error": long, "frames": 1,
            "scenes": vec![&long; 99], "objects": vec![object; 99], "assets": vec![&long; 99]});
        let check = json!({"check": long, "outcome": long, "reason": long});
        let all = json!({"parse": {"ok": false, "mode": long, "errors": vec![error; 99]},
            "api": {"resolved": 1, "unknown": vec![name; 99], "few_args": vec![call; 99]},
            "runtime": runtime, "task": vec![check; 99]});
        let found = facts(&all.to_string());
        assert_eq!(found["runtime"]["objects"].as_array().unwrap().len(), MAX_OBJECTS);
        assert_eq!(found["runtime"]["error"].as_str().unwrap().len(), MAX_TEXT_BYTES);
        for list in [&found["parse"]["errors"], &found["api"]["unknown"], &found["task"]] {
            assert_eq!(list.as_array().unwrap().len(), MAX_ITEMS);
        }
        assert!(
            found.to_string().len() < 600 * (9 * MAX_ITEMS + 3 * MAX_OBJECTS),
            "{}",
            found.to_string().len()
        );
    }

    #[test]
    fn the_program_is_taken_out_of_the_reply_of_a_game_alone() {
        let reply = "[PLAN]\nA box.\n[/PLAN]\n  ```js\n  let a;\r\n  let b;\n  ```\n";
        let program = ShownProgram::of(&line(reply, "phaser")).unwrap();
        assert_eq!(program.program, "let a;\nlet b;");
        assert!(ShownProgram::of(&line(reply, "solver")).is_none());
        assert!(ShownProgram::of(&line("No.", "phaser")).is_none());
        let long = line(&format!("```js\n{}\n```", "x".repeat(1 << 20)), "phaser");
        let program = ShownProgram::of(&long).unwrap();
        assert_eq!(program.program.len(), MAX_COMPLETION_BYTES);
        assert_eq!(program.program_cut_bytes, (1 << 20) - MAX_COMPLETION_BYTES);
        assert_eq!(text_bytes_of(&long), MAX_COMPLETION_BYTES as u64);
    }
}
