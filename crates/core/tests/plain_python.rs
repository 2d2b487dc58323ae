//! Plain text against real programs and real prose: every reference solution of MBPP is recognised
//! as a program without a fence, and no statement is.
//!
//! The data set is read from `../shared/data` beside the repository where it is there; without it
//! the test says that it was skipped.

use std::path::Path;

use serde_json::Value;
use whetstone_core::extract::{Form, Origin, Reply, extract};

fn is_plain_program(text: &str) -> bool {
    let found = extract(Reply::text(text), Form::ThinkPython);
    found.code.is_some_and(|code| code.origin == Origin::Plain)
}

#[test]
fn every_reference_solution_of_mbpp_is_a_program_and_no_statement_is() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/mbpp/mbpp.jsonl");
    let Ok(lines) = std::fs::read_to_string(file) else {
        println!("SKIPPED: MBPP is not beside the repository");
        return;
    };
    let rows: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let has = |row: &Value, key: &str| is_plain_program(row[key].as_str().unwrap());
    let missed: Vec<_> = rows.iter().filter(|row| !has(row, "code")).collect();
    assert!(missed.is_empty(), "{missed:#?}");
    let taken: Vec<_> = rows.iter().filter(|row| has(row, "text")).collect();
    assert!(taken.is_empty(), "{taken:#?}");
    println!("{} solutions and as many statements", rows.len());
}
