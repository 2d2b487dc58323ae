//! The end of a training: what it says, and the model card in its final model and in exports of it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::binary::whet_in;
use crate::tiny_school::{grpo, judged, school, sft, trained, unsolvable};

const FINAL: &str = "runs/run/outputs/final_model";

fn card(dir: &Path, model: &str) -> String {
    fs::read_to_string(dir.join(model).join("README.md")).expect("a card")
}

/// The figures in what a training says at its end.
fn figures(err: &str) -> Vec<&str> {
    let is_figure = |line: &&str| {
        ["reward ", "held-out pass rate", "alarms: "].iter().any(|start| line.starts_with(start))
    };
    err.lines().filter(is_figure).collect()
}

#[test]
fn a_training_ends_with_its_figures_the_next_commands_and_a_card() {
    if !judged() {
        return;
    }
    let dir = school();
    fs::write(dir.path().join("val.jsonl"), unsolvable(dir.path(), "v/")).unwrap();
    let flags = [
        "--held-out=val.jsonl",
        "--set",
        "training.max_steps=8",
        "--set",
        "held_out.every_steps=4",
    ];
    let ran = trained(dir.path(), &grpo("run", &flags));
    assert_eq!((ran.code, ran.out.as_str()), (0, format!("{FINAL}\n").as_str()), "{}", ran.err);
    let said = figures(&ran.err);
    assert_eq!(said.len(), 3, "{}", ran.err);
    assert!(
        said[0].contains("pass rate")
            && said[0].ends_with("(training data, first quarter of 8 steps -> last)"),
        "{said:?}"
    );
    assert_eq!(
        said[1],
        "held-out pass rate of 4 tasks 0.0 % (step 1) -> 0.0 % (after step 8): +0.0 points"
    );
    for command in [
        "  whet report runs/run\n",
        "  whet eval --tasks val.jsonl --model runs/run/outputs/final_model --out eval/run\n",
        "  whet generate runs/run/outputs/final_model 'PROMPT' --chat\n",
    ] {
        assert!(ran.err.contains(command), "{command} in {}", ran.err);
    }

    // A run that is done says the same again, for people and for scripts.
    let again = trained(dir.path(), &grpo("run", &["--resume"]));
    assert_eq!((again.code, figures(&again.err)), (0, said), "{}", again.err);
    let json = trained(dir.path(), &grpo("run", &["--resume", "--json"]));
    let told: Value = serde_json::from_str(&json.out).unwrap();
    let summary = &told["summary"];
    assert_eq!((summary["steps"].as_u64(), told["next"].as_array().unwrap().len()), (Some(8), 3));
    assert_eq!(summary["training"][0]["metric"], "grpo/mean_reward");
    assert!(
        summary["training"][0]["last_quarter"].is_f64() && summary["seconds"].as_f64() > Some(0.0)
    );
    assert_eq!(summary["held_out"][0]["tasks"], 4);

    let text = card(dir.path(), FINAL);
    let seconds = summary["seconds"].as_f64().unwrap();
    assert!(!text.contains(&seconds.to_string()), "a duration is another each time");
    for part in [
        "library_name: peft\npipeline_tag: text-generation\nlicense: other\ntags:\n- whetstone\n- grpo\n- lora\n",
        "- tasks: `tasks.jsonl`, `",
        "- held-out tasks: `val.jsonl`, `",
        "training.max_steps = 8\n",
        "whet train grpo --run NAME --config settings.toml --tasks tasks.jsonl --held-out val.jsonl --traces traces.jsonl\n",
        "`held_out/pass_rate`: 0.0 % at step 1, 0.0 % after step 8 (95 % interval 0.0 to 49.0 %",
        "`model.safetensors`: `",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let digest = blake3_of(&dir.path().join("tasks.jsonl"));
    assert!(text.contains(&digest), "{digest} in {text}");

    // The settings of the card are those of a run: every key and value is read again.
    let settings = text.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    fs::write(dir.path().join("settings.toml"), settings).unwrap();
    let ran = whet_in(dir.path(), &["config", "show", "--config", "settings.toml"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("max_steps = 8"), "{}", ran.out);
}

#[test]
fn an_export_has_a_card_with_the_evaluations_that_are_named() {
    if !judged() {
        return;
    }
    let dir = school();
    fs::write(dir.path().join("student/README.md"), "---\nlicense: apache-2.0\n---\n# Tiny\n")
        .unwrap();
    let ran =
        trained(dir.path(), &sft("run", &["--traces=traces.jsonl", "--set=training.max_steps=3"]));
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.err.contains("loss ")
            && ran.err.contains("(training data, first quarter of 3 steps -> last)"),
        "{}",
        ran.err
    );
    assert!(card(dir.path(), FINAL).contains("license: apache-2.0\n"));
    let eval = [
        "eval",
        "--tasks=tasks.jsonl",
        "--model",
        FINAL,
        "--num-samples=2",
        "--max-tokens=32",
        "--out=eval/run",
        "--threads=1",
    ];
    let ran = whet_in(dir.path(), &eval);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let ran = whet_in(dir.path(), &["export", FINAL, "--eval", "eval/run", "--out", "merged"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let text = card(dir.path(), "merged");
    assert!(text.starts_with("---\nlibrary_name: transformers\n"), "{text}");
    let results: Value = serde_json::from_slice(
        &fs::read(dir.path().join("eval/run/evaluation_results.json")).unwrap(),
    )
    .unwrap();
    let figure = &results["pass_at_k"]["1"];
    let [value, low, high] =
        ["value", "low", "high"].map(|key| 100.0 * figure[key].as_f64().unwrap());
    let row = format!("| pass@1 | {value:.1} % | {low:.1} to {high:.1} % |");
    for part in [
        "license: apache-2.0\n",
        "merged a LoRA adapter",
        "## Data\n",
        &row,
        "`run (model final_model)`: 4 tasks, 2 samples of each",
        "\n# `student` with a LoRA adapter merged into it\n\n`whet export` merged",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    for other in ["No evaluation is recorded", "AutoPeftModel", "# LoRA adapter on"] {
        assert!(!text.contains(other), "{other} in {text}");
    }

    let other = ["export", FINAL, "--base-model", "org/tiny", "--out", "adapter"];
    let ran = whet_in(dir.path(), &other);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let text = card(dir.path(), "adapter");
    assert!(
        text.starts_with(
            "---\nbase_model: \"org/tiny\"\nbase_model_relation: adapter\nlibrary_name: peft\n"
        ),
        "{text}"
    );

    let ran = whet_in(dir.path(), &["export", FINAL, "--eval", "nothing", "--out", "third"]);
    assert_ne!(ran.code, 0);
    assert!(!dir.path().join("third").exists(), "nothing is written: {}", ran.err);
}

/// The digest of a file, as `whet` states it.
fn blake3_of(path: &Path) -> String {
    blake3::hash(&fs::read(path).unwrap()).to_hex().to_string()
}
