//! Sequence and reply lengths that are not set: limited to the context length of the student.

use std::fs;

use crate::binary::whet_in;
use crate::tiny_school::{judged, school};

#[test]
fn lengths_that_nobody_set_are_those_of_the_student() {
    if !judged() {
        return;
    }
    let dir = school();
    let short = ["--set", "training.max_steps=1", "--set", "student.model_name=student"];
    let said =
        "the student was made for 256 tokens: sequences have as many at most, and replies 128";
    for kind in ["grpo", "ppo", "sft"] {
        let files: &[&str] = match kind {
            "grpo" => &["--tasks=tasks.jsonl", "--set=dual_source.teacher_sft_weight=0"],
            "ppo" => {
                &["--tasks=tasks.jsonl", "--set=ppo.batch_size=4", "--set=ppo.mini_batch_size=4"]
            }
            _ => &["--traces=traces.jsonl"],
        };
        let beginning = ["train", kind, "--run=planned", "--threads=1"];
        let ran = whet_in(dir.path(), &[&beginning[..], files, &short].concat());
        assert!(ran.code == 0 && ran.err.contains(said), "{kind}: {}", ran.err);
        let config = fs::read_to_string(dir.path().join("runs/planned/config.toml")).unwrap();
        assert!(config.contains("max_length = 256"), "{kind}: {config}");
        fs::remove_dir_all(dir.path().join("runs/planned")).unwrap();
    }
}
