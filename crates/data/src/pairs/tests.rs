//! Whole files: what becomes of their lines, and what is written.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;

use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use whetstone_core::config::PromptConfig;
use whetstone_core::preference::Preference;
use whetstone_core::wire::Wire;

use super::*;

/// A folder with files, and how pairs are made in it.
struct Folder {
    dir: tempfile::TempDir,
    rollouts: Vec<PathBuf>,
    traces: Vec<PathBuf>,
    given: Vec<GivenFile>,
    tasks: Vec<Task>,
    per_task: usize,
    strict: bool,
    seed: u64,
    val_fraction: Option<f64>,
}

impl Folder {
    /// With these tasks.
    fn new(tasks: usize) -> Self {
        let task = |at: usize| {
            let line = format!(
                r#"{{"id":"t/{at}","statement":"Task {at}.","tests":{{"kind":"asserts","hidden":["assert f()"]}}}}"#
            );
            Task::from_object(serde_json::from_str(&line).unwrap()).unwrap()
        };
        Self {
            dir: tempfile::tempdir().unwrap(),
            rollouts: Vec::new(),
            traces: Vec::new(),
            given: Vec::new(),
            tasks: (0..tasks).map(task).collect(),
            per_task: 8,
            strict: false,
            seed: 1,
            val_fraction: None,
        }
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn with_rollouts(mut self, text: &str) -> Self {
        self.rollouts = vec![self.write("rollouts.jsonl", text)];
        self
    }

    fn with_pairs(mut self, text: &str) -> Self {
        let path = self.write("given.jsonl", text);
        self.given = vec![GivenFile { name: "given".to_owned(), path }];
        self
    }

    fn run(&self) -> Result<PairSummary, PairError> {
        let (out, validation) = (self.out(), self.dir.path().join("val.jsonl"));
        pair(&Pairing {
            rollouts: &self.rollouts,
            traces: &self.traces,
            given: &self.given,
            tasks: &self.tasks,
            prompt: &PromptTemplate::of(&PromptConfig::default()).unwrap(),
            seed: Seed::new(self.seed),
            min_gap: 0.1,
            min_distance: 0.02,
            per_task: self.per_task,
            out: &out,
            held_out: self.val_fraction.map(|fraction| HeldOut { out: &validation, fraction }),
            strict: self.strict,
            on_progress: &|_, _, _| (),
        })
    }

    fn out(&self) -> PathBuf {
        self.dir.path().join("pairs.jsonl")
    }

    /// The lines of a file, each of which reads back as the same pair.
    fn pairs(&self, name: &str) -> Vec<Preference> {
        let text = fs::read_to_string(self.dir.path().join(name)).unwrap();
        text.lines()
            .map(|line| {
                let pair = Preference::from_object(serde_json::from_str(line).unwrap()).unwrap();
                assert_eq!(pair.to_line(), line);
                pair
            })
            .collect()
    }
}

/// A program that differs from those of other numbers by more than names.
fn program(number: usize) -> String {
    let steps: Vec<String> =
        (0..=number).map(|step| format!("    x += {number} * {step}")).collect();
    format!("```python\ndef f(x):\n{}\n    return x\n```", steps.join("\n"))
}

fn rollout(task: usize, text: &str, passed: bool, total: f64) -> String {
    let text = serde_json::to_string(text).unwrap();
    let verdict = if passed {
        r#""verdict":"pass","tests_passed":1"#
    } else {
        r#""verdict":"wrong","test":0,"tests_passed":0"#
    };
    format!(
        "{{\"step\":0,\"prompt_id\":\"t/{task}\",\"text\":{text},\"validation\":{{{verdict},\
         \"tests_total\":1,\"cpu_ms\":1.0,\"isolation\":\"full\"}},\
         \"reward\":{{\"total\":{total:?},\"terms\":{{\"tests\":{total:?}}}}}}}\n"
    )
}

/// Two replies that pass and two that do not, for each task.
fn school(tasks: usize) -> String {
    let lines = |task: usize| {
        (0..4).map(move |at| {
            let (passed, total) = (at < 2, if at < 2 { 1.0 } else { 0.0 });
            rollout(task, &program(10 * task + at), passed, total)
        })
    };
    (0..tasks).flat_map(lines).collect()
}

#[test]
fn passing_replies_are_preferred_within_a_task_and_counted_by_origin() {
    let folder = Folder::new(3).with_rollouts(&school(3));
    let summary = folder.run().unwrap();
    assert_eq!((summary.pairs, summary.tasks, summary.replies), (12, 3, 12));
    assert_eq!(summary.by_origin, [("rollouts:pass_over_fail".to_owned(), 12)].into());
    assert_eq!(summary.pairs_left_out, [("small_gap", 6)].into());
    let pairs = folder.pairs("pairs.jsonl");
    let ids: BTreeSet<&str> = pairs.iter().map(|pair| pair.id.as_str()).collect();
    assert_eq!(ids.len(), 12, "every id is once in the file");
    for pair in &pairs {
        let task: usize = pair.task_id.as_ref().unwrap().as_str()[2..].parse().unwrap();
        assert!(pair.prompt[1].content.contains(&format!("Task {task}.")), "{pair:?}");
        let is_of = |text: &str, range: std::ops::Range<usize>| {
            range.map(|at| program(10 * task + at)).any(|program| program == text)
        };
        assert!(is_of(&pair.chosen, 0..2) && is_of(&pair.rejected, 2..4), "{pair:?}");
        assert!((pair.margin - 1.0).abs() < 1e-12);
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_the_order_of_lines_chooses_nothing() {
    let (mut one, text) = (Folder::new(4), school(4));
    one.per_task = 2;
    let one = one.with_rollouts(&text);
    let bytes = |folder: &Folder| {
        folder.run().unwrap();
        fs::read(folder.out()).unwrap()
    };
    let first = bytes(&one);
    assert_eq!(first, bytes(&one));
    let mut lines: Vec<&str> = text.lines().collect();
    lines.reverse();
    let mut other = Folder::new(4);
    other.per_task = 2;
    let other = other.with_rollouts(&lines.join("\n"));
    let set = |folder: &Folder| -> BTreeSet<(String, String)> {
        let pairs = folder.pairs("pairs.jsonl").into_iter();
        pairs.map(|pair| (pair.chosen, pair.rejected)).collect()
    };
    other.run().unwrap();
    assert_eq!(set(&one), set(&other));
}

#[test]
fn held_out_tasks_are_in_the_other_file_alone() {
    let mut folder = Folder::new(10).with_rollouts(&school(10));
    // The same tasks in a file of pairs: they go the same way.
    let given = |at: usize| {
        format!(
            r#"{{"task_id":"t/{at}","prompt":"p{at}","chosen":"yes {at}","rejected":"no {at}"}}"#
        )
    };
    folder = folder.with_pairs(&(0..10).map(|at| given(at) + "\n").collect::<String>());
    folder.val_fraction = Some(0.3);
    let summary = folder.run().unwrap();
    let tasks = |name: &str| -> BTreeSet<String> {
        let pairs = folder.pairs(name);
        pairs.iter().map(|pair| pair.task_id.as_ref().unwrap().to_string()).collect()
    };
    let (train, validation) = (tasks("pairs.jsonl"), tasks("val.jsonl"));
    assert_eq!((train.len(), validation.len()), (7, 3));
    assert!(train.is_disjoint(&validation));
    assert_eq!((summary.tasks, summary.tasks_held_out), (10, 3));
    assert_eq!((summary.pairs, summary.pairs_held_out), (50, 15));
    assert_eq!(summary.by_origin["hub:given"], 10);
    let one = Folder { val_fraction: Some(0.5), ..Folder::new(1).with_rollouts(&school(1)) };
    assert!(matches!(one.run(), Err(PairError::OneTask)));
}

#[test]
fn rewards_order_replies_with_the_same_result_and_other_prompts_are_not_mixed() {
    let own = |line: String, prompt: &str| {
        line.replacen("\"step\"", &format!("\"prompt\":\"{prompt}\",\"step\""), 1)
    };
    let text = [
        rollout(0, &program(1), false, 0.5),
        rollout(0, &program(2), false, 0.2),
        own(rollout(0, &program(3), true, 1.0), "asked otherwise"),
        rollout(0, &program(1), false, 0.5),
        rollout(0, " ", false, 0.0),
        rollout(9, &program(1), true, 1.0),
    ];
    let folder = Folder::new(1).with_rollouts(&text.concat());
    let summary = folder.run().unwrap();
    let unused = [("duplicate", 1), ("empty", 1), ("no_prompt", 1)];
    assert_eq!(summary.replies_left_out, unused.into());
    let pairs = folder.pairs("pairs.jsonl");
    assert_eq!((pairs.len(), pairs[0].origin.as_str()), (1, "rollouts:reward"));
    assert!((pairs[0].margin - 0.3).abs() < 1e-12);
}

#[test]
fn traces_are_paired_with_traces() {
    let mut folder = Folder::new(1).with_rollouts(&rollout(0, &program(1), true, 1.0));
    let trace = |sample: usize, verdict: &str| {
        let text = serde_json::to_string(&program(sample)).unwrap();
        format!(
            r#"{{"task_id":"t/0","sample":{sample},"prompt":"p","code":"x = {sample}","text":{text},"verdict":"{verdict}","model":"m"}}"#
        )
    };
    folder.traces =
        vec![folder.write("traces.jsonl", &[trace(2, "wrong"), trace(3, "pass")].join("\n"))];
    let summary = folder.run().unwrap();
    assert_eq!(summary.by_origin, [("traces:pass_over_fail".to_owned(), 1)].into());
}

#[test]
fn bad_lines_are_named_and_refused_if_that_is_wanted() {
    let rows = [
        r#"{"prompt":"p","chosen":"a","rejected":"b"}"#,
        r#"{"prompt":"p","chosen":"a","rejected":"a"}"#,
        r#"{"prompt":"p","chosen":"a","rejected":" "}"#,
        "{}",
        r#"{"prompt":"p","chosen":"a","rejected":"b"}"#,
        r#"{"prompt":"p","chosen":"b","rejected":"a"}"#,
        r#"{"prompt":"p","chosen":"c d","rejected":"c"}"#,
        r#"{"prompt":"p","chosen":"e  f","rejected":"e f"}"#,
    ];
    let mut folder = Folder::new(1).with_pairs(&rows.join("\n"));
    folder.rollouts = vec![folder.write("r.jsonl", "{\"prompt_id\":\"t/0\"}\n")];
    let summary = folder.run().unwrap();
    assert_eq!(summary.pairs, 1);
    let bad = [("bad_line", 1), ("bad_row", 1), ("empty_side", 1), ("equal_texts", 1)];
    assert_eq!(summary.bad, bad.into());
    let left_out = [("contradicts", 1), ("duplicate", 1), ("length_alone", 1), ("near_equal", 1)];
    assert_eq!(summary.pairs_left_out, left_out.into());
    let said: Vec<String> = summary
        .bad_lines
        .iter()
        .map(|bad| {
            format!("{}:{}: {}", bad.file.file_name().unwrap().display(), bad.line, bad.reason)
        })
        .collect();
    assert_eq!(said[0], "r.jsonl:1: not a rollout: field `text` is missing");
    assert_eq!(said[1], "given.jsonl:2: `chosen` and `rejected` are the same text");
    fs::remove_file(folder.out()).unwrap();
    folder.strict = true;
    let err = folder.run().unwrap_err();
    assert!(matches!(&err, PairError::BadLines { count: 4, .. }) && err.is_usage(), "{err}");
    assert!(!folder.out().exists(), "nothing is written");
}

#[test]
fn what_gives_no_pair_says_why() {
    let unscored = "{\"prompt_id\":\"t/0\",\"text\":\"x\"}\n";
    let err = Folder::new(1).with_rollouts(unscored).run().unwrap_err();
    assert_eq!(
        err.to_string(),
        "no pair can be made of these files: 0 replies; lines left out: 1 not_scored"
    );
    assert!(err.hint().unwrap().contains("whet score"));
    let err = Folder::new(0).with_rollouts(&school(1)).run().unwrap_err();
    assert!(err.hint().unwrap().contains("--tasks"), "{err}");
    assert!(matches!(Folder::new(1).run(), Err(PairError::NoInput)));
    let mut folder = Folder::new(1).with_rollouts(&school(1));
    folder.rollouts.push(folder.dir.path().to_owned());
    assert!(folder.run().unwrap_err().is_usage(), "a folder is not a file");
    folder.rollouts = vec![folder.out()];
    folder.write("pairs.jsonl", &school(1));
    let err = folder.run().unwrap_err().to_string();
    assert!(err.contains("is also an input"), "{err}");
}

#[test]
fn a_limit_holds_for_rows_too_and_pairs_can_be_read_again() {
    let row =
        |at: usize| format!("{{\"prompt\":\"p\",\"chosen\":\"a{at}\",\"rejected\":\"b{at}\"}}\n");
    let mut folder = Folder::new(0).with_pairs(&(0..9).map(row).collect::<String>());
    folder.per_task = 4;
    let summary = folder.run().unwrap();
    assert_eq!((summary.pairs, summary.pairs_left_out["over_limit"]), (4, 5));
    let mut again = Folder::new(0).with_pairs(&fs::read_to_string(folder.out()).unwrap());
    again.given[0].name = "second".to_owned();
    let summary = again.run().unwrap();
    assert_eq!(summary.by_origin, [("hub:given".to_owned(), 4)].into(), "origins are kept");
}

#[test]
fn messages_are_read_from_parquet() {
    let folder = Folder::new(0);
    let path = folder.dir.path().join("hub.parquet");
    let side = |name: &str| {
        format!(
            "optional group {name} (LIST) {{ repeated group list {{ optional group element {{ \
             optional binary content (UTF8); optional binary role (UTF8); }} }} }}"
        )
    };
    let schema = format!("message m {{ {} {} }}", side("chosen"), side("rejected"));
    let schema = Arc::new(parse_message_type(&schema).unwrap());
    let mut writer =
        SerializedFileWriter::new(fs::File::create(&path).unwrap(), schema, Arc::default())
            .unwrap();
    let mut group = writer.next_row_group().unwrap();
    let columns = [["q", "a"], ["user", "assistant"], ["q", "b"], ["user", "assistant"]];
    for values in columns {
        let mut column = group.next_column().unwrap().unwrap();
        let values = values.map(ByteArray::from);
        column.typed::<ByteArrayType>().write_batch(&values, Some(&[4, 4]), Some(&[0, 1])).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
    let folder = Folder { given: vec![GivenFile { name: "hub".to_owned(), path }], ..folder };
    folder.run().unwrap();
    let pair = folder.pairs("pairs.jsonl").remove(0);
    assert_eq!((pair.chosen.as_str(), pair.rejected.as_str()), ("a", "b"));
    assert_eq!(pair.prompt, [whetstone_core::Message::user("q")]);
    assert_eq!((pair.id.as_str(), pair.origin.as_str()), ("hub:hub:1", "hub:hub"));
}
