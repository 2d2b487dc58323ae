//! netlib's infeasible models.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use whetstone_solver::{InfeasibilityProof, Limits, Model, Verdict, read_mps, solve};

#[test]
fn survey() {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../../work/shared/data/netlib_infeas");
    let folder =
        if folder.exists() { folder } else { PathBuf::from("/work/shared/data/netlib_infeas") };
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("folder")
        .map(|e| e.expect("e").path())
        .filter(|p| p.extension().is_some_and(|e| e == "gz"))
        .collect();
    files.sort_by_key(|p| p.metadata().expect("m").len());
    for path in files {
        if std::env::var("ONLY").is_ok_and(|o| !path.to_string_lossy().contains(&o)) {
            continue;
        }
        let mut text = String::new();
        flate2::read::GzDecoder::new(std::fs::File::open(&path).expect("open"))
            .read_to_string(&mut text)
            .expect("read");
        let started = Instant::now();
        let model: Model = match read_mps(&text) {
            Ok(m) => m,
            Err(e) => {
                println!("{path:?} {e}");
                continue;
            }
        };
        let parse = started.elapsed();
        let started = Instant::now();
        let verdict = solve(&model, &Limits { time: Duration::from_secs(60), ..Limits::default() });
        let what = match verdict {
            Ok(Verdict::Infeasible(i)) => format!(
                "infeasible {} members {}",
                i.members.len(),
                match i.proof {
                    InfeasibilityProof::Exact { multipliers } => format!(
                        "exact, {} bits",
                        multipliers.iter().map(|m| m.weight.bits()).max().unwrap_or(0)
                    ),
                    InfeasibilityProof::Float { .. } => "float".into(),
                    _ => "int".into(),
                }
            ),
            Ok(Verdict::Optimal(o)) => format!("OPTIMAL {}", o.objective),
            Ok(Verdict::Unbounded(_)) => "UNBOUNDED".into(),
            Err(e) => format!("ERR {e}"),
        };
        println!(
            "{} rows {} cols {} parse {parse:?} solve {:?}: {what}",
            path.file_stem().expect("s").to_string_lossy(),
            model.rows.len(),
            model.variables.len(),
            started.elapsed()
        );
    }
}
