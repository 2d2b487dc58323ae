//! Models and replies that nobody means well with.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use whetstone_core::extract::Reply;
use whetstone_core::seed::Seed;
use whetstone_core::task::Task;
use whetstone_solver::{Kind, Limits, Model, Objective, Row, Term, Variable, read_lp};

use super::tests::{base, environment, fact, play, problem, task_of};
use super::*;
use crate::environment::Next;

const LOOK: Look = Look { view: View::Lp, show_iis: true, max_bytes: 4096 };

fn brought(text: &str) -> Result<Brought, Unusable> {
    Brought::new(read_lp(text).expect("a model"), LOOK)
}

fn no_time(model: &Model) -> Limits {
    Limits { time: Duration::ZERO, ..limits(model) }
}

fn no_rows(model: &Model) -> Limits {
    Limits { max_rows: 0, ..limits(model) }
}

/// The problem over integers: without them a small model needs no clock.
fn whole_problem() -> Problem {
    let mut problem = problem();
    for model in std::iter::once(&mut problem.broken).chain(&mut problem.base) {
        model.variables.iter_mut().for_each(|variable| variable.kind = Kind::Integer);
    }
    problem
}

#[test]
fn an_edit_without_a_verdict_is_taken_back_whatever_the_solver_ran_out_of() {
    for short in [no_time as fn(&Model) -> Limits, no_rows] {
        let mut episode = environment(false).begin(&task_of(&whole_problem())).unwrap();
        episode.limits = short;
        let said = [
            (
                "RELAX_CONSTRAINT(wish, 4)",
                "Error: the solver cannot decide the model after this edit; it was taken back.",
            ),
            ("CHECK_SLACK(wish)", "The solver found no slack."),
            ("RESET", "Status: INFEASIBLE"),
        ];
        for (action, expected) in said {
            let next = episode.reply(Reply::text(&format!("Action: {action}"))).unwrap();
            assert_eq!(next, Next::Ask, "{action}");
            let told = &episode.messages().last().unwrap().content;
            assert!(told.starts_with(expected), "{told}");
            assert!(told.ends_with("Status: INFEASIBLE\nIIS: [room, wish]"), "{told}");
        }
        episode.limits = limits;
        let next = episode.reply(Reply::text("Action: DROP_CONSTRAINT(wish)")).unwrap();
        let Next::Done(outcome) = next else { panic!("{next:?}") };
        assert!(outcome.is_solved());
        assert_eq!(
            (fact(&outcome, "invalid"), fact(&outcome, "undecided")),
            ("1".into(), "1".into())
        );
    }
}

#[test]
fn nodes_follow_from_the_size_of_a_model_alone() {
    let nodes = |rows: usize| {
        let mut model = base();
        let row = model.rows[0].clone();
        model.rows = vec![row; rows];
        limits(&model).max_nodes
    };
    assert_eq!([nodes(1), nodes(100), nodes(100_000)], [2_000, 331, 100]);
}

#[test]
fn checking_a_task_reads_it_and_does_not_solve_it() {
    let check = |problem: &Problem| environment(false).check(&task_of(problem));
    assert!(check(&problem()).is_ok());
    let feasible = Problem { broken: base(), base: None, undo: Vec::new(), ..problem() };
    assert!(check(&feasible).is_ok(), "only an episode shows it");
    assert!(environment(false).open(&task_of(&feasible), Seed::new(1)).is_err());
    let mut twice = problem();
    twice.broken.rows[1].name = "room".to_owned();
    assert_eq!(check(&twice).unwrap_err().to_string(), "`broken`: row `room` is there twice");
}

