//! `cargo xtask hostile`: every hostile program and every sequence, at every level, as root and not,
//! in one command, with a table at the end.
//!
//! The tests of `crates/sandbox/tests/hostile` judge; this asks them for rows and adds them up. It
//! is not a step of CI, where each family is a separate test.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ExitCode, Stdio};

use crate::ci::cargo;

/// The line of help.
pub const WHAT: &str = "every hostile program at every level, as root and not, as a table";

const COLUMNS: [&str; 6] = ["family", "level", "user", "programs", "broke through", "leftovers"];

/// Runs everything and writes the talk and the table to `out`.
pub fn run(root: &Path, out: &mut dyn Write) -> io::Result<ExitCode> {
    let test = [
        "test",
        "--locked",
        "-p",
        "whetstone-sandbox",
        "--test",
        "hostile",
        "--",
        "--exact",
        "table::every_family_at_every_level",
        "--nocapture",
    ];
    let mut child =
        cargo(root, &test).env("WHETSTONE_TEST_TABLE", "1").stdout(Stdio::piped()).spawn()?;
    let mut rows = Vec::new();
    if let Some(said) = child.stdout.take() {
        for line in BufReader::new(said).lines() {
            let line = line?;
            match row(&line) {
                Some(row) => {
                    writeln!(out, "{}", told(&row))?;
                    rows.push(row);
                }
                None => writeln!(out, "{line}")?,
            }
        }
    }
    let status = child.wait()?;
    write!(out, "\n{}", table(&rows))?;
    for user in ["root", "ordinary"] {
        if !rows.iter().any(|row| row[2] == user) {
            writeln!(out, "SKIPPED: nothing was judged as {user}: {}", why(user))?;
        }
    }
    let held = rows.iter().all(|row| row[4] == "0" && row[5] == "0");
    let good = status.success() && held && !rows.is_empty();
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn why(user: &str) -> &'static str {
    match user {
        "root" => "the caller is not root",
        _ => "no process of another user could be made here",
    }
}

/// The columns of a line that is a row.
fn row(line: &str) -> Option<[String; 6]> {
    // The test harness may have begun the line with words of its own.
    let (_, columns) = line.split_once("row\t")?;
    let columns: Vec<String> = columns.split('\t').map(str::to_owned).collect();
    columns.try_into().ok()
}

fn told(row: &[String; 6]) -> String {
    let [family, level, user, programs, broke, left] = row;
    format!("{family:<12} {level:<9} {user:<9} {programs:>8} {broke:>13} {left:>9}")
}

/// Head, rows, and the sums of what can be summed.
fn table(rows: &[[String; 6]]) -> String {
    let sum = |column: usize| {
        rows.iter().filter_map(|row| row[column].parse::<u64>().ok()).sum::<u64>().to_string()
    };
    let all = ["all".to_owned(), String::new(), String::new(), sum(3), sum(4), sum(5)];
    let head = COLUMNS.map(str::to_owned);
    let lines = [&head].into_iter().chain(rows).chain([&all]);
    lines.map(|row| told(row) + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_behind_what_the_harness_says_and_summed() {
        let rows: Vec<_> = [
            "test table::x ... row\ttime\tfull\troot\t44\t0\t0",
            "skipped: Full: no namespaces",
            "row\tsequences\tlandlock\tordinary\t111\t2\t1",
            "row\ttoo few",
        ]
        .into_iter()
        .filter_map(row)
        .collect();
        assert_eq!(rows.len(), 2);
        let table = table(&rows);
        let last: Vec<&str> = table.lines().last().unwrap().split_whitespace().collect();
        assert_eq!(last, ["all", "155", "2", "1"]);
    }
}
