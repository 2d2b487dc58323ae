//! `whet data prepare --solver-models`: a user's own models as tasks, and what is wrong with the others.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::binary::{Ran, whet_in};

/// x + y <= 10 and x + y >= 15.
const BROKEN_MPS: &str = "NAME plan\nROWS\n N cost\n L room\n G wish\nCOLUMNS\n x cost 1 room 1\n x wish 1\n \
                          y room 1 wish 1\nRHS\n R room 10 wish 15\nENDATA\n";
const BROKEN_LP: &str =
    "Minimize\n cost: x\nSubject To\n low: x >= 4\n high: x <= 2\n odd: 0 x >= -1\nEnd\n";
const FEASIBLE_LP: &str = "Minimize\n cost: x\nSubject To\n low: x >= 4\nEnd\n";
/// An integer that must lie beyond what the solver searches.
const FAR_LP: &str =
    "Minimize\n x\nSubject To\n a: x >= 4\nBounds\n 1e12 <= x <= 1e13\nGeneral\n x\nEnd\n";

fn models(folder: &Path) {
    let long: Vec<String> = (0..300).map(|at| format!(" row{at}: x >= {at}\n")).collect();
    let long = long.concat();
    let free = BROKEN_MPS.replace(" L room", " N free\n L room");
    let files = [
        ("plan.mps", BROKEN_MPS.to_owned()),
        ("sub/plan.mps", free),
        ("small.LP", BROKEN_LP.to_owned()),
        ("fine.lp", FEASIBLE_LP.to_owned()),
        ("far.lp", FAR_LP.to_owned()),
        ("long.lp", format!("Minimize\n x\nSubject To\n{long} low: x <= -1\nEnd\n")),
        ("cut.mps", BROKEN_MPS[..90].to_owned()),
        ("twice.mps", BROKEN_MPS.replace(" G wish", " G room")),
        ("cut.lp.gz", "not gzip".to_owned()),
        ("readme.txt", "not a model".to_owned()),
    ];
    fs::create_dir_all(folder.join("models/sub")).expect("a folder");
    for (name, text) in files {
        fs::write(folder.join("models").join(name), text).expect("a file");
    }
    fs::write(folder.join("models/bytes.lp"), b"Minimize\n \xff\n").expect("a file");
}

fn prepare(folder: &Path, flags: &[&str]) -> Ran {
    whet_in(folder, &[&["data", "prepare", "--solver-models", "models"], flags].concat())
}

fn tasks(folder: &Path) -> Vec<Value> {
    let parts = ["data/train.jsonl", "data/dev.jsonl", "data/val.jsonl"];
    let parts = parts.map(|name| folder.join(name));
    let text = parts.map(|path| fs::read_to_string(path).expect("a file")).concat();
    text.lines().map(|line| serde_json::from_str(line).expect("a task")).collect()
}

fn reason<'a>(report: &'a Value, list: &str, file: &str) -> &'a Value {
    let found = report[list].as_array().expect("a list").iter().find(|one| one["file"] == file);
    found.unwrap_or_else(|| panic!("no {file} in {report:#}"))
}

