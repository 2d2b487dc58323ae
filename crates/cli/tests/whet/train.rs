//! `whet train` given what nobody can learn from, or broken meanwhile: a sentence that says what to
//! do, an exit code, and nothing that was written before is lost.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use crate::binary::{Ran, whet_in};
use crate::tiny_school::{files, grpo, judged, records, school, steps, trained, unsolvable};

/// Checks how a training ended, and what it said.
#[track_caller]
fn check(ran: &Ran, code: i32, said: &[&str]) {
    assert_eq!((ran.code, ran.out.as_str()), (code, ""), "{}", ran.err);
    for part in said {
        assert!(ran.err.contains(part), "{part}\n{}", ran.err);
    }
}

/// Runs `whet train grpo` in a new run, with these flags.
fn run(dir: &Path, flags: &[&str]) -> Ran {
    trained(dir, &grpo("run", flags))
}

fn last_event(dir: &Path, run: &str) -> serde_json::Value {
    let path = dir.join("runs").join(run).join("events.jsonl");
    records(&path).pop().expect("an event")
}

#[test]
fn what_cannot_begin_says_why_and_leaves_no_run_behind() {
    if !judged() {
        return;
    }
    let dir = school();
    let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
    write("empty.jsonl", "");
    let traces = fs::read_to_string(dir.path().join("traces.jsonl")).unwrap();
    write("others.jsonl", &traces.replace("\"t/", "\"u/"));
    write("wrong.jsonl", &traces.replace("\"pass\"", "\"wrong\""));
    let cases: [(&[&str], &[&str]); 9] = [
        (
            &["--tasks=empty.jsonl"],
            &["error: there are no tasks to learn from", "hint: name another file with `--tasks`"],
        ),
        (
            &["--tasks=gone.jsonl"],
            &["error: gone.jsonl: cannot read: No such file", "hint: `whet data prepare` makes"],
        ),
        (
            &["--traces=others.jsonl"],
            &[
                "no task has a passing trace in `others.jsonl`",
                "hint: name a file of these tasks",
                "warning: nothing is left of `others.jsonl`: 4 traces, 4 of tasks that are not trained on",
            ],
        ),
        (
            &["--traces=wrong.jsonl"],
            &[
                "no task has a passing trace in `wrong.jsonl`",
                "warning: nothing is left of `wrong.jsonl`: 4 traces, 4 that do not pass",
            ],
        ),
        (
            &["--set=training.learning_rate=1e3"],
            &["error: the config has 1 problem", "training.learning_rate"],
        ),
        (
            &["--set=grpo.max_completion_length=120"],
            &["every task's prompt has more than 40 tokens", "hint: raise `training.max_length`"],
        ),
        (
            &["--set=grpo.num_samples_per_prompt=3"],
            &["2 × 2 = 4 sequences, which are no whole groups of 3"],
        ),
        (
            &["--set=training.max_length=300"],
            &["`training.max_length` is 300, but the student was made for 256 tokens"],
        ),
        (&["--set=student.model_name=gone"], &["gone"]),
    ];
    for (flags, said) in cases {
        let ran = run(dir.path(), flags);
        check(&ran, 2, said);
        assert!(!dir.path().join("runs/run").exists(), "{flags:?}");
    }
    fs::remove_file(dir.path().join("student/chat_template.jinja")).unwrap();
    let ran = run(dir.path(), &[]);
    check(&ran, 2, &["the student has no chat template", "hint: use a model that was tuned"]);
    assert!(!dir.path().join("runs/run").exists());
}

