//! Writes random models as MPS files, and the verdict on each as a line of `verdicts.jsonl` beside them, for
//! `benches/solver/highs.py`.
//!
//! ```sh
//! cargo run -p whetstone-solver --example verdicts -- FOLDER COUNT
//! ```

#[path = "../tests/random_models/draw.rs"]
mod draw;

use std::path::Path;

use serde_json::{Value, json};
use whetstone_solver::{Kind, Limits, Model, Verdict, solve, write_mps};

fn main() -> Result<(), String> {
    let mut arguments = std::env::args().skip(1);
    let (folder, count) =
        (arguments.next(), arguments.next().and_then(|count| count.parse::<u64>().ok()));
    let (Some(folder), Some(count)) = (folder, count) else {
        return Err("usage: verdicts FOLDER COUNT".to_owned());
    };
    let mut lines = String::new();
    std::fs::create_dir_all(&folder).expect("a folder");
    for seed in 0..count {
        let kind = if seed % 2 == 0 { Kind::Continuous } else { Kind::Integer };
        let model = draw::model(seed, kind);
        let Ok(text) = write_mps(&model) else { continue };
        let file = format!("{seed}.mps");
        std::fs::write(Path::new(&folder).join(&file), text).expect("a file");
        lines.push_str(&verdict(&file, &model).to_string());
        lines.push('\n');
    }
    std::fs::write(Path::new(&folder).join("verdicts.jsonl"), lines).map_err(|err| err.to_string())
}

fn verdict(file: &str, model: &Model) -> Value {
    match solve(model, &Limits::default()) {
        Ok(Verdict::Optimal(optimum)) => {
            json!({ "file": file, "verdict": "optimal", "objective": optimum.objective })
        }
        Ok(Verdict::Unbounded(_)) => json!({ "file": file, "verdict": "unbounded" }),
        Ok(Verdict::Infeasible(found)) => {
            json!({ "file": file, "verdict": "infeasible", "members": found.members.len() })
        }
        Err(error) => json!({ "file": file, "verdict": "none", "error": error.to_string() }),
    }
}
