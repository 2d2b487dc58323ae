//! Every reference of the embedded tasks passes its tests in the real judge, and what is no
//! solution fails: so the twin in Rust and the reference in Python agree.
//!
//! Judged is a part of them; with `WHETSTONE_FULL=1` all 5,000. The binary is its own judge: it is
//! started again as supervisor and zygote, which the usual test harness would not allow.

#![expect(clippy::print_stdout, reason = "a test with a `main` of its own reports")]

use std::env;
use std::time::Instant;

use whetstone_core::program::{Language, Program};
use whetstone_core::tests::{Call, Tests};
use whetstone_core::verdict::Verdict;
use whetstone_core::{Seed, Task};
use whetstone_data::embedded::generate;
use whetstone_sandbox::job::{Job, Limits};
use whetstone_sandbox::{Judge, Options, entry};

const TEST: &str = "references_pass_and_what_is_none_fails";

fn main() -> Result<(), String> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let first = arguments.first().map(String::as_str);
    if matches!(first, Some("supervise" | "zygote")) {
        return entry::run(&arguments);
    }
    // What cargo-nextest asks a test binary for.
    if arguments.iter().any(|argument| argument == "--list") {
        if !arguments.iter().any(|argument| argument == "--ignored") {
            println!("{TEST}: test");
        }
        return Ok(());
    }
    references_pass_and_what_is_none_fails();
    Ok(())
}

fn references_pass_and_what_is_none_fails() {
    let full = env::var_os("WHETSTONE_FULL").is_some_and(|value| value == "1");
    let tasks: Vec<Task> = generate(Seed::new(42), if full { 5000 } else { 400 })
        .into_iter()
        .map(|made| made.task)
        .collect();
    let this = env::current_exe().expect("a running test has a path");
    let options = Options::new(vec![this.to_string_lossy().into_owned()]);
    let judge = Judge::start(&options).expect("programs can be held here");
    let start = Instant::now();
    let tickets: Vec<_> =
        tasks.iter().map(|task| (task, submit(&judge, task, reference(task)))).collect();
    for (task, ticket) in tickets {
        let judgement = ticket.wait().expect("a verdict");
        assert_eq!(judgement.verdict(), &Verdict::Pass, "{}\n{}", task.id, reference(task));
    }
    println!("{} references pass, after {:.1?}", tasks.len(), start.elapsed());
    let some = tasks.iter().step_by(if full { 5 } else { 8 });
    let tickets: Vec<_> = some
        .flat_map(|task| {
            wrong(task).map(|source| (task, source.clone(), submit(&judge, task, source)))
        })
        .collect();
    let count = tickets.len();
    for (task, source, ticket) in tickets {
        let judgement = ticket.wait().expect("a verdict");
        assert_ne!(judgement.verdict(), &Verdict::Pass, "{}\n{source}", task.id);
    }
    println!("{count} programs that are no solution fail");
}

fn reference(task: &Task) -> String {
    task.reference.clone().expect("every embedded task has one")
}

fn submit(judge: &Judge, task: &Task, source: String) -> whetstone_sandbox::Ticket {
    let program = Program { language: Language::Python, source, truncated: false };
    let limits = Limits::default();
    judge.submit(Job { program: &program, setup: &task.setup, tests: &task.tests, limits })
}

/// The first argument, one answer for all, and the visible tests by heart.
fn wrong(task: &Task) -> [String; 3] {
    let Tests::Calls { entry_point, suite } = &task.tests else { panic!("{task:?}") };
    let hidden = &suite.hidden.for_the_judge()[0];
    let heart = suite.visible.as_slice().iter().map(|call| {
        format!(
            "    if args == ({},):\n        return {}\n",
            tuple(call),
            python(call.expected.get())
        )
    });
    let heart: String = heart.collect();
    let last = python(suite.visible.as_slice()[0].expected.get());
    [
        format!("def {entry_point}(*args):\n    return args[0]\n"),
        format!("def {entry_point}(*args):\n    return {}\n", python(hidden.expected.get())),
        format!("def {entry_point}(*args):\n{heart}    return {last}\n"),
    ]
}

/// The arguments of a call, separated by commas.
fn tuple(call: &Call) -> String {
    let arguments: Vec<String> = call.args.iter().map(|argument| python(argument.get())).collect();
    arguments.join(", ")
}

/// JSON as Python; no string of these tasks holds the two words.
fn python(json: &str) -> String {
    json.replace("true", "True").replace("false", "False")
}
