//! Episodes on models that are worked by hand.

use std::collections::BTreeSet;

use proptest::prelude::*;
use whetstone_core::config::Config;
use whetstone_core::extract::Reply;
use whetstone_core::outcome::{Evidence, Outcome};
use whetstone_core::seed::Seed;
use whetstone_core::task::Body;
use whetstone_core::task::Task;
use whetstone_core::wire::Wire;
use whetstone_solver::{Model, Objective, Row, Term, Variable};

use super::reply::Said;
use super::*;
use crate::environment::Next;

/// max 3 x + 2 y with x + y <= 10 (room), x <= 6 (most); `wish` asks for x + y >= 15 and contradicts `room`.
pub(super) fn base() -> Model {
    let variable = |name: &str, cost| Variable {
        name: name.to_owned(),
        cost,
        lower: 0.0,
        upper: f64::INFINITY,
        kind: whetstone_solver::Kind::Continuous,
    };
    let row = |name: &str, terms: &[(usize, f64)], lower, upper| Row {
        name: name.to_owned(),
        terms: terms
            .iter()
            .map(|&(variable, coefficient)| Term { variable, coefficient })
            .collect(),
        lower,
        upper,
    };
    let mut model = Model::new(Objective::Maximize);
    model.variables = vec![variable("x", 3.0), variable("y", 2.0)];
    model.rows = vec![
        row("room", &[(0, 1.0), (1, 1.0)], f64::NEG_INFINITY, 10.0),
        row("most", &[(0, 1.0)], f64::NEG_INFINITY, 6.0),
    ];
    model
}

pub(super) fn problem() -> Problem {
    let base = base();
    let mut broken = base.clone();
    let mut wish = broken.rows[0].clone();
    (wish.name, wish.lower, wish.upper) = ("wish".to_owned(), 15.0, f64::INFINITY);
    broken.rows.insert(1, wish);
    let undo = vec![Action::DropConstraint { row: "wish".to_owned() }];
    let (view, family) = (View::Lp, "hand".to_owned());
    Problem { family, view, show_iis: true, broken, base: Some(base), undo }
}

pub(super) fn task_of(problem: &Problem) -> Task {
    let line = r#"{"id":"s/1","statement":"Debug it."}"#;
    let mut task = Task::from_object(serde_json::from_str(line).unwrap()).unwrap();
    task.body = Some(problem.body());
    task
}

pub(super) fn environment(rules: bool) -> SolverEnvironment {
    SolverEnvironment { rules, max_steps: MAX_STEPS }
}

/// Plays these replies; the outcome, and what was said before each reply.
pub(super) fn play(problem: &Problem, replies: &[&str]) -> (Outcome, Vec<String>) {
    let mut episode = environment(false).open(&task_of(problem), Seed::new(1)).unwrap();
    let mut told = Vec::new();
    for reply in replies {
        told.push(episode.messages().last().unwrap().content.clone());
        if let Next::Done(outcome) = episode.reply(Reply::text(reply)).unwrap() {
            return (outcome, told);
        }
    }
    told.push(episode.messages().last().unwrap().content.clone());
    (episode.cut_short().unwrap(), told)
}

fn total(replies: &[&str]) -> f64 {
    play(&problem(), replies).0.reward.total()
}

pub(super) fn fact(outcome: &Outcome, name: &str) -> String {
    let Evidence::Observed(observation) = &outcome.evidence else { panic!("{outcome:?}") };
    observation.facts.get(name).unwrap_or("absent").to_owned()
}

#[test]
fn the_model_sees_its_model_the_status_and_the_iis() {
    let (_, told) = play(&problem(), &[]);
    let expected = "Debug the infeasible optimization model.\nModel:\nMaximize\n obj: 3 x + 2 y\n\
                    Subject To\n room: x + y <= 10\n wish: x + y >= 15\n most: x <= 6\nEnd\n\
                    Status: INFEASIBLE\nIIS: [room, wish]";
    assert_eq!(told, [expected]);
}

#[test]
fn other_views_show_the_same_model() {
    let broken = problem().broken;
    let code = "m = Model()\nx = m.addVar()\ny = m.addVar()\nm.setObjective(3*x + 2*y, MAXIMIZE)\n\
                m.addConstr(x + y <= 10, name=\"room\")\nm.addConstr(x + y >= 15, name=\"wish\")\n\
                m.addConstr(x <= 6, name=\"most\")";
    assert_eq!(render_model(&broken, View::Code), code);
    let table = "row | x | y | limit\nobjective | 3 | 2 | maximize\nroom | 1 | 1 | <= 10\n\
                 wish | 1 | 1 | >= 15\nmost | 1 | 0 | <= 6";
    assert_eq!(render_model(&broken, View::Table), table);
}