#[test]
fn each_infeasible_model_is_a_task_and_each_other_file_has_its_reason() {
    let dir = tempfile::tempdir().unwrap();
    models(dir.path());
    let ran = prepare(dir.path(), &["--model-bytes", "4096", "--json"]);
    assert_eq!((ran.code, ran.err_before_next()), (0, ""), "{}", ran.out);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    let counts = &report["sources"]["models"];
    let count = |name: &str| counts[name].as_u64().unwrap();
    assert_eq!((count("rows"), count("bad"), count("left_out")), (10, 4, 3), "{report:#}");
    assert_eq!(count("train") + count("val"), 3);
    for (file, kind, text) in [
        ("models/fine.lp", "feasible", "the model is feasible (OPTIMAL)"),
        ("models/far.lp", "undecided", "the solver has no certified verdict on it"),
        ("models/long.lp", "too_large", "the limit is 4096; a larger `--model-bytes` takes it"),
    ] {
        let found = reason(&report, "left_out", file);
        assert_eq!(found["kind"], kind, "{found}");
        assert!(found["reason"].as_str().unwrap().contains(text), "{found}");
    }
    for (file, row, text) in [
        ("models/cut.mps", 9, "the file ends within COLUMNS"),
        ("models/twice.mps", 5, "row `room` is there twice"),
        ("models/cut.lp.gz", 0, "cannot unpack it"),
        ("models/bytes.lp", 0, "UTF-8"),
    ] {
        let found = reason(&report, "bad", file);
        assert_eq!(found["row"], row, "{found}");
        assert!(found["reason"].as_str().unwrap().contains(text), "{found}");
    }
    let mut ids: Vec<String> =
        tasks(dir.path()).iter().map(|task| task["id"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    assert_eq!(ids, ["model/plan.mps", "model/small.LP", "model/sub/plan.mps"]);
    let small = tasks(dir.path()).into_iter().find(|task| task["id"] == "model/small.LP").unwrap();
    let shown = small["statement"].as_str().unwrap();
    assert!(shown.ends_with("Status: INFEASIBLE\nIIS: [low, high]"), "{shown}");
    assert_eq!((&small["body"]["kind"], &small["body"]["base"]), (&"solver".into(), &Value::Null));
}

#[test]
fn the_summary_names_the_reasons_and_strict_minds_bad_files_alone() {
    let dir = tempfile::tempdir().unwrap();
    models(dir.path());
    let ran = prepare(dir.path(), &["--strict"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(
        ran.out.contains("left out 2: 1 feasible, 1 without a certified verdict"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("models/fine.lp: the model is feasible"), "{}", ran.out);
    assert_eq!(tasks(dir.path()).len(), 4, "the longer statement is taken");
    let flags =
        ["data", "prepare", "--solver-models", "models/plan.mps", "models/fine.lp", "--strict"];
    assert_eq!(whet_in(dir.path(), &flags).code, 0);
}

#[test]
fn the_same_models_and_seed_give_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    models(dir.path());
    let bytes = |flags: &[&str]| {
        assert_eq!(prepare(dir.path(), flags).code, 0);
        ["train", "val"]
            .map(|half| fs::read(dir.path().join(format!("data/{half}.jsonl"))).unwrap())
    };
    let views = ["--views", "code,lp,table"];
    assert_eq!(bytes(&views), bytes(&views));
    let hidden = bytes(&["--hide-iis"]).concat();
    assert!(!String::from_utf8(hidden).unwrap().contains("IIS: ["));
}

#[test]
fn paths_without_a_model_are_refused_with_a_hint() {
    let dir = tempfile::tempdir().unwrap();
    models(dir.path());
    fs::create_dir(dir.path().join("empty")).unwrap();
    let cases = [
        (&["models/readme.txt"][..], "expected .mps or .lp"),
        (&["empty"], "holds no .mps or .lp file"),
        (&["models/none.mps"], "cannot read `models/none.mps`"),
        (&["models/fine.lp"], "none of the 1 rows that were read is a task"),
        (&["models/plan.mps", "--size", "3"], "--solver <N>"),
    ];
    for (args, expected) in cases {
        let ran = whet_in(dir.path(), &[&["data", "prepare", "--solver-models"], args].concat());
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.err);
        assert!(ran.err.contains(expected), "{args:?}: {}", ran.err);
    }
    let fine = whet_in(dir.path(), &["data", "prepare", "--solver-models", "models/fine.lp"]);
    assert!(fine.err.contains("the model is feasible"), "{}", fine.err);
}

#[test]
fn the_embedded_expert_has_nothing_to_say_about_models_without_a_base() {
    let dir = tempfile::tempdir().unwrap();
    models(dir.path());
    assert_eq!(prepare(dir.path(), &["--val-fraction", "0.1"]).code, 0);
    let flags =
        ["teach", "--teacher", "embedded", "--tasks", "data/train.jsonl", "--out", "out.jsonl"];
    let ran = whet_in(dir.path(), &flags);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    let said = format!("{}{}", ran.out, ran.err);
    let expected = "3 tasks without a trace of its own or an expert that knows its solution";
    assert!(said.contains(expected), "{said}");
}

/// netlib's infeasible models are read from `../shared/data` beside the repository where they are there.
#[test]
fn small_infeasible_models_of_netlib_become_tasks() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/netlib_infeas");
    if !folder.exists() {
        eprintln!("SKIPPED: {} is not there", folder.display());
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let folder = folder.display().to_string();
    let flags = ["data", "prepare", "--solver-models", &folder, "--model-bytes", "8192", "--json"];
    let ran = whet_in(dir.path(), &flags);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    let counts = &report["sources"]["models"];
    assert_eq!((&counts["rows"], &counts["bad"]), (&25.into(), &0.into()), "{report:#}");
    assert_eq!(report["left_out"].as_array().unwrap().len() + tasks(dir.path()).len(), 25);
    let ids: Vec<String> = tasks(dir.path()).iter().map(|task| task["id"].to_string()).collect();
    for name in ["itest2", "itest6", "galenet", "bgprtr"] {
        assert!(ids.contains(&format!("\"model/{name}.mps\"")), "{name} of {ids:?}");
    }
}
