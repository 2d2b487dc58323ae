//! Every test of MBPP and HumanEval becomes a step, of the kind that it should.
//!
//! The data sets are not part of the repository; where they are not found beside it, their tests
//! say so and look at nothing.

use std::path::PathBuf;
use std::process::Command;

use serde::Deserialize;
use whetstone_core::program::Language;
use whetstone_core::tests::{Suite, Tests};

use crate::plan::{Plan, Step, plan};

#[derive(Deserialize)]
struct Mbpp {
    task_id: u32,
    #[serde(default)]
    test_setup_code: String,
    #[serde(default)]
    test_imports: Vec<String>,
    test_list: Vec<String>,
}

#[derive(Deserialize)]
struct HumanEval {
    task_id: String,
    entry_point: String,
    test: String,
}

/// How many steps there are of each kind: values, truths, checks; and the tasks with checks.
#[derive(Debug, Default)]
struct Counts {
    values: usize,
    truths: usize,
    checks: usize,
    tasks: Vec<u32>,
}

impl Counts {
    fn add(&mut self, task: u32, plan: &Plan) {
        for step in &plan.steps {
            match step {
                Step::Value { .. } => self.values += 1,
                Step::Truth { .. } => self.truths += 1,
                Step::Check { proxies, .. } => {
                    assert!(!proxies.is_empty(), "task {task}: {step:?}");
                    self.checks += 1;
                    self.tasks.push(task);
                }
                Step::Call { .. } | Step::Run { .. } => panic!("task {task}: {step:?}"),
            }
        }
        self.tasks.dedup();
    }
}

fn shared(path: &str) -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let path = root.join(path);
    if path.exists() {
        return Some(path);
    }
    eprintln!("SKIPPED: {} is not here", path.display());
    None
}

fn planned(task: &Mbpp) -> Plan {
    let setup = [task.test_imports.join("\n"), task.test_setup_code.clone()].join("\n");
    let tests = Tests::Asserts(Suite::new(vec![], task.test_list.clone()).unwrap());
    plan(&tests, &setup, Language::Python).unwrap_or_else(|err| panic!("{}: {err:?}", task.task_id))
}

#[test]
fn all_of_mbpp_but_two_tasks_needs_no_checker() {
    let Some(path) = shared("mbpp/mbpp.jsonl") else { return };
    let text = std::fs::read_to_string(path).unwrap();
    let tasks: Vec<Mbpp> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(tasks.len(), 974);
    let mut counts = Counts::default();
    let mut late = Vec::new();
    for task in &tasks {
        let plan = planned(task);
        counts.add(task.task_id, &plan);
        if !plan.after.is_empty() {
            late.push(task.task_id);
        }
    }
    eprintln!("MBPP: {counts:?}");
    assert_eq!(late, [367, 927]);
    assert_eq!((counts.values, counts.truths, counts.checks), (2916, 0, 6));
    // `tuple_size(…) == sys.getsizeof(…)` and `int(lobb_num(…)) == 35`.
    assert_eq!(counts.tasks, [596, 912]);
}

#[test]
fn the_sanitized_mbpp_needs_a_checker_for_few() {
    let Some(path) = shared("mbpp/sanitized-mbpp.json") else { return };
    let text = std::fs::read_to_string(path).unwrap();
    let tasks: Vec<Mbpp> = serde_json::from_str(&text).unwrap();
    assert_eq!(tasks.len(), 427);
    let mut counts = Counts::default();
    for task in &tasks {
        counts.add(task.task_id, &planned(task));
    }
    eprintln!("sanitized MBPP: {counts:?}");
    assert_eq!((counts.values, counts.truths, counts.checks), (1245, 22, 57));
}

#[test]
fn every_test_of_humaneval_is_a_check_of_its_entry_point() {
    let Some(path) = shared("humaneval/HumanEval.jsonl.gz") else { return };
    let script = "import gzip, sys; sys.stdout.write(gzip.open(sys.argv[1], 'rt').read())";
    let Ok(output) = Command::new("python3").args(["-I", "-c", script]).arg(path).output() else {
        eprintln!("SKIPPED: there is no python3 here");
        return;
    };
    let text = String::from_utf8(output.stdout).unwrap();
    let mut helped = Vec::new();
    for line in text.lines() {
        let task: HumanEval = serde_json::from_str(line).unwrap();
        let suite = Suite::new(vec![], vec![task.test]).unwrap();
        let tests = Tests::Script { entry_point: task.entry_point.clone(), suite };
        // `poly(coeffs, solution)` says whether the solution is right: it must be the task's own.
        let poly = task.task_id == "HumanEval/32";
        assert_eq!(plan(&tests, "", Language::Python).is_err(), poly, "{}", task.task_id);
        let setup = if poly { "def poly(xs, x): pass" } else { "" };
        let plan = plan(&tests, setup, Language::Python).unwrap();
        let [Step::Check { proxies, modules, entry_point, .. }] = plan.steps.as_slice() else {
            panic!("{}: {:?}", task.task_id, plan.steps);
        };
        assert_eq!(entry_point.as_deref(), Some(task.entry_point.as_str()));
        if !proxies.is_empty() || !modules.is_empty() {
            helped.push(format!("{} {} {}", task.task_id, proxies.join(","), modules.join(",")));
        }
    }
    assert_eq!(text.lines().count(), 164);
    let expected =
        ["HumanEval/33 sort_third ", "HumanEval/38 encode_cyclic ", "HumanEval/50 encode_shift "];
    assert_eq!(helped, expected);
}