#[test]
fn undoing_the_injection_is_worth_one() {
    let reply = "<think>\n1. DROP\n</think>\n\nDiagnosis: wish conflicts with room\nAction: DROP_CONSTRAINT wish";
    let (outcome, _) = play(&problem(), &[reply]);
    assert!((outcome.reward.total() - 1.0).abs() < 1e-12, "{:?}", outcome.reward);
    assert!(outcome.is_solved());
    assert_eq!(fact(&outcome, "diagnosis_accuracy"), "1.0");
    assert_eq!(fact(&outcome, "rows_kept"), "1.0");
    let turn = &outcome.transitions()[0];
    assert_eq!(turn.state, "Status: INFEASIBLE\nRows: 3\nIIS: 2 [room, wish]");
    assert_eq!(
        (turn.action.as_str(), turn.next_state.as_str()),
        ("DROP_CONSTRAINT(wish)", "Status: OPTIMAL\nRows: 2")
    );
    assert!(turn.valid && turn.progress);
}

/// max 3x + 2y with x + y >= 15, x <= 6 and no `room` is unbounded, so that does not solve it. Moving `room` to 15
/// gives x = 6, y = 9, z = 36 instead of x = 6, y = 4, z = 26.
#[test]
fn a_repair_that_keeps_the_contradiction_is_worth_little() {
    let (outcome, told) = play(&problem(), &["Action: DROP_CONSTRAINT(room)"]);
    assert!(!outcome.is_solved());
    assert_eq!(told[1], "Status: UNBOUNDED");
    let moved = play(&problem(), &["Action: UPDATE_RHS(room, 15)"]).0;
    let terms = moved.reward.terms();
    // Row `room` of the base model is broken by 5 of 10: exp(-0.5 / 0.05).
    assert!((terms["base_rows_kept"].value - (-10.0_f64).exp()).abs() < 1e-9);
    assert!(terms["base_optimum_kept"].value.abs() < 1e-12, "wish still forbids it");
    assert!((terms["objective_kept"].value - (1.0 - 10.0 / 27.0)).abs() < 1e-9);
    // The limit moved by 5 of 10 costs 0.5, the reference repair 1.
    assert!((terms["small_repair"].value - 1.0).abs() < 1e-12);
    let inside = 0.4 * (-10.0_f64).exp();
    let expected = 0.35 + 0.65 * (inside + inside / 0.65 * (0.2 * (1.0 - 10.0 / 27.0) + 0.15));
    assert!((moved.reward.total() - expected).abs() < 1e-9, "{:?}", moved.reward);
    assert!(moved.reward.total() < 0.36);
}

#[test]
fn steps_more_than_needed_and_invalid_actions_cost_something() {
    let drop = "Action: DROP_CONSTRAINT wish";
    assert!((total(&["Action: GET_IIS", drop]) - 0.97).abs() < 1e-12);
    assert!((total(&["Action: DROP_CONSTRAINT nothing", drop]) - (0.97 - 0.03)).abs() < 1e-12);
    let late = [["no action"; 9].as_slice(), &[drop]].concat();
    assert!(total(&late) >= SOLVED_FLOOR);
    assert!((total(&["Action: GET_IIS"; 10]) - 0.05).abs() < 1e-12);
    assert!(total(&["nothing"; 10]).abs() < 1e-12);
    assert!((total(&["Action: SUBMIT"]) - 0.05).abs() < 1e-12, "submitting at once solves nothing");
}

#[test]
fn an_action_that_cannot_be_carried_out_is_answered_with_a_sentence() {
    let cases = [
        ("Action: DROP_CONSTRAINT c99", "Error: there is no row `c99`."),
        (
            "Action: RELAX_CONSTRAINT room by -3",
            "Error: RELAX_CONSTRAINT needs an amount above 0, not -3.",
        ),
        ("Action: RELAX_CONSTRAINT room by NaN", "Error: `NaN` is not a finite number."),
        ("Action: UPDATE_RHS(room, 1e300)", "Error: 1e300 is too large: at most 1000000000."),
        ("Action: UPDATE_RHS(room, inf)", "Error: `inf` is not a finite number."),
        ("Action: SET_COEF(room, z, 3)", "Error: there is no variable `z`."),
        (
            "Action: RELAX_CONSTRAINT(room)",
            "Error: the arguments of RELAX_CONSTRAINT are not right: RELAX_CONSTRAINT(row, amount).",
        ),
        ("Action: CHANGE_BOUND(x, middle, 3)", "Error: `middle` is no bound: lb or ub."),
    ];
    for (reply, expected) in cases {
        let (outcome, told) = play(&problem(), &[reply]);
        assert_eq!(
            told[1],
            format!("{expected}\nStatus: INFEASIBLE\nIIS: [room, wish]"),
            "{reply}"
        );
        assert_eq!(fact(&outcome, "invalid"), "1");
        assert!(!outcome.transitions()[0].valid && !outcome.transitions()[0].progress);
    }
    let (_, told) = play(&problem(), &["Action: FLY_AWAY"]);
    assert!(
        told[1].starts_with("Error: FLY_AWAY is no action. Actions: GET_IIS, CHECK_SLACK(row)"),
        "{}",
        told[1]
    );
    let (_, told) = play(&problem(), &["I drop wish."]);
    assert!(told[1].starts_with("Error: no line begins with `Action:`."), "{}", told[1]);
}

