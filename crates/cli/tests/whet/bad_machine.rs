//! Machines that lack something: what is missing is said in a sentence with a hint, and never by a panic.
//!
//! A file system that is full or read-only is made in a user and a mount namespace of its own, which takes no root.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![expect(clippy::print_stderr, reason = "a test says what it skips")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::tiny_school::{grpo, judged, school};

const TASK: &str =
    r#"{"id":"a","statement":"Write `f`.","entry_point":"f","tests":["assert f() == 1"]}"#;

/// A folder with a task and replies to it.
fn folder() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let reply = |at: usize| {
        let text = format!("```python\\ndef f():\\n    return {at}\\n```");
        format!(r#"{{"step":{at},"prompt_id":"a","text":"{text}"}}"#) + "\n"
    };
    fs::write(dir.path().join("tasks.jsonl"), TASK).unwrap();
    fs::write(dir.path().join("r.jsonl"), (0..60).map(reply).collect::<String>()).unwrap();
    dir
}

/// Runs a script of a shell in `folder`; in it, `whet` is the binary.
fn script(folder: &Path, script: &str) -> Output {
    let script = format!("whet() {{ {} \"$@\"; }}; {script}", env!("CARGO_BIN_EXE_whet"));
    Command::new("/bin/sh").args(["-c", &script]).current_dir(folder).output().unwrap()
}

/// The same as root of fresh namespaces; nothing where the kernel refuses them.
fn script_apart(folder: &Path, inner: &str) -> Option<Output> {
    fs::create_dir_all(folder.join("disk")).unwrap();
    let apart = |inner: &str| {
        let mut command = Command::new("unshare");
        command.args(["-Urm", "/bin/sh", "-c", inner]).current_dir(folder).output()
    };
    let tried = apart("mount -t tmpfs -o size=64k none disk");
    if !tried.is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED: no file system can be mounted in a user namespace here");
        return None;
    }
    let whet = format!("whet() {{ {} \"$@\"; }}; {inner}", env!("CARGO_BIN_EXE_whet"));
    Some(apart(&whet).unwrap())
}

/// Standard output and standard error, of which neither speaks of a panic.
#[track_caller]
fn said(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    let text = String::from_utf8(text).unwrap();
    assert!(!text.contains("panicked") && !text.contains("backtrace"), "{text}");
    text
}

#[test]
fn a_deleted_current_directory_is_named_by_every_command() {
    let dir = folder();
    for command in ["doctor", "runs", "score ../r.jsonl --prompts ../tasks.jsonl", "quickstart"] {
        let gone = format!("mkdir gone && cd gone && rmdir ../gone && whet {command}");
        let output = script(dir.path(), &gone);
        let text = said(&output);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.starts_with("error: the current directory was deleted"), "{text}");
        assert!(text.contains("\n  hint: change to another one with `cd`"), "{text}");
    }
}

#[test]
fn without_a_path_the_interpreter_is_found_where_systems_have_it() {
    if !judged() || !Path::new("/usr/bin/python3").exists() {
        return;
    }
    let dir = folder();
    let output = script(dir.path(), "unset PATH; whet score r.jsonl --prompts tasks.jsonl");
    let text = said(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("60 of 60 lines scored into r.scored.jsonl"), "{text}");
    let text = said(&script(dir.path(), "unset PATH; whet doctor"));
    assert!(text.contains(" PASS python3: 3."), "{text}");
}

#[test]
fn files_that_a_shell_keeps_open_do_not_stop_the_judge() {
    if !judged() {
        return;
    }
    let dir = folder();
    let open = "exec 3>&1 4</dev/null 9>open; whet score r.jsonl --prompts tasks.jsonl";
    let output = script(dir.path(), open);
    let text = said(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("60 of 60 lines scored into r.scored.jsonl"), "{text}");
}

