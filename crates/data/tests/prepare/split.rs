//! What goes where: halves, order, duplicates, benchmarks, limits.

use std::collections::HashSet;

use serde_json::{Value, json};
use whetstone_core::task::Task;
use whetstone_core::wire::Wire;
use whetstone_data::Partition;
use whetstone_data::prepare::{By, Counts, Split};
use whetstone_data::source::DataSet;

use crate::support::{Bench, apps_row, lines, mbpp_row, task_row};

fn rows(count: usize, row: fn(usize) -> Value) -> Vec<Value> {
    (1..=count).map(row).collect()
}

#[test]
fn each_source_is_split_apart_and_no_task_is_in_both_halves() {
    let bench = Bench::new();
    let mbpp = bench.file("mbpp.jsonl", lines(&rows(40, mbpp_row)));
    let apps = bench.file("apps.jsonl", lines(&rows(10, apps_row)));
    let bench = bench.source(Some(DataSet::Mbpp), &mbpp).source(Some(DataSet::Apps), &apps);
    let report = bench.prepare().unwrap();
    let counts = |rows, train, val| Counts { rows, train, val, ..Counts::default() };
    assert_eq!(report.sources["mbpp"], counts(40, 32, 8));
    assert_eq!(report.sources["apps"], counts(10, 8, 2));
    let (train, val) = (bench.ids("train.jsonl"), bench.ids("val.jsonl"));
    let all: HashSet<_> = train.iter().chain(&val).collect();
    assert_eq!((train.len(), val.len(), all.len()), (40, 10, 50));
    assert!(
        train.windows(2).filter(|pair| pair[0][..4] != pair[1][..4]).count() > 4,
        "sources are mixed: {train:?}"
    );
}

#[test]
fn a_part_of_training_is_for_development_and_the_validation_tasks_stay_the_same() {
    let prepare = |dev_fraction| {
        let bench = Bench { dev_fraction, ..Bench::new() };
        let path = bench.file("apps.jsonl", lines(&rows(50, apps_row)));
        let bench = bench.source(Some(DataSet::Apps), &path);
        let report = bench.prepare().unwrap();
        let counts = Counts {
            rows: 50,
            train: report.train.tasks,
            dev: report.dev.tasks,
            val: report.val.tasks,
            ..Counts::default()
        };
        assert_eq!(report.sources["apps"], counts);
        let mut val = bench.ids("val.jsonl");
        val.sort();
        ([bench.ids("train.jsonl"), bench.ids("dev.jsonl")], val)
    };
    let ([train, dev], val) = prepare(0.1);
    assert_eq!((train.len(), dev.len(), val.len()), (36, 4, 10));
    let all: HashSet<_> = train.iter().chain(&dev).chain(&val).collect();
    assert_eq!(all.len(), 50, "no task is in two parts");
    let ([train, dev], same_val) = prepare(0.0);
    assert_eq!((train.len(), dev.len()), (40, 0));
    assert_eq!(same_val, val);
}

#[test]
fn mbpp_gives_its_published_tuning_tasks_for_development() {
    let prepare = |dev_fraction| {
        let bench = Bench { split: Split::Official, dev_fraction, ..Bench::new() };
        // A twin of a test task in the tuning part, and one of a tuning task in the training part.
        let mut rows: Vec<Value> = [9, 10, 11, 510, 511, 600, 601].map(mbpp_row).into();
        for (id, original) in [(590, 11), (700, 511)] {
            let mut twin = mbpp_row(original);
            twin["task_id"] = json!(id);
            rows.push(twin);
        }
        let path = bench.file("mbpp.jsonl", lines(&rows));
        let bench = bench.source(Some(DataSet::Mbpp), &path);
        let report = bench.prepare().unwrap();
        assert_eq!(report.sources["mbpp"].duplicates, 2);
        ["train.jsonl", "dev.jsonl", "val.jsonl"].map(|name| {
            let mut ids = bench.ids(name);
            ids.sort();
            ids.join(" ")
        })
    };
    let val = "mbpp/11 mbpp/510";
    assert_eq!(prepare(0.1), ["mbpp/10 mbpp/601 mbpp/9", "mbpp/511 mbpp/600", val]);
    let without = "mbpp/10 mbpp/511 mbpp/600 mbpp/601 mbpp/9";
    assert_eq!(prepare(0.0), [without, "", val], "without development they are to learn from");
}

