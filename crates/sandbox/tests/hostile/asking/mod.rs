//! Tests that ask a program for more than one value: methods of its objects, arguments that it
//! changes, functions that only it has, and answers that keep a test from going on.

mod arguments;
mod blame;
mod evaluated;
mod files;
mod methods;
mod objects;
mod setups;
mod told;

use crate::expected::{Row, at_both_levels, judge, judge_tests};
use crate::support::Stage;

/// A test that no program may be judged by, and a name in what is said.
pub(crate) struct Refused {
    pub(crate) setup: &'static str,
    pub(crate) test: &'static str,
    pub(crate) name: &'static str,
}

/// A program that would rather not be judged, and its verdict.
pub(crate) struct Evasion {
    pub(crate) setup: &'static str,
    pub(crate) test: &'static str,
    pub(crate) honest: &'static str,
    pub(crate) hostile: &'static str,
}

/// Judges each honest program, which must pass, and each hostile one, which must not.
pub(crate) fn hold(stage: &Stage, rows: &[Row]) {
    let mut faults = Vec::new();
    for Row { setup, test, honest, hostile } in rows {
        let said = judge(stage, setup, test, honest);
        if said != Ok("pass".to_owned()) {
            faults.push(format!("HURT {said:?}\n{setup}\n{test}\n{honest}"));
        }
        for program in *hostile {
            match judge(stage, setup, test, program) {
                Ok(verdict) if verdict != "pass" => {}
                Ok(_) => faults.push(format!("PAID\n{setup}\n{test}\n{program}")),
                Err(problem) => {
                    faults.push(format!("NOT JUDGED {problem}\n{setup}\n{test}\n{program}"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n---\n"));
}

#[test]
fn methods_of_objects_are_not_told_the_answer() {
    at_both_levels(|stage| hold(stage, methods::ROWS));
}

#[test]
fn an_answer_that_a_test_evaluates_is_data() {
    at_both_levels(|stage| {
        hold(stage, evaluated::ROWS);
        for test in evaluated::WAYS {
            let said = judge(stage, "", test, evaluated::ANSWERS_FOR_IT);
            assert_ne!(said, Ok("pass".to_owned()), "{test}");
        }
    });
}

#[test]
fn a_program_is_not_told_what_is_expected_nor_decides_it() {
    at_both_levels(|stage| hold(stage, told::ROWS));
}

#[test]
fn arguments_that_a_program_changes_do_not_change_what_it_is_compared_with() {
    at_both_levels(|stage| hold(stage, arguments::ROWS));
}

#[test]
fn objects_exceptions_and_dates_of_honest_programs_reach_a_test() {
    at_both_levels(|stage| hold(stage, objects::ROWS));
}

#[test]
fn a_function_that_only_the_program_has_judges_no_answer() {
    at_both_levels(|stage| {
        for Refused { setup, test, name } in arguments::JUDGES {
            let program = "def add(a, b): return 0\ndef f(*a): return 0\ndef is_close(*a): return True\nnear = is_close\n";
            let said = judge(stage, setup, test, program);
            let problem = said.expect_err(test);
            assert!(problem.contains(&format!("has `{name}`")), "{test}\n{problem}");
        }
    });
}

#[test]
fn what_a_name_stands_for_is_an_answer_like_any_other() {
    at_both_levels(|stage| {
        let mut faults = Vec::new();
        for Evasion { setup, test, honest, hostile } in blame::EVASIONS {
            let said = judge(stage, setup, test, honest);
            if said != Ok("pass".to_owned()) && !honest.is_empty() {
                faults.push(format!("HURT {said:?}\n{setup}\n{test}\n{honest}"));
            }
            match judge(stage, setup, test, hostile) {
                Ok(verdict) if verdict != "pass" => {}
                said => faults.push(format!("{said:?}\n{setup}\n{test}\n{hostile}")),
            }
        }
        assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n---\n"));
    });
}

#[test]
fn a_setup_tells_nothing_of_what_is_expected_and_does_what_it_does_as_a_whole() {
    at_both_levels(|stage| {
        hold(stage, setups::ROWS);
        for (setup, tests) in setups::SEQUENCES {
            let tests = serde_json::json!({"kind": "asserts", "hidden": tests});
            let said = judge_tests(stage, setup, &tests, setups::HONEST);
            assert_eq!(said, Ok("pass".to_owned()), "{setup}");
        }
    });
}

#[test]
fn a_test_that_asks_the_program_nothing_is_broken_whatever_the_program_is() {
    const PROGRAMS: [&str; 3] = ["pass\n", "def add(a, b): return a + b\n", "add = gcd = 5\n"];
    at_both_levels(|stage| {
        for program in &PROGRAMS[..2] {
            for (setup, test) in setups::UNASKED {
                let problem = judge(stage, setup, test, program).expect_err(test);
                assert!(problem.contains("without asking the program"), "{test}\n{problem}");
            }
        }
        for (test, said) in setups::UNASKED_SCRIPTS {
            let tests =
                serde_json::json!({"kind": "script", "entry_point": "add", "hidden": [test]});
            let problem = judge_tests(stage, "", &tests, PROGRAMS[1]).expect_err(test);
            assert!(problem.contains(said), "{test}\n{problem}");
            // A program that has not what is asked for is judged.
            for program in [PROGRAMS[0], PROGRAMS[2]] {
                let verdict = judge_tests(stage, "", &tests, program);
                assert_ne!(verdict, Ok("pass".to_owned()), "{test}\n{program}");
            }
        }
    });
}

#[test]
fn what_the_setup_has_made_is_not_the_programs_answer() {
    at_both_levels(|stage| {
        for (setup, tests) in setups::SUPPLIED {
            let tests = serde_json::from_str(tests).unwrap();
            let says = |source| judge_tests(stage, setup, &tests, source);
            assert_eq!(says(setups::GCD), Ok("pass".to_owned()), "{tests}");
            assert_eq!(says("pass\n"), Ok("raised NameError".to_owned()), "{tests}");
        }
    });
}
