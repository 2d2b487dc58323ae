//! What a program earns that answers every question with the same constant. Where the fraction of tests is paid, that
//! much is paid to nobody: of questions of yes and no, `return True` passes two of three.

use whetstone_core::task::Task;
use whetstone_sandbox::plan::constant::constants;
use whetstone_sandbox::plan::{Plan, plan};
use whetstone_sandbox::value::Value;

/// The largest share of a task's tests that a constant passes: `True`, `False`, 0, 1, `None`, `""` or `[]`. A test of
/// which that cannot be told without running it counts as one that none passes.
pub(super) fn share(task: &Task) -> f64 {
    plan(&task.tests, &task.setup, task.language).map_or(0.0, |plan| share_of(&plan))
}

#[expect(clippy::cast_precision_loss, reason = "a few hundred tests")]
fn share_of(plan: &Plan) -> f64 {
    if plan.checker.is_some() || plan.steps.is_empty() {
        return 0.0;
    }
    let taken = |value: &Value| {
        plan.steps.iter().filter(|step| step.accepts_constant(value) == Some(true)).count()
    };
    let most = constants().iter().map(|(_, value)| taken(value)).max().unwrap_or(0);
    most as f64 / plan.steps.len() as f64
}

/// What is paid for a share of the tests where a constant passes `constant_baseline` of them: 0 up to there, and 1 for all. A
/// task whose every test a constant passes says nothing, and is paid as it is.
pub(super) fn above(share: f64, constant_baseline: f64) -> f64 {
    if constant_baseline >= 1.0 {
        return share;
    }
    ((share - constant_baseline) / (1.0 - constant_baseline)).max(0.0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use whetstone_core::wire::Wire;

    use super::*;

    fn share_of_tests(tests: &serde_json::Value) -> f64 {
        let line = json!({"id": "t", "statement": "s", "tests": tests});
        share(
            &Task::from_object(serde_json::from_str(&line.to_string()).expect("JSON"))
                .expect("a task"),
        )
    }

    #[test]
    fn yes_and_no_are_passed_by_a_constant_and_values_of_their_own_by_none() {
        let of = |tests: &[&str]| share_of_tests(&json!({"kind": "asserts", "hidden": tests}));
        let yes = ["assert f(1) == True", "assert f(2) == True", "assert f(3) == False"];
        assert!((of(&yes) - 2.0 / 3.0).abs() < 1e-12);
        assert!(
            (of(&["assert f(1)", "assert not f(2)", "assert not f(3)"]) - 2.0 / 3.0).abs() < 1e-12
        );
        assert!(of(&["assert f(1) == 7", "assert f(2) == 8"]).abs() < 1e-12);
        assert!((of(&["assert f([]) == []", "assert f([2, 1]) == [1, 2]"]) - 0.5).abs() < 1e-12);
        assert!(
            of(&["assert g(f(1))", "assert f(2)[0] == 0"]).abs() < 1e-12,
            "not told without asking"
        );
        let calls = json!({"kind": "calls", "entry_point": "f", "hidden": [
            {"args": [1], "expected": 0}, {"args": [2], "expected": 5}]});
        assert!((share_of_tests(&calls) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn what_a_constant_passes_is_not_paid() {
        let cases = [
            ((0.0, 0.0), 0.0),
            ((0.5, 0.0), 0.5),
            ((2.0 / 3.0, 2.0 / 3.0), 0.0),
            ((1.0 / 3.0, 2.0 / 3.0), 0.0),
            ((0.75, 0.5), 0.5),
            ((1.0, 2.0 / 3.0), 1.0),
            ((0.5, 1.0), 0.5),
        ];
        for ((share, constant_baseline), paid) in cases {
            assert!(
                (above(share, constant_baseline) - paid).abs() < 1e-12,
                "{share} {constant_baseline}"
            );
        }
    }
}
