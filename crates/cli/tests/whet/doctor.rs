//! `whet doctor`: numbered lines, a total, and an exit code that a script can use.

use crate::binary::{whet_in, whet_with};

#[test]
fn every_check_has_a_number_and_a_status() {
    let folder = tempfile::tempdir().unwrap();
    let ran = whet_in(folder.path(), &["doctor"]);
    let lines: Vec<_> = ran.out.lines().filter(|line| !line.contains("hint:")).collect();
    let (checks, rest) = lines.split_at(14);
    for (at, line) in checks.iter().enumerate() {
        let (number, text) = line.trim().split_once(". ").expect(line);
        assert_eq!(number, (at + 1).to_string(), "{line}");
        assert!(["PASS ", "WARN ", "FAIL "].iter().any(|s| text.starts_with(s)), "{line}");
    }
    assert!(rest[1].starts_with("14 checks: "), "{rest:?}");
    let failed = checks.iter().any(|line| line.contains(". FAIL "));
    assert_eq!(ran.code, i32::from(failed), "{}", ran.out);
}

#[test]
fn a_failed_check_ends_with_1_and_a_hint() {
    let config = "[sandbox]\npython = \"/no/such/python3\"\n";
    let ran = whet_with(config, &["doctor", "--config", "config.toml"]);
    assert_eq!(ran.code, 1, "{}", ran.out);
    assert!(ran.out.contains("FAIL python3: `/no/such/python3` cannot be started"), "{}", ran.out);
    assert!(ran.out.contains("hint: install Python 3"), "{}", ran.out);
}

#[test]
fn an_interpreter_that_hangs_up_or_babbles_fails() {
    for command in ["true", "false", "yes"] {
        let set = format!("sandbox.python={command}");
        let ran = whet_with("", &["doctor", "--set", &set, "--json"]);
        let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        let checks = report["checks"].as_array().unwrap();
        let python = checks.iter().find(|check| check["check"] == "python3").unwrap();
        assert_eq!(python["status"], "FAIL", "{command}: {python}");
    }
}

#[test]
fn a_folder_that_cannot_be_written_fails() {
    // Not even root writes there.
    let ran = whet_with("", &["doctor", "--set", "run.dir=/proc/runs"]);
    assert_eq!(ran.code, 1, "{}", ran.out);
    assert!(ran.out.contains("FAIL disk: `/proc/runs` cannot be written in /proc"), "{}", ran.out);
}

#[test]
fn namespaces_are_said_to_be_there_when_they_can_be_entered() {
    let entered = whet_with("", &["__probe", "namespaces"]).code == 0;
    let ran = whet_with("", &["doctor"]);
    let said = ran.out.contains("PASS namespaces:");
    assert_eq!(said, entered, "{}", ran.out);
}

#[test]
fn json_counts_what_it_lists() {
    let ran = whet_with("", &["doctor", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let checks = report["checks"].as_array().unwrap();
    let count = |status: &str| checks.iter().filter(|check| check["status"] == status).count();
    assert_eq!(report["total"], checks.len());
    assert_eq!(report["passed"], count("PASS"));
    assert_eq!(report["warnings"], count("WARN"));
    assert_eq!(report["failed"], count("FAIL"));
    assert!(ran.err.is_empty(), "{}", ran.err);
}

#[test]
fn a_broken_config_is_a_usage_error() {
    let ran = whet_with("sead = 1", &["doctor", "--config", "config.toml"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("error: the config has 1 problem\n"), "{}", ran.err);
    assert!(ran.err.contains("did you mean `seed`?"), "{}", ran.err);
}
