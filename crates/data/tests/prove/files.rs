//! A validation from file to file, with a judge that runs nothing.

use crate::fake::{Asked, Bench, Fake, task};
use serde_json::Value;
use whetstone_data::prove::{Earlier, ProveError, Reason};

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn proven_tasks_come_out_as_they_stood_and_the_others_with_their_reason() {
    let dir = tempfile::tempdir().unwrap();
    let good = [task("a", "x", "GOOD"), task("b", "y", "GOOD\\u00fc 1.50")];
    let words = ["WRONG", "SLOW", "EASY", "FLAKY", "BAD TEST"];
    let bad: Vec<_> = words.iter().map(|word| task(word, "x", word)).collect();
    let bench = Bench::new(dir.path(), &(good[0].clone() + "\n" + &bad.concat() + &good[1]));
    let (judge, other) = (Fake::default(), Fake { other_hashes: true, ..Fake::default() });
    let report = bench.prove("out", &[&judge, &other], &Asked::default()).unwrap();
    assert_eq!(bench.read("out"), good.concat());
    let dropped = bench.read("out.dropped");
    let found: Vec<_> = lines(&dropped)
        .iter()
        .map(|line| (line["id"].to_string(), line["dropped"]["reason"].to_string()))
        .map(|(id, reason)| format!("{id} {reason}").replace('"', ""))
        .collect();
    let expected = [
        "WRONG reference_fails",
        "SLOW too_slow",
        "EASY trivial_passes",
        "FLAKY flaky",
        "BAD TEST broken_tests",
    ];
    assert_eq!(found, expected);
    let first = bad[0].trim_end().strip_suffix('}').unwrap();
    assert!(dropped.starts_with(&format!("{first},\"dropped\":{{\"reason\":\"reference_fails\",")));
    let total = &report.total;
    assert_eq!((total.tasks, total.proven, total.reference_passes, total.dropped), (7, 2, 3, 5));
    assert_eq!((report.by_source["x"].tasks, report.by_source["y"].proven), (6, 1));
    assert_eq!(report.by_source["x"].reasons[&Reason::Flaky], 1);
    assert!(!bench.path("out.journal").exists());
}

#[test]
fn a_setup_whose_objects_equal_everything_is_a_doubt_about_a_proven_task() {
    let dir = tempfile::tempdir().unwrap();
    let with_setup = |id: &str, setup: &str| {
        let mut line: Value = serde_json::from_str(&task(id, "x", "GOOD")).unwrap();
        line["setup"] = setup.into();
        line.to_string() + "\n"
    };
    let text = with_setup("a", "class Any:\n    def __eq__(self, other): return True\n")
        + &with_setup("b", "class P:\n    def __eq__(self, other): return self.x == other.x\n");
    let bench = Bench::new(dir.path(), &text);
    let report = bench.prove("out", &[&Fake::default()], &Asked::default()).unwrap();
    assert_eq!(report.total.proven, 2);
    assert_eq!(report.warnings.len(), 1, "{:?}", report.warnings);
    assert_eq!(report.warnings[0].id.as_deref(), Some("a"));
    assert!(report.warnings[0].detail.contains("class `Any` equal everything"));
}

#[test]
fn a_line_that_is_no_task_is_named_by_its_place_and_hides_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let no_tests = r#"{"id":"n","source":"x","statement":"s","reference":"","tests":{"kind":"asserts","hidden":[]}}"#;
    let good = task("a", "x", "GOOD");
    let text = format!("nonsense\n{good}{no_tests}\n{good}{}", task("b", "x", "GOOD"));
    let bench = Bench::new(dir.path(), &text);
    let report = bench.prove("out", &[&Fake::default()], &Asked::default()).unwrap();
    assert_eq!(bench.read("out"), good.clone() + &task("b", "x", "GOOD"));
    let dropped = lines(&bench.read("out.dropped"));
    let detail = |at: usize| dropped[at]["dropped"]["detail"].as_str().unwrap_or_default();
    assert_eq!((&dropped[0]["text"], &dropped[0]["line"]), (&"nonsense".into(), &1.into()));
    assert!(detail(0).contains("tasks.jsonl:1: expected one task as a JSON object"));
    assert!(detail(1).contains("tasks.jsonl:3: not a task: field `tests`: `hidden` is empty"));
    assert!(detail(2).contains("tasks.jsonl:4: task id `a` stands already in "));
    assert_eq!(dropped[2]["dropped"]["reason"], "duplicate_id");
    assert_eq!(report.total.reasons[&Reason::NotATask], 2);
    assert_eq!(report.dropped_tasks[1].id.as_deref(), Some("n"));
}

#[test]
fn a_broken_machine_drops_nothing_and_the_next_run_asks_only_for_what_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    let tasks = [task("a", "x", "GOOD"), task("b", "x", "BROKEN"), task("c", "x", "GOOD")];
    let bench = Bench::new(dir.path(), &tasks.concat());
    let first = Fake::default();
    let report = bench.prove("out", &[&first], &Asked::default()).unwrap();
    let total = &report.total;
    assert_eq!((total.proven, total.dropped, total.failed), (2, 0, 1));
    assert_eq!(report.errors["no zygote"], 1);
    assert_eq!(
        (bench.read("out"), bench.read("out.dropped")),
        (tasks[0].clone() + &tasks[2], String::new())
    );
    assert!(bench.path("out.journal").exists());

    let mended = Fake { mended: true, ..Fake::default() };
    let report = bench.prove("out", &[&mended], &Asked::default()).unwrap();
    assert_eq!((report.total.proven, report.total.failed), (3, 0));
    assert_eq!(report.resumed, u64::from(first.calls()) - 1);
    assert!(mended.sources().iter().all(|source| source.is_empty() || source.contains("BROKEN")));
    assert_eq!(bench.read("out"), tasks.concat());
    assert!(!bench.path("out.journal").exists());
}

