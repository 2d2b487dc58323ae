//! `new_model`: rows, traces or tasks into a tokenizer and an untrained model, as `whet model new` makes them.

use std::fs;
use std::path::{Path, PathBuf};

use whetstone_config::{Problem, StageEntry};
use whetstone_model::Config;
use whetstone_model::create::SystemMessages;
use whetstone_model::weights::Dtype;
use whetstone_record::atomic::clear_temporaries;
use whetstone_record::outputs::Staged;

use super::job::{Job, Kind, StageEnd, Stops, figure};
use super::what::{Take, What};
use crate::dry_run::{DryRun, Outcome};
use crate::failure::Failure;
use crate::new_model::{NewModelRequest, NewModelSizes, make};
use crate::number;

/// The model's directory in that of the stage.
const MODEL: &str = "model";

/// The kind. Its options are named as the flags of `whet model new`.
pub(super) const KIND: Kind = Kind {
    name: "new_model",
    command: "whet model new",
    takes: |_| vec![Take::OneOf(&[What::Rows, What::Traces, What::Tasks])],
    makes: &[(What::Model, MODEL)],
    check: |entry, _| problems(entry),
    run,
    sections: &[],
    stops: Stops::AtOnce,
};

fn problems(entry: &StageEntry) -> Vec<Problem> {
    match entry.options::<NewModelSizes>() {
        Ok(sizes) => {
            let found = sizes.problems().into_iter();
            found.map(|message| entry.problem(message, None)).collect()
        }
        Err(problem) => vec![problem],
    }
}

fn run(job: &Job<'_>) -> Result<Outcome<StageEnd>, Failure> {
    let sizes: NewModelSizes = job.options()?;
    if job.dry_run {
        let mut plan = DryRun::of(KIND.command);
        plan.does("trains a tokenizer and draws the weights of a new model");
        return Ok(Outcome::plan(plan));
    }
    job.create_dir()?;
    let out = job.dir().join(MODEL);
    clear_temporaries(&job.dir())?;
    let config = match made_before(&out)? {
        Some(config) => config,
        None => new(job, sizes, &out)?,
    };
    let tokens = figure("tokens in the vocabulary", number(config.vocab as u64));
    Ok(Outcome::Done(Some(vec![tokens])))
}

/// Makes the model in a folder that is thrown away: later stages are tried with one of its size.
pub(super) fn rehearse(job: &Job<'_>, folder: &Path) -> Result<PathBuf, Failure> {
    let out = folder.join(&job.entry.name);
    fs::create_dir_all(folder)
        .map_err(|err| Failure::io(format!("cannot create `{}`", folder.display()), err))?;
    new(job, job.options()?, &out)?;
    Ok(out)
}

/// The model that a stage has made before it was killed. A directory in its place without a readable model is removed.
fn made_before(out: &Path) -> Result<Option<Config>, Failure> {
    let found = Config::from_dir(out).ok();
    if found.is_none() && out.exists() {
        let failed = |err| Failure::io(format!("cannot remove `{}`", out.display()), err);
        fs::remove_dir_all(out).map_err(failed)?;
    }
    Ok(found)
}

fn new(job: &Job<'_>, sizes: NewModelSizes, out: &Path) -> Result<Config, Failure> {
    let inputs = [What::Rows, What::Traces, What::Tasks];
    let corpus = inputs.into_iter().find_map(|what| job.input(what)).unwrap_or_default();
    let staged = Staged::begin(out);
    let made = make(&NewModelRequest {
        corpus: &[corpus],
        sizes,
        seed: job.config.seed,
        dtype: Dtype::F32,
        system: SystemMessages::Kept,
        out: staged.path(),
    })?;
    staged.commit()?;
    Ok(made.config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_is_no_model_is_made_again() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join(MODEL);
        assert_eq!(made_before(&out).unwrap(), None);
        fs::create_dir(&out).unwrap();
        fs::write(out.join("config.json"), "{").unwrap();
        assert_eq!(made_before(&out).unwrap(), None);
        assert!(!out.exists());
    }
}
