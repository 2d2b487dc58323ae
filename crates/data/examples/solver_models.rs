//! Writes generated problems as MPS files, the broken and the base model of each, and our verdict on each with its IIS
//! as a line of `verdicts.jsonl` beside them, for `benches/solver/highs.py`. Every certificate of infeasibility is
//! checked anew.
//!
//! ```sh
//! cargo run -p whetstone-data --example solver_models -- FOLDER COUNT
//! ```

use std::path::Path;

use serde_json::{Value, json};
use whetstone_core::Seed;
use whetstone_data::part::Partition;
use whetstone_data::solver::{SolverOptions, SolverTasks};
use whetstone_solver::{
    Infeasibility, Limits, Member, Model, Verdict, check_infeasibility, solve, write_mps,
};

fn main() -> Result<(), String> {
    let mut arguments = std::env::args().skip(1);
    let (folder, count) =
        (arguments.next(), arguments.next().and_then(|count| count.parse::<u64>().ok()));
    let (Some(folder), Some(count)) = (folder, count) else {
        return Err("usage: solver_models FOLDER COUNT".to_owned());
    };
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder).map_err(|err| err.to_string())?;
    let options = SolverOptions::default();
    let tasks = SolverTasks::new(&options, Seed::new(42));
    let mut lines = String::new();
    for number in 0..count {
        // Three of eight families are for validation.
        let part = if number % 8 < 5 { Partition::Train } else { Partition::Validation };
        let problem = tasks.make(part, number).map_err(|err| err.to_string())?.problem;
        for (what, model) in [("broken", Some(&problem.broken)), ("base", problem.base.as_ref())] {
            let Some(model) = model else { continue };
            let file = format!("{number}-{what}.mps");
            let text = write_mps(model).map_err(|err| err.to_string())?;
            std::fs::write(folder.join(&file), text).map_err(|err| err.to_string())?;
            lines.push_str(&verdict(&file, model)?.to_string());
            lines.push('\n');
        }
    }
    std::fs::write(folder.join("verdicts.jsonl"), lines).map_err(|err| err.to_string())
}

fn verdict(file: &str, model: &Model) -> Result<Value, String> {
    match solve(model, &Limits::default()).map_err(|err| format!("{file}: {err}"))? {
        Verdict::Optimal(optimum) => {
            Ok(json!({ "file": file, "verdict": "optimal", "objective": optimum.objective }))
        }
        Verdict::Unbounded(_) => Err(format!("{file}: unbounded")),
        Verdict::Infeasible(found) => {
            check_infeasibility(model, &found).map_err(|err| format!("{file}: {err}"))?;
            Ok(json!({ "file": file, "verdict": "infeasible", "iis": iis(model, &found) }))
        }
    }
}

fn iis(model: &Model, found: &Infeasibility) -> Value {
    let (mut rows, mut lower, mut upper) = (Vec::new(), Vec::new(), Vec::new());
    for member in &found.members {
        match *member {
            Member::Row(at) => rows.push(model.rows[at].name.as_str()),
            Member::LowerBound(at) => lower.push(model.variables[at].name.as_str()),
            Member::UpperBound(at) => upper.push(model.variables[at].name.as_str()),
        }
    }
    json!({ "rows": rows, "lower": lower, "upper": upper })
}
