//! A model that answers from its prompt and its seed, measured.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use whetstone_core::completion::{Completion, Finish, SampledTokens};
use whetstone_core::judgement::{Counts, Held, Infrastructure, Isolation, Judgement};
use whetstone_core::message::Message;
use whetstone_core::reward::{Reward, Term};
use whetstone_core::verdict::Verdict;
use whetstone_core::wire::Wire;
use whetstone_core::{Seed, Task};
use whetstone_env::environment::{EnvError, Environment, Episode, Next, Outcome};
use whetstone_eval::{EvalError, Measured, Measuring, measure};
use whetstone_infer::{Drawn, GenerateError, Generator, Prompt, Rule, Usage};
use whetstone_rollout::collect::Collecting;

fn task(id: &str) -> Task {
    let line = format!(
        r#"{{"id":"{id}","statement":"{id}","tests":{{"kind":"asserts","hidden":["a","b"]}}}}"#
    );
    Task::from_object(serde_json::from_str(&line).unwrap()).unwrap()
}

fn tasks(ids: &[&str]) -> Vec<Task> {
    ids.iter().map(|id| task(id)).collect()
}

/// Says `pass` or `wrong` by the prompt's seed and the sample's number; `long …` is cut off.
#[derive(Default)]
struct Coin {
    calls: Vec<usize>,
}

impl Generator for Coin {
    fn generate(
        &mut self,
        prompts: &[Prompt],
        done: &mut dyn FnMut(Drawn) -> ControlFlow<()>,
    ) -> Result<Usage, GenerateError> {
        self.calls.push(prompts.iter().map(|prompt| prompt.samples).sum());
        for (at, prompt) in prompts.iter().enumerate() {
            let asked: String =
                prompt.tokens.iter().map(|&it| char::from_u32(it).unwrap()).collect();
            for sample in 0..prompt.samples {
                let heads = prompt.seed.derive("coin", sample as u64).get().is_multiple_of(2);
                let text = format!("{asked} {}", if heads { "pass" } else { "wrong" });
                let finish = if asked.starts_with("long") { Finish::Length } else { Finish::Stop };
                // The second sample has two tokens, so a mean over samples is another.
                let logps =
                    vec![-1.0 / f32::from(1 + u16::try_from(sample).unwrap()); 1 + sample % 2];
                let tokens = SampledTokens::new(vec![7; logps.len()], logps).ok();
                let completion = Completion { text, reasoning: None, finish, tokens };
                assert!(done(Drawn { prompt: at, sample, completion }).is_continue());
            }
        }
        Ok(Usage { sampled: 3 * self.calls.last().unwrap(), ..Usage::default() })
    }
}

/// A program passes if it says so; of a task `broken …` none can be judged.
struct Judge;

struct Play([Message; 1]);

impl Environment for Judge {
    fn name(&self) -> &'static str {
        "judge"
    }

    fn open(&self, task: &Task, _: Seed) -> Result<Box<dyn Episode>, EnvError> {
        Ok(Box::new(Play([Message::user(&task.statement)])))
    }
}

impl Episode for Play {
    fn messages(&self) -> &[Message] {
        &self.0
    }

    fn reply(&mut self, text: &str) -> Result<Next, EnvError> {
        if text.starts_with("broken") {
            return Err(Infrastructure("no zygote".to_owned()).into());
        }
        let passed = text.ends_with("pass");
        let verdict = if passed { Verdict::Pass } else { Verdict::Wrong { test: 1 } };
        let counts = Counts { passed: 1 + u32::from(passed), total: 2 };
        let held = Held { cpu_ms: 1.5, isolation: Isolation::Full };
        let judgement = Judgement::of_run(verdict, counts, held).unwrap();
        let term = Term { value: f64::from(u8::from(passed)), weight: 1.0 };
        let terms = BTreeMap::from([("tests".to_owned(), term)]);
        let reward = Reward::new(terms, BTreeMap::new()).unwrap();
        Ok(Next::Done(Outcome { judgement, reward }))
    }

    fn cut_short(&mut self) -> Result<Outcome, EnvError> {
        unreachable!("every episode ends with its first reply")
    }
}

/// How a test measures.
struct How<'a> {
    seed: u64,
    at_a_time: usize,
    on_progress: &'a dyn Fn(usize, usize),
    stop: &'a AtomicBool,
}

