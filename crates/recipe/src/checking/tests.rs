//! Checks of whole files, and of every example of `docs/reference/formats.md`.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;

use super::*;

const PAGE: &str = include_str!("../../../../docs/reference/formats.md");
/// Kinds that the page describes without an example: they are TOML and have pages of their own.
const ELSEWHERE: [FileKind; 2] = [FileKind::Settings, FileKind::Stages];
const TASK: &str = r#"{"id":"a","statement":"s","tests":["assert f(1) == 2"]}"#;

/// The report on a file of this name and these contents.
#[track_caller]
fn checked(name: &str, contents: impl AsRef<[u8]>) -> FileReport {
    checked_as(name, contents, None)
}

#[track_caller]
fn checked_as(name: &str, contents: impl AsRef<[u8]>, kind: Option<FileKind>) -> FileReport {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join(name);
    fs::write(&path, contents).expect("a file");
    let mut report = check(&CheckRequest { files: vec![path], kind, shown: 3 });
    assert_eq!(report.unreadable, []);
    report.files.pop().expect("the file was read")
}

/// The first problem, as text.
#[track_caller]
fn first(report: &FileReport) -> String {
    let issue = report.problems.first().expect("a problem");
    let (field, fix) = (issue.field.as_deref().unwrap_or("-"), issue.fix.as_deref().unwrap_or("-"));
    format!("{}|{field}|{}|{fix}", issue.line, issue.reason)
}

/// The examples of the page: a kind and a line each. A block of JSON without a kind is refused.
fn examples() -> Vec<(FileKind, String)> {
    let mut found = Vec::new();
    let mut marked: Option<FileKind> = None;
    let mut lines = PAGE.lines();
    while let Some(line) = lines.next() {
        if let Some(rest) = line.strip_prefix("<!-- example: ") {
            let name = rest.strip_suffix(" -->").expect("a marker is closed");
            marked = Some(FileKind::named(name).expect("a marker names a kind"));
        } else if line == "```json" {
            let kind = marked.take().expect("every example has a marker in front");
            let block: Vec<&str> =
                lines.by_ref().take_while(|line| *line != "```").map(str::trim).collect();
            found.push((kind, block.join(" ")));
        }
    }
    found
}

#[test]
fn every_example_of_the_page_is_right_and_is_known_by_its_fields() {
    for (kind, line) in examples() {
        let report = checked("example", format!("{line}\n"));
        assert_eq!(report.kind, Some(kind), "{line}");
        assert_eq!((report.bad, &report.problems), (0, &Vec::new()), "{line}");
        assert_eq!(report.foreign, [], "{line}");
        assert!(report.is_right(), "{line}");
    }
}

#[test]
fn every_kind_has_an_example_on_the_page_and_tasks_one_of_each_kind() {
    let kinds: BTreeSet<FileKind> = examples().iter().map(|(kind, _)| *kind).collect();
    let expected: BTreeSet<FileKind> =
        FileKind::all().filter(|kind| !ELSEWHERE.contains(kind)).collect();
    assert_eq!(kinds, expected);
    let tasks = examples().into_iter().filter(|(kind, _)| *kind == FileKind::Tasks);
    let tasks: String = tasks.map(|(_, line)| line).collect();
    let parts = [
        r#""tests": ["assert"#,
        r#""kind": "asserts""#,
        r#""kind": "calls""#,
        r#""kind": "script""#,
        r#""kind": "stdio""#,
        r#""checker""#,
        r#""language": "javascript""#,
        r#""kind": "solver""#,
        r#""kind": "phaser""#,
    ];
    for part in parts {
        assert!(tasks.contains(part), "there is no task with {part}");
    }
}

#[test]
fn an_example_that_loses_a_required_field_is_refused() {
    for (kind, field) in [
        (FileKind::Tasks, "statement"),
        (FileKind::Traces, "model"),
        (FileKind::Rows, "output"),
        (FileKind::Rollouts, "text"),
        (FileKind::Scored, "validation"),
        (FileKind::Rejected, "reason"),
        (FileKind::Pairs, "chosen"),
        (FileKind::PromptSeeds, "prompt"),
    ] {
        let (_, line) = examples().into_iter().find(|(of, _)| *of == kind).expect("an example");
        let line = line.replacen(&format!("\"{field}\":"), "\"gone\":", 1);
        let report = checked_as("x.jsonl", line, Some(kind));
        assert_eq!(report.problems[0].field.as_deref(), Some(field), "{kind:?}");
    }
}

#[test]
fn the_good_line_of_every_kind_is_right() {
    for kind in FileKind::all() {
        let Some(line) = kind.good_line() else { continue };
        let report = checked("x.jsonl", line);
        assert_eq!((report.kind, report.problems.as_slice()), (Some(kind), &[][..]), "{line}");
    }
}

