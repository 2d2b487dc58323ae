//! netlib's infeasible models, read from `../shared/data` beside the repository where they are there.
//!
//! All have exact certificates. On `vol1`, `qual`, `pang` and `refinery` the weights of the simplex method miss sides
//! whose weights are below its tolerance; the search in whole numbers finds them. `cplex2` has a point within
//! tolerance and is infeasible all the same.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use whetstone_solver::{
    InfeasibilityProof, Limits, Model, Verdict, check_infeasibility, read_lp, read_mps, solve,
    write_lp, write_mps,
};

fn models() -> Option<Vec<(String, Model)>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/netlib_infeas");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        println!("SKIPPED: {} is not there", folder.display());
        return None;
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "gz"));
    paths.sort();
    Some(paths.iter().map(|path| read(path)).collect())
}

fn read(path: &Path) -> (String, Model) {
    let mut text = String::new();
    let file = std::fs::File::open(path).expect("a file");
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("gzip");
    let name = path.file_name().expect("a name").to_string_lossy().replace(".mps.gz", "");
    let model = read_mps(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
    (name, model)
}

#[test]
fn all_files_are_read_and_written_alike() {
    let Some(models) = models() else { return };
    assert_eq!(models.len(), 25);
    for (name, model) in models {
        model.check().unwrap_or_else(|error| panic!("{name}: {error}"));
        let text = write_mps(&model).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(read_mps(&text).as_ref() == Ok(&model), "{name}");
        if let Ok(text) = write_lp(&model) {
            let again = read_lp(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(again.rows.len(), model.rows.len(), "{name}");
        }
    }
}

/// Models that need the search in whole numbers.
const BY_WHOLE_NUMBERS: [&str; 4] = ["pang", "qual", "refinery", "vol1"];

/// Models on which the simplex method takes longest.
const LARGE: [&str; 4] = ["ceria3d", "cplex1", "klein3", "pilot4i"];

/// Solves the chosen models, of which there are so many, and reports each as a row of a table.
fn assert_certified(count: usize, is_chosen: impl Fn(&str) -> bool) {
    let Some(mut models) = models() else { return };
    models.retain(|(name, _)| is_chosen(name));
    assert_eq!(models.len(), count);
    println!("| model | rows | variables | proof | members | seconds |");
    for (name, model) in models {
        let clock = Instant::now();
        let verdict = solve(&model, &Limits::default());
        let seconds = clock.elapsed().as_secs_f64();
        let Ok(Verdict::Infeasible(found)) = verdict else { panic!("{name}: {verdict:?}") };
        assert!(matches!(found.proof, InfeasibilityProof::Exact { .. }), "{name}");
        check_infeasibility(&model, &found).unwrap_or_else(|error| panic!("{name}: {error}"));
        let (rows, variables) = (model.rows.len(), model.variables.len());
        let members = found.members.len();
        println!("| {name} | {rows} | {variables} | exact | {members} | {seconds:.2} |");
    }
}

#[test]
fn most_models_are_infeasible_with_exact_certificates() {
    assert_certified(17, |name| !BY_WHOLE_NUMBERS.contains(&name) && !LARGE.contains(&name));
}

#[test]
fn large_models_are_infeasible_with_exact_certificates() {
    assert_certified(4, |name| LARGE.contains(&name));
}

#[test]
fn models_with_weights_below_the_tolerance_have_exact_certificates_too() {
    assert_certified(4, |name| BY_WHOLE_NUMBERS.contains(&name));
}
