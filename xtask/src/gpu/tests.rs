//! Tests of bundles and their results.

use super::*;
use std::os::unix::fs::PermissionsExt;

fn program(dir: &Path, name: &str, script: &str) {
    let path = dir.join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_bundle_is_run_to_its_end_and_what_failed_is_named() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["model-tests", "infer-tests", "gpu-bench"] {
        program(dir.path(), name, "echo \"$WHET_TESTDATA\"");
    }
    program(dir.path(), "loops-tests", "echo \"$@\"");
    program(dir.path(), "whet", "pwd; echo \"$@\"");
    program(dir.path(), "cuda-bench", "echo \"$XDG_CACHE_HOME\"");
    program(dir.path(), "cuda-tests", "echo one failed; exit 1");
    let mut said = Vec::new();
    let error = execute(dir.path(), &mut said).unwrap_err();
    assert!(error.contains("tests.log") && !error.contains("warm.json"), "{error}");
    let read = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
    assert!(read("warm.json").trim().ends_with("/cache"), "{}", read("warm.json"));
    assert_eq!(read("tests.log"), "one failed\n");
    assert_eq!(read("loops.log"), "cuda::\n");
    assert!(read("models.json").trim().ends_with("/testdata"), "{}", read("models.json"));
    // What `whet` leaves behind is in the folder that is emptied.
    let said_by_whet = read("quickstart.json");
    assert!(said_by_whet.contains("/cache\nquickstart --device"), "{said_by_whet}");
    assert!(read(RESULTS).contains("\"log\": \"tests.log\", \"passed\": false"));
    program(dir.path(), "cuda-tests", "exit 0");
    execute(dir.path(), &mut said).unwrap();
}

#[test]
fn what_is_run_is_in_the_bundle_and_what_is_in_it_is_run() {
    for (program, _, _) in RUNS {
        assert!(PARTS.iter().any(|part| part.name == program), "{program}");
    }
    for part in PARTS.iter().filter(|part| part.name != THIS) {
        assert!(RUNS.iter().any(|(program, _, _)| *program == part.name), "{}", part.name);
    }
}

fn ended(program: &'static str, log: &'static str, passed: bool) -> Ended {
    Ended { program, log, passed, seconds: 1.25, how: String::new() }
}

#[test]
fn results_are_one_object_without_what_failed() {
    let all = [
        ended("cuda-tests", "tests.log", true),
        ended("gpu-bench", "models.json", true),
        ended("cuda-bench", "warm.json", false),
    ];
    let read = |log: &str| match log {
        "models.json" => "{\n  \"a\": 1\n}\n".to_owned(),
        _ => "{ not ended".to_owned(),
    };
    let expected = r#"{
  "runs": [
    { "program": "cuda-tests", "log": "tests.log", "passed": true, "seconds": 1.2 },
    { "program": "gpu-bench", "log": "models.json", "passed": true, "seconds": 1.2 },
    { "program": "cuda-bench", "log": "warm.json", "passed": false, "seconds": 1.2 }
  ],
  "results": {
    "models": {
      "a": 1
    }
  }
}
"#;
    assert_eq!(results_of(&all, read), expected);
}

#[test]
fn a_table_has_a_line_for_each_measurement() {
    let text = "{\n  \"lora\": {\n    \"load_s\": 11.8,\n    \"step_ms\": 130.5,\n    \"held_gib\": 16.7\n  },\n\
                    \"rows\": [\n{\n\"sequences\": 64,\n\"step_ms\": 2.36,\n\
                    \"other_bits_than_training\": \"0 of 4096\"\n}\n";
    assert_eq!(
        figures(text),
        [
            "step_ms 130.5  held_gib 16.7",
            "sequences 64  step_ms 2.36  other_bits_than_training 0 of 4096",
        ]
    );
    assert!(figures("no JSON\n").is_empty());
}

#[test]
fn a_packed_folder_has_all_that_is_in_it() {
    let dir = tempfile::tempdir().unwrap();
    let bundle = dir.path().join("bundle");
    fs::create_dir_all(bundle.join("a")).unwrap();
    fs::write(bundle.join("a/one"), "1").unwrap();
    let (packed, bytes) = pack(&bundle).unwrap();
    assert_eq!(packed, dir.path().join("bundle.tar.gz"));
    assert!(bytes > 0);
    let there = dir.path().join("there");
    fs::create_dir(&there).unwrap();
    let args = [Path::new("-xzf"), &packed, Path::new("-C"), &there];
    assert!(Command::new("tar").args(args).status().unwrap().success());
    assert_eq!(fs::read_to_string(there.join("a/one")).unwrap(), "1");
}

#[test]
fn a_folder_is_copied_with_all_that_is_in_it() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("a/b")).unwrap();
    fs::write(dir.path().join("a/one"), "1").unwrap();
    fs::write(dir.path().join("a/b/two"), "22").unwrap();
    let to = dir.path().join("c");
    assert_eq!(copy_folder(&dir.path().join("a"), &to).unwrap(), 3);
    assert_eq!(fs::read_to_string(to.join("b/two")).unwrap(), "22");
}

#[test]
fn other_words_are_refused() {
    let error = run(Path::new("."), &["--fast"], &mut Vec::new()).unwrap_err();
    assert!(error.starts_with("usage: cargo xtask gpu"), "{error}");
}
