//! What `whet` says of itself, and how it ends.

use std::process::Command;

use crate::binary::whet_with;

#[test]
fn help_teaches_the_pipeline_in_order_and_names_only_what_exists() {
    let ran = whet_with("", &["--help"]);
    assert_eq!(ran.code, 0);
    let doctor = ran.out.find("1. whet doctor").expect("the first step");
    let show = ran.out.find("2. whet config show").expect("the second step");
    assert!(doctor < show, "{}", ran.out);
    for line in ran.out.lines().filter(|line| line.contains(" whet ")) {
        let words: Vec<_> = line.split("whet ").nth(1).unwrap_or("").split_whitespace().collect();
        let command: Vec<_> =
            words.iter().take_while(|w| w.chars().all(char::is_lowercase)).collect();
        let args: Vec<_> = command.iter().map(|word| **word).chain(["--help"]).collect();
        assert_eq!(whet_with("", &args).code, 0, "`{line}` names a command that is not there");
    }
}

#[test]
fn wrong_usage_ends_with_2() {
    for args in [&["frobnicate"][..], &[], &["config"], &["doctor", "--no-such-flag"]] {
        assert_eq!(whet_with("", args).code, 2, "{args:?}");
    }
}

#[test]
fn options_of_every_command_stand_together_at_the_end() {
    for args in [&["generate", "-h"][..], &["eval", "-h"], &["config", "show", "-h"]] {
        let help = whet_with("", args).out;
        let global = help.split("\nGlobal options:\n").nth(1).expect(&help);
        let flags: Vec<_> = global.lines().filter(|line| line.contains("--")).collect();
        let named = |name: &str| flags.iter().any(|line| line.contains(name));
        assert!(flags.len() == 3 && named("--verbose") && named("--quiet"), "{args:?}: {global}");
        assert!(named("--color"), "{args:?}: {global}");
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    // A pipe whose reading end is closed before the writer starts.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let whet = Command::new(env!("CARGO_BIN_EXE_whet"))
        .args(["config", "reference"])
        .stdout(writer)
        .output()
        .unwrap();
    let err = String::from_utf8(whet.stderr).unwrap();
    assert_eq!((whet.status.code(), err.as_str()), (Some(0), ""));
}

#[test]
fn a_full_disk_under_standard_output_is_broken() {
    let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else {
        eprintln!("SKIPPED: there is no /dev/full here");
        return;
    };
    let whet = Command::new(env!("CARGO_BIN_EXE_whet"))
        .args(["config", "reference"])
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(whet.status.code(), Some(3));
    let err = String::from_utf8(whet.stderr).unwrap();
    assert!(err.contains("error: cannot write to standard output: No space left"), "{err}");
}

#[test]
fn verbose_logs_go_to_standard_error() {
    let ran = whet_with("seed = 1\n", &["config", "show", "config.toml", "-v"]);
    assert!(ran.err.contains("reading config file"), "{}", ran.err);
    assert!(!ran.out.contains("reading config file"), "{}", ran.out);
    let ran = whet_with("seed = 1\n", &["config", "show", "config.toml"]);
    assert_eq!(ran.err, "");
}
