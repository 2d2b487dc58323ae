//! What a step of the solver environment costs: a solve, and the conflict where there is one.
//!
//! ```sh
//! cargo bench -p whetstone-benches --bench solver             # a table
//! cargo bench -p whetstone-benches --bench solver -- --json   # for benches/baselines/
//! ```
//!
//! One thread. Models are drawn from a seed: a hidden plan of small whole numbers, rows around it that it satisfies
//! with some slack, and boxes. *Optimal* solves such a model and proves the optimum. *Infeasible* adds the sum of some
//! rows with its limit turned past what they allow, so that the conflict has about as many members as rows were
//! summed; the time is that of `solve`, which includes the conflict and the check of its certificate. Each figure is
//! the median over the models of the best of five rounds. A step of either
//! verdict above 2 ms at 50 rows ends the benchmark with 1.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "small whole numbers"
)]

use std::process::ExitCode;
use std::time::Instant;

use serde_json::{Value, json};
use whetstone_solver::{Kind, Limits, Model, Objective, Row, Term, Variable, Verdict, solve};

/// Rows and variables.
const SIZES: [(usize, usize); 4] = [(8, 6), (20, 15), (50, 30), (100, 60)];
const MODELS: u64 = 40;
const ROUNDS: usize = 5;
const MOST_MS: f64 = 2.0;

fn main() -> ExitCode {
    let rows: Vec<Value> =
        SIZES.iter().map(|(rows, variables)| measure(*rows, *variables)).collect();
    if std::env::args().any(|arg| arg == "--json") {
        println!("{:#}", json!({ "solver": rows }));
    } else {
        println!(
            "{:>5} {:>5} {:>12} {:>14} {:>8}",
            "rows", "vars", "optimal ms", "infeasible ms", "members"
        );
        for row in &rows {
            println!(
                "{:>5} {:>5} {:>12.3} {:>14.3} {:>8.1}",
                row["rows"],
                row["variables"],
                number(row, "optimal_ms"),
                number(row, "infeasible_ms"),
                number(row, "members")
            );
        }
    }
    let at_50 = rows.iter().filter(|row| row["rows"] == 50);
    let step = at_50
        .map(|row| number(row, "optimal_ms").max(number(row, "infeasible_ms")))
        .fold(0.0, f64::max);
    if step <= MOST_MS { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn number(row: &Value, key: &str) -> f64 {
    row[key].as_f64().unwrap_or(f64::NAN)
}

fn measure(rows: usize, variables: usize) -> Value {
    let (mut optimal, mut infeasible, mut members) = (Vec::new(), Vec::new(), Vec::new());
    for seed in 0..MODELS {
        let mut model = feasible(rows, variables, &mut Random(seed));
        let verdict = timed(&model, &mut optimal);
        assert!(matches!(verdict, Verdict::Optimal(_)), "seed {seed}: {verdict:?}");
        contradict(&mut model, &mut Random(seed));
        let Verdict::Infeasible(found) = timed(&model, &mut infeasible) else {
            panic!("seed {seed}")
        };
        members.push(found.members.len() as f64);
    }
    json!({
        "rows": rows,
        "variables": variables,
        "optimal_ms": median(&mut optimal),
        "infeasible_ms": median(&mut infeasible),
        "members": members.iter().sum::<f64>() / members.len() as f64,
    })
}

/// Solves a model a few times and notes the milliseconds of the fastest.
fn timed(model: &Model, times: &mut Vec<f64>) -> Verdict {
    let (mut best, mut verdict) = (f64::MAX, None);
    for _ in 0..ROUNDS {
        let started = Instant::now();
        verdict = Some(solve(model, &Limits::default()).expect("a verdict"));
        best = best.min(started.elapsed().as_secs_f64() * 1e3);
    }
    times.push(best);
    verdict.expect("at least one round")
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// A model with a solution: rows `<=` and `>=` around a plan.
fn feasible(rows: usize, variables: usize, random: &mut Random) -> Model {
    let mut model = Model::new(Objective::Maximize);
    let plan: Vec<f64> = (0..variables).map(|_| random.whole(10)).collect();
    for index in 0..variables {
        let (name, kind) = (format!("x{index}"), Kind::Continuous);
        let (cost, upper) = (1.0 + random.whole(9), 20.0);
        model.variables.push(Variable { name, cost, lower: 0.0, upper, kind });
    }
    for index in 0..rows {
        let mut terms = Vec::new();
        for variable in 0..variables {
            if random.whole(9) < 3.0 {
                terms.push(Term { variable, coefficient: 1.0 + random.whole(8) });
            }
        }
        let activity: f64 = terms.iter().map(|term| term.coefficient * plan[term.variable]).sum();
        let (lower, upper) = match index % 3 {
            0 => (activity - random.whole(5), f64::INFINITY),
            _ => (f64::NEG_INFINITY, activity + random.whole(5)),
        };
        model.rows.push(Row { name: format!("r{index}"), terms, lower, upper });
    }
    model
}

/// Adds a row that asks for more than the sum of a few others allows.
fn contradict(model: &mut Model, random: &mut Random) {
    let capped: Vec<usize> =
        (0..model.rows.len()).filter(|row| model.rows[*row].upper.is_finite()).collect();
    let mut sum = vec![0.0; model.variables.len()];
    let mut limit = 1.0;
    for _ in 0..3 {
        let row = &model.rows[capped[random.whole(capped.len() as u64 - 1) as usize]];
        limit += row.upper;
        row.terms.iter().for_each(|term| sum[term.variable] += term.coefficient);
    }
    let terms = sum.iter().enumerate().filter(|(_, coefficient)| **coefficient != 0.0);
    let terms =
        terms.map(|(variable, coefficient)| Term { variable, coefficient: *coefficient }).collect();
    model.rows.push(Row { name: "demand".to_owned(), terms, lower: limit, upper: f64::INFINITY });
}

/// `SplitMix64`.
struct Random(u64);

impl Random {
    /// A whole number from 0 to `most`.
    fn whole(&mut self, most: u64) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) % (most + 1)) as f64
    }
}
