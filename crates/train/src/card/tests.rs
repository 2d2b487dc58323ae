//! Cards of students with ordinary and with hostile names.

use std::fs;

use whetstone_record::event::{Event, TimedEvent};
use whetstone_record::run_dir::RunDir;

use super::*;
use crate::inputs::Files;
use crate::testing::{settings, student};

/// A run with an event of a step, and an input file.
fn run(root: &Path, name: &str) -> RunDir {
    let mut run = RunDir::create(root, name, "", 1).unwrap();
    let started = Event::RunStarted {
        command: format!("/opt/secret/whet train grpo --run {name}"),
        version: "0".to_owned(),
        seed: 1,
    };
    let values = [("grpo/mean_reward".to_owned(), 0.5), ("time/step_s".to_owned(), 3.25)];
    let metrics = Event::Metrics { stage: "grpo".to_owned(), step: 1, values: values.into() };
    for event in [started, metrics] {
        run.append_event(&TimedEvent { time_ms: 1_767_225_600_000, event }).unwrap();
    }
    let tasks = root.join("my tasks`|\n---\n<b>.jsonl");
    fs::write(&tasks, "{}\n").unwrap();
    inputs::keep(&run, &Files { tasks: Some(tasks), ..Files::default() }).unwrap();
    run
}

#[test]
fn a_card_says_what_is_known_and_nothing_of_this_machine() {
    let mut config = settings();
    config.student.model_name = "/somewhere/secret/model".to_owned();
    let (dir, student) = student(&config);
    fs::write(dir.path().join("model/README.md"), "---\nlicense: apache-2.0\n---\n").unwrap();
    let text = |name: &str| {
        let run = run(dir.path(), name);
        let view = run.view();
        text(&Subject { stage: "grpo", config: &config, student: &student, view, steps: 1 })
    };
    let card = text("one");
    assert!(!card.contains(&dir.path().display().to_string()), "{card}");
    assert!(!card.contains("secret") && !card.contains("3.25"), "{card}");
    assert_eq!(card, text("two"), "neither its name nor a clock is a part of it");
    let (front, body) = split(&card);
    assert_eq!(value(front.unwrap(), "license").as_deref(), Some("apache-2.0"));
    assert_eq!(value(front.unwrap(), "base_model"), None, "a path is not a name of the hub");
    for part in [
        "# LoRA adapter on `model`\n",
        "- `model.safetensors`: `",
        "lora.rank = 2\n",
        "Seed 42",
        "--config settings.toml",
        "`grpo/mean_reward`: 0.500 in the first quarter of the steps",
        "alarms: none",
        "## Evaluation\n\nNo evaluation is recorded here.",
    ] {
        assert!(body.contains(part), "{part} in {body}");
    }
}

#[test]
fn a_base_of_the_hub_is_named_in_the_front_matter() {
    let config = settings();
    let (dir, student) = student(&config);
    let run = run(dir.path(), "one");
    let view = run.view();
    let card = text(&Subject { stage: "sft", config: &config, student: &student, view, steps: 1 });
    let front = split(&card).0.unwrap();
    assert_eq!(value(front, "base_model").as_deref(), Some("Qwen/Qwen3-1.7B"));
    assert_eq!(value(front, "base_model_relation").as_deref(), Some("adapter"));
}

#[test]
fn names_cannot_write_markdown_or_front_matter() {
    let mut config = settings();
    config.student.model_name = "org/na\n---\nlicense: mit\n# Owned <script>`".to_owned();
    config.reward.model = "a```\n</code><img src=x>".to_owned();
    let (dir, student) = student(&config);
    let run = run(dir.path(), "one");
    let view = run.view();
    let subject = Subject { stage: "grpo", config: &config, student: &student, view, steps: 4 };
    let card = text(&subject);
    assert!(card.contains("a checkpoint of another run, after step 3,"), "{card}");
    let (front, body) = split(&card);
    let front = front.unwrap();
    assert_eq!(value(front, "license").as_deref(), Some("other"));
    assert!(!front.contains("Owned") && !front.contains("base_model:"), "{front}");
    assert!(!body.lines().any(|line| line == "---"), "{body}");
    let headings: Vec<&str> = body.lines().filter(|line| line.starts_with('#')).collect();
    assert!(headings[1..].iter().all(|line| line.starts_with("## ")), "{headings:?}");
    // Outside of code there is no tag.
    let mut outside = String::new();
    let mut is_block = false;
    for line in body.lines() {
        if line.starts_with("```") {
            is_block = !is_block;
        } else if !is_block && !MARKS.contains(&line) {
            outside += &without_code(line);
        }
    }
    assert!(!is_block && !outside.contains('<'), "{outside}");
}

/// The comments around the evaluations.
const MARKS: [&str; 2] = ["<!-- whet: evaluations -->", "<!-- whet: end of evaluations -->"];

#[test]
fn the_student_that_ships_with_whet_is_named_and_has_its_licence() {
    let mut config = settings();
    config.student.model_name = EMBEDDED.to_owned();
    let (dir, student) = student(&config);
    let run = run(dir.path(), "one");
    let view = run.view();
    let card = text(&Subject { stage: "grpo", config: &config, student: &student, view, steps: 1 });
    let (front, body) = split(&card);
    assert_eq!(value(front.unwrap(), "license").as_deref(), Some("mit"));
    assert!(body.contains("# LoRA adapter on `embedded`\n"), "{body}");
    assert!(body.contains("`embedded`, the student that ships with `whet`."), "{body}");
    assert!(body.contains("student.model_name = \"embedded\"\n"), "{body}");
}

#[test]
fn files_that_a_quickstart_generates_are_listed() {
    let config = settings();
    let (dir, student) = student(&config);
    let mut run = RunDir::create(dir.path(), "quick", "", 1).unwrap();
    let started = Event::RunStarted {
        command: "whet quickstart".to_owned(),
        version: "0".to_owned(),
        seed: 1,
    };
    run.append_event(&TimedEvent { time_ms: 1, event: started }).unwrap();
    let view = run.view();
    let subject = Subject { stage: "grpo", config: &config, student: &student, view, steps: 1 };
    assert!(text(&subject).contains("The run has no record of its input files."));
    fs::write(view.dir().join(TRAIN), "{}\n").unwrap();
    let card = text(&subject);
    let line = format!("- tasks: `train.jsonl`, `{}`\n", blake3::hash(b"{}\n").to_hex());
    assert!(card.contains(&line) && !card.contains("no record"), "{card}");
}

/// A line without its code spans.
fn without_code(line: &str) -> String {
    let Some(at) = line.find('`') else { return line.to_owned() };
    let fence: String = line[at..].chars().take_while(|&c| c == '`').collect();
    let rest = &line[at + fence.len()..];
    match rest.find(&fence) {
        Some(end) => format!("{}{}", &line[..at], without_code(&rest[end + fence.len()..])),
        None => line.to_owned(),
    }
}
