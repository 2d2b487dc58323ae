//! What useless, broken and honest programs are paid under each composite, judged for real, and what
//! that makes of their groups. `docs/guides/rewards.md` shows these figures.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::binary::whet_in;

/// The longest word of a list; of equals the first. Three hidden tests.
const TASK: &str = r#"{"id":"words","statement":"The longest word.","tests":{"kind":"asserts","hidden":["assert longest(['a', 'bbb', 'cc']) == 'bbb'","assert longest(['ef', 'gh', 'i']) == 'ef'","assert longest(['ab', 'cd']) == 'ab'"]}}"#;

const NAMES: [&str; 8] = [
    "`pass`",
    "stub with a docstring",
    "no entry point",
    "raises at load",
    "hangs",
    "honest, 0 of 3",
    "honest, 1 of 3",
    "honest, 3 of 3",
];

const PROGRAMS: [&str; 8] = [
    "pass",
    "def longest(words):\n    \"\"\"Return the longest of the words.\"\"\"\n    return words",
    "def shortest(words):\n    \"\"\"Return the shortest of the words.\"\"\"\n    return min(words, key=len)",
    "def longest(words):\n    return max(words, key=len)\n\nraise ValueError('not today')",
    "def longest(words):\n    while True:\n        pass",
    "def longest(words):\n    best = None\n    size = 0\n    for word in words:\n        count = 0\n        for letter in word:\n            if letter != ' ':\n                count += 1\n            else:\n                count = 0\n        if count > size:\n            best = word.upper()\n            size = count\n    if best is None:\n        best = 'none'\n    return [best]",
    "def longest(words):\n    best = words[0]\n    for word in words:\n        if len(word) >= len(best):\n            best = word\n    return best",
    "def longest(words):\n    \"\"\"Return the longest of the words, of equals the first.\"\"\"\n    return max(words, key=len, default='')",
];

/// Settings under which every program is judged: what a column of the table is called, and what is
/// set for it.
const COLUMNS: [(&str, &[&str]); 5] = [
    ("tests, fraction", &["reward.tests=fraction"]),
    ("tests", &[]),
    ("weighted_sum", &["reward.composite=weighted_sum"]),
    ("weighted_sum, bare", &["reward.composite=weighted_sum", "reward.form_needs_pass=false"]),
    ("pass_times_quality", &["reward.composite=pass_times_quality"]),
];

/// Who is in which group, by place in the lists above.
const GROUPS: [(&str, &[usize]); 4] = [
    ("no program passes a test", &[0, 1, 2, 3, 4, 5]),
    ("one passes 1 of 3", &[0, 1, 5, 6]),
    ("one solves it", &[1, 5, 6, 7]),
    ("all solve it", &[7, 7]),
];

/// What a column came to: totals and advantages, a list for each group.
struct Column {
    totals: Vec<Vec<f64>>,
    advantages: Vec<Vec<f64>>,
    report: Value,
}

fn score(folder: &Path, settings: &[&str]) -> Column {
    let mut lines = String::new();
    for (step, (_, members)) in GROUPS.iter().enumerate() {
        for &member in *members {
            let text = format!("```python\n{}\n```", PROGRAMS[member]);
            let line = json!({"step": step, "prompt_id": "words", "text": text});
            writeln!(lines, "{line}").expect("a line");
        }
    }
    fs::write(folder.join("tasks.jsonl"), format!("{TASK}\n")).expect("a file");
    fs::write(folder.join("rollouts.jsonl"), lines).expect("a file");
    let mut args = vec!["score", "rollouts.jsonl", "--prompts", "tasks.jsonl", "--json"];
    args.extend(["--set", "sandbox.cpu_seconds=1"]);
    for setting in settings {
        args.extend(["--set", setting]);
    }
    let ran = whet_in(folder, &args);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let scored = fs::read_to_string(folder.join("rollouts.scored.jsonl")).expect("the scores");
    let scored: Vec<Value> =
        scored.lines().map(|line| serde_json::from_str(line).expect("a line")).collect();
    let of_groups = |number: &dyn Fn(&Value) -> Option<f64>| {
        let mut numbers = scored.iter().map(|line| number(line).expect("a number"));
        let group =
            |(_, members): &(&str, &[usize])| numbers.by_ref().take(members.len()).collect();
        GROUPS.iter().map(group).collect()
    };
    Column {
        totals: of_groups(&|line| line["reward"]["total"].as_f64()),
        advantages: of_groups(&|line| line["advantage"].as_f64()),
        report: serde_json::from_str(&ran.out).expect("a report"),
    }
}

