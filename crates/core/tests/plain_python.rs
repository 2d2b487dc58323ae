//! Plain text against real programs and real prose: every reference solution of MBPP is
//! recognised as a program without a fence, and no statement is.
//!
//! The data set is read from `../shared/data` beside the repository where it is there; without it
//! the test says that it was skipped.

use std::path::{Path, PathBuf};

use serde_json::Value;
use whetstone_core::extract::{Form, Origin, Reply, extract};

fn rows(name: &str) -> Option<Vec<Value>> {
    let root: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let Ok(text) = std::fs::read_to_string(root.join(name)) else {
        println!("skipped: there is no {name} beside the repository");
        return None;
    };
    Some(text.lines().map(|line| serde_json::from_str(line).expect("a row")).collect())
}

fn is_plain_program(text: &str) -> bool {
    let found = extract(Reply::text(text), Form::ThinkPython);
    found.code.is_some_and(|code| code.origin == Origin::Plain)
}

#[test]
fn every_reference_solution_of_mbpp_is_a_program_and_no_statement_is() {
    let Some(rows) = rows("mbpp/mbpp.jsonl") else { return };
    let text = |row: &Value, key: &str| row[key].as_str().expect("text").to_owned();
    let missed: Vec<_> = rows.iter().filter(|row| !is_plain_program(&text(row, "code"))).collect();
    assert!(missed.is_empty(), "{missed:#?}");
    let taken: Vec<_> = rows.iter().filter(|row| is_plain_program(&text(row, "text"))).collect();
    assert!(taken.is_empty(), "{taken:#?}");
    println!("{} solutions and {} statements", rows.len(), rows.len());
}
