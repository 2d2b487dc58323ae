//! Tests of a planted function, judged by a stand-in that knows what each program answers.

use serde_json::json;
use whetstone_core::judgement::{Counts, Held, Isolation, Judgement};
use whetstone_core::wire::Wire;

use super::*;

/// A judge for programs `kind = 'NAME'`: functions of one integer by their names.
struct Stub {
    hash_seed: i64,
}

impl Stub {
    fn answer(&self, program: &str, number: i64) -> Option<i64> {
        let first = program.lines().next().unwrap_or_default();
        let name = first.strip_prefix("kind = '").and_then(|rest| rest.strip_suffix('\''));
        match name.unwrap_or_default() {
            "double" | "twice" => Some(number * 2),
            // Right for the known input alone.
            "plus three" => Some(number + 3),
            "varies" if number != 3 => Some(number * 2 + self.hash_seed),
            "varies" => Some(6),
            _ => None,
        }
    }
}

impl Judging for Stub {
    fn judge(&self, job: Job<'_>) -> Result<Judgement, Unjudged> {
        if job.program.source.contains("breaks") {
            return Err(Unjudged::Machine(Infrastructure("the zygote died".to_owned())));
        }
        let Tests::Asserts(suite) = job.tests else { panic!("asserts alone") };
        let held = Held { cpu_ms: 1.0, isolation: Isolation::Full };
        let total = u32::try_from(suite.hidden.len()).unwrap();
        for (at, test) in suite.hidden.for_the_judge().iter().enumerate() {
            let call = literal_call(test).expect("a literal call");
            let Value::Int(number) = &call.args[0] else { panic!("an integer") };
            let test = u32::try_from(at).unwrap();
            let answer = self.answer(&job.program.source, number.as_i64().unwrap());
            let (verdict, got) = match answer {
                Some(answer) if Value::int(answer) == call.expected => continue,
                Some(answer) => (Verdict::Wrong { test }, Some(answer.to_string())),
                None => (Verdict::Raised { test, kind: "ValueError".to_owned() }, None),
            };
            let judgement =
                Judgement::of_run(verdict, Counts { passed: test, total }, held).unwrap();
            return Ok(judgement.with_got(got.as_deref()));
        }
        Ok(Judgement::of_run(Verdict::Pass, Counts { passed: total, total }, held).unwrap())
    }
}

fn task(fields: &serde_json::Value) -> Task {
    let mut line = json!({"id": "t/1", "statement": "Double a number.\n>>> f(3)\n6"});
    line.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    Task::from_object(serde_json::from_value(line).unwrap()).unwrap()
}

/// Of how many programs how large a part must agree.
struct Quorum {
    min_programs: usize,
    share: f64,
}

const ONE: Quorum = Quorum { min_programs: 1, share: 1.0 };

fn generate(
    task: &Task,
    programs: &[&str],
    Quorum { min_programs, share }: Quorum,
) -> Result<(Task, GeneratedSummary), Infrastructure> {
    let programs: Vec<String> = programs.iter().map(|name| format!("kind = '{name}'")).collect();
    let judges = [Stub { hash_seed: 0 }, Stub { hash_seed: 1 }];
    let mut tasks = [task.clone()];
    let summary = generate_tests(
        &mut tasks,
        &TestGeneration {
            programs: &|_| programs.clone(),
            from: "reference",
            min_programs,
            share,
            per_task: 5,
            judges: [&judges[0], &judges[1]],
            limits: Limits::default(),
            seed: Seed::new(1),
            workers: 2,
            on_task: &|| {},
        },
    )?;
    let [task] = tasks;
    Ok((task, summary))
}

