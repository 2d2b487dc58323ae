//! What real replies look like, and what each rule of extraction pays: counts over files of scored replies, as
//! `whet eval` writes them, by model and prompt.
//!
//! ```sh
//! whet eval --samples replies.jsonl --tasks tasks.jsonl --out judged/MODEL-PROMPT-TASKS
//! cargo run --release -p whetstone-env --example extraction -- table.md table judged/*/rollouts.jsonl
//! ```
//!
//! What another rule would pay is judged: `rewrite RULE` writes the replies of a file so that they are read by that
//! rule, and `whet eval --samples` judges them.
//!
//! | rule | the reply is read |
//! |---|---|
//! | `letter` | with the language below a bare fence as a line of the program |
//! | `first` | up to the end of its first block |
//! | `thinking` | with its thinking as a part of the answer |
//!
//! `programs TASKS FILE` writes each program, whole and as `eval.sanitize = "entry_point"` judges it, as JSON lines. The first
//! argument is the file that takes the result.
#![expect(clippy::unwrap_used, reason = "a developer tool for changes to extraction")]

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use serde_json::json;
use whetstone_core::Task;
use whetstone_core::config::{RewardConfig, Sanitize};
use whetstone_core::extract::{Form, Origin, Reply, extract};
use whetstone_core::jsonl::read_tasks;
use whetstone_core::rollout::{RolloutLine, Score};
use whetstone_core::stack::{BigStack, on_big_stack};
use whetstone_core::wire::Wire;
use whetstone_env::python::{Reading, Rules};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (out, lines) = match args.as_slice() {
        [out, "table", files @ ..] => (out, table(files)),
        [out, "rewrite", rule, file] => (out, rewrite(rule, file)),
        [out, "programs", tasks, file] => {
            (out, on_big_stack(|stack| programs(tasks, file, stack)).unwrap())
        }
        _ => panic!("extraction OUT table FILE… | OUT rewrite RULE FILE | OUT programs TASKS FILE"),
    };
    fs::write(out, lines.join("\n") + "\n").unwrap();
}

/// How many replies are such, and how many of those pass.
#[derive(Default, Clone, Copy)]
struct Tally {
    replies: u64,
    passes: u64,
}

fn table(files: &[&str]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut tallies: BTreeMap<String, HashMap<usize, Tally>> = BTreeMap::new();
    for file in files {
        let name = model_and_prompt(Path::new(file));
        let at = names.iter().position(|known| *known == name).unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        });
        for line in read(file) {
            let passes = verdict(&line) == "pass";
            for property in properties(&line) {
                let tally = tallies.entry(property).or_default().entry(at).or_default();
                tally.replies += 1;
                tally.passes += u64::from(passes);
            }
        }
    }
    let head = format!("| | {} |\n|---|{}", names.join(" | "), "---|".repeat(names.len()));
    let row = |(property, by_file): (String, HashMap<usize, Tally>)| {
        let cell = |at| {
            let Tally { replies, passes } = by_file.get(&at).copied().unwrap_or_default();
            if passes == 0 { replies.to_string() } else { format!("{replies} ({passes} pass)") }
        };
        let cells: Vec<String> = (0..names.len()).map(cell).collect();
        format!("| {property} | {} |", cells.join(" | "))
    };
    std::iter::once(head).chain(tallies.into_iter().map(row)).collect()
}

/// `MODEL-PROMPT` of `MODEL-PROMPT-TASKS.jsonl`, or of `MODEL-PROMPT-TASKS/rollouts.jsonl`.
fn model_and_prompt(file: &Path) -> String {
    let own = file.file_stem().unwrap().to_string_lossy();
    let folder = file.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let name = if own == "rollouts" { folder } else { own };
    name.rsplit_once('-').map_or(name.as_ref(), |(name, _)| name).to_owned()
}