#[test]
fn a_model_that_is_brought_becomes_a_problem_with_names_that_actions_can_name() {
    let mut model =
        read_lp("Minimize\n x\nSubject To\n a: x >= 4\n b: x <= 2\n c: x <= 9\nEnd").unwrap();
    for (row, name) in model.rows.iter_mut().zip(["MY ROW", "MY_ROW", "by"]) {
        name.clone_into(&mut row.name);
    }
    "3 (x)".clone_into(&mut model.variables[0].name);
    let made = Brought::new(model, LOOK).unwrap();
    let rows: Vec<&str> = made.problem.broken.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(rows, ["MY_ROW_2", "MY_ROW", "_by"]);
    assert_eq!(made.problem.broken.variables[0].name, "_3__x_");
    assert!(made.statement.ends_with("IIS: [MY_ROW_2, MY_ROW]"), "{}", made.statement);
    let (outcome, told) = play(&made.problem, &["Action: RELAX_CONSTRAINT(MY_ROW, 2)"]);
    assert_eq!((told[0].as_str(), made.iis), (made.statement.as_str(), 2));
    assert!(outcome.is_solved());
    let task = task_of(&made.problem);
    let expert = environment(false).expert_reply(&task, Seed::new(1), &[]).unwrap();
    assert_eq!(expert, None, "nobody knows what was meant");
}

#[test]
fn a_model_that_makes_no_problem_has_a_reason() {
    let reason = |text: &str| brought(text).unwrap_err().to_string();
    let feasible = "Minimize\n x\nSubject To\n a: x >= 4\nEnd";
    assert_eq!(reason(feasible), "the model is feasible (OPTIMAL): nothing is to be repaired");
    let free = "Maximize\n x\nSubject To\n a: x >= 4\nEnd";
    assert_eq!(reason(free), "the model is feasible (UNBOUNDED): nothing is to be repaired");
    let long: Vec<String> = (0..400).map(|at| format!(" row{at}: x >= {at}\n")).collect();
    let long = long.concat();
    let long = format!("Minimize\n x\nSubject To\n{long} low: x <= -1\nEnd");
    assert!(reason(&long).ends_with("bytes, the limit is 4096"), "{}", reason(&long));
    let far = "Minimize\n x\nSubject To\n a: x >= 4\nBounds\n 1e12 <= x <= 1e13\nGeneral\n x\nEnd";
    let expected = "the solver has no certified verdict on it: integer variable 0";
    assert!(reason(far).starts_with(expected), "{}", reason(far));
}

/// 100,000 rows of one variable each, which contradict each other.
fn many_rows() -> Model {
    let mut model = Model::new(Objective::Minimize);
    let variable = |at: usize| Variable {
        name: format!("x{at}"),
        cost: 1.0,
        lower: 0.0,
        upper: 1.0,
        kind: Kind::Continuous,
    };
    model.variables = (0..100_000).map(variable).collect();
    let row = |at: usize| Row {
        name: format!("r{at}"),
        terms: vec![Term { variable: at, coefficient: 1.0 }],
        lower: 2.0,
        upper: f64::INFINITY,
    };
    model.rows = (0..100_000).map(row).collect();
    model
}

#[test]
fn a_hundred_thousand_rows_are_refused_before_they_are_written_or_solved() {
    let started = Instant::now();
    for view in [View::Lp, View::Code, View::Table] {
        let look = Look { view, ..LOOK };
        assert!(matches!(Brought::new(many_rows(), look), Err(Unusable::TooLong { .. })));
    }
    let wide = Look { max_bytes: usize::MAX, ..LOOK };
    let large = Brought::new(many_rows(), wide).unwrap_err();
    assert_eq!(
        large.to_string(),
        "it is too large for the solver: the model has 100000 rows, the limit is 10000"
    );
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}

#[test]
fn odd_models_of_tasks_open_or_are_refused_with_a_sentence() {
    let open = |edit: &dyn Fn(&mut Model)| {
        let mut broken = problem().broken;
        edit(&mut broken);
        let own = Problem { base: None, undo: Vec::new(), broken, ..problem() };
        let opened = environment(false).open(&task_of(&own), Seed::new(1));
        opened.err().map_or("opens".to_owned(), |err| err.to_string())
    };
    let inf = f64::INFINITY;
    assert_eq!(open(&|model| (model.rows[2].lower, model.rows[2].upper) = (-inf, inf)), "opens");
    assert_eq!(open(&|model| model.rows[2].terms.clear()), "opens");
    assert_eq!(open(&|model| model.variables[0].lower = -inf), "opens");
    // Whatever the verdict on such numbers, there is one or there is a sentence.
    let huge = open(&|model| model.rows[2].terms[0].coefficient = 1e30);
    assert!(huge == "opens" || huge == "cannot judge the reply", "{huge}");
}

