//! Colours, pipes and terminals: what is written where, and that nothing else is.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs::File;
use std::process::{Command, Stdio};

use crate::binary::{Ran, whet_under};

/// A config with a warning, whose word has a colour.
const DOUBTFUL: &str = "[reward]\ncomposite = \"weighted_sum\"\nform_needs_pass = false\n";
const CHECK: [&str; 3] = ["config", "check", "config.toml"];

fn ran(args: &[&str], variables: &[(&str, &str)]) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("config.toml"), DOUBTFUL).unwrap();
    whet_under(folder.path(), args, variables)
}

/// Whether standard output and standard error of `config check` are coloured.
fn coloured(flags: &[&str], variables: &[(&str, &str)]) -> [bool; 2] {
    let Ran { code, out, err } = ran(&[&CHECK[..], flags].concat(), variables);
    assert_eq!(code, 0, "{err}");
    [out.contains("\x1b[33mwarning\x1b[0m"), err.contains("\x1b[32mok\x1b[0m")]
}

#[test]
fn the_flag_decides_before_the_variables_and_they_before_the_terminal() {
    let forced = ("CLICOLOR_FORCE", "1");
    assert_eq!(coloured(&[], &[]), [false; 2], "a pipe");
    assert_eq!(coloured(&["--color", "always"], &[]), [true; 2]);
    assert_eq!(coloured(&["--color=always"], &[("NO_COLOR", "1")]), [true; 2]);
    assert_eq!(coloured(&[], &[forced]), [true; 2]);
    assert_eq!(coloured(&["--color", "never"], &[forced]), [false; 2]);
    assert_eq!(coloured(&[], &[forced, ("NO_COLOR", "1")]), [false; 2]);
}

#[test]
fn help_usage_errors_and_logs_obey_the_flag() {
    let help = |args: &[&str]| ran(args, &[]).out.contains('\x1b');
    assert!(help(&["--help", "--color=always"]));
    assert!(help(&["--color", "always", "config", "show", "--help"]));
    assert!(!help(&["--help"]));
    let wrong = |args: &[&str]| ran(args, &[]);
    let loud = wrong(&["--color=always", "frobnicate"]);
    assert!(loud.code == 2 && loud.err.contains('\x1b'), "{}", loud.err);
    assert!(!wrong(&["frobnicate"]).err.contains('\x1b'));
    let log = |flags: &[&str]| ran(&[&CHECK[..], &["-v"], flags].concat(), &[]).err;
    assert!(log(&["--color", "always"]).contains("\x1b[34mDEBUG\x1b[0m"));
    let plain = log(&[]);
    assert!(plain.contains("DEBUG") && !plain.contains('\x1b'), "{plain:?}");
    let unknown = wrong(&["--color", "purple", "config", "show"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.err.contains("[possible values: auto, always, never]"), "{}", unknown.err);
}

#[test]
fn a_terminal_is_coloured_if_it_knows_colours() {
    let shown = |term: &str| {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("config.toml"), DOUBTFUL).unwrap();
        let spawn = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)";
        let output = Command::new("python3")
            .args(["-c", spawn, env!("CARGO_BIN_EXE_whet")])
            .args(CHECK)
            .current_dir(folder.path())
            .env_remove("NO_COLOR")
            .env_remove("CLICOLOR_FORCE")
            .env("TERM", term)
            .stdin(Stdio::null())
            .output();
        let output = output.expect("python3, which the judge needs too");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(shown("xterm-256color").contains("\x1b[33mwarning\x1b[0m"));
    let plain = shown("dumb");
    assert!(plain.contains("warning: ") && !plain.contains('\x1b'), "{plain:?}");
}

#[test]
fn closed_streams_are_no_reason_to_panic() {
    let closed = |redirect: &str, args: &str| {
        let line = format!("exec {} {args} {redirect}", env!("CARGO_BIN_EXE_whet"));
        let output = Command::new("sh").args(["-c", &line]).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!said.contains("panicked"), "{args} {redirect}: {said}");
        output.status.code().unwrap()
    };
    for args in ["config show", "--help", "--version", "completions zsh", "man"] {
        closed(">&-", args);
        closed("2>&-", args);
        closed("<&- >&- 2>&-", args);
    }
    assert_eq!(closed("2>&-", "frobnicate"), 2);
}

#[test]
fn a_locale_without_utf8_changes_no_byte() {
    let config = "[run]\ndir = \"läufe-走\"\n";
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("config.toml"), config).unwrap();
    let show = ["config", "show", "config.toml"];
    let [c, utf8] =
        ["C", "C.UTF-8"].map(|locale| whet_under(folder.path(), &show, &[("LC_ALL", locale)]).out);
    assert!(c.contains("dir = \"läufe-走\""), "{c}");
    assert_eq!(c, utf8);
}

#[test]
fn without_a_terminal_nothing_is_redrawn() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let status = Command::new(env!("CARGO_BIN_EXE_whet"))
        .args(["data", "prepare", "--embedded", "20", "--out"])
        .arg(folder.path().join("data"))
        .env("TERM", "xterm")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(&log).unwrap())
        .status();
    assert!(status.unwrap().success());
    let said = std::fs::read_to_string(log).unwrap();
    assert!(!said.contains(['\x1b', '\r']), "{said:?}");
    assert!(said.ends_with("proven.jsonl\n"), "{said:?}");
}