#[test]
fn of_several_actions_the_last_outside_the_thinking_counts() {
    let reply = "<think>\nAction: DROP_CONSTRAINT wish\n</think>\nAction: GET_IIS";
    let (outcome, _) = play(&problem(), &[reply]);
    assert_eq!(outcome.transitions()[0].action, "GET_IIS");
    let unclosed = "<think>\nAction: DROP_CONSTRAINT wish";
    assert_eq!(play(&problem(), &[unclosed]).0.transitions()[0].action, "none");
    let five = "Action: GET_IIS\nAction: GET_IIS\nAction: GET_IIS\nAction: SUBMIT\nAction: CHECK_SLACK room";
    let (outcome, told) = play(&problem(), &[five]);
    assert_eq!(outcome.transitions()[0].action, "CHECK_SLACK(room)");
    assert!(told[1].contains("5 actions were given: only the last one counts."), "{}", told[1]);
    assert_eq!(fact(&outcome, "extra_actions"), "4");
}

#[test]
fn an_action_is_read_in_each_of_its_forms() {
    let relax = Action::RelaxConstraint { row: "c1".to_owned(), by: 5.0 };
    for text in [
        "RELAX_CONSTRAINT(c1, 5)",
        "RELAX_CONSTRAINT c1 by 5",
        "relax_constraint c1 5.0",
        "`RELAX_CONSTRAINT(\"c1\", 5)`",
        r#"{"action": "RELAX_CONSTRAINT", "target": "c1", "value": 5}"#,
        "{\"action\": \"RELAX_CONSTRAINT\",\n \"target\": \"c1\", \"value\": \"5\"} and more",
    ] {
        let said = Said::in_reply(Reply::text(&format!("**Action:** {text}")));
        assert_eq!(said.action.as_ref(), Ok(&relax), "{text}");
    }
    let forms = [
        "GET_IIS",
        "CHECK_SLACK(c1)",
        "DROP_CONSTRAINT(c1)",
        "UPDATE_RHS(c1, -2.5)",
        "FLIP_SENSE(c1)",
        "CHANGE_BOUND(x, lb, 3)",
        "CHANGE_BOUND(x, ub, 3)",
        "SET_COEF(c1, x, 0.5)",
        "SET_TYPE(x, INT)",
        "SET_TYPE(x, CONT)",
        "RESET",
        "SUBMIT",
    ];
    for form in forms {
        assert_eq!(Action::parse(form).unwrap().to_string(), form);
    }
    assert_eq!(Action::parse("UPDATE_BOUNDS(x, ub, 3)"), Action::parse("CHANGE_BOUND(x, ub, 3)"));
}

#[test]
fn relaxing_moves_each_limit_outwards_and_reset_takes_edits_back() {
    let (outcome, told) = play(
        &problem(),
        &[
            "Action: RELAX_CONSTRAINT(wish, 4)",
            "Action: RESET",
            "Action: RELAX_CONSTRAINT(wish, 5)",
        ],
    );
    assert_eq!(told[1], "Status: INFEASIBLE\nIIS: [room, wish]", "x + y >= 11 is not enough");
    assert!(outcome.is_solved(), "x + y >= 10 is");
    let cost = outcome.reward.terms()["small_repair"].value;
    assert!((cost - 1.0).abs() < 1e-12, "one edit of 5/15 is in force");
}

#[test]
fn a_hidden_iis_has_to_be_asked_for() {
    let hidden = Problem { show_iis: false, ..problem() };
    let (_, told) = play(&hidden, &["Action: GET_IIS", "Action: CHECK_SLACK(most)"]);
    assert!(told[0].ends_with("End\nStatus: INFEASIBLE"), "{}", told[0]);
    assert_eq!(told[1], "IIS: [room, wish]\nStatus: INFEASIBLE");
    assert_eq!(
        told[2],
        "most need not give way in the least repair of all rows.\nStatus: INFEASIBLE"
    );
}