/// The reward of each program: from the first group that it is in.
fn reward_of(column: &Column, program: usize) -> f64 {
    let places = GROUPS.iter().enumerate();
    let mut found = places.filter_map(|(group, (_, members))| {
        let at = members.iter().position(|&member| member == program)?;
        Some(column.totals[group][at])
    });
    found.next().expect("every program is in a group")
}

fn table(columns: &BTreeMap<&str, Column>) -> String {
    let mut text = String::from("| program |");
    for (name, _) in COLUMNS {
        write!(text, " {name} |").expect("text");
    }
    for (program, name) in NAMES.iter().enumerate() {
        write!(text, "\n| {name} |").expect("text");
        for (column, _) in COLUMNS {
            write!(text, " {:.3} |", reward_of(&columns[column], program)).expect("text");
        }
    }
    for (group, (title, members)) in GROUPS.iter().enumerate() {
        write!(text, "\n\n{title}\n").expect("text");
        for (at, &member) in members.iter().enumerate() {
            write!(text, "\n| {} |", NAMES[member]).expect("text");
            for (column, _) in COLUMNS {
                write!(text, " {:+.2} |", columns[column].advantages[group][at]).expect("text");
            }
        }
    }
    text
}

#[test]
fn solving_more_pays_more_and_solving_nothing_pays_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let columns: BTreeMap<&str, Column> =
        COLUMNS.iter().map(|(name, settings)| (*name, score(folder.path(), settings))).collect();
    let table = table(&columns);
    for (name, _) in COLUMNS {
        let column = &columns[name];
        let reward = |program| reward_of(column, program);
        let (none, one, all) = (reward(5), reward(6), reward(7));
        assert!(all > one && one >= none, "{name}\n{table}");
        if name != "tests" {
            assert!(one > none, "{name}\n{table}");
        }
        // A broken program earns nothing under any composite.
        for broken in [0, 2, 3] {
            assert_eq!(reward(broken).to_bits(), 0, "{name}: {}\n{table}", NAMES[broken]);
        }
        if name == "weighted_sum, bare" {
            assert!(reward(1) > none, "the formula as it stands pays a stub for its form\n{table}");
            // Stub, hanging and honest attempt in the first group, two of them in each of the next.
            assert_eq!(column.report["paid_without_pass"], 7, "{table}");
        } else {
            for useless in [1, 4, 5] {
                assert_eq!(reward(useless).to_bits(), 0, "{name}: {}\n{table}", NAMES[useless]);
            }
            assert_eq!(column.report["paid_without_pass"], 0, "{table}");
        }
        // Form alone makes no advantage: neither where no program passes nor where all solve it.
        let is_zero = |advantages: &Vec<f64>| {
            advantages.iter().all(|advantage| advantage.to_bits() << 1 == 0)
        };
        assert!(is_zero(&column.advantages[0]), "{name}\n{table}");
        assert!(is_zero(&column.advantages[3]), "{name}\n{table}");
        let solved = &column.advantages[2];
        assert!(
            solved[3] > 1.0 && solved[..2].iter().all(|&advantage| advantage < 0.0),
            "{name}\n{table}"
        );
        let partly = &column.advantages[1];
        match name {
            "tests" => assert!(is_zero(partly), "1 of 3 is nothing\n{table}"),
            // The stub gains here, which is what the default settings are there to prevent.
            "weighted_sum, bare" => {
                assert!(partly[3] > partly[1] && partly[1] > partly[2], "{table}");
            }
            _ => {
                assert!(
                    partly[3] > 1.0 && partly[..3].iter().all(|&advantage| advantage < 0.0),
                    "{table}"
                );
            }
        }
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides/rewards.md");
    let page = fs::read_to_string(page).expect("the guide");
    for line in table.lines().filter(|line| line.starts_with('|')) {
        assert!(page.contains(line), "docs/guides/rewards.md lacks\n{line}\nof\n{table}");
    }
}
