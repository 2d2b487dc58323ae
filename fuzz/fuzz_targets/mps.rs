//! Any text as an MPS file: an error has a line and a hint, a model is well-formed, what is written of it reads as
//! the same model, and a verdict on it holds.

#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use whetstone_solver::{Limits, Verdict, check_infeasibility, read_mps, solve, write_mps};

fuzz_target!(|text: &str| {
    let model = match read_mps(text) {
        Ok(model) => model,
        Err(error) => {
            assert!(error.line >= 1 && !error.hint.is_empty(), "{error}");
            assert!(!error.problem.chars().any(char::is_control), "{error:?}");
            return;
        }
    };
    model.check().expect("a model that was read is well-formed");
    if let Ok(written) = write_mps(&model) {
        let again = read_mps(&written).expect("what was written is read");
        assert_eq!(again.rows.len(), model.rows.len());
        assert_eq!(again.variables, model.variables);
    }
    let limits = Limits {
        max_rows: 20,
        max_variables: 20,
        max_terms: 200,
        max_nodes: 100,
        time: Duration::from_secs(5),
    };
    if let Ok(Verdict::Infeasible(found)) = solve(&model, &limits) {
        check_infeasibility(&model, &found).expect("a certificate that holds");
    }
});
