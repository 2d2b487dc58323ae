//! Completions, manual pages and the version: what `whet` writes of itself.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![expect(clippy::print_stderr, reason = "a test says what it skips")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::binary::{whet_in, whet_with};

fn completions(shell: &str) -> String {
    let ran = whet_with("", &["completions", shell]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    ran.out
}

/// Runs a program, if it is installed here.
fn installed(command: &mut Command) -> Option<Output> {
    let output = command.output().ok();
    if output.is_none() {
        eprintln!("SKIPPED: there is no {} here", command.get_program().display());
    }
    output
}

#[test]
fn every_shell_has_completions_without_hidden_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = completions(shell);
        assert!(script.contains("quickstart") && script.contains("held-out"), "{shell}");
        for hidden in ["__judge", "__probe"] {
            assert!(!script.contains(hidden), "{shell} offers {hidden}");
        }
    }
    let help = whet_with("", &["completions", "--help"]).out;
    assert!(help.contains("~/.local/share/bash-completion/completions/whet"), "{help}");
}

#[test]
fn bash_completes_commands_and_flags() {
    let offered = |line: &str| -> BTreeSet<String> {
        let words: Vec<&str> = line.split(' ').collect();
        let last = words.len() - 1;
        let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        let (current, before) = (words[last], words[last - 1]);
        let simulate = format!(
            "{}\ncomplete -p whet >&2\nCOMP_WORDS=({})\nCOMP_CWORD={last}\n\
             _whet whet '{current}' '{before}'\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"",
            completions("bash"),
            quoted.join(" ")
        );
        let output = Command::new("bash").args(["--norc", "-c", &simulate]).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.ends_with(" -F _whet whet\n"), "{said}");
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
    };
    let of = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    assert_eq!(offered("whet qui"), of(&["quickstart"]));
    assert_eq!(offered("whet train grpo --held"), of(&["--held-out"]));
    assert_eq!(offered("whet --color "), of(&["auto", "always", "never"]));
    assert!(offered("whet eval ").contains("compare"));
}

#[test]
fn zsh_and_fish_can_read_theirs() {
    for (shell, flag) in [("zsh", "-n"), ("fish", "--no-execute")] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("whet");
        fs::write(&file, completions(shell)).unwrap();
        let Some(read) = installed(Command::new(shell).arg(flag).arg(&file)) else { continue };
        assert!(read.status.success() && read.stderr.is_empty(), "{shell}: {read:?}");
    }
}

/// The paths of all commands, as `--help` lists them.
fn commands(path: &[&str]) -> Vec<String> {
    let help = whet_with("", &[path, &["-h"]].concat()).out;
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| line.starts_with("  "));
    let mut found = vec![[&["whet"], path].concat().join("-")];
    for line in listed.filter(|line| !line.starts_with("   ")) {
        let name = line.split_whitespace().next().unwrap();
        if name != "help" {
            found.extend(commands(&[path, &[name]].concat()));
        }
    }
    found
}

#[test]
fn every_command_has_a_manual_page_that_groff_formats_without_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let ran = whet_in(folder.path(), &["man", "--out", "man/man1"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "man/man1\n"), "{}", ran.err);
    let man = folder.path().join("man/man1");
    let pages = fs::read_dir(&man).unwrap().map(|entry| entry.unwrap().file_name());
    let pages: BTreeSet<String> = pages.map(|name| name.into_string().unwrap()).collect();
    let expected: BTreeSet<String> =
        commands(&[]).into_iter().map(|command| format!("{command}.1")).collect();
    assert_eq!(pages, expected);
    assert!(pages.contains("whet-train-grpo.1") && !pages.iter().any(|page| page.contains("__")));
    for page in &pages {
        let arguments = ["-man", "-Tutf8", "-ww", "-k", "-rLL=100n"];
        let formatted = installed(Command::new("groff").args(arguments).arg(man.join(page)));
        let Some(formatted) = formatted else { return };
        let said = String::from_utf8_lossy(&formatted.stderr);
        assert!(formatted.status.success() && said.is_empty(), "{page}: {said}");
    }
}

#[test]
fn a_page_has_examples_line_by_line_and_is_the_same_on_every_machine() {
    let folder = tempfile::tempdir().unwrap();
    whet_in(folder.path(), &["man", "--out", "."]);
    let page = fs::read_to_string(folder.path().join("whet-score.1")).unwrap();
    let example = ".nf\n  whet score rollouts.jsonl \\-\\-prompts train.jsonl\n";
    assert!(page.contains(".SH EXAMPLES\n") && page.contains(example), "{page}");
    assert!(page.contains(".SH \"GLOBAL OPTIONS\"\n"), "{page}");
    let main = whet_in(folder.path(), &["man"]).out;
    assert_eq!(main, fs::read_to_string(folder.path().join("whet.1")).unwrap());
    assert!(!main.contains("AVX"), "the release has the same bytes wherever it is built");
    let out = whet_in(folder.path(), &["man", "--out", "whet.1"]);
    assert_eq!(out.code, 3);
    assert!(out.err.contains("cannot write to `whet.1`"), "{}", out.err);
}

#[test]
fn the_version_has_the_commit_that_was_built() {
    let short = whet_with("", &["-V"]).out;
    let long = whet_with("", &["--version"]).out;
    assert_eq!(long.lines().next(), short.lines().next(), "one line, and then the details");
    assert_eq!(short.lines().count(), 1);
    let version = short.strip_prefix(concat!("whet ", env!("CARGO_PKG_VERSION"), " ("));
    let commit = version.and_then(|rest| rest.trim_end().strip_suffix(')')).expect(&short);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let head = Command::new("git")
        .args(["show", "--no-patch", "--format=%H %cs", "HEAD"])
        .current_dir(root)
        .output();
    match head.ok().filter(|head| head.status.success() && root.join("../../.git").exists()) {
        Some(head) => {
            let head = String::from_utf8(head.stdout).unwrap();
            let (hash, date) = head.trim().split_once(' ').unwrap();
            let expected = format!("{} {date}", &hash[..9]);
            assert_eq!(commit.trim_end_matches(", modified"), expected);
        }
        None => assert_eq!(commit, "unknown commit"),
    }
    for part in ["built for  ", " profile, rustc ", "devices    cpu, cuda", "this cpu   "] {
        assert!(long.contains(part), "{long}");
    }
}
