//! What is tried, and what follows from the answers: no program is run here.

mod deciding;
mod planning;

use whetstone_core::task::Task;
use whetstone_core::wire::Wire;

/// A task with these tests and this reference.
fn task(reference: &str, tests: &serde_json::Value) -> Task {
    with_language("python", reference, tests)
}

fn with_language(language: &str, reference: &str, tests: &serde_json::Value) -> Task {
    let line = serde_json::json!({
        "id": "x/1", "statement": "s", "language": language, "reference": reference, "tests": tests,
    });
    let object = serde_json::from_str(&line.to_string()).expect("an object");
    Task::from_object(object).expect("a task")
}