#[test]
fn the_order_of_rows_and_files_changes_no_byte_and_the_seed_does() {
    let prepare = |mbpp: &[Value], names: [&str; 2], seed: u64| {
        let mut bench = Bench::new();
        bench.seed = seed;
        let mbpp = bench.file("mbpp.jsonl", lines(mbpp));
        let tasks: Vec<_> = ["x", "y"]
            .iter()
            .enumerate()
            .map(|(at, id)| bench.file(&format!("{id}.jsonl"), lines([&task_row(id, at)])))
            .collect();
        let mut bench = bench.source(Some(DataSet::Mbpp), &mbpp);
        for name in names {
            let at = usize::from(name == "y");
            bench = bench.source(None, &tasks[at]);
        }
        bench.prepare().unwrap();
        (bench.output("out/train.jsonl"), bench.output("out/val.jsonl"))
    };
    let straight = rows(30, mbpp_row);
    let mut turned = straight.clone();
    turned.rotate_left(11);
    turned.reverse();
    let first = prepare(&straight, ["x", "y"], 1);
    assert_eq!(first, prepare(&turned, ["y", "x"], 1));
    assert_ne!(first, prepare(&straight, ["x", "y"], 2));
}

#[test]
fn a_second_run_writes_the_same_bytes() {
    let bench = Bench::new();
    let mbpp = bench.file("mbpp.jsonl", lines(&rows(20, mbpp_row)));
    let bench = bench.source(Some(DataSet::Mbpp), &mbpp);
    bench.prepare_into("out").unwrap();
    bench.prepare_into("again").unwrap();
    bench.prepare_into("again").unwrap();
    for name in ["train.jsonl", "dev.jsonl", "val.jsonl", "prepare.json"] {
        assert_eq!(bench.output(&format!("out/{name}")), bench.output(&format!("again/{name}")));
    }
    let report: Value = serde_json::from_slice(&bench.output("out/prepare.json")).unwrap();
    let digest = blake3::hash(&bench.output("out/train.jsonl")).to_hex().to_string();
    assert_eq!(report["train"], json!({"file": "train.jsonl", "tasks": 16, "blake3": digest}));
}

#[test]
fn what_is_like_a_dropped_task_alone_is_kept() {
    let statement = |changed: &[usize]| {
        let word =
            |at| if changed.contains(&at) { format!("other{at}") } else { format!("word{at}") };
        (0..40).map(word).collect::<Vec<_>>().join(" ")
    };
    let task = |id: &str, statement: String| {
        json!({"id": id, "statement": statement,
            "tests": {"kind": "asserts", "hidden": ["assert f()"]}})
    };
    // The second is like both others, which are not alike: 36 of 48 runs.
    let given =
        [task("a", statement(&[])), task("b", statement(&[10])), task("c", statement(&[10, 30]))];
    let bench = Bench::new();
    let path = bench.file("tasks.jsonl", lines(&given));
    let report = bench.source(None, &path).prepare().unwrap();
    let dropped: Vec<_> = report.duplicates.iter().map(|pair| pair.dropped.as_str()).collect();
    assert_eq!(dropped, ["b"]);
}

#[test]
fn duplicates_are_dropped_by_statement_and_by_solution_and_named_in_pairs() {
    let long = (0..40).map(|at| format!("word{at}")).collect::<Vec<_>>();
    let changed = {
        let mut long = long.clone();
        long[20] = "other".to_owned();
        long.join(" ")
    };
    let task = |id: &str, statement: &str, reference: &str| {
        json!({"id": id, "statement": statement, "reference": reference,
            "tests": {"kind": "asserts", "hidden": ["assert f()"]}})
    };
    let given = [
        task("a", &long.join(" "), "def f(): return 1"),
        task("b", &long.join(", ").to_uppercase(), "def g(): return 2"),
        task("c", &changed, "def h(): return 3"),
        task("d", "something else entirely", "def f():\n    return 1  # same"),
        task("e", "find the area of a cube", "def area(x): return 6 * x * x"),
        task("g", "find the area of a cone", "def area(r, h): return r + h"),
    ];
    let bench = Bench::new();
    let path = bench.file("tasks.jsonl", lines(&given));
    let bench = bench.source(None, &path);
    let report = bench.prepare().unwrap();
    let found: Vec<_> = report
        .duplicates
        .iter()
        .map(|pair| (pair.dropped.as_str(), pair.kept.as_str(), pair.by, pair.similarity))
        .collect();
    assert_eq!(
        found,
        [
            ("b", "a", By::SameStatement, 1.0),
            // 42 runs each, three of them changed: 39 of 45.
            ("c", "a", By::LikeStatement, 0.866),
            ("d", "a", By::SameSolution, 1.0),
        ]
    );
    assert_eq!(report.sources["tasks"].duplicates, 3);
    let mut kept = [bench.ids("train.jsonl"), bench.ids("val.jsonl")].concat();
    kept.sort();
    assert_eq!(kept, ["a", "e", "g"]);
}