#[test]
fn good_and_bad_lines_are_counted_and_the_first_bad_ones_are_named() {
    let bad = r#"{"id":"b","statement":" ","tests":[]}"#;
    let file = [TASK, "", "{\"id\": ", bad, bad, bad, bad].join("\n");
    let report = checked("x.jsonl", file);
    assert_eq!((report.lines, report.good, report.bad), (6, 1, 5), "a blank line is no line");
    let lines: Vec<u64> = report.problems.iter().map(|issue| issue.line).collect();
    assert_eq!(lines, [3, 4, 5], "as many as are wanted");
    assert!(first(&report).contains("write one JSON object a line"), "{}", first(&report));
    assert!(!report.is_right());
}

#[test]
fn a_field_of_another_name_is_to_be_renamed_and_a_missing_one_is_explained() {
    let fixed = |line: &str, kind, expected: &str| {
        let report = checked_as("x.jsonl", line, Some(kind));
        assert_eq!(first(&report), expected, "{line}");
    };
    fixed(
        r#"{"id":"a","question":"s","tests":["assert f() == 1"]}"#,
        FileKind::Tasks,
        "1|statement|it is missing|rename `question` to `statement`",
    );
    fixed(
        r#"{"statement":"s","tests":["assert f() == 1"]}"#,
        FileKind::Tasks,
        "1|id|it is missing|add `id`: a name of 1 to 256 bytes that no other line has",
    );
    fixed(
        r#"{"id":7,"statement":"s"}"#,
        FileKind::Tasks,
        "1|id|invalid type: integer `7`, expected a string|write it as text: \"id\": \"7\"",
    );
    fixed(
        r#"{"prompt_id":"a","generation":"t"}"#,
        FileKind::Rollouts,
        "1|text|it is missing|rename `generation` to `text`",
    );
}