#[test]
fn without_python_each_command_that_judges_says_so() {
    let dir = folder();
    let nowhere = format!("PATH={}; export PATH;", dir.path().display());
    let output = script(dir.path(), &format!("{nowhere} whet score r.jsonl --prompts tasks.jsonl"));
    let text = said(&output);
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(text.contains("cannot start the interpreter `python3`"), "{text}");
    assert!(text.contains("hint: `whet doctor` checks everything the judge needs"), "{text}");
    let text = said(&script(dir.path(), &format!("{nowhere} whet doctor")));
    assert!(text.contains("FAIL python3: `python3` cannot be started"), "{text}");
}

#[test]
fn a_limit_on_namespaces_is_not_called_a_full_disk() {
    let dir = folder();
    let limited = "echo 0 > /proc/sys/user/max_user_namespaces; whet doctor";
    let Some(output) = script_apart(dir.path(), limited) else { return };
    let text = said(&output);
    assert!(text.contains("WARN namespaces"), "{text}");
    assert!(!text.contains("No space left on device"), "{text}");
    if judged() {
        let reason = "the kernel refuses fresh namespaces: a limit in /proc/sys/user is reached";
        assert!(text.contains(reason), "{text}");
    }
}

#[test]
fn a_read_only_file_system_is_named_with_the_place() {
    let dir = folder();
    let read_only = "mount -t tmpfs -o ro none disk; cd disk; \
                     whet score ../r.jsonl --prompts ../tasks.jsonl --skip-runtime --out r.scored.jsonl; \
                     whet quickstart; whet doctor";
    let Some(output) = script_apart(dir.path(), read_only) else { return };
    let text = said(&output);
    for part in [
        "error: cannot open `r.scored.jsonl.journal`: Read-only file system",
        "error: cannot create the directory `runs`: Read-only file system",
        "hint: check who owns that place and whether it is mounted read-only, or write elsewhere",
        "FAIL disk: `runs` cannot be written",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn a_disk_that_is_full_in_the_middle_of_a_scoring_costs_nothing_but_time() {
    let dir = folder();
    let full = "mount -t tmpfs -o size=12k none disk; \
                score() { whet score r.jsonl --prompts tasks.jsonl --skip-runtime --out $1; }; \
                score disk/s.jsonl && exit 9; \
                mount -o remount,size=1m disk; \
                score disk/s.jsonl; score t.jsonl >&2; cmp disk/s.jsonl t.jsonl && echo equal";
    let Some(output) = script_apart(dir.path(), full) else { return };
    let text = said(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("No space left on device"), "{text}");
    assert!(text.contains("hint: free some space, then resume the run"), "{text}");
    assert!(text.contains("lines had been judged by an earlier run"), "{text}");
    assert!(text.contains("equal\n"), "{text}");
}

#[test]
fn a_training_that_a_full_disk_ended_before_it_began_is_started_by_the_same_command() {
    if !judged() {
        return;
    }
    let dir = school();
    fs::rename(dir.path().join("tasks.jsonl"), dir.path().join("few.jsonl")).unwrap();
    let tasks = fs::read_to_string(dir.path().join("few.jsonl")).unwrap();
    let name = tasks.split('"').find(|word| word.starts_with("t/")).unwrap();
    let more = tasks.lines().next().unwrap();
    // More tasks than fit on the disk, so that their copy is what fails.
    let many = (0..400).map(|at| more.replacen(name, &format!("t/more-{at}"), 1) + "\n");
    fs::write(dir.path().join("tasks.jsonl"), tasks.clone() + &many.collect::<String>()).unwrap();
    let command = |flags: &[&str]| {
        let flags = [&["--set=run.dir=disk", "--set=training.max_steps=1"], flags].concat();
        format!("'{}'", grpo("g", &flags).join("' '"))
    };
    let (begin, resume) =
        (command(&[]), command(&["--resume"]).replace("'--set=training.max_steps=1'", ""));
    let script = format!(
        "mount -t tmpfs -o size=64k none disk; set -x; whet {begin}; echo rc $?; ls -a disk/g; whet {resume}; \
         echo rc $?; whet {begin}; echo rc $?; mount -o remount,size=64m disk; whet {begin}; echo rc $?; \
         ls disk/g/inputs; whet {begin}; echo rc $?"
    );
    let Some(output) = script_apart(dir.path(), &script) else { return };
    let text = said(&output);
    let codes: Vec<&str> = text.lines().filter(|line| line.starts_with("rc ")).collect();
    assert_eq!(codes, ["rc 3", "rc 2", "rc 3", "rc 0", "rc 2"], "{text}");
    for part in [
        "error: cannot write `disk/g/inputs/tasks.jsonl`: No space left on device",
        "hint: free some space, then run the same command again",
        "error: the run was not begun: nothing is recorded of it but its start",
        "hint: give the same command again without `--resume`",
        "inputs.json",
        "the run `disk/g` exists already",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains("then resume the run"), "nothing can be resumed\n{text}");
}

#[test]
fn an_export_that_finds_no_place_names_its_target_and_leaves_nothing() {
    let dir = folder();
    let script = "mount -t tmpfs -o size=64k none disk; whet export embedded --out disk/m; echo rc $?; \
                  whet man --out disk/man; echo rc $?; ls -A disk; \
                  mount -o remount,ro disk; whet export embedded --out disk/n; echo rc $?; \
                  whet man --out disk/man2; echo rc $?";
    let Some(output) = script_apart(dir.path(), script) else { return };
    let text = said(&output);
    for part in [
        "error: cannot write `disk/m/model.safetensors`: No space left on device (os error 28)\n  \
         hint: free some space, then run the same command again\n",
        "error: cannot write to `disk/man`: No space left on device (os error 28)\n  \
         hint: free some space, then run the same command again\n",
        "error: cannot write `disk/n`: Read-only file system (os error 30)\n  \
         hint: check who owns that place and whether it is mounted read-only, or write elsewhere\n",
        "error: cannot write to `disk/man2`: Read-only file system (os error 30)\n  \
         hint: check who owns that place",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert_eq!(text.matches("rc 3\n").count(), 4, "{text}");
}

/// The signal of a file that outgrows the limit ends nothing, and the programs of the judge have it as usual.
#[test]
fn a_limit_on_the_size_of_files_is_an_error_like_a_full_disk() {
    let dir = folder();
    // The embedded student is unpacked before, where that has not happened yet.
    let script_text = "whet model info embedded >/dev/null 2>&1; ulimit -S -f 200; \
                       whet export embedded --out m; echo rc $?; ls -A";
    let output = script(dir.path(), script_text);
    let text = said(&output);
    let error = "error: cannot write `m/model.safetensors`: File too large (os error 27)\n  \
                 hint: free some space, then run the same command again\n";
    assert!(text.contains(error) && text.contains("rc 3\n"), "{text}");
    assert!(!dir.path().join("m").exists(), "{text}");
    if !judged() {
        return;
    }
    let body = "import signal\\ndef f():\\n    return int(signal.SIGXFSZ not in signal.pthread_sigmask(0, []))";
    let reply = format!(r#"{{"step":0,"prompt_id":"a","text":"```python\n{body}\n```"}}"#) + "\n";
    fs::write(dir.path().join("r.jsonl"), reply).unwrap();
    let output = script(dir.path(), "whet score r.jsonl --prompts tasks.jsonl --out s.jsonl");
    let text = said(&output);
    let scored = fs::read_to_string(dir.path().join("s.jsonl")).expect(&text);
    assert!(scored.contains(r#""pass""#), "{scored}");
}

#[test]
fn names_beyond_ascii_work_in_a_locale_without_utf_8() {
    let dir = folder();
    fs::rename(dir.path().join("r.jsonl"), dir.path().join("größe.jsonl")).unwrap();
    for locale in ["C", "POSIX", "en_US.ISO-8859-1"] {
        let score = "whet score größe.jsonl --prompts tasks.jsonl --skip-runtime";
        let output = script(dir.path(), &format!("export LC_ALL={locale}; {score}"));
        let text = said(&output);
        assert_eq!(output.status.code(), Some(0), "{text}");
        assert!(text.contains("scored into größe.scored.jsonl"), "{text}");
    }
}
