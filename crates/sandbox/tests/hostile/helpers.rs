//! Tests that are more than `call == value`: their code and its helpers run in a clean interpreter
//! that never loads the program.

use std::time::Duration;

use whetstone_core::judgement::Isolation;
use whetstone_sandbox::job::Limits;

use crate::support::{Form, Stage, alone, tell};

/// Tests that call more than the program: the helpers must be those of a clean interpreter.
#[test]
fn helpers_of_a_test_are_out_of_the_programs_reach() {
    const PROGRAMS: [&str; 3] = [
        "import math\nmath.isclose = lambda *a, **k: True\ndef gap(a, b): return -1.0\n",
        "import builtins\nbuiltins.round = builtins.sorted = builtins.set = builtins.abs = lambda *a, **k: 7\ndef gap(a, b): return -1.0\n",
        "class F(float):\n    __sub__ = __rsub__ = __abs__ = __round__ = lambda self, *a: 0\n    __lt__ = __le__ = __eq__ = lambda self, other: True\n    __hash__ = float.__hash__\ndef gap(a, b): return F(-1)\n",
    ];
    const TESTS: [&str; 4] = [
        "import math\nassert math.isclose(gap(3, 10), 7)",
        "assert abs(gap(3, 10) - 7) < 1e-6",
        "assert round(gap(3, 10), 2) == 7",
        "assert set([gap(3, 10)]) == {7}",
    ];
    let _alone = alone();
    let limits = Limits { cpu: Duration::from_secs(8), memory: 192 << 20 };
    for level in [Isolation::Full, Isolation::Landlock] {
        let Some(stage) = Stage::start(level) else { continue };
        for test in TESTS {
            let text = serde_json::json!({"kind": "asserts", "hidden": [test]}).to_string();
            let tests = serde_json::from_str(&text).unwrap();
            let judge = |source: &str| stage.submit_tests(source, &tests, limits).wait().unwrap();
            let honest = judge("def gap(a, b): return float(abs(a - b))\n");
            assert!(honest.verdict().is_pass(), "{test}: {}", tell(honest.verdict()));
            for program in PROGRAMS {
                let verdict = judge(program);
                assert!(!verdict.verdict().is_pass(), "at {level:?}, {test} paid {program}");
            }
        }
        stage.end();
    }
}

#[test]
fn test_code_is_out_of_the_programs_reach() {
    let _alone = alone();
    for level in [Isolation::Full, Isolation::Landlock] {
        let Some(stage) = Stage::start(level) else { continue };
        stage.hold(crate::tampering::CASES, &[Form::Script]);
        stage.end();
    }
}