/// Everything that is counted of a reply.
fn properties(line: &RolloutLine) -> Vec<String> {
    let verdict = verdict(line);
    let mut found = vec!["all".to_owned(), format!("verdict {verdict}")];
    found.extend(line.cause().map(|cause| format!("verdict {verdict}: {}", cause.name())));
    let text = &line.text;
    let read = extract(Reply::text(text), Form::ThinkPython);
    let origin = read.code.as_ref().map(|code| match code.origin {
        Origin::Tagged => "a block in the language",
        Origin::Other => "another block",
        Origin::Unclosed => "an unclosed block",
        Origin::Plain => "plain text",
    });
    found.push(format!("code from {}", origin.unwrap_or("nothing")));
    let source = read.code.as_ref().map_or("", |code| &code.source);
    let fences = text.lines().filter(|line| is_fence(line)).count();
    let letter = by_letter(text);
    let shapes = [
        ("the language below a bare fence", letter.len() != text.len()),
        ("two blocks or more", fences > 3),
        ("a fence within a block", fences % 2 == 1 && origin != Some("an unclosed block")),
        ("thinking", read.thinking.is_some_and(|thinking| !thinking.is_empty())),
        ("special tokens", text.contains("<|")),
        ("asserts of its own", source.lines().any(|line| line.starts_with("assert"))),
        ("prints of its own", source.lines().any(|line| line.starts_with("print("))),
        ("`if __name__`", source.contains("if __name__")),
    ];
    found.extend(
        shapes.into_iter().filter(|shape| shape.1).map(|shape| format!("shape: {}", shape.0)),
    );
    found
}

fn rewrite(rule: &str, file: &str) -> Vec<String> {
    let rewritten = |mut line: RolloutLine| {
        line.text = match rule {
            "letter" => by_letter(&line.text),
            "first" => first_block(&line.text).to_owned(),
            "thinking" => line.text.replace("<think>", "").replace("</think>", ""),
            _ => panic!("no rule {rule}"),
        };
        line.score = None;
        line.to_line()
    };
    read(file).into_iter().map(rewritten).collect()
}

fn programs(tasks: &str, file: &str, stack: &BigStack) -> Vec<String> {
    let tasks = read_tasks(Path::new(tasks)).unwrap();
    let tasks: HashMap<&str, &Task> = tasks.iter().map(|task| (task.id.as_str(), task)).collect();
    let whole = Rules::new(RewardConfig::default());
    let part = Rules { sanitize: Sanitize::EntryPoint, ..whole.clone() };
    let judged = |line: RolloutLine| {
        let task = tasks.get(line.prompt_id.as_str())?;
        let source = |rules: &Rules| match rules.read(task, Reply::text(&line.text), stack) {
            Reading::Runs(candidate) => Some(candidate.program.source),
            Reading::Settled { .. } => None,
        };
        let said = json!({"prompt_id": line.prompt_id, "text": line.text, "whole": source(&whole), "part": source(&part)});
        Some(said.to_string())
    };
    read(file).into_iter().filter_map(judged).collect()
}

/// A blank line below a bare fence: the language behind it is no longer the line below.
fn by_letter(text: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    for line in text.split('\n') {
        let below = lines.last().is_some_and(|last| matches!(last.trim(), "```" | "~~~"));
        let is_name =
            matches!(line.trim().to_ascii_lowercase().as_str(), "python" | "py" | "python3");
        lines.extend((below && is_name).then_some(""));
        lines.push(line);
    }
    lines.join("\n")
}

/// The reply up to the end of its first block.
fn first_block(text: &str) -> &str {
    let mut fences = text.split_inclusive('\n').scan(0, |at, line| {
        *at += line.len();
        Some((*at, is_fence(line)))
    });
    let second = fences.by_ref().filter(|(_, is_fence)| *is_fence).nth(1);
    second.map_or(text, |(end, _)| &text[..end])
}

fn is_fence(line: &str) -> bool {
    line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~")
}

fn verdict(line: &RolloutLine) -> &'static str {
    match &line.score {
        Some(Score::Scored { outcome, .. }) => outcome.evidence.name(),
        _ => "unjudged",
    }
}

fn read(file: &str) -> Vec<RolloutLine> {
    let text = fs::read_to_string(file).unwrap();
    let line = |line| RolloutLine::from_object(serde_json::from_str(line).unwrap()).unwrap();
    text.lines().filter(|line| !line.trim().is_empty()).map(line).collect()
}