#[test]
fn runs_of_a_reference_go_through_the_judges_in_turn() {
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::new(dir.path(), &task("a", "x", "GOOD"));
    let (judge, other) = (Fake::default(), Fake::default());
    bench.prove("out", &[&judge, &other], &Asked::default()).unwrap();
    assert_eq!(other.sources(), ["# GOOD"]);
    assert_eq!(judge.sources().iter().filter(|source| *source == "# GOOD").count(), 1);
    assert!(judge.sources().contains(&String::new()), "trivial answers are for the first");
}

#[test]
fn a_limit_leaves_the_rest_alone() {
    let dir = tempfile::tempdir().unwrap();
    let tasks = ["a", "b", "c"].map(|id| task(id, "x", "GOOD"));
    let bench = Bench::new(dir.path(), &tasks.concat());
    let asked = Asked { limit: Some(2), ..Asked::default() };
    let report = bench.prove("out", &[&Fake::default()], &asked).unwrap();
    assert_eq!(report.total.tasks, 2);
    assert_eq!(bench.read("out"), tasks[..2].concat());
}

#[test]
fn an_unfinished_validation_of_other_tasks_is_in_the_way_until_it_is_forgotten() {
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::new(dir.path(), &task("a", "x", "BROKEN"));
    bench.prove("out", &[&Fake::default()], &Asked::default()).unwrap();
    let bench = Bench::new(dir.path(), &task("a", "x", "GOOD"));
    let err = bench.prove("out", &[&Fake::default()], &Asked::default()).unwrap_err();
    assert!(err.is_usage() && err.to_string().ends_with(": the tasks changed"), "{err}");
    let forget = Asked { earlier: Earlier::Forget, ..Asked::default() };
    assert_eq!(bench.prove("out", &[&Fake::default()], &forget).unwrap().total.proven, 1);
}

#[test]
fn tasks_that_change_while_they_are_judged_are_not_written() {
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::new(dir.path(), &task("a", "x", "GOOD"));
    let (path, other) = (bench.path("tasks.jsonl"), task("b", "x", "GOOD"));
    let change = move |_| std::fs::write(&path, &other).unwrap();
    let judge = Fake { before: Some(Box::new(change)), ..Fake::default() };
    let err = bench.prove("out", &[&judge], &Asked::default()).unwrap_err();
    assert!(matches!(err, ProveError::Changed { .. }), "{err}");
    assert!(!bench.path("out").exists() && !bench.path("out.dropped").exists());
}

#[test]
fn without_outputs_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::new(dir.path(), &(task("a", "x", "GOOD") + &task("b", "x", "BROKEN")));
    let asked = Asked { only_report: true, ..Asked::default() };
    assert_eq!(bench.prove("out", &[&Fake::default()], &asked).unwrap().total.failed, 1);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn an_output_does_not_take_the_place_of_an_input() {
    let dir = tempfile::tempdir().unwrap();
    let text = task("a", "x", "GOOD");
    let bench = Bench::new(dir.path(), &text);
    let err = bench.prove("tasks.jsonl", &[&Fake::default()], &Asked::default()).unwrap_err();
    assert!(matches!(err, ProveError::SameFile { .. }), "{err}");
    assert_eq!(bench.read("tasks.jsonl"), text);
}

#[test]
fn an_old_reason_gives_way_to_the_new_finding() {
    let dir = tempfile::tempdir().unwrap();
    let old = |line: String| {
        line.replace("\"statement\"", "\"dropped\":{\"reason\":\"flaky\"},\"statement\"")
    };
    let tasks = [old(task("a", "x", "GOOD")), old(task("b", "x", "WRONG"))];
    let bench = Bench::new(dir.path(), &tasks.concat());
    bench.prove("out", &[&Fake::default()], &Asked::default()).unwrap();
    assert!(!bench.read("out").contains("dropped"), "{}", bench.read("out"));
    let dropped = bench.read("out.dropped");
    assert_eq!(lines(&dropped)[0]["dropped"]["reason"], "reference_fails");
    assert_eq!(dropped.matches("\"dropped\"").count(), 1);
}

#[test]
fn a_byte_order_mark_windows_line_ends_and_a_missing_last_newline_change_no_task() {
    let dir = tempfile::tempdir().unwrap();
    let [a, b, c] = [("a", "GOOD"), ("b", "WRONG"), ("c", "GOOD")]
        .map(|(id, word)| task(id, "x", word).trim_end().to_owned());
    let bench = Bench::new(dir.path(), &format!("\u{feff}{a}\r\n{b}\r\n{c}"));
    let report = bench.prove("out", &[&Fake::default()], &Asked::default()).unwrap();
    assert_eq!((report.total.proven, report.total.dropped), (2, 1));
    assert_eq!(bench.read("out"), format!("{a}\r\n{c}\n"));
    assert_eq!(lines(&bench.read("out.dropped"))[0]["id"], "b");
}

#[test]
fn a_line_that_breaks_off_is_called_so_only_at_the_end_of_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let half = &task("a", "x", "GOOD")[..30];
    let bench = Bench::new(dir.path(), &format!("{half}\n{half}"));
    let report = bench.prove("out", &[&Fake::default()], &Asked::default()).unwrap();
    let detail = |at: usize| report.dropped_tasks[at].dropped.detail.as_str();
    assert!(detail(0).contains("expected one task as a JSON object"), "{}", detail(0));
    assert!(detail(1).contains("was the file cut short?"), "{}", detail(1));
}
