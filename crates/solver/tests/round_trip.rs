//! What is written reads as the same model, and no text makes a reader panic.

use proptest::prelude::*;
use whetstone_solver::{
    Kind, Model, Objective, Row, Term, Variable, read_lp, read_mps, write_lp, write_mps,
};

fn finite() -> impl Strategy<Value = f64> {
    prop_oneof![
        (-50..50_i32).prop_map(f64::from),
        any::<f64>().prop_filter("a usual number", |value| value.is_finite() && value.abs() < 1e29),
    ]
}

/// Two limits in order, either of which may be infinite.
fn limits() -> impl Strategy<Value = (f64, f64)> {
    let (low, high) = (f64::NEG_INFINITY, f64::INFINITY);
    prop_oneof![
        Just((low, high)),
        finite().prop_map(move |value| (value, high)),
        finite().prop_map(move |value| (low, value)),
        finite().prop_map(|value| (value, value)),
        (finite(), finite()).prop_map(|(a, b)| if a < b { (a, b) } else { (b, a) }),
    ]
}

fn variable() -> impl Strategy<Value = (f64, (f64, f64), bool)> {
    (finite(), limits(), any::<bool>())
}

fn row(variables: usize) -> impl Strategy<Value = (Vec<Option<f64>>, (f64, f64))> {
    (prop::collection::vec(prop::option::of(finite()), variables), limits())
}

prop_compose! {
    fn model()(variables in prop::collection::vec(variable(), 1..6))
        (rows in prop::collection::vec(row(variables.len()), 0..6), variables in Just(variables), maximize in any::<bool>())
        -> Model {
        let mut model = Model::new(if maximize { Objective::Maximize } else { Objective::Minimize });
        for (index, (cost, (lower, upper), integer)) in variables.into_iter().enumerate() {
            let kind = if integer { Kind::Integer } else { Kind::Continuous };
            model.variables.push(Variable { name: format!("x{index}"), cost, lower, upper, kind });
        }
        for (index, (coefficients, (lower, upper))) in rows.into_iter().enumerate() {
            let terms = coefficients.into_iter().enumerate();
            let terms = terms.filter_map(|(variable, value)| Some(Term { variable, coefficient: value? }));
            let terms = terms.filter(|term| term.coefficient != 0.0).collect();
            model.rows.push(Row { name: format!("r{index}"), terms, lower, upper });
        }
        model
    }
}

proptest! {
    #[test]
    fn an_mps_file_reads_as_the_model_it_was_written_from(model in model()) {
        // A range whose width cannot be represented is refused, never changed.
        if let Ok(text) = write_mps(&model) {
            prop_assert_eq!(read_mps(&text).map_err(|error| error.to_string()), Ok(model), "{}", text);
        }
    }

    #[test]
    fn an_lp_file_reads_as_the_model_it_was_written_from(model in model()) {
        let text = write_lp(&model).expect("plain names");
        prop_assert_eq!(read_lp(&text).map_err(|error| error.to_string()), Ok(model), "{}", text);
    }

    #[test]
    fn no_text_makes_a_reader_panic(text in any::<String>()) {
        prop_assert!(read_mps(&text).is_err() || !text.is_empty());
        prop_assert!(read_lp(&text).is_err() || !text.is_empty());
    }

    #[test]
    fn no_soup_of_words_makes_a_reader_panic(words in prop::collection::vec(prop::sample::select(WORDS), 0..40)) {
        let text = words.concat();
        for model in [read_mps(&text), read_lp(&text)].into_iter().flatten() {
            prop_assert_eq!(model.check(), Ok(()), "{}", text);
        }
    }
}

/// Pieces of both formats, with their line ends.
const WORDS: &[&str] = &[
    "NAME t\n",
    "ROWS\n",
    " N obj\n",
    " L a\n",
    " E b\n",
    "COLUMNS\n",
    " x a 1\n",
    " x obj 2 b 1\n",
    " y a 1e400\n",
    " M 'MARKER' 'INTORG'\n",
    "RHS\n",
    " R a 1e30\n",
    " R obj 5\n",
    "RANGES\n",
    " S a -3\n",
    " S b inf\n",
    "BOUNDS\n",
    " UP B x -1\n",
    " MI B x\n",
    " FR x\n",
    " BV B x\n",
    "ENDATA\n",
    "OBJSENSE MAX\n",
    "Minimize\n",
    " obj: x + 2 y\n",
    "Subject To\n",
    " c: x >= 1\n",
    " -1 <= x - y <= 3\n",
    " d: 0 >= 3\n",
    "Bounds\n",
    " x free\n",
    " -inf <= y <= 4\n",
    "General\n",
    " x y\n",
    "Binary\n",
    "End\n",
    " 3",
    " -",
    " x",
    " <=",
    ":",
    " inf",
    "\\ c\n",
    "é",
    "\t",
    "\n",
];
