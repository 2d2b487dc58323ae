//! Generated problems: certified, undone by their own actions, and not to be gamed.

use std::collections::BTreeSet;

use whetstone_core::config::Config;
use whetstone_core::extract::Reply;
use whetstone_core::message::Message;
use whetstone_core::wire::Wire;
use whetstone_env::environment::{Environment, Next, Setup, StartError};
use whetstone_env::registry::Environments;
use whetstone_env::solver::{Action, View};

use super::*;

fn some(count: usize, part: Partition, options: &SolverOptions) -> Vec<SolverTask> {
    let tasks = SolverTasks::new(options, Seed::new(7));
    (0..count as u64).map(|number| tasks.make(part, number).unwrap()).collect()
}

fn environments(tasks: &[SolverTask]) -> Environments {
    let mut config = Config::default();
    config.env.rules = false;
    let start_judge = || Err(StartError::Refused("no judge here".to_owned()));
    let setup = Setup { config: &config, start_judge: &start_judge };
    Environments::for_tasks(&setup, tasks.iter().map(|made| &made.task)).unwrap()
}

/// The mean reward of a policy, which answers the conversation so far.
fn mean_reward(tasks: &[SolverTask], policy: &dyn Fn(&SolverTask, &[Message]) -> String) -> f64 {
    let environments = environments(tasks);
    let mut sum = 0.0;
    for made in tasks {
        let mut episode = environments.open(&made.task, Seed::new(1)).unwrap();
        let outcome = loop {
            let reply = policy(made, episode.messages());
            if let Next::Done(outcome) = episode.reply(Reply::text(&reply)).unwrap() {
                break outcome;
            }
        };
        sum += outcome.reward.total();
    }
    #[expect(clippy::cast_precision_loss, reason = "a few hundred tasks")]
    let count = tasks.len() as f64;
    sum / count
}

/// The first row of the IIS that was shown last.
fn first_row(messages: &[Message]) -> String {
    let told = &messages.last().unwrap().content;
    let iis = told.rsplit("IIS: [").next().unwrap_or_default();
    let names = iis.split([',', ']']).map(str::trim).filter(|name| !name.contains('('));
    names.into_iter().next().unwrap_or("none").to_owned()
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

#[test]
fn the_expert_earns_nearly_everything_and_simple_policies_little() {
    let tasks = some(200, Partition::Validation, &SolverOptions::default());
    let all = environments(&tasks);
    let expert = mean_reward(&tasks, &|made, messages| {
        all.expert_reply(&made.task, Seed::new(1), messages).unwrap().unwrap()
    });
    assert!(expert >= 0.95, "expert {expert}");
    let drop_first = mean_reward(&tasks, &|_, messages| {
        format!("Action: DROP_CONSTRAINT({})", first_row(messages))
    });
    assert!(drop_first <= 0.45, "drop the first row of the IIS: {drop_first}");
    let relax = mean_reward(&tasks, &|_, messages| {
        format!("Action: RELAX_CONSTRAINT({}, 1e9)", first_row(messages))
    });
    assert!(relax <= 0.45, "relax the first row by 1e9: {relax}");
    let print = mean_reward(&tasks, &|_, _| "Action: GET_IIS".to_owned());
    assert!(print <= 0.05 + 1e-9, "print the IIS: {print}");
}
