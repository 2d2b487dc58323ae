//! `whet score` on Phaser tasks: mock rollouts of planted quality, the cache, an index of the user's, an outside
//! validator, and bad input. Nothing is run but where Phaser's package is named in `WHET_PHASER_TGZ`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::binary::{Ran, whet_in, whet_under};
use crate::tiny_school::judged;

const ROLLOUTS: [&str; 5] = ["score", "--prompts", "t.jsonl", "--rollouts", "mock.jsonl"];

/// A folder with prompts, and mock rollouts to eleven of them.
fn bench() -> TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    let sets = ["data", "prompts", "--out-train", "t.jsonl", "--out-eval", "e.jsonl"];
    assert_eq!(whet_in(dir.path(), &sets).code, 0);
    let mock = ["rollout", "--mock", "--prompts", "t.jsonl", "--out", "mock.jsonl"];
    let size = ["--num-prompts", "11", "--group-size", "8", "--seed", "2026"];
    assert_eq!(whet_in(dir.path(), &[&mock[..], &size[..]].concat()).code, 0);
    dir
}

/// Scores the mock rollouts into `out`, with these flags more.
fn score(dir: &Path, out: &str, flags: &[&str]) -> Ran {
    let data = dir.join("data").display().to_string();
    let args = [&ROLLOUTS[..], &["--out", out], flags].concat();
    whet_under(dir, &args, &[("XDG_DATA_HOME", &data)])
}

fn read(dir: &Path, name: &str) -> String {
    fs::read_to_string(dir.join(name)).expect("a file")
}

fn lines(dir: &Path, name: &str) -> Vec<Value> {
    read(dir, name).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn json(dir: &Path, name: &str) -> Value {
    serde_json::from_str(&read(dir, name)).expect("JSON")
}

/// Mean rewards by planted quality; hostile programs by their means.
fn means(lines: &[Value]) -> BTreeMap<String, f64> {
    let mut totals: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for line in lines {
        let meta = &line["meta"];
        let name = meta["mock_trick"].as_str().or(meta["mock"].as_str()).expect("a quality");
        let total = line["reward"]["total"].as_f64().expect("a reward");
        totals.entry(name.to_owned()).or_default().push(total);
    }
    let mean = |totals: &[f64]| {
        let count = u32::try_from(totals.len()).expect("fewer lines than that");
        totals.iter().sum::<f64>() / f64::from(count)
    };
    totals.into_iter().map(|(name, totals)| (name, mean(&totals))).collect()
}

/// Every gate that failed in some line, and every term that was paid in some line.
fn failed_and_paid(lines: &[Value]) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut failed, mut paid) = (BTreeSet::new(), BTreeSet::new());
    for line in lines {
        for (name, gate) in line["reward"]["gates"].as_object().expect("gates") {
            if gate["passed"] == false {
                failed.insert(name.clone());
            }
        }
        for (name, value) in line["reward"]["terms"].as_object().expect("terms") {
            if value.as_f64() > Some(0.0) {
                paid.insert(name.clone());
            }
        }
    }
    (failed, paid)
}