#[test]
fn made_tasks_keep_their_half_and_give_way_to_data_sets() {
    let task = |id: &str, number: usize| {
        Task::from_object(serde_json::from_str(&task_row(id, number).to_string()).unwrap()).unwrap()
    };
    let mut bench = Bench::new();
    bench.made = (0..6).map(|at| (Partition::Validation, task(&format!("v/{at}"), at))).collect();
    // The twin of a task for validation, and one of a task from a data set.
    bench.made.push((Partition::Train, task("t/twin", 3)));
    bench.made.push((Partition::Validation, task("v/known", 50)));
    bench.made.push((Partition::Train, task("t/0", 60)));
    let path = bench.file("tasks.jsonl", lines([&task_row("given", 50)]));
    let bench = bench.source(None, &path);
    let report = bench.prepare().unwrap();
    let pairs: Vec<_> =
        report.duplicates.iter().map(|pair| (pair.dropped.as_str(), pair.kept.as_str())).collect();
    assert_eq!(pairs, [("v/known", "given"), ("t/twin", "v/3")]);
    let mut val = bench.ids("val.jsonl");
    val.sort();
    assert_eq!(val, ["v/0", "v/1", "v/2", "v/3", "v/4", "v/5"]);
    let counts = report.sources["embedded"];
    assert_eq!((counts.rows, counts.duplicates, counts.train, counts.val), (9, 2, 1, 6));
}

#[test]
fn what_a_benchmark_knows_is_dropped_with_the_evidence() {
    let quoted = "Read a list of numbers and print the third largest of them on one line, please.";
    let bench = Bench::new();
    let mut known = mbpp_row(1);
    known["text"] = json!(quoted);
    let benchmark = bench.file("bench.jsonl", lines([&known, &mbpp_row(2)]));
    let mut row = mbpp_row(7);
    row["text"] = json!(format!("A story. {} The end.", quoted.to_lowercase()));
    let mut solved = mbpp_row(8);
    solved["code"] = mbpp_row(2)["code"].clone();
    let path = bench.file("mbpp.jsonl", lines([&row, &solved, &mbpp_row(9)]));
    let mut bench = bench.source(Some(DataSet::Mbpp), &path);
    bench.benchmarks.push(benchmark);
    let report = bench.prepare().unwrap();
    let found: Vec<_> = report
        .contaminated
        .iter()
        .map(|one| (one.dropped.as_str(), one.benchmark.as_str(), one.by, one.evidence.as_str()))
        .collect();
    let words = "read a list of numbers and print the third largest of them on";
    assert_eq!(
        found,
        [
            ("mbpp/7", "mbpp/1", By::Words, words),
            ("mbpp/8", "mbpp/2", By::SameSolution, "100 % alike"),
        ]
    );
    assert_eq!(report.sources["mbpp"].contaminated, 2);
    assert_eq!(bench.ids("train.jsonl"), ["mbpp/9"]);
}

#[test]
fn a_limit_takes_a_seeded_choice_of_each_source() {
    let mut bench = Bench::new();
    let mbpp = bench.file("mbpp.jsonl", lines(&rows(40, mbpp_row)));
    bench.limit = Some(10);
    let bench = bench.source(Some(DataSet::Mbpp), &mbpp);
    let report = bench.prepare().unwrap();
    let counts = report.sources["mbpp"];
    assert_eq!((counts.over_limit, counts.train, counts.val), (30, 8, 2));
    let numbers = [bench.ids("train.jsonl"), bench.ids("val.jsonl")].concat();
    let first_ten = numbers.iter().filter(|id| id[5..].parse::<u32>().unwrap() <= 10).count();
    assert!(first_ten < 10, "not just the first rows: {numbers:?}");
}
