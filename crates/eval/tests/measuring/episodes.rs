//! Episodes of several turns, evaluated into a directory.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use serde_json::Value;
use whetstone_core::extract::Reply;
use whetstone_core::message::Message;
use whetstone_core::outcome::Transition;
use whetstone_core::reward::{Reward, Term};
use whetstone_core::{Seed, Task};
use whetstone_env::environment::{EnvError, Environment, Episode, Next, Outcome};
use whetstone_eval::{
    About, Comparison, Decoding, Earlier, Estimate, Evaluating, ROLLOUTS, Results, evaluate,
};
use whetstone_rollout::collect::Collecting;

use crate::coin::{Coin, collecting, tasks};

const TURNS: u32 = 4;
const SAMPLES: usize = 8;

/// Asks until it hears `pass`, which a coin says in every second turn.
struct Ladder;

struct Climb {
    messages: Vec<Message>,
    transitions: Vec<Transition>,
}

impl Environment for Ladder {
    fn max_turns(&self, _: &Task) -> usize {
        TURNS as usize
    }

    fn open(&self, task: &Task, _: Seed) -> Result<Box<dyn Episode>, EnvError> {
        let messages = vec![Message::user(&task.statement)];
        Ok(Box::new(Climb { messages, transitions: Vec::new() }))
    }
}

impl Episode for Climb {
    fn messages(&self) -> &[Message] {
        &self.messages
    }

    fn reply(&mut self, reply: Reply<'_>) -> Result<Next, EnvError> {
        let valid = reply.text.ends_with("pass");
        let at = |count: usize| format!("rung {count}");
        self.transitions.push(Transition {
            state: at(self.transitions.len()),
            action: "climb".to_owned(),
            next_state: at(self.transitions.len() + 1),
            valid,
            progress: valid,
        });
        if valid {
            return Ok(Next::Done(self.outcome()));
        }
        self.messages.extend([Message::assistant(reply.text), Message::user("Again.")]);
        Ok(Next::Ask)
    }

    fn cut_short(&mut self) -> Result<Outcome, EnvError> {
        Ok(self.outcome())
    }
}

impl Climb {
    fn outcome(&self) -> Outcome {
        let solved = self.transitions.last().is_some_and(|last| last.valid);
        let terms = BTreeMap::from([(
            "top".to_owned(),
            Term { value: f64::from(u8::from(solved)), weight: 1.0 },
        )]);
        let reward = Reward::new(terms, BTreeMap::new()).unwrap();
        let tries = self.transitions.len();
        let outcome = Outcome::observed("guess", solved, reward).with_fact("tries", &(10 * tries));
        outcome.with_fact("steps", &99).with_transitions(self.transitions.clone())
    }
}

fn about(tasks: &[Task]) -> About {
    let max_turns = tasks.iter().map(|task| (task.id.clone(), TURNS)).collect();
    About { model: "coin".to_owned(), k: vec![1], max_turns, ..About::default() }
}

fn evaluated(dir: &Path, tasks: &[Task], seed: u64) -> Results {
    let stop = AtomicBool::new(false);
    let evaluating = Evaluating {
        collecting: Collecting { environment: &Ladder, ..collecting() },
        about: &about(tasks),
        tokenizer: None,
        keeps_tokens: false,
        samples: SAMPLES,
        with_greedy: true,
        further: &[Decoding::at(0.25).unwrap()],
        samples_at_a_time: 1000,
        seed: Seed::new(seed),
        directory: dir,
        earlier: Earlier::Resume,
        on_progress: &|_| {},
        stop: &stop,
    };
    evaluate(&evaluating, &mut Coin::default(), tasks).unwrap().unwrap().results
}

fn many() -> Vec<Task> {
    let names: Vec<String> = (0..200).map(|at| format!("t{at}")).collect();
    tasks(&names.iter().map(String::as_str).collect::<Vec<_>>())
}

#[track_caller]
fn holds(found: &Estimate, truth: f64) {
    assert!(found.low <= truth && truth <= found.high, "{truth} is not in {found:?}");
    assert!(found.high - found.low < 0.2, "{found:?}");
}