#[test]
fn the_expert_undoes_what_was_injected() {
    let problem = problem();
    let task = task_of(&problem);
    let environment = environment(false);
    let episode = environment.open(&task, Seed::new(3)).unwrap();
    let reply = environment.expert_reply(&task, Seed::new(3), episode.messages()).unwrap().unwrap();
    let expected = "<think>\n1. IIS contains room, wish\n2. room requires x + y <= 10\n3. wish requires x + y >= 15\n\
                    4. These conflict\n5. wish contradicts the others\n</think>\n\n\
                    Diagnosis: wish conflicts with room\nAction: DROP_CONSTRAINT wish";
    assert_eq!(reply, expected);
}

#[test]
fn the_rules_come_first_if_they_are_wanted() {
    let task = task_of(&problem());
    let with = environment(true).open(&task, Seed::new(1)).unwrap();
    assert_eq!(with.messages().len(), 2);
    assert!(with.messages()[0].content.contains("DROP_CONSTRAINT(row)"));
    assert_eq!(environment(false).open(&task, Seed::new(1)).unwrap().messages().len(), 1);
}

#[test]
fn a_model_without_a_base_is_paid_by_the_size_of_its_repair() {
    let own = Problem { base: None, undo: Vec::new(), ..problem() };
    // The least repair moves the limits by 5, of 15 rather than of 10: 1/3.
    let (outcome, _) = play(&own, &["Action: RELAX_CONSTRAINT(wish, 5)"]);
    assert!((outcome.reward.total() - 1.0).abs() < 1e-9, "{:?}", outcome.reward);
    let (outcome, _) = play(&own, &["Action: DROP_CONSTRAINT(wish)"]);
    let expected = 0.35 + 0.65 / 3.0;
    assert!((outcome.reward.total() - expected).abs() < 1e-9, "{:?}", outcome.reward);
}

#[test]
fn a_task_that_lies_is_refused() {
    let open = |body: Body| {
        let mut task = task_of(&problem());
        task.body = Some(body);
        environment(false).open(&task, Seed::new(1)).err().map(|err| err.to_string())
    };
    let feasible = Problem { broken: base(), base: None, undo: Vec::new(), ..problem() };
    assert_eq!(
        open(feasible.body()).unwrap(),
        "the model is not infeasible: nothing is to be repaired"
    );
    let lie =
        Problem { undo: vec![Action::DropConstraint { row: "most".to_owned() }], ..problem() };
    assert_eq!(open(lie.body()).unwrap(), "the actions of `undo` do not turn `broken` into `base`");
    let mut twice = problem();
    twice.broken.rows[1].name = "room".to_owned();
    assert_eq!(open(twice.body()).unwrap(), "`broken`: row `room` is there twice");
    let mut none = problem().body();
    none.fields = whetstone_core::wire::Object::new();
    assert_eq!(open(none).unwrap(), "it has no `broken`");
}

#[test]
fn the_registry_builds_it_with_the_settings() {
    let mut config = Config::default();
    config.env.max_turns = 3;
    let start_judge = || Err(crate::environment::StartError::Refused("no judge here".to_owned()));
    let setup = Setup::new(&config, &start_judge);
    let task = task_of(&problem());
    let built = crate::registry::Environments::for_tasks(&setup, [&task]).unwrap();
    assert_eq!((built.kinds(), built.max_turns(&task)), (BTreeSet::from([KIND]), 3));
}

proptest! {
    #[test]
    fn no_reply_breaks_an_episode(text in "(?s).{0,200}") {
        let mut episode = environment(false).open(&task_of(&problem()), Seed::new(1)).unwrap();
        prop_assert!(episode.reply(Reply::text(&text)).is_ok());
        let action = format!("Action: {text}");
        if episode.reply(Reply::text(&action)).is_ok() {
            let _ = episode.cut_short();
        }
    }

    #[test]
    fn numbers_of_any_size_are_answered(value in any::<f64>(), which in 0..4_usize) {
        let action = match which {
            0 => format!("Action: UPDATE_RHS(room, {value})"),
            1 => format!("Action: RELAX_CONSTRAINT(room, {value})"),
            2 => format!("Action: SET_COEF(room, x, {value})"),
            _ => format!("Action: CHANGE_BOUND(x, ub, {value})"),
        };
        let mut episode = environment(false).open(&task_of(&problem()), Seed::new(1)).unwrap();
        let next = episode.reply(Reply::text(&action)).unwrap();
        let outcome = match next { Next::Done(outcome) => outcome, Next::Ask => episode.cut_short().unwrap() };
        prop_assert!((0.0..=1.0).contains(&outcome.reward.total()));
        prop_assert!(outcome.is_solved() == (outcome.reward.total() >= SOLVED_FLOOR));
    }
}