fn measured(
    how: &How<'_>,
    model: &mut Coin,
    tasks: &[Task],
) -> Result<Option<Measured>, EvalError> {
    let render = |messages: &[Message]| Ok(messages[0].content.chars().map(u32::from).collect());
    let collecting = Collecting {
        environment: &Judge,
        render: &render,
        rule: Rule::default(),
        max_tokens: 8,
        max_prompt_tokens: 100,
        max_turns: 1,
        judges: 2,
        on_event: &|_| ControlFlow::Continue(()),
    };
    let it = Measuring {
        collecting,
        samples: 4,
        samples_at_a_time: how.at_a_time,
        seed: Seed::new(how.seed),
        on_progress: how.on_progress,
        stop: how.stop,
    };
    measure(&it, model, tasks)
}

fn plainly(seed: u64, at_a_time: usize, tasks: &[Task]) -> (Measured, Coin) {
    let (mut model, stop) = (Coin::default(), AtomicBool::new(false));
    let how = How { seed, at_a_time, on_progress: &|_, _| {}, stop: &stop };
    let found = measured(&how, &mut model, tasks).unwrap().unwrap();
    (Measured { seconds: 0.0, ..found }, model)
}

#[test]
fn what_is_counted_is_what_was_judged() {
    let (found, _) = plainly(7, 100, &tasks(&["a", "broken", "long", "b"]));
    let samples: Vec<u64> = found.tallies.iter().map(|tally| tally.samples).collect();
    assert_eq!(samples, [4, 0, 4, 4]);
    let passed: u64 = found.tallies.iter().map(|tally| tally.passed).sum();
    assert_eq!(found.verdicts["pass"], passed);
    assert_eq!(found.verdicts["wrong"], 12 - passed);
    assert!((1..12).contains(&passed), "a coin shows both sides in twelve throws");
    assert_eq!((found.unjudged, found.cut_off, found.sampled_tokens), (4, 4, 48));
    let expected = (1.0 + 2.0 / 2.0 + 1.0 / 3.0 + 2.0 / 4.0) / 6.0;
    assert!((found.surprise - expected).abs() < 1e-7, "{} is not {expected}", found.surprise);
}

#[test]
fn pieces_neighbours_and_order_change_nothing_and_the_seed_does() {
    let (whole, _) = plainly(7, 100, &tasks(&["a", "b", "c", "d", "e"]));
    let (pieces, model) = plainly(7, 9, &tasks(&["a", "b", "c", "d", "e"]));
    assert_eq!(whole, pieces);
    assert_eq!(model.calls, [8, 8, 4], "two tasks of four samples at a time, never more");
    let (turned, _) = plainly(7, 1, &tasks(&["e", "c"]));
    assert_eq!(turned.tallies, [whole.tallies[4].clone(), whole.tallies[2].clone()]);
    let (other, _) = plainly(8, 100, &tasks(&["a", "b", "c", "d", "e"]));
    assert_ne!(whole.tallies, other.tallies);
}

#[test]
fn progress_counts_up_to_all_of_it_over_pieces() {
    let told = RefCell::new(Vec::new());
    let stop = AtomicBool::new(false);
    let on_progress = |done, all| told.borrow_mut().push((done, all));
    let how = How { seed: 1, at_a_time: 4, on_progress: &on_progress, stop: &stop };
    measured(&how, &mut Coin::default(), &tasks(&["a", "b", "c"])).unwrap();
    let told = told.into_inner();
    assert!(told.is_sorted(), "{told:?}");
    assert_eq!((told[0].1, *told.last().unwrap()), (12, (12, 12)));
}

#[test]
fn told_to_stop_it_begins_no_further_piece() {
    let stop = AtomicBool::new(false);
    let on_progress = |done, _| stop.store(done >= 4, Ordering::Relaxed);
    let how = How { seed: 1, at_a_time: 4, on_progress: &on_progress, stop: &stop };
    let mut model = Coin::default();
    assert_eq!(measured(&how, &mut model, &tasks(&["a", "b", "c"])).unwrap(), None);
    assert_eq!(model.calls, [4]);
}

#[test]
fn no_tasks_are_no_measurement() {
    let stop = AtomicBool::new(false);
    let how = How { seed: 1, at_a_time: 4, on_progress: &|_, _| {}, stop: &stop };
    let err = measured(&how, &mut Coin::default(), &[]).unwrap_err();
    assert_eq!(err.to_string(), "there is nothing to measure: no tasks");
}
