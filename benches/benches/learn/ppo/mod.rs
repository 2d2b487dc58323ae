//! A step of PPO beside TRL's: 64 prompts with a completion of 128 tokens each, 4 epochs of 4 mini-batches,
//! which are 16 updates, on the random model of the step of GRPO.
//!
//! Both sides sample, compute log-probabilities of the reference (the model without its adapter) and the critic's
//! values, estimate advantages, and update policy and critic, in f32 on as many threads. No completion ends early:
//! our model has no token that ends one, and TRL's trainer is given none. Prompts have as many tokens on both
//! sides, which the peer checks, as it checks the number of updates. [`NOTES`] lists the differences that are left.
//!
//! TRL is measured twice: with adapters, as our side is, and with every weight trained, which is how its trainer is
//! used by default and which our side does not do. In turns, a process each; of each process the median step after
//! the first, of several rounds the fastest, with its parts.

mod ours;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::process::Command;

use serde_json::{Map, Value, json};
use whetstone_model::Tokenizer;

use crate::{letters, model, rounded};

const ROUNDS: usize = 2;
/// Steps of a process; the first is not counted.
const STEPS: u32 = 4;
const BATCH: u32 = 64;
const MINI_BATCH: u32 = 16;
const EPOCHS: u32 = 4;
const COMPLETION_TOKENS: u32 = 128;
const LEARNING_RATE: f64 = 1e-4;
const KL_COEF: f64 = 0.05;
const RANK: u32 = 16;
const ALPHA: f64 = 32.0;

/// The whole step, by its name among the parts.
const STEP: &str = "step_s";

/// Differences between the sides.
const NOTES: &[&str] = &[
    "TRL's trainer takes rewards from a model alone: its reward model is a function of the last token with no \
     layers (reward_s); ours decodes each completion and counts its letters, within sampling_s",
    "ours adds an entropy bonus with its gradient (ppo.entropy_coef = 0.01); TRL computes the entropy to log it",
    "ours clips gradients to a norm of 0.5; TRL's PPO trainer does not clip",
    "ours measures KL(old, new) after the updates on 32 of the 64 completions, within learning_s",
    "ours writes every completion with its tokens, log-probabilities, values and returns to a file",
    "TRL's value model is a second copy of the base with an adapter of its own; ours has both adapters on one base",
    "TRL pads to the longest sequence and computes logits at prompt tokens; prompts have equal lengths, so that \
     nothing is padded",
    "TRL computes with the batch at a time while sampling and scoring, and a mini-batch at a time while learning; \
     ours with 16 sequences at a time while scoring and learning",
];

/// The parts of a step in seconds, and [`STEP`].
type Parts = BTreeMap<String, f64>;

/// The prompts of a step, which have equally many tokens.
struct Prompts {
    /// The names of tasks, with which prompts end.
    names: Vec<String>,
    tokens: usize,
}

/// Prints the parts of each of our steps.
pub(crate) fn print_steps(tokenizer: &Path) -> Result<(), Box<dyn Error>> {
    println!("steps {}", json!(ours::steps(tokenizer, &prompts(tokenizer)?)?));
    Ok(())
}

/// Measures ours, and TRL's if there is a Python with it, in turns.
pub(crate) fn run(
    tokenizer: &Path,
    python: Option<&str>,
    as_json: bool,
) -> Result<(), Box<dyn Error>> {
    let prompts = prompts(tokenizer)?;
    let mut sides: BTreeMap<&str, Vec<Parts>> = BTreeMap::new();
    for round in 1..=ROUNDS {
        let mut measured = |side, steps: Vec<Parts>| -> Result<(), Box<dyn Error>> {
            let parts = median(steps)?;
            println!("round {round} {side:<8} {}", json!(parts));
            sides.entry(side).or_default().push(parts);
            Ok(())
        };
        measured("ours", run_ours(tokenizer)?)?;
        if let Some(python) = python {
            measured("trl_lora", run_peer(tokenizer, python, &prompts, "lora")?)?;
            measured("trl_full", run_peer(tokenizer, python, &prompts, "full")?)?;
        }
    }
    let mut all = Map::new();
    for (side, rounds) in sides {
        all.insert(side.to_owned(), json!(fastest(rounds).ok_or("no round")?));
    }
    for side in ["lora", "full"] {
        let of = |side: &str| all.get(side).and_then(|parts| parts[STEP].as_f64());
        if let Some((ours, theirs)) = of("ours").zip(of(&format!("trl_{side}"))) {
            let ratio = rounded(theirs / ours);
            println!("trl_{side} / ours {ratio}");
            all.insert(format!("ratio_{side}"), json!(ratio));
        }
    }
    all.insert("notes".to_owned(), json!(NOTES));
    if as_json {
        println!("{:#}", Value::from(all));
    }
    Ok(())
}

