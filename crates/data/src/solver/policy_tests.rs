//! What policies without insight earn beside the expert, on 500 problems of families that are never trained on. The guide
//! `docs/guides/solver.md` has the same table.

use std::fmt::Write as _;
use std::path::Path;

use whetstone_core::Seed;
use whetstone_core::extract::Reply;
use whetstone_core::message::Message;
use whetstone_env::environment::{Environment, Next};
use whetstone_env::registry::Environments;

use super::tests::{environments, some};
use super::{SolverOptions, SolverTask};
use crate::part::Partition;
use crate::random::Random;

/// What a policy answers from.
struct Turn<'a> {
    made: &'a SolverTask,
    environments: &'a Environments,
    messages: &'a [Message],
    /// From 0.
    number: usize,
    random: &'a mut Random,
}

/// A policy, and the least and the most that it may earn.
struct Policy {
    name: &'static str,
    reply: fn(&mut Turn<'_>) -> String,
    earns: std::ops::RangeInclusive<f64>,
}

/// What an unsolved episode earns at most.
const UNSOLVED: f64 = 0.05 + 1e-9;
/// What a policy without insight may earn.
const BLIND: f64 = 0.45;

const POLICIES: [Policy; 7] = [
    Policy { name: "expert", reply: expert, earns: 0.95..=1.0 },
    Policy { name: "drop the first row of the IIS", reply: drop_first, earns: 0.2..=BLIND },
    Policy { name: "relax the first row of the IIS by 1e9", reply: relax, earns: 0.2..=BLIND },
    Policy { name: "drop every row in turn", reply: drop_all, earns: 0.0..=BLIND },
    Policy { name: "random actions", reply: random_action, earns: 0.0..=BLIND },
    Policy { name: "print the IIS", reply: print_iis, earns: 0.0..=UNSOLVED },
    Policy { name: "submit at once", reply: submit, earns: 0.0..=UNSOLVED },
];

fn expert(turn: &mut Turn<'_>) -> String {
    let reply = turn.environments.expert_reply(&turn.made.task, Seed::new(1), turn.messages);
    reply.unwrap().unwrap()
}

fn drop_first(turn: &mut Turn<'_>) -> String {
    turn.environments.trivial_reply(&turn.made.task, turn.messages).unwrap().unwrap()
}

fn drop_all(turn: &mut Turn<'_>) -> String {
    let rows = &turn.made.problem.broken.rows;
    format!("Action: DROP_CONSTRAINT({})", rows[turn.number % rows.len()].name)
}

fn relax(turn: &mut Turn<'_>) -> String {
    format!("Action: RELAX_CONSTRAINT({}, 1e9)", first_row(turn.messages))
}

fn print_iis(_: &mut Turn<'_>) -> String {
    "Action: GET_IIS".to_owned()
}

fn submit(_: &mut Turn<'_>) -> String {
    "Action: SUBMIT".to_owned()
}

fn random_action(turn: &mut Turn<'_>) -> String {
    let model = &turn.made.problem.broken;
    let random = &mut *turn.random;
    let row = &model.rows[random.below(model.rows.len())].name;
    let variable = &model.variables[random.below(model.variables.len())].name;
    let value = random.between(0, 50);
    let action = match random.below(6) {
        0 => format!("RELAX_CONSTRAINT({row}, {})", value + 1),
        1 => format!("DROP_CONSTRAINT({row})"),
        2 => format!("UPDATE_RHS({row}, {value})"),
        3 => format!("CHANGE_BOUND({variable}, {}, {value})", ["lb", "ub"][random.below(2)]),
        4 => format!("FLIP_SENSE({row})"),
        _ => format!("SET_COEF({row}, {variable}, {})", random.between(-5, 5)),
    };
    format!("Action: {action}")
}

/// The first row of the IIS that was shown last.
fn first_row(messages: &[Message]) -> String {
    let told = &messages.last().unwrap().content;
    let iis = told.rsplit("IIS: [").next().unwrap_or_default();
    let names = iis.split([',', ']']).map(str::trim).filter(|name| !name.contains('('));
    names.into_iter().next().unwrap_or("none").to_owned()
}

/// What one episode earned.
struct Episode {
    reward: f64,
    is_solved: bool,
}

fn play(policy: &Policy, made: &SolverTask, environments: &Environments) -> Episode {
    let mut episode = environments.open(&made.task, Seed::new(1)).unwrap();
    let mut random = Random::new(Seed::new(made.problem.broken.rows.len() as u64));
    for number in 0.. {
        let random = &mut random;
        let messages = episode.messages();
        let reply = (policy.reply)(&mut Turn { made, environments, messages, number, random });
        if let Next::Done(outcome) = episode.reply(Reply::text(&reply)).unwrap() {
            let reward = outcome.reward.total();
            return Episode { reward, is_solved: reward > UNSOLVED };
        }
    }
    unreachable!("an episode ends after ten steps")
}

/// Means over all tasks, which two threads share.
fn means(policy: &Policy, tasks: &[SolverTask], environments: &Environments) -> Episodes {
    let (first, second) = tasks.split_at(tasks.len() / 2);
    let half = |tasks: &[SolverTask]| -> Vec<Episode> {
        tasks.iter().map(|made| play(policy, made, environments)).collect()
    };
    let episodes = std::thread::scope(|scope| {
        let other = scope.spawn(|| half(second));
        let mut episodes = half(first);
        episodes.extend(other.join().unwrap());
        episodes
    });
    #[expect(clippy::cast_precision_loss, reason = "500 tasks")]
    let count = episodes.len() as f64;
    let reward = episodes.iter().map(|episode| episode.reward).sum::<f64>() / count;
    let solved = episodes.iter().map(|episode| f64::from(u8::from(episode.is_solved))).sum::<f64>();
    Episodes { reward, solved: solved / count }
}

/// Means of a policy's episodes.
struct Episodes {
    reward: f64,
    solved: f64,
}

#[test]
fn the_expert_earns_nearly_everything_and_policies_without_insight_little() {
    let tasks = some(500, Partition::Validation, &SolverOptions::default());
    let environments = environments(&tasks);
    let mut table = "| policy | mean reward | solved |\n|---|---|---|\n".to_owned();
    let mut wrong = Vec::new();
    for policy in &POLICIES {
        let Episodes { reward, solved } = means(policy, &tasks, &environments);
        writeln!(table, "| {} | {reward:.3} | {:.1} % |", policy.name, 100.0 * solved).unwrap();
        if !policy.earns.contains(&reward) {
            wrong.push(policy.name);
        }
    }
    assert!(wrong.is_empty(), "outside their limits: {wrong:?}\n{table}");
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides/solver.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    assert!(guide.contains(&table), "the guide has another table than\n{table}");
}