#[test]
fn a_body_and_a_language_are_checked_with_the_task() {
    let fault =
        |rest: &str| first(&checked("x.jsonl", format!(r#"{{"id":"a","statement":"s",{rest}}}"#)));
    let said = fault(r#""body":{"kind":"chess"}"#);
    assert!(said.starts_with("1|body|there is no environment `chess`"), "{said}");
    let said = fault(r#""body":{"kind":"phaser","checks":[{"kind":"shines"}]}"#);
    assert!(said.starts_with("1|body|field `checks`"), "{said}");
    let said = fault(r#""language":"javascript","tests":["assert f() == 1"]"#);
    assert!(said.starts_with("1|tests|kind `asserts` is Python"), "{said}");
}

#[test]
fn an_id_that_stands_twice_is_wrong_in_tasks_and_only_counted_in_traces() {
    let tasks = checked("x.jsonl", [TASK, TASK].join("\n"));
    assert_eq!((tasks.good, tasks.bad), (1, 1));
    assert!(first(&tasks).starts_with("2|id|`a` stands already in line 1|"), "{}", first(&tasks));
    let trace = r#"{"task_id":"a","sample":0,"prompt":"p","text":"t","model":"m"}"#;
    let traces = checked("x.jsonl", [trace, trace].join("\n"));
    let ids = traces.ids.expect("traces have ids");
    assert_eq!((traces.bad, ids.distinct, ids.repeated), (0, 1, 1));
    let repeated = ids.first.expect("an id");
    assert_eq!((repeated.line, repeated.earlier), (2, 1));
}

#[test]
fn foreign_fields_are_listed_with_what_was_meant() {
    let line = r#"{"id":"a","statement":"s","url":"u","referense":"r"}"#;
    let report = checked("x.jsonl", line);
    let foreign: Vec<_> = report
        .foreign
        .iter()
        .map(|field| (field.name.as_str(), field.lines, field.meant))
        .collect();
    assert_eq!(foreign, [("referense", 1, Some("reference")), ("url", 1, None)]);
    assert!(report.is_right(), "they pass through");
}

#[test]
fn names_of_another_tool_are_said_to_be_read() {
    let report = checked("x.jsonl", r#"{"task_id":"a","completion":"t"}"#);
    assert_eq!(report.kind, Some(FileKind::Rollouts));
    assert_eq!(
        report.notes,
        [
            "another tool's `completion` is read as `text` (1 line)",
            "another tool's `task_id` is read as `prompt_id` (1 line)"
        ]
    );
}

#[test]
fn a_line_of_another_kind_is_named() {
    let rollout = r#"{"step":0,"prompt_id":"a","text":"t"}"#;
    let said = first(&checked("x.jsonl", [TASK, rollout].join("\n")));
    assert!(
        said.starts_with("2|id|it is missing|it looks like a line of another kind, rollouts"),
        "{said}"
    );
}

#[test]
fn files_that_are_no_lines_of_ours_are_said_to_be_what_they_are() {
    for (contents, title, note) in [
        ("", "an empty file", ""),
        ("\n\n", "an empty file", ""),
        ("[{\"id\":\"a\"}]", "one JSON list", "jq -c '.[]'"),
        ("{\n\"id\": \"a\"\n}", "JSON over several lines", "jq -c ."),
        ("PAR1...", "a Parquet file", "whet data prepare"),
        (
            r#"{"task_id":2,"text":"t","code":"c","test_list":[]}"#,
            "a file of the data set mbpp, not yet tasks",
            "`whet data prepare --mbpp FILE`",
        ),
        (r#"{"messages":[]}"#, "conversations in a form that whet does not read", "SFT rows have"),
        (r#"{"question":"q"}"#, "nothing that whet reads", "its fields are question"),
        ("hello", "no line is a JSON object", ""),
    ] {
        let report = checked("x.jsonl", contents);
        assert_eq!((report.kind, report.title.as_str()), (None, title), "{contents}");
        assert!(report.notes.join(" ").contains(note), "{:?}", report.notes);
        assert!(!report.is_right());
    }
}

#[test]
fn a_compressed_file_is_unpacked_and_a_torn_one_is_wrong() {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all([TASK, "\n"].concat().as_bytes()).expect("memory");
    let packed = packer.finish().expect("memory");
    let whole = checked("x.jsonl.gz", &packed);
    assert_eq!((whole.kind, whole.good, whole.bad), (Some(FileKind::Tasks), 1, 0));
    assert!(whole.notes[0].starts_with("compressed: "), "{:?}", whole.notes);
    let torn = checked_as("x.jsonl.gz", &packed[..packed.len() - 4], Some(FileKind::Tasks));
    assert!(torn.bad == 1 && first(&torn).contains("breaks off"), "{torn:?}");
}

#[test]
fn a_file_that_is_read_whole_is_not_read_behind_other_lines() {
    let (_, event) =
        examples().into_iter().find(|(kind, _)| *kind == FileKind::Events).expect("one");
    let report = checked("events.jsonl", format!("\n{event}\n"));
    assert_eq!(report.kind, None);
    assert_eq!(report.notes, ["`--as events` reads it as such a file"]);
}

#[test]
fn a_damaged_event_ends_the_reading_and_is_named_by_its_line() {
    let (_, event) =
        examples().into_iter().find(|(kind, _)| *kind == FileKind::Events).expect("one");
    let changed = event.replace("0.42", "0.99");
    let report = checked("events.jsonl", [&changed, &event, ""].join("\n"));
    assert_eq!((report.kind, report.lines, report.bad), (Some(FileKind::Events), 1, 1));
    assert!(first(&report).starts_with("1|-|is damaged: its bytes have crc"), "{}", first(&report));
}

#[test]
fn settings_and_stages_are_checked_with_the_lines_of_their_problems() {
    let good = checked("my.toml", "[training]\nmax_steps = 3\n");
    assert_eq!((good.kind, good.is_right()), (Some(FileKind::Settings), true));
    let bad = checked("my.toml", "seed = 1\n[training]\nmax_stepz = 3\n");
    assert!(first(&bad).starts_with("3|training.max_stepz|"), "{}", first(&bad));
    let stages = checked("my.toml", "name = \"a\"\n[[stage]]\nkind = \"bake\"\n");
    assert_eq!((stages.kind, stages.is_right()), (Some(FileKind::Stages), false));
    assert_eq!(stages.problems[0].line, 2, "{stages:?}");
}

#[test]
fn results_of_several_lines_are_known_and_a_broken_one_is_wrong() {
    let (_, results) =
        examples().into_iter().find(|(kind, _)| *kind == FileKind::Results).expect("one");
    let pretty = results.replacen('{', "{\n", 1);
    let report = checked("evaluation_results.json", &pretty);
    assert_eq!((report.kind, report.good, report.is_right()), (Some(FileKind::Results), 2, true));
    let twice = checked("evaluation_results.json", pretty.replace("mine/2", "mine/1"));
    assert!(first(&twice).contains("counted twice: 1 task"), "{}", first(&twice));
    let damaged = checked("evaluation_results.json", "{\n\"v\": 1}\n");
    assert!(!damaged.is_right() && first(&damaged).contains("it counts no task"), "{damaged:?}");
    let other = checked("score.report.json", "{\n\"v\": 1, \"lines\": 3\n}\n");
    assert_eq!((other.kind, other.title.as_str()), (None, "JSON over several lines"));
}

#[test]
fn a_file_that_is_not_there_names_the_command_that_makes_it() {
    let gone = |name: &str, kind| {
        let files = vec![Path::new(name).to_owned()];
        let report = check(&CheckRequest { files, kind, shown: 3 });
        assert!(!report.is_right());
        report.unreadable[0].hint.clone()
    };
    assert!(gone("gone/train.jsonl", None).starts_with("`whet data prepare` makes"));
    assert!(gone("gone/x.jsonl", Some(FileKind::Traces)).starts_with("`whet teach` makes"));
    assert_eq!(gone("gone/x.jsonl", None), "check the path");
}