/// Rows and variables that exist, and others.
const NAMES: &[&str] =
    &["room", "wish", "most", "x", "y", "c99", "", "lb(x)", "räum", "by", "\u{0}"];
const NUMBERS: &[&str] =
    &["5", "-3", "0", "1e9", "1e300", "NaN", "inf", "-inf", "1e-320", "0x10", "five", "", "1e9999"];
const ACTIONS: &[&str] = &[
    "GET_IIS",
    "CHECK_SLACK",
    "RELAX_CONSTRAINT",
    "DROP_CONSTRAINT",
    "UPDATE_RHS",
    "CHANGE_BOUND",
    "FLIP_SENSE",
    "SET_COEF",
    "SET_TYPE",
    "RESET",
    "SUBMIT",
    "submit",
    "FLY",
    "",
];
const FRAMES: &[(&str, &str)] = &[
    ("Action: ", "\n"),
    ("<think>\nAction: ", "\n</think>\n"),
    ("<think>Action: ", "\n"),
    ("**Action:** `", "`\n"),
    ("Diagnosis: room ", "\nAction: "),
    ("action:", ""),
    ("Action: {\"action\": \"", "\"}\n"),
    ("</think>Action: ", ""),
];

/// One piece of a reply: an action with its arguments, in a frame.
fn fragment() -> impl Strategy<Value = String> {
    let pick = |list: &'static [&'static str]| proptest::sample::select(list);
    let words = (pick(ACTIONS), pick(NAMES), pick(NAMES), pick(NUMBERS));
    let kinds = proptest::sample::select(vec!["lb", "ub", "INT", "CONT", "up"]);
    (words, kinds, proptest::sample::select(FRAMES), 0..6_usize).prop_map(
        |((action, name, other, number), kind, (before, after), form)| {
            let call = match form {
                0 => action.to_owned(),
                1 => format!("{action}({name})"),
                2 => format!("{action}({name}, {number})"),
                3 => format!("{action} {name} {kind} {number}"),
                4 => format!("{action}({name}, {other}, {number}"),
                _ => format!(
                    "{{\"action\": \"{action}\", \"target\": \"{name}\", \"value\": {number}}}"
                ),
            };
            format!("{before}{call}{after}")
        },
    )
}

/// A reply of up to five pieces, with anything between them.
fn reply() -> impl Strategy<Value = String> {
    let piece = prop_oneof![4 => fragment(), 1 => "(?s).{0,20}"];
    proptest::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

/// The problem with a base model, without one, with integers, and with the IIS hidden.
fn tasks() -> Vec<Task> {
    let mut whole = problem();
    for model in whole.base.iter_mut().chain([&mut whole.broken]) {
        model.variables.iter_mut().for_each(|variable| variable.kind = Kind::Integer);
    }
    let own = Problem { base: None, undo: Vec::new(), show_iis: false, ..problem() };
    [problem(), whole, own].iter().map(task_of).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn replies_of_any_pieces_lead_an_episode_to_its_end(
        replies in proptest::collection::vec(reply(), MAX_STEPS),
        which in 0..3_usize,
    ) {
        let mut episode = environment(false).open(&tasks()[which], Seed::new(1)).unwrap();
        let mut steps = 0;
        let outcome = loop {
            let said = episode.messages().len();
            steps += 1;
            match episode.reply(Reply::text(&replies[steps - 1])).unwrap() {
                Next::Done(outcome) => break outcome,
                Next::Ask => {
                    prop_assert_eq!(episode.messages().len(), said + 2);
                    let told = &episode.messages()[said + 1].content;
                    prop_assert!(told.contains("Status: "), "{}", told);
                    prop_assert!(told.len() < 2_000, "{}", told);
                }
            }
        };
        let invalid: usize = fact(&outcome, "invalid").parse().unwrap();
        let turns = outcome.transitions();
        prop_assert_eq!(turns.len(), steps);
        prop_assert_eq!(turns.iter().filter(|turn| !turn.valid).count(), invalid);
        prop_assert!((0.0..=1.0).contains(&outcome.reward.total()));
        prop_assert_eq!(outcome.is_solved(), outcome.reward.total() >= SOLVED_FLOOR);
        prop_assert!(episode.reply(Reply::text("Action: SUBMIT")).is_err(), "it is over");
    }
}