/// A coin solves an episode in each turn with a chance of 1/2: within k turns with 1 - 2^-k, after
/// 1 + 1/2 + 1/4 + 1/8 turns on average.
#[test]
fn the_curve_of_a_coin_is_the_one_that_is_known() {
    let dir = tempfile::tempdir().unwrap();
    let results = evaluated(dir.path(), &many(), 7);
    let episodes = results.episodes.as_ref().unwrap();
    assert_eq!(episodes.max_turns, TURNS);
    for k in 1..=TURNS {
        holds(&episodes.solved_within[&k], 1.0 - 0.5_f64.powi(k.cast_signed()));
    }
    // Cold, the coin solves every episode in its first turn; greedily it is one more throw.
    let cold = results.by_temperature[&Decoding::at(0.25).unwrap()].episodes.as_ref().unwrap();
    assert_eq!(
        (cold.means["turns"].value.to_bits(), cold.means["reward"].tasks),
        (1.0_f64.to_bits(), 200)
    );
    assert!(results.greedy_episodes.as_ref().unwrap().means["turns"].value > 1.5);
    let better = Comparison::new(&results, &results, &[]).unwrap();
    let better = better.better_reward.expect("samples at a temperature that is known");
    let cold = Decoding::at(0.25).unwrap();
    assert_eq!((better.before, better.after), (cold, cold), "that of the others is not known");
    assert_eq!(better.gain.difference.value.to_bits(), 0.0_f64.to_bits());
    holds(&episodes.means["turns"], 1.875);
    holds(&episodes.means["reward"], 0.9375);
    let tries = &episodes.means["guess/tries"];
    assert!((tries.value - 10.0 * episodes.means["turns"].value).abs() < 1e-9, "{tries:?}");
    assert!(!episodes.means.contains_key("guess/steps"), "replies are counted once");
    let (last, pass) = (episodes.solved_within[&TURNS], results.pass_at_k[&1]);
    assert!(
        (last.value - pass.value).abs() < 1e-12 && last.tasks == pass.tasks,
        "{last:?} {pass:?}"
    );
    assert_eq!(results.by_source["none"].episodes.as_ref(), Some(episodes));
}

#[test]
fn the_counts_are_those_of_the_samples_which_keep_every_turn() {
    let (dir, tasks) = (tempfile::tempdir().unwrap(), tasks(&["a", "b"]));
    let results = evaluated(dir.path(), &tasks, 3);
    let text = fs::read_to_string(dir.path().join(ROLLOUTS)).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // Eight samples at either temperature, and a greedy one.
    assert_eq!(lines.len(), 2 * (2 * SAMPLES + 1));
    for (task, count) in tasks.iter().zip(&results.by_task) {
        let own = lines.iter().filter(|line| line["prompt_id"] == task.id.as_str());
        let own: Vec<&Value> = own.filter(|line| line["step"] == 0).collect();
        let turns = |line: &&&Value| line["meta"]["turns"].as_array().unwrap().len();
        let quick =
            own.iter().filter(|line| line["validation"]["solved"] == true && turns(line) <= 2);
        let share = f64::from(u32::try_from(quick.count()).unwrap()) / 8.0;
        let found = count.episodes.as_ref().unwrap().solved_within[&2];
        assert!((found - share).abs() < 1e-12, "{found} is not {share}");
    }
    let longest = lines.iter().max_by_key(|line| line["meta"]["turns"].as_array().unwrap().len());
    let meta = &longest.unwrap()["meta"];
    assert!(meta["turns"][0]["text"].is_string() && meta["turns"][0]["ids"].is_null(), "{meta}");
    assert_eq!(meta["asked"][1][0]["content"], "Again.");
    let counted = Results::count(&about(&tasks), &tasks, &dir.path().join(ROLLOUTS)).unwrap();
    assert_eq!(counted, results, "what is counted again is the same");
    // How many turns there could have been need not be known.
    let unknown = About { max_turns: BTreeMap::new(), ..about(&tasks) };
    let counted = Results::count(&unknown, &tasks, &dir.path().join(ROLLOUTS)).unwrap();
    assert_eq!(counted.by_task[0].episodes, results.by_task[0].episodes);
}

#[test]
fn two_evaluations_are_compared_by_their_episodes_and_old_results_without_them() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (before, after) = (evaluated(one.path(), &many(), 1), evaluated(other.path(), &many(), 2));
    let found = Comparison::new(&before, &after, &[]).unwrap().episodes.unwrap();
    let first = found.solved_within[&1];
    assert!(!first.difference.is_clear() && first.difference.tasks == 200, "{first:?}");
    assert_eq!(found.means.keys().collect::<Vec<_>>(), ["guess/tries", "reward", "turns"]);
    // As it was written before there were episodes.
    let mut old = serde_json::to_value(&before).unwrap();
    old.as_object_mut().unwrap().remove("episodes");
    for task in old["by_task"].as_array_mut().unwrap() {
        task.as_object_mut().unwrap().remove("episodes");
    }
    let old: Results = serde_json::from_value(old).unwrap();
    let found = Comparison::new(&old, &after, &[]).unwrap();
    assert!(found.episodes.is_none() && found.pass_at_k.len() == 1);
}