#[test]
fn tasks_that_nobody_solves_end_the_run_which_can_go_on() {
    if !judged() {
        return;
    }
    let dir = school();
    fs::write(dir.path().join("unsolvable.jsonl"), unsolvable(dir.path(), "t/")).unwrap();
    let flags = ["--tasks=unsolvable.jsonl", "--set=grpo.patience_steps=3"];
    let ran = run(dir.path(), &[&flags[..], &["--set=training.max_steps=9"]].concat());
    check(
        &ran,
        1,
        &["error: no ", " 3 steps", "hint: use", "the last checkpoint holds the training so far"],
    );
    assert_eq!(last_event(dir.path(), "run")["outcome"], "failed");
    assert_eq!(steps(dir.path(), "run"), [1, 2, 3]);
    assert!(dir.path().join("runs/run/outputs/checkpoint-3").is_dir());
    // A resumed run gets as many steps again.
    let ran = run(dir.path(), &["--tasks=unsolvable.jsonl", "--resume"]);
    check(&ran, 1, &["error: no ", " 3 steps"]);
    assert_eq!(steps(dir.path(), "run"), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn numbers_that_are_none_stop_the_run_and_another_begins_from_its_checkpoint() {
    if !judged() {
        return;
    }
    let dir = school();
    let steps_set = ["--set=training.max_steps=4", "--set=training.save_steps=1"];
    let ran = trained(dir.path(), &grpo("probe", &steps_set));
    assert_eq!(ran.code, 0, "{}", ran.err);
    // Traces of a task that the first step does not take: from then on a weight is too large.
    let rollouts = records(&dir.path().join("runs/probe/rollouts/rollouts.jsonl"));
    let first: Vec<&str> =
        rollouts[..4].iter().filter_map(|rollout| rollout["prompt_id"].as_str()).collect();
    let traces = fs::read_to_string(dir.path().join("traces.jsonl")).unwrap();
    let others = traces.lines().filter(|line| !first.iter().any(|id| line.contains(id)));
    let others: Vec<String> = others.map(|line| format!("{line}\n")).collect();
    fs::write(dir.path().join("others.jsonl"), others.concat()).unwrap();
    let large = ["--traces=others.jsonl", "--set=dual_source.teacher_sft_weight=1e40"];
    let ran = run(dir.path(), &[&steps_set[..], &large].concat());
    let said = [
        "error: step 2: the gradient of `",
        "is not finite; no checkpoint is touched, and the batch is in `runs/run/logs/batch-of-step-2.json`",
        "hint: resuming repeats the same step, so start a new run from a checkpoint",
    ];
    check(&ran, 1, &said);
    assert!(dir.path().join("runs/run/logs/batch-of-step-2.json").is_file());
    check(&run(dir.path(), &["--traces=others.jsonl", "--resume"]), 1, &said);
    for missing in ["runs/run/outputs/checkpoint-9", "runs/run"] {
        let ran = trained(dir.path(), &grpo("other", &[&format!("--from={missing}")]));
        let said = format!("error: there is no checkpoint at `{missing}`\n");
        check(&ran, 2, &[&said, "hint: `runs/run/outputs` has checkpoint-1\n"]);
    }
    let ran = trained(dir.path(), &grpo("other", &["--from=nowhere"]));
    check(
        &ran,
        2,
        &["error: there is no checkpoint at `nowhere`", "hint: checkpoints of a run are"],
    );
    let from = ["--from=runs/run/outputs/checkpoint-1", "--traces=others.jsonl"];
    let ran = trained(dir.path(), &grpo("other", &[&steps_set[..], &from].concat()));
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(steps(dir.path(), "other"), [2, 3, 4]);
    assert_eq!(steps(dir.path(), "run"), [1]);
}

/// A learning rate of 1 is allowed, and whatever comes of it has a record.
#[test]
fn the_largest_learning_rate_ends_in_a_record() {
    if !judged() {
        return;
    }
    let dir = school();
    let flags = ["--set=training.learning_rate=1", "--set=training.max_steps=5"];
    let ran = run(dir.path(), &[&flags[..], &["--set=training.save_steps=1"]].concat());
    let outcome = last_event(dir.path(), "run")["outcome"].clone();
    match ran.code {
        0 => assert_eq!(outcome, "completed"),
        1 => {
            assert_eq!(outcome, "failed");
            assert!(ran.err.contains("hint: resuming repeats the same step"), "{}", ran.err);
        }
        _ => panic!("{}", ran.err),
    }
}

#[test]
fn a_disk_that_is_full_at_a_checkpoint_costs_nothing_but_time() {
    if !judged() {
        return;
    }
    let dir = school();
    let flags = ["--set=training.max_steps=4", "--set=training.save_steps=2", "--set=lora.rank=64"];
    let ran = trained(dir.path(), &grpo("whole", &flags));
    assert_eq!(ran.code, 0, "{}", ran.err);
    // Files of 24 or 48 KiB, as the shell counts: less than the adapter, more than two steps. A soft
    // limit, which the jail can still set as it needs.
    let script = r#"trap '' XFSZ && ulimit -S -f 48 && exec "$0" "$@""#;
    let output = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_whet")])
        .args(grpo("run", &flags))
        .current_dir(dir.path())
        .output()
        .unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{err}");
    assert!(err.contains("error: cannot write the weights: "), "{err}");
    assert!(err.contains("hint: free some space, then"), "{err}");
    assert_eq!(steps(dir.path(), "run"), [1, 2]);
    let outputs = fs::read_dir(dir.path().join("runs/run/outputs")).unwrap();
    assert_eq!(outputs.count(), 0, "no half of a checkpoint");
    let ran = run(dir.path(), &["--resume"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let model = |run: &str| files(&dir.path().join("runs").join(run).join("outputs/final_model"));
    assert!(model("whole") == model("run"));
    assert_eq!(steps(dir.path(), "run"), [1, 2, 3, 4]);
}

#[test]
fn a_directory_that_is_taken_away_ends_the_run() {
    if !judged() {
        return;
    }
    let dir = school();
    let flags = ["--set=training.max_steps=4000", "--set=training.save_steps=0"];
    let child = Command::new(env!("CARGO_BIN_EXE_whet"))
        .args(grpo("run", &flags))
        .current_dir(dir.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while steps(dir.path(), "run").len() < 3 {
        thread::yield_now();
    }
    fs::rename(dir.path().join("runs/run"), dir.path().join("away")).unwrap();
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{err}");
    assert!(err.contains("`runs/run` was removed while it was being written"), "{err}");
    assert!(err.contains("hint: start a new run"), "{err}");
    assert!(!dir.path().join("runs/run").exists());
}

#[test]
fn a_run_is_gone_on_with_as_it_was_begun_or_not_at_all() {
    if !judged() {
        return;
    }
    let dir = school();
    let flags = ["--set=training.max_steps=5", "--set=training.save_steps=2"];
    let ran = run(dir.path(), &flags);
    assert_eq!((ran.code, ran.out.as_str()), (0, "runs/run/outputs/final_model\n"), "{}", ran.err);
    check(&run(dir.path(), &flags), 2, &["the run `runs/run` exists already", "resume the run"]);
    let ran = run(dir.path(), &["--resume", "--set=training.learning_rate=1"]);
    check(&ran, 2, &["a run resumes with its original settings"]);
    let heart = ["train", "sft", "--traces=traces.jsonl", "--run=run", "--resume"];
    let ran = whet_in(dir.path(), &heart);
    check(&ran, 2, &["`runs/run` is one of `whet train grpo`", "hint: name another run"]);

    let outputs = dir.path().join("runs/run/outputs");
    let model = files(&outputs.join("final_model"));
    fs::remove_dir_all(outputs.join("final_model")).unwrap();
    let adapter = outputs.join("checkpoint-4/adapter_model.safetensors");
    let bytes = fs::read(&adapter).unwrap();
    fs::write(&adapter, &bytes[..bytes.len() / 2]).unwrap();
    let said = [
        "error: cannot read the checkpoint `runs/run/outputs/checkpoint-4`: ",
        "hint: remove this directory: `--resume` then continues from the checkpoint before it",
    ];
    check(&run(dir.path(), &["--resume"]), 3, &said);
    fs::remove_dir_all(outputs.join("checkpoint-4")).unwrap();
    let ran = run(dir.path(), &["--resume"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(files(&outputs.join("final_model")) == model, "the same bytes");
    assert_eq!(steps(dir.path(), "run"), [1, 2, 3, 4, 5]);
    assert_eq!(run(dir.path(), &["--resume"]).code, 0, "a run that is done stays done");
    assert_eq!(steps(dir.path(), "run"), [1, 2, 3, 4, 5]);
}

#[test]
fn a_run_goes_on_with_the_files_that_it_was_begun_with() {
    if !judged() {
        return;
    }
    let dir = school();
    let ran = run(dir.path(), &["--set=training.max_steps=4", "--set=training.save_steps=2"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let outputs = dir.path().join("runs/run/outputs");
    let model = files(&outputs.join("final_model"));
    fs::remove_dir_all(outputs.join("final_model")).unwrap();

    // As if it had been killed, and its tasks edited since.
    let tasks = fs::read(dir.path().join("tasks.jsonl")).unwrap();
    fs::write(dir.path().join("tasks.jsonl"), unsolvable(dir.path(), "t/")).unwrap();
    let edited = fs::read(dir.path().join("tasks.jsonl")).unwrap();
    let digests = [&edited, &tasks].map(|bytes| blake3::hash(bytes).to_hex().to_string());
    let ran = run(dir.path(), &["--resume"]);
    check(
        &ran,
        2,
        &[&digests[0], &digests[1], "`tasks.jsonl` is not the file that the run was started with"],
    );
    assert!(ran.err.contains("hint: leave out `--tasks`"), "{}", ran.err);

    let bare = ["train", "grpo", "--threads=1", "--run=run", "--resume"];
    let held_out = [&bare[..], &["--held-out=tasks.jsonl"]].concat();
    let ran = whet_in(dir.path(), &held_out);
    check(&ran, 2, &["the run was started without `--held-out`"]);
    let ran = whet_in(dir.path(), &bare);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(files(&outputs.join("final_model")) == model, "the same bytes");
    let known = fs::read(dir.path().join("runs/run/inputs/tasks.jsonl")).unwrap();
    assert!(known == tasks, "the run has its own copy");

    // A run from before files were kept asks for them, and says which files it resumes with.
    fs::remove_dir_all(dir.path().join("runs/run/inputs")).unwrap();
    let ran = whet_in(dir.path(), &bare);
    check(&ran, 2, &["the run has no record of its input files", "hint: name the files"]);
    fs::write(dir.path().join("tasks.jsonl"), &tasks).unwrap();
    let ran = run(dir.path(), &["--resume"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let said = "the run has no record of its input files; it resumes with `tasks.jsonl`";
    assert!(ran.err.contains(said), "{}", ran.err);
    assert!(dir.path().join("runs/run/inputs/inputs.json").exists(), "and knows them from now on");

    // Traces are not copied, so others are refused wherever they come from.
    let traces = fs::read_to_string(dir.path().join("traces.jsonl")).unwrap();
    fs::write(dir.path().join("traces.jsonl"), format!("{traces}\n")).unwrap();
    let ran = whet_in(dir.path(), &bare);
    check(
        &ran,
        2,
        &["`traces.jsonl` is not the file that the run was started with", "hint: name the traces"],
    );
}

#[test]
fn tasks_whose_prompts_are_too_long_are_left_out_and_counted() {
    if !judged() {
        return;
    }
    let dir = school();
    let tasks = fs::read_to_string(dir.path().join("tasks.jsonl")).unwrap();
    let long = tasks.replacen("Write f.", &"Write f. ".repeat(40), 1);
    let long = long.replacen("\"id\"", "\"source\":\"apps\",\"id\"", 1);
    fs::write(dir.path().join("tasks.jsonl"), long).unwrap();
    let ran = run(dir.path(), &["--set=training.max_steps=2", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.err.contains("tasks.jsonl: left out: 1 task with prompts of more than 128 tokens"),
        "{}",
        ran.err
    );
    let lost = "warning: nothing is left of the source `apps`: 1 task, 1 with prompts of more than 128 tokens\n";
    assert!(ran.err.contains(lost), "{}", ran.err);
    assert!(
        !ran.err.contains("source `no source`"),
        "of the others something is left: {}",
        ran.err
    );
    assert!(ran.out.contains("groups from 3 tasks"), "{}", ran.out);
}

#[test]
fn answers_that_are_all_cut_off_are_said_after_the_first_step() {
    if !judged() {
        return;
    }
    let dir = school();
    let cut = ["--set=grpo.max_completion_length=2", "--set=training.max_steps=2"];
    let ran = run(dir.path(), &cut);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let said = "warning: all 4 answers of the first step were cut off at 2 tokens (max_new_tokens), \
                before they were whole: raise `grpo.max_completion_length`\n";
    assert_eq!(ran.err.matches(said).count(), 1, "{}", ran.err);
    let events = records(&dir.path().join("runs/run/events.jsonl"));
    let codes: Vec<_> = events.iter().filter_map(|event| event["code"].as_str()).collect();
    assert!(codes.contains(&"all_cut_off"), "{codes:?}");
}

#[test]
fn a_file_of_traces_of_which_nothing_is_left_is_named_by_sft() {
    let dir = school();
    let traces = fs::read_to_string(dir.path().join("traces.jsonl")).unwrap();
    let wrong = traces.replacen("\"pass\"", "\"wrong\"", 1).replacen("t/0", "apps/0", 1);
    fs::write(dir.path().join("some.jsonl"), wrong).unwrap();
    fs::write(dir.path().join("none.jsonl"), traces.replace("\"pass\"", "\"wrong\"")).unwrap();
    let sft = |file: &str| {
        let file = format!("--traces={file}");
        let flags = ["train", "sft", "--run=s", "--set=student.model_name=student", &file];
        whet_in(dir.path(), &[&flags[..], &["--set=training.max_length=160"]].concat())
    };
    let ran = sft("none.jsonl");
    check(&ran, 2, &["warning: nothing is left of `none.jsonl`: 4 traces, 4 that do not pass"]);
    let ran = sft("some.jsonl");
    let lost = "warning: nothing is left of the traces of `apps` in `some.jsonl`: 1 trace, 1 that do not pass";
    assert!(ran.code == 0 && ran.err.contains(lost), "{}", ran.err);
}