fn run_ours(tokenizer: &Path) -> Result<Vec<Parts>, Box<dyn Error>> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--ppo", "--child", "--tokenizer"]).arg(tokenizer);
    steps_of(command)
}

fn run_peer(
    tokenizer: &Path,
    python: &str,
    prompts: &Prompts,
    trained: &str,
) -> Result<Vec<Parts>, Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let shape = dir.path().join("shape.json");
    std::fs::write(&shape, serde_json::to_vec(&peer_shape(prompts))?)?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("learn/ppo_peer.py");
    let mut command = Command::new(std::path::absolute(python)?);
    command.arg(script).arg(std::path::absolute(tokenizer)?).arg(shape).arg(trained);
    command.current_dir(dir.path());
    steps_of(command)
}

/// The steps that a process prints.
fn steps_of(mut command: Command) -> Result<Vec<Parts>, Box<dyn Error>> {
    let done = command.output()?;
    let text = String::from_utf8_lossy(&done.stdout);
    let line = text.lines().find_map(|line| line.strip_prefix("steps "));
    let line = line.ok_or_else(|| format!("{text}{}", String::from_utf8_lossy(&done.stderr)))?;
    Ok(serde_json::from_str(line)?)
}

/// Everything that the peer has to know.
fn peer_shape(prompts: &Prompts) -> Value {
    let modules =
        ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"].as_slice();
    json!({
        "threads": model::THREADS,
        "steps": STEPS,
        "batch_size": BATCH,
        "mini_batch_size": MINI_BATCH,
        "ppo_epochs": EPOCHS,
        "completion_tokens": COMPLETION_TOKENS,
        "prompt_tokens": prompts.tokens,
        "prompts": prompts.names.iter().map(|name| letters::prompt(name)).collect::<Vec<_>>(),
        "learning_rate": LEARNING_RATE,
        "kl_coef": KL_COEF,
        "lora": {"r": RANK, "lora_alpha": ALPHA, "target_modules": modules},
        "model": model::shape(None),
    })
}

/// Numbers whose prompts have equally many tokens.
fn prompts(tokenizer: &Path) -> Result<Prompts, Box<dyn Error>> {
    let tokenizer = Tokenizer::from_file(tokenizer)?;
    let mut by_tokens: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for number in 0..1000 {
        let name = number.to_string();
        let tokens = tokenizer.encode(&letters::prompt(&name))?.len();
        let names = by_tokens.entry(tokens).or_default();
        names.push(name);
        if names.len() == BATCH as usize {
            return Ok(Prompts { names: std::mem::take(names), tokens });
        }
    }
    Err("too few prompts have equally many tokens".into())
}

/// The median of the steps after the first, by their whole duration.
fn median(mut steps: Vec<Parts>) -> Result<Parts, Box<dyn Error>> {
    if steps.len() < 2 {
        return Err("no steps".into());
    }
    steps.remove(0);
    steps.sort_by(|one, other| one[STEP].total_cmp(&other[STEP]));
    let median = steps.swap_remove(steps.len() / 2);
    Ok(median.into_iter().map(|(part, seconds)| (part, rounded(seconds))).collect())
}

fn fastest(rounds: Vec<Parts>) -> Option<Parts> {
    rounds.into_iter().min_by(|one, other| one[STEP].total_cmp(&other[STEP]))
}
