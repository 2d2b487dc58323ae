//! Generated problems: certified, undone by their own actions, and not to be gamed.

use std::collections::BTreeSet;

use whetstone_core::config::Config;
use whetstone_core::extract::Reply;
use whetstone_core::wire::Wire;
use whetstone_env::environment::{Environment, Next, Setup, StartError};
use whetstone_env::registry::Environments;
use whetstone_env::solver::{Action, View};

use super::*;

pub(super) fn some(count: usize, part: Partition, options: &SolverOptions) -> Vec<SolverTask> {
    let tasks = SolverTasks::new(options, Seed::new(7));
    (0..count as u64).map(|number| tasks.make(part, number).unwrap()).collect()
}

pub(super) fn environments(tasks: &[SolverTask]) -> Environments {
    let mut config = Config::default();
    config.env.rules = false;
    let start_judge = || Err(StartError::Refused("no judge here".to_owned()));
    let setup = Setup::new(&config, &start_judge);
    Environments::for_tasks(&setup, tasks.iter().map(|made| &made.task)).unwrap()
}

#[test]
fn instances_are_certified_and_undone_by_their_own_actions() {
    for part in [Partition::Train, Partition::Validation] {
        for made in some(60, part, &SolverOptions::default()) {
            let Problem { base: Some(base), broken, undo, .. } = &made.problem else {
                panic!("no base model")
            };
            assert!(matches!(verdict(base).unwrap(), Verdict::Optimal(_)));
            let Verdict::Infeasible(found) = verdict(broken).unwrap() else { panic!("feasible") };
            assert!((3..=12).contains(&found.members.len()));
            let line = made.task.to_line();
            let again = Task::from_object(serde_json::from_str(&line).unwrap()).unwrap();
            assert_eq!(Problem::of(&again).unwrap(), made.problem, "written and read");
            assert!(!undo.is_empty());
        }
    }
}

#[test]
fn the_halves_share_no_family_and_all_families_and_injections_occur() {
    let seen = |part| {
        let tasks = some(150, part, &SolverOptions::default());
        let families: BTreeSet<String> =
            tasks.iter().map(|made| made.problem.family.clone()).collect();
        let actions: BTreeSet<String> = tasks
            .iter()
            .flat_map(|made| &made.problem.undo)
            .map(|action| action.to_string().split('(').next().unwrap().to_owned())
            .collect();
        (families, actions)
    };
    let (train, train_actions) = seen(Partition::Train);
    let (validation, _) = seen(Partition::Validation);
    assert!(train.is_disjoint(&validation));
    assert_eq!(train.len() + validation.len(), FAMILIES.len());
    assert_eq!(train_actions.len(), 5, "{train_actions:?}");
}

#[test]
fn the_same_seed_makes_the_same_problems_and_another_one_others() {
    let options = SolverOptions::default();
    let lines = |seed| -> Vec<String> {
        let tasks = SolverTasks::new(&options, Seed::new(seed));
        (0..10).map(|at| tasks.make(Partition::Train, at).unwrap().task.to_line()).collect()
    };
    assert_eq!(lines(1), lines(1));
    assert_ne!(lines(1), lines(2));
}

#[test]
fn a_later_conflict_shows_up_only_after_the_earlier_one_is_repaired() {
    let options = SolverOptions { conflicts: 2..=2, ..SolverOptions::default() };
    for made in some(30, Partition::Train, &options) {
        assert_eq!(made.problem.undo.len(), 2);
        for action in &made.problem.undo {
            let mut half = made.problem.clone();
            half.undo = vec![action.clone()];
            // Undoing one alone leaves the other: still infeasible.
            let environments = environments(std::slice::from_ref(&made));
            let mut episode = environments.open(&made.task, Seed::new(1)).unwrap();
            let reply = format!("Action: {action}");
            assert_eq!(episode.reply(Reply::text(&reply)).unwrap(), Next::Ask);
        }
    }
}

#[test]
fn options_are_kept_to() {
    let options = SolverOptions {
        families: vec!["transport".to_owned()],
        injections: vec![InjectionKind::Row],
        conflicts: 1..=1,
        size: 1..=1,
        iis: 2..=3,
        views: vec![View::Table],
        names: Names::Plain,
        show_iis: false,
    };
    for made in some(20, Partition::Train, &options) {
        assert_eq!(made.problem.family, "transport");
        assert!(matches!(made.problem.undo.as_slice(), [Action::DropConstraint { .. }]));
        let rows = &made.problem.broken.rows;
        assert!(rows.iter().enumerate().all(|(at, row)| row.name == format!("c{}", at + 1)));
        assert!(made.task.statement.contains("row | x1 | x2"), "{}", made.task.statement);
        assert!(!made.task.statement.contains("IIS"));
    }
    let none = SolverOptions { families: vec!["network".to_owned()], ..SolverOptions::default() };
    let tasks = SolverTasks::new(&none, Seed::new(1));
    assert!(matches!(tasks.make(Partition::Train, 0), Err(GenerateError::NoFamily)));
}
