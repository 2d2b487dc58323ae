//! Preparing: data sets in, three files of tasks out.

use std::path::PathBuf;

use whetstone_core::Seed;
use whetstone_core::config::Config;
use whetstone_data::prepare::{PrepareSummary, Preparing, Split, prepare};
use whetstone_data::source::MbppVariant;
use whetstone_train::student::EMBEDDED;

use crate::datasets::{SourcesNamed, embedded};
use crate::failure::Failure;
use crate::observer::Observer;
use crate::solver_tasks::{ModelsRequest, SolverRequest};

/// The families of generated tasks that the embedded student has learnt from.
pub const LEARNT_FAMILIES: [&str; 5] =
    ["filter-map-reduce", "list-building", "slices", "two-way", "uniqueness"];

/// The families to generate where `given` are named: none stands for those that the embedded student knows if it is the
/// student, and else for all.
pub fn families(given: &[String], config: &Config) -> Vec<String> {
    if given.is_empty() && config.student.model_name == EMBEDDED {
        return LEARNT_FAMILIES.map(str::to_owned).to_vec();
    }
    given.to_vec()
}

/// Says that the embedded student does not know all of the families, if tasks of all are generated.
pub fn families_note(request: &PrepareRequest) -> Option<String> {
    let has_all = request.embedded.is_some() && request.families.is_empty();
    has_all.then(|| {
        format!(
            "tasks of all {} families; the embedded student has learnt {} of them: `--families {}`",
            whetstone_data::embedded::families().count(),
            LEARNT_FAMILIES.len(),
            LEARNT_FAMILIES.join(",")
        )
    })
}

/// Tasks to prepare.
#[derive(Debug, Clone)]
pub struct PrepareRequest {
    /// The data sets that are named.
    pub named: SourcesNamed,
    /// So many generated tasks.
    pub embedded: Option<usize>,
    /// Their families; all if the list is empty.
    pub families: Vec<String>,
    /// Generated problems of the solver environment.
    pub solver: Option<SolverRequest>,
    /// Models of files, as problems of the solver environment.
    pub models: Option<ModelsRequest>,
    /// Benchmarks that no task may be known to.
    pub decontaminate: Vec<PathBuf>,
    /// Words in a row that make a task known to a benchmark.
    pub ngram: usize,
    /// Only so many tasks of each source.
    pub limit: Option<usize>,
    /// The statement and tests of a task that both publications of MBPP have.
    pub mbpp: MbppVariant,
    /// The origin of the split of data sets.
    pub split: Split,
    /// The part of each source that is for validation, where none is published.
    pub val_fraction: f64,
    /// The part of the other tasks of such a source that is for development.
    pub dev_fraction: f64,
    /// The seed of the split and of generated tasks.
    pub seed: Seed,
    /// The folder for the files.
    pub out: PathBuf,
}

/// Prepares tasks.
///
/// # Errors
///
/// If a source cannot be had or read, or nothing is left of all of them.
pub fn run(request: &PrepareRequest, observer: &dyn Observer) -> Result<PrepareSummary, Failure> {
    let origins = request.named.origins(observer)?;
    let made = request.embedded.map(|count| embedded(request.seed, count, &request.families));
    let mut made = made.transpose()?.unwrap_or_default();
    if request.embedded.is_some_and(|wanted| made.len() < wanted) {
        observer.note(&format_args!("at most {} embedded tasks can be generated", made.len()));
    }
    if let Some(solver) = &request.solver {
        made.extend(solver.generate(request.seed, request.val_fraction, observer)?);
    }
    let models = request.models.as_ref().map(|models| models.read(request.seed, observer));
    let models = models.transpose()?.unwrap_or_default();
    // One step for each source and benchmark, and then comparing and writing.
    let steps = origins.len() + request.decontaminate.len() + 2;
    let progress = observer.progress("step");
    progress.reach(0, steps as u64);
    let report = prepare(&Preparing {
        origins,
        made,
        models,
        benchmarks: request.decontaminate.clone(),
        ngram: request.ngram,
        seed: request.seed,
        mbpp: request.mbpp,
        split: request.split,
        val_fraction: request.val_fraction,
        dev_fraction: request.dev_fraction,
        limit: request.limit,
        out: &request.out,
        on_step: &|step| {
            progress.phase(step, 0, 0);
            progress.add_one();
        },
    });
    progress.finish();
    Ok(report?)
}

/// Whether a source would have to be downloaded.
pub(crate) fn is_download(named: &SourcesNamed) -> bool {
    let is_missing = |(_, path): (_, &PathBuf)| !path.exists();
    (named.is_nothing_named() && !named.embedded) || named.paths().any(is_missing)
}

/// The sources of a request, as text.
pub(crate) fn sources(request: &PrepareRequest) -> Vec<String> {
    let named = &request.named;
    let given = named.paths().map(|(name, path)| format!("{name}: {}", path.display()));
    let mut sources: Vec<String> = given.collect();
    sources.extend(named.tasks.iter().map(|path| format!("tasks: {}", path.display())));
    sources.extend(request.embedded.map(|count| format!("{count} generated tasks")));
    let solver = request.solver.as_ref();
    sources.extend(solver.map(|solver| format!("{} generated models", solver.count)));
    let models = request.models.iter().flat_map(|models| &models.paths);
    sources.extend(models.map(|path| format!("models: {}", path.display())));
    if sources.is_empty() {
        let apps = if named.skip_apps { "" } else { " and APPS" };
        sources.push(format!("MBPP{apps}, from the hub"));
    }
    sources
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_student_gets_the_families_that_it_knows() {
        let mut config = Config::default();
        assert!(families(&[], &config).is_empty(), "another student gets all of them");
        config.student.model_name = EMBEDDED.to_owned();
        assert_eq!(families(&[], &config), LEARNT_FAMILIES);
        assert_eq!(families(&["slices".to_owned()], &config), ["slices"]);
        let known: Vec<&str> = whetstone_data::embedded::families().collect();
        assert!(LEARNT_FAMILIES.iter().all(|name| known.contains(name)));
        let preset = whetstone_config::load(&[crate::preset::layer()]).unwrap().config;
        assert_eq!(preset.quickstart.families, LEARNT_FAMILIES, "those of the quickstart");
    }
}