fn names(of: &[&str]) -> BTreeSet<String> {
    of.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn the_commands_of_the_document_read_programs_and_a_second_pass_finds_all_in_the_cache() {
    let dir = bench();
    let cached = ["--cache", "out/cache.redb", "--skip-runtime"];
    let first = score(dir.path(), "out/mock_scored.jsonl", &cached);
    assert_eq!((first.code, first.err_before_next()), (0, ""), "{}", first.out);
    assert!(first.out.contains("report: out/mock_report.json"), "{}", first.out);
    assert!(
        first.out.contains("runtime, task, no_tampering, check_passed: not run, for "),
        "{}",
        first.out
    );
    assert!(!first.out.contains("paid without passing"), "nothing was checked: {}", first.out);
    assert!(!first.out.contains("no_tampering    "), "no gate that was not tested: {}", first.out);
    assert!(!first.err.contains("next:"), "no policy sampled mock rollouts: {}", first.err);
    let plain = score(dir.path(), "plain.jsonl", &["--skip-runtime"]);
    assert_eq!(plain.code, 0, "{}", plain.err);
    let again = score(dir.path(), "again.jsonl", &cached);
    assert_eq!(read(dir.path(), "out/mock_scored.jsonl"), read(dir.path(), "plain.jsonl"));
    assert_eq!(read(dir.path(), "again.jsonl"), read(dir.path(), "plain.jsonl"));
    assert!(
        again.out.contains("cache: static ") && again.out.contains(" 0 misses (100.0%)"),
        "{}",
        again.out
    );

    let lines = lines(dir.path(), "plain.jsonl");
    assert_eq!(lines.len(), 88);
    let (failed, paid) = failed_and_paid(&lines);
    assert_eq!(failed, names(&["code", "parses", "known_api"]));
    assert_eq!(paid, names(&["api", "format", "lifecycle", "parse", "plan"]));
    let means = means(&lines);
    for line in &lines {
        assert!(line["reward"]["gates"].get("no_tampering").is_none(), "{line}");
        let is_invented = line["reward"]["gates"]["known_api"]["passed"] == false;
        let total = line["reward"]["total"].as_f64().expect("a total");
        assert!(!is_invented || total <= 0.3, "the cap of 0.6 for half of the terms: {line}");
    }
    for (better, worse) in [
        // A plan that is too long costs its term, an invented name its part of `api`.
        ("good", "long_plan"),
        ("good", "hallucinating"),
        ("long_plan", "broken"),
        ("hallucinating", "broken"),
        ("broken", "no_code"),
    ] {
        assert!(means[better] > means[worse], "{better} and {worse}: {means:?}");
    }
    let report = json(dir.path(), "out/mock_report.json");
    let games = &report["phaser"];
    assert_eq!(
        games["not_run_terms"],
        serde_json::json!(["runtime", "task", "no_tampering", "check_passed"])
    );
    let of =
        |quality: &str| lines.iter().filter(|line| line["meta"]["mock"] == quality).count() as u64;
    assert_eq!(games["parsed"], games["not_run"]);
    assert_eq!(games["parsed"], 88 - of("broken") - of("no_code"));
    let uses = |name: &Value| name["count"].as_u64().expect("a count");
    let invented = games["unknown_names"].as_array().expect("names");
    assert_eq!(invented.iter().map(uses).sum::<u64>(), of("hallucinating"), "{games}");
}

#[test]
fn games_that_run_are_paid_in_the_planted_order_and_every_gate_and_term_occurs() {
    let Some(package) = std::env::var("WHET_PHASER_TGZ").ok().filter(|path| !path.is_empty())
    else {
        println!("SKIPPED: WHET_PHASER_TGZ names no package of Phaser");
        return;
    };
    if !judged() {
        return;
    }
    let dir = bench();
    let data = dir.path().join("data").display().to_string();
    let package = package.split(':').next().unwrap_or_default().to_owned();
    let install = ["env", "phaser", "install", package.as_str()];
    let ran = whet_under(dir.path(), &install, &[("XDG_DATA_HOME", &data)]);
    assert_eq!(ran.code, 0, "{}", ran.err);

    let read_only = score(dir.path(), "s.jsonl", &["--skip-runtime", "--cache", "c.redb"]);
    assert_eq!(read_only.code, 0, "{}", read_only.err);
    let short = ["--set", "sandbox.cpu_seconds=2"];
    let cached = [&short[..], &["--cache", "c.redb"]].concat();
    let first = score(dir.path(), "first.jsonl", &cached);
    assert_eq!(first.code, 0, "{}{}", first.out, first.err);
    let plain = score(dir.path(), "plain.jsonl", &short);
    assert_eq!(plain.code, 0, "{}", plain.err);
    let again = score(dir.path(), "again.jsonl", &cached);
    assert_eq!(again.code, 0, "{}", again.err);
    assert_eq!(read(dir.path(), "first.jsonl"), read(dir.path(), "plain.jsonl"));
    assert_eq!(read(dir.path(), "again.jsonl"), read(dir.path(), "plain.jsonl"));
    let lookups = |report: &str, part: &str| {
        let counts = &json(dir.path(), report)["cache"]["results"][part];
        (counts["hits"].as_u64().expect("a count"), counts["misses"].as_u64().expect("a count"))
    };
    assert_eq!(lookups("first.report.json", "static").1, 0, "the first pass had read them");
    assert!(lookups("first.report.json", "runtime").1 > 0);
    assert_eq!(lookups("again.report.json", "runtime").1, 0, "{}", again.out);

    let lines = lines(dir.path(), "plain.jsonl");
    let (failed, paid) = failed_and_paid(&lines);
    assert_eq!(failed, names(&["code", "parses", "known_api", "no_tampering", "check_passed"]));
    let terms = ["api", "format", "lifecycle", "parse", "plan", "runtime", "task"];
    assert_eq!(paid, names(&terms));
    let means = means(&lines);
    // An endless loop earns its static terms; tampering earns nothing, whether or not it changed anything.
    for (better, worse) in [
        ("good", "long_plan"),
        ("long_plan", "half_good"),
        ("half_good", "idle"),
        ("half_good", "hallucinating"),
        ("half_good", "endless_loop"),
        ("idle", "broken"),
        ("hallucinating", "broken"),
        ("endless_loop", "broken"),
        ("broken", "no_code"),
        ("broken", "tampering"),
    ] {
        assert!(means[better] > means[worse], "{better} and {worse}: {means:?}");
    }
    assert!((means["good"] - 1.0).abs() < 0.01, "{means:?}");
}

/// Scores with a validator that is this script of the shell, and without running programs.
fn validated(dir: &Path, script: &str, flags: &[&str]) -> Ran {
    fs::write(dir.join("v.sh"), script).expect("a file");
    let validator = ["--skip-runtime", "--validator-cli", "sh v.sh"];
    score(dir, "v_scored.jsonl", &[&validator[..], flags].concat())
}

#[test]
fn an_outside_validator_says_what_programs_are_and_is_asked_once_for_each() {
    let dir = bench();
    let answer = r#"{"parse":{"ok":true},"api":{"resolved":9,"unknown":[{"line":1,"column":1,"what":"Phaser.Orb"}]},"lifecycle":{"create":true,"new_game":false}}"#;
    let script = format!("cat > asked.$$\nmv asked.$$ asked\necho >> calls\necho '{answer}'\n");
    let ran = validated(dir.path(), &script, &["--cache", "c.redb"]);
    assert_eq!((ran.code, ran.err_before_next()), (0, ""), "{}", ran.out);
    let lines = lines(dir.path(), "v_scored.jsonl");
    let programs =
        lines.iter().filter(|line| line["validation"]["facts"]["parse"]["ok"] == true).count();
    assert!(lines.iter().any(|line| line["meta"]["mock"] == "broken"));
    let is_broken = |line: &&Value| line["meta"]["mock"] == "broken";
    assert!(
        lines
            .iter()
            .filter(is_broken)
            .all(|line| line["reward"]["gates"]["known_api"]["passed"] == false)
    );
    let facts = &lines.iter().find(is_broken).expect("a line")["validation"]["facts"];
    assert_eq!(facts["api"]["unknown"][0]["what"], "Phaser.Orb");
    let asked: Value = serde_json::from_str(&read(dir.path(), "asked")).expect("JSON");
    assert!(asked["skip_runtime"] == true && asked["checks"].is_array(), "{asked}");
    let calls = || read(dir.path(), "calls").lines().count();
    let before = calls();
    assert!(before <= programs, "{before} calls for {programs} programs");
    let again = validated(dir.path(), &script, &["--cache", "c.redb"]);
    assert_eq!((again.code, calls()), (0, before), "{}", again.err);
    assert!(again.out.contains("cache: validator "), "{}", again.out);
    validated(dir.path(), &format!("{script}# other\n"), &["--cache", "c.redb"]);
    assert!(calls() > before, "another script is another validator");
}

#[test]
fn a_validator_that_breaks_is_no_reward() {
    let dir = bench();
    for (script, reason) in [
        ("printf '{\"parse\":{\"ok\"'", "the validator's answer is not a validation: EOF"),
        ("echo no model >&2; exit 3", "the validator ended with exit status: 3: no model"),
        ("echo '{\"reward\":1}'", "unknown field `reward`"),
    ] {
        let ran = validated(dir.path(), script, &["--fresh"]);
        assert_eq!(ran.code, 1, "{script}: {}", ran.err);
        assert!(ran.out.contains(reason), "{script}: {}", ran.out);
        for line in lines(dir.path(), "v_scored.jsonl") {
            if line["meta"]["mock"] == "no_code" {
                assert_eq!(line["reward"]["total"], 0.0);
            } else {
                assert!(line["validation"]["error"].is_string(), "{line}");
                assert!(line.get("reward").is_none() && line.get("advantage").is_none(), "{line}");
            }
        }
    }
    for (command, reason) in [
        ("gone.js", "the validator `gone.js` is not a file"),
        ("no-such-validator --x", "not a program in PATH"),
    ] {
        let ran = score(dir.path(), "o.jsonl", &["--skip-runtime", "--validator-cli", command]);
        assert_eq!(ran.code, 2, "{}", ran.err);
        assert!(ran.err.contains(reason), "{}", ran.err);
    }
    fs::write(dir.path().join("v.js"), "").expect("a file");
    let args = [&ROLLOUTS[..], &["--skip-runtime", "--validator-cli", "v.js"]].concat();
    let ran = whet_under(dir.path(), &args, &[("PATH", "/nowhere")]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("is run by node, and there is no `node` in PATH"), "{}", ran.err);
}

/// Calls of a command that does not end: no more at a time than programs would run, and none when whet is killed.
#[test]
fn a_validator_is_asked_as_often_at_a_time_as_programs_run_and_ends_with_whet() {
    let dir = bench();
    fs::write(dir.path().join("v.sh"), "echo $$ >> pids\nexec sleep 600\n").expect("a file");
    let asks = ["--skip-runtime", "--validator-cli", "sh v.sh", "--set", "sandbox.workers=2"];
    let mut whet = Command::new(env!("CARGO_BIN_EXE_whet"));
    let score = whet.current_dir(dir.path()).args(ROLLOUTS).args(asks).args(["--out", "o.jsonl"]);
    let mut running =
        score.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("whet starts");
    let pids = || fs::read_to_string(dir.path().join("pids")).unwrap_or_default();
    let wait = |until: &dyn Fn() -> bool| {
        let end = Instant::now() + Duration::from_secs(20);
        while !until() && Instant::now() < end {
            thread::sleep(Duration::from_millis(20));
        }
    };
    wait(&|| pids().lines().count() >= 2);
    thread::sleep(Duration::from_millis(300));
    let asked: Vec<String> = pids().lines().map(str::to_owned).collect();
    running.kill().expect("it runs");
    running.wait().expect("it ends");
    assert_eq!(asked.len(), 2, "{asked:?}");
    let lives = |pid: &String| {
        fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
    };
    wait(&|| !asked.iter().any(lives));
    assert!(!asked.iter().any(lives), "{asked:?}");
}

#[test]
fn bad_input_is_said_in_a_sentence_and_never_paid() {
    let dir = bench();
    let refused = |flags: &[&str]| {
        let ran = score(dir.path(), "o.jsonl", flags);
        assert_eq!(ran.code, 2, "{}{}", ran.out, ran.err);
        assert!(!dir.path().join("o.jsonl").exists());
        ran.err
    };
    let missing = refused(&[]);
    assert!(
        missing.contains("Phaser is not installed") && missing.contains("npm pack"),
        "{missing}"
    );

    let index = whetstone_phaser::index::Index::embedded("3").expect("it is embedded").write();
    fs::write(dir.path().join("cut.jsonl"), &index[..index.len() / 2]).expect("a file");
    let cut = refused(&["--skip-runtime", "--api-index", "cut.jsonl"]);
    assert!(cut.contains("`cut.jsonl` is not an index of Phaser's API: line "), "{cut}");
    let gone = refused(&["--skip-runtime", "--api-index", "gone.jsonl"]);
    assert!(gone.contains("cannot read the index `gone.jsonl`"), "{gone}");
    let both = whet_in(dir.path(), &[&ROLLOUTS[..], &["mock.jsonl"]].concat());
    assert_eq!(both.code, 2);
    assert!(both.err.contains("cannot be used with"), "{}", both.err);

    // The same prompts without their ids: no line of rollouts is of a known task.
    let prompts = read(dir.path(), "t.jsonl").replace(r#""id":"#, r#""name":"#);
    fs::write(dir.path().join("t.jsonl"), prompts).expect("a file");
    let nameless = refused(&["--skip-runtime"]);
    assert!(nameless.contains("`t.jsonl` holds no task"), "{nameless}");
    assert!(nameless.contains("field `id` is missing"), "{nameless}");
}

#[test]
fn a_program_of_ten_megabytes_is_read_in_part_and_earns_its_form_at_most() {
    let dir = bench();
    let mut line = lines(dir.path(), "mock.jsonl").swap_remove(0);
    let program = "this.add.text(1, 2, 'a');\n".repeat(400_000);
    line["text"] = format!("```javascript\n{program}```").into();
    fs::write(dir.path().join("mock.jsonl"), format!("{line}\n")).expect("a file");
    for flags in [&["--skip-runtime"][..], &["--skip-runtime", "--validator-cli", "sh -c true"]] {
        let ran = score(dir.path(), "o.jsonl", &[flags, &["--fresh"]].concat());
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        let scored = &lines(dir.path(), "o.jsonl")[0];
        assert_eq!(scored["reward"]["gates"]["parses"]["passed"], false);
        assert!(scored["reward"]["total"].as_f64() <= Some(0.05), "{}", scored["reward"]);
    }
}
