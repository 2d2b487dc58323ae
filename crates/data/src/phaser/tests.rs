//! Prompt sets and mock rollouts, without running a program.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use whetstone_core::jsonl::{Records, read_tasks};
use whetstone_core::rollout::RolloutLine;
use whetstone_core::wire::Wire;
use whetstone_core::{Seed, Task};
use whetstone_env::phaser::checks::GameTask;

use super::embedded::embedded_text;
use super::mock::{MockRollouts, MockSummary, write_mock_rollouts};
use super::templates::{TEMPLATES, expand};
use super::*;

const COUNTS: SplitCounts = SplitCounts { train: 50, eval: 20 };

fn line(id: &str, prompt: &str) -> String {
    format!(r#"{{"id":"{id}","prompt":"{prompt}","checks":[{{"kind":"count","at_least":1}}]}}"#)
}

#[track_caller]
fn refused(lines: &[String], message: &str) {
    let text = lines.join("\n");
    let err = read_seeds_from(Path::new("s.jsonl"), text.as_bytes()).unwrap_err();
    assert_eq!(err.to_string(), message);
    assert!(err.hint().is_some() && err.is_usage());
}

#[test]
fn the_embedded_seeds_are_what_the_templates_give() {
    let lines: Vec<String> =
        expand(TEMPLATES).unwrap().iter().map(|seed| seed.to_line() + "\n").collect();
    assert!(
        lines.concat() == embedded_text(),
        "run `cargo run -p whetstone-data --example make_prompt_seeds -- assets/phaser/prompt_seeds.jsonl`"
    );
    let seeds = embedded();
    assert!(seeds.len() >= 200, "{}", seeds.len());
    assert!(seeds.iter().all(|seed| seed.reference.is_some() && seed.game.checks().len() > 1));
}

#[test]
fn a_seed_comes_back_as_it_was_written() {
    for seed in embedded() {
        let again = PromptSeed::from_object(serde_json::from_str(&seed.to_line()).unwrap());
        assert_eq!(again.unwrap(), seed);
    }
}

#[test]
fn bad_seeds_are_refused_by_their_line() {
    let good = line("a", "one");
    refused(
        &[good.clone(), line("a", "two")],
        "s.jsonl:2: prompt seed id `a` stands already in line 1",
    );
    refused(&[good.clone(), line("b", "one")], "s.jsonl:2: the prompt of `b` is that of line 1");
    refused(
        &[good.clone(), good.replace(r#""id":"a","#, "")],
        "s.jsonl:2: not a prompt seed: field `id` is missing",
    );
    refused(
        &[good.replace("checks", "check")],
        "s.jsonl:1: not a prompt seed: field `check` is not known; the fields are `id`, `prompt`, `frames`, `input`, \
         `checks`, `family` and `reference`",
    );
    refused(
        &[good.replace('}', r#","inptu":[]}"#).replacen(r#","inptu":[]}"#, "}", 1)],
        "s.jsonl:1: not a prompt seed: field `inptu` is not known; the fields are `id`, `prompt`, `frames`, `input`, \
         `checks`, `family` and `reference`",
    );
    refused(
        &[line("a", " ")],
        "s.jsonl:1: not a prompt seed: field `prompt`: blank, expected what the game must do",
    );
    refused(
        &[line("a", &"x".repeat(MAX_PROMPT_BYTES + 1))],
        "s.jsonl:1: not a prompt seed: field `prompt`: 16385 bytes, expected 1 to 16384",
    );
    let unpressed = good.replace("\"at_least\":1", "\"needs_input\":true");
    let err = read_seeds_from(Path::new("s.jsonl"), unpressed.as_bytes()).unwrap_err();
    assert!(err.to_string().starts_with("s.jsonl:1: not a prompt seed: field `checks`: "), "{err}");
}

#[test]
fn halves_have_the_asked_sizes_and_share_neither_seed_nor_family() {
    let seeds = embedded();
    for number in 0..20 {
        let halves = split(&seeds, COUNTS, Seed::new(number)).unwrap();
        assert_eq!((halves.train.len(), halves.eval.len()), (50, 20));
        let families = |half: &[PromptSeed]| -> HashSet<String> {
            half.iter().map(|seed| seed.family().to_owned()).collect()
        };
        assert!(families(&halves.train).is_disjoint(&families(&halves.eval)));
        assert!(families(&halves.eval).len() > 7, "an evaluation of few families says little");
        let ids: HashSet<_> =
            halves.train.iter().chain(&halves.eval).map(|seed| &seed.id).collect();
        assert_eq!(ids.len(), 70);
        assert_eq!(halves, split(&seeds, COUNTS, Seed::new(number)).unwrap());
        assert_ne!(halves, split(&seeds, COUNTS, Seed::new(number + 1)).unwrap());
    }
}

#[test]
fn too_few_seeds_are_said_with_numbers() {
    let seeds = embedded();
    let all = seeds.len();
    let most = split(&seeds, SplitCounts { train: all - 4, eval: 4 }, Seed::new(1)).unwrap();
    assert_eq!(most.train.len() + most.eval.len(), all);
    let err = split(&seeds[..9], SplitCounts { train: 8, eval: 2 }, Seed::new(1)).unwrap_err();
    let said = "there are 9 prompt seeds, and 8 to train on and 2 to evaluate on need 10";
    assert_eq!(err.to_string(), said);
    let err = split(&seeds[..8], SplitCounts { train: 5, eval: 3 }, Seed::new(1)).unwrap_err();
    assert_eq!(
        err.to_string(),
        "8 prompt seeds of 2 families cannot be divided into 5 to train on and 3 to evaluate on: a family stays in one half"
    );
    assert!(err.hint().unwrap().contains("--train-count"));
}

fn write_sets(folder: &Path, seed: u64) -> PromptSummary {
    write_prompt_sets(&PromptSets {
        seeds: None,
        out_train: &folder.join("new/train.jsonl"),
        out_eval: &folder.join("eval.jsonl"),
        counts: COUNTS,
        seed: Seed::new(seed),
    })
    .expect("embedded seeds are enough")
}

#[test]
fn written_lines_are_tasks_with_their_checks() {
    let folder = tempfile::tempdir().unwrap();
    let summary = write_sets(folder.path(), 42);
    assert_eq!((summary.train.prompts, summary.eval.references), (50, 20));
    let tasks = read_tasks(&folder.path().join("new/train.jsonl")).unwrap();
    let seeds = embedded();
    for task in &tasks {
        assert_eq!((task.kind(), task.body.is_some()), (Some(KIND), true));
        let seed = seeds.iter().find(|seed| seed.id == task.id).unwrap();
        let fields = serde_json::to_string(&task.body.as_ref().unwrap().fields).unwrap();
        assert_eq!(serde_json::from_str::<GameTask>(&fields).unwrap(), seed.game);
        assert_eq!((&task.statement, &task.reference), (&seed.prompt, &seed.reference));
    }
    assert_eq!(summary.train.blake3, write_sets(folder.path(), 42).train.blake3);
    assert_ne!(summary.train.blake3, write_sets(folder.path(), 43).train.blake3);
}

#[test]
fn seeds_without_checks_are_tasks_and_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seeds.jsonl");
    let seeds = [
        r#"{"id":"a","prompt":"A box falls."}"#.to_owned(),
        r#"{"id":"b","prompt":"A box jumps.","checks":[]}"#.to_owned(),
        line("c", "A box stands."),
    ];
    fs::write(&path, seeds.join("\n") + "\n").unwrap();
    let (train, eval) = (folder.path().join("t.jsonl"), folder.path().join("e.jsonl"));
    let sets = PromptSets {
        seeds: Some(&path),
        out_train: &train,
        out_eval: &eval,
        counts: SplitCounts { train: 3, eval: 0 },
        seed: Seed::new(1),
    };
    let summary = write_prompt_sets(&sets).unwrap();
    assert_eq!((summary.train.prompts, summary.train.checks, summary.train.unchecked), (3, 1, 2));
    let tasks = read_tasks(&train).unwrap();
    let one = tasks.iter().find(|task| task.id.as_str() == "a").unwrap();
    assert_eq!((one.statement.as_str(), one.kind()), ("A box falls.", Some(KIND)));
}

#[test]
fn a_file_is_not_overwritten_by_another_of_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("one.jsonl");
    let sets = PromptSets {
        seeds: None,
        out_train: &path,
        out_eval: &path,
        counts: COUNTS,
        seed: Seed::new(1),
    };
    assert!(matches!(write_prompt_sets(&sets), Err(PromptError::SameFile { .. })));
    let other = folder.path().join("two.jsonl");
    let sets = PromptSets { seeds: Some(&path), out_eval: &other, ..sets };
    assert!(matches!(write_prompt_sets(&sets), Err(PromptError::SameFile { .. })));
}

fn mock(folder: &Path, seed: u64) -> (MockSummary, Vec<RolloutLine>, Vec<u8>) {
    let (prompts, out) = (folder.join("eval.jsonl"), folder.join("rollouts.jsonl"));
    let mock = MockRollouts {
        prompts: &prompts,
        out: &out,
        step: 1,
        num_prompts: 8,
        group_size: 8,
        seed: Seed::new(seed),
    };
    let summary = write_mock_rollouts(&mock).expect("there are enough prompts");
    let lines = Records::open(&out).expect("it was written");
    let lines = lines.map(|line| line.expect("a rollout").record).collect();
    (summary, lines, std::fs::read(&out).expect("it was written"))
}

#[test]
fn mock_rollouts_have_every_quality_in_whole_groups() {
    let folder = tempfile::tempdir().unwrap();
    write_sets(folder.path(), 42);
    let (summary, lines, bytes) = mock(folder.path(), 2026);
    assert_eq!((summary.rollouts, lines.len(), summary.without_reference), (64, 64, 0));
    let names: Vec<&str> = summary.qualities.keys().copied().collect();
    let all =
        ["broken", "good", "half_good", "hallucinating", "hostile", "idle", "long_plan", "no_code"];
    assert_eq!(names, all);
    assert!(summary.qualities.values().all(|&count| count >= 5), "{:?}", summary.qualities);
    for group in lines.chunks(8) {
        assert!(group.iter().all(|line| line.prompt_id == group[0].prompt_id && line.step == 1));
        let ids: Vec<_> = group.iter().filter_map(|line| line.group_id).collect();
        assert_eq!(ids, [0, 1, 2, 3, 4, 5, 6, 7]);
    }
    assert_eq!(bytes, mock(folder.path(), 2026).2);
    assert_ne!(bytes, mock(folder.path(), 2027).2);
}

#[test]
fn mock_texts_are_what_their_quality_says() {
    let folder = tempfile::tempdir().unwrap();
    write_sets(folder.path(), 42);
    let tasks = read_tasks(&folder.path().join("eval.jsonl")).unwrap();
    let (_, lines, _) = mock(folder.path(), 2026);
    let mut tricks = HashSet::new();
    for line in &lines {
        let quality = line.meta.get("mock").unwrap().trim_matches('"');
        let task: &Task = tasks.iter().find(|task| task.id == line.prompt_id).unwrap();
        let reference = task.reference.as_deref().unwrap().trim_end();
        let block = format!("```javascript\n{reference}\n```\n");
        assert!(line.text.starts_with("[PLAN]\n") && line.text.contains("\n[/PLAN]\n"));
        let has_reference = matches!(quality, "good" | "long_plan");
        assert_eq!(line.text.ends_with(&block), has_reference, "{quality}: {}", line.text);
        assert_eq!(line.text.contains("```javascript"), quality != "no_code");
        assert_eq!(line.text.len() > 5000, quality == "long_plan", "{}", line.text.len());
        tricks.extend(line.meta.get("mock_trick").map(str::to_owned));
    }
    assert_eq!(tricks.len(), 2);
    assert!(lines[0].meta.get("max_new_tokens") == Some("1800"));
}

#[test]
fn too_few_prompts_and_a_missing_file_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let prompts = folder.path().join("p.jsonl");
    let out = folder.path().join("o.jsonl");
    let request = MockRollouts {
        prompts: &prompts,
        out: &out,
        step: 1,
        num_prompts: 8,
        group_size: 8,
        seed: Seed::new(1),
    };
    assert!(matches!(write_mock_rollouts(&request), Err(PromptError::Tasks(_))));
    std::fs::write(&prompts, "{\"id\":\"a\",\"statement\":\"s\"}\n").unwrap();
    let err = write_mock_rollouts(&request).unwrap_err();
    assert!(err.to_string().ends_with("p.jsonl has 0 prompts for Phaser, and 8 are asked for"));
    let same = MockRollouts { out: &prompts, ..request };
    assert!(matches!(write_mock_rollouts(&same), Err(PromptError::SameFile { .. })));
}

#[test]
fn a_task_without_a_reference_gets_no_good_reply() {
    let folder = tempfile::tempdir().unwrap();
    let seeds = folder.path().join("seeds.jsonl");
    let lines: Vec<String> =
        (0..12).map(|at| line(&format!("s{at}"), &format!("prompt {at}"))).collect();
    std::fs::write(&seeds, lines.join("\n")).unwrap();
    let sets = PromptSets {
        seeds: Some(&seeds),
        out_train: &folder.path().join("train.jsonl"),
        out_eval: &folder.path().join("eval.jsonl"),
        counts: SplitCounts { train: 4, eval: 8 },
        seed: Seed::new(1),
    };
    write_prompt_sets(&sets).unwrap();
    let (summary, ..) = mock(folder.path(), 1);
    assert_eq!(summary.without_reference, 8);
    assert!(summary.qualities.contains_key("plain") && !summary.qualities.contains_key("good"));
}