fn hidden(task: &Task) -> Vec<String> {
    match &task.tests {
        Tests::Asserts(suite) => suite.hidden.for_the_judge().to_vec(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_reference_answers_new_inputs_and_the_given_tests_stay_first() {
    let given = task(&json!({"tests": ["assert f(3) == 6"]}));
    let (made, summary) = generate(&given, &["double"], ONE).unwrap();
    let tests = hidden(&made);
    assert_eq!((tests.len(), tests[0].as_str()), (6, "assert f(3) == 6"));
    for test in &tests {
        let call = literal_call(test).unwrap();
        let (Value::Int(number), Value::Int(answer)) = (&call.args[0], &call.expected) else {
            panic!("{test}")
        };
        assert_eq!(number.as_i64().unwrap() * 2, answer.as_i64().unwrap(), "{test}");
        assert!(number.as_i64().unwrap() > 0, "like the known input: {test}");
    }
    assert_eq!(tests.iter().collect::<std::collections::BTreeSet<_>>().len(), 6, "none twice");
    assert_eq!(made.rest.get(GENERATED), Some(r#"{"tests":5,"from":"reference"}"#));
    assert_eq!((summary.tasks_with_tests, summary.tests), (1, 5));
    let (again, _) = generate(&given, &["double"], ONE).unwrap();
    assert_eq!(again.to_line(), made.to_line(), "the seed decides");
}

#[test]
fn programs_vote_and_those_that_fail_an_example_have_no_vote() {
    let untested = task(&json!({}));
    assert!(untested.tests.is_absent());
    let programs = ["double", "twice", "plus three", "nonsense"];
    let (made, _) = generate(&untested, &programs, Quorum { min_programs: 3, share: 0.6 }).unwrap();
    let tests = hidden(&made);
    assert_eq!(tests[0], "assert f(3) == 6", "the example is a test");
    assert_eq!(
        made.reference.as_deref(),
        Some("kind = 'double'"),
        "a program that agrees, the first by name"
    );
    assert!(
        tests[1..].iter().all(|test| literal_call(test).is_some_and(|call| {
            let (Value::Int(number), Value::Int(answer)) = (&call.args[0], &call.expected) else {
                return false;
            };
            number.as_i64().unwrap() * 2 == answer.as_i64().unwrap()
        })),
        "two of three agree: {tests:?}"
    );
    let (same, summary) =
        generate(&untested, &programs, Quorum { min_programs: 3, share: 0.7 }).unwrap();
    assert!(same.tests.is_absent(), "two of three are not 70 %");
    assert_eq!(summary.left["no_answers"], 1);
    assert!(summary.inputs_without_answer > 0);
    let (_, summary) =
        generate(&untested, &programs, Quorum { min_programs: 4, share: 0.6 }).unwrap();
    assert_eq!(summary.left["few_programs"], 1, "the fourth fails the example");
}

#[test]
fn what_changes_with_the_hash_seed_is_no_answer() {
    let given = task(&json!({"tests": ["assert f(3) == 6"]}));
    let (same, summary) = generate(&given, &["varies"], ONE).unwrap();
    assert_eq!(same.to_line(), given.to_line());
    assert_eq!(summary.left["no_answers"], 1);
}

#[test]
fn tasks_of_other_kinds_are_left_as_they_are() {
    let calls =
        json!({"kind": "calls", "entry_point": "f", "hidden": [{"args": [3], "expected": 6}]});
    for (fields, left) in [
        (json!({"tests": calls}), "other_kind"),
        (json!({"language": "javascript"}), "other_kind"),
        (json!({"statement": "Double it."}), "no_calls"),
        (json!({"tests": ["assert f(3) == 7"]}), "few_programs"),
    ] {
        let given = task(&fields);
        let (same, summary) = generate(&given, &["double"], ONE).unwrap();
        assert_eq!(same.to_line(), given.to_line());
        assert_eq!(summary.left, BTreeMap::from([(left, 1)]));
    }
}

#[test]
fn a_machine_that_fails_is_an_error_and_no_answer() {
    let given = task(&json!({"tests": ["assert f(3) == 6"]}));
    assert_eq!(generate(&given, &["breaks"], ONE).unwrap_err().0, "the zygote died");
}
