//! Rollouts worked by hand, and what becomes of each.

use std::fs;

use serde_json::{Value, json};
use whetstone_core::config::Config;
use whetstone_core::extract::Form;

use super::*;

const ADD: &str = "def f(a, b):\n    return a + b";
/// The same but for names, comments and layout.
const RENAMED: &str = "def f(x, y):\n    # adds\n    return (x + y)";
const LOOP: &str = "def f(a, b):\n    for _ in range(b):\n        a += 1\n    return a";

fn task(id: &str) -> Task {
    let line = json!({"id": id, "statement": "Add.", "tests": {"kind": "asserts", "hidden": ["assert f(1, 2) == 3"]}});
    Task::from_object(serde_json::from_value(line).unwrap()).unwrap()
}

/// A judged rollout of a task.
fn rollout(task: &str, code: &str, passed: bool) -> Value {
    let verdict = if passed { "pass" } else { "wrong" };
    let mut validation = json!({"verdict": verdict, "tests_passed": u8::from(passed), "tests_total": 1,
        "cpu_ms": 0.0, "isolation": "full"});
    if !passed {
        validation["test"] = 0.into();
    }
    let total = f64::from(u8::from(passed));
    json!({"step": 0, "prompt_id": task, "text": format!("```python\n{code}\n```"), "meta": {},
        "validation": validation, "reward": {"total": total, "terms": {"tests": total}}})
}

fn with_meta(mut line: Value, meta: Value) -> Value {
    line["meta"] = meta;
    line
}

struct Made {
    summary: Result<SampledTraces, SampledTracesError>,
    traces: Vec<Trace>,
}

fn make(lines: &[Value], per_task: usize, limit: Option<usize>) -> Made {
    let dir = tempfile::tempdir().unwrap();
    let (path, out) = (dir.path().join("rollouts.jsonl"), dir.path().join("traces.jsonl"));
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    fs::write(&path, lines.join("\n") + "\n").unwrap();
    let tasks = [task("a"), task("b"), task("c")];
    let prompt = PromptTemplate::of(&Config::default().prompt).unwrap();
    let summary = sample_traces(&TraceSampling {
        rollouts: &[path],
        tasks: &tasks,
        prompt: &prompt,
        per_task,
        limit,
        out: &out,
    });
    let traces = match Records::<Trace, _>::open(&out) {
        Ok(records) => records.map(|record| record.unwrap().record).collect(),
        Err(_) => Vec::new(),
    };
    Made { summary, traces }
}

fn named(traces: &[Trace]) -> Vec<String> {
    traces.iter().map(|trace| format!("{} {}", trace.task_id, trace.sample)).collect()
}

#[test]
fn passing_distinct_replies_that_were_not_cut_off_become_traces() {
    let lines = [
        rollout("a", ADD, true),
        rollout("a", RENAMED, true),
        rollout("a", "def f(a, b):\n    return a - b", false),
        with_meta(rollout("a", LOOP, true), json!({"finish": "length"})),
        with_meta(rollout("a", LOOP, true), json!({"turns": [{"text": "x"}, {"text": "y"}]})),
        rollout("z", ADD, true),
        json!({"step": 0, "prompt_id": "b", "text": "t"}),
    ];
    let Made { summary, traces } = make(&lines, 4, None);
    let summary = summary.unwrap();
    let expected = [
        ("cut_off", 1),
        ("no_task", 1),
        ("not_passing", 1),
        ("not_scored", 1),
        ("same_program", 1),
        ("several_turns", 1),
    ];
    assert_eq!(summary.left_out, expected.into());
    assert_eq!((summary.rollouts, summary.traces, summary.tasks_with_traces), (7, 1, 1));
    let trace = &traces[0];
    assert_eq!((trace.code.as_deref(), trace.passes()), (Some(ADD), true));
    let prompt = PromptTemplate::of(&Config::default().prompt).unwrap();
    assert_eq!(trace.prompt, prompt.prompt(task("a").view()).unwrap().user);
    assert_eq!(trace.rest.get("prompt_template"), Some(&*format!("\"{}\"", prompt.identity())));
    assert!(trace.prompt.contains("Add."), "{}", trace.prompt);
}

/// `a` passes 2 of 2, `b` 1 of 2 and `c` 2 of 8: `c` is the rarest.
#[test]
fn rare_tasks_come_first_and_each_has_one_trace_before_another_has_two() {
    let mut lines = vec![
        rollout("a", ADD, true),
        rollout("a", LOOP, true),
        rollout("b", ADD, true),
        rollout("b", "1", false),
        rollout("c", LOOP, true),
        rollout("c", ADD, true),
    ];
    lines.extend((0..6).map(|_| rollout("c", "1", false)));
    let made = make(&lines, 4, None);
    assert_eq!(named(&made.traces), ["c 0", "b 0", "a 0", "c 1", "a 1"]);
    assert_eq!(made.traces[0].code.as_deref(), Some(LOOP), "the first of the file");
    let made = make(&lines, 4, Some(2));
    assert_eq!(named(&made.traces), ["c 0", "b 0"]);
    let summary = made.summary.unwrap();
    assert_eq!((summary.left_out["over_limit"], summary.tasks_with_traces), (3, 2));
    let made = make(&lines, 1, None);
    assert_eq!(named(&made.traces), ["c 0", "b 0", "a 0"]);
    assert_eq!(made.summary.unwrap().left_out["over_per_task"], 2);
}

#[test]
fn nothing_that_passes_is_an_error_with_its_reasons() {
    let made = make(&[rollout("a", "1", false)], 4, None);
    let err = made.summary.unwrap_err();
    assert_eq!(err.to_string(), "no rollout becomes a trace: 1 not_passing");
    assert!(err.is_usage() && err.hint().is_some() && made.traces.is_empty());
    let unscored = make(&[json!({"step": 0, "prompt_id": "a", "text": "t"})], 4, None);
    assert_eq!(
        unscored.summary.unwrap_err().hint(),
        Some("score the rollouts first, with `whet score`")
    );
}

/// One token a letter.
struct Letters;
impl crate::rows::Tokens for Letters {
    fn encode(&self, text: &str) -> Vec<u32> {
        text.chars().map(u32::from).collect()
    }
    fn end(&self) -> u32 {
        0
    }
}

/// The thinking stays, and the lines are rows for the student's fine-tuning.
#[test]
fn a_trace_is_a_row_of_sft() {
    let mut line = rollout("a", ADD, true);
    line["text"] = format!("<think>\nAdd them.\n</think>\n\n```python\n{ADD}\n```").into();
    let made = make(&[line], 4, None);
    assert_eq!(made.traces[0].thinking.as_deref(), Some("Add them."));
    let rows = crate::rows::from_traces(
        &made.traces,
        &crate::rows::Making {
            tokens: &Letters,
            form: Form::ThinkPython,
            render: &|prompt: &str| format!("{prompt}\n"),
            max_tokens: 10_000,
            take: crate::rows::Take::Passing,
            thinking: crate::rows::Thinking::Included,
        },
    );
    assert_eq!((rows.counts.rows, rows.counts.traces), (1, 1));
}
